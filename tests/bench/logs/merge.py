# SPDX-License-Identifier: MIT
"""A peer of `tune log merge` as one would write it: merge.py OUT LOG... keeps each line once, told apart by what it says of
its trial, and passes over lines that are no JSON."""
import json
import sys

seen = set()
with open(sys.argv[1], "wb") as out:
    for path in sys.argv[2:]:
        with open(path, "rb") as log:
            for line in log:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                trial = record["id"], record["job"], record["ts"]
                if trial not in seen:
                    seen.add(trial)
                    out.write(line)
