# SPDX-License-Identifier: MIT
"""ort_slots.py THREADS WORKLOAD - one operator in onnxruntime, timed when told: answers each line "slot NS" on standard
input with the median ns of a call, after one untimed call, over at least NS. Weights are constants of the model."""
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def parse(text):
    words = text.split()
    keys = dict(word.split("=") for word in words[2:])
    numbers = {k: [int(p) for p in v.split(",")] for k, v in keys.items() if v.lstrip("-")[0].isdigit() and "." not in v}
    return words[0], {**keys, **numbers}


def one(keys, name, otherwise=1):
    return keys.get(name, [otherwise])[0]


def pair(keys, name, otherwise):
    values = keys.get(name, [otherwise])
    return values if len(values) > 1 else values * 2


def conv(operator, keys, rng):
    n, c, h, w, r, s = (one(keys, k) for k in ("n", "c", "h", "w", "r", "s"))
    depthwise = operator == "depthwise_conv2d"
    groups = c if depthwise else one(keys, "groups")
    k = c * one(keys, "mult") if depthwise else one(keys, "k")
    pad = keys.get("pad", [0])
    pad = pad * 4 if len(pad) == 1 else pad * 2 if len(pad) == 2 else pad
    weights = rng.standard_normal((k, c // groups, r, s), np.float32) / 16
    if "sparsity" in keys:
        weights[rng.random(weights.shape) < float(keys["sparsity"])] = 0
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=pad, strides=pair(keys, "stride", 1),
                            dilations=pair(keys, "dilation", 1), group=groups)
    return [node], {"w": weights}, {"x": (n, c, h, w)}


def dense(operator, keys, rng):
    b, m, n, k = (one(keys, name) for name in ("b", "m", "n", "k"))
    if operator == "batch_gemm":
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
        return [node], {}, {"x": (b, m, k), "w": (b, k, n)}
    return [helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": rng.standard_normal((k, n), np.float32)}, {"x": (m, k)}


def rnn(operator, keys, rng):
    i, h, b, t = (one(keys, name) for name in ("i", "h", "b", "t"))
    cell = keys.get("cell", "lstm")
    kind, gates = {"lstm": ("LSTM", 4), "gru": ("GRU", 3)}.get(cell, ("RNN", 1))
    extra = {"lstm": {}, "gru": {"linear_before_reset": 1}}.get(cell, {"activations": [cell.capitalize()]})
    node = helper.make_node(kind, ["x", "w", "r"], ["y"], hidden_size=h, **extra)
    weights = {"w": rng.standard_normal((1, gates * h, i), np.float32) / 16,
               "r": rng.standard_normal((1, gates * h, h), np.float32) / 16}
    return [node], weights, {"x": (t, b, i)}


def attention(operator, keys, rng):
    b, heads, q, k, d = (one(keys, name) for name in ("b", "heads", "q", "k", "d"))
    if one(keys, "past", 0) or one(keys, "lengths", 0):
        raise ValueError("past= and lengths= are not compared here")
    kv, dv, mask = heads // one(keys, "group"), one(keys, "dv", d), keys.get("mask", "none")
    inputs = {"q": (b, heads, q, d), "k": (b, kv, k, d), "v": (b, kv, k, dv)}
    if mask != "none":
        sizes = {"b": b, "h": heads, "q": q, "k": k}
        inputs["mask"] = tuple(sizes[axis] if axis in mask + "q" else 1 for axis in "bhqk")
    extra = {"scale": float(keys["scale"])} if "scale" in keys and isinstance(keys["scale"], str) else {}
    return [helper.make_node("Attention", list(inputs), ["y"], is_causal=one(keys, "causal", 0), **extra)], {}, inputs


def session(nodes, weights, inputs, threads):
    def shaped(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(nodes, "one", [shaped(k, v) for k, v in inputs.items()], [shaped("y", None)],
                              [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()])
    newer = nodes[0].op_type == "Attention"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23 if newer else 13)],
                              ir_version=11 if newer else 8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def main():
    threads, text = int(sys.argv[1]), sys.argv[2]
    operator, keys = parse(text)
    rng = np.random.default_rng(1)
    make = {"conv2d": conv, "depthwise_conv2d": conv, "sparse_conv2d": conv, "dense": dense, "batch_gemm": dense, "rnn": rnn,
            "attention": attention}
    nodes, weights, inputs = make[operator](operator, keys, rng)
    run = session(nodes, weights, inputs, threads).run
    feed = {k: rng.standard_normal(v, np.float32) for k, v in inputs.items()}
    run(["y"], feed)
    print(f"{onnxruntime.__version__}, a process of its own, weights constant", flush=True)
    for line in sys.stdin:
        least_ns = int(line.split()[1])
        run(["y"], feed)
        start = time.perf_counter_ns()
        calls = []
        while not calls or (time.perf_counter_ns() - start < least_ns and len(calls) < 10000):
            before = time.perf_counter_ns()
            run(["y"], feed)
            calls.append(time.perf_counter_ns() - before)
        print(float(np.median(calls)), flush=True)


if __name__ == "__main__":
    try:
        main()
    except Exception as failure:
        print("no", str(failure).replace("\n", " ")[:200], flush=True)
        sys.exit(1)
