/* SPDX-License-Identifier: MIT */
/* stats.js - what the rows of a job say: layers, curves, failures, the part of each knob. No element is touched here. */
"use strict";
tune.stats = (function () {
  const rank = { search: 0, redo: 1, final: 2 };
  const isGood = (r) => r.status === "ok" && r.time_ns > 0;
  const configOf = (r) => r.template + " " + JSON.stringify(r.knobs);

  /* Of each config the record of the highest purpose, the last of several. */
  function configs(rows) {
    const all = new Map();
    for (const r of rows) {
      if (!isGood(r)) continue;
      const key = configOf(r), old = all.get(key);
      if (!old || (rank[r.purpose] || 0) >= (rank[old.purpose] || 0)) all.set(key, r);
    }
    return [...all.values()];
  }

  /* Finals were timed side by side: where there are some, one of them is the best. */
  function ranked(rows) {
    return configs(rows).sort((a, b) => (b.purpose === "final") - (a.purpose === "final") || a.time_ns - b.time_ns);
  }

  /* Do two times differ by less than 1 % or twice their standard errors? */
  const tie = (a, b) => Math.abs(Math.log(a.time_ns / b.time_ns)) < Math.max(0.01, 2 * Math.hypot(a.se || 0, b.se || 0));

  const number = (r) => Number(String(r.id || "").replace(/\D/g, "")) || 0;

  /* The config that a search begins with is its template's default: the best of these, the naive kernels aside. */
  function defaultOf(rows, found) {
    const first = new Map();
    for (const r of rows)
      if (r.proposed_by === "init" && !/\/naive/.test(r.template) && (!first.has(r.template) || number(r) < number(first.get(r.template)))) first.set(r.template, r);
    const good = [...first.values()].filter(isGood);
    if (!good.length) return null;
    const best = good.reduce((a, b) => (b.time_ns < a.time_ns ? b : a));
    return found.find((r) => configOf(r) === configOf(best)) || best;
  }

  function layer(workload, rows, i) {
    const found = ranked(rows), best = found.find((r) => r.verified === "in full") || found.find((r) => r.verified !== "in part") || null, start = defaultOf(rows, found);
    return {
      i, workload, rows, found, best, start,
      n: rows.filter((r) => r.purpose === "search").length,
      failed: rows.filter((r) => r.status !== "ok").length,
      gain: best && start ? start.time_ns / best.time_ns : null,
      isStart: Boolean(best && start && configOf(best) === configOf(start)),
      tiesStart: Boolean(best && start && tie(best, start)),
      ties: best ? found.filter((r) => r !== best && r.purpose === best.purpose && tie(r, best)).length : 0,
    };
  }

  function layers(rows) {
    const all = new Map();
    for (const r of rows) {
      const name = r.workload || "(no workload)";
      if (!all.has(name)) all.set(name, []);
      all.get(name).push(r);
    }
    return [...all.entries()].map(([w, some], i) => layer(w, some, i));
  }

  /* The best so far over the trials of the search, or over seconds since `from`; and all trials as dots. */
  function curve(rows, by, from) {
    const best = [], dots = [];
    let n = 0, least = Infinity;
    for (const r of rows) {
      if (r.purpose !== "search") continue;
      n++;
      const x = by === "time" ? (r.ts - from) / 1000 : n;
      if (!isGood(r)) continue;
      dots.push([x, r.time_ns, r]);
      if (r.time_ns < least) {
        least = r.time_ns;
        best.push([x, least, r]);
      }
    }
    return { best, dots, end: by === "time" ? (rows.length ? (rows[rows.length - 1].ts - from) / 1000 : 0) : n };
  }

  function failures(rows) {
    const all = new Map();
    for (const r of rows) {
      if (r.status === "ok") continue;
      if (!all.has(r.status)) all.set(r.status, { status: r.status, n: 0, first: r });
      all.get(r.status).n++;
    }
    return [...all.values()].sort((a, b) => b.n - a.n);
  }

  /* Groups of a layer's good records by template, the one tried most first. */
  function templates(rows) {
    const all = new Map();
    for (const r of configs(rows)) {
      if (!all.has(r.template)) all.set(r.template, []);
      all.get(r.template).push(r);
    }
    return [...all.entries()].map(([name, some]) => ({ name, rows: some })).sort((a, b) => b.rows.length - a.rows.length);
  }

  function knobNames(rows) {
    const values = new Map();
    for (const r of rows)
      for (const [k, v] of Object.entries(r.knobs || {})) {
        if (!values.has(k)) values.set(k, new Set());
        values.get(k).add(v);
      }
    return [...values.entries()].map(([name, set]) => ({
      name,
      values: [...set].sort((a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : 1)),
    }));
  }

  /* The part of the variance of ln time that one knob alone explains (omega squared: what chance would explain is taken off). */
  function part(rows, knob) {
    const groups = new Map(), y = rows.map((r) => Math.log(r.time_ns));
    const mean = y.reduce((a, b) => a + b, 0) / y.length;
    let total = 0, within = 0;
    rows.forEach((r, i) => {
      const g = groups.get(r.knobs[knob]) || { n: 0, sum: 0, squares: 0 };
      g.n++; g.sum += y[i]; g.squares += y[i] * y[i];
      groups.set(r.knobs[knob], g);
      total += (y[i] - mean) ** 2;
    });
    for (const g of groups.values()) within += Math.max(0, g.squares - (g.sum * g.sum) / g.n);
    const free = rows.length - groups.size;
    if (groups.size < 2 || free < 1 || !(total > 0)) return null;
    const noise = within / free;
    return Math.max(0, (total - within - (groups.size - 1) * noise) / (total + noise));
  }

  function importance(rows) {
    return knobNames(rows)
      .filter((k) => k.values.length > 1)
      .map((k) => ({ name: k.name, values: k.values, part: part(rows, k.name) }))
      .filter((k) => k.part !== null)
      .sort((a, b) => b.part - a.part);
  }

  function median(list) {
    const s = [...list].sort((a, b) => a - b), n = s.length;
    return n === 0 ? NaN : n % 2 ? s[(n - 1) / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
  }

  return { isGood, configOf, configs, ranked, tie, layers, curve, failures, templates, importance, median };
})();
