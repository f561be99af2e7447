# SPDX-License-Identifier: MIT
"""floats.py - a network as an ONNX model in f32 or f16."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


def conv(node, name, inputs):
    x = node["x"]["shape"][0]
    pad, stride = node.get("pad", 0), node.get("stride", 1)
    return helper.make_node("Conv", inputs, [name], kernel_shape=[node["r"], node["s"]], pads=[pad] * 4,
                            strides=[stride] * 2, group=x if node["op"] == "depthwise_conv2d" else 1)


def pool(node, name, x):
    pad, stride = node.get("pad", 0), node.get("stride", 1)
    kind = "AveragePool" if "avg" in node["words"] else "MaxPool"
    more = {"count_include_pad": 0} if kind == "AveragePool" else {}
    return helper.make_node(kind, [x], [name], kernel_shape=[node["r"], node["s"]], pads=[pad] * 4,
                            strides=[stride] * 2, **more)


def layer(node, weights, dtype, out, constants):
    """The nodes of one layer with weights; its result is node["name"]."""
    name, x = node["name"], node["x"]["name"]
    w, bias = weights[name]
    constants[name + ".w"] = w.astype(dtype)
    constants[name + ".bias"] = bias.astype(dtype)
    relu = "relu" in node["words"]
    sums = name + ".sums" if relu or node["residual"] else name
    if node["op"] == "dense":
        flat = x
        if len(node["x"]["shape"]) > 1 and node["x"]["op"] != "dense":
            flat = name + ".flat"
            out.append(helper.make_node("Flatten", [x], [flat]))
        out.append(helper.make_node("Gemm", [flat, name + ".w", name + ".bias"], [sums], transB=1))
    else:
        out.append(conv(node, sums, [x, name + ".w", name + ".bias"]))
    if node["residual"]:
        added = name + ".added" if relu else name
        out.append(helper.make_node("Add", [sums, node["residual"]["name"]], [added]))
        sums = added
    if relu:
        out.append(helper.make_node("Relu", [sums], [name]))


def model(nodes, weights, dtype, outputs):
    """`outputs`: names of the tensors that a run gives."""
    kind = TensorProto.FLOAT if dtype == np.float32 else TensorProto.FLOAT16
    made, constants = [], {}
    for node in nodes[1:]:
        if node["op"] == "pool2d":
            made.append(pool(node, node["name"], node["x"]["name"]))
        elif node["op"] == "softmax":
            made.append(helper.make_node("Softmax", [node["x"]["name"]], [node["name"]], axis=1))
        else:
            layer(node, weights, dtype, made, constants)
    x = helper.make_tensor_value_info(nodes[0]["name"], kind, (1, *nodes[0]["shape"]))
    graph = helper.make_graph(made, "network", [x], [helper.make_tensor_value_info(n, kind, None) for n in outputs],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
