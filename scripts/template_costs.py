#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""template_costs.py - what the defaults of a CPU's templates take: measures them, learns the model in kernels/cost_list.h, judges it.

  template_costs.py measure [--threads N] [--every N] [--dtype T] [--only TABLE] -o LOG
                                        `tune run` of each template's default on the layers of kernels/networks and some
                                        beside them (TUNE_BIN_DIR, else build/bin), or on those of a table; a second run goes on with the log
  template_costs.py table [--over TABLE] LOG...
                                        what of logs counts, a line a layer: docs/results/2026-11-23-template-costs.txt;
                                        layers that the logs lack as that table has them
  template_costs.py fit TABLE >kernels/cost_list.h
  template_costs.py judge TABLE         each network's layers by a model of the others: time of the chosen template over that of
                                        the best one (regret), beside the first of the operator's list

The logarithm of a default's time is a sum over logarithms of sizes (kernels/cost.c), one line a template, by least
squares with a little ridge. Only templates that fit best take part. A time is the least sample of a default in search and finals:
what else the machine does only adds to it."""
import argparse
import collections
import glob
import json
import math
import os
import re
import subprocess
import sys
import textwrap
import time
import zlib

KEYS = ("c", "k", "h", "w", "r", "s", "stride", "groups", "layout", "m", "n")  # COST_KEYS of kernels/cost.c
LAYOUTS = ("nchw", "nchw4c", "nchw8c", "nchw16c")
FITS_BEST = {  # as `tune run` tries them, the operator's list first
    "conv2d": ("conv2d/direct_tile", "conv2d/direct_row", "conv2d/winograd_tile"),
    "dense": ("dense/gemm_packed", "dense/gemv"),
}
RIDGE = 0.1
LEAST_SAMPLES = 5  # of a time
FOLDS = 5  # of layers that are of no network
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def sizes(workload):
    return dict(word.split("=") for word in workload.split()[2:])


def networks():
    """{workload: names of the networks that have it}"""
    out = collections.defaultdict(set)
    for path in sorted(glob.glob(os.path.join(ROOT, "kernels/networks/*.net"))):
        with open(path, encoding="utf-8") as f:
            for line in f:
                if not line.startswith("#") and line.count("|") == 2:
                    out[line.split("|")[2].strip()].add(os.path.basename(path)[:-4])
    return out


def has_choice(workload):
    """Does more than one template fit best in blocks of channels, too?"""
    s = sizes(workload)
    return s["r"] == s["s"] == "3" and not {"stride", "groups", "dilation"} & set(s)


def layers(dtype, every):
    """[(workload, templates)]: convolutions of the networks and dense layers, and convolutions of few channels."""
    found = [w for w in networks() if w.startswith("conv2d f32 ")]
    found += [w + " layout=nchw16c" for w in found if has_choice(w)]
    found = sorted(found)[::every]
    few = [f"conv2d f32 n=1 c={c} h={h} w={h} k={k} r=3 s=3 pad=1{layout}"
           for c in (3, 4, 8, 16) for h, k in ((28, 16), (56, 64), (112, 32)) for layout in ("", " layout=nchw16c")]
    rows = [f"dense f32 m={m} n={n} k={k}"
            for m in (1, 2, 4, 8, 16, 64) for n, k in ((512, 512), (1000, 512), (1000, 2048), (4096, 4096))]
    return [w.replace(" f32 ", f" {dtype} ") for w in found + few[::every] + rows[::every]]


def measure(a):
    tune = os.path.join(os.environ.get("TUNE_BIN_DIR", os.path.join(ROOT, "build/bin")), "tune")
    by_operator = collections.defaultdict(list)
    for w in [x.workload for x in read(a.only)[0]] if a.only else layers(a.dtype, a.every):
        by_operator[w.split()[0]].append(w)
    for operator, list_of in by_operator.items():
        for i in range(0, len(list_of), 12):
            subprocess.run([tune, "run", *list_of[i:i + 12], "--template", ",".join(FITS_BEST[operator]), "--trials",
                            str(len(FITS_BEST[operator])), "--threads", str(a.threads), "-q", "-o", a.output],
                           env=dict(os.environ, POCL_MAX_PTHREAD_COUNT=str(a.threads)), check=True)


class Layer:
    """One workload on one device: ns of each template's default."""

    def __init__(self, workload, threads, flops):
        s = sizes(workload)
        self.workload, self.threads, self.flops, self.ns = workload, threads, flops, {}
        self.operator, self.dtype = workload.split()[:2]
        self.parts = {"one": 1.0, "flops": math.log2(flops), "threads": math.log2(threads)}
        for key in KEYS:
            words = s.get(key, "1").split(",")
            self.parts[key] = float(LAYOUTS.index(s.get(key, "nchw")) if key == "layout" else
                                    sum(math.log2(float(v)) for v in words) / len(words))

    def plain(self):
        """As lists of networks have it."""
        return re.sub(" (f16|layout=[a-z0-9]*)", lambda m: " f32" if m[1] == "f16" else "", self.workload)


