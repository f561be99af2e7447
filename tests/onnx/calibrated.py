# SPDX-License-Identifier: MIT
"""calibrated.py OUT MODEL.onnx N [P] - what `tune import --calibrate` is tried with: OUT/f32.onnx, the model with a batch of 1 (`cnn`: that of
quantised.py), OUT/inputs.npz, N seeded inputs, deflated, OUT/net with the last of them, x.bin, and what onnxruntime makes of it in f32, y.bin; and
spoilt inputs. Prints how far onnxruntime's own quantiser (quantize_static: QDQ, u8, weights i8 of each channel, from least to largest) is off over
the same inputs, by which it is calibrated as well: cosine, largest error relative to the largest output, how often the largest is in its place.
P: by that percentile, and one number of the first input is far from all others; the percentile's ends of all inputs, (largest - least) / 255, are
printed behind that, and how far off those of 2048 bins may be."""
import contextlib
import logging
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from quantised import cnn, fixed


class Given(CalibrationDataReader):
    def __init__(self, name, inputs):
        self.data = iter([{name: x} for x in inputs])

    def get_next(self):
        return next(self.data, None)


def outputs(path, name, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return np.stack([session.run(None, {name: x})[0] for x in inputs]).astype(np.float64)


def spoil(out, name, inputs):
    nan = inputs.copy()
    nan.reshape(-1)[7] = np.nan
    np.savez(out / "nan.npz", **{name: nan})
    np.savez(out / "shape.npz", **{name: inputs[:, :, :-1]})
    np.savez(out / "name.npz", other=inputs)
    np.savez(out / "more.npz", **{name: inputs, "other": inputs})
    np.savez(out / "none.npz")
    (out / "cut.npz").write_bytes((out / "inputs.npz").read_bytes()[:-9])


def main():
    out, n = Path(sys.argv[1]), int(sys.argv[3])
    logging.disable(logging.WARNING)
    (out / "net").mkdir(parents=True, exist_ok=True)
    onnx.save(cnn() if sys.argv[2] == "cnn" else fixed(onnx.load(sys.argv[2])), out / "f32.onnx")
    quant_pre_process(out / "f32.onnx", out / "ready.onnx", skip_symbolic_shape=True)
    given = onnx.load(out / "ready.onnx").graph.input[0]
    shape = [d.dim_value for d in given.type.tensor_type.shape.dim]
    inputs = np.random.default_rng(11).standard_normal((n, *shape), np.float32)
    percentile, more, told = float(sys.argv[4]) if len(sys.argv) > 4 else None, {}, ""
    if percentile:
        inputs.reshape(-1)[5] = 300
        more = {"calibrate_method": CalibrationMethod.Percentile, "extra_options": {"CalibPercentile": percentile}}
        ends = np.percentile(inputs, [(100 - percentile) / 2, (100 + percentile) / 2])
        told = f" {(ends[1] - ends[0]) / 255} {2 * np.ptp(inputs) / 2048 / 255}"
    np.savez_compressed(out / "inputs.npz", **{given.name: inputs.reshape(n * shape[0], *shape[1:])})
    spoil(out, given.name, inputs.reshape(n * shape[0], *shape[1:]))
    with contextlib.redirect_stdout(sys.stderr):
        quantize_static(out / "ready.onnx", out / "ort.onnx", Given(given.name, inputs), quant_format=QuantFormat.QDQ,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True, **more)
    y, z = outputs(out / "f32.onnx", given.name, inputs), outputs(out / "ort.onnx", given.name, inputs)
    inputs[n - 1].tofile(out / "net" / "x.bin")
    y[n - 1].astype(np.float32).tofile(out / "net" / "y.bin")
    cosine = np.sum(y * z) / np.sqrt(np.sum(y * y) * np.sum(z * z))
    same = np.sum(np.argmax(y, -1) == np.argmax(z, -1))
    print(f"{cosine:.6f} {100 * np.max(np.abs(y - z)) / np.max(np.abs(y)):.3f} {same} {np.argmax(y, -1).size}{told}")


if __name__ == "__main__":
    main()
