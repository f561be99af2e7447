# SPDX-License-Identifier: MIT
"""page.py BIN TESTS [PICTURES] - the page in a headless Chromium against a real tracker: what it shows is what the store has, changes
arrive, what peers wrote stays text. BIN has tune-tracker and tune, TESTS page_farm. Exit 77, with words, where there is no Chromium.
With a folder PICTURES it draws the pictures of README and docs there instead."""
import fcntl
import html
import json
import math
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser

TITLE = "<img src=x onerror='window.bad=1'><script>window.bad=1</script> \"ResNet-18\" & more"
READY = "document.getElementById('main').dataset.ready === 'yes'"
PATIENCE_S, TRIES = 2, 3  # within which a change has to be seen; changes that are made
CONTRAST = 4.5  # least ratio of a text's luminance to its background's: WCAG 2.1, 1.4.3 (3 for large text)

# The texts whose contrast is too low, by the formula of WCAG 2.1; disabled controls need none.
PALE = """(() => {
  const rgb = (c) => { const m = c.match(/rgba?\\(([^)]+)\\)/); const v = m ? m[1].split(/[ ,/]+/).map(Number) : [0, 0, 0]; return { v: v.slice(0, 3), a: v.length > 3 ? v[3] : 1 }; };
  const over = (top, low) => low.map((x, i) => top.v[i] * top.a + x * (1 - top.a));
  const light = (v) => v.map((x) => x / 255).map((x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4).reduce((s, x, i) => s + x * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => { const up = []; for (; e; e = e.parentElement) up.unshift(rgb(getComputedStyle(e).backgroundColor)); return up.reduce((low, top) => over(top, low), matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255]); };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  for (let t; (t = walk.nextNode());) {
    const e = t.parentElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
    if (!t.data.trim() || !box.width || style.visibility === 'hidden' || e.closest('script,style,[disabled],option')) continue;
    const low = ground(e), ink = over(rgb(e.ownerSVGElement ? style.fill : style.color), low), a = light(ink), b = light(low);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), px = parseFloat(style.fontSize);
    if (ratio < (px >= 24 || (px >= 18.66 && style.fontWeight >= 700) ? 3 : %g)) found.push(t.data.trim().slice(0, 30) + ' ' + ratio.toFixed(2));
  }
  return [...new Set(found)];
})()""" % CONTRAST

# All that can be used, as Tab would reach it; and what is under the focus, told apart from its neighbours by an outline.
USABLE = "[...document.querySelectorAll('a[href],button,select,input')].filter(e => e.getBoundingClientRect().width && !e.disabled)"


