# SPDX-License-Identifier: MIT
"""make_models.py OUT - small models in the manner of exporters, with seeded weights; for each a folder OUT/NAME with
model.onnx, an input x.bin (x0.bin, x1.bin, ... of several), floats, and what onnxruntime makes of it, y.bin. Prints the names."""
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class Maker:
    """Nodes one after the other; each method gives the name of its output."""

    def __init__(self, seed, opset):
        self.rng, self.opset, self.nodes, self.constants, self.channels = np.random.default_rng(seed), opset, [], [], {}

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind, inputs, **attributes):
        out = f"/features/{len(self.nodes)}/{kind}_output_0"
        self.nodes.append(helper.make_node(kind, inputs, [out], name=out.rsplit("_", 2)[0], **attributes))
        self.channels[out] = self.channels.get(inputs[0])
        return out

    def normal(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def conv(self, x, k, r, bias=True, group=1, **attributes):
        c = self.channels[x] // group
        w = self.normal(k, c, r, r) * np.float32(np.sqrt(2 / (c * r * r)))
        more = [self.constant(self.normal(k) * np.float32(0.1))] if bias else []
        out = self.node("Conv", [x, self.constant(w), *more], kernel_shape=[r, r], group=group, **attributes)
        self.channels[out] = k
        return out

    def norm(self, x):
        c = self.channels[x]
        values = [1 + 0.1 * self.normal(c), 0.1 * self.normal(c), 0.1 * self.normal(c), np.exp(0.1 * self.normal(c))]
        return self.node("BatchNormalization", [x, *map(self.constant, values)], epsilon=1e-5)

    def clip(self, x):
        if self.opset < 11:
            return self.node("Clip", [x], min=0.0, max=6.0)
        return self.node("Clip", [x, self.constant(np.float32(0)), self.constant(np.float32(6))])

    def gemm(self, x, n_in, n):
        w = self.normal(n, n_in) / np.float32(np.sqrt(n_in))
        return self.node("Gemm", [x, self.constant(w), self.constant(self.normal(n))], transB=1)

    def flat_by_shape(self, x):
        """x.view(x.size(0), -1) as exporters write it."""
        size = self.node("Gather", [self.node("Shape", [x]), self.constant(np.int64(0))], axis=0)
        if self.opset < 13:
            one = self.node("Unsqueeze", [size], axes=[0])
        else:
            one = self.node("Unsqueeze", [size, self.constant(np.array([0]))])
        return self.node("Reshape", [x, self.node("Concat", [one, self.constant(np.array([-1]))], axis=0)])

    def model(self, y, shape, n, batch="batch"):
        x = helper.make_tensor_value_info("input.1", TensorProto.FLOAT, [batch, *shape])
        out = helper.make_tensor_value_info(y, TensorProto.FLOAT, [batch, n])
        graph = helper.make_graph(self.nodes, "main_graph", [x], [out], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def mobilenet_v2(opset=17):
    m = Maker(1, opset)
    m.channels["input.1"] = 3
    x = m.clip(m.norm(m.conv("input.1", 16, 3, bias=False, strides=[2, 2], pads=[1] * 4)))
    for expand, k, stride in ((1, 8, 1), (4, 16, 2), (4, 16, 1), (4, 24, 2)):
        c, shortcut = m.channels[x], x
        t = m.clip(m.norm(m.conv(x, c * expand, 1, bias=False))) if expand > 1 else x
        t = m.clip(m.norm(m.conv(t, c * expand, 3, bias=False, group=c * expand, strides=[stride] * 2, pads=[1] * 4)))
        t = m.norm(m.conv(t, k, 1, bias=False))
        x = m.node("Add", [shortcut, t]) if stride == 1 and c == k else t
    x = m.clip(m.conv(x, 48, 1))
    x = m.node("GlobalAveragePool", [x])
    x = m.node("Dropout", [m.node("Flatten", [x], axis=1)])
    return m.model(m.gemm(x, 48, 10), (3, 32, 32), 10)


def resnet(opset=17, **more):
    """Bottlenecks with shortcuts of both kinds, the second convolution of a pair first, a pool with ceil_mode."""
    m = Maker(2, opset)
    m.channels["input.1"] = 3
    x = m.node("Relu", [m.norm(m.conv("input.1", 16, 7, bias=False, strides=[2, 2], pads=[3] * 4))])
    x = m.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 0, 0], **({"ceil_mode": 1} if opset > 9 else {}))
    for k, stride, groups in ((32, 1, 1), (32, 1, 4), (48, 2, 1)):
        t = m.node("Relu", [m.conv(x, k // 2, 1)])
        t = m.node("Relu", [m.conv(t, k // 2, 3, group=groups, strides=[stride] * 2, pads=[1] * 4)])
        t = m.conv(t, k, 1)
        short = m.conv(x, k, 1, strides=[stride] * 2) if m.channels[x] != k else x
        x = m.node("Relu", [m.node("Add", [t, short])])
    x = m.node("ReduceMean", [x], axes=[2, 3], keepdims=1) if opset < 18 else m.node("GlobalAveragePool", [x])
    x = m.gemm(m.flat_by_shape(x), 48, 10)
    return m.model(m.node("Softmax", [x], axis=1), (3, 35, 29), 10, **more)


def vgg(opset=17):
    """Pads of one side alone, dilation, what is not at the end of a convolution, a product without a bias."""
    m = Maker(3, opset)
    m.channels["input.1"] = 3
    pads = [0, 0, 1, 0, 0, 0, 0, 2]
    x = m.node("Pad", ["input.1"], pads=pads) if opset < 11 else m.node("Pad", ["input.1", m.constant(np.array(pads))])
    x = m.conv(x, 8, 3, strides=[2, 1], pads=[0, 1, 1, 0])
    x = m.node("Mul", [x, m.constant(m.normal(8, 1, 1))])
    x = m.node("Sub", [m.node("Relu", [x]), m.constant(np.float32(0.25))])
    x = m.conv(m.clip(x), 8, 3, dilations=[2, 1], pads=[2, 1, 2, 1])
    x = m.conv(x, 8, 2, auto_pad="SAME_UPPER")
    x = m.node("AveragePool", [m.node("Relu", [x])], kernel_shape=[2, 3], strides=[2, 2], pads=[0, 1, 0, 1])
    y = m.node("MaxPool", [x], kernel_shape=[3, 3], pads=[1] * 4)
    x = m.node("Relu", [m.node("Add", [x, y])])
    n = 8 * 6 * 8
    x = m.node("Reshape", [x, m.constant(np.array([1, n]))])
    x = m.node("MatMul", [x, m.constant(m.normal(n, 20) / np.float32(np.sqrt(n)))])
    x = m.node("Relu", [m.node("Add", [x, m.constant(m.normal(20))])])
    return m.model(m.gemm(x, 20, 10), (3, 24, 14), 10)


def squeezenet():
    """Channels joined three at a time, softmax of a pool."""
    m = Maker(4, 13)
    m.channels["input.1"] = 3
    x = m.node("Relu", [m.conv("input.1", 16, 3, strides=[2, 2])])
    for k in (16, 32):
        s = m.node("Relu", [m.conv(x, 8, 1)])
        parts = [m.node("Relu", [m.conv(s, k, 1)]), m.node("Relu", [m.conv(s, k, 3, pads=[1] * 4)]), s]
        x = m.node("Concat", parts, axis=1)
        m.channels[x] = 2 * k + 8
    x = m.node("GlobalAveragePool", [m.conv(x, 10, 1)])
    return m.model(m.node("Flatten", [m.node("Softmax", [x], axis=1)]), (3, 21, 17), 10, 2)


def bert(words=97, length=12, width=32, heads=4):
    """A layer of an encoder: words and a mask as whole numbers, embeddings, attention, an exact GELU, a pooler that takes the
    word of the largest score."""
    m = Maker(5, 17)

    def linear(x, n_in, n):
        x = m.node("MatMul", [x, m.constant(m.normal(n_in, n) / np.float32(np.sqrt(n_in)))])
        return m.node("Add", [m.constant(0.1 * m.normal(n)), x])

    def norm(x):
        return m.node("LayerNormalization", [x, m.constant(1 + 0.1 * m.normal(width)), m.constant(0.1 * m.normal(width))], axis=-1)

    def split(x, perm):
        x = m.node("Reshape", [x, m.constant(np.array([0, 0, heads, width // heads]))])
        return m.node("Transpose", [x], perm=perm)

    x = m.node("Gather", [m.constant(m.normal(words, width)), "input_ids"])
    x = norm(m.node("Add", [x, m.constant(m.normal(1, length, width))]))
    hidden = m.node("Cast", [m.node("Unsqueeze", ["attention_mask", m.constant(np.array([1, 2]))])], to=TensorProto.BOOL)
    hidden = m.node("Not", [hidden])
    scores = m.node("MatMul", [split(linear(x, width, width), [0, 2, 1, 3]), split(linear(x, width, width), [0, 2, 3, 1])])
    scores = m.node("Div", [scores, m.constant(np.float32(np.sqrt(width // heads)))])
    scores = m.node("Where", [hidden, m.constant(np.float32(np.finfo(np.float32).min)), scores])
    y = m.node("MatMul", [m.node("Softmax", [scores], axis=-1), split(linear(x, width, width), [0, 2, 1, 3])])
    y = m.node("Reshape", [m.node("Transpose", [y], perm=[0, 2, 1, 3]), m.constant(np.array([0, 0, width]))])
    x = norm(m.node("Add", [linear(y, width, width), x]))
    y = linear(x, width, 4 * width)
    erf = m.node("Erf", [m.node("Div", [y, m.constant(np.float32(np.sqrt(2)))])])
    y = m.node("Mul", [m.node("Mul", [y, m.node("Add", [erf, m.constant(np.float32(1))])]), m.constant(np.float32(0.5))])
    x = norm(m.node("Add", [linear(y, 4 * width, width), x]))
    best = m.node("ArgMax", [linear(x, width, 1)], axis=1, keepdims=0)
    place = m.node("Reshape", [best, m.constant(np.array([1]))])
    y = m.node("Squeeze", [m.node("Gather", [x, place], axis=1), m.constant(np.array([1]))])
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", length]) for n in ("input_ids", "attention_mask")]
    out = helper.make_tensor_value_info(y, TensorProto.FLOAT, ["batch", width])
    graph = helper.make_graph(m.nodes, "main_graph", inputs, [out], m.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def input_of(value, rng):
    """Normal numbers; of whole numbers words, of a mask the last few hidden."""
    shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
    if value.name == "attention_mask":
        return (np.arange(shape[1]) < shape[1] - 3).astype(np.int64)[None]
    if value.type.tensor_type.elem_type == TensorProto.INT64:
        return rng.integers(0, 97, shape)
    return rng.standard_normal(shape).astype(np.float32)


def main():
    out = Path(sys.argv[1])
    external = {"resnet"}
    for name, make, arguments in (("mobilenet", mobilenet_v2, {}), ("resnet", resnet, {"opset": 21}), ("vgg", vgg, {"opset": 13}),
                                  ("squeezenet", squeezenet, {}), ("bert", bert, {}),
                                  ("mobilenet9", mobilenet_v2, {"opset": 9}), ("resnet9", resnet, {"opset": 9, "batch": 3})):
        model = make(**arguments)
        onnx.checker.check_model(model)
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(9)
        given = {i.name: input_of(i, rng) for i in model.graph.input}
        y, = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, given)
        for i, x in enumerate(given.values()):
            x.astype(np.float32).tofile(folder / (f"x{i}.bin" if len(given) > 1 else "x.bin"))
        y.tofile(folder / "y.bin")
        onnx.save(model, folder / "model.onnx", save_as_external_data=name in external, location="model.data",
                  size_threshold=64)
        print(name)


if __name__ == "__main__":
    main()
