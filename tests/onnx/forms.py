# SPDX-License-Identifier: MIT
"""forms.py OUT - small models in forms that exporters, quantisers and optimizers write, with seeded weights: OUT/NAME.onnx, and in a folder OUT/NAME the
inputs (x.bin, or x0.bin, x1.bin, ...), what onnxruntime makes of them without optimizing (y.bin, or y0.bin, ...) and `limit`. Prints the names.

llama     rotary angles as a constant times the positions, a mask of Range, Trilu, Greater and ScatterND, sizes out of Shape
clip      the row of the largest number of each text (ArgMax, GatherND), heads in the batch, QuickGELU
keras     projections and products as Einsum
fused     EmbedLayerNormalization with a mask and without, MultiHeadAttention with a bias and lengths, FusedMatMul, FusedGemm, FusedConv, QuickGelu; the last node first
tables    products, sums and curves of constants
four      weights of 4 bits in blocks behind DequantizeLinear, with zero points and without
branches  If of shapes and constants, one in another; of what is computed
lengths   LSTM, GRU and RNN of sequences of several lengths, which are an input; ReverseSequence by them
dynamic   DynamicQuantizeLSTM, whose input and states are rounded to bytes there and not here"""
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from transformers import Model

F = np.float32
LEAST = np.float32(np.finfo(np.float32).min)


def own(m, kind, *inputs, **attributes):
    return m.node(kind, *inputs, domain="com.microsoft", **attributes)


def size(m, x, axis):
    return m.node("Gather", m.node("Shape", x), np.array([axis]))


