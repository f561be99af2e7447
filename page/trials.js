/* SPDX-License-Identifier: MIT */
/* trials.js - what the trials of a job come to, in sections; the same for a tracker's job and for a log's report. */
"use strict";
tune.trials = (function () {
  const { el, fill, stats, charts } = tune;
  const PAGE = 50, TOP = 10, MOST_LINES = 400;

  /* Short names for layers: the words of their texts that differ. */
  function names(layers) {
    const words = layers.map((l) => l.workload.split(" ")), common = new Set(words[0].filter((w) => words.every((o) => o.includes(w))));
    return layers.map((l, i) => {
      if (layers.length === 1) return l.workload;
      const rest = words[i].filter((w, k) => k === 0 || !common.has(w)).join(" ");
      return rest.length > 90 ? rest.slice(0, 89) + "…" : rest;
    });
  }

  /* ---- sections ---- */

  function summary(all) {
    const { rows, layers } = all, failed = rows.filter((r) => r.status !== "ok").length, best = layers.length === 1 ? layers[0].best : null;
    const list = [[tune.count(rows.length), "records"], [tune.count(failed), "failed" + (rows.length ? ", " + tune.percent(failed / rows.length) : "")], [tune.count(layers.length), layers.length === 1 ? "layer" : "layers"]];
    if (best) list.push([tune.time(best.time_ns), "best"]);
    if (best && best.flops > 0) list.push([tune.gflops(best), "GFLOPS"]);
    const gains = layers.filter((l) => l.gain);
    if (gains.length) list.push([Math.exp(gains.reduce((s, l) => s + Math.log(l.gain), 0) / gains.length).toFixed(2) + "×", gains.length > 1 ? "mean gain over the defaults" : "gain over the default"]);
    return tune.figures(list);
  }

  function curveSection(all) {
    const box = el("div"), hidden = all.hidden;
    const draw = () => {
      const from = Math.min(...all.rows.map((r) => r.ts || Infinity));
      const series = all.layers.map((l, i) => ({ name: all.names[i], i, ...stats.curve(l.rows, all.by, from) }));
      fill(box, charts.legend(series, hidden, draw), charts.curves(series.filter((s) => !hidden.has(s.name)), all.by));
    };
    draw();
    return [el("div", { class: "line" }, el("h2", null, "Best so far"), el("span", { class: "grow" }),
      tune.choice("over", [["trial", "over trials"], ["time", "over time"]], all.by, (by) => { all.by = by; draw(); })), box];
  }

  function layerRow(all, l, i) {
    const name = all.layers.length > 1
      ? el("button", { type: "button", class: "link", title: l.workload, onclick: () => { all.chosen = l.workload; all.redraw(); document.getElementById("configs").focus(); } }, all.names[i])
      : l.workload;
    const gain = !l.gain ? "–" : l.isStart ? "the default" : l.tiesStart ? "tie" : l.gain.toFixed(2) + "×";
    return tune.row([[name, "text"], [l.start ? tune.time(l.start.time_ns) : "–", "n", "default"], [l.best ? tune.time(l.best.time_ns) : "–", "n", "best"],
      [l.best ? tune.error(l.best.se) : "", "n"], [l.best ? tune.gflops(l.best) : "–", "n", "GFLOPS"], [gain, "n", "gain"],
      [l.ties ? String(l.ties) : "", "n", "ties"], [tune.count(l.n), "n", "trials"], [l.failed ? tune.count(l.failed) : "", "n", "failed"]],
      { class: l.workload === all.chosen && all.layers.length > 1 ? "chosen" : null });
  }

  function layerSection(all) {
    return [el("h2", null, all.layers.length > 1 ? "Layers" : "Layer"),
      tune.table(["workload", ["default", "n"], ["best", "n"], ["error", "n"], ["GFLOPS", "n"], ["gain", "n"], ["ties", "n"], ["trials", "n"], ["failed", "n"]],
        all.layers.map((l, i) => layerRow(all, l, i)), { class: "rows-as-cards", id: "layers" }),
      el("p", { class: "soft" }, "A tie differs by less than 1 % or twice the standard error; the default is what the best-suited template begins with.")];
  }

  const failColours = ["var(--bad)", "var(--s1)", "var(--s4)", "var(--s3)", "var(--s6)", "var(--s5)", "var(--s7)"];
  function failureSection(all) {
    const classes = stats.failures(all.rows), n = classes.reduce((s, c) => s + c.n, 0);
    if (!n) return [];
    return [el("h2", null, `Failures: ${tune.count(n)} of ${tune.count(all.rows.length)}`),
      el("div", { class: "parts", "aria-hidden": "true" }, classes.map((c, i) => tune.style(el("i"), { width: (100 * c.n) / all.rows.length + "%", background: failColours[i % 7] }))),
      tune.table(["class", ["trials", "n"], "first message", ""], classes.map((c) => tune.row([
        [tune.state(c.status, "bad"), "name"], [tune.count(c.n), "n"], [el("span", { class: "knobs" }, (c.first.stage ? c.first.stage + ": " : "") + (c.first.why || "no words")), "text"],
        [el("button", { type: "button", class: "link", onclick: () => all.show(c.first) }, "trial " + c.first.id), "name"]])), { class: "rows-as-cards", id: "failures" })];
  }

  function picker(label, values, chosen, then) {
    const select = el("select", { "aria-label": label, onchange: () => then(select.value) }, values.map(([v, text]) => el("option", { value: v, selected: v === chosen }, text)));
    return select;
  }

  function topTable(all, layer) {
    const rows = layer.found.slice(0, TOP);
    if (!rows.length) return el("p", { class: "soft" }, "No config has a time yet.");
    const drawn = charts.spread(rows);
    return tune.table([["", "n"], ["time", "n"], "± one standard error", ["GFLOPS", "n"], "", "template", "knobs"], rows.map((r, i) => tune.row([
      [String(i + 1), "n"], [tune.time(r.time_ns), "n"], drawn(r), [tune.gflops(r), "n", "GFLOPS"], [i && stats.tie(r, rows[0]) ? "tie" : "", "soft"],
      [r.template, "name"], [el("button", { type: "button", class: "link knobs", onclick: () => all.show(r) }, tune.knobs(r.knobs) || "trial " + r.id), "text"]])), { class: "rows-as-cards", id: "top" });
  }

  /* The fastest half of what is drawn, and of the others as many, evenly. */
  function thinned(rows) {
    const s = [...rows].sort((a, b) => a.time_ns - b.time_ns), half = MOST_LINES / 2;
    if (s.length <= MOST_LINES) return s;
    const rest = s.slice(half);
    return s.slice(0, half).concat(Array.from({ length: half }, (_, i) => rest[Math.floor((i * rest.length) / half)]));
  }

  function knobSection(all, layer) {
    const groups = stats.templates(layer.rows), group = groups.find((g) => g.name === all.template) || groups[0];
    if (!group) return [];
    const parts = stats.importance(group.rows), knobs = parts.map((p) => ({ name: p.name, values: p.values }));
    const choose = groups.length > 1 ? picker("template", groups.map((g) => [g.name, `${g.name} (${g.rows.length})`]), group.name, (v) => { all.template = v; all.redraw(); }) : el("span", { class: "soft" }, group.name);
    const head = el("div", { class: "line" }, el("h2", null, "Knobs"), el("span", { class: "grow" }), choose);
    if (group.rows.length < 4 || !parts.length) return [head, el("p", { class: "soft" }, `${tune.one(group.rows.length, "config")} with a time: too few to tell knobs apart.`)];
    return [head, el("h3", null, "Part of the variance of ln time that a knob alone explains"), charts.bars(parts.slice(0, 12)),
      group.rows.length < 30 ? el("p", { class: "soft" }, `Of ${group.rows.length} configs only: take it as a hint.`) : null,
      el("h3", null, "Configs over the knobs, the most telling first; the fastest stand out"), charts.parallel(thinned(group.rows), knobs.slice(0, 12))];
  }

  function configSection(all) {
    const layer = all.layers.find((l) => l.workload === all.chosen) || all.layers[0];
    all.chosen = layer.workload;
    const choose = all.layers.length > 1 ? picker("layer", all.layers.map((l, i) => [l.workload, all.names[i]]), layer.workload, (v) => { all.chosen = v; all.redraw(); }) : null;
    return [el("div", { class: "line" }, el("h2", { id: "configs", tabindex: "-1" }, "Best configs"), el("span", { class: "grow" }), choose), topTable(all, layer), knobSection(all, layer)];
  }

  /* ---- the list ---- */

  function listSection(all) {
    const box = el("div"), v = all.list;
    const orders = { seq: (a, b) => b.seq - a.seq, time: (a, b) => (a.time_ns || Infinity) - (b.time_ns || Infinity) };
    const draw = () => {
      const some = all.rows.filter((r) => (v.status === "all" || r.status === v.status) && (v.layer === "all" || r.workload === v.layer)).sort(orders[v.order]);
      const pages = Math.max(1, Math.ceil(some.length / PAGE));
      v.page = Math.min(v.page, pages - 1);
      const turn = (by, text) => el("button", { type: "button", disabled: v.page + by < 0 || v.page + by >= pages, onclick: () => { v.page += by; draw(); } }, text);
      fill(box, tune.table(["trial", "state", ["time", "n"], ["error", "n"], "purpose", "proposed by", "config"], some.slice(v.page * PAGE, (v.page + 1) * PAGE).map((r) => tune.row([
        [el("button", { type: "button", class: "link", onclick: () => all.show(r) }, r.id || "#" + r.seq), "name"], [tune.state(r.status, r.status === "ok" ? "ok" : "bad"), "name"], [tune.time(r.time_ns), "n"],
        [tune.error(r.se), "n"], [r.purpose || "", "name"], [r.proposed_by || "", "name"], [el("span", { class: "knobs" }, (r.template || "") + " " + tune.knobs(r.knobs)), "text"]])), { class: "rows-as-cards", id: "list" }),
        el("div", { class: "line" }, turn(-1, v.order === "seq" ? "newer" : "faster"), el("span", { class: "soft" }, `page ${v.page + 1} of ${tune.count(pages)}, ${tune.one(some.length, "trial")}`), turn(1, v.order === "seq" ? "older" : "slower")));
    };
    const states = ["all", ...new Set(all.rows.map((r) => r.status))];
    const bar = el("div", { class: "line" }, el("h2", null, "Trials"), el("span", { class: "grow" }),
      picker("state", states.map((s) => [s, s === "all" ? "all states" : s]), v.status, (s) => { v.status = s; v.page = 0; draw(); }),
      all.layers.length > 1 ? picker("layer", [["all", "all layers"], ...all.layers.map((l, i) => [l.workload, all.names[i]])], v.layer, (s) => { v.layer = s; v.page = 0; draw(); }) : null,
      picker("order", [["seq", "newest first"], ["time", "fastest first"]], v.order, (s) => { v.order = s; v.page = 0; draw(); }));
    draw();
    return [bar, box];
  }

  /* ---- one trial ---- */

  const number = (v, unit) => (v > 0 ? (v >= 100 ? v.toFixed(0) : v.toPrecision(3)) + " " + unit : null);
  function resources(list) {
    if (!Array.isArray(list) || !list.length) return null;
    const names = [...new Set(list.flatMap((k) => Object.keys(k)))];
    return [el("h3", null, "Resources"), tune.table(names.map((n) => [n, n === "kernel" ? "" : "n"]), list.map((k) => tune.row(names.map((n) => [String(k[n] ?? ""), n === "kernel" ? "name" : "n"]))))];
  }
  function details(r) {
    const canary = r.canary && r.canary.before > 0 ? `${tune.time(r.canary.before)} before, ${tune.time(r.canary.after)} behind` : null;
    return [
      tune.facts([["state", tune.state(r.status, r.status === "ok" ? "ok" : "bad")], ["stage", r.stage], ["time", r.time_ns > 0 ? tune.time(r.time_ns) : null], ["error", tune.error(r.se)],
        ["GFLOPS", r.flops > 0 && r.time_ns > 0 ? tune.gflops(r) : null], ["ratio to the anchor", typeof r.lnratio === "number" ? Math.exp(r.lnratio).toFixed(4) : null], ["purpose", r.purpose], ["proposed by", r.proposed_by],
        ["censored", r.censored ? "yes: far slower than the best" : null], ["rounds", r.rounds || null], ["calls", r.calls || null], ["canary", canary], ["build", number(r.build_ms, "ms")], ["verify", number(r.verify_ms, "ms")],
        ["device", number(r.device_ms, "ms")], ["results", r.verified], ["compiler", r.compiler], ["agent", r.agent], ["key", r.key], ["measured", r.ts ? tune.clock(r.ts) : null]]),
      el("h3", null, "Config"), el("p", { class: "knobs" }, (r.template || "") + " " + tune.knobs(r.knobs)),
      r.why ? [el("h3", null, "Message"), el("pre", { class: "words", tabindex: "0" }, r.why)] : null,
      r.samples_ns && r.samples_ns.length ? [el("h3", null, "Samples"), charts.samples(r.samples_ns)] : null, resources(r.resources)];
  }

  function show(all, r) {
    const body = el("div"), dialog = el("dialog", { "aria-label": "trial " + r.id }, el("div", { class: "line" }, el("h1", null, "Trial " + (r.id || r.seq)), el("span", { class: "grow" }), el("button", { type: "button", onclick: () => dialog.close() }, "close")),
      el("p", { class: "soft" }, r.workload), body);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    fill(body, el("p", { class: "soft" }, "…"));
    all.detail(r).then(({ record, more }) => fill(body, details(record), more || null), (e) => fill(body, details(r), el("p", { class: "bad" }, e.message)));
  }

  /* ---- all of it ---- */

  /* options: detail(row) -> Promise of {record, more}. `add` takes further rows in; what people chose stays. */
  function create(options) {
    const root = el("div");
    const all = { rows: [], hidden: new Set(), by: "trial", chosen: null, template: null, list: { page: 0, status: "all", layer: "all", order: "seq" }, detail: options.detail, root };
    const boxes = {};
    const put = (name, children) => {
      if (!boxes[name]) root.append((boxes[name] = el("section", { id: "section-" + name })));
      if (!boxes[name].contains(document.activeElement) || document.activeElement.tagName !== "SELECT") fill(boxes[name], children);
    };
    all.show = (r) => show(all, r);
    all.redraw = () => {
      if (!all.rows.length) {
        put("summary", el("p", { class: "soft" }, "No trial has a record yet."));
        return;
      }
      all.layers = stats.layers(all.rows);
      all.names = names(all.layers);
      put("summary", summary(all));
      put("curve", curveSection(all));
      put("layers", layerSection(all));
      put("failures", failureSection(all));
      put("configs", configSection(all));
      put("list", listSection(all));
    };
    all.clear = () => { all.rows = []; all.list.page = 0; };
    all.add = (rows) => {
      for (const r of rows) all.rows.push(r);
      all.redraw();
    };
    return all;
  }

  return { create, names };
})();
