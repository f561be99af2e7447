# SPDX-License-Identifier: MIT
"""backend_tests.py BIN ROOT DIR [REGEX] - ONNX's own backend tests (node tests, those of PyTorch's operators and converted models, and
the light models) through `tune import`, `tune deploy` and the bundle on an OpenCL device; DIR/log.best.jsonl is a log of that device.
Where a model is not supported, inputs that are no floats are bound as constants from the test's data, and where it is not then, all but
the first. Whole numbers and truth values are given and compared as floats. As many run side by side as there are processors. Prints
what is skipped, by reason, what passed, by kind, and `N passed, N failed, N skipped`."""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

# Of the largest output, by the coarsest type among a test's tensors.
LIMITS = {"float16": "2e-3", "bfloat16": "1e-2"}
LIMIT = "1e-5"
LONGEST_S = 1800  # of one program, on a machine that others use


def stored(folder):
    """The tests that are files: model.onnx, test_data_set_0/input_N.pb, output_N.pb."""
    for model in sorted(folder.glob("*/model.onnx")):
        data = model.parent / "test_data_set_0"
        read = lambda kind: [numpy_helper.to_array(onnx.load_tensor(p)) for p in
                             sorted(data.glob(f"{kind}_*.pb"), key=lambda p: int(re.sub(r"\D", "", p.stem)))]
        yield model.parent.name, onnx.load(model), read("input"), read("output")


def ramp(value_info):
    """The input that ONNX's own runner gives the light models: 0 to 1, row-major."""
    shape = [d.dim_value or 1 for d in value_info.type.tensor_type.shape.dim]
    return np.linspace(0, 1, int(np.prod(shape)), endpoint=False).reshape(shape).astype(np.float32)


def light(folder):
    """Models of whole networks whose weights are constants: light_NAME.onnx, light_NAME_output_0.pb."""
    for path in sorted(folder.glob("*.onnx")):
        model = onnx.load(path)
        constants = {i.name for i in model.graph.initializer}
        inputs = [ramp(i) for i in model.graph.input if i.name not in constants]
        yield path.stem, model, inputs, [numpy_helper.to_array(onnx.load_tensor(f"{path.with_suffix('')}_output_0.pb"))]


