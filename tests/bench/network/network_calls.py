# SPDX-License-Identifier: MIT
"""network_calls.py - times the one call of a bundle and onnxruntime's run of the same network, in one process, in turns.

A round is --calls calls of each, the first to begin changing from round to round; its figures are the medians of them, the
ratio (over 1: the bundle is faster) is the median of the rounds' ratios. onnxruntime's threads stop spinning when a run of
its ends; the OpenCL library takes the number of its threads from the environment. Prints the figures and appends
"network dtype threads ours theirs ratio winograd-or-direct low high ours-least theirs-least ours-cpu theirs-cpu steps" to --table:
milliseconds, the quarters of the rounds between which half of the ratios lie, the CPU time of a call (of all threads), the steps of a call."""
import argparse
import ctypes
import json
import os
import re
import time

import numpy as np
import onnxruntime

MAX_PLATFORMS, MAX_DEVICES, MAX_NAME = 16, 64, 1024
DEVICE_TYPE_ALL, DEVICE_NAME = ctypes.c_uint64(0xFFFFFFFF), 0x102B
READ_WRITE, COPY_HOST_PTR = 1, 1 << 5


class OpenCL:
    """A context and a queue on the device of a name, else on the first one; the context has all of a platform's devices `basic`."""

    def __init__(self, wanted):
        self.lib = ctypes.CDLL("libOpenCL.so.1")
        team = self.find(wanted)
        self.device = team[0]
        self.context = self.made("clCreateContext", None, len(team), (ctypes.c_void_p * len(team))(*team), None, None)
        self.queue = self.made("clCreateCommandQueue", self.context, self.device, ctypes.c_uint64(0))

    def find(self, wanted):
        platforms, devices, n = (ctypes.c_void_p * MAX_PLATFORMS)(), (ctypes.c_void_p * MAX_DEVICES)(), ctypes.c_uint()
        self.lib.clGetPlatformIDs(MAX_PLATFORMS, platforms, ctypes.byref(n))
        found = []
        for platform in platforms[:n.value]:
            if self.lib.clGetDeviceIDs(ctypes.c_void_p(platform), DEVICE_TYPE_ALL, MAX_DEVICES, devices, ctypes.byref(n)) == 0:
                found += [ctypes.c_void_p(d) for d in devices[:n.value]]
        if not found:
            raise SystemExit("network_calls.py: no OpenCL device")
        first = next((d for d in found if self.name_of(d) == wanted), found[0])
        return [first] + [d for d in found if d is not first and all(self.name_of(x).startswith("basic-") for x in (d, first))]

    def name_of(self, device):
        out = ctypes.create_string_buffer(MAX_NAME)
        self.lib.clGetDeviceInfo(device, DEVICE_NAME, ctypes.c_size_t(MAX_NAME), out, None)
        return out.value.decode()

    def made(self, call, *arguments):
        code, make = ctypes.c_int(), getattr(self.lib, call)
        make.restype = ctypes.c_void_p
        out = make(*arguments, ctypes.byref(code))
        if code.value:
            raise SystemExit(f"network_calls.py: {call}: error {code.value}")
        return ctypes.c_void_p(out)

    def buffer(self, n_bytes, data=None):
        flags = ctypes.c_uint64(READ_WRITE | (COPY_HOST_PTR if data else 0))
        return self.made("clCreateBuffer", self.context, flags, ctypes.c_size_t(n_bytes), data)


class Bundle:
    """A bundle as a shared library, with the weights and the input of a folder."""

    def __init__(self, library, name, device, folder, takes_any):
        self.lib, self.name, self.cl = ctypes.CDLL(library), name, OpenCL(device)
        getattr(self.lib, name + "_words").restype = ctypes.c_char_p
        self.call("init_any" if takes_any else "init", self.cl.context, self.cl.device)
        self.call("load_weights", self.cl.queue, folder.encode())
        inputs = [read(folder, n) for n in files(folder, "x")]
        self.x = [self.cl.buffer(len(x), x) for x in inputs]
        self.y = [self.cl.buffer(os.path.getsize(os.path.join(folder, n))) for n in files(folder, "y")]

    def call(self, what, *arguments):
        if getattr(self.lib, f"{self.name}_{what}")(*arguments):
            words = getattr(self.lib, self.name + "_words")().decode()
            raise SystemExit(f"network_calls.py: {self.name}_{what}: {words}")

    def run(self):
        self.call("run", self.cl.queue, *self.x, *self.y)
        self.cl.lib.clFinish(self.cl.queue)


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as f:
        return f.read()


