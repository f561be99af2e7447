# SPDX-License-Identifier: MIT
"""model_ort.py MODEL.onnx OUT - a model in onnxruntime: what our bundle's one call is held against. Writes into OUT model.onnx (dimensions
that it leaves open are 1), a seeded input x.bin and what comes of it, y.bin (y0.bin, y1.bin, ... of several outputs)."""
import sys
from pathlib import Path

import numpy as np
import onnx

from network_ort import session


def main():
    model, out = onnx.load(sys.argv[1]), Path(sys.argv[2])
    constants = {i.name for i in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in constants]
    if len(inputs) != 1:
        raise SystemExit("model_ort.py: expected a model of one input")
    for d in inputs[0].type.tensor_type.shape.dim:
        d.dim_value = d.dim_value or 1
    shape = [d.dim_value for d in inputs[0].type.tensor_type.shape.dim]
    kind = onnx.helper.tensor_dtype_to_np_dtype(inputs[0].type.tensor_type.elem_type)
    x = np.random.default_rng(1).standard_normal(shape, np.float32).astype(kind)
    out.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out / "model.onnx")
    x.tofile(out / "x.bin")
    ys = session(model, 1).run(None, {inputs[0].name: x})
    for i, y in enumerate(ys):
        y.tofile(out / (f"y{i}.bin" if len(ys) > 1 else "y.bin"))


if __name__ == "__main__":
    main()
