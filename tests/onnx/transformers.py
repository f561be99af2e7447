# SPDX-License-Identifier: MIT
"""transformers.py OUT [--layers N] [--width X] [--dtype f32|f16]... [NAME...] - transformers as exporters write them, with seeded weights; for each
OUT/NAME.onnx, and for each element type a folder OUT/NAME-TYPE with the inputs (x.bin, or x0.bin, x1.bin, ...), what onnxruntime makes of
them (y.bin, or y0.bin, ...) and `limit`, how far others may be from that. Prints the names; all of them without NAME.

bert     an encoder (sequence 128) behind its embeddings, with a mask: attention as HF writes it, products divided and masked
bert_x   the same without embeddings and mask, of one input of floats
vit      16x16 patches of a 224x224 image, a class token, joint projections cut into queries, keys and values as timm has it
gpt      a causal decoder as GPT-2: joint projections, a constant triangle in Where, tanh's gelu
decoder  a token with a cache of 64 as Llama: RMSNorm, rotary positions, groups of heads, SwiGLU; what the cache becomes is an output
decoder4 the same with weights of 4 bits: MatMulNBits, blocks of 32 and 128, with zero points and without
rounded4 and activations that may be rounded to 8 bits: accuracy_level=4
fused    as onnxruntime's optimizer fuses them: MultiHeadAttention with a cache, SkipLayerNormalization
grouped  as onnxruntime's model builder: GroupQueryAttention with a cache, rotary positions, a window, one projection
ort      as onnxruntime's optimizer writes an encoder: Attention of a joint projection, FusedMatMul, DynamicQuantizeMatMul, BiasGelu,
         FastGelu, Gelu
sdpa     PyTorch's decomposed attention: the root of the scale on both sides, a mask of truth values"""
import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from networks import TYPES, session


