#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tidy.py BUILD FILE... - clang-tidy over files as BUILD/compile_commands.json compiles them, several at a time.

A file in which nothing was found is kept by the hash of what was looked at (the file, what it includes of the tree, its command,
.clang-tidy, the tool's version) in BUILD/tidy, and passed over the next time. A file that BUILD does not compile by itself is left
out. Prints what was found; exit 1 when that is anything."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys


def included(entry):
    """The file and the headers of the tree that it includes, as the compiler finds them."""
    words = shlex.split(entry["command"])
    at = words.index("-o")
    command = words[:at] + words[at + 2 :] + ["-MM"]
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{entry['file']} does not compile:\n{done.stderr}")
    return done.stdout.replace("\\\n", " ").split(":", 1)[1].split()


def key_of(entry, common):
    key = hashlib.sha256(common)
    key.update(entry["command"].encode())
    for name in included(entry):
        key.update(pathlib.Path(entry["directory"], name).read_bytes())
    return key.hexdigest()


def look_at(build, entry, common):
    """What clang-tidy says of one file, and whether it ran."""
    try:
        kept = build / "tidy" / key_of(entry, common)
    except ValueError as e:
        return str(e), False
    if kept.exists():
        return "", False
    done = subprocess.run(["clang-tidy", "--quiet", "-p", build, entry["file"]], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        kept.touch()
        return "", True
    return done.stdout + done.stderr, True


def main():
    build = pathlib.Path(sys.argv[1])
    wanted = {os.path.realpath(name) for name in sys.argv[2:]}
    entries = json.loads((build / "compile_commands.json").read_text())
    entries = list({e["file"]: e for e in entries if os.path.realpath(e["file"]) in wanted}.values())
    if not entries:
        sys.exit(f"tidy.py: {build} compiles none of the {len(wanted)} files")
    (build / "tidy").mkdir(exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    common = version + pathlib.Path(".clang-tidy").read_bytes()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda entry: look_at(build, entry, common), entries))
    found = [text for text, _ in results if text]
    print("\n".join(found), end="\n" if found else "")
    print(f"clang-tidy: {len(entries)} files, {sum(ran for _, ran in results)} of them looked at anew, something found in {len(found)}")
    sys.exit(1 if found else 0)


main()
