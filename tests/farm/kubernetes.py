#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kubernetes.py BIN SHARE - the manifests of share/kubernetes under a stand-in for a cluster: what they refer to is there, and their containers'
commands, probes and ends are those of a farm. A pod is a process of this machine with folders and ports of its own, a service a proxy to the pod
that is ready. What needs a cluster (images, GPUs, users, affinity) is not looked at. Exit 77: no PyYAML."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

try:
    import yaml
except ImportError:
    print("skipped: no PyYAML (Debian: python3-yaml)")
    sys.exit(77)

BIN, SHARE = sys.argv[1:3]
DIR = tempfile.mkdtemp(prefix="tune-kube.")
PODS = []


def need(fact, words):
    if not fact:
        for pod in PODS:
            print(f"--- {pod.name}\n{open(pod.log).read()}", file=sys.stderr)
        sys.exit(f"kubernetes.py: {words}")


def until(fact, words, seconds=30):
    end = time.monotonic() + seconds
    while not fact():
        need(time.monotonic() < end, f"{words}: not within {seconds} s")
        time.sleep(0.1)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Pod:
    """A container's life: started with its environment and volumes, probed, ended by SIGTERM."""

    def __init__(self, name, spec, given):
        self.name, self.spec, self.container = name, spec, spec["containers"][0]
        self.root = os.path.join(DIR, name)
        self.log = self.root + ".log"
        self.ports = {"9477": str(free_port()), "9478": str(free_port())}
        self.env = {"PATH": f"{BIN}:/usr/bin:/bin", "TMPDIR": DIR, "HOME": DIR, "TUNE_REPLAY_DELAY": "real"}
        for e in self.container["env"]:
            self.env[e["name"]] = given.get(e["name"], e.get("value", name))
        os.makedirs(self.root + "/run")
        PODS.append(self)
        self.start()

    def here(self, text):
        """What is at fixed places in a pod of its own, at this pod's."""
        text = text.replace("/run/tune", self.root + "/run").replace("/etc/tune", DIR + "/secret")
        for port, mine in self.ports.items():
            text = text.replace(f"0.0.0.0:{port}", f"127.0.0.1:{mine}").replace(f"127.0.0.1:{port}", f"127.0.0.1:{mine}")
        return text

    def start(self):
        argv = [self.here(word) for word in self.container["command"] + self.container.get("args", [])]
        self.process = subprocess.Popen(argv, env=self.env, stdout=open(self.log, "a"), stderr=subprocess.STDOUT)

    def probe(self, **env):
        """livenessProbe; its exit code."""
        probe = self.container["livenessProbe"]
        argv = [self.here(word) for word in probe["exec"]["command"]]
        try:
            return subprocess.run(argv, env={**self.env, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=probe["timeoutSeconds"]).returncode
        except subprocess.TimeoutExpired:
            return -1

    def ready(self):
        get = self.container["readinessProbe"]["httpGet"]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[str(get['port'])]}{get['path']}", timeout=1) as r:
                return r.status == 200
        except OSError:
            return False

    def end(self):
        """SIGTERM, and within the grace period an end that is no failure."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(self.spec["terminationGracePeriodSeconds"])
        except subprocess.TimeoutExpired:
            need(False, f"{self.name} does not end on SIGTERM")
        need(code == 0, f"{self.name} ended with {code}")


def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(listener, pods):
    """The service: connections go to a pod that is ready."""
    while True:
        client, _ = listener.accept()
        target = next((p for p in pods if p.process.poll() is None and p.ready()), None)
        try:
            server = socket.create_connection(("127.0.0.1", int(target.ports["9477"]))) if target else None
        except OSError:
            server = None
        if not server:
            client.close()
            continue
        for a, b in ((client, server), (server, client)):
            threading.Thread(target=pump, args=(a, b), daemon=True).start()


def check_references(documents):
    for d in (d for d in documents if d["kind"] != "Service"):
        spec, labels = d["spec"]["template"]["spec"], d["spec"]["template"]["metadata"]["labels"]
        need(d["spec"]["selector"]["matchLabels"].items() <= labels.items(), f"{d['metadata']['name']} selects no pod of its own")
        for c in spec["containers"]:
            mounts = {m["name"] for m in c["volumeMounts"]}
            need(mounts == {v["name"] for v in spec["volumes"]}, f"{c['name']}: volumes and mounts differ")
            need(c["livenessProbe"] and c["resources"]["limits"], f"{c['name']} has no liveness or no limits")
        need(spec["terminationGracePeriodSeconds"] >= 10, "no time to end")
    services = [d for d in documents if d["kind"] == "Service"]
    tracker = next(d for d in documents if d["metadata"]["name"] == "tune-tracker" and d["kind"] == "Deployment")
    need(services[0]["spec"]["selector"].items() <= tracker["spec"]["template"]["metadata"]["labels"].items(), "the service selects nothing")
    gpus = [d["metadata"]["name"] for d in documents if "nvidia.com/gpu" in json.dumps(d)]
    need(gpus == ["tune-agent-gpu"], f"GPUs are asked for by {gpus}")
    return services[0], tracker


def main():
    documents = [d for name in ("tracker", "agents") for d in yaml.safe_load_all(open(f"{SHARE}/{name}.yaml"))]
    service, tracker = check_references(documents)
    agent = next(d for d in documents if d["metadata"]["name"] == "tune-agent-cpu")["spec"]["template"]["spec"]
    os.makedirs(DIR + "/secret")
    subprocess.run([f"{BIN}/tune", "keygen", DIR + "/secret/farm.key"], check=True, stdout=subprocess.DEVNULL)
    spec = tracker["spec"]["template"]["spec"]
    trackers = [Pod(f"tracker-{i}", spec, {"TUNE_STORE": DIR + "/store"}) for i in range(tracker["spec"]["replicas"])]
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener, trackers), daemon=True).start()
    url = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    need(next(iter(service["spec"]["ports"]))["port"] == 9477, "the service's first port is not the farm's")

    until(lambda: any(p.ready() for p in trackers), "no tracker is ready")
    time.sleep(1)
    need([p.ready() for p in trackers].count(True) == 1, "more than one tracker is ready")
    need([p.probe() for p in trackers] == [0, 0], "a tracker, or its standby, is held for dead")

    space = os.path.join(os.path.dirname(SHARE), "..", "examples", "recorded", "tiles.json")
    given = {"TUNE_TRACKER": url, "TUNE_DEVICE": "replay:" + space, "AGENT_OPTIONS": "--key tiles --batch 4"}
    agents = [Pod(f"agent-{i}", agent, given) for i in range(2)]
    until(lambda: all(a.probe() == 0 for a in agents), "the agents are not held for alive")
    need(agents[0].probe(POD_NAME="nobody") != 0, "an agent that its tracker does not know is held for alive")
    os.mkdir(DIR + "/bin")  # what a tracker says of an agent that hangs: all devices on one line
    for state, alive in (("idle", True), ("lost", False)):
        with open(DIR + "/bin/tune", "w") as f:
            f.write("#!/bin/sh\n" f"""echo '{{"devices":[{{"agent":"other","version":"1","state":"lost"}},"""
                    f"""{{"agent":"{agents[0].name}","version":"1","state":"{state}","device":{{"state":"lost"}}}}]}}'\n""")
        os.chmod(DIR + "/bin/tune", 0o755)
        need((agents[0].probe(PATH=DIR + "/bin:/usr/bin:/bin") == 0) == alive, f"an agent that is {state} is probed wrongly")

    log = DIR + "/log.jsonl"
    run = subprocess.Popen([f"{BIN}/tune", "run", "--tracker", url, "--key-file", DIR + "/secret/farm.key", "--key", "tiles", "--device", "replay:" + space,
                            "--strategy", "random", "--trials", "60", "-q", "-o", log], stdout=subprocess.DEVNULL, stderr=open(DIR + "/run.log", "w"))
    until(lambda: os.path.exists(log) and open(log).read().count("search") >= 4, "nothing is measured")
    agents[0].end()
    active = next(p for p in trackers if p.ready())
    active.end()
    until(lambda: any(p.ready() for p in trackers if p is not active), "the standby does not take over")
    active.start()
    need(run.wait(120) == 0, f"tune run failed: {open(DIR + '/run.log').read()}")
    need(active.probe() == 0 and not active.ready(), "the tracker that came again does not stand by")
    agents[1].end()
    for p in trackers:
        p.end()
    print("kubernetes: one of two trackers ready, the other took over; agents drained")


try:
    main()
finally:
    for pod in PODS:
        if pod.process.poll() is None:
            pod.process.kill()
    shutil.rmtree(DIR, ignore_errors=True)