def tests():
    """Each test: kind, name, model, inputs, outputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t in collect_testcases(None):
            if t.model is not None and t.data_sets:
                yield "node", t.name, t.model, t.data_sets[0][0], t.data_sets[0][1]
    data = Path(onnx.__file__).parent / "backend/test/data"
    for kind in ("pytorch-operator", "pytorch-converted", "simple"):
        yield from ((kind, *test) for test in stored(data / kind))
    yield from (("light", *test) for test in light(data / "light"))


def reason(words):
    """Skipped ones are counted by what is missing, not by name."""
    words = words.strip().splitlines()[-1].removeprefix("tune: ")
    words = re.sub(r"^(\S*\.(onnx|pb): )+", "", words)
    return re.sub(r"(input|value|tensor) \S+?:", r"\1:", re.sub(r"a second input, \S+:", "a second input:", words))[:90]


def array(value):
    """Data of a test, which may be a TensorProto or a number; None of sequences and the like."""
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else None


def is_float(value):
    return value is not None and (value.dtype.kind == "f" or value.dtype.name == "bfloat16")


def is_number(value):
    return is_float(value) or (value is not None and value.dtype.kind in "iub")


def limit_of(values):
    names = [v.dtype.name for v in values if v is not None]
    return next((LIMITS[n] for n in ("bfloat16", "float16") if n in names), LIMIT)


def store(path, value):
    np.ascontiguousarray(value, np.float32).tofile(path)


def stays_free(value, i, binds):
    """Is input i no constant? With `binds` of 1 what is no float is one, with 2 all but the first."""
    return is_number(value) and value.size and (is_float(value) or binds != 1) and (i == 0 or binds < 2)


def prepare(out, model, inputs, outputs, binds):
    """Files of a test; the --const options."""
    options, given, constants = [], [], {i.name for i in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in constants]
    (out / "model.onnx").write_bytes(model.SerializeToString())
    for i, (name, value) in enumerate(zip(names, inputs)):
        if value is None:
            continue
        if stays_free(value, i, binds):
            given.append(value)
            continue
        (out / f"const{i}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())
        options += ["--const", f"{name}={out}/const{i}.pb"]
    for kind, arrays in (("x", given), ("y", outputs)):
        for i, value in enumerate(arrays):
            if is_number(value):
                store(out / (f"{kind}{i}.bin" if len(arrays) > 1 else f"{kind}.bin"), value)
    return options


def run(binary, root, out, options, limit):
    """None where the test passes, else words; a tuple of them where it is skipped."""
    def call(*words):
        words = [str(w) for w in words]
        try:
            return subprocess.run(words, capture_output=True, text=True, timeout=LONGEST_S, check=False)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, -1, "", f"{words[0]} took over {LONGEST_S} s")

    imported = call(f"{binary}/tune", "import", out / "model.onnx", "-o", out, "-q", *options)
    if imported.returncode == 1 and imported.stderr.count("\n") == 1:
        return (reason(imported.stderr),)
    if imported.returncode:
        return imported.stderr
    for step in (
            (f"{binary}/tune", "deploy", out.parent / "log.best.jsonl", "--network", out / "model.graph", "--whole", "--allow-nearest",
             "--layout", "nchw", "--name", "net", "-o", out / "bundle", "-q"),
            ("cc", "-O0", f"-I{out.parent}", f"-I{out}/bundle", "-o", out / "app", f"{root}/examples/deploy_network/main.c",
             out / "bundle/net.c", "-lOpenCL", "-lm", "-lpthread"),
            (out / "app", "--runs", "0", "--limit", limit, out)):
        done = call(*step)
        if done.returncode:
            return done.stdout + done.stderr
    return None


def outcome(binary, root, base, test):
    """Of one test what run() says; inputs are bound as constants where the model is not supported otherwise."""
    _, _, model, inputs, outputs = test
    inputs, outputs = [array(v) for v in inputs], [array(v) for v in outputs]
    limit, tried, said = limit_of([*inputs, *outputs]), [], ("no input",)
    out = Path(tempfile.mkdtemp(dir=base))
    for binds in range(3):
        free = [stays_free(v, i, binds) for i, v in enumerate(inputs)]
        if isinstance(said, tuple) and free not in tried and (any(free) or not tried):
            bound = run(binary, root, out, prepare(out, model, inputs, outputs, binds), limit)
            said = said if tried and isinstance(bound, tuple) else bound
        tried.append(free)
    shutil.rmtree(out)
    return said


def main():
    binary, root, base = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    header = Path(root, "examples/deploy_network/bundle.h.in").read_text(encoding="ascii")
    (base / "bundle.h").write_text(header.replace("@BUNDLE@", "net").replace("@CAPS@", "NET"), encoding="ascii")
    passed, failed, skipped = collections.Counter(), 0, collections.Counter()
    chosen = [t for t in tests() if len(sys.argv) < 5 or re.search(sys.argv[4], t[1])]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for test, said in zip(chosen, pool.map(lambda test: outcome(binary, root, base, test), chosen)):
            if isinstance(said, tuple):
                skipped[said[0]] += 1
            elif said is None:
                passed[test[0]] += 1
            else:
                failed += 1
                print(f"FAILED {test[1]}: {said.strip()[-300:]}", flush=True)
            done = sum(passed.values()) + failed + sum(skipped.values())
            if done % 100 == 0:
                print(f"{done} of {len(chosen)}: {sum(passed.values())} passed, {failed} failed", file=sys.stderr, flush=True)
    for words, n in skipped.most_common():
        print(f"{n:5} skipped: {words}")
    print("passed:", ", ".join(f"{n} {kind}" for kind, n in passed.items()))
    print(f"{sum(passed.values())} passed, {failed} failed, {sum(skipped.values())} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