def lines_of(paths):
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for line in f:
                try:
                    yield json.loads(line)
                except ValueError:  # one that is being written
                    pass


def read_logs(paths):
    """The layers of logs with times of two or more templates, and what the device is."""
    found, samples, defaults, device = {}, collections.defaultdict(list), {}, ""
    for r in lines_of(paths):
        at, d = (r["workload"], r["device"]["threads"]), r["device"]
        if r["status"] != "ok" or r["template"] not in FITS_BEST.get(at[0].split()[0], ()) or d["kind"] != "cpu":
            continue
        device = f"{time.strftime('%Y-%m-%d', time.gmtime(r['ts'] / 1e3))}, {d['cpu']}, {d['platform_version'].split('  ')[0]}"
        found.setdefault(at, Layer(*at, r["flops"]))
        program = defaults.setdefault((at, r["template"]), r["program"])  # a template's first one is the default
        if program == r["program"]:
            samples[at, r["template"]] += r["samples_ns"]
    for (at, template), ns in samples.items():
        if len(ns) >= LEAST_SAMPLES:
            found[at].ns[template] = min(ns)
    return [x for x in found.values() if len(x.ns) > 1], device


def table(a):
    layers_of, device = read_logs(a.logs)
    if a.over:
        measured = {(x.workload, x.threads) for x in layers_of}
        layers_of += [x for x in read(a.over)[0] if (x.workload, x.threads) not in measured]
    print(f"# made by `scripts/template_costs.py table`: least ns of templates' defaults. {device}")
    for x in sorted(layers_of, key=lambda x: (x.workload, x.threads)):
        print(f"{x.workload} | threads {x.threads} | flops {x.flops:.0f} | " + " ".join(f"{t}={ns:.0f}" for t, ns in sorted(x.ns.items())))


def read(path):
    """The layers of a table, and what the device is."""
    with open(path, encoding="utf-8") as f:
        device, out = f.readline().split(". ", 1)[1].strip(), []
        for line in f:
            workload, threads, flops, ns = (part.strip() for part in line.split("|"))
            out.append(Layer(workload, int(threads.split()[1]), float(flops.split()[1])))
            out[-1].ns = {word.split("=")[0]: float(word.split("=")[1]) for word in ns.split()}
    return out, device


