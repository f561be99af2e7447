/* SPDX-License-Identifier: MIT */
/* dom.js - elements, numbers for people, and the way to the tracker. What peers wrote is only ever put in as text. */
"use strict";
const tune = {};

/* el("td", {class: "n"}, "text", node, [..]) - properties that begin with "on" are listeners. */
tune.el = function (name, props, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(props || {}))
    if (v === undefined || v === null || v === false) continue;
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? "" : v);
  e.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
};
tune.svg = function (name, props, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(props || {})) if (v !== undefined && v !== null) e.setAttribute(k, v);
  e.append(...children.flat(3));
  return e;
};
/* Puts these in the place of all that an element has. */
tune.fill = function (e, ...children) {
  e.replaceChildren(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
};
/* Sets a colour or a size that comes from data; allowed by the policy, unlike a style attribute. */
tune.style = function (e, props) {
  for (const [k, v] of Object.entries(props)) e.style.setProperty(k, v);
  return e;
};

/* ---- numbers ---- */
tune.time = function (ns) {
  if (!(ns > 0)) return "–";
  const [v, unit] = ns >= 1e9 ? [ns / 1e9, "s"] : ns >= 1e6 ? [ns / 1e6, "ms"] : ns >= 1e3 ? [ns / 1e3, "µs"] : [ns, "ns"];
  return (v >= 1000 ? v.toFixed(0) : v.toPrecision(4)) + " " + unit;
};
tune.count = (n) => Number(n || 0).toLocaleString("en-US").replace(/,/g, " ");
tune.percent = (x, digits = 1) => (100 * x).toFixed(digits) + " %";
tune.error = (se) => (se > 0 ? "± " + (100 * se >= 9.95 ? (100 * se).toFixed(0) : (100 * se).toPrecision(2)) + " %" : "");
tune.gflops = (r) => (r.flops > 0 && r.time_ns > 0 ? (r.flops / r.time_ns).toFixed(1) : "–");
tune.span = function (s) {
  if (!(s >= 0)) return "–";
  s = Math.round(s);
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + (s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
  return Math.floor(s / 86400) + " d " + Math.floor((s % 86400) / 3600) + " h";
};
tune.clock = (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");
tune.knobs = (k) => Object.entries(k || {}).map(([n, v]) => n + "=" + v).join(" ");
tune.one = (n, word) => tune.count(n) + " " + word + (n === 1 ? "" : "s");

/* ---- the tracker ---- */
tune.get = async function (path) {
  for (let tries = 0; ; tries++) {
    const reply = await fetch("/api/" + path, { cache: "no-store" });
    if (reply.status === 503 && tries < 8) {
      await new Promise((r) => setTimeout(r, 150 * (tries + 1)));
      continue;
    }
    if (reply.ok) return reply.headers.get("Content-Type").startsWith("application/json") ? reply.json() : reply.text();
    const said = await reply.text();
    let why = said;
    try { why = JSON.parse(said).why; } catch (e) { /* words */ }
    throw new Error(why || reply.statusText);
  }
};

/* A row of a table out of [text or node, class, heading on a phone]. */
tune.row = (cells, props) =>
  tune.el("tr", props, cells.map((c) => (Array.isArray(c) ? tune.el("td", { class: c[1], "data-head": c[2] }, c[0]) : tune.el("td", null, c))));
/* heads: [text, class] or text. */
tune.table = (heads, rows, props) =>
  tune.el("div", { class: "wide" }, tune.el("table", props,
    tune.el("thead", null, tune.el("tr", null, heads.map((h) => (Array.isArray(h) ? tune.el("th", { class: h[1], scope: "col" }, h[0]) : tune.el("th", { scope: "col" }, h))))),
    tune.el("tbody", null, rows)));
tune.facts = (list) => tune.el("dl", { class: "facts" }, list.filter((f) => f && f[1] !== "" && f[1] !== null && f[1] !== undefined).map(([k, v]) => tune.el("div", null, tune.el("dt", null, k), tune.el("dd", null, v))));
tune.figures = (list) => tune.el("div", { class: "figures" }, list.map(([v, what]) => tune.el("div", null, tune.el("b", null, v), tune.el("span", null, what))));
tune.state = (word, as) => tune.el("span", { class: "state " + (as || word) }, word);
tune.bar = (part) => tune.el("span", { class: "bar", "aria-hidden": "true" }, tune.style(tune.el("i"), { width: 100 * Math.max(0, Math.min(1, part)) + "%" }));
/* Buttons of which one is pressed. */
tune.choice = function (label, names, chosen, then) {
  const all = names.map(([key, text]) => tune.el("button", {
    type: "button", "aria-pressed": String(key === chosen),
    onclick: () => { all.forEach((b, i) => b.setAttribute("aria-pressed", String(names[i][0] === key))); then(key); },
  }, text));
  return tune.el("span", { class: "choice", role: "group", "aria-label": label }, all);
};
