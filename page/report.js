/* SPDX-License-Identifier: MIT */
/* report.js - a log's rows out of the file itself. */
"use strict";
(function () {
  const { el, fill } = tune, rows = JSON.parse(document.getElementById("rows").textContent);
  const all = tune.trials.create({ detail: async (r) => ({ record: r }) }), main = document.getElementById("main");
  const keys = [...new Set(rows.map((r) => r.key).filter(Boolean))], agents = [...new Set(rows.map((r) => r.agent).filter(Boolean))], ts = rows.map((r) => r.ts).filter((t) => t > 0);
  fill(main, el("h1", null, document.title), tune.facts([["device key", keys.slice(0, 4).join(", ")], ["agents", agents.slice(0, 4).join(", ")],
    ["measured", ts.length ? tune.clock(Math.min(...ts)) + " to " + tune.clock(Math.max(...ts)) + " UTC" : null]]), all.root);
  all.add(rows);
})();
