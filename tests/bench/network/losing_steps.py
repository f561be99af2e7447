# SPDX-License-Identifier: MIT
"""losing_steps.py FOLDER BUNDLE [--threads N] [--most N] - which steps of a model's bundle take longer than the same nodes in onnxruntime.

A step is named after the node that it computes (the first one of those that are in its kernel), an element-wise one after the last one of its
chain. onnxruntime fuses nodes too: what its profile says of a kernel belongs to the nearest step on the way from its output back to
the inputs. Ours are the times of the bundle's records, theirs the medians of --runs runs; both are of warm caches or nearly so."""
import argparse
import collections
import json
import os
import re
import tempfile

import numpy as np
import onnx
import onnxruntime

from network_calls import files


def plain(name):
    return re.sub(r"\W+", "_", name).strip("_")


def our_steps(bundle):
    """name -> ms, and how many were not measured."""
    with open(os.path.join(bundle, "manifest.json"), encoding="utf-8") as f:
        layers = json.load(f)["layers"]
    names = [(n["layer"], layer.get("time_ns", 0) / 1e6) for layer in layers for n in layer["names"]]
    return {n: ms for n, ms in names if ms > 0}, sum(ms <= 0 for _, ms in names)


def profile(path, threads, runs):
    """name of a kernel -> ms."""
    with tempfile.TemporaryDirectory() as folder:
        o = onnxruntime.SessionOptions()
        o.intra_op_num_threads, o.log_severity_level = threads, 3
        o.enable_profiling, o.profile_file_prefix = True, os.path.join(folder, "p")
        s = onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])
        given = {}
        for x, name in zip(s.get_inputs(), files(os.path.dirname(path), "x")):
            v = np.fromfile(os.path.join(os.path.dirname(path), name), np.float32).reshape(x.shape)
            given[x.name] = v.astype(np.int64) if x.type == "tensor(int64)" else v
        for _ in range(runs):
            s.run(None, given)
        with open(s.end_profiling(), encoding="utf-8") as f:
            events = json.load(f)
    times = collections.defaultdict(list)
    for e in events:
        if e.get("cat") == "Node" and e["name"].endswith("_kernel_time"):
            times[e["name"].removesuffix("_kernel_time")].append(e["dur"] / 1e3)
    return {name: float(np.median(t)) for name, t in times.items()}


class Owners:
    """Which step a kernel of onnxruntime's belongs to."""

    def __init__(self, model, steps):
        self.steps = steps
        self.makers = {o: n for n in model.graph.node for o in n.output}
        self.nodes = {plain(n.name): n for n in model.graph.node} | {plain(o): n for o, n in self.makers.items()}

    def of(self, kernel):
        name = re.sub(r"_(nchwc|token_\d+)$", "", re.sub(r"_token_\d+$", "", kernel))
        node = self.nodes.get(plain(name)) or self.nodes.get(re.sub(r"^(fused|Fused)_?", "", plain(name)))
        while node is not None and plain(node.name) not in self.steps:
            node = next((self.makers[i] for i in node.input if i in self.makers), None)
        return plain(node.name) if node is not None else "(transforms, other)"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("folder", help="model.onnx and its inputs")
    p.add_argument("bundle")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--most", type=int, default=8)
    p.add_argument("--runs", type=int, default=9)
    a = p.parse_args()
    path = os.path.join(a.folder, "model.onnx")
    steps, n_unknown = our_steps(a.bundle)
    owners, theirs = Owners(onnx.load(path, load_external_data=False), steps), collections.Counter()
    for kernel, ms in profile(path, a.threads, a.runs).items():
        theirs[owners.of(kernel)] += ms
    losses = sorted(((ms - theirs[name], name, ms) for name, ms in steps.items()), reverse=True)
    print(f"steps: {sum(steps.values()):.2f} ms by their records ({n_unknown} not measured), onnxruntime's kernels "
          f"{sum(theirs.values()):.2f} ms; those that lose most, ms beside onnxruntime's:")
    for loss, name, ms in losses[:a.most]:
        if loss > 0:
            print(f"  {ms:7.3f} {theirs[name]:7.3f}  {name}")


if __name__ == "__main__":
    main()