class Model:
    """Nodes one after the other; shapes are onnx's own inference's."""

    def __init__(self, seed, layers, width, opset=17):
        self.rng, self.layers, self.width, self.opset = np.random.default_rng(seed), layers, width, opset
        self.nodes, self.constants, self.inputs, self.data, self.scope = [], [], [], {}, ""
        self.few_bits, self.n_linear, self.accuracy = False, 0, 0

    def normal(self, *shape):
        return self.rng.standard_normal(shape, np.float32)

    def wide(self, n, step=64):
        return max(step, int(n * self.width) // step * step)

    def input(self, name, value):
        value = np.asarray(value)
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        self.data[name] = value
        return name

    def constant(self, value):
        name = f"{self.scope}/Constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind, *inputs, n_out=1, **attributes):
        inputs = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        names = [f"{self.scope}/{kind}_{len(self.nodes)}_output_{i}" for i in range(n_out)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=names[0].rsplit("_", 2)[0], **attributes))
        return names if n_out > 1 else names[0]

    def reshape(self, x, *dims):
        return self.node("Reshape", x, np.array(dims))

    def transpose(self, x, *perm):
        return self.node("Transpose", x, perm=perm)

    def linear4(self, x, c, n):
        """Each second with zero points, blocks of 32 and 128 in turn."""
        size, zeros = (32, 128)[self.n_linear // 2 % 2], self.n_linear % 2
        blocks = -(-c // size)
        more = [self.rng.integers(0, 256, n * (-(-blocks // 2)), np.uint8)] if zeros else []
        scales = np.abs(1 + 0.3 * self.normal(n * blocks)) / np.float32(6 * np.sqrt(c))
        self.n_linear += 1
        return self.node("MatMulNBits", x, self.rng.integers(0, 256, (n, blocks, size // 2), np.uint8), scales, *more, K=c, N=n, bits=4,
                         block_size=size, accuracy_level=self.accuracy, domain="com.microsoft")

    def linear(self, x, c, n, bias=True):
        y = self.linear4(x, c, n) if self.few_bits else self.node("MatMul", x, self.normal(c, n) / np.float32(np.sqrt(c)))
        return self.node("Add", 0.1 * self.normal(n), y) if bias else y

    def norm(self, x, c):
        return self.node("LayerNormalization", x, 1 + 0.1 * self.normal(c), 0.1 * self.normal(c), axis=-1, epsilon=1e-5)

    def gelu(self, x):
        """As it is written out: x / sqrt(2), erf, + 1, * x, / 2."""
        e = self.node("Erf", self.node("Div", x, np.float32(np.sqrt(2))))
        return self.node("Mul", self.node("Mul", x, self.node("Add", e, np.float32(1))), np.float32(0.5))

    def gelu_tanh(self, x):
        cube = self.node("Mul", self.node("Pow", x, np.float32(3)), np.float32(0.044715))
        t = self.node("Tanh", self.node("Mul", self.node("Add", x, cube), np.float32(np.sqrt(2 / np.pi))))
        return self.node("Mul", self.node("Mul", x, np.float32(0.5)), self.node("Add", t, np.float32(1)))

    def heads(self, x, rows, heads, d, *perm):
        return self.transpose(self.reshape(x, 1, rows, heads, d), *perm)

    def joined(self, y, rows, c):
        return self.reshape(self.transpose(y, 0, 2, 1, 3), 1, rows, c)

    def model(self, *outputs):
        graph = helper.make_graph(self.nodes, "main_graph", self.inputs, [onnx.ValueInfoProto(name=y) for y in outputs], self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid(*i) for i in (("", self.opset), ("com.microsoft", 1))], ir_version=10)
        return onnx.shape_inference.infer_shapes(made)


def encoder(m, x, rows, mask):
    """Layers as BERT's: what is added is normalised behind it."""
    c, heads = m.wide(768), m.wide(768) // 64
    for i in range(m.layers):
        m.scope = f"/encoder/layer.{i}/attention"
        q, k, v = (m.linear(x, c, c) for _ in range(3))
        q, v, k = m.heads(q, rows, heads, 64, 0, 2, 1, 3), m.heads(v, rows, heads, 64, 0, 2, 1, 3), m.heads(k, rows, heads, 64, 0, 2, 3, 1)
        s = m.node("Div", m.node("MatMul", q, k), np.float32(8))
        s = m.node("Add", s, mask) if mask else s
        y = m.joined(m.node("MatMul", m.node("Softmax", s, axis=-1), v), rows, c)
        x = m.norm(m.node("Add", m.linear(y, c, c), x), c)
        m.scope = f"/encoder/layer.{i}/output"
        x = m.norm(m.node("Add", m.linear(m.gelu(m.linear(x, c, 4 * c)), 4 * c, c), x), c)
    return x


def bert(m, rows=128):
    c = m.wide(768)
    ids = m.input("input_ids", m.rng.integers(0, 1000, (1, rows)))
    mask = m.input("attention_mask", (np.arange(rows) < rows - 20).astype(np.int64)[None])
    x = m.node("Gather", m.normal(1000, c), ids)
    x = m.norm(m.node("Add", x, 0.5 * m.normal(1, rows, c)), c)
    seen = m.node("Cast", m.node("Unsqueeze", mask, np.array([1, 2])), to=TensorProto.FLOAT)
    hidden = m.node("Mul", m.node("Sub", np.float32(1), seen), np.float32(np.finfo(np.float32).min))
    return m.model(encoder(m, x, rows, hidden))


def bert_x(m, rows=128):
    return m.model(encoder(m, m.input("x", m.normal(1, rows, m.wide(768))), rows, None))


def vit(m):
    c, heads, size = m.wide(768), m.wide(768) // 64, 224 if m.width >= 1 else 64
    rows = (size // 16) ** 2 + 1
    image = m.input("pixel_values", m.normal(1, 3, size, size))
    x = m.node("Conv", image, m.normal(c, 3, 16, 16) / np.float32(28), 0.1 * m.normal(c), kernel_shape=[16, 16], strides=[16, 16])
    x = m.transpose(m.reshape(x, 1, c, rows - 1), 0, 2, 1)
    x = m.node("Add", m.node("Concat", 0.5 * m.normal(1, 1, c), x, axis=1), 0.5 * m.normal(1, rows, c))
    for i in range(m.layers):
        m.scope = f"/blocks.{i}"
        qkv = m.transpose(m.reshape(m.linear(m.norm(x, c), c, 3 * c), 1, rows, 3, heads, 64), 2, 0, 3, 1, 4)
        q, k, v = (m.node("Gather", qkv, np.int64(k), axis=0) for k in range(3))
        s = m.node("MatMul", m.node("Mul", q, np.float32(0.125)), m.transpose(k, 0, 1, 3, 2))
        y = m.joined(m.node("MatMul", m.node("Softmax", s, axis=-1), v), rows, c)
        x = m.node("Add", x, m.linear(y, c, c))
        x = m.node("Add", x, m.linear(m.gelu(m.linear(m.norm(x, c), c, 4 * c)), 4 * c, c))
    m.scope = "/head"
    x = m.node("Gather", m.norm(x, c), np.int64(0), axis=1)
    return m.model(m.node("Gemm", x, m.normal(1000, c) / np.float32(np.sqrt(c)), 0.1 * m.normal(1000), transB=1))


def gpt(m, rows=64):
    c, heads = m.wide(768), m.wide(768) // 64
    x = m.input("x", m.normal(1, rows, c))
    for i in range(m.layers):
        m.scope = f"/h.{i}"
        qkv = m.node("Split", m.linear(m.norm(x, c), c, 3 * c), np.array([c, c, c]), n_out=3, axis=2)
        q, v, k = (m.heads(qkv[i], rows, heads, 64, 0, 2, *last) for i, last in ((0, (1, 3)), (2, (1, 3)), (1, (3, 1))))
        s = m.node("Div", m.node("MatMul", q, k), np.float32(8))
        s = m.node("Where", np.tril(np.ones((1, 1, rows, rows), bool)), s, np.float32(np.finfo(np.float32).min))
        y = m.joined(m.node("MatMul", m.node("Softmax", s, axis=-1), v), rows, c)
        x = m.node("Add", x, m.linear(y, c, c))
        x = m.node("Add", x, m.linear(m.gelu_tanh(m.linear(m.norm(x, c), c, 4 * c)), 4 * c, c))
    return m.model(x)


def rms_norm(m, x, c):
    square = m.node("ReduceMean", m.node("Pow", x, np.float32(2)), axes=[-1])
    root = m.node("Sqrt", m.node("Add", square, np.float32(1e-6)))
    return m.node("Mul", 1 + 0.1 * m.normal(c), m.node("Mul", x, m.node("Div", np.float32(1), root)))


def rotated(m, x, cosines, sines):
    """x cos + (-x2, x1) sin."""
    first = m.node("Slice", x, np.array([0]), np.array([32]), np.array([3]))
    second = m.node("Slice", x, np.array([32]), np.array([64]), np.array([3]))
    turned = m.node("Concat", m.node("Neg", second), first, axis=3)
    return m.node("Add", m.node("Mul", x, cosines), m.node("Mul", turned, sines))


def repeated(m, x, heads, group, rows):
    x = m.node("Expand", m.node("Unsqueeze", x, np.array([2])), np.array([1, heads, group, rows, 64]))
    return m.reshape(x, 1, heads * group, rows, 64)


def decoder(m, past=64, group=3):
    c = m.wide(768, 192)
    heads, hidden = c // 64, c // 64 * 172
    x, at = m.input("x", m.normal(1, 1, c)), m.input("position", np.array([[40]]))
    mask = m.input("mask", np.where(np.arange(past + 1) < past - 40, np.float32(np.finfo(np.float32).min), np.float32(0))[None, None, None])
    angles = np.arange(128)[:, None] / np.float32(10000) ** (np.arange(64) % 32 / 32)
    outputs = []
    m.scope = "/rotary"
    cosines, sines = (m.node("Unsqueeze", m.node("Gather", f(angles).astype(np.float32), at), np.array([1])) for f in (np.cos, np.sin))
    for i in range(m.layers):
        m.scope, cache = f"/layers.{i}/self_attn", [m.input(f"past.{i}.{n}", m.normal(1, heads // group, past, 64)) for n in ("key", "value")]
        y, kv = rms_norm(m, x, c), c // group
        q = rotated(m, m.heads(m.linear(y, c, c, False), 1, heads, 64, 0, 2, 1, 3), cosines, sines)
        k = rotated(m, m.heads(m.linear(y, c, kv, False), 1, heads // group, 64, 0, 2, 1, 3), cosines, sines)
        k, v = (m.node("Concat", p, n, axis=2)
                for p, n in zip(cache, (k, m.heads(m.linear(y, c, kv, False), 1, heads // group, 64, 0, 2, 1, 3))))
        outputs += [m.node("Slice", p, np.array([1]), np.array([past + 1]), np.array([2])) for p in (k, v)]
        k, v = (repeated(m, p, heads // group, group, past + 1) for p in (k, v))
        s = m.node("Add", m.node("Div", m.node("MatMul", q, m.transpose(k, 0, 1, 3, 2)), np.float32(8)), mask)
        y = m.joined(m.node("MatMul", m.node("Softmax", s, axis=-1), v), 1, c)
        x, m.scope = m.node("Add", x, m.linear(y, c, c, False)), f"/layers.{i}/mlp"
        y = rms_norm(m, x, c)
        gate = m.linear(y, c, hidden, False)
        y = m.node("Mul", m.node("Mul", gate, m.node("Sigmoid", gate)), m.linear(y, c, hidden, False))
        x = m.node("Add", x, m.linear(y, hidden, c, False))
    return m.model(x, *outputs)


def decoder4(m):
    m.few_bits = True
    return decoder(m)


def rounded4(m):
    m.accuracy = 4
    return decoder4(m)


def fused(m, rows=6, past=10):
    c, heads = 64, 4
    x = m.input("x", m.normal(1, rows, c))
    seen = m.input("seen", (m.rng.random((1, rows + past)) < 0.8).astype(np.int32))
    cache = [m.input(f"past.{n}", m.normal(1, heads, past, c // heads)) for n in ("key", "value")]
    q, k, v = (m.linear(x, c, c) for _ in range(3))
    y, *outputs = m.node("MultiHeadAttention", q, k, v, "", seen, "", *cache, n_out=3, num_heads=heads, unidirectional=1, domain="com.microsoft")
    skip = m.node("SkipLayerNormalization", m.linear(y, c, c), x, 1 + 0.1 * m.normal(c), 0.1 * m.normal(c), epsilon=1e-5, domain="com.microsoft")
    return m.model(skip, *outputs)


def grouped(m, past=10):
    """As onnxruntime's model builder writes a decoder: one projection, rotary positions within the attention."""
    c, heads, d = 64, 4, 16
    x, cache = m.input("x", m.normal(1, 3, c)), [m.input(f"past.{n}", m.normal(1, 2, past, d)) for n in ("key", "value")]
    angles = np.arange(32)[:, None] / np.float32(100) ** (np.arange(d // 2) * 2 / d)
    y, *outputs = m.node("GroupQueryAttention", m.linear(x, c, 2 * c, False), "", "", *cache, np.array([past + 2], np.int32), np.int32(past + 3),
                         np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32), n_out=3, num_heads=heads, kv_num_heads=2,
                         do_rotary=1, local_window_size=8, domain="com.microsoft")
    skip = m.node("SkipSimplifiedLayerNormalization", m.linear(y, c, c, False), x, 1 + 0.1 * m.normal(c), epsilon=1e-5, domain="com.microsoft")
    return m.model(skip, *outputs)


def sdpa(m, rows=40):
    c, heads, d = 80, 4, 20
    x, which = m.input("x", m.normal(2, rows, c)), m.input("which", m.rng.random((2, 1, rows, rows)) < 0.7)
    root = np.float32(d**-0.25)
    q, k, v = (m.transpose(m.reshape(m.linear(x, c, c), 2, rows, heads, d), 0, 2, 1, 3) for _ in range(3))
    bias = m.node("Where", which, np.float32(0), np.float32(-np.inf))
    s = m.node("MatMul", m.node("Mul", q, root), m.node("Mul", m.transpose(k, 0, 1, 3, 2), root))
    y = m.node("MatMul", m.node("Softmax", m.node("Add", s, bias), axis=-1), v)
    return m.model(m.linear(m.reshape(m.transpose(y, 0, 2, 1, 3), 2, rows, c), c, c))


def ort(m, rows=24):
    c, heads = 64, 2
    x, seen = m.input("x", m.normal(2, rows, c)), m.input("seen", (m.rng.random((2, rows)) < 0.8).astype(np.int32))

    def own(kind, *inputs, **attributes):
        return m.node(kind, *inputs, domain="com.microsoft", **attributes)

    root = 1 / np.sqrt(c)
    y = own("Attention", x, m.normal(c, 3 * c) * np.float32(root), 0.1 * m.normal(3 * c), seen, num_heads=heads, mask_filter_value=-10000.0)
    x = own("SkipLayerNormalization", y, x, 1 + 0.1 * m.normal(c), 0.1 * m.normal(c), epsilon=1e-5)
    y = own("Gelu", own("FusedMatMul", x, m.normal(2 * c, c), alpha=root, transB=1))
    y = own("BiasGelu", m.linear(y, 2 * c, c, False), 0.1 * m.normal(c))
    y = own("FastGelu", own("FusedMatMul", m.transpose(y, 0, 2, 1), m.normal(c, c), alpha=root, transA=1, transBatchA=0), 0.1 * m.normal(c))
    given = m.rng.integers(0, 256, (2, rows, c)).astype(np.float32)
    given[0, 0, :2] = 0, 255  # they are bytes, whoever rounds them
    weights, scale = m.rng.integers(-127, 128, (c, c), np.int8), np.float32(root / 255 / 100)
    x = m.node("Add", x, own("DynamicQuantizeMatMul", m.input("given", given), weights, scale, "", 0.1 * m.normal(c)))
    s = own("FusedMatMul", y, x, alpha=root, transB=1, transA=0)
    return m.model(own("FastGelu", m.node("MatMul", m.node("Softmax", s, axis=-1), x)))


MODELS = {f.__name__: f for f in (bert, bert_x, vit, gpt, decoder, fused, sdpa, grouped, decoder4, rounded4, ort)}


def as_type(v, numbers):
    """Floats as they are in another type; what hides a key is the least number of both."""
    return np.clip(v, np.finfo(numbers).min, np.finfo(numbers).max).astype(numbers) if v.dtype == np.float32 else v


def rounded(model, numbers):
    """The model with weights as they are in another type, computed in f32."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for i in copy.graph.initializer:
        v = numpy_helper.to_array(i)
        if v.dtype == np.float32:
            i.CopyFrom(numpy_helper.from_array(as_type(v, numbers).astype(np.float32), i.name))
    return copy


def store(folder, model, data, numbers, rounds):
    """Inputs and outputs: files of one alone have no number. Halves are allowed what onnxruntime's are off by, twice, and 2e-2; where
    activations are rounded each has scales of its own, and is allowed 5e-2."""
    folder.mkdir(parents=True, exist_ok=True)
    given = {n: as_type(v, numbers).astype(v.dtype) for n, v in data.items()}
    ys = session(rounded(model, numbers)).run(None, given)
    for kind, values in (("x", given.values()), ("y", ys)):
        for i, v in enumerate(values):
            np.asarray(v, numbers).tofile(folder / (f"{kind}{i}.bin" if len(values) > 1 else f"{kind}.bin"))
    (folder / "limit").write_text("5e-2\n" if rounds else "1e-4\n" if numbers == np.float32 else "2e-2\n", encoding="ascii")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("out", type=Path)
    p.add_argument("names", nargs="*", metavar="NAME")
    p.add_argument("--layers", type=int, default=12)
    p.add_argument("--width", type=float, default=1)
    p.add_argument("--dtype", action="append", choices=TYPES)
    a = p.parse_intermixed_args()
    a.out.mkdir(parents=True, exist_ok=True)
    for seed, (name, make) in enumerate(MODELS.items()):
        if a.names and name not in a.names:
            continue
        m = Model(seed, a.layers, a.width)
        model = make(m)
        if name not in ("fused", "grouped", "decoder4", "rounded4", "ort"):  # the shapes of its outputs are onnxruntime's business
            onnx.checker.check_model(model)
        onnx.save(model, a.out / f"{name}.onnx")
        for dtype in a.dtype or TYPES:
            store(a.out / f"{name}-{dtype}", model, m.data, TYPES[dtype], m.accuracy == 4)
        print(name, flush=True)


if __name__ == "__main__":
    main()
