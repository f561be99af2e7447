# SPDX-License-Identifier: MIT
"""quantised.py OUT MODEL.onnx NAME FORMAT TYPE [per_channel] - a model quantised by onnxruntime's own quantiser, FORMAT QDQ or QOperator,
activations of TYPE QUInt8 or QInt8, calibrated with seeded inputs: OUT/NAME.onnx, and in OUT/NAME an input x.bin, what
onnxruntime makes of it, y.bin, and `limit`: STEPS steps of the output's scale (1), of the largest output. MODEL `cnn`: a small network of
one's own with each kind of layer that quantisers know."""
import logging
import os
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class Seeded(CalibrationDataReader):
    def __init__(self, name, shape, n):
        rng = np.random.default_rng(7)
        self.data = iter([{name: rng.standard_normal(shape, np.float32)} for _ in range(n)])

    def get_next(self):
        return next(self.data, None)


def cnn():
    """Convolutions with and without groups, ReLU and ReLU6, a shortcut, both pools, a dense layer."""
    rng = np.random.default_rng(3)
    constants, nodes = [], []

    def constant(*shape):
        name = f"c{len(constants)}"
        v = rng.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))
        constants.append(numpy_helper.from_array(v.astype(np.float32), name))
        return name

    def node(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, [f"t{len(nodes)}"], name=f"n{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    def number(v):
        constants.append(numpy_helper.from_array(np.float32(v), f"c{len(constants)}"))
        return constants[-1].name

    a = node("Relu", node("Conv", "x", constant(16, 3, 3, 3), constant(16), pads=[1] * 4, strides=[2, 2]))
    b = node("Clip", node("Conv", a, constant(16, 1, 3, 3), constant(16), pads=[1] * 4, group=16), number(0), number(6))
    c = node("Conv", b, constant(16, 16, 1, 1), constant(16))
    d = node("Relu", node("Add", a, c))
    e = node("MaxPool", d, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    f = node("Relu", node("Conv", e, constant(32, 8, 3, 3), constant(32), group=2, pads=[1] * 4))
    g = node("Flatten", node("GlobalAveragePool", f))
    y = node("Gemm", g, constant(10, 32), constant(10), transB=1)
    nodes[-1].output[0] = y = "y"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "cnn", [info("x", TensorProto.FLOAT, [1, 3, 32, 32])], [info("y", TensorProto.FLOAT, [1, 10])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def fixed(model):
    """With a batch of 1."""
    for value in [*model.graph.input, *model.graph.output]:
        for d in value.type.tensor_type.shape.dim:
            if d.dim_param:
                d.dim_value = 1
    return model


def main():
    out, source, name, form, kind = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5]
    logging.disable(logging.WARNING)
    (out / name).mkdir(parents=True, exist_ok=True)
    plain, ready, made = out / f"{name}.f32.onnx", out / f"{name}.ready.onnx", out / f"{name}.onnx"
    onnx.save(cnn() if source == "cnn" else fixed(onnx.load(source)), plain)
    quant_pre_process(plain, ready, skip_symbolic_shape=True)
    given = onnx.load(ready).graph.input[0]
    shape = [d.dim_value for d in given.type.tensor_type.shape.dim]
    quantize_static(ready, made, Seeded(given.name, shape, 8), quant_format=QuantFormat[form], activation_type=QuantType[kind],
                    weight_type=QuantType.QInt8, per_channel="per_channel" in sys.argv)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    x = np.random.default_rng(11).standard_normal(shape, np.float32)
    y = onnxruntime.InferenceSession(made, options, providers=["CPUExecutionProvider"]).run(None, {given.name: x})[0]
    x.tofile(out / name / "x.bin")
    y.astype(np.float32).tofile(out / name / "y.bin")
    steps = np.unique(np.abs(y))
    step = np.min(np.diff(steps)) if steps.size > 1 else 1
    (out / name / "limit").write_text(f"{float(os.environ.get('STEPS', '1')) * 1.01 * step / np.max(np.abs(y)):.6f}\n", encoding="ascii")


if __name__ == "__main__":
    main()
