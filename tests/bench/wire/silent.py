#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""silent.py BIN [N] [hello]: what N (4000) TLS handshakes that do not go on cost a tracker, from one address of this machine.

Each says nothing, or, with `hello`, its first message and no more. Prints what the tracker has resident, how many files
it has open, and how long `tune status` takes meanwhile.
"""
import os
import resource
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

SECONDS = 14


def first_message():
    """A ClientHello of TLS 1.2."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(come, go).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return go.read()


def start_tracker(tool):
    """Makes keys in the current directory; the process and its address."""
    for options in (["--ca", "ca"], ["--ca", "ca", "--host", "127.0.0.1", "tracker.pem"], ["farm.key"]):
        subprocess.check_call([tool, "keygen", "-q"] + options)
    tracker = subprocess.Popen(
        [tool + "-tracker", "--listen", "tls+tcp://127.0.0.1:0", "--cert", "tracker.pem", "--key-file", "farm.key",
         "--store", "store", "--workers", "0", "--url-file", "url"], stdout=subprocess.DEVNULL)
    while not os.path.exists("url"):
        time.sleep(0.05)
    with open("url") as file:
        return tracker, file.read()


def tell(tracker, began, words):
    with open(f"/proc/{tracker.pid}/status") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) // 1024
    n_files = len(os.listdir(f"/proc/{tracker.pid}/fd"))
    print(f"{time.time() - began:5.1f} s: {resident} MiB, {n_files} files; {words}", flush=True)


def main():
    tool = os.path.join(os.path.abspath(sys.argv[1]), "tune")
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    said = first_message() if "hello" in sys.argv[3:] else b""
    resource.setrlimit(resource.RLIMIT_NOFILE, (n + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    tracker, url = start_tracker(tool)
    try:
        began = time.time()
        tell(tracker, began, "at rest")
        crowd = []
        for _ in range(n):
            crowd.append(socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1]))))
            crowd[-1].sendall(said)
        tell(tracker, began, f"{n} opened")
        for _ in range(SECONDS):
            asked = time.time()
            code = subprocess.call([tool, "status", "--tracker", url, "--ca", "ca/ca.pem", "--key-file", "farm.key"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            tell(tracker, began, f"tune status: exit code {code} in {time.time() - asked:.2f} s")
            time.sleep(max(0, 1 - (time.time() - asked)))
    finally:
        tracker.terminate()
        tracker.wait()
        shutil.rmtree(folder)


main()
