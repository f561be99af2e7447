# SPDX-License-Identifier: MIT
"""lengths.py OUT SEED - small models with a dimension `seq` that is open, from 1 to 64, with seeded weights, and what onnxruntime makes of
seeded inputs at lengths around the halves of 64 and at some drawn by SEED: OUT/NAME.onnx, and in OUT/NAME/LENGTH, of halves in
OUT/NAME-f16/LENGTH, each input xI.bin and output yI.bin. Prints a line for each model: its name and the lengths.

encoder  as BERT: embeddings, positions cut from a table, a mask of padded words, two layers
decoder  as GPT-2: a triangle cut from a constant, two layers, logits
masked   both: a triangle, and words that are hidden in the middle, as one mask
pairs    two sequences at a time, a mask of each pair of places as an input, of one place as an output too
first    what stands at the first place alone, and all places, of an encoder without masks
tagger   a recurrent layer of two sequences, from the first word on
pixels   convolutions of one place, a constant for each
images   so many images at a time
sentence a sentence by its words: their mean, and that of those a mask shows, scaled to a length of 1
greatest the largest and the least number of each, sums, products, squares along the words
last     what stands at the last place: as a slice, and transposed
pointed  the word that a computed number says, counted from the end where it is below 0
window   convolutions along the words
both_ways LSTM and GRU of both directions, and their states behind the last word
pooled   weights of the words that come to 1, by which they are added up
cached   a token as GPT-2 with past_key_values: `seq` words before it, none to 64, whose keys and values are inputs, and outputs with its own
soft     the logarithm of the words' sum of powers; words without the newest of a cache

And models that are refused, without inputs: cell, scaled, halves, fixed."""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from networks import session
from transformers import Model, encoder

MOST = 64
EDGES = (1, 2, 3, 5, 8, 9, 16, 17, 31, 32, 33, 63, 64)
C = 64  # numbers of a place


def input_of(m, name, kind, *dims):
    m.inputs.append(helper.make_tensor_value_info(name, kind, dims))
    return name


def length_of(m, x, axis=1):
    return m.node("Slice", m.node("Shape", x), np.array([axis]), np.array([axis + 1]), np.array([0]))


def embedded(m):
    ids = input_of(m, "input_ids", TensorProto.INT64, 1, "seq")
    n = length_of(m, ids)
    places = m.node("Slice", 0.5 * m.normal(1, MOST, C), np.array([0]), n, np.array([1]))
    return ids, n, m.norm(m.node("Add", m.node("Gather", m.normal(50, C), ids), places), C)


def triangle(m, n):
    both = m.node("Concat", n, n, axis=0)
    return m.node("Slice", np.tril(np.ones((1, 1, MOST, MOST), bool)), np.array([0, 0]), both, np.array([2, 3]))


def hidden(m, seen):
    """0 for places that are seen, the least float for others."""
    seen = m.node("Cast", m.node("Unsqueeze", seen, np.array([1, 2])), to=TensorProto.FLOAT)
    return m.node("Mul", m.node("Sub", np.float32(1), seen), np.float32(np.finfo(np.float32).min))


def bert(m):
    _, _, x = embedded(m)
    mask = input_of(m, "attention_mask", TensorProto.INT64, 1, "seq")
    return encoder(m, x, -1, hidden(m, mask))


def gpt(m, x, seen=None, mask=None):
    for i in range(m.layers):
        m.scope = f"/h.{i}"
        q, k, v = m.node("Split", m.linear(m.norm(x, C), C, 3 * C), np.array([C, C, C]), n_out=3, axis=2)
        q, v, k = m.heads(q, -1, 2, 32, 0, 2, 1, 3), m.heads(v, -1, 2, 32, 0, 2, 1, 3), m.heads(k, -1, 2, 32, 0, 2, 3, 1)
        s = m.node("Div", m.node("MatMul", q, k), np.float32(np.sqrt(32)))
        s = m.node("Where", seen, s, np.float32(np.finfo(np.float32).min)) if seen else m.node("Add", s, mask)
        y = m.joined(m.node("MatMul", m.node("Softmax", s, axis=-1), v), -1, C)
        x = m.node("Add", x, m.linear(y, C, C))
        x = m.node("Add", x, m.linear(m.gelu_tanh(m.linear(m.norm(x, C), C, 2 * C)), 2 * C, C))
    return m.linear(m.norm(x, C), C, 50, False)


