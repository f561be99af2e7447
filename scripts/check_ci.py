#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_ci.py - holds .github/workflows/*.yml against the tree: each job has what it needs to run, and what it runs of scripts/
is there and knows its arguments. Exit 1 with a line for each fault."""
import glob
import itertools
import os
import re
import shlex
import subprocess
import sys

import yaml

# Scripts whose arguments are words of a list that they tell themselves.
LISTS = {"scripts/check.sh": "--steps", "scripts/test.sh": "--labels"}
REQUIRED = ("runs-on", "container", "timeout-minutes", "steps")


def expansions(job):
    """The values of the job's matrix, a dict each."""
    matrix = job.get("strategy", {}).get("matrix", {})
    keys = list(matrix)
    return [dict(zip(keys, values)) for values in itertools.product(*(matrix[key] for key in keys))]


def expanded(text, values):
    """The text of a `run` with the matrix's values; KeyError names one that the matrix lacks."""
    return re.sub(r"\$\{\{\s*matrix\.(\w+)\s*\}\}", lambda found: str(values[found.group(1)]), text)


def command_faults(words):
    """What is wrong with one command: its words as the shell splits them."""
    script = words[0]
    if not script.startswith("scripts/"):
        return
    if not os.access(script, os.X_OK):
        yield f"{script}: there is no such script"
        return
    if script in LISTS:
        known = subprocess.run([script, LISTS[script]], capture_output=True, text=True, check=True).stdout.split()
    else:
        with open(script, encoding="utf-8") as file:
            known = re.findall(r"--[a-z0-9-]+", file.read())
    for word in words[1:]:
        if word not in known:
            yield f"{script} does not know '{word}'; it knows: {' '.join(known)}"


def step_faults(step, values):
    if ("run" in step) == ("uses" in step):
        yield "a step has either `run` or `uses`"
    elif "uses" in step:
        if not re.fullmatch(r"[\w-]+/[\w./-]+@(v\d+|[0-9a-f]{40})", step["uses"]):
            yield f"{step['uses']}: expected owner/name@ and a version"
    else:
        try:
            for line in expanded(step["run"], values).splitlines():
                for command in line.split("&&"):
                    yield from command_faults(shlex.split(command))
        except KeyError as missing:
            yield f"{step['run']}: the matrix has no {missing}"


def file_faults(path):
    with open(path, encoding="utf-8") as file:
        workflow = yaml.safe_load(file)
    if True not in workflow and "on" not in workflow:  # YAML 1.1 reads `on` as a truth
        yield "expected `on`"
    for name, job in workflow["jobs"].items():
        for key in REQUIRED:
            if not job.get(key):
                yield f"job {name}: expected {key}"
        for needed in job.get("needs", []):
            if needed not in workflow["jobs"]:
                yield f"job {name} needs {needed}, which is no job"
        for values in expansions(job):
            for step in job.get("steps", []):
                for fault in step_faults(step, values):
                    yield f"job {name}: {fault}"


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    paths = sorted(glob.glob(".github/workflows/*.yml"))
    try:
        faults = sorted({f"{path}: {fault}" for path in paths for fault in file_faults(path)})
    except yaml.YAMLError as fault:
        sys.exit(f"{fault}")
    for fault in faults:
        print(fault)
    if faults or not paths:
        sys.exit(f"check_ci.py: {len(faults)} faults in {len(paths)} files")
    print(f"continuous integration: {' '.join(paths)} runs what there is")


if __name__ == "__main__":
    main()