def llama(m, rows=5, past=3, d=8):
    ids = m.input("ids", m.rng.integers(0, 20, (2, rows)))
    seen = m.input("seen", np.array([[1] * (rows + past), [0, 0] + [1] * (rows + past - 2)]))
    at, cache = m.input("at", np.array([range(3, 8), range(1, 6)])), [m.input(n, m.normal(2, 1, past, d)) for n in "kv"]
    x, one = m.node("Gather", m.normal(20, 2 * d), ids), np.array([1])
    n, total = size(m, ids, 1), m.node("Add", size(m, ids, 1), size(m, cache[0], 2))
    angles = m.node("Expand", (1 / 100 ** (np.arange(d // 2) / 4)).astype(F)[None, :, None], m.node("Concat", size(m, ids, 0), one, one, axis=0))
    angles = m.transpose(m.node("MatMul", angles, m.node("Cast", m.node("Unsqueeze", at, one), to=TensorProto.FLOAT)), 0, 2, 1)
    angles = m.node("Unsqueeze", m.node("Concat", angles, angles, axis=2), one)
    cosines, sines = m.node("Cos", angles), m.node("Sin", angles)
    keys = m.node("Range", np.int64(0), m.node("Squeeze", total), np.int64(1))
    hidden = m.node("Trilu", m.node("Expand", LEAST, m.node("Concat", n, total, axis=0)), np.int64(1), upper=1)
    queries = m.node("Reshape", m.node("Slice", keys, np.array([past]), np.array([past + rows])), np.array([-1, 1]))
    hidden = m.node("Mul", hidden, m.node("Cast", m.node("Greater", keys, queries), to=TensorProto.FLOAT))
    hidden = m.node("Expand", m.node("Unsqueeze", hidden, np.array([0, 1])), m.node("Concat", size(m, ids, 0), one, n, total, axis=0))
    padded = m.node("Equal", m.node("Add", hidden, m.node("Cast", m.node("Unsqueeze", seen, np.array([1, 2])), to=TensorProto.FLOAT)), F(0))
    places = np.stack(np.meshgrid(range(2), [0], range(rows), range(rows + past), indexing="ij"), -1)
    mask = m.node("ScatterND", hidden, places, m.node("Where", padded, LEAST, hidden))
    q, k, v = (m.transpose(m.reshape(m.linear(x, 2 * d, heads * d, False), 2, rows, heads, d), 0, 2, 1, 3) for heads in (2, 1, 1))

    def turned(x):
        a, b = m.node("Slice", x, np.array([0]), np.array([d // 2]), np.array([3])), m.node("Slice", x, np.array([d // 2]), np.array([2**63 - 1]), np.array([3]))
        return m.node("Add", m.node("Mul", x, cosines), m.node("Mul", m.node("Concat", m.node("Neg", b), a, axis=3), sines))

    k, v = m.node("Concat", cache[0], turned(k), axis=2), m.node("Concat", cache[1], v, axis=2)
    wide = m.node("Concat", size(m, ids, 0), one, np.array([2]), total, np.array([d]), axis=0)
    k2, v2 = (m.reshape(m.node("Expand", m.node("Unsqueeze", t, np.array([2])), wide), 2, 2, -1, d) for t in (k, v))
    s = m.node("Add", m.node("Mul", m.node("MatMul", turned(q), m.transpose(k2, 0, 1, 3, 2)), F(d**-0.5)), mask)
    y = m.transpose(m.node("MatMul", m.node("Softmax", s, axis=-1), v2), 0, 2, 1, 3)
    return m.model(m.linear(m.reshape(y, 2, -1, 2 * d), 2 * d, 6, False), k, v)


def clip(m, rows=6, d=4):
    ids = np.array([[1, 9, 2, 3, 0, 0], [4, 5, 6, 7, 8, 9], [9, 1, 1, 1, 1, 1]])
    x = m.input("ids", ids)
    y = m.node("Add", m.node("Gather", m.normal(10, 2 * d), x), m.normal(1, rows, 2 * d))
    q, k, v = (m.reshape(m.transpose(m.reshape(m.linear(y, 2 * d, 2 * d), 3, rows, 2, d), 0, 2, 1, 3), 6, rows, d) for _ in range(3))
    s = m.reshape(m.node("MatMul", m.node("Mul", q, F(0.5)), m.transpose(k, 0, 2, 1)), 3, 2, rows, rows)
    s = m.reshape(m.node("Add", s, np.triu(np.full((1, 1, rows, rows), LEAST), 1)), 6, rows, rows)
    z = m.transpose(m.reshape(m.node("MatMul", m.node("Softmax", s, axis=-1), v), 3, 2, rows, d), 0, 2, 1, 3)
    y = m.node("Add", y, m.linear(m.reshape(z, 3, rows, 2 * d), 2 * d, 2 * d))
    y = m.node("Mul", y, m.node("Sigmoid", m.node("Mul", y, F(1.702))))
    last = m.node("Unsqueeze", m.node("ArgMax", x, axis=-1, keepdims=0), np.array([-1]))
    texts = m.node("Unsqueeze", m.node("Range", np.int64(0), m.node("Squeeze", size(m, x, 0)), np.int64(1)), np.array([-1]))
    y = m.node("GatherND", y, m.node("Concat", texts, last, axis=-1))
    return m.model(m.node("MatMul", y, m.normal(2 * d, 5)), m.node("GatherND", m.normal(3, 10, 4), m.node("Sub", last, np.int64(10)), batch_dims=1))


def keras(m, rows=5, heads=2, d=4):
    c, x = heads * d, m.input("x", m.normal(2, rows, heads * d))
    q, k, v = (m.node("Add", m.node("Einsum", x, m.normal(c, heads, d), equation="abc,cde->abde"), m.normal(heads, d)) for _ in range(3))
    s = m.node("Einsum", k, m.node("Mul", q, F(0.5)), equation="aecd,abcd->acbe")
    y = m.node("Einsum", m.node("Softmax", s, axis=-1), v, equation="acbe,aecd->abcd")
    y = m.node("Einsum", y, m.normal(heads, d, c), equation="abcd,cde->abe")
    return m.model(y, m.node("Einsum", y, equation="abc->ca"), m.node("Einsum", y, x, equation="abc, dbc"))


def fused(m, rows=6, c=8):
    ids, kinds = (m.input(n, m.rng.integers(0, most, (2, rows), np.int32)) for n, most in (("ids", 9), ("kinds", 2)))
    seen = m.input("seen", np.array([[1] * rows, [1] * 4 + [0] * 2], np.int32))
    x, lengths = own(m, "EmbedLayerNormalization", ids, kinds, m.normal(9, c), m.normal(20, c), m.normal(2, c), 1 + m.normal(c), m.normal(c), seen,
                     n_out=2, epsilon=1e-5, mask_index_type=1)
    q, k, v = (m.linear(x, c, c, False) for _ in range(3))
    y = own(m, "MultiHeadAttention", q, k, v, m.normal(3 * c), lengths, num_heads=2)
    y = own(m, "QuickGelu", y, alpha=1.702)
    y = own(m, "FusedMatMul", m.transpose(y, 1, 0, 2), m.normal(2, c, c), transBatchA=1, alpha=0.5)
    z = own(m, "FusedGemm", m.reshape(y, 2 * rows, c), m.normal(c, 4), m.normal(4), activation="Tanh")
    w = own(m, "FusedConv", m.reshape(y, 2, c, rows, 1), m.normal(3, c, 1, 1), m.normal(3), activation="Relu", kernel_shape=[1, 1])
    bare, none = own(m, "EmbedLayerNormalization", ids, kinds, m.normal(9, c), m.normal(20, c), m.normal(2, c), m.normal(c), m.normal(c), n_out=2)
    model = m.model(z, w, x, bare, none)
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes[::-1])
    return model


def tables(m):
    x = m.input("x", m.normal(3, 4))
    table = m.node("Softmax", m.node("MatMul", m.normal(2, 3, 5), m.normal(5, 4)), axis=-1)
    row = m.node("Clip", m.node("Sigmoid", m.node("Tile", m.normal(1, 4), np.array([3, 1]))), F(0.3), F(0.6))
    return m.model(m.node("Mul", m.node("Add", x, table), row), m.node("MatMul", m.normal(2, 5, 3), x))


def four(m, k=48, n=6):
    m.opset, x, outputs = 21, m.input("x", m.normal(1, 2, k)), []

    def packed(kind, *shape):
        v = m.rng.integers(0, 16, shape).reshape(-1)
        m.constants.append(helper.make_tensor(f"four{len(m.constants)}", kind, shape, (v[::2] | v[1::2] << 4).astype(np.uint8).tobytes(), raw=True))
        return m.constants[-1].name

    for kind in (TensorProto.INT4, TensorProto.UINT4):
        w, scale = packed(kind, k, n), m.constant(np.abs(m.normal(k // 16, n)) / F(10))
        for zeros in ((packed(kind, k // 16, n),), ()):
            outputs.append(m.node("MatMul", x, m.node("DequantizeLinear", w, scale, *zeros, axis=0, block_size=16)))
    w = m.node("DequantizeLinear", packed(TensorProto.INT4, n, k), np.abs(m.normal(n)), packed(TensorProto.INT4, n), axis=0)
    return m.model(*outputs, m.node("MatMul", x, m.transpose(w, 1, 0)))


def branch(outer, scale=None):
    """A branch with names that others have too: r, of what is outside."""
    scales = [] if scale is None else [numpy_helper.from_array(F(scale), "scale")]
    nodes = [helper.make_node(*n[:3], **(n[3] if len(n) > 3 else {})) for n in outer]
    return helper.make_graph(nodes, "branch", [], [onnx.ValueInfoProto(name=nodes[-1].output[0])], scales)


def branches(m):
    def squeezed(x, kind, **axes):
        """As PyTorch writes squeeze(1) of a dimension that it does not know; onnxruntime reads both branches."""
        then = branch([("Constant", [], ["axis"], {"value_ints": [1]}), (kind, [x, "axis"][:2 - len(axes)], ["r"], axes)])
        one = m.node("Equal", size(m, x, 1), np.array([1]))
        return m.node("If", one, then_branch=then, else_branch=branch([("Mul", [x, "scale"], ["p"]), ("Relu", ["p"], ["r"])], 3))

    def curved(x, which):
        inner = branch([("Exp", ["p"], ["r"])]), branch([("Cos", ["p"], ["q"]), ("Mul", ["q", "scale"], ["r"])], 2)
        outer = [("Mul", [x, "scale"], ["p"]), ("If", [m.constant(np.array(which > 1))], ["q"], {"then_branch": inner[0], "else_branch": inner[1]})]
        return m.node("If", m.constant(np.array(which > 0)), then_branch=branch(outer, 0.5), else_branch=branch([("Identity", [x], ["r"])]))

    one, more = m.input("one", m.normal(2, 1, 3)), m.input("more", m.normal(2, 4, 3))
    outputs = [squeezed(one, "Squeeze"), squeezed(more, "ReduceMax", axes=[1]), *(curved(more, i) for i in range(3))]
    for limit in (-100, 100):
        either = branch([("Mul", [more, "scale"], ["r"])], 2), branch([("Neg", [more], ["p"]), ("Exp", ["p"], ["r"])])
        large = m.node("Less", F(limit), m.node("ReduceSum", one, keepdims=0))
        outputs.append(m.node("If", large, then_branch=either[0], else_branch=either[1]))
    return m.model(*outputs)


def lengths(m, t=7, b=3, c=5, h=4):
    x, n = m.input("x", m.normal(t, b, c)), m.input("n", np.array([4, 7, 1]))
    count = m.node("Cast", n, to=TensorProto.INT32)
    outputs = [m.node("ReverseSequence", x, n), m.node("ReverseSequence", m.transpose(x, 1, 0, 2), n, time_axis=1, batch_axis=0)]
    for kind, gates, more in (("LSTM", 4, {}), ("GRU", 3, {"linear_before_reset": 1}), ("GRU", 3, {}), ("RNN", 1, {})):
        for direction in ("bidirectional", "reverse"):
            dirs = 1 + (direction == "bidirectional")
            w = [m.normal(dirs, gates * h, c), m.normal(dirs, gates * h, h), m.normal(dirs, 2 * gates * h)]
            outputs += m.node(kind, x, *w, count, n_out=2, hidden_size=h, direction=direction, **more)
    known = m.node("LSTM", x, m.normal(1, 4 * h, c), m.normal(1, 4 * h, h), "", np.array([7, 2, 3], np.int32), n_out=2, hidden_size=h)
    return m.model(*outputs, *known)


def dynamic(m, t=6, b=2, c=8, h=4):
    x = m.input("x", m.normal(t, b, c))
    w = [m.rng.integers(-127, 128, (2, k, 4 * h), np.int8) for k in (c, h)]
    scales = [np.array([0.004, 0.005], F) for _ in w]
    zeros = [np.zeros(2, np.int8) for _ in w]
    return m.model(own(m, "DynamicQuantizeLSTM", x, *w, m.normal(2, 8 * h), "", "", "", "", scales[0], zeros[0], scales[1], zeros[1],
                       hidden_size=h, direction="bidirectional"))


MODELS = {"llama": llama, "clip": clip, "keras": keras, "fused": fused, "tables": tables, "four": four, "branches": branches, "lengths": lengths, "dynamic": dynamic}


def main():
    out = Path(sys.argv[1])
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for seed, (name, make) in enumerate(MODELS.items()):
        m = Model(seed, 1, 1)
        model = make(m)
        (out / name).mkdir(parents=True, exist_ok=True)
        onnx.save(model, out / f"{name}.onnx")
        ys = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, m.data)
        for kind, values in (("x", m.data.values()), ("y", ys)):
            for i, v in enumerate(values):
                np.asarray(v, F).tofile(out / name / (f"{kind}{i}.bin" if len(values) > 1 else f"{kind}.bin"))
        (out / name / "limit").write_text("5e-2\n" if name == "dynamic" else "1e-4\n", encoding="ascii")
        print(name, flush=True)


if __name__ == "__main__":
    main()