class Farm:
    """A tracker, and those who play its peers."""

    def __init__(self, bin_dir, tests_dir, key=False):
        self.dir = tempfile.mkdtemp(prefix="tune-page-farm.")
        self.bin, self.player, self.running = bin_dir, os.path.join(tests_dir, "page_farm"), []
        self.environment = dict(os.environ)
        if key:
            self.environment["TUNE_KEY_FILE"] = os.path.join(self.dir, "farm.key")
            subprocess.check_call([os.path.join(bin_dir, "tune"), "keygen", self.environment["TUNE_KEY_FILE"]], stdout=subprocess.DEVNULL)
        self.tracker = subprocess.Popen(
            [os.path.join(bin_dir, "tune-tracker"), "--listen", "tcp://127.0.0.1:0", "--http", "127.0.0.1:0", "--workers", "0",
             "--store", os.path.join(self.dir, "store")], stdout=subprocess.PIPE, text=True, env=self.environment)
        self.url = self.tracker.stdout.readline().split()[-1]
        self.page = self.tracker.stdout.readline().split()[-1]
        self.http = self.page.split("/?")[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running + [self.tracker]:
            if process.poll() is None:
                process.kill()
            process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def play(self, *words):
        """Starts a player; its first line, and the process."""
        process = subprocess.Popen([self.player, self.url] + [str(w) for w in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, env=self.environment)
        self.running.append(process)
        return process.stdout.readline().strip(), process

    def get(self, path):
        with urllib.request.urlopen(self.http + path) as reply:
            return json.load(reply)

    def records(self, job):
        """The records of the store, whole."""
        found, after = [], 0
        while True:
            got = self.get("/api/jobs/%s/records?max=1000&after=%d" % (job, after))
            if not got["records"]:
                return found
            found += [json.loads(r["record"]) for r in got["records"]]
            after = got["next"]


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError("%s: found %r, expected %r" % (what, found, wanted))


def time_text(ns):
    """Four digits, as the page writes times."""
    value, unit = (ns / 1e6, "ms") if ns >= 1e6 else (ns / 1e3, "µs")
    digits = 4 - (math.floor(math.log10(value)) + 1)
    return ("%.*f %s" % (max(0, digits), value, unit))


def cells(window, table, row):
    return window.ask("[...document.querySelectorAll('#%s tbody tr')][%d] && [...document.querySelectorAll('#%s tbody tr')[%d].cells].map(c => c.innerText.trim())" % (table, row, table, row))


def no_errors(window):
    expect(window.errors, [], "errors of the page")
    expect(window.ask("window.bad === undefined"), True, "no script of a stranger ran")


def check_job(window, farm, job):
    """Each layer's default, best and counts, each failure's count and first message, by the records themselves."""
    records = farm.records(job)
    window.open(farm.http + "/job/" + job)
    window.wait("location.pathname === '/job/%s' && %s" % (job, READY))
    expect(window.ask("document.querySelector('#job h1').textContent"), TITLE, "title")
    expect(window.ask("document.querySelectorAll('#main img, #main script').length"), 0, "elements out of a title")
    for i, workload in enumerate(dict.fromkeys(r["workload"] for r in records)):
        mine = [r for r in records if r["workload"] == workload]
        last = {}
        for r in mine:
            if r["status"] == "ok":
                last[json.dumps(r["knobs"])] = r
        good = list(last.values())
        best = min(good, key=lambda r: r["time_ns"])
        start = next(r for r in mine if r["proposed_by"] == "init")
        shown = cells(window, "layers", i)
        expect(shown[1], time_text(start["time_ns"]), "default of " + workload)
        expect(shown[2], time_text(best["time_ns"]), "best of " + workload)
        expect(shown[4], "%.1f" % (best["flops"] / best["time_ns"]), "GFLOPS of " + workload)
        expect(shown[5], "%.2f×" % (start["time_ns"] / best["time_ns"]), "gain of " + workload)
        ties = sum(r is not best and abs(math.log(r["time_ns"] / best["time_ns"])) < max(0.01, 2 * math.hypot(r["se"], best["se"])) for r in good)
        expect(shown[6], str(ties) if ties else "", "ties of " + workload)
        expect(shown[7], str(len(mine)), "trials of " + workload)
        expect(shown[8], str(sum(r["status"] != "ok" for r in mine)), "failures of " + workload)
    failed = [r for r in records if r["status"] != "ok"]
    classes = sorted(dict.fromkeys(r["status"] for r in failed), key=lambda s: -sum(r["status"] == s for r in failed))
    for i, status in enumerate(classes):
        first = next(r for r in failed if r["status"] == status)
        shown = cells(window, "failures", i)
        expect(shown[:2], [status, str(sum(r["status"] == status for r in failed))], "failures")
        expect(shown[2], first["stage"] + ": " + first["why"], "first message")
    check_trial(window, records)
    no_errors(window)


def check_trial(window, records):
    """The best config's samples, reached by the keyboard alone."""
    window.ask("document.querySelector('#top button').focus()")
    window.key("Enter", 13)
    window.wait("document.querySelector('dialog svg')")
    best = window.ask("document.querySelector('dialog h1').textContent").split()[1]
    record = next(r for r in records if r["id"] == best)
    expect(window.ask("document.querySelector('dialog svg').getAttribute('aria-label')"),
           "%d samples, median %s" % (len(record["samples_ns"]), time_text(sorted(record["samples_ns"])[4])), "samples")
    window.wait("[...document.querySelectorAll('dialog button')].some(b => b.textContent === 'show opencl-c' && !b.click())")
    window.wait("document.querySelector('dialog pre') && document.querySelector('dialog pre').textContent.startsWith('__kernel void conv(') && document.querySelector('dialog pre').textContent.includes('<script>window.bad')")
    window.key("Escape", 27)
    window.wait("!document.querySelector('dialog')")


def check_live(window, farm):
    """A trial's record is seen on both pages within two seconds of its being sent; a job without FLOPs says its time."""
    job, player = farm.play("live", 60, "a living job")
    for path, shown in (("/", "document.querySelector('#jobs').innerText.includes('60/120')"), ("/job/" + job, "document.querySelector('#section-summary b').textContent === '60'")):
        window.open(farm.http + path)
        window.wait("location.pathname === '%s' && %s && %s" % (path, READY, shown))
    took = []
    for n in range(TRIES):  # the quickest counts: a busy machine may hold one up, not each
        player.stdin.write("\n")
        player.stdin.flush()
        took.append(window.wait("document.querySelector('#section-summary b').textContent === '%d'" % (61 + n)))
    if min(took) > PATIENCE_S:
        raise AssertionError("records were seen after %s s" % took)
    no_errors(window)
    print("a record is seen %.2f s after it was asked for, the slowest of %d %.2f s" % (min(took), TRIES, max(took)))
    return player


def check_long_job(window, farm):
    """Of a job with more records than a page takes, each can be reached, and the page says which it shows."""
    job, player = farm.play("job", 20400, "a long job")
    player.wait()
    window.open(farm.http + "/job/" + job)
    said = "document.getElementById('window') && document.getElementById('window').textContent.replace(/\\s/g, ' ')"
    top = "document.querySelector('#list tbody td').innerText"
    total, press = "document.querySelector('#section-summary b').textContent.replace(/\\s/g, ' ') === '%s'", "[...document.querySelectorAll('.note button')].find(b => b.textContent === '%s').click()"
    newest = farm.get("/api/jobs/%s/trials?after=20399" % job)["rows"][0]["id"]
    middle = farm.get("/api/jobs/%s/trials?after=19999&max=1" % job)["rows"][0]["id"]
    for button, shown, last in ((None, "1 401 to 20 400", newest), ("earlier", "1 001 to 20 000", middle), ("later", "1 401 to 20 400", newest)):
        if button:
            window.ask(press % button)
        window.wait("(%s || '').includes('%s') && %s && %s === '%s'" % (said, shown, total % "20 000", top, last), 30)
    no_errors(window)


def check_killed_agent(window, farm):
    """An agent that is killed is shown as lost long before its time is over."""
    window.open(farm.http + "/")
    find = "[...document.querySelectorAll('#devices tbody tr')].find(r => r.innerText.includes('rtx-3090-000'))"
    _, agents = farm.play("agents", 4)
    window.wait("%s && %s.innerText.includes('idle')" % (find, find))
    agents.kill()
    took = window.wait("%s.innerText.includes('lost')" % find, 20)
    no_errors(window)
    print("a killed agent is lost after %.1f s" % took)


def check_token(path, bin_dir, tests_dir):
    """With a key the page asks for the token: the printed address opens it, and leaves no token behind."""
    with Farm(bin_dir, tests_dir, key=True) as farm, browser.Browser(path) as window:
        try:
            farm.get("/api/jobs")
            raise AssertionError("answered without a token")
        except urllib.error.HTTPError as e:
            expect(e.code, 401, "status without a token")
        farm.play("job", 30, "behind a token")
        window.open(farm.page)
        window.wait(READY)
        expect(window.ask("location.search"), "", "address behind the token")
        window.wait("document.querySelector('#ended').innerText.includes('behind a token')")
        no_errors(window)


def check_keyboard(window):
    """Tab reaches the first twenty of all that can be used, each once, in their order, and the focus is seen."""
    wanted = min(20, window.ask(USABLE + ".length"))
    window.ask("document.activeElement.blur()")
    for i in range(wanted):
        window.key("Tab", 9)
        expect(window.ask("%s.indexOf(document.activeElement)" % USABLE), i, "Tab %d" % i)
        expect(window.ask("getComputedStyle(document.activeElement).outlineStyle !== 'none'"), True, "outline of the focus, Tab %d" % i)


def check_looks(window, places):
    """Each page in both colour schemes: nothing pale, all of it by keyboard."""
    for place in places:
        for dark in (False, True):
            window.look(1280, 800, dark)
            window.open(place)
            window.wait("location.href === '%s' && %s" % (place, READY))
            expect(window.ask(PALE), [], "pale texts of %s, %s" % (place, "dark" if dark else "light"))
        check_keyboard(window)


def check(path, bin_dir, tests_dir):
    with Farm(bin_dir, tests_dir) as farm, browser.Browser(path) as window:
        job, player = farm.play("job", 300, TITLE)
        player.wait()
        check_job(window, farm, job)
        check_live(window, farm)
        check_killed_agent(window, farm)
        check_long_job(window, farm)
        check_looks(window, [farm.http + place for place in ("/", "/job/" + job, "/device/pc-cpu/pc-cpu-player", "/compare/%s/j2" % job)])
        window.look(390, 800, dark=True)
        for place in ("/", "/job/" + job, "/device/pc-cpu/pc-cpu-player", "/compare/%s/j2" % job):
            window.open(farm.http + place)
            window.wait("location.pathname === '%s' && %s" % (place, READY))
            expect(window.ask("document.documentElement.scrollWidth <= innerWidth"), True, "fits on a phone: " + place)
        no_errors(window)
    check_token(path, bin_dir, tests_dir)


def pictures(path, bin_dir, tests_dir, out):
    os.makedirs(out, exist_ok=True)
    with Farm(bin_dir, tests_dir) as farm, browser.Browser(path) as window:
        job, player = farm.play("job", 1500, "ResNet-18, the three layers that cost most")
        player.wait()
        farm.play("job", 240, "dense layers, a first look")[1].wait()
        farm.play("live", 420, "MobileNet v3, f32")
        farm.play("agents", 6)
        for place, name, width, height, dark in (
                ("/", "page-farm", 1100, 620, False), ("/job/" + job, "page-job", 1100, 880, False),
                ("/compare/%s/j2" % job, "page-compare", 1100, 700, False), ("/job/" + job, "page-phone", 390, 780, True),
                ("/device/rk3399-mali/rk3399-mali-000", "page-device", 1100, 620, True)):
            while name == "page-device" and len(farm.get("/api/devices/rk3399-mali-000")["history"]["ts_ms"]) < 8:
                time.sleep(1)
            window.look(width, height, dark)
            window.open(farm.http + place)
            window.wait("location.pathname === '%s' && %s" % (place, READY))
            time.sleep(1.5)
            window.picture(os.path.join(out, name + ".png"), whole=False)
            print(os.path.join(out, name + ".png"), os.path.getsize(os.path.join(out, name + ".png")), "bytes")
        no_errors(window)
        terminal_picture(window, bin_dir, out)


def screen_of(output):
    """What a terminal shows of this: lines that were overwritten are gone; bold stays as markup."""
    lines = []
    for line in output.replace("\r\n", "\n").split("\n"):
        line = line.split("\r")[-1].replace("\033[K", "")
        lines.append(html.escape(line).replace("\033[1m", "<b>").replace("\033[0m", "</b>"))
    return "\n".join(lines).rstrip()


def report_picture(window, bin_dir, folder, out):
    """`tune report` of the log that the run has left in the folder."""
    name = os.path.join(out, "page-report.png")
    subprocess.check_call([os.path.join(bin_dir, "tune"), "report", "tune.jsonl", "-o", "report.html"], cwd=folder)
    window.look(1100, 880)
    window.open("file://" + os.path.join(folder, "report.html"))
    window.wait("document.querySelector('#layers')")
    time.sleep(0.5)
    window.picture(name, whole=False)
    print(name, os.path.getsize(name), "bytes")


def terminal_picture(window, bin_dir, out):
    """`tune run` on a recorded space, in a terminal of 100 columns."""
    space = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "recorded", "tiles.json")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(space, folder)
        shutil.copy(space.replace(".json", ".csv"), folder)
        words = ["tune", "run", "--device", "replay:tiles.json", "--trials", "60"]
        to, at = pty.openpty()
        fcntl.ioctl(at, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        process = subprocess.Popen([os.path.join(bin_dir, words[0])] + words[1:], cwd=folder, stdin=at, stdout=at, stderr=at)
        os.close(at)
        said = b""
        while True:
            try:
                piece = os.read(to, 65536)
            except OSError:  # its other end is closed
                break
            if not piece:
                break
            said += piece
        process.wait()
        os.close(to)
        report_picture(window, bin_dir, folder, out)
        page = os.path.join(folder, "terminal.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write("<!doctype html><meta charset=utf-8><style>body{margin:0;background:#14171a}pre{margin:0;padding:18px 22px;display:inline-block;"
                       "color:#e6e9ec;font:13px/1.45 'DejaVu Sans Mono',monospace}i{font-style:normal;color:#5fce93}</style><pre><i>$</i> "
                       + html.escape(" ".join(words)) + "\n" + screen_of(said.decode()) + "</pre>")
        window.open("file://" + page)
        window.wait("document.querySelector('pre')")
        width, height = window.ask("[document.querySelector('pre').offsetWidth, document.querySelector('pre').offsetHeight]")
        window.look(width, height)
        window.picture(os.path.join(out, "terminal-run.png"), whole=False)
        print(os.path.join(out, "terminal-run.png"), os.path.getsize(os.path.join(out, "terminal-run.png")), "bytes")


def main():
    path = browser.find()
    if not path:
        print("skipped: no Chromium here; scripts/install_deps.sh --browser installs one")
        return 77
    places = [os.path.abspath(a) for a in sys.argv[1:4]]
    if len(places) > 2:
        pictures(path, *places)
    else:
        check(path, *places)
    return 0


if __name__ == "__main__":
    sys.exit(main())
