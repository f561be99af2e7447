/* SPDX-License-Identifier: MIT */
/* farm.js - the farm at a glance, and one of its devices. */
"use strict";
tune.farm = (function () {
  const { el, fill, get } = tune;
  const SHOWN = 100, DEVICES = 30, SILENT_MS = 35000;

  const nameOf = (d) => (d.device && d.device.name) || d.compiler || "";
  const temperature = (v) => (v > 0 ? v.toFixed(0) + " °C" : "–");
  const ended = (j) => j.state === "done" || j.state === "failed" || j.state === "cancelled";

  /* What a device does, by its leases and by what was heard of it. */
  function stateOf(d, now) {
    if (d.state === "lost" || d.state === "gone") return tune.state(d.state);
    if (now - d.last_seen_ms > SILENT_MS) return tune.state("silent", "silent");
    if (d.mode === "drain") return tune.state(d.leased ? "busy, draining" : "drained", "drain");
    return tune.state(d.leased ? "busy" : d.state, d.leased ? "busy" : d.state);
  }

  /* Who is next for a tuner: as the tracker chooses, users with fewer running jobs first, then priority, then age. */
  function queue(jobs) {
    const running = new Map(), number = (j) => Number(j.job.slice(1));
    for (const j of jobs) if (j.state === "running") running.set(j.user, (running.get(j.user) || 0) + 1);
    const waiting = jobs.filter((j) => j.state === "open").sort((a, b) => (running.get(a.user) || 0) - (running.get(b.user) || 0) || (b.priority || 0) - (a.priority || 0) || number(a) - number(b));
    return new Map(waiting.map((j, i) => [j.job, i + 1]));
  }

  function progress(j) {
    const p = j.progress || {}, parts = [];
    if (p.total > 0 && !ended(j)) parts.push(tune.bar(p.done / p.total), `${tune.count(p.done)}/${tune.count(p.total)}`);
    else parts.push(tune.count(j.trials.done) + (ended(j) ? "" : " done"));
    return el("span", null, parts);
  }
  function left(j, place) {
    if (place) return "queue " + place;
    if (j.state === "running" && j.progress && j.progress.eta_s >= 0) return tune.span(j.progress.eta_s);
    return ended(j) ? "" : "–";
  }
  const best = (j) => (j.best && j.best.time_ns > 0 ? [tune.time(j.best.time_ns), j.best.gflops > 0 ? j.best.gflops.toFixed(1) : "–"] : ["–", "–"]);

  function jobRow(j, places) {
    const [time, rate] = best(j), lost = j.trials.lost;
    return tune.row([[el("a", { href: "/job/" + j.job }, j.job), "name"], [el("a", { href: "/job/" + j.job }, j.title || "(no title)"), "text"], [tune.state(j.state), "name"], [progress(j), "name"], [left(j, places.get(j.job)), "n"],
      [time, "n", "best"], [rate, "n", "GFLOPS"], [j.key, "name"], [j.user, "name"], [lost ? el("span", { class: "bad" }, tune.count(lost)) : "", "n", lost ? "lost" : null]]);
  }
  function jobTable(jobs, places, id) {
    return tune.table(["job", "title", "state", "progress", ["left", "n"], ["best", "n"], ["GFLOPS", "n"], "device key", "user", ["lost", "n"]], jobs.map((j) => jobRow(j, places)), { class: "rows-as-cards", id });
  }

  function deviceRow(d, now) {
    const path = `/device/${encodeURIComponent(d.key)}/${encodeURIComponent(d.agent)}`;
    return tune.row([[el("a", { href: path }, d.agent), "name"], [d.key, "name"], [stateOf(d, now), "name"], [nameOf(d), "text"], [d.leased ? tune.count(d.leased) : "", "n", d.leased ? "leased" : null], [tune.count(d.done), "n", "done"],
      [d.failed ? tune.count(d.failed) : "", "n", d.failed ? "failed" : null], [temperature(d.temperature), "n", "temperature"], [d.load > 0 ? d.load.toFixed(2) : "–", "n", "load"], [tune.time(d.canary_ns), "n", "canary"],
      [d.reserved ? "for " + d.reserved : tune.span((now - d.last_seen_ms) / 1000) + " ago", "n"]]);
  }

  function overview(main) {
    const jobs = new Map(), devices = new Map(), builders = new Map(), view = { all: false, text: "", jobs: 20 };
    const figures = el("div"), active = el("div"), past = el("div"), list = el("div"), search = el("input", { type: "search", placeholder: "key, agent, state", "aria-label": "find devices", oninput: () => { view.text = search.value.toLowerCase(); drawDevices(); } });
    const listHead = el("div", { class: "line" }, el("h2", null, "Devices"), el("span", { class: "grow" }), search);
    let next = 0, skew = 0, timer = null;
    fill(main, el("h1", { class: "unseen" }, "The farm"), figures, el("section", null, active), el("section", null, listHead, list), el("section", null, past));

    const now = () => Date.now() + skew;
    const number = (j) => Number(j.job.slice(1));
    function drawJobs() {
      const all = [...jobs.values()].sort((a, b) => number(b) - number(a)), live = all.filter((j) => !ended(j)), over = all.filter(ended), places = queue(live);
      const order = { running: 0, open: 1, paused: 2 };
      live.sort((a, b) => order[a.state] - order[b.state] || (places.get(a.job) || 0) - (places.get(b.job) || 0) || number(a) - number(b));
      fill(active, el("h2", null, "Jobs under way"), live.length ? jobTable(live.slice(0, SHOWN), places, "jobs") : el("p", { class: "soft" }, "None: ", el("code", null, "tune submit"), " hands one in."), live.length > SHOWN ? el("p", { class: "soft" }, `and ${tune.count(live.length - SHOWN)} more`) : null);
      fill(past, el("h2", null, "Ended"), over.length ? jobTable(over.slice(0, view.jobs), places, "ended") : el("p", { class: "soft" }, "None yet."),
        over.length > view.jobs || next ? el("button", { type: "button", onclick: more }, "earlier jobs") : null);
    }
    function drawDevices() {
      const t = now(), all = [...devices.values()].filter((d) => d.state !== "gone"), rank = (d) => (d.state === "lost" ? 2 : d.leased ? 0 : 1);
      const some = all.filter((d) => !view.text || [d.key, d.agent, d.leased ? "busy" : d.state, nameOf(d), d.mode].join(" ").toLowerCase().includes(view.text));
      some.sort((a, b) => rank(a) - rank(b) || (a.key < b.key ? -1 : a.key > b.key ? 1 : a.agent < b.agent ? -1 : 1));
      const shown = view.all ? some : some.slice(0, DEVICES), made = [...builders.values()].filter((b) => b.state !== "gone");
      search.hidden = all.length < 8;
      fill(list, some.length ? tune.table(["agent", "key", "state", "device", ["leased", "n"], ["done", "n"], ["failed", "n"], ["temperature", "n"], ["load", "n"], ["canary", "n"], ["heard of", "n"]], shown.map((d) => deviceRow(d, t)), { class: "rows-as-cards", id: "devices" })
        : el("p", { class: "soft" }, all.length ? "No device fits." : el("span", null, "None: ", el("code", null, "tune-agent --tracker URL --key NAME"), " brings one.")),
        some.length > shown.length ? el("button", { type: "button", onclick: () => { view.all = true; drawDevices(); } }, `all ${tune.count(some.length)}`) : null,
        made.length ? [el("h3", null, "Builders"), tune.table(["builder", "state", "for", "compiler"], made.map((b) => tune.row([[b.agent, "name"], [stateOf(b, t), "name"], (b.arches || []).join(", "), b.compiler || ""])), { id: "builders" })] : null);
      const here = all.filter((d) => d.state !== "lost"), busy = here.filter((d) => d.leased).length, live = [...jobs.values()].filter((j) => !ended(j));
      fill(figures, tune.figures([[`${tune.count(busy)} / ${tune.count(here.length)}`, "devices busy"], [tune.count(all.length - here.length), "devices lost"], [tune.count(live.filter((j) => j.state === "running").length), "jobs running"],
        [tune.count(live.filter((j) => j.state === "open").length), "jobs in the queue"], [tune.count(live.reduce((n, j) => n + j.trials.open, 0)), "trials waiting"], [tune.count([...devices.values()].reduce((n, d) => n + d.done, 0)), "trials done"]]));
    }
    const draw = () => { timer = null; drawJobs(); drawDevices(); };
    const soon = () => { if (!timer) timer = setTimeout(draw, 120); };

    async function more() {
      view.jobs += 50;
      if (next) {
        const page = await get("jobs?max=100&before=" + next);
        page.jobs.forEach((j) => jobs.has(j.job) || jobs.set(j.job, j));
        next = page.next;
      }
      drawJobs();
    }
    async function refresh() {
      const status = await get("status"), page = await get("jobs?max=200");
      skew = status.now_ms - Date.now();
      jobs.clear(); page.jobs.forEach((j) => jobs.set(j.job, j));
      next = page.next;
      const seen = new Map();
      for (let after = 0; ; ) {
        const some = await get("devices?max=200&after=" + after);
        some.devices.forEach((d) => seen.set(d.agent, d));
        (some.builders || []).forEach((b) => builders.set(b.agent, b));
        after = some.next;
        if (!after) break;
      }
      devices.clear(); seen.forEach((d, a) => devices.set(a, d));
      draw();
    }
    setInterval(drawDevices, 5000);
    document.title = "tune";
    return {
      refresh,
      job: (j) => { jobs.set(j.job, j); soon(); },
      device: (d) => { devices.set(d.agent, { ...devices.get(d.agent), ...d, mode: d.mode, reserved: d.reserved }); soon(); },
      builder: (b) => { builders.set(b.agent, b); soon(); },
    };
  }

  /* ---- one device ---- */

  const bytes = (n) => (n >= 2 ** 30 ? (n / 2 ** 30).toFixed(1) + " GiB" : n >= 2 ** 20 ? (n / 2 ** 20).toFixed(0) + " MiB" : n > 0 ? (n / 1024).toFixed(0) + " KiB" : null);
  function throughput(h) {
    return h.ts_ms.map((t, i) => (i ? Math.max(0, (60000 * (h.done[i] - h.done[i - 1])) / (t - h.ts_ms[i - 1])) : null));
  }
  function device(main, key, agent) {
    const box = el("div");
    document.title = `${agent} – tune`;
    fill(main, box);
    async function refresh() {
      try {
        const d = await get("devices/" + encodeURIComponent(agent)), h = d.history, v = d.device || {}, over = (name, list, i, format) => el("div", null, el("h3", null, name), tune.charts.overTime(h.ts_ms, list, i, format));
        fill(box, el("h1", null, agent), tune.facts([["state", stateOf(d, Date.now())], ["key", d.key], ["device", v.name], ["driver", [v.platform, v.driver].filter(Boolean).join(" ")], ["leased", String(d.leased)], ["done", tune.count(d.done)], ["failed", tune.count(d.failed)],
          ["temperature", temperature(d.temperature)], ["load", d.load > 0 ? d.load.toFixed(2) : "–"], ["canary", tune.time(d.canary_ns)], ["heard of", tune.span((Date.now() - d.last_seen_ms) / 1000) + " ago"], ["units", v.units || null], ["threads", v.threads || null],
          ["memory", bytes(v.global_bytes)], ["peak", v.peak_gflops > 0 ? v.peak_gflops + " GFLOPS" : null], ["system", [v.machine, v.os].filter(Boolean).join(" ")], ["agent", d.version], ["mode", d.mode], ["reserved for", d.reserved],
          ["fingerprint", d.fingerprint ? d.fingerprint.slice(0, 12) : null]]),
          el("h2", null, "Over time"), el("div", { class: "two" }, over("Temperature", h.temperature, 1, (t) => t.toFixed(1) + " °C"), over("Load of its machine", h.load, 0, (t) => t.toFixed(2)),
            over("Canary: the same small kernel, time and again", h.canary_ns, 3, tune.time), over("Trials a minute", throughput(h), 2, (t) => t.toFixed(1))),
          el("p", { class: "soft" }, "Since the tracker heard of it first, or was started; older points are further apart."));
      } catch (e) {
        fill(box, el("h1", null, agent), el("p", { class: "note" }, e.message));
      }
    }
    return { refresh, device: (d) => { if (d.agent === agent) refresh(); } };
  }

  return { overview, device };
})();
