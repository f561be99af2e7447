/* SPDX-License-Identifier: MIT */
/* charts.js - pictures as plain SVG, drawn anew for the width that there is. */
"use strict";
tune.charts = (function () {
  const { el, svg } = tune;
  const colour = (i) => "var(--s" + (i % 8) + ")";
  const dash = (i) => [undefined, "6 3", "2 3", "9 3 2 3"][Math.floor(i / 8) % 4];

  /* Calls draw(width) now and whenever the width changes. */
  function bench(label, draw) {
    const box = el("div", { class: "bench" });
    let width = 0;
    const redraw = () => {
      const now = Math.round(box.clientWidth);
      if (now < 40 || now === width) return;
      width = now;
      const picture = draw(now, box);
      picture.setAttribute("role", "img");
      picture.setAttribute("aria-label", label);
      box.replaceChildren(picture);
    };
    new ResizeObserver(redraw).observe(box);
    return box;
  }

  /* ---- scales ---- */
  function niceStep(atLeast) {
    const power = 10 ** Math.floor(Math.log10(atLeast)), rest = atLeast / power;
    return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
  }
  function linear(lo, hi, a, b, n) {
    if (!(hi > lo)) hi = lo + 1;
    const step = niceStep((hi - lo) / n), ticks = [];
    for (let t = Math.ceil(lo / step) * step; t <= hi + step * 1e-9; t += step) ticks.push(Math.abs(t) < step * 1e-9 ? 0 : t);
    return { at: (v) => a + ((b - a) * (v - lo)) / (hi - lo), ticks };
  }
  function logarithmic(lo, hi, a, b) {
    const spread = Math.max(Math.log(hi / lo), 0.05), from = Math.log(lo) - spread * 0.06, to = Math.log(hi) + spread * 0.06;
    const inside = (t) => Math.log(t) >= from && Math.log(t) <= to;
    let ticks = [];
    for (const some of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]]) {
      ticks = [];
      for (let p = Math.floor(from / Math.LN10) - 1; p <= to / Math.LN10 + 1; p++) ticks.push(...some.map((s) => s * 10 ** p).filter(inside));
      if (ticks.length >= 4) break;
    }
    if (ticks.length < 3) ticks = linear(Math.exp(from), Math.exp(to), 0, 1, 4).ticks.filter((t) => t > 0 && inside(t));
    return { at: (v) => a + ((b - a) * (Math.log(v) - from)) / (to - from), ticks };
  }

  const short = (ns) => tune.time(ns).replace(/(\.\d*?)0+ /, "$1 ").replace(/\. /, " ");
  const line = (x1, y1, x2, y2, cls) => svg("line", { x1, y1, x2, y2, class: cls, "stroke-width": 1 });
  const label = (x, y, text, anchor, cls) => svg("text", { x, y, "text-anchor": anchor || "start", class: cls }, text);

  /* ---- words beside the pointer ---- */
  function tips(box, picture, points, words) {
    const tip = el("div", { class: "tip", hidden: true });
    const move = (event) => {
      const r = picture.getBoundingClientRect(), x = event.clientX - r.left, y = event.clientY - r.top;
      let near = null, best = 900;
      for (const p of points) {
        const d = (p.x - x) ** 2 + (p.y - y) ** 2;
        if (d < best) { best = d; near = p; }
      }
      tip.hidden = !near;
      if (!near) return;
      tip.textContent = words(near);
      tune.style(tip, { left: Math.min(near.x + 10, Math.max(0, r.width - 260)) + "px", top: Math.max(0, near.y - 44) + "px" });
    };
    picture.addEventListener("pointermove", move);
    picture.addEventListener("pointerleave", () => (tip.hidden = true));
    queueMicrotask(() => box.append(tip));
  }

  /* Steps down to the right: the best so far. */
  function steps(points, end, sx, sy) {
    let d = "";
    for (const [x, y] of points) d += (d ? "H" + sx(x).toFixed(1) + "V" : "M" + sx(x).toFixed(1) + " ") + sy(y).toFixed(1);
    return d && d + "H" + sx(end).toFixed(1);
  }

  /* series: [{name, i, best: [[x, ns, row]], dots, end}], times on a logarithmic scale. */
  function curves(series, by, height = 300) {
    const all = series.flatMap((s) => s.best);
    if (!all.length) return el("p", { class: "soft" }, "No config has a time yet.");
    const lo = Math.min(...series.filter((s) => s.best.length).map((s) => s.best[s.best.length - 1][1]));
    const dots = series.flatMap((s) => s.dots.map((d) => d[1])).sort((a, b) => a - b);
    const hi = Math.max(...series.filter((s) => s.best.length).map((s) => s.best[0][1]), Math.min(dots[Math.floor(dots.length * 0.85)], 20 * lo));
    const name = series.map((s) => s.name + (s.best.length ? ": best " + tune.time(s.best[s.best.length - 1][1]) : "")).join("; ");
    return bench("Best time so far. " + name, (w, box) => {
      const left = 58, right = w - 12, bottom = height - 30, top = 10;
      const end = Math.max(...series.map((s) => s.end), by === "time" ? 1 : 2);
      const x = linear(by === "time" ? 0 : 1, end, left, right, Math.max(2, Math.floor(w / 110)));
      const y = logarithmic(lo, hi, bottom, top), limit = top - 1;
      const picture = svg("svg", { viewBox: `0 0 ${w} ${height}`, height });
      for (const t of y.ticks) picture.append(line(left, y.at(t), right, y.at(t), "grid"), label(left - 8, y.at(t) + 4, short(t), "end"));
      for (const t of x.ticks) if (by === "time" || t >= 1) picture.append(label(x.at(t), bottom + 17, by === "time" ? (end > 600 ? (t / 60).toFixed(end > 6000 ? 0 : 1).replace(/\.0$/, "") : t) : tune.count(t), "middle"));
      picture.append(line(left, bottom, right, bottom, "axis"), label(right, height - 1, by === "time" ? (end > 600 ? "minutes" : "seconds") : "trials", "end"));
      const points = [];
      for (const s of series) {
        const each = Math.max(1, Math.ceil((s.dots.length * series.length) / 1500));
        s.dots.forEach((d, i) => {
          const p = { x: x.at(d[0]), y: y.at(d[1]), s, d };
          if (i % each === 0 && p.y >= limit) picture.append(svg("circle", { cx: p.x.toFixed(1), cy: p.y.toFixed(1), r: 1.6, fill: colour(s.i), opacity: 0.35 }));
        });
      }
      for (const s of series) {
        picture.append(svg("path", { d: steps(s.best, s.end, x.at, y.at), fill: "none", stroke: colour(s.i), "stroke-width": 2, "stroke-linejoin": "round", "stroke-dasharray": dash(s.i) }));
        for (const d of s.best) points.push({ x: x.at(d[0]), y: y.at(d[1]), s, d });
      }
      tips(box, picture, points, (p) => `${p.s.name}\n${tune.time(p.d[1])} ${by === "time" ? "after " + tune.span(p.d[0]) : "at trial " + p.d[0]}\n${p.d[2] ? tune.knobs(p.d[2].knobs) : ""}`);
      return picture;
    });
  }

  function legend(series, hidden, then) {
    if (series.length < 2) return null;
    return el("ul", { class: "legend" }, series.map((s) => el("li", null, el("button", {
      type: "button", "aria-pressed": String(!hidden.has(s.name)), title: "show or hide",
      onclick: () => { hidden.has(s.name) ? hidden.delete(s.name) : hidden.add(s.name); then(); },
    }, tune.style(el("i"), { background: colour(s.i) }), s.name))));
  }

  /* A line for each config over an axis for each knob, the faster the darker, and time on the last axis. */
  function parallel(rows, knobs, height = 260) {
    const times = rows.map((r) => r.time_ns), lo = Math.min(...times), hi = Math.max(...times);
    return bench(`${rows.length} configs over ${knobs.length} knobs; the fastest take ${tune.time(lo)}`, (w, box) => {
      const top = 34, bottom = height - 16, axes = knobs.length + 1, gap = 26;
      const at = (i) => gap + ((w - 2 * gap - 34) * i) / Math.max(1, axes - 1);
      const picture = svg("svg", { viewBox: `0 0 ${w} ${height}`, height });
      const places = knobs.map((k) => new Map(k.values.map((v, i) => [v, k.values.length === 1 ? (top + bottom) / 2 : bottom - ((bottom - top) * i) / (k.values.length - 1)])));
      const y = logarithmic(lo, hi * 1.0001, bottom, top);
      const quick = (t) => 1 - Math.log(t / lo) / Math.max(1e-9, Math.log(hi / lo)), fast = [...times].sort((a, b) => a - b)[Math.min(9, Math.floor(times.length / 4))];
      const points = [];
      for (const r of [...rows].sort((a, b) => b.time_ns - a.time_ns)) {
        const q = quick(r.time_ns), line = knobs.map((k, i) => [at(i), places[i].get(r.knobs[k.name])]).filter((p) => p[1] !== undefined);
        line.push([at(knobs.length), y.at(r.time_ns)]);
        picture.append(svg("path", { d: "M" + line.map((p) => p[0].toFixed(1) + " " + p[1].toFixed(1)).join("L"), fill: "none", stroke: r.time_ns <= fast ? "var(--s1)" : "var(--s0)", "stroke-width": r.time_ns <= fast ? 1.8 : 1, opacity: (r.time_ns <= fast ? 0.95 : 0.06 + 0.3 * q * q).toFixed(2) }));
        points.push({ x: at(knobs.length), y: y.at(r.time_ns), r });
      }
      const room = (w - 2 * gap) / axes;
      knobs.forEach((k, i) => {
        picture.append(line(at(i), top, at(i), bottom, "axis"));
        const fits = Math.max(3, Math.floor(room / 6.4));
        picture.append(svg("text", { x: at(i), y: i % 2 && room < 70 ? 24 : 12, "text-anchor": i === 0 ? "start" : "middle", class: "ink" }, svg("title", null, k.name), k.name.length > fits * (room < 70 ? 2 : 1) ? k.name.slice(0, fits * (room < 70 ? 2 : 1) - 1) + "…" : k.name));
        const each = Math.ceil(k.values.length / 10);
        k.values.forEach((v, n) => { if (n % each === 0 && room > 34) picture.append(label(at(i) + 4, places[i].get(v) + 4, String(v).slice(0, 8))); });
      });
      picture.append(line(at(knobs.length), top, at(knobs.length), bottom, "axis"), label(at(knobs.length), 12, "time", "middle", "ink"));
      for (const t of y.ticks) picture.append(label(at(knobs.length) + 5, y.at(t) + 4, short(t)));
      tips(box, picture, points, (p) => `${tune.time(p.r.time_ns)}\n${tune.knobs(p.r.knobs)}`);
      return picture;
    });
  }

  /* items: [{name, part, words}], bars of up to 100 %. */
  function bars(items) {
    return bench(items.map((k) => k.name + " " + tune.percent(k.part, 0)).join(", "), (w) => {
      const height = 24 * items.length + 4, left = Math.min(150, w * 0.34), right = w - 46;
      const picture = svg("svg", { viewBox: `0 0 ${w} ${height}`, height });
      items.forEach((k, i) => {
        const y = 24 * i + 3;
        picture.append(
          svg("text", { x: left - 8, y: y + 13, "text-anchor": "end", class: "ink" }, k.name.length > left / 6.5 ? k.name.slice(0, left / 6.5 - 1) + "…" : k.name),
          svg("rect", { x: left, y: y + 3, width: right - left, height: 12, rx: 2, fill: "var(--line)", opacity: 0.5 }),
          svg("rect", { x: left, y: y + 3, width: Math.max(1, (right - left) * k.part), height: 12, rx: 2, fill: "var(--s0)" }),
          label(w, y + 13, tune.percent(k.part, 0), "end"));
      });
      return picture;
    });
  }

  /* rows with time_ns and se: a dot and one standard error to both sides, from one axis on. */
  function spread(rows) {
    const lo = Math.min(...rows.map((r) => r.time_ns * Math.exp(-(r.se || 0)))), hi = Math.max(...rows.map((r) => r.time_ns * Math.exp(r.se || 0)));
    return (r) => {
      const w = 150, x = linear(lo, hi > lo ? hi : lo * 1.01, 6, w - 6, 4).at, a = r.time_ns * Math.exp(-(r.se || 0)), b = r.time_ns * Math.exp(r.se || 0);
      return svg("svg", { viewBox: `0 0 ${w} 16`, width: w, height: 16, role: "img", "aria-label": tune.error(r.se) },
        line(6, 8, w - 6, 8, "grid"),
        svg("line", { x1: x(a), x2: Math.max(x(b), x(a) + 1), y1: 8, y2: 8, stroke: "var(--s0)", "stroke-width": 2 }),
        svg("circle", { cx: x(r.time_ns), cy: 8, r: 3.2, fill: "var(--s0)" }));
    };
  }

  /* One trial's samples in their order, and their median. */
  function samples(list) {
    const mid = tune.stats.median(list), lo = Math.min(...list), hi = Math.max(...list), height = 130;
    return bench(`${list.length} samples, median ${tune.time(mid)}`, (w, box) => {
      const left = 70, y = linear(lo === hi ? lo * 0.99 : lo, lo === hi ? hi * 1.01 : hi, height - 22, 10, 3), x = linear(1, Math.max(2, list.length), left + 10, w - 12, Math.min(list.length, 10));
      const picture = svg("svg", { viewBox: `0 0 ${w} ${height}`, height });
      for (const t of y.ticks) picture.append(line(left, y.at(t), w - 4, y.at(t), "grid"), label(left - 8, y.at(t) + 4, short(t), "end"));
      picture.append(svg("line", { x1: left, x2: w - 4, y1: y.at(mid), y2: y.at(mid), stroke: "var(--s1)", "stroke-dasharray": "4 3" }));
      const points = list.map((v, i) => ({ x: x.at(i + 1), y: y.at(v), v, i }));
      for (const p of points) picture.append(svg("circle", { cx: p.x, cy: p.y, r: 3.5, fill: "var(--s0)" }));
      for (const t of x.ticks) if (Number.isInteger(t) && t >= 1) picture.append(label(x.at(t), height - 4, String(t), "middle"));
      tips(box, picture, points, (p) => `round ${p.i + 1}: ${tune.time(p.v)}`);
      return picture;
    });
  }

  /* A figure over time: ts in ms, values with null where nothing was told. */
  function overTime(ts, values, i, format, height = 120) {
    const known = values.map((v, k) => [ts[k], v]).filter((p) => p[1] !== null && p[1] !== undefined);
    if (known.length < 2) return el("p", { class: "soft" }, known.length ? format(known[0][1]) + "; more with time" : "not told");
    const lo = Math.min(...known.map((p) => p[1])), hi = Math.max(...known.map((p) => p[1]));
    return bench(`from ${format(known[0][1])} to ${format(known[known.length - 1][1])}`, (w, box) => {
      const left = 58, pad = (hi - lo) * 0.08 || Math.abs(hi) * 0.05 || 1;
      const y = linear(lo >= 0 && lo - pad < 0 ? 0 : lo - pad, hi + pad, height - 22, 8, 3), x = linear(ts[0], ts[ts.length - 1], left, w - 10, 4);
      const picture = svg("svg", { viewBox: `0 0 ${w} ${height}`, height });
      for (const t of y.ticks) picture.append(line(left, y.at(t), w - 10, y.at(t), "grid"), label(left - 8, y.at(t) + 4, format(t), "end"));
      let d = "", gap = true;
      values.forEach((v, k) => {
        if (v === null || v === undefined) { gap = true; return; }
        d += (gap ? "M" : "L") + x.at(ts[k]).toFixed(1) + " " + y.at(v).toFixed(1);
        gap = false;
      });
      picture.append(svg("path", { d, fill: "none", stroke: colour(i), "stroke-width": 1.8, "stroke-linejoin": "round" }));
      const clock = (t) => new Date(t).toTimeString().slice(0, 5);
      picture.append(label(left, height - 4, clock(ts[0])), label(w - 10, height - 4, clock(ts[ts.length - 1]), "end"));
      tips(box, picture, known.map((p) => ({ x: x.at(p[0]), y: y.at(p[1]), p })), (p) => `${format(p.p[1])} at ${clock(p.p[0])}`);
      return picture;
    });
  }

  return { colour, curves, legend, parallel, bars, spread, samples, overTime };
})();