def files(folder, kind):
    """x.bin, or x0.bin, x1.bin, ... in their order; those of y."""
    return sorted((n for n in os.listdir(folder) if re.fullmatch(kind + r"\d*\.bin", n)), key=lambda n: int("0" + n[1:-4]))


def peer(folder, threads):
    """A function that runs the folder's model in onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    options.add_session_config_entry("session.force_spinning_stop", "1")
    s = onnxruntime.InferenceSession(os.path.join(folder, "model.onnx"), options, providers=["CPUExecutionProvider"])
    kind = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8}
    given = {}
    for x, name in zip(s.get_inputs(), files(folder, "x")):
        if x.type == "tensor(int64)": # which the bundle is given as floats
            given[x.name] = np.frombuffer(read(folder, name), np.float32).astype(np.int64).reshape(x.shape)
        else:
            given[x.name] = np.frombuffer(read(folder, name), kind[x.type]).reshape(x.shape)
    return lambda: s.run(None, given)


def median_ms(run, calls):
    """Of a call: time, and CPU time of the process."""
    times = []
    for _ in range(calls):
        cpu, start = time.process_time(), time.perf_counter()
        run()
        times.append(((time.perf_counter() - start) * 1e3, (time.process_time() - cpu) * 1e3))
    return np.median(times, axis=0)


def rounds(ours, theirs, n, calls):
    """[round][ours, theirs][time, CPU time], in ms."""
    out = []
    for run in (ours, theirs):
        median_ms(run, calls)
    for i in range(n):
        if i % 2:
            b = median_ms(theirs, calls)
            out.append((median_ms(ours, calls), b))
        else:
            a = median_ms(ours, calls)
            out.append((a, median_ms(theirs, calls)))
    return np.array(out)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("folder", help="what network_ort.py wrote, or model_ort.py and tune import")
    p.add_argument("bundle", help="folder of the bundle")
    p.add_argument("library", help="the bundle as a shared library")
    p.add_argument("--network", required=True)
    p.add_argument("--dtype", required=True)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--any", action="store_true", help="the bundle's records may be of another device")
    p.add_argument("--rounds", type=int, default=21)
    p.add_argument("--calls", type=int, default=5)
    p.add_argument("--table")
    a = p.parse_args()
    manifest = json.loads(read(a.bundle, "manifest.json"))
    device = manifest["layers"][0]["device"]
    winograd = any("winograd" in layer["template"] for layer in manifest["layers"])
    bundle = Bundle(a.library, manifest["name"], device["name"], a.folder, a.any)
    both = rounds(bundle.run, peer(a.folder, a.threads), a.rounds, a.calls)
    ms, cpu = both[:, :, 0], np.median(both[:, :, 1], axis=0)
    ours, theirs = np.median(ms, axis=0)
    ratios = np.sort(ms[:, 1] / ms[:, 0])
    ratio, low, high = np.median(ratios), ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]
    print(f"one call {ours:.2f} ms, onnxruntime {onnxruntime.__version__} {theirs:.2f} ms: {ratio:.2f}x (half of {a.rounds} rounds "
          f"{low:.2f} to {high:.2f}; least {ms[:, 0].min():.2f}, {ms[:, 1].min():.2f} ms); {device['platform_version']}")
    if a.table:
        with open(a.table, "a", encoding="ascii") as f:
            f.write(f"{a.network} {a.dtype} {a.threads} {ours:.4g} {theirs:.4g} {ratio:.4g} {'winograd' if winograd else 'direct'} "
                    f"{low:.4g} {high:.4g} {ms[:, 0].min():.4g} {ms[:, 1].min():.4g} {cpu[0]:.4g} {cpu[1]:.4g} "
                    f"{sum(len(layer['names']) for layer in manifest['layers'])}\n")


if __name__ == "__main__":
    main()
