#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wrong.py [ID...] - measures wrong kernels, and tells which of them are accepted.

tests/wrong/kernels.json has a kernel a line: a text of a file below kernels/ and what stands in its place, the template, workload
and config that it is measured with. They were drawn by somebody who had not seen how kernels are verified, and each was shown to
compute or write something wrong for some data or launch that the operator allows; but for those that say why it does not
("allowed"), and those that go wrong so seldom that docs/measuring.md says they are not seen ("unseen"): accepted, these count
apart. Some compute what is right otherwise than the text does ("right"): refused, they are mistakes of verification. Needs
build/bin and a CPU over OpenCL.

  --set FILE    kernels from there instead
  --class TEXT  only classes with this text in their name
  --part I/N    every N-th, from the I-th
  --out FILE    a JSON line for each verdict; what stands there already is taken as it is: who was stopped goes on
With TUNE_TRACKER all are measured by one farm.
Ends with a table by class. Exit 1: a wrong one was accepted or a right one refused; 2: a text is no longer in its file."""
import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
TUNE = TREE / "build" / "bin" / "tune"
MARKS = ("allowed", "unseen")  # with the reason, in a kernel that may pass
VERDICTS = ("refused", "accepted", *MARKS, "right", "right refused", "not measured")

# What some of them call: a counter of calls that outlives launches, the processor's clock, fewer bits of a float.
HELPERS = r'''
DEVICE int count_up(void)
{
    int v_ = 1;
    __asm__ volatile(".ifndef wrong_count\n\t.pushsection .bss\n\t.balign 4\nwrong_count:\n\t.long 0\n\t.popsection\n\t.endif\n\t"
                     "lock xaddl %0, wrong_count(%%rip)" : "+r"(v_) : : "memory");
    return v_;
}
DEVICE ulong tsc_now(void)
{
    uint lo_, hi_;
    __asm__ volatile("rdtsc" : "=a"(lo_), "=d"(hi_));
    return (ulong)hi_ << 32 | lo_;
}
#define LOW_BITS(v, mask) as_float(as_uint((float)(v)) & (mask))
'''


def kernels(path):
    return json.loads(pathlib.Path(path).read_text())


def patched(kernel, folder):
    """A copy of kernels/ with the wrong one; False: its text is not there as often as it was."""
    shutil.copytree(TREE / "kernels", folder)
    for name, right, wrong in kernel["patch"]:
        text = (folder / name).read_text()
        if text.count(right) != kernel.get("times", 1):
            return False
        (folder / name).write_text(text.replace(right, wrong))
    with open(folder / "preamble_opencl.h", "a") as f:
        f.write(HELPERS)
    return True


def config_of(kernel):
    """The template's default with the kernel's own knobs in it; "" = the default."""
    if "config" not in kernel:
        return ""
    said = subprocess.run([TUNE, "spaces", kernel["workload"], "--template", kernel["template"]], capture_output=True, text=True)
    default = next(line.split(":", 1)[1] for line in said.stdout.splitlines() if line.strip().startswith("default:"))
    knobs = dict(k.split("=") for k in default.split())
    knobs.update(k.split("=") for k in kernel["config"].split())
    return " ".join(f"{k}={v}" for k, v in knobs.items())


def measured(kernel, folder):
    command = [TUNE, "measure", kernel["workload"], "--template", kernel["template"], "--kernel-dir", folder, "--json"]
    config = config_of(kernel)
    if config:
        command += ["-c", config]
    if not kernel.get("timing"):  # those that go wrong behind the first calls are timed as a trial is
        command += ["--repeat", "2", "--min-repeat-ms", "1"]
    said = subprocess.run(command, capture_output=True, text=True)
    lines = [json.loads(line) for line in said.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return "error", (said.stderr.strip().splitlines() or ["?"])[-1]
    return lines[-1]["status"], lines[-1].get("why", "")


def known(path):
    """Verdicts of --out by id, of a run that was stopped."""
    if not path or not pathlib.Path(path).exists():
        return {}
    lines = (json.loads(line) for line in pathlib.Path(path).read_text().splitlines())
    return {line["id"]: (line["status"], line["why"]) for line in lines}


def measured_anew(kernel, out):
    """Status and why, None: stale."""
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "kernels"
        if not patched(kernel, folder):
            return None
        status, why = measured(kernel, folder)
    if out:
        with open(out, "a") as f:
            f.write(json.dumps({"id": kernel["id"], "status": status, "why": why}) + "\n")
    return status, why


def verdict_of(kernel, status):
    if "right" in kernel and status not in ("error", "build"):
        return "right" if status == "ok" else "right refused"
    if status == "ok":
        return next((mark for mark in MARKS if mark in kernel), "accepted")
    return "not measured" if status in ("error", "build") else "refused"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--set", default=TREE / "tests/wrong/kernels.json")
    parser.add_argument("--class", dest="of", default="")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--out")
    args = parser.parse_args()
    first, step = map(int, args.part.split("/"))
    chosen = [k for k in kernels(args.set) if (not args.ids or k["id"] in args.ids) and args.of in k["class"]][first::step]
    table, stale, before = collections.defaultdict(collections.Counter), [], known(args.out)
    for kernel in chosen:
        verdict = before.get(kernel["id"]) or measured_anew(kernel, args.out)
        if not verdict:
            stale.append(kernel["id"])
            continue
        status, why = verdict
        table[kernel["class"]][verdict_of(kernel, status)] += 1
        said = next((f"{m}: {kernel[m]}" for m in MARKS if m in kernel and status == "ok"), why)
        print(f"{kernel['id']:<24} {status:<8} {said[:110]}", flush=True)
    print(f"\n{'class':<28}", *(f"{v:>{len(v) + 2}}" for v in VERDICTS))
    total = sum(table.values(), collections.Counter())
    for name, n in [*sorted(table.items()), ("all", total)]:
        print(f"{name:<28}", *(f"{n[v]:>{len(v) + 2}}" for v in VERDICTS))
    for kernel_id in stale:
        print(f"stale: {kernel_id}: its text is no longer in its file", file=sys.stderr)
    return 2 if stale else 1 if total["accepted"] or total["right refused"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(1)
