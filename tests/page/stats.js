/* SPDX-License-Identifier: MIT */
/* stats.js PAGE - what the page computes of a job's rows (PAGE/stats.js), without a browser: numbers counted by hand. */
"use strict";
const assert = require("assert"), fs = require("fs"), path = require("path"), vm = require("vm");
const world = { tune: {} };
vm.runInNewContext(fs.readFileSync(path.join(process.argv[2], "stats.js"), "utf8"), world);
const stats = world.tune.stats;

let n = 0;
const row = (more) => ({ id: "t" + ++n, status: "ok", purpose: "search", workload: "w", template: "t", knobs: { a: 1 }, time_ns: 100, ts: 1000 * n, ...more });
const times = (rows) => [...rows].map((r) => r.time_ns);
const same = (a, b) => assert.deepStrictEqual(JSON.parse(JSON.stringify(a)), b);

const facts = {
  "of each config the record of the highest purpose counts, the last of several"() {
    same(times(stats.configs([row({ time_ns: 5 }), row({ time_ns: 7 })])), [7]);
    for (const [first, second] of [["search", "redo"], ["redo", "final"], ["search", "final"]]) {
      same(times(stats.configs([row({ purpose: first, time_ns: 5 }), row({ purpose: second, time_ns: 7 })])), [7]);
      same(times(stats.configs([row({ purpose: second, time_ns: 7 }), row({ purpose: first, time_ns: 5 })])), [7]);
    }
    same(times(stats.configs([row({ purpose: "final", time_ns: 5 }), row({ purpose: "final", time_ns: 7 })])), [7]);
    same(times(stats.configs([row({ time_ns: 5 }), row({ time_ns: 7, status: "crash" }), row({ time_ns: 0 })])), [5]);
    same(times(stats.configs([row({ time_ns: 5 }), row({ time_ns: 7, knobs: { a: 2 } }), row({ time_ns: 9, template: "u" })])), [5, 7, 9]);
  },
  "finals go first, then times"() {
    same(times(stats.ranked([row({ time_ns: 3 }), row({ time_ns: 9, knobs: { a: 2 }, purpose: "final" }), row({ time_ns: 8, knobs: { a: 3 }, purpose: "final" })])), [8, 9, 3]);
  },
  "what was verified in part is not the best, whatever its time"() {
    const [layer, none] = stats.layers([row({ time_ns: 3, verified: "in part" }), row({ time_ns: 5, knobs: { a: 2 } }), row({ workload: "other", verified: "in part" })]);
    same([layer.best.time_ns, none.best], [5, null]);
  },
  "what was verified in full is the best before what does not say"() {
    const [layer] = stats.layers([row({ time_ns: 3 }), row({ time_ns: 5, knobs: { a: 2 }, verified: "in full" })]);
    same([layer.best.time_ns], [5]);
  },
  "times tie within 1 % or twice their errors"() {
    assert.strictEqual(stats.tie({ time_ns: 1000 }, { time_ns: 1009 }), true);
    assert.strictEqual(stats.tie({ time_ns: 1000 }, { time_ns: 1011 }), false);
    assert.strictEqual(stats.tie({ time_ns: 1000, se: 0.03 }, { time_ns: 1099, se: 0.04 }), true); /* 2 * 0.05 of a logarithm */
    assert.strictEqual(stats.tie({ time_ns: 1000, se: 0.03 }, { time_ns: 1110, se: 0.04 }), false);
  },
  "a layer begins with the best of its templates' defaults, the naive one aside"() {
    const [layer, other] = stats.layers([
      row({ template: "t/a", proposed_by: "init", time_ns: 80 }),
      row({ template: "t/a", proposed_by: "init", time_ns: 30, knobs: { a: 2 } }) /* not the first */,
      row({ template: "t/naive", proposed_by: "init", time_ns: 10 }),
      row({ template: "t/b", proposed_by: "init", time_ns: 60 }),
      row({ template: "t/b", knobs: { a: 3 }, status: "wrong", time_ns: 0 }),
      row({ workload: "other", status: "compile", time_ns: 0 }),
    ]);
    same([layer.start.time_ns, layer.best.time_ns, layer.gain, layer.n, layer.failed, layer.isStart], [60, 10, 6, 5, 1, false]);
    same([other.best, other.start, other.gain, other.i], [null, null, null, 1]);
  },
  "the best so far falls, over trials or seconds; finals are no trials"() {
    const rows = [row({ time_ns: 9, ts: 2000 }), row({ status: "crash", ts: 3000 }), row({ time_ns: 10, ts: 4000 }), row({ time_ns: 4, ts: 6000 }), row({ purpose: "final", time_ns: 1, ts: 8000 })];
    const pairs = (list) => list.map(([x, y]) => [x, y]);
    same(pairs(stats.curve(rows, "trial", 0).best), [[1, 9], [4, 4]]);
    same(pairs(stats.curve(rows, "trial", 0).dots), [[1, 9], [3, 10], [4, 4]]);
    assert.strictEqual(stats.curve(rows, "trial", 0).end, 4);
    same(pairs(stats.curve(rows, "time", 1000).best), [[1, 9], [5, 4]]);
    assert.strictEqual(stats.curve(rows, "time", 1000).end, 7);
  },
  "failures and templates: those that came most go first, each with its first"() {
    const rows = [row({ status: "wrong" }), row({ status: "crash" }), row({ status: "crash" }), row({}), row({ template: "u" }), row({ template: "u", knobs: { a: 2 } })];
    same(stats.failures(rows).map((f) => [f.status, f.n, f.first.id]), [["crash", 2, rows[1].id], ["wrong", 1, rows[0].id]]);
    same(stats.templates(rows).map((g) => [g.name, g.rows.length]), [["u", 2], ["t", 1]]);
  },
  "the part of a knob is of the variance of ln time, without what chance explains"() {
    const e = Math.E, rows = [1, 1, e, e].map((time_ns, i) => row({ time_ns, knobs: { a: i >> 1, b: i & 1, c: 5 } }));
    same(stats.importance(rows).map((p) => [p.name, p.part]), [["a", 1], ["b", 0]]);
    /* ln 0 1 1 2: each knob explains .5 of 1 of 2, within .5 / 2 free = .5: (2 - 1 - .5) / (2 + .5) */
    const even = [1, e, e, e * e].map((time_ns, i) => row({ time_ns, knobs: { a: i >> 1, b: i & 1 } }));
    for (const p of stats.importance(even)) assert.ok(Math.abs(p.part - 0.2) < 1e-12, p.name + " " + p.part);
  },
  "medians are between the middle ones"() {
    same([stats.median([5, 1, 3]), stats.median([4, 1, 3, 2])], [3, 2.5]);
    assert.ok(Number.isNaN(stats.median([])));
  },
};

for (const [words, fact] of Object.entries(facts)) {
  try {
    fact();
  } catch (e) {
    console.error(words + ": " + e.message);
    process.exitCode = 1;
  }
}
