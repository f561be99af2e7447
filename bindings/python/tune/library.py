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
from typing import Any, Callable, Optional, Sequence, Union

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


class _NetworkInfo(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("device", c_char_p),
        *((name, c_size_t) for name in ("n_inputs", "n_arguments", "n_weights", "n_steps")),
        ("time_ns", c_double),
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
    "tune_network_open_cl": [c_char_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)],
    "tune_network_about": [c_void_p, c_void_p],
    "tune_network_tensor": [c_void_p, c_int, c_size_t, c_void_p],
    "tune_network_set_cl": [c_void_p, c_void_p, c_char_p, c_char_p, c_void_p, c_size_t],
    "tune_network_load_cl": [c_void_p, c_void_p, c_char_p],
    "tune_network_run_cl": [c_void_p, c_void_p, c_void_p, c_size_t],
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
        for name in ("tune_close", "tune_plan_destroy", "tune_weights_free", "tune_network_close"):
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
    """A numpy array of a tensor's type and shape (or flat), of an array or of what offers DLPack in host memory."""
    import numpy

    if not isinstance(value, numpy.ndarray) and hasattr(value, "__dlpack__"):
        value = numpy.from_dlpack(value)
    out = numpy.ascontiguousarray(value)
    flat = (tensor.n_bytes // out.itemsize,)
    if out.dtype != _numpy_type(tensor.dtype) or out.shape not in (tensor.shape, flat):
        raise ValueError(
            f"{tensor.name}: {out.shape} {out.dtype}, expected {tensor.shape} {_numpy_type(tensor.dtype)} ({tensor.layout})"
        )
    return out


def _tensor_of(call: str, handle: int, is_weight: int, i: int) -> Tensor:
    t = _Tensor()
    _call(call, handle, is_weight, i, byref(t))
    role = ("input", "weight", "output")[t.role]
    return Tensor(_text(t.name), role, _text(t.dtype), _text(t.layout), tuple(t.shape[: t.n_dims]), t.n_bytes)


def _on_arrays(
    context: _opencl.Context,
    tensors: "Sequence[Tensor]",
    inputs: "Sequence[Any]",
    enqueue: "Callable[[list[int]], None]",
) -> "list[Any]":
    """Runs something on arrays of its inputs; its outputs as numpy arrays."""
    import numpy

    expected = [t.name for t in tensors if t.role == "input"]
    if len(inputs) != len(expected):
        raise ValueError(f"{len(inputs)} inputs, expected {', '.join(expected)}")
    given = iter(inputs)
    buffers = [
        context.buffer(_host(next(given), t)) if t.role == "input" else _opencl.Buffer(context, t.n_bytes) for t in tensors
    ]
    enqueue([b.handle for b in buffers])
    return [
        numpy.frombuffer(b.read(), _numpy_type(t.dtype)).reshape(t.shape)
        for b, t in zip(buffers, tensors)
        if t.role == "output"
    ]


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
        return _tensor_of("tune_plan_tensor", self.handle, is_weight, i)

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
        context = self._context()
        return _on_arrays(context, self.tensors, inputs, lambda tensors: self.enqueue(tensors, context.queue, weights))


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


class Network:
    """A network out of a bundle's folder. Called with numpy arrays of its inputs it returns the outputs; enqueue takes
    handles."""

    def __init__(self, handle: int, context: Optional[_opencl.Context]) -> None:
        self.handle, self.context = handle, context
        about = _NetworkInfo()
        _call("tune_network_about", handle, byref(about))
        self.name, self.device, self.n_steps, self.time_ns = _text(about.name), _text(about.device), about.n_steps, about.time_ns
        self.tensors = [_tensor_of("tune_network_tensor", handle, 0, i) for i in range(about.n_arguments)]
        self.weights = [_tensor_of("tune_network_tensor", handle, 1, i) for i in range(about.n_weights)]

    def __enter__(self) -> "Network":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if getattr(self, "handle", None):
            if self.context:
                self.context.finish()
            load().tune_network_close(self.handle)
            self.handle = 0

    def _queue(self, queue: Optional[int]) -> Optional[int]:
        return queue if queue is not None or self.context is None else self.context.queue

    def load_weights(self, folder: Path, queue: Optional[int] = None) -> None:
        """All of weights.txt and weights.bin of a folder, as `tune import` writes them."""
        _call("tune_network_load_cl", self.handle, self._queue(queue), os.fsencode(folder))

    def set_weight(self, name: str, value: Any, queue: Optional[int] = None) -> None:
        """One array by its name among `weights`, "LAYER WEIGHT"."""
        known = {t.name: t for t in self.weights}
        if name not in known:
            raise ValueError(f"no weight {name}; there are {', '.join(known)}")
        array = _host(value, known[name])
        layer, tensor = name.split(" ")
        data = array.ctypes.data_as(c_void_p)
        _call("tune_network_set_cl", self.handle, self._queue(queue), layer.encode(), tensor.encode(), data, array.nbytes)

    def enqueue(self, tensors: "Sequence[int]", queue: Optional[int] = None) -> None:
        """One run over cl_mem in the order of `tensors`; not waited for."""
        _call("tune_network_run_cl", self.handle, self._queue(queue), (c_void_p * max(len(tensors), 1))(*tensors), len(tensors))

    def __call__(self, *inputs: Any) -> "list[Any]":
        if self.context is None:
            raise TuneError("the network was opened on handles of yours: enqueue takes handles")
        return _on_arrays(self.context, self.tensors, inputs, self.enqueue)


def open_network(
    folder: Path,
    *,
    weights: Optional[Path] = None,
    platform: int = 0,
    device: int = 0,
    handles: "Optional[tuple[int, int]]" = None,
    any_device: bool = False,
    threads: int = 0,
) -> Network:
    """Opens a bundle of `tune deploy --network` on an OpenCL device, as open_cl does, and loads weights of a folder."""
    context = None if handles else _opencl.Context(platform, device)
    at = handles if handles else (context.context, context.device)  # type: ignore[union-attr]
    out = c_void_p()
    _call("tune_network_open_cl", os.fsencode(folder), at[0], at[1], _options(None, any_device, threads), byref(out))
    network = Network(out.value or 0, context)
    if weights is not None:
        network.load_weights(weights)
    return network


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
