# SPDX-License-Identifier: MIT
"""ints.py - a network as an int8 ONNX model (QLinearConv, QLinearAdd, QGemm, ...), and the same numbers as tensors of ours:
int8 weights, int32 biases, f32 scales of requantisation, zero points.

i8 is symmetric: zero points are 0. u8 is what onnxruntime's own quantiser makes: tensors behind ReLU have the zero point 0
and no ReLU of their own, others 128. A tensor's scale is a power of two above its largest value in f32 over 127 (over 255 behind
ReLU), so that additions are exact in f32; weights have a scale a channel, the last layer one."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

ORT = "com.microsoft"


def scale_of(largest, most, natural):
    scale = max(float(largest), 1e-6) / most
    return np.float32(scale if natural else 2.0 ** np.ceil(np.log2(scale)))


def is_positive(node):
    return "relu" in node["words"]


def ranges(nodes, tensors, natural, unsigned):
    """name -> (scale, zero point) of every tensor of bytes. Pools keep those of what they read."""
    def of(name, positive):
        halves = not (unsigned and positive)
        return scale_of(np.abs(tensors[name]).max(), 127 if halves else 255, natural), 128 if unsigned and halves else 0

    out = {}
    for node in nodes:
        if node["op"] == "pool2d":
            out[node["name"]] = out[node["x"]["name"]]
        elif node["op"] != "softmax":
            out[node["name"]] = of(node["name"], is_positive(node))
        if node["residual"]:
            out[node["name"] + ".sums"] = of(node["name"] + ".sums", False)
    return out


def quantised(v, scale, zero=0, dtype=np.int8):
    least = -127 if dtype == np.int8 else 0
    return np.clip(np.rint(v / scale) + zero, least, least + 254).astype(dtype)


class Maker:
    def __init__(self, nodes, weights, ranges_of, unsigned):
        self.nodes, self.weights, self.unsigned = nodes, weights, unsigned
        self.scale = {name: scale for name, (scale, _) in ranges_of.items()}
        self.zero = {name: zero for name, (_, zero) in ranges_of.items()}
        self.made, self.constants, self.ours = [], {}, []
        for name, (scale, zero) in ranges_of.items():
            self.constants[name + ".scale"] = scale
            self.constants[name + ".zero"] = (np.uint8 if unsigned else np.int8)(zero)

    def node(self, kind, inputs, output, **more):
        self.made.append(helper.make_node(kind, inputs, [output], **more))

    def give(self, layer, tensor, value):
        self.ours.append((layer, tensor, np.ascontiguousarray(value)))

    def give_zeros(self, layer, names):
        if self.unsigned:
            self.give(layer, "zero", np.array([self.zero[n] for n in names], np.int32))

    def has_relu(self, node):
        """A ReLU of its own: with zero points saturation does it."""
        return is_positive(node) and not self.unsigned

    def integers(self, node, per_channel):
        """int8 weights with their scales, int32 bias."""
        name, x = node["name"], self.scale[node["x"]["name"]]
        w, bias = self.weights[name]
        largest = np.abs(w).reshape(len(w), -1).max(axis=1) if per_channel else np.abs(w).max()
        scale = (np.maximum(largest, 1e-9) / 127).astype(np.float32)
        ints = quantised(w, scale.reshape((-1,) + (1,) * (w.ndim - 1)) if per_channel else scale)
        sums = np.rint(bias / (np.float64(x) * scale)).astype(np.int32)
        self.constants.update({name + ".w": ints, name + ".wscale": scale, name + ".bias": sums})
        self.give(name, "w", ints)
        self.give(name, "bias", sums)
        return x, scale

    def requantised(self, node):
        """A layer whose sums become int8 at once."""
        name, x = node["name"], node["x"]["name"]
        result = name + ".sums" if node["residual"] else name
        x_scale, w_scale = self.integers(node, True)
        self.give(name, "scale", x_scale * w_scale / self.scale[result])
        zeros = np.zeros(len(w_scale), np.int8)
        self.constants[name + ".zeros"] = zeros
        relu = self.has_relu(node) and not node["residual"]
        signed = name + ".signed" if relu else result
        names = [x, result] + ([node["residual"]["name"], name] if node["residual"] else [])
        self.give_zeros(name, names)
        if node["op"] == "dense":
            x = self.flat(node)
            of = node["x"]["name"]
            self.node("QGemm", [x, of + ".scale", of + ".zero", name + ".w", name + ".wscale", name + ".zeros",
                                name + ".bias", result + ".scale", result + ".zero"], signed, domain=ORT, transB=1)
        else:
            pad, stride = node.get("pad", 0), node.get("stride", 1)
            group = node["x"]["shape"][0] if node["op"] == "depthwise_conv2d" else 1
            self.node("QLinearConv", [x, x + ".scale", x + ".zero", name + ".w", name + ".wscale", name + ".zeros",
                                      result + ".scale", result + ".zero", name + ".bias"], signed,
                      kernel_shape=[node["r"], node["s"]], pads=[pad] * 4, strides=[stride] * 2, group=group)
        if relu:
            self.node("Relu", [signed], result)
        if node["residual"]:
            self.addition(node)

    def addition(self, node):
        name, other = node["name"], node["residual"]["name"]
        sums, relu = name + ".sums", self.has_relu(node)
        added = name + ".added" if relu else name
        self.give(name, "sum_scale", np.array([self.scale[sums] / self.scale[name],
                                               self.scale[other] / self.scale[name]], np.float32))
        self.node("QLinearAdd", [sums, sums + ".scale", sums + ".zero", other, other + ".scale", other + ".zero",
                                 name + ".scale", name + ".zero"], added, domain=ORT)
        if relu:
            self.node("Relu", [added], name)

    def flat(self, node):
        x = node["x"]
        if x["op"] == "dense":
            return x["name"]
        self.node("Flatten", [x["name"]], node["name"] + ".flat")
        return node["name"] + ".flat"

    def sums(self, node):
        """The last dense layer: int32 sums, and the scale that softmax applies."""
        name = node["name"]
        x_scale, w_scale = self.integers(node, False)
        self.constants[name + ".t"] = np.ascontiguousarray(self.constants.pop(name + ".w").T)
        self.constants[name + ".real"] = np.float32(x_scale * w_scale)
        self.give_zeros(name, [node["x"]["name"]])
        self.node("MatMulInteger", [self.flat(node), name + ".t", node["x"]["name"] + ".zero"], name + ".products")
        self.node("Add", [name + ".products", name + ".bias"], name + ".int")
        self.node("Cast", [name + ".int"], name + ".float", to=TensorProto.FLOAT)
        self.node("Mul", [name + ".float", name + ".real"], name)

    def pool(self, node):
        name, x = node["name"], node["x"]["name"]
        if "avg" not in node["words"]:
            pad, stride = node.get("pad", 0), node.get("stride", 1)
            self.node("MaxPool", [x], name, kernel_shape=[node["r"], node["s"]], pads=[pad] * 4, strides=[stride] * 2)
        else:
            self.node("QLinearGlobalAveragePool", [x, x + ".scale", x + ".zero", name + ".scale", name + ".zero"], name,
                      domain=ORT)

    def softmax(self, node):
        x = node["x"]["name"]
        self.node("Softmax", [x], node["name"], axis=1)
        self.give(node["name"], "scale", self.constants[x + ".real"].reshape(1))


def model(nodes, weights, tensors, natural, unsigned):
    """The model, our weights as (layer, tensor, array), and the input in bytes."""
    of = ranges(nodes, tensors, natural, unsigned)
    maker = Maker(nodes, weights, of, unsigned)
    for node in nodes[1:]:
        is_last = node["op"] == "dense" and "relu" not in node["words"]
        make = {"pool2d": maker.pool, "softmax": maker.softmax}.get(node["op"],
                                                                    maker.sums if is_last else maker.requantised)
        make(node)
    first, logits, last = nodes[0]["name"], nodes[-1]["x"]["name"], nodes[-1]["name"]
    x = helper.make_tensor_value_info(first, TensorProto.UINT8 if unsigned else TensorProto.INT8, (1, *nodes[0]["shape"]))
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (last, logits)]
    graph = helper.make_graph(maker.made, "network", [x], outputs,
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in maker.constants.items()])
    opsets = [helper.make_opsetid("", 14), helper.make_opsetid(ORT, 1)]
    return (helper.make_model(graph, opset_imports=opsets, ir_version=8), maker.ours,
            quantised(weights[first], *of[first], np.uint8 if unsigned else np.int8))
