# SPDX-License-Identifier: MIT
"""farm.py - what the farm tests in Python share: a folder DIR and processes that are gone when the test ends, a PostgreSQL server, trackers, `tune` as users
see it. The first argument of the test is the folder of the programs."""
import contextlib
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BIN = os.path.abspath(sys.argv[1])
NAME = os.path.basename(sys.argv[0])
DIR = tempfile.mkdtemp(prefix="tune-" + NAME.replace(".py", "."))
ENV = {**os.environ, "TUNE_REPLAY_DELAY": "real", "TMPDIR": DIR}
PROCESSES = []  # all that were started


def fail(words):
    newest = sorted(glob.glob(DIR + "/*.log"), key=os.path.getmtime)[-12:]
    for path in newest:
        print(f"--- {os.path.basename(path)}\n{open(path, errors='replace').read()[-3000:]}", file=sys.stderr)
    sys.exit(f"{NAME}: {words}")


def need(fact, words):
    if not fact:
        fail(words)


def until(fact, words, seconds=60):
    end = time.monotonic() + seconds
    while not fact():
        need(time.monotonic() < end, f"{words}: not within {seconds} s")
        time.sleep(0.05)


def start(name, *argv, env=None, **more):
    with open(f"{DIR}/{name}.log", "a") as log:
        p = subprocess.Popen(argv, env=env or ENV, stdout=log, stderr=subprocess.STDOUT, **{"cwd": DIR, **more})
    PROCESSES.append(p)
    return p


def end_all(before=lambda: None):
    """`before` the folder goes."""
    for process in reversed(PROCESSES):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGINT if any(a.endswith("bin/postgres") for a in process.args) else signal.SIGKILL)
            process.wait()
    before()
    shutil.rmtree(DIR, ignore_errors=True)


def tune(*words, code=0):
    """What a user sees: output and words. `code` None: however it ends."""
    r = subprocess.run([f"{BIN}/tune", *words], env=ENV, capture_output=True, text=True)
    need(code in (None, r.returncode), f"tune {' '.join(words)} ended with {r.returncode}: {r.stdout}{r.stderr}")
    return r.stdout, r.stderr


class Server:
    """A PostgreSQL server, or a replica `of` another, with options of its own; exits with 77 where there is none."""

    def __init__(self, name="server", of=None, options=()):
        initdb = shutil.which("initdb") or next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))), None)
        if not initdb:
            print("skipped: no PostgreSQL server (Debian: postgresql)")
            sys.exit(77)
        self.user = {}
        if os.getuid() == 0:  # the server refuses root
            entry = pwd.getpwnam("postgres")
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid}
        self.name, self.folder, self.options = name, f"{DIR}/{name}", options
        self.bin = os.path.dirname(os.path.realpath(initdb))
        self.program = self.bin + "/postgres"
        os.mkdir(self.folder)
        os.chmod(DIR, 0o755)
        if self.user:
            os.chown(self.folder, self.user["user"], self.user["group"])
        make = [initdb, "-D", self.folder + "/data", "-U", "tune", "--auth=trust", "--no-sync"]
        if of:
            make = [self.bin + "/pg_basebackup", "-D", self.folder + "/data", "-R", "-c", "fast", "--no-sync", "-d",
                    f"host={of.folder} user=tune application_name={name}"]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL, cwd="/", **self.user)
        self.address = f"postgres://tune@/postgres?host={self.folder}"
        self.start()

    def sql(self, text):
        """What psql prints, "" where it cannot."""
        return subprocess.run([self.bin + "/psql", "-qAtX", "-h", self.folder, "-U", "tune", "-c", text, "postgres"], capture_output=True, text=True,
                              cwd="/").stdout.strip()

    def kill(self):
        """With its children, of which one that lived on would serve its client, and hold the memory that the next one wants."""
        pid = self.process.pid
        self.process.send_signal(signal.SIGSTOP)  # it starts no more
        for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
            os.kill(int(child), signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        os.unlink(self.folder + "/.s.PGSQL.5432")

    def start(self):
        self.process = start(self.name, self.program, "-D", self.folder + "/data", "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off",
                             *self.options, cwd="/", **self.user)
        until(lambda: os.path.exists(self.folder + "/.s.PGSQL.5432"), "the server does not listen")


def crc32c(text):
    crc = 0xFFFFFFFF
    for byte in text.encode():
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def key_of(part, n=0):
    """The n-th device key of that part of two."""
    return [k for k in (f"board-{i}" for i in range(100)) if 1 + crc32c(k) % 2 == part][n]


def free_ports(n):
    """So many ports of this machine that nobody has now."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(n)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


class Tracker:
    def __init__(self, name, *options, programs=BIN):
        self.port = free_ports(1)[0]
        self.name, self.options, self.url, self.programs = name, options, f"tcp://127.0.0.1:{self.port}", programs
        self.start()

    def start(self):
        self.process = start(self.name, f"{self.programs}/tune-tracker", "--listen", self.url, *self.options)

    def listens(self):
        with socket.socket() as s:
            return self.process.poll() is None and s.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()
