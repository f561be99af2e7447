# SPDX-License-Identifier: MIT
"""A kernel, its arguments and parameters as a job file (docs/kernel-spec.md) in a folder of its own."""
from __future__ import annotations

import json
import math
import os
import re
import reprlib
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

from . import _express, _metrics, _restrict

_GRID = ("grid_size_x", "grid_size_y", "grid_size_z")
DEFAULT_BLOCK_X = 256  # Kernel Tuner's, where block_size_x is no parameter
_GUARD = r'(?:\s|//[^\n]*|/\*(?s:.*?)\*/)*#[ \t]*ifndef[ \t]+(\w+)\s*#[ \t]*define[ \t]+\1\b'  # behind it a file is empty to itself
_ONCE = r"^[ \t]*#[ \t]*pragma[ \t]+once\b.*$"
_OPTION = r"[A-Za-z_]\w*=[A-Za-z0-9_.+\-=,:/]*"  # of a macro, as CompilerOptions take it
MAX_INCLUDES = 16  # of files within files
LARGEST = 1 << 53  # whole numbers of JSON
RTOL = 1e-5  # numpy.allclose's, here of the largest

_TYPES = {
    "float16": "half",
    "float32": "float",
    "float64": "double",
    "complex64": "float2",
    "complex128": "double2",
    "bool": "bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


_LANGUAGES = {"opencl": "OpenCL", "cuda": "CUDA", "cupy": "CUDA", "nvcuda": "CUDA", "c": "C", "c++": "C++"}
FUNCTIONS = ("C", "C++")  # of a CPU, which is called once
_SUFFIXES = {"OpenCL": ".cl", "CUDA": ".cu", "C": ".c", "C++": ".cc"}


def _is_cxx(source: str, path: Optional[str]) -> bool:
    """Kernel Tuner compiles all of C by g++; what is C++ is here told by its file's ending or its text."""
    ending = os.path.splitext(path)[1] if path else ""
    words = r'extern\s+"C"|\bstd::|\btemplate\s*<|#\s*include\s*<\w+>|\busing\s+namespace\b'
    return ending in (".cc", ".cpp", ".cxx", ".C", ".hpp") or re.search(words, source) is not None


def language_of(source: str, name: str) -> str:
    if re.search(r"\b__kernel\b|\bkernel\s+void\b", source):
        return "OpenCL"
    if "__global__" in source:
        return "CUDA"
    if re.search(rf"\b(void|float|double)\s+{re.escape(name)}\s*\(", source):
        return "C"
    raise ValueError("neither __kernel nor __global__ nor a function of C in the kernel's text: say lang='OpenCL', 'CUDA' or 'C'")


def text_of(source: Union[str, "os.PathLike[str]"]) -> "tuple[str, Optional[str]]":
    """The kernel's text, and the path of the file that it is in."""
    if callable(source):
        raise TypeError("kernel_source: a function cannot be handed on: choose among texts with #if and parameters")
    path = os.fspath(source)
    if "\n" not in path and os.path.isfile(path):
        with open(path, encoding="utf-8") as f:
            return f.read(), os.path.abspath(path)
    if "\n" not in path and "(" not in path:
        raise FileNotFoundError(f"kernel_source: no file {path}")
    return path, None


_COMMENT = r"//[^\n]*|/\*(?s:.*?)\*/"
_INPUT = r"[^*\[]*\b(?:const|__constant|constant)\b[^*\[]*[*\[][^*\[]*(?:\[[^*]*)?"  # const before its only star or first bracket


def inputs_of(text: str, name: str, n: int) -> "set[int]":
    """Which of a kernel's `n` arguments its own text says it only reads: pointers to const, of every definition there is. None
    where the text is beyond this look."""
    out = set(range(n))
    heads = re.findall(rf"\b{re.escape(name)}\s*\(([^(){{}};]*)\)\s*\{{", re.sub(_COMMENT, " ", text))
    for head in heads:
        each = head.split(",")
        out &= {i for i, one in enumerate(each) if re.fullmatch(_INPUT, one)} if len(each) == n and "#" not in head else set()
    return out if heads else set()


def _type_of(dtype: Any, where: str) -> "dict[str, Any]":
    """The members that tell an element's type; structs are bytes."""
    name = getattr(dtype, "name", str(dtype))
    is_struct = getattr(dtype, "fields", None) is not None
    if name not in _TYPES and not is_struct:
        raise TypeError(f"{where}: type {name} is not taken: expected one of {', '.join(_TYPES)}, or a struct of such")
    if not getattr(dtype, "isnative", True):
        raise TypeError(f"{where}: bytes of another order than this machine's")
    if getattr(dtype, "hasobject", False):
        raise TypeError(f"{where}: a struct with objects of Python in it")
    return {"Type": "custom", "TypeSize": dtype.itemsize} if is_struct else {"Type": _TYPES[name]}


def _scalar(value: Any, where: str) -> Any:
    number = value.item()
    if isinstance(number, complex):
        raise TypeError(f"{where}: a complex scalar is not taken: expected an array of one, or its two parts")
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

    def argument(self, name: str, value: Any, is_input: bool = False) -> "dict[str, Any]":
        if not hasattr(value, "dtype") or not hasattr(value, "tobytes"):
            raise TypeError(f"argument {name}: expected a numpy array or scalar (numpy.int32(n), say), not {reprlib.repr(value)}")
        out: "dict[str, Any]" = {"Name": name, **_type_of(value.dtype, f"argument {name}")}
        if not getattr(value, "shape", ()):
            if out["Type"] == "custom":
                raise TypeError(f"argument {name}: a struct by value is not taken: expected an array of it, a pointer in the kernel")
            return {**out, "MemoryType": "Scalar", "FillValue": _scalar(value, f"argument {name}")}
        writeable = getattr(getattr(value, "flags", None), "writeable", True)
        return {
            **out,
            "MemoryType": "Vector",
            "Size": int(value.size),
            "AccessType": "ReadOnly" if is_input or not writeable else "ReadWrite",
            **self.raw(value),
        }

    def expected(self, name: str, array: Any, argument: "Mapping[str, Any]", atol: Optional[float]) -> "dict[str, Any]":
        if not hasattr(array, "dtype") or not hasattr(array, "size"):
            raise TypeError(f"answer of {name}: expected a numpy array or None, not {reprlib.repr(array)}")
        kind = _type_of(array.dtype, f"answer of {name}")
        if array.size != argument.get("Size") or kind != {k: argument.get(k) for k in kind}:
            raise ValueError(
                f"answer of {name}: {array.size} x {array.dtype}, where the argument has "
                f"{argument.get('Size', 1)} x {argument['Type']}"
            )
        out = {"Name": f"{name}_expected", "TargetName": name, **self.raw(array)}
        if kind["Type"] == "custom":  # compared byte by byte
            if atol is not None:
                raise ValueError(f"answer of {name}: a struct has no atol: give verify, or reference")
            return out
        if (array != array).any():
            raise ValueError(f"answer of {name}: has NaN, which no result equals")
        if atol is None:
            return out
        sizes = abs(array + 0.0)  # not of bytes, where -128 has no other sign
        return {**out, **_tolerance(atol + RTOL * float(sizes[sizes < math.inf].max(initial=0)))}


def _tolerance(threshold: float) -> "dict[str, Any]":
    return {"ValidationMethod": "SideBySideComparison", "ValidationThreshold": float(threshold)}


def _parameters(tune_params: "Mapping[str, Sequence[Any]]") -> "list[dict[str, Any]]":
    out = []
    for name, values in tune_params.items():
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise TypeError(f"tune_params['{name}']: expected a list of numbers or words, not {values!r}")
        plain = [v.item() if hasattr(v, "item") else v for v in values]
        plain = [int(v) if isinstance(v, bool) else v for v in plain]
        if not plain or not all(isinstance(v, (int, float, str)) for v in plain):
            raise ValueError(f"tune_params['{name}']: expected a list of numbers or words, not {list(values)!r}")
        out.append({"Name": name, "Values": plain})
    if not out:
        raise ValueError("tune_params: no parameter")
    return out


@dataclass
class Kernel:
    """A kernel with its parameters, sizes and data: tune_kernel's arguments that tell what it is."""

    kernel_name: str
    kernel_source: Any
    problem_size: Any
    arguments: "Sequence[Any]"
    tune_params: "Mapping[str, Sequence[Any]]"
    grid_div_x: Any = None
    grid_div_y: Any = None
    grid_div_z: Any = None
    restrictions: Any = None
    answer: "Optional[Sequence[Any]]" = None
    atol: Optional[float] = None
    lang: Optional[str] = None
    smem_args: "Optional[Mapping[str, Any]]" = None
    cmem_args: "Optional[Mapping[str, Any]]" = None
    compiler_options: "Union[None, str, Sequence[str]]" = None
    defines: "Optional[Mapping[str, Any]]" = None
    block_size_names: "Optional[Sequence[str]]" = None
    reference: "Optional[Mapping[str, Any]]" = None
    operations: "Union[None, str, float]" = None

    def __post_init__(self) -> None:
        sources = self.kernel_source if isinstance(self.kernel_source, (list, tuple)) else [self.kernel_source]
        if not sources:
            raise ValueError("kernel_source: no text and no file")
        self._text, self._path = text_of(sources[0])
        self._others = list(sources[1:])
        for other in self._others:
            if not text_of(other)[1]:
                raise ValueError("kernel_source: of several the second and later ones are files")
        words = str(self.lang or language_of(self._text, self.kernel_name)).lower()
        if words not in _LANGUAGES:
            raise ValueError(f"lang={self.lang!r}: expected 'OpenCL', 'CUDA', 'C' or 'C++'")
        self.language = _LANGUAGES[words]
        if self.language == "C" and _is_cxx(self._text, self._path):
            self.language = "C++"
        self._params = _parameters(self.tune_params)
        self._values = {p["Name"]: p["Values"] for p in self._params}
        names = list(self.block_size_names or [])
        self._blocks = [*names, *["block_size_x", "block_size_y", "block_size_z"][len(names) :]]
        self._fixed = {b: n for b, n in zip(self._blocks, (DEFAULT_BLOCK_X, 1, 1)) if b not in self._values}
        if self.smem_args and set(self.smem_args) != {"size"}:
            raise ValueError("smem_args: expected {'size': bytes}: a number, an expression or a function of a config")

    # Sizes: each is a number, text or a function of a config; `of` makes of it what is wanted.

    def _sizes(self) -> "list[Any]":
        whole = self.problem_size
        if callable(whole):
            first = {name: values[0] for name, values in self._values.items()}
            n = len(_listed(whole(first)))
            return [lambda p, i=i: _listed(whole(p))[i] for i in range(n)]
        return _listed(whole)

    def _divisors(self, axis: int) -> "list[Any]":
        given = (self.grid_div_x, self.grid_div_y, self.grid_div_z)[axis]
        if given is None:
            return [self._blocks[axis]] if self._blocks[axis] in self._values else []
        return _listed(given)

    def _express(self, value: Any, where: str) -> str:
        text = _express.text_of(value, self._values, where)
        return f"(({text}) // 1)" if isinstance(value, str) and not value.isidentifier() else f"({text})"

    def _groups(self) -> "Iterator[str]":
        sizes = self._sizes()
        for i, axis in enumerate("xyz"):
            size = self._express(sizes[i], "problem_size") if i < len(sizes) else "1"
            divisors = [self._express(d, f"grid_div_{axis}") for d in self._divisors(i)]
            yield f"ceil_div({size}, {' * '.join(divisors) or '1'})"

    def launch(self, config: "Mapping[str, Any]") -> "tuple[list[int], list[int]]":
        """Groups and their sizes of one config."""
        sizes = self._sizes()
        groups = []
        for i in range(3):
            size = _express.number_of(sizes[i], config) if i < len(sizes) else 1
            for d in self._divisors(i):
                size /= _express.number_of(d, config)
            groups.append(math.ceil(size))
        return groups, [int({**self._fixed, **config}[b]) for b in self._blocks]

    # Text and macros.

    @property
    def text(self) -> str:
        """With what it includes in place: from beside the file that names it, or one of the further sources."""
        head = [f"#define {name} {value}\n" for name, value in self._lines().items()]
        return "".join([*head, "#line 1\n" if head else "", self._spliced(self._text, self._path, (), set())])

    def _spliced(self, text: str, path: Optional[str], around: "tuple[str, ...]", once: "set[str]") -> str:
        """`around`: the files that include this one, `path` the last of them."""
        if len(around) > MAX_INCLUDES:
            raise ValueError(f"kernel_source: more than {MAX_INCLUDES} files within files in {path}: a cyclic #include?")

        def included(found: "re.Match[str]") -> str:
            name = found.group(1)
            beside = [os.path.join(os.path.dirname(path), name)] if path else []
            named = [os.fspath(o) for o in self._others if os.fspath(o) == name]
            there = next((p for p in [*named, *beside] if os.path.isfile(p)), None)
            if there is None:
                return found.group(0)
            real = os.path.realpath(there)
            inner = text_of(there)[0]
            if real in once or (real in around and re.match(_GUARD, inner)):
                return ""
            if re.search(_ONCE, inner, flags=re.MULTILINE):
                once.add(real)
            return self._spliced(re.sub(_ONCE, "", inner, flags=re.MULTILINE), os.path.abspath(there), (*around, real), once)

        return re.sub(r'^[ \t]*#[ \t]*include[ \t]*"([^"]*)".*$', included, text, flags=re.MULTILINE)

    def _lines(self) -> "dict[str, str]":
        """Those of `defines` that are no option of a compiler ("unsigned int", "F(x)"): lines of the text."""
        out = {}
        for name, value in (self.defines or {}).items():
            if not isinstance(value, str) or self._varies(value) or re.fullmatch(_OPTION, f"{name}={value}"):
                continue
            if "\n" in f"{name}{value}" or value.endswith("\\"):
                raise ValueError(f"defines[{name!r}]: expected one line, not {value!r}")
            out[name] = value
        return out

    def _varies(self, text: str) -> bool:
        return any(re.search(rf"\b{re.escape(p)}\b", text) for p in self._values)

    def _defines(self) -> "tuple[dict[str, Any], dict[str, str]]":
        """Those that are the same in each config, and those that are not, as expressions."""
        same: "dict[str, Any]" = {"kernel_tuner": 1, **self._fixed}
        varying, lines = {}, self._lines()
        for name, groups in zip(_GRID, self._groups()):
            if re.search(rf"\b{name}\b", self._text):
                varying[name] = groups
        for name, value in (self.defines or {}).items():
            if name in self._values:
                raise ValueError(f"defines['{name}']: it is a parameter, which is a macro of that name")
            if callable(value) or (isinstance(value, str) and self._varies(value)):
                varying[name] = _express.text_of(_as_c(value), self._values, f"defines['{name}']")
            elif name not in lines:
                same[name] = value
        return same, varying

    def options(self, config: "Mapping[str, Any]") -> "list[str]":
        """Of the compiler, for one config."""
        same, varying = self._defines()
        own = {**dict(zip(_GRID, self.launch(config)[0])), **(self.defines or {})}
        more = {name: _macro_of(own[name], config) for name in varying}
        return [*self._compiler_options(), *(f"-D{n}={v}" for n, v in {**same, **more, **config}.items())]

    def _compiler_options(self) -> "list[str]":
        given = self.compiler_options
        return [given] if isinstance(given, str) else list(given or [])

    # The job file.

    def write(self, folder: str) -> str:
        """Writes job.json and its files into `folder`; returns the job's path."""
        w = Writer(folder)
        same, varying = self._defines()
        kernel: "dict[str, Any]" = {
            "Language": self.language,
            "KernelName": self.kernel_name,
            "KernelFile": self._write_source(w),
            "CompilerOptions": [*self._compiler_options(), *(f"-D{n}={v}" for n, v in same.items())],
        }
        if self.language not in FUNCTIONS:  # a function is called once
            kernel["GlobalSizeType"] = "CUDA"
            kernel["GlobalSize"] = dict(zip("XYZ", self._groups()))
            kernel["LocalSize"] = {axis: b if b in self._values else self._fixed[b] for axis, b in zip("XYZ", self._blocks)}
        sizes = self._sizes()
        if all(isinstance(s, int) for s in sizes):
            kernel["ProblemSize"] = sizes
        if varying:
            kernel["Defines"] = varying
        kernel.update(self._write_arguments(w))
        if self.smem_args:
            kernel["SharedMemory"] = _express.text_of(self.smem_args["size"], self._values, "smem_args")
        if self.reference is not None:
            kernel["ReferenceKernel"] = self._reference(self.reference)
        if self.operations is not None:
            kernel["Operations"] = self.operations
        conditions = [{"Expression": e} for e in _restrict.conditions(self.restrictions, self._values)]
        space = {"TuningParameters": self._params, "Conditions": conditions}
        out = os.path.join(folder, "job.json")
        with open(out, "w", encoding="utf-8") as f:
            json.dump({"ConfigurationSpace": space, "KernelSpecification": kernel}, f, indent=1)
        return out

    def _write_source(self, w: Writer) -> str:
        return w.file(self.text.encode(), _SUFFIXES[self.language])

    def _write_arguments(self, w: Writer) -> "dict[str, Any]":
        names = [f"arg{i}" for i in range(len(self.arguments))]
        inputs = inputs_of(self.text, self.kernel_name, len(names))
        if self.answer is not None:
            if isinstance(self.answer, str) or not hasattr(self.answer, "__len__") or len(self.answer) != len(names):
                n = len(self.answer) if hasattr(self.answer, "__len__") else "no"
                raise ValueError(f"answer: {n} entries for {len(names)} arguments: None where nothing is compared")
            inputs -= {i for i, a in enumerate(self.answer) if a is not None}
        args = [w.argument(name, value, i in inputs) for i, (name, value) in enumerate(zip(names, self.arguments))]
        out: "dict[str, Any]" = {"Arguments": args}
        if self.answer is not None:
            out["ReferenceArguments"] = [
                w.expected(n, a, g, self.atol) for n, a, g in zip(names, self.answer, args) if a is not None
            ]
        for name, value in (self.cmem_args or {}).items():
            args.append({**w.argument(name, value), "MemoryType": "Symbol", "AccessType": "ReadOnly"})
        return out

    def _reference(self, given: "Mapping[str, Any]") -> "dict[str, Any]":
        out = dict(given)
        # what it does not name has its first value: parameters have no defaults here
        out["Configuration"] = {**{n: each[0] for n, each in self._values.items()}, **given.get("Configuration", {})}
        return out if self.atol is None else {**out, **_tolerance(self.atol)}


def _as_c(value: Any) -> Any:
    """Text of a macro divides as C does."""
    return re.sub("/+", "//", value) if isinstance(value, str) else value


def _macro_of(value: Any, config: "Mapping[str, Any]") -> str:
    """A macro's number as `tune` writes it: one that is whole without a point."""
    text = isinstance(value, str)
    number = float(_metrics.value_of(_as_c(value), config)) if text else _express.number_of(value, config)
    return str(int(number)) if number.is_integer() else repr(number)


def _listed(value: Any) -> "list[Any]":
    """One size or several, whole numbers of numpy as Python's."""
    one = isinstance(value, str) or callable(value) or not hasattr(value, "__iter__")
    each = [value] if one else list(value)
    return [v.item() if hasattr(v, "item") else v for v in each]
