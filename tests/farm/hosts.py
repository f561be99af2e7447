# SPDX-License-Identifier: MIT
"""hosts.py - hosts for farm tests that cut links: each is a network namespace with a TUN device whose descriptor this process holds, and passes packets
between them, or swallows, delays or loses them by direction. Who may not make those is skipped by enter(), first of all, with 77 and words. A namespace
lives as long as a process of it, which ends with this one."""
import fcntl
import gzip
import heapq
import json
import os
import random
import select
import shutil
import struct
import subprocess
import sys
import threading
import time

INSIDE = "TUNE_TEST_HOSTS"  # in the environment of a test that has entered
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
MTU = 60000  # a message of the farm's is one packet


def enter(as_root=False):
    """The test goes on in a network namespace of its own, and as root of a user's namespace where it is not root; or it is skipped."""
    if os.environ.pop(INSIDE, None):
        return
    unshare = ["unshare", "--net"] + (["--user", "--map-root-user"] if os.getuid() else [])
    words = None
    if as_root and os.getuid():
        words = "a server on a host of its own needs root"
    elif not all(map(shutil.which, ["ip", "ss", "nsenter", "unshare"])):
        words = "no ip, ss, nsenter or unshare (Debian: iproute2, util-linux)"
    else:
        r = subprocess.run([*unshare, "ip", "tuntap", "add", "dev", "tune0", "mode", "tun"], capture_output=True, text=True)
        if r.returncode != 0:
            words = "no TUN device in a network namespace: " + r.stderr.strip()
    if words:
        print("skipped: " + words)
        sys.exit(77)
    os.execvpe("unshare", [*unshare, sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})


def write_space(path, cost_ms):
    """400 configs that take so long each."""
    values = list(range(1, 21))
    with open(path + ".json", "w") as f:
        json.dump({"space": "links", "kernel": "farm", "device": "test", "params": [{"name": n, "values": values} for n in "ab"], "restrictions": []}, f)
    with gzip.open(path + ".csv.gz", "wt") as f:
        f.write("a,b,status,time_ms,cost_ms,compile_ms,verify_ms,bench_ms,framework_ms\n")
        for a in values:
            for b in values:
                f.write(f"{a},{b},ok,{1 + (a - 13) ** 2 / 50 + (b - 7) ** 2 / 30},{cost_ms},5,1,2,0\n")
    return "replay:" + path + ".json"


class Host:
    """A host of the net; `address` is its own."""

    def __init__(self, number):
        self.address = f"10.77.0.{number}"
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        request = fcntl.ioctl(self.fd, TUNSETIFF, struct.pack("16sH22x", b"tune%d", IFF_TUN | IFF_NO_PI))
        device = request[:16].rstrip(b"\0").decode()
        subprocess.run(["ip", "link", "set", device, "netns", str(self.holder.pid)], check=True)
        for words in ("link set lo up", f"link set {device} mtu {MTU} up", f"addr add {self.address}/24 dev {device}"):
            self.inside("ip", *words.split())

    def enter(self, *options):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", *options]

    def inside(self, *argv):
        """The output of a command that runs on it."""
        return subprocess.run([*self.enter(), *argv], check=True, capture_output=True, text=True).stdout

    def start(self, name, *argv, **more):
        """farm.start() on it."""
        from farm import start  # which makes its folder: not for who is skipped

        return start(name, *self.enter(), *argv, **more)

    def connections(self, peer, port):
        """Lines of ss, of connections of its own port to this peer."""
        return self.inside("ss", "-Htn", "state", "established", f"sport = :{port}", "and", f"dst {peer.address}").splitlines()


class Net(threading.Thread):
    """All links, and who may speak: a rule for packets from one host to another says whether they are swallowed, and how long they take (s) and how many of
    them are lost. `sees` is called with (from, to, packet) of each that goes out, and may cut what it then does not let through."""

    def __init__(self, n, seed=7):
        super().__init__(daemon=True)
        self.hosts = [Host(1 + i) for i in range(n)]
        self.by_address = {bytes(map(int, h.address.split("."))): h for h in self.hosts}
        self.swallowed, self.slow = set(), {}
        self.sees = lambda a, b, packet: None
        self.random = random.Random(seed)
        self.late, self.n_late = [], 0
        self.start()

    def cut(self, a, b, back=True):
        """From now on nothing comes from a to b, nor back."""
        self.swallowed |= {(a, b), (b, a)} if back else {(a, b)}

    def mend(self, a, b):
        self.swallowed -= {(a, b), (b, a)}

    def slow_down(self, a, b, delay_s, lost):
        self.slow[a, b] = self.slow[b, a] = (delay_s, lost)

    def take(self, a):
        try:
            packet = os.read(a.fd, 65536)
        except BlockingIOError:
            return
        b = self.by_address.get(packet[16:20]) if packet[0] >> 4 == 4 else None
        if not b:
            return
        self.sees(a, b, packet)
        delay_s, lost = self.slow.get((a, b), (0, 0))
        if (a, b) in self.swallowed or self.random.random() < lost:
            return
        self.n_late += 1
        heapq.heappush(self.late, (time.monotonic() + delay_s, self.n_late, b, packet))

    def run(self):
        poll = select.poll()
        by_fd = {h.fd: h for h in self.hosts}
        for fd in by_fd:
            poll.register(fd, select.POLLIN)
        while True:
            wait_ms = max(0, self.late[0][0] - time.monotonic()) * 1000 + 0.5 if self.late else None
            for fd, _ in poll.poll(wait_ms):
                self.take(by_fd[fd])
            while self.late and self.late[0][0] <= time.monotonic():
                _, _, b, packet = heapq.heappop(self.late)
                try:
                    os.write(b.fd, packet)
                except OSError:  # as a full queue does
                    pass
