# SPDX-License-Identifier: MIT
"""libtune's plans (docs/libtune.md) by ctypes: kernels out of a log at run time, on numpy arrays, DLPack tensors in host
memory, or the OpenCL and CUDA handles of others.

    with tune.library.open_cl("conv.best.jsonl") as t:
        plan = t.plan("dense f32 m=64 n=1000 k=512")
        weights = plan.pack(w)
        y = plan(x, weights=weights)[0]
"""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_longlong, c_size_t, c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass
from typing import Any, Optional, Sequence, Union

from . import _opencl
from ._logs import Path
from ._program import TuneError, program

RECORDED = 1  # flag of plan(): only with the workload's own record


class Failure(TuneError):
    """A call of libtune that failed: `status` is its enum tune_status."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class _Sized(ctypes.Structure):
    def __init__(self, **given: Any) -> None:
        super().__init__(size=ctypes.sizeof(type(self)), **given)


class _Options(_Sized):
    _fields_ = [("size", c_size_t), ("key", c_char_p), ("fingerprint", c_char_p), ("any_device", c_int), ("threads", c_int)]


class _Info(_Sized):
    _fields_ = [
        ("size", c_size_t),
        *((name, c_char_p) for name in ("api", "device", "fingerprint", "log_key", "log_fingerprint")),
        ("n_records", c_size_t),
        ("n_left_out", c_size_t),
        ("n_bad_lines", c_longlong),
        ("bad_line", c_char_p),
    ]


class _PlanInfo(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("workload", c_char_p),
        ("choice", c_int),
        ("recorded", c_char_p),
        ("distance", c_double),
        ("template_id", c_char_p),
        ("knobs", c_char_p),
        ("time_ns", c_double),
        ("flops", c_double),
        ("bytes", c_double),
        ("n_weights", c_size_t),
        ("n_tensors", c_size_t),
    ]


class _Tensor(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("role", c_int),
        ("dtype", c_char_p),
        ("layout", c_char_p),
        ("n_dims", c_int),
        ("shape", c_longlong * 8),
        ("n_elems", c_ulonglong),
        ("n_bytes", c_ulonglong),
    ]


_CALLS = {
    "tune_open_cl": [c_char_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)],
    "tune_open_cuda": [c_char_p, c_void_p, c_void_p, POINTER(c_void_p)],
    "tune_about": [c_void_p, c_void_p],
    "tune_plan_make": [c_void_p, c_char_p, c_uint, POINTER(c_void_p)],
    "tune_plan_about": [c_void_p, c_void_p],
    "tune_plan_tensor": [c_void_p, c_int, c_size_t, c_void_p],
    "tune_pack_cl": [c_void_p, c_void_p, c_void_p, c_size_t, POINTER(c_void_p)],
    "tune_pack_cuda": [c_void_p, c_void_p, c_void_p, c_size_t, POINTER(c_void_p)],
    "tune_execute_cl": [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p],
    "tune_execute_cuda": [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p],
    "tune_missing_write": [c_void_p, c_char_p],
}
_library: Any = None


def _candidates() -> "list[str]":
    named = os.environ.get("TUNE_LIBRARY")
    if named:
        return [named]
    out = []
    try:
        root = os.path.dirname(os.path.dirname(program()))
        out = [os.path.join(root, *at, "libtune.so.1") for at in (("lib",), ("libtune",), ("lib64",))]
    except TuneError:
        pass
    return [path for path in out if os.path.exists(path)] + ["libtune.so.1"]


def load() -> Any:
    """The library: $TUNE_LIBRARY, else the one beside the `tune` program, else the loader's."""
    global _library
    if _library is None:
        words = ""
        for path in _candidates():
            try:
                lib = ctypes.CDLL(path)
                break
            except OSError as e:
                words = str(e)
        else:
            raise TuneError(f"libtune cannot be loaded: {words}: name it by the environment variable TUNE_LIBRARY")
        for name, types in _CALLS.items():
            getattr(lib, name).argtypes = types
        for name in ("tune_words", "tune_version"):
            getattr(lib, name).restype = c_char_p
        for name in ("tune_close", "tune_plan_destroy", "tune_weights_free"):
            getattr(lib, name).argtypes, getattr(lib, name).restype = [c_void_p], None
        lib.tune_missing.argtypes, lib.tune_missing.restype = [c_void_p, c_char_p, c_size_t], c_size_t
        _library = lib
    return _library


