# SPDX-License-Identifier: MIT
"""As much of OpenCL as one context and one in-order queue need, by ctypes: for verify functions and libtune's plans on
numpy arrays without another package."""
from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any, Mapping, Optional, Sequence

from . import _express, _spec
from ._program import TuneError

_SUCCESS, _READ_WRITE, _COPY_HOST, _ALL, _BUILD_LOG = 0, 1, 32, 0xFFFFFFFF, 0x1183


def _library() -> Any:
    try:
        return ctypes.CDLL("libOpenCL.so.1")
    except OSError as e:
        raise TuneError(f"OpenCL's loader is not here: {e}") from None


class Buffer:
    """Memory of a Context; `handle` is its cl_mem."""

    def __init__(self, context: "Context", n_bytes: int, data: Optional[bytes] = None) -> None:
        error = c_int(0)
        flags = _READ_WRITE | (_COPY_HOST if data is not None else 0)
        make = context.cl.clCreateBuffer
        make.restype, make.argtypes = c_void_p, [c_void_p, c_uint64, c_size_t, c_char_p, POINTER(c_int)]
        self.context, self.n_bytes = context, n_bytes
        self.handle = make(context.context, flags, n_bytes, data, byref(error))
        context.check("clCreateBuffer", error.value)

    def read(self) -> bytes:
        """Waits for what is enqueued before."""
        out = ctypes.create_string_buffer(max(self.n_bytes, 1))
        read = self.context.cl.clEnqueueReadBuffer
        read.argtypes = [c_void_p, c_void_p, c_uint, c_size_t, c_size_t, c_void_p, c_uint, c_void_p, c_void_p]
        code = read(self.context.queue, self.handle, 1, 0, self.n_bytes, out, 0, None, None)
        self.context.check("clEnqueueReadBuffer", code)
        return out.raw[: self.n_bytes]

    def write(self, data: bytes) -> None:
        write = self.context.cl.clEnqueueWriteBuffer
        write.argtypes = [c_void_p, c_void_p, c_uint, c_size_t, c_size_t, c_char_p, c_uint, c_void_p, c_void_p]
        code = write(self.context.queue, self.handle, 1, 0, self.n_bytes, data, 0, None, None)
        self.context.check("clEnqueueWriteBuffer", code)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.context.cl.clReleaseMemObject(c_void_p(self.handle))


