# SPDX-License-Identifier: MIT
"""network_ort.py - a whole network in onnxruntime on random weights: what our bundle's one call is held against.

Writes into --out: model.onnx, x.bin (the input), y.bin (the output), logits.bin (before softmax, f32), weights.bin with
weights.txt (a line a tensor: layer, tensor, offset, bytes), raw little-endian elements; says whether f16 is computed as f32.
network_calls.py takes the times."""
import argparse
import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

import floats
import graph
import ints
import weights as random_weights


def session(model, threads, saved=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if saved:
        options.optimized_model_filepath = saved
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def tensors_in_f32(nodes, weights):
    """Every tensor of the f32 network, for the scales of int8 ones."""
    names = [n["name"] for n in nodes[1:]] + [n["name"] + ".sums" for n in nodes if n["residual"]]
    model = floats.model(nodes, weights, np.float32, names)
    x = weights[nodes[0]["name"]]
    values = session(model, os.cpu_count()).run(names, {nodes[0]["name"]: x})
    return {nodes[0]["name"]: x, **dict(zip(names, values))}


def float_model(nodes, weights, dtype):
    last = nodes[-1]
    model = floats.model(nodes, weights, dtype, [last["name"], last["x"]["name"]])
    ours = [(name, tensor, value.astype(dtype)) for name, pair in weights.items() if isinstance(pair, tuple)
            for tensor, value in zip(("w", "bias"), pair)]
    return model, ours, weights[nodes[0]["name"]].astype(dtype)


def calm(nodes, weights, most=5, to=3):
    """Scales the last layer so that its sums deviate by `to` where they would by more than `most`: ResNet-50's 16
    shortcuts add up to sums whose softmax is one class and zeros, of which nothing can be compared."""
    last = nodes[-1]["x"]["name"]
    sums = session(floats.model(nodes, weights, np.float32, [last]), os.cpu_count()).run(
        None, {nodes[0]["name"]: weights[nodes[0]["name"]]})[0]
    if sums.std() <= most:
        return weights
    return {**weights, last: tuple(value * np.float32(to / sums.std()) for value in weights[last])}


def computed_as_f32(model):
    """Nodes of an f16 network that onnxruntime computes in f32, between casts of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "optimised.onnx")
        session(model, 1, path)
        kinds = [n.op_type for n in onnx.load(path).graph.node]
    return kinds.count("Cast"), len(kinds)


def write(out, name, value):
    with open(os.path.join(out, name), "wb") as f:
        f.write(np.ascontiguousarray(value).tobytes())


def write_weights(out, ours):
    offset = 0
    with open(os.path.join(out, "weights.bin"), "wb") as data, open(os.path.join(out, "weights.txt"), "w",
                                                                     encoding="ascii") as index:
        for layer, tensor, value in ours:
            data.write(value.tobytes())
            index.write(f"{layer} {tensor} {offset} {value.nbytes}\n")
            offset += value.nbytes


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("graph", help="kernels/networks/NAME.graph")
    p.add_argument("--dtype", choices=["f32", "f16", "i8", "u8"], default="f32")
    p.add_argument("--out", required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--natural-scales", action="store_true", help="i8, u8: scales that are no powers of two")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    nodes = graph.read(a.graph)
    weights = calm(nodes, random_weights.make(nodes, a.seed))
    if a.dtype in ("i8", "u8"):
        model, ours, x = ints.model(nodes, weights, tensors_in_f32(nodes, weights), a.natural_scales, a.dtype == "u8")
    else:
        model, ours, x = float_model(nodes, weights, {"f32": np.float32, "f16": np.float16}[a.dtype])
    name, first = os.path.basename(a.graph).rpartition(".")[0], nodes[0]["name"]
    y, logits = session(model, 1).run(None, {first: x})
    logits = logits.astype(np.float32)
    onnx.save(model, os.path.join(a.out, "model.onnx"))
    write(a.out, "x.bin", x)
    write(a.out, "y.bin", y)
    write(a.out, "logits.bin", logits)
    write_weights(a.out, ours)
    print(f"{name} {a.dtype}: largest |logit| {np.abs(logits).max():.4g}, deviation {logits.std():.4g}, "
          f"largest probability {y.max():.4g}")
    if a.dtype == "f16":
        casts, n = computed_as_f32(model)
        print(f"onnxruntime {name} f16: {casts} of {n} nodes are casts: f16 is computed as f32 on this CPU" if casts
              else f"onnxruntime {name} f16: no casts: computed in f16")
    return 0


if __name__ == "__main__":
    sys.exit(main())
