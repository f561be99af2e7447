# SPDX-License-Identifier: MIT
"""model_ort.py MODEL.onnx OUT - a model in onnxruntime: what our bundle's one call is held against. Writes into OUT model.onnx (dimensions
that it leaves open are 1), seeded inputs, x.bin (x0.bin, x1.bin, ... of several; whole numbers are 0, and floats there as for the bundle) and
what comes of them, y.bin (y0.bin, y1.bin, ...)."""
import sys
from pathlib import Path

import numpy as np
import onnx

from network_ort import session


def main():
    model, out = onnx.load(sys.argv[1]), Path(sys.argv[2])
    constants = {i.name for i in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in constants]
    generator, given = np.random.default_rng(1), {}
    for x in inputs:
        for d in x.type.tensor_type.shape.dim:
            d.dim_value = d.dim_value or 1
        shape = [d.dim_value for d in x.type.tensor_type.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(x.type.tensor_type.elem_type)
        given[x.name] = generator.standard_normal(shape, np.float32).astype(kind) if kind.kind == "f" else np.zeros(shape, kind)
    out.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out / "model.onnx")
    for kind, values in (("x", given.values()), ("y", session(model, 1).run(None, given))):
        for i, v in enumerate(values):
            v = v if v.dtype.kind == "f" else v.astype(np.float32)
            v.tofile(out / (f"{kind}{i}.bin" if len(values) > 1 else f"{kind}.bin"))


if __name__ == "__main__":
    main()
