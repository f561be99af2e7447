# SPDX-License-Identifier: MIT
"""A kernel, its arguments and parameters as a job file (docs/kernel-spec.md) in a folder of its own."""
from __future__ import annotations

import json
import os
import re
from typing import Any, Mapping, Optional, Sequence, Union

from . import _restrict

DEFAULT_BLOCK_X = 256  # Kernel Tuner's, where block_size_x is no parameter
LARGEST = 1 << 53  # whole numbers of JSON

_TYPES = {
    "float16": "half",
    "float32": "float",
    "float64": "double",
    "bool": "bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def language_of(source: str) -> str:
    if re.search(r"\b__kernel\b|\bkernel\s+void\b", source):
        return "OpenCL"
    if "__global__" in source:
        return "CUDA"
    raise ValueError("neither __kernel nor __global__ in the kernel's text: say lang='OpenCL' or lang='CUDA'")


def text_of(source: Union[str, "os.PathLike[str]"]) -> "tuple[str, Optional[str]]":
    """The kernel's text, and the path of the file that it is in."""
    if callable(source) or isinstance(source, (list, tuple)):
        raise TypeError("kernel_source is one text or one file; what it includes lies beside the file")
    path = os.fspath(source)
    if "\n" not in path and os.path.isfile(path):
        with open(path, encoding="utf-8") as f:
            return f.read(), os.path.abspath(path)
    if "\n" not in path and "(" not in path:
        raise FileNotFoundError(f"kernel_source: no file {path}")
    return path, None


def _type_of(dtype: Any, where: str) -> str:
    name = getattr(dtype, "name", str(dtype))
    if name not in _TYPES:
        raise TypeError(f"{where}: type {name} is not taken: expected one of {', '.join(_TYPES)}")
    if not getattr(dtype, "isnative", True):
        raise TypeError(f"{where}: bytes of another order than this machine's")
    return _TYPES[name]


def _scalar(value: Any, where: str) -> Any:
    number = value.item()
    if isinstance(number, int) and abs(number) > LARGEST:
        raise ValueError(f"{where}: {number} is beyond 2^53")
    return int(number) if isinstance(number, bool) else number


class Writer:
    """Collects the members; `folder` gets the files."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.n_files = 0

    def file(self, data: bytes, suffix: str) -> str:
        name = f"{self.n_files}{suffix}"
        self.n_files += 1
        with open(os.path.join(self.folder, name), "wb") as f:
            f.write(data)
        return name

    def raw(self, array: Any) -> "dict[str, Any]":
        return {"FillType": "BinaryRaw", "DataSource": self.file(array.tobytes(), ".raw")}

    def argument(self, name: str, value: Any) -> "dict[str, Any]":
        if not hasattr(value, "dtype") or not hasattr(value, "tobytes"):
            raise TypeError(f"argument {name}: expected a numpy array or scalar (numpy.int32(n), say), not {value!r}")
        out: "dict[str, Any]" = {"Name": name, "Type": _type_of(value.dtype, f"argument {name}")}
        if not getattr(value, "shape", ()):
            return {**out, "MemoryType": "Scalar", "FillValue": _scalar(value, f"argument {name}")}
        writeable = getattr(getattr(value, "flags", None), "writeable", True)
        return {
            **out,
            "MemoryType": "Vector",
            "Size": int(value.size),
            "AccessType": "ReadWrite" if writeable else "ReadOnly",
            **self.raw(value),
        }

    def expected(self, name: str, array: Any, argument: "Mapping[str, Any]") -> "dict[str, Any]":
        if array.size != argument.get("Size") or _type_of(array.dtype, "answer") != argument["Type"]:
            raise ValueError(
                f"answer of {name}: {array.size} x {array.dtype}, where the argument has "
                f"{argument.get('Size', 1)} x {argument['Type']}"
            )
        return {"Name": f"{name}_expected", "TargetName": name, **self.raw(array)}


def _product(divisors: Any, axis: int, blocks: Sequence[str], params: Mapping[str, Any]) -> str:
    if divisors is None:
        return blocks[axis] if blocks[axis] in params else "1"
    if callable(divisors):
        raise TypeError("grid_div: a function cannot be handed on: give a list of numbers and expressions")
    each = [divisors] if isinstance(divisors, (str, int)) else list(divisors)
    return " * ".join(f"({d})" for d in each) or "1"


def _sizes(problem_size: Any) -> "list[Any]":
    if callable(problem_size):
        raise TypeError("problem_size: a function cannot be handed on: give numbers, or expressions as text")
    scalar = isinstance(problem_size, str) or not hasattr(problem_size, "__iter__")
    each = [problem_size] if scalar else list(problem_size)
    return [s if isinstance(s, str) else int(s) for s in each]


def _parameters(tune_params: "Mapping[str, Sequence[Any]]") -> "list[dict[str, Any]]":
    out = []
    for name, values in tune_params.items():
        plain = [v.item() if hasattr(v, "item") else v for v in values]
        plain = [int(v) if isinstance(v, bool) else v for v in plain]
        if not plain or not all(isinstance(v, (int, float, str)) for v in plain):
            raise ValueError(f"tune_params['{name}']: expected a list of numbers or words, not {list(values)!r}")
        out.append({"Name": name, "Values": plain})
    if not out:
        raise ValueError("tune_params: no parameter")
    return out


def _options(compiler_options: Any, defines: "Optional[Mapping[str, Any]]", fixed: "Mapping[str, int]") -> "list[str]":
    out = [compiler_options] if isinstance(compiler_options, str) else list(compiler_options or [])
    for name, value in {**fixed, **(defines or {})}.items():
        if callable(value):
            raise TypeError(f"defines['{name}']: a function cannot be handed on: give a number or a word")
        out.append(f"-D{name}={value}")
    return out


def write_spec(
    folder: str,
    kernel_name: str,
    kernel_source: Any,
    problem_size: Any,
    arguments: "Sequence[Any]",
    tune_params: "Mapping[str, Sequence[Any]]",
    *,
    grid_div: "Sequence[Any]" = (None, None, None),
    restrictions: Any = None,
    answer: Optional[Sequence[Any]] = None,
    atol: Optional[float] = None,
    reference: Any = None,
    lang: Optional[str] = None,
    smem_args: Optional[Mapping[str, Any]] = None,
    cmem_args: Optional[Mapping[str, Any]] = None,
    compiler_options: Any = None,
    defines: Optional[Mapping[str, Any]] = None,
    block_size_names: Optional[Sequence[str]] = None,
    operations: Union[None, str, float] = None,
) -> str:
    """Writes job.json and its files into `folder`; returns the job's path."""
    w = Writer(folder)
    text, path = text_of(kernel_source)
    params = _parameters(tune_params)
    values = {p["Name"]: p["Values"] for p in params}
    blocks = list(block_size_names or []) + ["block_size_x", "block_size_y", "block_size_z"][len(block_size_names or []) :]
    sizes = _sizes(problem_size)
    fixed = {b: n for b, n in zip(blocks, (DEFAULT_BLOCK_X, 1, 1)) if b not in values}
    language = {"opencl": "OpenCL", "cuda": "CUDA"}.get((lang or language_of(text)).lower())
    if not language:
        raise ValueError(f"lang={lang!r}: expected 'OpenCL' or 'CUDA'")
    groups, local = {}, {}
    for i, axis in enumerate("XYZ"):
        local[axis] = blocks[i] if blocks[i] in values else fixed[blocks[i]]
        size = f"({sizes[i]})" if i < len(sizes) else "1"
        divisor = _product(grid_div[i], i, blocks, values) if i < len(sizes) else "1"
        groups[axis] = f"ceil_div({size}, {divisor})"
    kernel: "dict[str, Any]" = {
        "Language": language,
        "KernelName": kernel_name,
        "KernelFile": path or w.file(text.encode(), ".cl" if language == "OpenCL" else ".cu"),
        "CompilerOptions": _options(compiler_options, defines, {"kernel_tuner": 1, **fixed}),
        "GlobalSizeType": "CUDA",
        "GlobalSize": groups,
        "LocalSize": local,
    }
    if all(isinstance(s, int) for s in sizes):
        kernel["ProblemSize"] = sizes
    names = [f"arg{i}" for i in range(len(arguments))]
    args = [w.argument(name, value) for name, value in zip(names, arguments)]
    for name, value in (cmem_args or {}).items():
        args.append({**w.argument(name, value), "MemoryType": "Symbol", "AccessType": "ReadOnly"})
    if answer is not None:
        if len(answer) != len(arguments):
            raise ValueError(f"answer: {len(answer)} entries for {len(arguments)} arguments: None where nothing is compared")
        expected = [w.expected(n, a, g) for n, a, g in zip(names, answer, args) if a is not None]
        if atol is not None:
            for e in expected:
                e.update(ValidationMethod="SideBySideComparison", ValidationThreshold=float(atol))
        kernel["ReferenceArguments"] = expected
    kernel["Arguments"] = args
    if smem_args:
        if set(smem_args) != {"size"} or callable(smem_args["size"]):
            raise ValueError("smem_args: expected {'size': bytes}, a number or an expression")
        kernel["SharedMemory"] = smem_args["size"]
    if reference is not None:
        kernel["ReferenceKernel"] = dict(reference)
        if "Configuration" in reference:  # what it does not name has its first value
            first = {name: each[0] for name, each in values.items()}
            kernel["ReferenceKernel"]["Configuration"] = {**first, **reference["Configuration"]}
        if atol is not None:
            kernel["ReferenceKernel"].update(ValidationMethod="SideBySideComparison", ValidationThreshold=float(atol))
    if operations is not None:
        kernel["Operations"] = operations
    job = {
        "ConfigurationSpace": {
            "TuningParameters": params,
            "Conditions": [{"Expression": e} for e in _restrict.conditions(restrictions, values)],
        },
        "KernelSpecification": kernel,
    }
    out = os.path.join(folder, "job.json")
    with open(out, "w", encoding="utf-8") as f:
        json.dump(job, f, indent=1)
    return out
