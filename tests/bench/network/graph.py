# SPDX-License-Identifier: MIT
"""graph.py - reads kernels/networks/NAME.graph: a list of nodes, each a dict of name, op, x, residual, words, sizes."""


def read(path):
    nodes, by_name = [], {}
    for line in open(path, encoding="ascii"):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        node = {"name": words[0], "op": words[2], "x": None, "residual": None, "words": set()}
        rest = words[3:]
        if node["op"] != "input":
            node["x"] = by_name[rest.pop(0)]
            if rest and rest[0] == "+":
                node["residual"] = by_name[rest[1]]
                rest = rest[2:]
        for word in rest:
            key, equals, value = word.partition("=")
            if equals:
                node[key] = int(value)
            else:
                node["words"].add(word)
        shape(node)
        nodes.append(node)
        by_name[node["name"]] = node
    return nodes


def shape(node):
    """Sets node["shape"] = (c, h, w) and the window of a global pool."""
    x = node["x"]
    if node["op"] == "input":
        node["shape"] = (node["c"], node["h"], node["w"])
    elif node["op"] == "dense":
        node["shape"] = (node["n"], 1, 1)
    elif node["op"] == "softmax":
        node["shape"] = x["shape"]
    else:
        if "global" in node["words"]:
            node["r"], node["s"] = x["shape"][1:]
        stride, pad = node.get("stride", 1), node.get("pad", 0)
        rows = [(size + 2 * pad - window) // stride + 1 for size, window in zip(x["shape"][1:], (node["r"], node["s"]))]
        node["shape"] = (node.get("k", x["shape"][0]), *rows)
