# SPDX-License-Identifier: MIT
"""browser.py - a headless Chromium, driven over a pipe by its own protocol; nothing but Python's library is needed."""
import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One window. Use it as a context manager."""

    def __init__(self, path, width=1280, height=800, dark=False):
        self.profile = tempfile.mkdtemp(prefix="tune-page.")
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_read, to_write)]

        def take_places():  # the protocol's: 3 is read, 4 written
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe", "--user-data-dir=" + self.profile,
             "about:blank"],
            preexec_fn=take_places, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in [to_read, to_write] + high:
            os.close(fd)
        self.n, self.rest, self.session, self.errors = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.look(width, height, dark)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        """One command and its result; what goes wrong in the page meanwhile is noted in `errors`."""
        self.n += 1
        order = {"id": self.n, "method": method, "params": params}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.to, json.dumps(order).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("method") == "Runtime.exceptionThrown":
                details = got["params"]["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description", details["text"]))
            if got.get("method") == "Log.entryAdded" and got["params"]["entry"]["level"] == "error":
                self.errors.append(got["params"]["entry"]["text"] + " " + got["params"]["entry"].get("url", ""))
            if got.get("id") == self.n:
                if "error" in got:
                    raise RuntimeError("%s: %s" % (method, got["error"]["message"]))
                return got["result"]

    def look(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.call("Page.navigate", url=url)

    def ask(self, expression):
        """The value of a JavaScript expression, promises waited for."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError("%s: %s" % (expression, got["exceptionDetails"].get("exception", {}).get("description")))
        return got["result"].get("value")

    def wait(self, expression, seconds=20):
        """Waits until the expression is true; how long that took."""
        begun = time.monotonic()
        while True:
            try:
                if self.ask("Boolean(%s)" % expression):
                    return time.monotonic() - begun
            except RuntimeError: # the page is being changed
                pass
            if time.monotonic() - begun > seconds:
                raise AssertionError("not within %g s: %s" % (seconds, expression))
            time.sleep(0.05)

    def key(self, name, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Emulation.setFocusEmulationEnabled", enabled=True)
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code,
                      **({"text": "\r"} if name == "Enter" and kind == "keyDown" else {}))

    def picture(self, path, whole=True, most=2600):
        """A PNG of the page, or of the window alone."""
        clip = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], most), "scale": 1},
                    "captureBeyondViewport": True}
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"]))
