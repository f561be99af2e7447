# SPDX-License-Identifier: MIT
"""ort_slots.py THREADS WORKLOAD - one operator in onnxruntime, timed when told: answers each line "slot NS" on standard
input with the median ns of a call, after one untimed call, over at least NS. Weights are constants of the model."""
import re
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def parse(text):
    words = text.split()
    keys = dict(word.split("=", 1) for word in words[2:])
    numbers = {k: [int(p) for p in re.split("[,x]", v)] for k, v in keys.items() if v.lstrip("-")[0].isdigit() and "." not in v}
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


def dense4(operator, keys, rng):
    """accuracy_level=1: products of floats; with bytes=1 level 4, which may round activations to 8 bits."""
    m, n, k, block = (one(keys, name, 32) for name in ("m", "n", "k", "block"))
    blocks = -(-k // block)
    weights = {"w": rng.integers(0, 256, (n, blocks, block // 2), np.uint8), "s": rng.standard_normal(n * blocks, np.float32) / 64}
    if one(keys, "zeros", 0):
        weights["z"] = rng.integers(0, 256, n * (-(-blocks // 2)), np.uint8)
    node = helper.make_node("MatMulNBits", ["x", *weights], ["y"], domain="com.microsoft", K=k, N=n, bits=4, block_size=block,
                            accuracy_level=4 if one(keys, "bytes", 0) else 1)
    return [node], weights, {"x": (m, k)}


def rnn(operator, keys, rng):
    i, h, b, t = (one(keys, name) for name in ("i", "h", "b", "t"))
    cell = keys.get("cell", "lstm")
    kind, gates = {"lstm": ("LSTM", 4), "gru": ("GRU", 3)}.get(cell, ("RNN", 1))
    extra = {"lstm": {}, "gru": {"linear_before_reset": 1}}.get(cell, {"activations": [cell.capitalize()]})
    node = helper.make_node(kind, ["x", "w", "r"], ["y"], hidden_size=h, **extra)
    weights = {"w": rng.standard_normal((1, gates * h, i), np.float32) / 16,
               "r": rng.standard_normal((1, gates * h, h), np.float32) / 16}
    return [node], weights, {"x": (t, b, i)}


CALLS = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "min": "Min", "max": "Max", "clip": "Clip", "relu": "Relu",
         "sigmoid": "Sigmoid", "hard_swish": "HardSwish", "tanh": "Tanh", "erf": "Erf", "exp": "Exp", "log": "Log", "sqrt": "Sqrt",
         "neg": "Neg", "abs": "Abs", "sign": "Sign", "floor": "Floor", "ceil": "Ceil", "round": "Round", "reciprocal": "Reciprocal",
         "softplus": "Softplus", "softsign": "Softsign"}
NUMBERS = {"hard_sigmoid": ("HardSigmoid", "alpha", "beta"), "leaky_relu": ("LeakyRelu", "alpha"), "elu": ("Elu", "alpha")}


def eltwise(operator, keys, rng):
    """A node for each call; swish is two."""
    nodes, constants, words = [], {}, re.findall(r"[a-z_0-9]+(?=\()|[-.e0-9]+|[abcd](?![a-z_])|\)", keys["f"])

    def node(kind, inputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, [f"t{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def value():
        word = words.pop(0)
        if word in "abcd":
            return word
        if not word[0].isalpha():
            constants[f"c{len(constants)}"] = np.float32(word)
            return f"c{len(constants) - 1}"
        inputs = []
        while words[0] != ")":
            inputs.append(value())
        words.pop(0)
        if word == "swish":
            return node("Mul", [inputs[0], node("Sigmoid", inputs)])
        if word in NUMBERS:
            kind, *names = NUMBERS[word]
            return node(kind, inputs[:1], **{n: float(constants.pop(c)) for n, c in zip(names, inputs[1:])})
        return node(CALLS[word], inputs)

    value()
    nodes[-1].output[0] = "y"
    letters = sorted(set(re.findall(r"\b[abcd]\b", keys["f"])))
    return nodes, {k: np.asarray(v) for k, v in constants.items()}, {k: keys.get(k, keys["y"]) for k in letters}


def reduce(operator, keys, rng):
    kind = "Reduce" + {"l1": "L1", "l2": "L2"}.get(keys.get("kind", "sum"), keys.get("kind", "sum").title().replace("_", ""))
    node = helper.make_node(kind, ["x", "axes"] if kind == "ReduceSum" else ["x"], ["y"], keepdims=0,
                            **({} if kind == "ReduceSum" else {"axes": [1]}))
    constants = {"axes": np.array([1])} if kind == "ReduceSum" else {}
    return [node], constants, {"x": (one(keys, "outer"), one(keys, "n"), one(keys, "inner"))}


def resize2d(operator, keys, rng):
    """Between the same sizes, from pixels' corners or, where the first place is not 0, their middles."""
    shape = tuple(one(keys, k) for k in ("n", "c", "h", "w"))
    sizes = np.array([*shape[:2], *pair(keys, "size", 1)])
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode=keys.get("kind", "nearest"), nearest_mode="floor",
                            coordinate_transformation_mode="half_pixel" if any(keys.get("first", [0])) else "asymmetric")
    return [node], {"sizes": sizes}, {"x": shape}


def strided_copy(operator, keys, rng):
    """Transpositions: every element of x once, each dimension as far apart as those that lie within it are many."""
    dims = [(pair(keys, f"d{i}", 1), i) for i in range(5, -1, -1) if f"d{i}" in keys]
    by_stride = sorted(range(len(dims)), key=lambda i: -dims[i][0][1])
    shape = [dims[i][0][0] for i in by_stride]
    dense = all(dims[i][0][1] == int(np.prod(shape[k + 1:])) for k, i in enumerate(by_stride))
    if not dense or one(keys, "x") != int(np.prod(shape)):
        raise ValueError("a copy that is no transposition is not compared here")
    node = helper.make_node("Transpose", ["x"], ["y"], perm=[by_stride.index(i) for i in range(len(dims))])
    return [node], {}, {"x": shape}


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
                              [numpy_helper.from_array(v.astype(np.float32) if v.dtype == np.float64 else v, k) for k, v in weights.items()])
    newer = nodes[0].op_type == "Attention"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23 if newer else 14), helper.make_opsetid("com.microsoft", 1)],
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
    make = {"conv2d": conv, "depthwise_conv2d": conv, "sparse_conv2d": conv, "dense": dense, "batch_gemm": dense,
            "dense4": dense4, "rnn": rnn,
            "attention": attention, "eltwise": eltwise, "reduce": reduce, "resize2d": resize2d, "strided_copy": strided_copy}
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