def decoder(m):
    _, n, x = embedded(m)
    return [gpt(m, x, seen=triangle(m, n))]


def masked(m):
    _, n, x = embedded(m)
    mask = input_of(m, "attention_mask", TensorProto.INT64, 1, "seq")
    least = np.float32(np.finfo(np.float32).min / 4)
    seen = m.node("Where", triangle(m, n), np.float32(0), least)
    words = m.node("Cast", m.node("Unsqueeze", mask, np.array([1, 2])), to=TensorProto.FLOAT)
    words = m.node("Mul", m.node("Sub", np.float32(1), words), least)
    return [gpt(m, x, mask=m.node("Add", seen, words))]


def pairs(m, heads=2, d=16):
    x = input_of(m, "x", TensorProto.FLOAT, 2, "seq", heads * d)
    which = input_of(m, "which", TensorProto.FLOAT, 2, 1, "seq", "seq")
    c = heads * d
    q, k, v = (m.transpose(m.reshape(m.linear(x, c, c), 2, -1, heads, d), 0, 2, 1, 3) for _ in range(3))
    bias = m.node("Mul", which, np.float32(3))
    s = m.node("MatMul", m.node("Mul", q, np.float32(0.25)), m.transpose(k, 0, 1, 3, 2))
    y = m.node("MatMul", m.node("Softmax", m.node("Add", s, bias), axis=-1), v)
    return [m.linear(m.reshape(m.transpose(y, 0, 2, 1, 3), 2, -1, c), c, c), m.node("Exp", which)]


def first(m):
    _, _, x = embedded(m)
    y = encoder(m, x, -1, None)
    return [m.node("Gather", y, np.int64(0), axis=1), y]


def lstm(m, x, n_in, h, directions):
    one = [m.node("LSTM", x, 0.3 * m.normal(directions, 4 * h, n_in), 0.3 * m.normal(directions, 4 * h, h), 0.3 * m.normal(directions, 8 * h),
                  hidden_size=h, direction="bidirectional" if directions > 1 else "forward")][0]
    return m.reshape(m.transpose(one, 0, 2, 1, 3), -1, 2, directions * h)


def words(m):
    return m.node("Gather", 0.3 * m.normal(50, 16), input_of(m, "input_ids", TensorProto.INT64, "seq", 2))


def tagger(m):
    return [m.node("Softmax", m.linear(lstm(m, words(m), 16, 20, 1), 20, 9), axis=-1)]


def pixels(m):
    x = input_of(m, "x", TensorProto.FLOAT, 1, 8, "seq")
    y = m.node("Relu", m.node("Conv", x, m.normal(16, 8, 1), m.normal(16)))
    places = m.node("Slice", m.normal(1, 1, MOST), np.array([0]), length_of(m, x, 2), np.array([2]))
    return [m.node("Conv", m.node("Mul", y, places), m.normal(4, 16, 1))]


