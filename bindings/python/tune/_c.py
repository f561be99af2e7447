# SPDX-License-Identifier: MIT
"""A function of C or C++ called once in this process, by ctypes: for verify functions, of configs that agents found sound."""
from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from typing import Any, Mapping, Optional

from . import _spec
from ._program import TuneError

_SCALARS = {
    "bool": ctypes.c_bool,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    **{f"{sign}int{bits}": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def _compiler(wanted: Optional[str]) -> str:
    found = next((path for path in map(shutil.which, [wanted] if wanted else ["gcc", "clang", "cc"]) if path), None)
    if not found:
        raise TuneError(f"no C compiler: none of {wanted or 'gcc, clang, cc'} is in $PATH")
    return found


#: Where the function is: a name of C++ says its types, too, and a static function has none outside.
_WHERE = "tune_where"


def _build(kernel: _spec.Kernel, config: "Mapping[str, Any]", compiler: Optional[str], folder: str) -> Any:
    is_cxx = kernel.language == "C++"
    linkage = 'extern "C" ' if is_cxx else ""
    text = f"{kernel.text}\n{linkage}void *{_WHERE}(void) {{ return (void *)&{kernel.kernel_name}; }}\n"
    source, library = os.path.join(folder, "kernel"), os.path.join(folder, "kernel.so")
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    options = [word for o in kernel.options(config) for word in o.split()]
    language = ["-x", "c++", source, "-lstdc++"] if is_cxx else ["-x", "c", source]
    command = [_compiler(compiler), "-O2", "-fPIC", *options, "-shared", "-o", library, *language, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise TuneError(f"the kernel does not build: {done.stderr}")
    where = getattr(ctypes.CDLL(library), _WHERE)
    where.restype = ctypes.c_void_p
    return ctypes.CFUNCTYPE(None)(where())


def run_once(kernel: _spec.Kernel, config: "Mapping[str, Any]", compiler: Optional[str]) -> "list[Any]":
    """The arguments afterwards, as numpy arrays, None for scalars."""
    arrays = [a.copy() if getattr(a, "shape", ()) else None for a in kernel.arguments]
    args: "list[Any]" = []
    for given, array in zip(kernel.arguments, arrays):
        name = given.dtype.name
        if array is None and name not in _SCALARS:
            raise TuneError(f"verify: a scalar of type {name} cannot be passed from Python")
        args.append(ctypes.c_void_p(array.ctypes.data) if array is not None else _SCALARS[name](given.item()))
    with tempfile.TemporaryDirectory(prefix="tune-verify-") as folder:
        _build(kernel, config, compiler, folder)(*args)
    return arrays
