#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our search on recorded spaces through tune replay, a JSON line a run: `ours` one at a time, `ours_b16` in batches of 16,
`ours_warm` with the other devices' records of the same kernel as history; any other method is a strategy's name."""
import argparse
import subprocess

from spaces import spaces_in


def replay(args, space, method, *more):
    strategy = args.strategy if method.startswith("ours") else method
    words = [args.tune, "replay", "--space", space.path, "--strategy", strategy, "--budget", str(args.budget), "--seeds", str(args.seeds),
             "--method", method, *more]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
    with open(args.out, "a") as out:
        out.write(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tune", required=True, help="the tune program")
    parser.add_argument("--data", required=True, help="directory of recorded spaces")
    parser.add_argument("--spaces", default="", help="only these, comma-separated")
    parser.add_argument("--methods", default="ours,ours_b16,ours_warm")
    parser.add_argument("--strategy", default="auto", help="that of ours, ours_b16 and ours_warm")
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", required=True, help="JSON lines; replaced")
    args = parser.parse_args()
    open(args.out, "w").close()
    spaces = spaces_in(args.data)
    wanted = args.spaces.split(",") if args.spaces else [space.name for space in spaces]
    for method in args.methods.split(","):
        for space in [space for space in spaces if space.name in wanted]:
            others = [o.path for o in spaces if o.kernel == space.kernel and o.configs == space.configs and o.name != space.name]
            if method == "ours_warm" and not others:
                continue
            more = {"ours_b16": ("--batch", "16"), "ours_warm": ("--history", ",".join(others))}
            replay(args, space, method, *more.get(method, ()))


if __name__ == "__main__":
    main()