def solve(a, b):
    """x of a x = b, by elimination."""
    n = len(b)
    a = [row[:] + [b[i]] for i, row in enumerate(a)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(a[r][i]))
        a[i], a[pivot] = a[pivot], a[i]
        for r in range(i + 1, n):
            f = a[r][i] / a[i][i]
            a[r] = [v - f * u for v, u in zip(a[r], a[i])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (a[i][n] - sum(a[i][k] * x[k] for k in range(i + 1, n))) / a[i][i]
    return x


def fit_one(layers_of, template):
    """{part: factor}; parts that never change are left out."""
    rows = [x for x in layers_of if template in x.ns]
    names = ["one"] + [p for p in rows[0].parts if len({x.parts[p] for x in rows}) > 1]
    mean = {p: sum(x.parts[p] for x in rows) / len(rows) for p in names}
    mean["one"] = 0.0
    gram = [[sum((x.parts[p] - mean[p]) * (x.parts[q] - mean[q]) for x in rows) + (RIDGE if p == q != "one" else 0)
             for q in names] for p in names]
    factor = dict(zip(names, solve(gram, [sum((x.parts[p] - mean[p]) * math.log(x.ns[template]) for x in rows) for p in names])))
    factor["one"] -= sum(factor[p] * mean[p] for p in names)
    return factor


def fit_all(layers_of):
    """{template: factors}, of floats; halves, which are summed as floats, have the same."""
    out = {}
    for templates in FITS_BEST.values():
        for template in templates:
            rows = [x for x in layers_of if x.dtype == "f32" and template in x.ns]
            if len(rows) > len(KEYS):
                out[template] = fit_one(rows, template)
    return out


def expected(models, layer, template):
    return sum(f * layer.parts[p] for p, f in models[template].items()) if template in models else math.inf


def fit(a):
    layers_of, device = read(a.table)
    of_dtype = f"{sum(x.dtype == 'f32' for x in layers_of)} layers of f32, threads {sorted({x.threads for x in layers_of})}"
    print("/* SPDX-License-Identifier: MIT */")
    print("/* clang-format off */")
    print("/* cost_list.h - ln ns of a template's default on CPUs; made by `scripts/template_costs.py fit`, not by hand. Records:")
    print(f" * {device}:")
    print(f" * {of_dtype}. */")
    for template, factor in fit_all(layers_of).items():
        words = ", ".join(f"[AT_{p}]={f:.4f}" for p, f in factor.items())
        print(textwrap.fill(f'{{DEVICE_CPU, "{template}", {{{words}}}}},', 120, subsequent_indent=" "))


def mean_of(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def judge(a):
    layers_of, _ = read(a.table)
    of = networks()
    print("network | layers | by the model: geometric mean, sum | first of the list: the same | worst layer by the model")
    everything = []
    apart = {x.workload: f"other layers {zlib.crc32(x.workload.encode()) % FOLDS}" for x in layers_of}
    for name in sorted({n for x in layers_of for n in of.get(x.plain(), [apart[x.workload]])}):
        own = [x for x in layers_of if name in of.get(x.plain(), [apart[x.workload]])]
        models = fit_all([x for x in layers_of if x not in own])
        rows = []
        for x in own:
            there = [t for t in FITS_BEST[x.operator] if t in x.ns]
            chosen = min(there, key=lambda t: expected(models, x, t))  # pylint: disable=cell-var-from-loop
            rows.append((x.ns[chosen], x.ns[there[0]], min(x.ns.values()), x.workload))
        everything += rows
        show(name, rows)
    show("all", everything)


def show(name, rows):
    best = sum(b for _, _, b, _ in rows)
    worst = max(rows, key=lambda r: r[0] / r[2])
    print(f"{name} | {len(rows)} | {mean_of([c / b for c, _, b, _ in rows]):.3f}, {sum(c for c, *_ in rows) / best:.3f} | "
          f"{mean_of([f / b for _, f, b, _ in rows]):.3f}, {sum(f for _, f, *_ in rows) / best:.3f} | "
          f"{worst[0] / worst[2]:.2f} {worst[3]}")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = p.add_subparsers(dest="command", required=True)
    m = commands.add_parser("measure")
    m.add_argument("--threads", type=int, default=1)
    m.add_argument("--every", type=int, default=1, help="only each Nth layer")
    m.add_argument("--dtype", default="f32", choices=("f32", "f16"))
    m.add_argument("-o", "--output", required=True)
    m.add_argument("--only", metavar="TABLE", help="the layers of this table")
    t = commands.add_parser("table")
    t.add_argument("--over", metavar="TABLE", help="for layers that the logs lack")
    t.add_argument("logs", nargs="+")
    for name in ("fit", "judge"):
        commands.add_parser(name).add_argument("table")
    a = p.parse_args()
    {"measure": measure, "table": table, "fit": fit, "judge": judge}[a.command](a)


if __name__ == "__main__":
    sys.exit(main())
