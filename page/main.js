/* SPDX-License-Identifier: MIT */
/* main.js - which page this is, and what it hears of the tracker. */
"use strict";
(function () {
  const { el, fill } = tune, main = document.getElementById("main"), link = document.getElementById("link"), way = document.getElementById("way");
  const parts = location.pathname.split("/").filter(Boolean).map(decodeURIComponent);

  function choose() {
    if (parts[0] === "job" && parts[1]) return tune.job.view(main, parts[1]);
    if (parts[0] === "compare" && parts[2]) return tune.job.compare(main, [parts[1], parts[2]]);
    if (parts[0] === "device" && parts[2]) return tune.farm.device(main, parts[1], parts[2]);
    return tune.farm.overview(main);
  }
  fill(way, parts.length ? parts.map((p, i) => [i ? " / " : "/ ", p]) : "the farm");
  const view = choose();
  const failed = (e) => fill(link, el("span", { class: "bad" }, e.message));
  const refresh = () => Promise.resolve(view.refresh()).then(() => { main.dataset.ready = "yes"; }, failed);

  /* The first event says that from now on all changes are told: then what there is is asked for. */
  const events = new EventSource("/api/events");
  events.addEventListener("hello", () => { link.textContent = "live"; refresh(); });
  for (const name of ["job", "device", "builder"])
    events.addEventListener(name, (e) => { if (view[name]) view[name](JSON.parse(e.data)); });
  events.onerror = () => { link.textContent = "no connection"; main.dataset.ready = "no"; };
})();
