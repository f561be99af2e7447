/* SPDX-License-Identifier: MIT */
/* job.js - one job at a tracker, and two side by side. */
"use strict";
tune.job = (function () {
  const { el, fill, get } = tune;
  const FIRST = 1000, WINDOW = 19000, MOST = FIRST + WINDOW; /* rows that a browser is given: the first, which have the defaults, and a window */

  /* All rows behind `after`, up to `until`, page by page; then(rows, next) for each. */
  async function load(id, after, then, until = Infinity) {
    while (after < until) {
      const page = await get(`jobs/${id}/trials?max=${Math.min(1000, until - after)}&after=${after}`);
      if (page.next > after) then(page.rows, page.next);
      if (!(page.next > after) || !page.rows.length) return;
      after = page.next;
    }
  }

  /* ---- program and kernel text ---- */

  function sources(program) {
    return (program.modules || []).map((m) => {
      const box = el("div"), open = el("button", { type: "button", onclick: async () => {
        open.disabled = true;
        try { fill(box, el("pre", { tabindex: "0" }, await get("blobs/" + m.sha256))); } catch (e) { fill(box, el("p", { class: "bad" }, e.message)); }
      } }, `show ${m.lang || "source"}`);
      return [el("h3", null, "Kernel " + (m.id || "")), tune.facts([["options", m.options], ["defines", tune.knobs(m.defines)]]), open, box];
    });
  }
  async function programOf(record) {
    if (!record.program) return null;
    try {
      const text = await get("blobs/" + record.program), program = typeof text === "string" ? JSON.parse(text) : text, box = el("div");
      return [sources(program), el("h3", null, "Program"), el("button", { type: "button", onclick: () => fill(box, el("pre", { tabindex: "0" }, JSON.stringify(program, null, 1))) }, "show its JSON"), box];
    } catch (e) {
      return el("p", { class: "soft" }, "The program is not in the store: " + e.message);
    }
  }
  async function detail(row) {
    const { record } = await get("trials/" + row.id);
    return { record, more: await programOf(record) };
  }

  /* ---- one job ---- */

  const part = (j) => (j.progress && j.progress.total > 0 ? j.progress.done / j.progress.total : j.state === "done" ? 1 : 0);
  function head(j) {
    const p = j.progress || {}, t = j.trials;
    const took = (j.done_ms || Date.now()) - j.created_ms;
    return [el("h1", null, j.title || "job " + j.job), tune.facts([["state", tune.state(j.state)],
      p.total > 0 ? ["progress", el("span", null, tune.bar(part(j)), `${tune.count(p.done)} of ${tune.count(p.total)}`)] : null, j.state === "running" && p.eta_s >= 0 ? ["left", "about " + tune.span(p.eta_s)] : null,
      ["user", j.user], ["device key", j.key], ["trials", `${tune.count(t.done)} done, ${tune.count(t.leased)} at devices, ${tune.count(t.open)} waiting${t.lost ? ", " + tune.count(t.lost) + " lost" : ""}`],
      j.position > 0 ? ["queue", "place " + j.position] : null, j.priority ? ["priority", String(j.priority)] : null, ["begun", tune.clock(j.created_ms) + " UTC"], [j.done_ms ? "took" : "for", tune.span(took / 1000)]]),
      j.waits ? el("p", { class: "note" }, j.waits) : null];
  }

  function view(main, id) {
    const top = el("div", { id: "job" }), note = el("div"), all = tune.trials.create({ detail });
    let after = 0, busy = false, again = false;
    let back = Number(new URLSearchParams(location.search).get("after")) || 0; /* the window begins behind that record; 0 = it ends with the newest */
    let begin = 0, moved = false;
    fill(main, top, note, all.root);

    function turn(text, to, off) {
      return el("button", { type: "button", disabled: off, onclick: () => {
        back = to;
        moved = true;
        history.replaceState(null, "", location.pathname + (back ? "?after=" + back : ""));
        refresh();
      } }, text);
    }
    /* Which records of a long job are shown, and the way to the others. */
    function tellWindow(n) {
      const words = `The job has ${tune.count(n)} records. Shown, in all pictures and counts, are the first ${tune.count(FIRST)} and ${tune.count(begin + 1)} to ${tune.count(back ? Math.min(n, begin + WINDOW) : n)}.`;
      fill(note, el("div", { class: "line note" }, el("span", { id: "window", class: "grow" }, words), turn("earlier", Math.max(FIRST, begin - WINDOW), begin <= FIRST),
        turn("later", begin + 2 * WINDOW < n ? begin + WINDOW : 0, !back)));
    }
    async function loadWindow(n) {
      const first = (await get(`jobs/${id}/trials?max=${FIRST}&after=0`)).rows;
      begin = after = back ? Math.max(FIRST, Math.min(back, n - WINDOW)) : n - WINDOW;
      return first;
    }
    const compare = el("form", { class: "line", onsubmit: (e) => { e.preventDefault(); const other = e.target.elements.other.value.trim(); if (/^j\d+$/.test(other)) location.href = `/compare/${id}/${other}`; } },
      el("label", null, "compare with job ", el("input", { name: "other", size: 8, placeholder: "j12", pattern: "j[0-9]+", required: true, autocomplete: "off" })), el("button", null, "compare"));

    async function refresh() {
      if (busy) { again = true; return; }
      busy = true;
      try {
        do {
          again = false;
          if (moved) { all.clear(); after = begin = 0; moved = false; }
          const j = await get("jobs/" + id);
          document.title = `${id} ${j.title} – tune`;
          fill(top, head(j), compare);
          let fresh = [];
          if (!after && j.records > MOST) fresh = await loadWindow(j.records);
          await load(id, after, (rows, next) => { fresh = fresh.concat(rows); after = next; }, back && begin ? begin + WINDOW : Infinity);
          if (begin) tellWindow(j.records);
          if (fresh.length || !all.root.firstChild) all.add(fresh);
        } while (again);
      } catch (e) {
        fill(note, el("p", { class: "note bad" }, e.message));
      } finally {
        busy = false;
      }
    }
    return { refresh, job: (j) => { if (j.job === id) refresh(); } };
  }

  /* ---- two jobs ---- */

  function compareTable(a, b, ids) {
    const workloads = [...new Set([...a, ...b].map((l) => l.workload))];
    const find = (layers, w) => layers.find((l) => l.workload === w);
    return tune.table(["workload", [ids[0], "n"], [ids[1], "n"], [`${ids[0]} / ${ids[1]}`, "n"], ["trials", "n"], "best configs"], workloads.map((w) => {
      const l = find(a, w), r = find(b, w), p = l && l.best, q = r && r.best;
      const ratio = p && q ? (tune.stats.tie(p, q) ? "tie" : (p.time_ns / q.time_ns).toFixed(2) + "×") : "–";
      return tune.row([[w, "text"], [p ? tune.time(p.time_ns) : "–", "n", ids[0]], [q ? tune.time(q.time_ns) : "–", "n", ids[1]], [ratio, "n", "ratio"], [`${l ? l.n : 0} / ${r ? r.n : 0}`, "n", "trials"],
        [[p, q].map((x, i) => el("div", { class: "knobs" }, x ? `${ids[i]}: ${x.template} ${tune.knobs(x.knobs)}` : "")), "text"]]);
    }), { class: "rows-as-cards", id: "compared" });
  }

  function compare(main, ids) {
    const box = el("div");
    fill(main, el("h1", null, `${ids[0]} and ${ids[1]}`), box);
    async function refresh() {
      try {
        const jobs = await Promise.all(ids.map((i) => get("jobs/" + i))), rows = [[], []];
        await Promise.all(ids.map((i, k) => load(i, Math.max(0, jobs[k].records - MOST), (some) => { rows[k] = rows[k].concat(some); })));
        const layers = rows.map(tune.stats.layers), workloads = [...new Set(layers.flat().map((l) => l.workload))];
        const pictures = workloads.map((w) => {
          const series = layers.map((ls, k) => { const l = ls.find((x) => x.workload === w); return l ? { name: ids[k], i: k, ...tune.stats.curve(l.rows, "trial", 0) } : null; }).filter(Boolean);
          return [el("h3", null, w), tune.charts.legend(series, new Set(), () => {}), tune.charts.curves(series, "trial", 220)];
        });
        fill(box, ids.map((i, k) => el("p", null, el("a", { href: "/job/" + i }, i), " ", jobs[k].title, " ", el("span", { class: "soft" }, [jobs[k].key, jobs[k].user].filter(Boolean).join(", ")))),
          el("h2", null, "Layers"), compareTable(layers[0], layers[1], ids), el("h2", null, "Best so far"), pictures.slice(0, 24));
      } catch (e) {
        fill(box, el("p", { class: "note bad" }, e.message));
      }
    }
    return { refresh, job: (j) => { if (ids.includes(j.job)) refresh(); } };
  }

  return { view, compare, part };
})();
