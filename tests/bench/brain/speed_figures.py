#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what the benches of spaces (spaces/peers.py) or of trees (bench_trees) printed and adds their rows to the table of figures."""
import argparse
import re
import sys

from figures import add_figures

TRAINING = {256: 5, 1024: 5, 4096: 3, 262144: 1.5}  # rows: times faster than the faster peer


def spaces(lines):
    """Rows of spaces/peers.py's table: of the peers' cells '12.34 same' the least, beside ours."""
    heads, rows = [], []
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == "space":
            heads = cells
        elif heads and len(cells) == len(heads) and not cells[0].startswith("-"):
            row = dict(zip(heads, cells))
            peers = {head.split()[0]: row[head] for head in heads if head.endswith(" ms") and head.split()[0] not in ("build", "listed")}
            times = {name: float(cell.split()[0]) for name, cell in peers.items() if re.match(r"[\d.]+ ", cell)}
            best = min(times, key=times.get) if times else None
            ours = float(row["build ms"])
            against = f"{times[best]:.2f} ms ({best}, set {peers[best].split(None, 1)[1]})" if best else ", ".join(peers.values())
            rows.append((f"space {row['space']}, {row['valid']} of {row['raw']}", ">= 50x faster", against,
                         f"{ours:.3f} ms" + (f", {times[best] / ours:.0f}x" if best else "")))
    return rows


def trees(lines):
    """Lines of bench_trees: rows or batch, then ours, XGBoost, LightGBM with 31 and with 64 leaves."""
    rows, training, one_thread = [], True, None
    for line in lines:
        if line.startswith("prediction"):
            training = False
        numbers = re.match(r"\s*(\d+)((?:\s+[\d.]+)+)\s+[\d.]+x(.*)", line)
        if not numbers:
            continue
        n, values, rest = int(numbers[1]), [float(x) for x in numbers[2].split()], numbers[3]
        if training and n in TRAINING:
            peer = min(values[1:])
            rows.append((f"training, 100 trees, n={n}", f">= {TRAINING[n]}x faster", f"{peer:.4f} s", f"{values[0]:.4f} s, {peer / values[0]:.1f}x"))
        elif not training and n == 1:
            rows.append(("prediction, one row", "<= 5 us", f"{min(values[1:]):.1f} us", f"{values[0]:.2f} us"))
        elif not training and "1 thread" in rest:
            one_thread = values[0]
            if n == 4096:
                rows.append(("prediction, batches of 4096", ">= 5x XGBoost's rate", f"{values[1]:.3f} M rows/s",
                             f"{values[0]:.2f} M rows/s, {values[0] / values[1]:.1f}x"))
        elif not training:
            rows.append(("prediction, two threads", "not slower than one", f"{values[1]:.3f} M rows/s", f"{values[0]:.2f} against {one_thread:.2f} M rows/s"))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("spaces", "trees"))
    parser.add_argument("--figures", required=True)
    args = parser.parse_args()
    rows = dict(spaces=spaces, trees=trees)[args.kind](sys.stdin)
    if not rows:
        raise SystemExit(f"speed_figures.py: no figure of {args.kind} in the text")
    add_figures(args.figures, rows)


if __name__ == "__main__":
    main()
