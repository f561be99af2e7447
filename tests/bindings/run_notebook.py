# SPDX-License-Identifier: MIT
"""run_notebook.py FILE - executes the code cells of a notebook one after the other, as Jupyter would; what a cell raises ends it."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    notebook = json.load(f)
names: dict = {"__name__": "__main__"}
cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
for i, cell in enumerate(cells, 1):
    exec(compile(cell, f"{sys.argv[1]}, cell {i}", "exec"), names)
assert names["env"]["best_config"]["status"] == "ok" and names["run"].best["status"] == "ok"
print(f"{len(cells)} cells")
