# SPDX-License-Identifier: MIT
"""tagger.py OUT - a tagger: an embedding, 24 words a sentence, two bidirectional LSTMs of 20 units, a dense layer and softmax over 9 tags, with
seeded weights: OUT/tagger.onnx, and in OUT/tagger an input x.bin and what onnxruntime makes of it, y.bin; a batch
of 2."""
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

T, B, H, WORDS, TAGS = 24, 2, 20, 50, 9


def main():
    out = Path(sys.argv[1])
    rng = np.random.default_rng(5)
    (out / "tagger").mkdir(parents=True, exist_ok=True)
    constants, nodes = [], []

    def constant(value):
        constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(constants)}"))
        return constants[-1].name

    def floats(*shape):
        return constant((rng.standard_normal(shape) * .3).astype(np.float32))

    def node(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, [f"t{len(nodes)}"], name=f"n{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    x, width = node("Gather", floats(WORDS, 16), "x"), 16  # [T][B][16]
    for _ in range(2):
        x = node("LSTM", x, floats(2, 4 * H, width), floats(2, 4 * H, H), floats(2, 8 * H), hidden_size=H, direction="bidirectional")
        x = node("Reshape", node("Transpose", x, perm=[0, 2, 1, 3]), constant(np.array([T, B, 2 * H])))
        width = 2 * H
    x = node("Softmax", node("Add", node("MatMul", x, floats(width, TAGS)), floats(TAGS)), axis=-1)
    nodes[-1].output[0] = "y"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "tagger", [info("x", TensorProto.INT64, [T, B])], [info("y", TensorProto.FLOAT, [T, B, TAGS])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, out / "tagger.onnx")
    ids = rng.integers(0, WORDS, (T, B))
    y = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": ids})[0]
    ids.astype(np.float32).tofile(out / "tagger" / "x.bin")
    y.tofile(out / "tagger" / "y.bin")


if __name__ == "__main__":
    main()
