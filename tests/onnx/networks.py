# SPDX-License-Identifier: MIT
"""networks.py OUT [--short] [--size N] [--width X] [--batch N[,N]] [--negate] NAME... - networks that people deploy, as exporters write them,
with seeded weights; for each OUT/NAME.onnx, and for each batch and element type a folder OUT/NAME-TYPE-BATCH with an input x.bin
what onnxruntime makes of it, y.bin (y0.bin, y1.bin, ... of several), and `limit`, how far others may be from that. --short: each kind of block once or twice;
--width: of all channels. Prints the names; all of them without NAME. OUT/NAME-cut.onnx and OUT/NAME-cut-f16-BATCH, of the last batch, are
the same network in pieces. --negate: turns the sign of a channel's weights in OUT, an imported model's folder, instead.

Nodes are computed while they are made, by onnxruntime: so batch norms have the mean and variance of what they read, as
those of a trained network do, and no layer's output dies away or grows."""
import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

X = "images"
HALF_LIMIT = 2e-3 # what an operator in f16 may be off
TYPES = {"f32": np.float32, "f16": np.float16}


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Network:
    """Nodes one after the other, with their values of a batch of four; each method gives the name of its output."""

    def __init__(self, seed, size, width, short, opset=17):
        self.rng, self.width, self.short, self.opset = np.random.default_rng(seed), width, short, opset
        self.nodes, self.constants, self.scope = [], {}, ""
        self.values = {X: self.normal(4, 3, size, size)}

    def normal(self, *shape):
        return self.rng.standard_normal(shape, np.float32)

    def wide(self, channels):
        """That many at width 1; a multiple of 8."""
        return max(8, int(channels * self.width + 4) // 8 * 8)

    def few(self, blocks):
        return blocks[:3] if self.short else blocks

    def times(self, n):
        return min(n, 2) if self.short else n

    def constant(self, value, name="Constant"):
        out = f"{self.scope}/{name}_{len(self.constants)}"
        self.constants[out] = numpy_helper.from_array(np.asarray(value), out)
        self.values[out] = np.asarray(value)
        return out

    def node(self, kind, *inputs, n_out=1, **attributes):
        names = [f"{self.scope}/{kind}_{len(self.nodes)}_output_{i}" for i in range(n_out)]
        made = helper.make_node(kind, inputs, names, name=names[0].rsplit("_", 2)[0], **attributes)
        given = {n: self.values[n] for n in inputs if n}
        infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in given.items()]
        graph = helper.make_graph([made], "one", infos, [onnx.ValueInfoProto(name=n) for n in names])
        self.values.update(zip(names, session(self.model_of(graph)).run(None, given)))
        self.nodes.append(made)
        return names if n_out > 1 else names[0]

    def model_of(self, graph):
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def channels(self, x):
        return self.values[x].shape[1]

    # ---- layers ----

    def conv(self, x, k, r=1, stride=1, group=1, bias=True):
        c = self.channels(x) // group
        w = self.normal(k, c, r, r) / np.float32(np.sqrt(c * r * r))
        more = [self.constant(0.1 * self.normal(k), "conv.bias")] if bias else []
        return self.node("Conv", x, self.constant(w, "conv.weight"), *more, kernel_shape=[r, r], group=group, dilations=[1, 1],
                         strides=[stride] * 2, pads=[r // 2] * 4)

    def norm(self, x):
        v, c = self.values[x], self.channels(x)
        mean, variance = v.mean(axis=(0, 2, 3)), v.var(axis=(0, 2, 3))
        values = [1 + 0.1 * self.normal(c), 0.1 * self.normal(c), mean, variance + np.float32(0.1) * variance.mean()]
        return self.node("BatchNormalization", x, *(self.constant(v, "bn") for v in values), epsilon=1e-5, momentum=0.9)

    def unit(self, x, k, r=1, stride=1, group=1, act=None):
        """Conv, BatchNormalization, and a method of this class."""
        x = self.norm(self.conv(x, k, r, stride, group, bias=False))
        return act(x) if act else x

    def depthwise(self, x, r, stride, act):
        return self.unit(x, self.channels(x), r, stride, self.channels(x), act)

    def relu(self, x):
        return self.node("Relu", x)

    def relu6(self, x):
        return self.node("Clip", x, self.constant(np.float32(0)), self.constant(np.float32(6)))

    def hard_swish(self, x):
        return self.node("HardSwish", x)

    def swish(self, x):
        return self.node("Mul", x, self.node("Sigmoid", x))

    def hard_sigmoid(self, x):
        return self.node("HardSigmoid", x, alpha=1 / 6)

    def sigmoid(self, x):
        return self.node("Sigmoid", x)

    def squeeze(self, x, k, act, gate):
        """A factor for each channel, from the mean of all of them."""
        means = self.node("GlobalAveragePool", x)
        return self.node("Mul", gate(self.conv(act(self.conv(means, k)), self.channels(x))), x)

    def linear(self, x, n, largest=None):
        """`largest`: of the sums' magnitudes without the bias."""
        w = self.normal(n, self.channels(x)) / np.float32(np.sqrt(self.channels(x)))
        w = w if largest is None else w * np.float32(largest / np.abs(self.values[x] @ w.T).max())
        return self.node("Gemm", x, self.constant(w, "fc.weight"), self.constant(0.1 * self.normal(n), "fc.bias"), transB=1)

    def size(self, x, axis):
        return self.node("Gather", self.node("Shape", x), self.constant(np.int64(axis)), axis=0)

    def view(self, x, *dims):
        """x.view(x.size(0), ...) as exporters write it."""
        sizes = [self.node("Unsqueeze", self.size(x, 0), self.constant(np.array([0])))]
        return self.node("Reshape", x, self.node("Concat", *sizes, *(self.constant(np.array([d])) for d in dims), axis=0))

    # ---- the model ----

    def model(self, *outputs):
        infos = [helper.make_tensor_value_info(y, TensorProto.FLOAT, ["batch", *self.values[y].shape[1:]]) for y in outputs]
        x = helper.make_tensor_value_info(X, TensorProto.FLOAT, ["batch", *self.values[X].shape[1:]])
        return self.model_of(helper.make_graph(self.nodes, "main_graph", [x], infos, list(self.constants.values())))


def mobilenet_v2(n):
    x = n.unit(X, n.wide(32), 3, 2, act=n.relu6)
    for expand, c, times, stride in n.few(((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                           (6, 320, 1, 1))):
        for i in range(n.times(times)):
            n.scope, k = f"/features/{len(n.nodes)}", n.wide(c)
            y = n.unit(x, n.channels(x) * expand, act=n.relu6) if expand > 1 else x
            y = n.unit(n.depthwise(y, 3, 1 if i else stride, n.relu6), k)
            x = n.node("Add", x, y) if i else y
    x = n.node("GlobalAveragePool", n.unit(x, n.wide(1280), act=n.relu6))
    n.scope = "/classifier"
    return n.model(n.linear(n.node("Flatten", x, axis=1), 1000))


def mobilenet_v3(n):
    """The large one."""
    x = n.unit(X, n.wide(16), 3, 2, act=n.hard_swish)
    blocks = ((3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1),
              (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
              (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1))
    for i, (r, wide, c, squeezes, hard, stride) in enumerate(blocks):
        if n.short and i not in (0, 1, 2, 3, 6, 10):
            continue
        n.scope, k, act = f"/features/{i + 1}", n.wide(c), n.hard_swish if hard else n.relu
        y = n.unit(x, n.wide(wide), act=act) if wide != 16 else x
        y = n.depthwise(y, r, stride, act)
        y = n.squeeze(y, n.wide(n.channels(y) // 4 / n.width), n.relu, n.hard_sigmoid) if squeezes else y
        y = n.unit(y, k)
        x = n.node("Add", y, x) if stride == 1 and n.channels(x) == k else y
    x = n.node("GlobalAveragePool", n.unit(x, n.wide(960), act=n.hard_swish))
    n.scope = "/classifier"
    return n.model(n.linear(n.hard_swish(n.linear(n.node("Flatten", x, axis=1), n.wide(1280))), 1000))


def efficientnet_b0(n):
    x = n.unit(X, n.wide(32), 3, 2, act=n.swish)
    for expand, c, times, stride, r in n.few(((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
                                              (6, 192, 4, 2, 5), (6, 320, 1, 1, 3))):
        for i in range(n.times(times)):
            n.scope, k, narrow = f"/blocks/{len(n.nodes)}", n.wide(c), max(1, n.channels(x) // 4)
            y = n.unit(x, n.channels(x) * expand, act=n.swish) if expand > 1 else x
            y = n.depthwise(y, r, 1 if i else stride, n.swish)
            y = n.unit(n.squeeze(y, narrow, n.swish, n.sigmoid), k)
            x = n.node("Add", y, x) if i else y
    n.scope = "/head"
    x = n.node("ReduceMean", n.unit(x, n.wide(1280), act=n.swish), axes=[2, 3], keepdims=1)
    return n.model(n.linear(n.view(x, -1), 1000))


def resnet_50(n):
    x = n.unit(X, n.wide(64), 7, 2, act=n.relu)
    x = n.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, dilations=[1, 1], ceil_mode=0)
    for i, (c, times) in enumerate(n.few(((64, 3), (128, 4), (256, 6), (512, 3)))):
        for j in range(n.times(times)):
            n.scope, k, stride = f"/layer{i + 1}/{j}", n.wide(c), 2 if i and not j else 1
            y = n.unit(n.unit(n.unit(x, k, act=n.relu), k, 3, stride, act=n.relu), 4 * k)
            x = n.relu(n.node("Add", y, x if j else n.unit(x, 4 * k, 1, stride)))
    n.scope = ""
    x = n.node("Flatten", n.node("GlobalAveragePool", x), axis=1)
    return n.model(n.node("Softmax", n.linear(x, 1000, largest=1), axis=1))  # of larger sums only a few are not 0


def bottlenecks(n, x, c, times, adds):
    """C2f of YOLOv8: half of the channels through some blocks, every block's output kept."""
    half = c // 2
    parts = n.node("Split", n.unit(x, c, act=n.swish), n.constant(np.array([half, half])), n_out=2, axis=1)
    for _ in range(n.times(times)):
        y = n.unit(n.unit(parts[-1], half, 3, act=n.swish), half, 3, act=n.swish)
        parts.append(n.node("Add", parts[-1], y) if adds else y)
    return n.unit(n.node("Concat", *parts, axis=1), c, act=n.swish)


def boxes(n, levels, strides, n_classes, bins=16):
    """The head: of each place of each level bins for the four sides of a box, and classes; [batch, 4 + n_classes, places].
    Boxes are parts of the image, so that they are no larger than classes."""
    flat, rows, across = [], [], []
    for x, stride in zip(levels, strides):
        n.scope, (h, w) = f"/head/{stride}", n.values[x].shape[2:]
        sides = n.conv(n.unit(n.unit(x, n.wide(64), 3, act=n.swish), n.wide(64), 3, act=n.swish), 4 * bins)
        classes = n.conv(n.unit(n.unit(x, n.wide(80), 3, act=n.swish), n.wide(80), 3, act=n.swish), n_classes)
        flat.append(n.view(n.node("Concat", sides, classes, axis=1), 4 * bins + n_classes, -1))
        y, x = np.meshgrid(np.arange(h) + 0.5, np.arange(w) + 0.5, indexing="ij")
        rows.append(np.stack([x.ravel(), y.ravel()]))
        across.append(np.full(h * w, stride / n.values[X].shape[2]))
    n.scope = "/head"
    places, across = np.concatenate(rows, 1).astype(np.float32)[None], np.concatenate(across).astype(np.float32)[None]
    sides, classes = n.node("Split", n.node("Concat", *flat, axis=2), n.constant(np.array([4 * bins, n_classes])), n_out=2, axis=1)
    sides = n.node("Softmax", n.node("Transpose", n.view(sides, 4, bins, -1), perm=[0, 2, 1, 3]), axis=1)
    means = n.constant(np.arange(bins, dtype=np.float32).reshape(1, bins, 1, 1), "dfl.weight")
    sides = n.view(n.node("Conv", sides, means, kernel_shape=[1, 1]), 4, -1)
    low, high = (n.node("Slice", sides, *(n.constant(np.array([v])) for v in (a, a + 2, 1))) for a in (0, 2))
    low, high = n.node("Sub", n.constant(places), low), n.node("Add", n.constant(places), high)
    middle = n.node("Div", n.node("Add", low, high), n.constant(np.float32(2)))
    box = n.node("Mul", n.node("Concat", middle, n.node("Sub", high, low), axis=1), n.constant(across))
    return n.node("Concat", box, n.sigmoid(classes), axis=1)


def yolo(n):
    """YOLOv8's smallest: a backbone, a pyramid up and down, three levels of boxes."""
    def twice(x):
        return n.node("Resize", x, "", n.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
                      coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def joined(x, y, c):
        return bottlenecks(n, n.node("Concat", x, y, axis=1), c, 1, False)

    c = [n.wide(v) for v in (16, 32, 64, 128, 256)]
    x, levels = n.unit(X, c[0], 3, 2, act=n.swish), []
    for i, times in enumerate((1, 2, 2, 1)):
        n.scope = f"/model/{i}"
        x = bottlenecks(n, n.unit(x, c[i + 1], 3, 2, act=n.swish), c[i + 1], times, True)
        levels.append(x)
    pooled = [n.unit(x, c[4] // 2, act=n.swish)]
    for _ in range(3):
        pooled.append(n.node("MaxPool", pooled[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4, dilations=[1, 1], ceil_mode=0))
    p5 = n.unit(n.node("Concat", *pooled, axis=1), c[4], act=n.swish)
    n.scope = "/model/up"
    p4 = joined(twice(p5), levels[2], c[3])
    p3 = joined(twice(p4), levels[1], c[2])
    n.scope = "/model/down"
    q4 = joined(n.unit(p3, c[2], 3, 2, act=n.swish), p4, c[3])
    q5 = joined(n.unit(q4, c[3], 3, 2, act=n.swish), p5, c[4])
    return n.model(boxes(n, (p3, q4, q5), (8, 16, 32), 80))


def unet(n):
    """Down by pools, up by transposed convolutions, the last time by a linear resize; a mask and what it was made of."""
    def double(x, k):
        return n.unit(n.unit(x, k, 3, act=n.relu), k, 3, act=n.relu)

    widths, x, kept = [n.wide(c) for c in n.few((64, 128, 256, 512, 1024))], X, []
    for i, k in enumerate(widths):
        n.scope = f"/down/{i}"
        x = double(x, k)
        if i + 1 < len(widths):
            kept.append(x)
            x = n.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    for i, k in reversed(list(enumerate(widths[:-1]))):
        n.scope, c = f"/up/{i}", n.channels(x)
        if i:
            w = n.normal(c, k, 2, 2) / np.float32(np.sqrt(c))
            x = n.node("ConvTranspose", x, n.constant(w, "up.weight"), n.constant(0.1 * n.normal(k), "up.bias"), kernel_shape=[2, 2],
                       strides=[2, 2], pads=[0] * 4, dilations=[1, 1], group=1)
        else:
            sizes = [n.node("Unsqueeze", n.size(kept[i], axis), n.constant(np.array([0]))) for axis in (2, 3)]
            ends = n.node("Slice", n.node("Shape", x), *(n.constant(np.array([v])) for v in (0, 2, 0)))
            x = n.node("Resize", x, "", "", n.node("Concat", ends, *sizes, axis=0), mode="linear",
                       coordinate_transformation_mode="half_pixel")
        x = double(n.node("Concat", kept[i], x, axis=1), k)
    n.scope = "/out"
    logits = n.conv(x, 2)
    return n.model(n.sigmoid(logits), logits)


NETWORKS = {f.__name__: f for f in (mobilenet_v2, mobilenet_v3, efficientnet_b0, resnet_50, yolo, unet)}


# Nodes whose values no kernel stores: they move elements, or become part of the convolution's kernel.
UNSTORED = {"Shape", "Gather", "Unsqueeze", "Conv", "Concat", "Slice", "Split", "Reshape", "Flatten", "Transpose"}


def in_halves(model):
    """The same model with weights and stored values rounded to halves, computed in f32."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for t in model.graph.initializer:
        if t.data_type == TensorProto.FLOAT:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float16).astype(np.float32), t.name))
    nodes = []
    for node in model.graph.node:
        nodes.append(node)
        for i, y in enumerate(node.output if node.op_type not in UNSTORED else []):
            node.output[i] = y + "/sum"
            nodes.append(helper.make_node("Cast", [y + "/sum"], [y + "/half"], to=TensorProto.FLOAT16))
            nodes.append(helper.make_node("Cast", [y + "/half"], [y], to=TensorProto.FLOAT))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def cut(model, values, every=3):
    """The same layers in pieces: what every third convolution reads is an output, and an input that takes its place; the names of those.
    What halves do in one piece says nothing in the next, so that the limit is that of a few layers."""
    model, cuts, n = onnx.ModelProto.FromString(model.SerializeToString()), [], 0
    for node in model.graph.node:
        n += node.op_type in ("Conv", "Gemm")
        if node.op_type in ("Conv", "Gemm") and n % every == 0 and node.input[0] != X and node.input[0] not in cuts:
            cuts.append(node.input[0])
    for node in model.graph.node:
        node.input[:] = [v + "/cut" if v in cuts else v for v in node.input]
    info = lambda v, name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *values[v].shape[1:]])
    model.graph.input.extend(info(v, v + "/cut") for v in cuts)
    model.graph.output.extend(info(v, v) for v in cuts)
    return model, cuts


def negate(folder):
    """The other sign for a channel's weights and bias, in the last layer but one that an imported model has: one that has the most. Zeros would be
    what hard_swish and relu make of a channel that is negative."""
    lines = [line.rsplit(" ", 3) for line in (folder / "weights.txt").read_text(encoding="ascii").splitlines()]
    layers = {layer: {t: (int(at), int(n)) for name, t, at, n in lines if name == layer} for layer, *_ in lines}
    at, n_bytes = [layer["w"] for layer in layers.values() if {"w", "bias"} <= layer.keys()][-2]
    bias_at, n_bias = [layer["bias"] for layer in layers.values() if {"w", "bias"} <= layer.keys()][-2]
    data = np.fromfile(folder / "weights.bin", np.uint8)
    w = data[at:at + n_bytes].view(np.float16).reshape(n_bias // 2, -1)
    channel = np.argmax(np.abs(w.astype(np.float32)).sum(1))
    w[channel] *= -1
    data[bias_at:bias_at + n_bias].view(np.float16)[channel] *= -1
    data.tofile(folder / "weights.bin")


def rounded(dtype, values):
    return {name: v.astype(dtype).astype(np.float32) for name, v in values.items()}


def store(folder, model, inputs, dtype, times=3):
    """Inputs in a type, the outputs that the model has for these very numbers, and how far others may be from them, as a
    part of the largest: of halves some times what rounding each tensor to halves does, where that is more than an operator may be off."""
    folder.mkdir(parents=True, exist_ok=True)
    inputs = rounded(dtype, inputs)
    ys, limit = session(model).run(None, inputs), 1e-4
    for kind, values in (("x", inputs.values()), ("y", ys)):
        for i, v in enumerate(values):
            v.astype(dtype).tofile(folder / (f"{kind}{i}.bin" if len(values) > 1 else f"{kind}.bin"))
    if dtype == np.float16:
        halves = session(in_halves(model)).run(None, inputs)
        limit = max(HALF_LIMIT, *(times * np.abs(y - z).max() / np.abs(y).max() for y, z in zip(ys, halves)))
    (folder / "limit").write_text(f"{limit:.3g}\n", encoding="ascii")


def store_pieces(folder, name, model, values, x):
    """NAME-cut.onnx and its folder in f16: what each piece reads is what the whole network has there, in halves."""
    pieces, cuts = cut(model, values)
    onnx.save(pieces, folder / f"{name}-cut.onnx")
    whole = onnx.ModelProto.FromString(model.SerializeToString())
    whole.graph.output.extend(onnx.ValueInfoProto(name=v) for v in cuts)
    read = dict(zip(cuts, session(whole).run(cuts, {X: x})))
    store(folder / f"{name}-cut-f16-{len(x)}", pieces, {X: x, **{v + "/cut": read[v] for v in cuts}}, np.float16, times=2)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("out", type=Path)
    p.add_argument("names", nargs="*", metavar="NAME")
    p.add_argument("--short", action="store_true")
    p.add_argument("--size", type=int, default=224)
    p.add_argument("--width", type=float, default=1)
    p.add_argument("--batch", default="1")
    p.add_argument("--negate", action="store_true")
    a = p.parse_intermixed_args()
    if a.negate:
        return negate(a.out)
    if not set(a.names) <= set(NETWORKS):
        p.error(f"expected names of {', '.join(NETWORKS)}, not {', '.join(set(a.names) - set(NETWORKS))}")
    a.out.mkdir(parents=True, exist_ok=True)
    for seed, (name, make) in enumerate(NETWORKS.items()):
        if a.names and name not in a.names:
            continue
        network = Network(seed, a.size, a.width, a.short)
        model = make(network)
        onnx.checker.check_model(model)
        onnx.save(model, a.out / f"{name}.onnx")
        for batch in map(int, a.batch.split(",")):
            x = np.random.default_rng(seed + 100).standard_normal((batch, 3, a.size, a.size), np.float32)
            for dtype, numbers in TYPES.items():
                store(a.out / f"{name}-{dtype}-{batch}", model, {X: x}, numbers)
        store_pieces(a.out, name, model, network.values, x)
        print(name, flush=True)


if __name__ == "__main__":
    main()