def images(m):
    x = input_of(m, "x", TensorProto.FLOAT, "seq", 4, 8, 8)
    y = m.node("Relu", m.node("Conv", x, 0.2 * m.normal(16, 4, 3, 3), m.normal(16), pads=[1, 1, 1, 1]))
    y = m.node("Conv", m.node("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]), 0.1 * m.normal(16, 16, 3, 3), m.normal(16), pads=[1, 1, 1, 1])
    y = m.node("Flatten", m.node("GlobalAveragePool", m.node("Add", y, m.normal(1, 16, 1, 1))))
    return [m.node("Softmax", m.node("Gemm", y, m.normal(10, 16), m.normal(10), transB=1))]


def sentence(m):
    _, _, x = embedded(m)
    mask = input_of(m, "attention_mask", TensorProto.INT64, 1, "seq")
    y = encoder(m, x, -1, hidden(m, mask))
    y = y[0] if isinstance(y, list) else y
    seen = m.node("Cast", m.node("Unsqueeze", mask, np.array([2])), to=TensorProto.FLOAT)
    seen = m.node("Expand", seen, m.node("Shape", y))
    total, count = (m.node("ReduceSum", v, np.array([1]), keepdims=0) for v in (m.node("Mul", y, seen), seen))
    mean = m.node("Div", total, m.node("Clip", count, np.float32(1e-9)))
    norm = m.node("Clip", m.node("ReduceL2", mean, axes=[1], keepdims=1), np.float32(1e-12))
    return [m.node("Div", mean, m.node("Expand", norm, m.node("Shape", mean))), m.node("ReduceMean", y, axes=[1], keepdims=0)]


def greatest(m):
    x = input_of(m, "x", TensorProto.FLOAT, 2, "seq", 6)
    y = m.node("Sub", x, np.float32(9))  # all are below 0, all above it
    z = m.node("Add", x, np.float32(9))
    near = m.node("Add", m.node("Mul", x, np.float32(0.02)), np.float32(1))
    return [m.node("ReduceMax", y, axes=[1]), m.node("ReduceMin", z, axes=[1]), m.node("ReduceSum", z, np.array([1])),
            m.node("ReduceProd", near, axes=[1]), m.node("ReduceL2", y, axes=[1]), m.node("ReduceMean", m.node("Exp", x), axes=[1, 2])]


def last(m):
    _, _, x = embedded(m)
    y = m.linear(x, C, 32)
    return [m.node("Gather", y, np.int64(-1), axis=1), m.node("Slice", m.transpose(x, 0, 2, 1), np.array([-1]), np.array([1 << 62]), np.array([2]))]


def pointed(m):
    at = input_of(m, "at", TensorProto.INT64, 3)
    return [m.node("Gather", m.node("Squeeze", embedded(m)[2], np.array([0])), at, axis=0)]


def window(m):
    x = m.node("Add", m.transpose(embedded(m)[2], 0, 2, 1), np.float32(1))
    y = m.node("Relu", m.node("Conv", x, 0.1 * m.normal(16, C, 3), m.normal(16), pads=[1, 1]))
    return [m.node("Conv", y, 0.2 * m.normal(8, 16, 5), m.normal(8), pads=[4, 4], dilations=[2])]


def both_ways(m):
    x = words(m)
    w = [0.3 * m.normal(2, 3 * 12, 16), 0.3 * m.normal(2, 3 * 12, 12), 0.3 * m.normal(2, 6 * 12)]
    gru = m.node("GRU", x, *w, n_out=2, hidden_size=12, direction="bidirectional", linear_before_reset=1)
    deep = lstm(m, lstm(m, x, 16, 20, 2), 40, 8, 2)
    return [deep, *gru]


def pooled(m):
    _, _, x = embedded(m)
    shares = m.node("Softmax", m.transpose(m.linear(m.node("Tanh", m.linear(x, C, 16)), 16, 2), 0, 2, 1), axis=-1)
    return [m.node("MatMul", shares, x), shares]


def cached(m):
    ids, at = (input_of(m, name, TensorProto.INT64, 1, 1) for name in ("input_ids", "position_ids"))
    mask = hidden(m, input_of(m, "attention_mask", TensorProto.INT64, 1, "seq + 1"))
    x = m.node("Add", m.node("Gather", m.normal(50, C), ids), m.node("Gather", m.normal(50, C), at))
    outputs = []
    for i in range(m.layers):
        m.scope = f"/h.{i}"
        past = [input_of(m, f"past_key_values.{i}.{kind}", TensorProto.FLOAT, 1, 2, "seq", 32) for kind in ("key", "value")]
        q, k, v = (m.heads(y, -1, 2, 32, 0, 2, 1, 3)
                   for y in m.node("Split", m.linear(m.norm(x, C), C, 3 * C), np.array([C, C, C]), n_out=3, axis=2))
        k, v = (m.node("Concat", old, new, axis=2) for old, new in zip(past, (k, v)))
        outputs += [k, v]
        s = m.node("Div", m.node("MatMul", q, m.transpose(k, 0, 1, 3, 2)), np.float32(np.sqrt(32)))
        y = m.joined(m.node("MatMul", m.node("Softmax", m.node("Add", s, mask), axis=-1), v), -1, C)
        x = m.node("Add", x, m.linear(y, C, C))
        x = m.node("Add", x, m.linear(m.gelu_tanh(m.linear(m.norm(x, C), C, 2 * C)), 2 * C, C))
    return [m.linear(m.norm(x, C), C, 50, False), *outputs]


def soft(m):
    x = input_of(m, "x", TensorProto.FLOAT, 2, "seq", 6)
    longer = m.node("Concat", x, input_of(m, "new", TensorProto.FLOAT, 2, 3, 6), axis=1)
    moved = m.node("Slice", longer, np.array([2]), np.array([1 << 62]), np.array([1]))
    begun = m.node("Concat", input_of(m, "first", TensorProto.FLOAT, 2, 1, 6), m.node("Exp", x), axis=1)
    return [m.node("ReduceLogSumExp", longer, axes=[1]), moved, m.transpose(begun, 0, 2, 1), m.node("ReduceMean", longer, axes=[1])]


def cell(m):
    return [m.node("LSTM", words(m), 0.3 * m.normal(1, 80, 16), 0.3 * m.normal(1, 80, 20), 0.3 * m.normal(1, 160), n_out=3, hidden_size=20)[2]]


def scaled(m):
    _, n, x = embedded(m)
    return [m.node("Div", x, m.node("Cast", n, to=TensorProto.FLOAT))]


def halves(m):
    return [m.node("MaxPool", m.transpose(embedded(m)[2], 0, 2, 1), kernel_shape=[2], strides=[2])]


def fixed(m):
    return [m.node("Relu", input_of(m, "x", TensorProto.FLOAT, 1, 12, 4))]


def built(make, seed):
    m = Model(seed, 2, C / 768)
    y = make(m)
    return m.model(*(y if isinstance(y, list) else [y]))


def value_of(rng, i, n):
    dims = [n + d.dim_param.count("1") if d.dim_param else d.dim_value for d in i.type.tensor_type.shape.dim]
    if i.name == "attention_mask":
        v = (rng.random(dims) < 0.8).astype(np.int64)
        v[0, 0] = 1
        return v
    if i.name == "at":
        return rng.integers(-n, n, dims)
    return rng.integers(0, 50, dims) if i.type.tensor_type.elem_type == TensorProto.INT64 else rng.standard_normal(dims).astype(np.float32)


def main():
    out, rng = Path(sys.argv[1]), np.random.default_rng(int(sys.argv[2]))
    out.mkdir(parents=True, exist_ok=True)
    bert.__name__ = "encoder"
    for seed, make in enumerate((bert, decoder, masked, pairs, first, tagger, pixels, images, sentence, greatest, last, pointed, window, both_ways, pooled,
                                 cached, soft)):
        name, model = make.__name__, built(make, seed)
        onnx.checker.check_model(model)
        onnx.save(model, out / f"{name}.onnx")
        lengths = sorted({0 if name == "cached" else 1, *EDGES, *(int(n) for n in rng.integers(1, MOST + 1, 3))})
        runs = session(model)
        for n in lengths:
            folder = out / name / str(n)
            folder.mkdir(parents=True, exist_ok=True)
            given = {i.name: value_of(rng, i, n) for i in model.graph.input}
            for kind, values in (("x", given.values()), ("y", runs.run(None, given))):
                for k, v in enumerate(values):
                    for numbers, to in ((np.float32, folder), (np.float16, out / f"{name}-f16" / str(n))):
                        to.mkdir(parents=True, exist_ok=True)
                        v.astype(numbers).tofile(to / f"{kind}{k}.bin")
        print(name, *lengths, flush=True)
    for make in (cell, scaled, halves, fixed):
        onnx.save(built(make, 9), out / f"{make.__name__}.onnx")


if __name__ == "__main__":
    main()