class Context:
    """A device (platform and device number) with a context and a queue of its own."""

    def __init__(self, platform: int = 0, device: int = 0) -> None:
        self.cl = _library()
        self.device = self._pick(self._pick(None, platform, "clGetPlatformIDs"), device, "clGetDeviceIDs")
        error = c_int(0)
        make = self.cl.clCreateContext
        make.restype = c_void_p
        make.argtypes = [c_void_p, c_uint, POINTER(c_void_p), c_void_p, c_void_p, POINTER(c_int)]
        self.context = make(None, 1, byref(c_void_p(self.device)), None, None, byref(error))
        self.check("clCreateContext", error.value)
        queue = self.cl.clCreateCommandQueue
        queue.restype, queue.argtypes = c_void_p, [c_void_p, c_void_p, c_uint64, POINTER(c_int)]
        self.queue = queue(self.context, self.device, 0, byref(error))
        self.check("clCreateCommandQueue", error.value)

    def __del__(self) -> None:
        if getattr(self, "queue", None):
            self.cl.clReleaseCommandQueue(c_void_p(self.queue))
        if getattr(self, "context", None):
            self.cl.clReleaseContext(c_void_p(self.context))

    def check(self, call: str, code: int) -> None:
        if code != _SUCCESS:
            raise TuneError(f"{call} failed with {code}")

    def _pick(self, platform: Optional[int], i: int, call: str) -> int:
        ids, n = (c_void_p * 16)(), c_uint(0)
        if platform is None:
            code = self.cl.clGetPlatformIDs(16, ids, byref(n))
        else:
            code = self.cl.clGetDeviceIDs(c_void_p(platform), c_uint64(_ALL), 16, ids, byref(n))
        self.check(call, code)
        if i >= n.value:
            raise TuneError(f"{call}: no number {i} of {n.value}")
        return int(ids[i] or 0)

    def finish(self) -> None:
        self.check("clFinish", self.cl.clFinish(c_void_p(self.queue)))

    def buffer(self, array: Any) -> Buffer:
        """A buffer with the content of an array."""
        return Buffer(self, array.nbytes, array.tobytes())

    def _build(self, text: str, options: str) -> int:
        error = c_int(0)
        make = self.cl.clCreateProgramWithSource
        make.restype, make.argtypes = c_void_p, [c_void_p, c_uint, POINTER(c_char_p), c_void_p, POINTER(c_int)]
        program = make(self.context, 1, byref(c_char_p(text.encode())), None, byref(error))
        self.check("clCreateProgramWithSource", error.value)
        code = self.cl.clBuildProgram(c_void_p(program), 0, None, options.encode(), None, None)
        if code != _SUCCESS:
            n = c_size_t(0)
            about = (c_void_p(program), c_void_p(self.device), _BUILD_LOG)
            self.cl.clGetProgramBuildInfo(*about, c_size_t(0), None, byref(n))
            log = ctypes.create_string_buffer(n.value + 1)
            self.cl.clGetProgramBuildInfo(*about, n, log, None)
            self.cl.clReleaseProgram(c_void_p(program))
            raise TuneError(f"the kernel does not build: {log.value.decode(errors='replace')}")
        return int(program)

    def run(
        self, text: str, name: str, options: str, args: "Sequence[Any]", groups: "Sequence[int]", local: "Sequence[int]"
    ) -> None:
        """One launch, waited for; an argument is a Buffer, bytes, or a number of local bytes."""
        error = c_int(0)
        program = self._build(text, options)
        make = self.cl.clCreateKernel
        make.restype, make.argtypes = c_void_p, [c_void_p, c_char_p, POINTER(c_int)]
        kernel = make(program, name.encode(), byref(error))
        self.check("clCreateKernel", error.value)
        give = self.cl.clSetKernelArg
        give.argtypes = [c_void_p, c_uint, c_size_t, c_void_p]
        for i, a in enumerate(args):
            if isinstance(a, Buffer):
                code = give(kernel, i, 8, byref(c_void_p(a.handle)))
            elif isinstance(a, bytes):
                code = give(kernel, i, len(a), a)
            else:
                code = give(kernel, i, a, None)
            self.check(f"clSetKernelArg {i}", code)
        sizes = c_size_t * 3
        launch = self.cl.clEnqueueNDRangeKernel
        launch.argtypes = [c_void_p, c_void_p, c_uint, c_void_p, c_void_p, c_void_p, c_uint, c_void_p, c_void_p]
        whole = sizes(*(g * n for g, n in zip(groups, local)))
        self.check("clEnqueueNDRangeKernel", launch(self.queue, kernel, 3, None, whole, sizes(*local), 0, None, None))
        self.finish()
        self.cl.clReleaseKernel(c_void_p(kernel))
        self.cl.clReleaseProgram(c_void_p(program))


def run_once(kernel: _spec.Kernel, config: "Mapping[str, Any]", context: Context) -> "list[Any]":
    """Runs one config of a kernel here; its arguments afterwards, as numpy arrays, None for scalars."""
    import numpy

    groups, local = kernel.launch(config)
    args = [context.buffer(a) if getattr(a, "shape", ()) else a.tobytes() for a in kernel.arguments]
    if kernel.smem_args:
        args.append(int(_express.number_of(kernel.smem_args["size"], config)))
    context.run(kernel.text, kernel.kernel_name, " ".join(kernel.options(config)), args, groups, local)
    return [
        numpy.frombuffer(b.read(), a.dtype).reshape(a.shape).copy() if isinstance(b, Buffer) else None
        for a, b in zip(kernel.arguments, args)
    ]
