# SPDX-License-Identifier: MIT
"""weights.py - random weights of a network, the same for the same seed: He-scaled, so that activations keep their size
from layer to layer; the second summand of a shortcut is halved, the last layer has half the variance."""
import numpy as np


def window(node):
    """Shape of a layer's weights, [k][c][r][s] or [n][k]."""
    channels = node["x"]["shape"][0]
    if node["op"] == "dense":
        return node["n"], int(np.prod(node["x"]["shape"]))
    if node["op"] == "depthwise_conv2d":
        return channels, 1, node["r"], node["s"]
    return node["k"], channels, node["r"], node["s"]


def make(nodes, seed):
    """name -> (w, bias), float32; and the input image as x."""
    rng = np.random.default_rng(seed)
    out = {nodes[0]["name"]: rng.standard_normal((1, *nodes[0]["shape"]), np.float32)}
    for node in nodes:
        if node["op"] not in ("conv2d", "depthwise_conv2d", "dense"):
            continue
        last = node["op"] == "dense" and "relu" not in node["words"]
        dims = window(node)
        gain = 0.5 if node["residual"] else 1
        scale = gain * np.sqrt((1 if last else 2) / np.prod(dims[1:]))
        w = rng.standard_normal(dims, np.float32) * np.float32(scale)
        out[node["name"]] = (w, rng.standard_normal(dims[0], np.float32) * np.float32(0.05))
    return out
