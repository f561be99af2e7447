# SPDX-License-Identifier: MIT
"""The short table of all benches: each adds its rows of figure, goal, peer and ours to one file."""


def add_figures(path, rows):
    """rows: tuples of text (figure, goal, peer, ours); does nothing without a path."""
    if path:
        with open(path, "a") as file:
            file.writelines("| " + " | ".join(row) + " |\n" for row in rows)