def _call(name: str, *args: Any) -> None:
    status = getattr(load(), name)(*args)
    if status:
        raise Failure(status, load().tune_words().decode(errors="replace"))


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode(errors="replace")


@dataclass(frozen=True)
class Tensor:
    """What a plan reads or writes."""

    name: str
    role: str  # "input", "weight", "output"
    dtype: str
    layout: str
    shape: "tuple[int, ...]"
    n_bytes: int


def _numpy_type(dtype: str) -> str:
    known = {"f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "u8": "uint8", "i32": "int32"}
    if dtype not in known:
        raise TypeError(f"numpy has no type {dtype}: give buffers")
    return known[dtype]


def _host(value: Any, tensor: Tensor) -> Any:
    """A numpy array of a tensor's type and size, of an array or of what offers DLPack in host memory."""
    import numpy

    if not isinstance(value, numpy.ndarray) and hasattr(value, "__dlpack__"):
        value = numpy.from_dlpack(value)
    out = numpy.ascontiguousarray(value)
    if out.dtype != _numpy_type(tensor.dtype) or out.nbytes != tensor.n_bytes:
        raise ValueError(
            f"{tensor.name}: {out.shape} {out.dtype}, expected {tensor.shape} {_numpy_type(tensor.dtype)} ({tensor.layout})"
        )
    return out


class Weights:
    """One packed set."""

    def __init__(self, handle: int, plan: "Plan", keeps: Any) -> None:
        self.handle, self._plan, self._keeps = handle, plan, keeps

    def __del__(self) -> None:
        if self.handle:
            load().tune_weights_free(self.handle)


class Plan:
    """A workload with its kernels built. Called with numpy arrays it returns the outputs; enqueue takes handles."""

    def __init__(self, library: "Library", workload: str, flags: int) -> None:
        out = c_void_p()
        _call("tune_plan_make", library.handle, workload.encode(), flags, byref(out))
        self.handle, self._library = out.value, library
        about = _PlanInfo()
        _call("tune_plan_about", self.handle, byref(about))
        self.workload, self.template, self.knobs = map(_text, (about.workload, about.template_id, about.knobs))
        self.choice = ("exact", "nearest", "default")[about.choice]
        self.recorded, self.distance = _text(about.recorded), about.distance
        self.time_ns, self.flops = about.time_ns, about.flops
        self.tensors = [self._tensor(0, i) for i in range(about.n_tensors)]
        self.weights = [self._tensor(1, i) for i in range(about.n_weights)]

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            load().tune_plan_destroy(self.handle)

    def _tensor(self, is_weight: int, i: int) -> Tensor:
        t = _Tensor()
        _call("tune_plan_tensor", self.handle, is_weight, i, byref(t))
        role = ("input", "weight", "output")[t.role]
        return Tensor(_text(t.name), role, _text(t.dtype), _text(t.layout), tuple(t.shape[: t.n_dims]), t.n_bytes)

    def _context(self) -> _opencl.Context:
        if self._library.context is None:
            raise TuneError("the library was opened on handles of yours: pack_handles and enqueue take handles")
        return self._library.context

    def pack(self, *weights: Any) -> Weights:
        """Weights (arrays in the order of `weights`) in the form that the kernels read."""
        if len(weights) != len(self.weights):
            raise ValueError(f"{len(weights)} weights, expected {', '.join(t.name for t in self.weights) or 'none'}")
        context = self._context()
        buffers = [context.buffer(_host(w, t)) for w, t in zip(weights, self.weights)]
        return self.pack_handles([b.handle for b in buffers], context.queue, keeps=buffers)

    def pack_handles(self, weights: "Sequence[int]", queue: Optional[int], keeps: Any = None) -> Weights:
        """The same of cl_mem (or CUDA addresses) on a cl_command_queue (or stream) of the context; enqueued."""
        out = c_void_p()
        kind = c_ulonglong if self._library.is_cuda else c_void_p
        call = "tune_pack_cuda" if self._library.is_cuda else "tune_pack_cl"
        _call(call, self.handle, queue, (kind * max(len(weights), 1))(*weights), len(weights), byref(out))
        return Weights(out.value or 0, self, keeps)

    def enqueue(self, tensors: "Sequence[int]", queue: Optional[int], weights: Optional[Weights] = None) -> None:
        """One run over cl_mem (or CUDA addresses) in the order of `tensors`; not waited for."""
        kind = c_ulonglong if self._library.is_cuda else c_void_p
        call = "tune_execute_cuda" if self._library.is_cuda else "tune_execute_cl"
        packed = weights.handle if weights else None
        _call(call, self.handle, queue, (kind * max(len(tensors), 1))(*tensors), len(tensors), packed)

    def __call__(self, *inputs: Any, weights: Optional[Weights] = None) -> "list[Any]":
        """Runs it on arrays of its inputs, in their order; its outputs as numpy arrays."""
        import numpy

        context = self._context()
        n_in = sum(t.role == "input" for t in self.tensors)
        if len(inputs) != n_in:
            raise ValueError(f"{len(inputs)} inputs, expected {', '.join(t.name for t in self.tensors[:n_in])}")
        given = iter(inputs)
        buffers = [
            context.buffer(_host(next(given), t)) if t.role == "input" else _opencl.Buffer(context, t.n_bytes)
            for t in self.tensors
        ]
        self.enqueue([b.handle for b in buffers], context.queue, weights)
        return [
            numpy.frombuffer(b.read(), _numpy_type(t.dtype)).reshape(t.shape)
            for b, t in zip(buffers, self.tensors)
            if t.role == "output"
        ]


class Library:
    """A log open on a device."""

    def __init__(self, handle: int, context: Optional[_opencl.Context], is_cuda: bool) -> None:
        self.handle, self.context, self.is_cuda = handle, context, is_cuda

    def __enter__(self) -> "Library":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Plans made from it live on."""
        if self.handle:
            load().tune_close(self.handle)
            self.handle = 0

    def plan(self, workload: str, flags: int = 0) -> Plan:
        return Plan(self, workload, flags)

    def about(self) -> "dict[str, Union[str, int]]":
        info = _Info()
        _call("tune_about", self.handle, byref(info))
        values = {f[0]: getattr(info, f[0]) for f in _Info._fields_ if f[0] != "size"}
        return {k: _text(v) if v is None or isinstance(v, bytes) else v for k, v in values.items()}

    def missing(self) -> str:
        """A line about the workloads that had no record of their own; "" = none."""
        text = ctypes.create_string_buffer(4096)
        load().tune_missing(self.handle, text, 4096)
        return _text(text.value)

    def write_missing(self, path: Path) -> None:
        """Their list, for tune.submit(missing=path)."""
        _call("tune_missing_write", self.handle, os.fsencode(path))


def _options(key: Optional[str], any_device: bool, threads: int) -> Any:
    return byref(_Options(key=key.encode() if key else None, any_device=int(any_device), threads=threads))


def open_cl(
    log: Optional[Path] = None,
    *,
    platform: int = 0,
    device: int = 0,
    handles: "Optional[tuple[int, int]]" = None,
    key: Optional[str] = None,
    any_device: bool = False,
    threads: int = 0,
) -> Library:
    """Opens a log (None: every plan is a default) on an OpenCL device, with a context of its own, or on (cl_context,
    cl_device_id) of the caller (pyopencl: context.int_ptr, device.int_ptr)."""
    context = None if handles else _opencl.Context(platform, device)
    at = handles if handles else (context.context, context.device)  # type: ignore[union-attr]
    out = c_void_p()
    path = os.fsencode(log) if log is not None else None
    _call("tune_open_cl", path, at[0], at[1], _options(key, any_device, threads), byref(out))
    return Library(out.value or 0, context, False)


def open_cuda(log: Optional[Path] = None, *, context: Optional[int] = None, key: Optional[str] = None) -> Library:
    """The same for a CUDA context (None: the calling thread's current one); plans take addresses and streams."""
    out = c_void_p()
    _call("tune_open_cuda", os.fsencode(log) if log is not None else None, context, _options(key, False, 0), byref(out))
    return Library(out.value or 0, None, True)
