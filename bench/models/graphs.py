#!/usr/bin/env python3
"""Writes whole models for the benchmark: graphs.py FOLDER [MODEL…] [--small], under TensorFlow.

For each model and type, FOLDER gets MODEL.TYPE.pb and .spec, which weir_bench and tensorflow_peer run, MODEL.npz with the
values of all variables and inputs, which PyTorch reads, and MODEL.checkpoint with the same values. MODEL.TYPE.json tells
the least work of a step.
"""

import argparse
import json
import math
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

import sizes

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.disable_control_flow_v2()
v1.enable_resource_variables()
v1.enable_v2_tensorshape()


class Model:
    """A graph that is being built, its values, and the bytes of memory that a step touches at least."""

    def __init__(self, name, compute, size):
        self.name, self.compute, self.size = name, compute, size
        self.values, self.variables = {}, {}
        self.trainable, self.tables = [], {}
        self.trip_count = 1  # of the loop, for counting work
        self.random = np.random.default_rng(7)

    # Values.

    def keep(self, name, value, trainable=False):
        self.values[name] = value
        variable = v1.get_variable(name, value.shape, tf.as_dtype(value.dtype), v1.zeros_initializer(), trainable=trainable)
        self.variables[name] = variable
        if trainable:
            self.trainable.append(variable)
        return variable

    def weights(self, name, shape, deviation, trainable=True):
        values = self.random.standard_normal(shape, np.float32) * np.float32(deviation)
        return self.keep(name, values, trainable)

    def constant(self, name, shape, value, trainable=True):
        return self.keep(name, np.full(shape, value, np.float32), trainable)

    def floats(self, name, shape):
        return self.keep(name, self.random.standard_normal(shape, np.float32))

    def integers(self, name, shape, limit):
        return self.keep(name, self.random.integers(0, limit, shape, np.int32))

    # Layers.

    def cast(self, value):
        return tf.cast(value, self.compute)

    def dense(self, name, x, outputs, activation=None, deviation=None):
        inputs = x.shape[-1]
        w = self.weights(f"{name}/w", [inputs, outputs], deviation or 1 / math.sqrt(inputs))
        b = self.constant(f"{name}/b", [outputs], 0)
        flat = x if x.shape.rank == 2 else tf.reshape(x, [-1, inputs])
        y = tf.nn.bias_add(tf.matmul(flat, self.cast(w)), self.cast(b))
        y = activation(y) if activation else y
        return y if x.shape.rank == 2 else tf.reshape(y, [*x.shape[:-1], outputs])

    def convolution(self, name, x, size, outputs, stride=1, gain=2):
        inputs = x.shape[-1]
        w = self.weights(f"{name}/w", [size, size, inputs, outputs], math.sqrt(gain / (size * size * inputs)))
        pad = [size // 2, size // 2]
        padding = "SAME" if stride == 1 else [[0, 0], pad, pad, [0, 0]]
        return tf.nn.conv2d(x, self.cast(w), [1, stride, stride, 1], padding)

    def layer_norm(self, name, x, epsilon=1e-5):
        scale, offset = self.constant(f"{name}/scale", [x.shape[-1]], 1), self.constant(f"{name}/offset", [x.shape[-1]], 0)
        y = tf.cast(x, tf.float32)
        mean = tf.reduce_mean(y, -1, keepdims=True)
        centred = y - mean
        variance = tf.reduce_mean(tf.square(centred), -1, keepdims=True)
        return self.cast(centred * tf.math.rsqrt(variance + epsilon) * scale + offset)

    def heads(self, x, count):
        batch, length, width = x.shape
        return tf.transpose(tf.reshape(x, [batch, length, count, width // count]), [0, 2, 1, 3])

    def attention(self, q, k, v, count, causal):
        batch, length, width = q.shape
        scores = tf.matmul(self.heads(q, count), self.heads(k, count), transpose_b=True)
        scores *= tf.constant(1 / math.sqrt(width // count), scores.dtype)
        if causal:
            hidden = np.triu(np.full([length, length], -10000.0, np.float32), 1)
            scores += tf.constant(hidden, scores.dtype)
        mixed = tf.matmul(tf.nn.softmax(scores), self.heads(v, count))
        return tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [batch, length, width])

    def cross_entropy(self, logits, labels):
        logits = tf.cast(tf.reshape(logits, [-1, logits.shape[-1]]), tf.float32)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(labels, [-1]), logits=logits))

    # Files.

    def write(self, folder, loss, train):
        """`train`: ops of a step besides `loss`."""
        graph = v1.get_default_graph()
        loss = tf.identity(tf.cast(loss, tf.float32), "loss")
        with v1.control_dependencies([op for op in train if op is not None]):
            target = tf.no_op("train")
        prefix = str(folder / f"{self.name}.checkpoint")
        names = list(self.values)
        restored = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names),
                                        dtypes=[self.values[name].dtype for name in names])
        assigns = [tf.raw_ops.AssignVariableOp(resource=self.variables[name].handle, value=value)
                   for name, value in zip(names, restored)]
        with v1.control_dependencies(assigns):
            tf.no_op("restore")
        ours = {variable.handle.name for variable in self.variables.values()}
        others = [variable for variable in v1.global_variables() if variable.handle.name not in ours]
        tf.group(*[variable.initializer for variable in others], name="slots")
        stem = folder / f"{self.name}.{sizes.TYPE_NAMES[self.compute.name]}"
        Path(f"{stem}.pb").write_bytes(graph.as_graph_def(add_shapes=False).SerializeToString())
        Path(f"{stem}.spec").write_text(f"fetch {loss.op.name}\ntarget {target.name}\ninit restore\ninit slots\n")
        Path(f"{stem}.json").write_text(json.dumps({"flops": self.flops(graph), "bytes": self.least_bytes(others)}))
        if not Path(f"{prefix}.index").exists():
            np.savez(folder / f"{self.name}.npz", **self.values)
            with tf.Graph().as_default(), v1.Session() as session:
                feeds = [v1.placeholder(self.values[name].dtype) for name in names]
                save = tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), tensors=feeds)
                session.run(save, dict(zip(feeds, self.values.values())))

    def least_bytes(self, slots):
        """Each variable is read once; what is trained is written too, with its slots. Of tables, the rows of a step."""
        rows = sum(self.tables.values())
        dense = sum(value.nbytes for name, value in self.values.items() if name not in self.tables)
        trained = sum(self.values[variable.op.name].nbytes for variable in self.trainable
                      if variable.op.name not in self.tables)
        of_tables = [slot for slot in slots if any(slot.op.name.startswith(table + "/") for table in self.tables)]
        slot_bytes = sum(int(np.prod(slot.shape)) * 4 for slot in slots if slot not in of_tables)
        return int(dense + trained + 2 * slot_bytes + rows)

    def flops(self, graph):
        """Multiplications and additions of products and convolutions; those of element-wise ops are not counted."""
        total = 0
        for op in graph.get_operations():
            total += flops_of(op) * (self.trip_count if "while" in op.name else 1)
        return total


def flops_of(op):
    if op.type == "MatMul":
        a, out = op.inputs[0].shape, op.outputs[0].shape
        inner = a[0] if op.get_attr("transpose_a") else a[1]
        return 2 * int(out[0]) * int(out[1]) * int(inner) if out.is_fully_defined() and inner else 0
    if op.type in ("BatchMatMul", "BatchMatMulV2"):
        a, out = op.inputs[0].shape, op.outputs[0].shape
        return 2 * int(np.prod(out)) * int(a[-2] if op.get_attr("adj_x") else a[-1])
    if op.type == "Conv2D":
        return conv_flops(op.inputs[1].shape, op.outputs[0].shape)
    if op.type == "Conv2DBackpropInput":
        return conv_flops(op.inputs[1].shape, op.inputs[2].shape)
    if op.type == "Conv2DBackpropFilter":
        return conv_flops(op.outputs[0].shape, op.inputs[2].shape)
    return 0


def conv_flops(filters, out):
    return 2 * int(np.prod(filters)) * int(np.prod(out[:3]))


# Models. Each returns the loss, or the result of inference, and the ops that train.


def sgd(model, loss, rate=0.01):
    return [v1.train.GradientDescentOptimizer(rate).minimize(loss, var_list=model.trainable)]


def adam(model, loss, rate):
    return [v1.train.AdamOptimizer(rate).minimize(loss, var_list=model.trainable)]


def mlp(model, widths, optimizer):
    x = model.cast(model.floats("x", [model.size["batch"], widths[0]]))
    labels = model.integers("labels", [x.shape[0]], widths[-1])
    for i, width in enumerate(widths[1:]):
        x = model.dense(f"dense{i}", x, width, tf.nn.relu if i + 2 < len(widths) else None)
    loss = model.cross_entropy(x, labels)
    return loss, optimizer(model, loss)


def mlp_sgd(model):
    return mlp(model, [784, 512, 512, 10], sgd)


def mlp_adam(model):
    return mlp(model, [784, 512, 512, 10], lambda model, loss: adam(model, loss, 1e-3))


def mlp_small(model):
    return mlp(model, [784, 64, 10], sgd)


def convnet(model):
    x = model.cast(model.floats("x", [model.size["batch"], 32, 32, 3]))
    labels = model.integers("labels", [x.shape[0]], 10)
    for i, channels in enumerate([32, 64, 64]):
        x = model.convolution(f"conv{i}", x, 3, channels, gain=0.5)
        x = tf.nn.relu(tf.nn.bias_add(x, model.cast(model.constant(f"conv{i}/b", [channels], 0))))
        x = tf.nn.max_pool2d(x, 2, 2, "SAME")
    logits = model.dense("dense", tf.reshape(x, [x.shape[0], -1]), 10)
    loss = model.cross_entropy(logits, labels)
    return loss, sgd(model, loss, 0.002)


def resnet(model, trains):
    updates, size = [], model.size

    def normalise(name, x):
        channels = x.shape[-1]
        scale, offset = model.constant(f"{name}/scale", [channels], 1), model.constant(f"{name}/offset", [channels], 0)
        mean = model.constant(f"{name}/mean", [channels], 0, trainable=False)
        variance = model.constant(f"{name}/variance", [channels], 1, trainable=False)
        if not trains:
            return tf.raw_ops.FusedBatchNormV3(x=x, scale=scale, offset=offset, mean=mean, variance=variance,
                                               epsilon=1e-5, is_training=False).y
        y = tf.raw_ops.FusedBatchNormV3(x=x, scale=scale, offset=offset, mean=[], variance=[], epsilon=1e-5,
                                        is_training=True)
        for moving, batch in ((mean, y.batch_mean), (variance, y.batch_variance)):
            updates.append(tf.raw_ops.AssignSubVariableOp(resource=moving.handle, value=(moving - batch) * 0.1))
        return y.y

    def block(name, x, width, stride):
        y = tf.nn.relu(normalise(f"{name}/norm0", model.convolution(f"{name}/conv0", x, 1, width)))
        y = tf.nn.relu(normalise(f"{name}/norm1", model.convolution(f"{name}/conv1", y, 3, width, stride)))
        y = normalise(f"{name}/norm2", model.convolution(f"{name}/conv2", y, 1, 4 * width))
        if stride != 1 or x.shape[-1] != 4 * width:
            x = normalise(f"{name}/norm3", model.convolution(f"{name}/conv3", x, 1, 4 * width, stride))
        return tf.nn.relu(x + y)

    x = model.cast(model.floats("x", [size["batch"], size["side"], size["side"], 3]))
    labels = model.integers("labels", [size["batch"]], size["classes"])
    x = tf.nn.relu(normalise("norm", model.convolution("conv", x, 7, size["width"], 2)))
    x = tf.nn.max_pool2d(x, 3, 2, "SAME")
    for stage, count in enumerate(size["blocks"]):
        for i in range(count):
            x = block(f"stage{stage}/block{i}", x, size["width"] << stage, 2 if stage > 0 and i == 0 else 1)
    logits = model.dense("dense", tf.reduce_mean(x, [1, 2]), size["classes"])
    loss = model.cross_entropy(logits, labels)
    if not trains:
        return loss, []
    return loss, [v1.train.MomentumOptimizer(0.01, 0.9).minimize(loss, var_list=model.trainable), *updates]


def resnet50_train(model):
    return resnet(model, True)


def resnet50_infer(model):
    return resnet(model, False)


def transformer_block(model, name, x, heads, causal, norm_first, gelu):
    width = x.shape[-1]

    def attend(x):
        qkv = model.dense(f"{name}/qkv", x, 3 * width, deviation=0.02)
        return model.dense(f"{name}/out", model.attention(*tf.split(qkv, 3, 2), heads, causal), width, deviation=0.02)

    def feed_forward(x):
        return model.dense(f"{name}/down", model.dense(f"{name}/up", x, 4 * width, gelu, 0.02), width, deviation=0.02)

    if norm_first:
        x += attend(model.layer_norm(f"{name}/norm0", x))
        return x + feed_forward(model.layer_norm(f"{name}/norm1", x))
    x = model.layer_norm(f"{name}/norm0", x + attend(x))
    return model.layer_norm(f"{name}/norm1", x + feed_forward(x))


def gpt2(model):
    size = model.size
    tokens = model.integers("tokens", [size["batch"], size["length"]], size["vocabulary"])
    labels = model.integers("labels", [size["batch"], size["length"]], size["vocabulary"])
    embedding = model.weights("embedding", [size["vocabulary"], size["width"]], 0.02)
    positions = model.weights("positions", [size["length"], size["width"]], 0.01)
    x = model.cast(tf.gather(embedding, tokens) + positions)
    for i in range(size["blocks"]):
        x = transformer_block(model, f"block{i}", x, size["heads"], True, True, lambda x: tf.nn.gelu(x, approximate=True))
    x = tf.reshape(model.layer_norm("norm", x), [-1, size["width"]])
    loss = model.cross_entropy(tf.matmul(x, model.cast(embedding), transpose_b=True), labels)
    return loss, adam(model, loss, 1e-4)


def bert(model):
    size = model.size
    tokens = model.integers("tokens", [size["batch"], size["length"]], size["vocabulary"])
    x = tf.gather(model.weights("embedding", [size["vocabulary"], size["width"]], 0.02), tokens)
    x = model.cast(x + model.weights("positions", [size["length"], size["width"]], 0.02)
                   + model.weights("segments", [2, size["width"]], 0.02)[0])
    x = model.layer_norm("norm", x, 1e-5)
    for i in range(size["blocks"]):
        x = transformer_block(model, f"block{i}", x, size["heads"], False, False, tf.nn.gelu)
    pooled = model.dense("pooler", x[:, 0], size["width"], tf.nn.tanh)
    return tf.reduce_mean(tf.square(tf.cast(pooled, tf.float32))), []


def lstm(model):
    """A cell in tf.while_loop, over inputs of a TensorArray; the loss is of the last state."""
    size = model.size
    batch, units, steps = size["batch"], size["units"], size["steps"]
    x = model.cast(model.floats("x", [steps, batch, units]))
    labels = model.integers("labels", [batch], 10)
    kernel = model.cast(model.weights("kernel", [2 * units, 4 * units], 1 / math.sqrt(2 * units)))
    bias = model.cast(model.constant("bias", [4 * units], 0))
    inputs = tf.TensorArray(x.dtype, steps).unstack(x)
    model.trip_count = steps

    def cell(t, h, c):
        gates = tf.nn.bias_add(tf.matmul(tf.concat([inputs.read(t), h], 1), kernel), bias)
        i, f, g, o = tf.split(gates, 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return t + 1, tf.sigmoid(o) * tf.tanh(c), c

    zeros = tf.zeros([batch, units], x.dtype)
    _, h, _ = tf.while_loop(lambda t, h, c: t < steps, cell, [0, zeros, zeros])
    loss = model.cross_entropy(model.dense("dense", h, 10), labels)
    return loss, sgd(model, loss)


def tables(model, count, rows, width, batch, parameters):
    """Rows of `count` tables for each example. `parameters`: how many values a trained one has with its slots."""
    parts = []
    for i in range(count):
        table = model.weights(f"table{i}", [rows, width], 0.05)
        ids = model.integers(f"ids{i}", [batch], rows)
        model.tables[table.op.name] = len(np.unique(model.values[f"ids{i}"])) * width * 4 * 2 * parameters
        parts.append(tf.gather(table, ids))
    return parts


def dlrm(model):
    size = model.size
    dense = model.cast(model.floats("dense", [size["batch"], 13]))
    labels = model.integers("labels", [size["batch"]], 2)
    for i, width in enumerate([*size["bottom"], size["width"]]):
        dense = model.dense(f"bottom{i}", dense, width, tf.nn.relu)
    parts = tables(model, size["tables"], size["rows"], size["width"], size["batch"], 2)
    vectors = tf.stack([dense, *[model.cast(part) for part in parts]], 1)
    dots = tf.matmul(vectors, vectors, transpose_b=True)
    count = len(parts) + 1
    lower = [i * count + j for i in range(count) for j in range(i)]
    dots = tf.gather(tf.reshape(dots, [size["batch"], count * count]), lower, axis=1)
    x = tf.concat([dense, dots], 1)
    for i, width in enumerate(size["top"]):
        x = model.dense(f"top{i}", x, width, tf.nn.relu)
    logits = tf.cast(tf.reshape(model.dense("top", x, 1), [-1]), tf.float32)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.cast(labels, tf.float32), logits=logits))
    return loss, [v1.train.AdagradOptimizer(0.01).minimize(loss, var_list=model.trainable)]


def wide_deep(model):
    """As DNNLinearCombinedClassifier trains: the wide part by Ftrl, the deep part by Adagrad."""
    size = model.size
    labels = model.integers("labels", [size["batch"]], 2)
    wide, parts = [], []
    for i in range(size["tables"]):
        ids = model.integers(f"ids{i}", [size["batch"]], size["rows"])
        used = len(np.unique(model.values[f"ids{i}"]))
        for kind, width, slots in (("wide", 1, 3), ("deep", size["width"], 2)):
            table = model.weights(f"{kind}{i}", [size["rows"], width], 0.05)
            model.tables[table.op.name] = used * width * 4 * 2 * slots
            (wide if kind == "wide" else parts).append(tf.gather(table, ids))
    wide_variables = [variable for variable in model.trainable if variable.op.name.startswith("wide")]
    x = model.cast(tf.concat([model.floats("dense", [size["batch"], 13]), *parts], 1))
    for i, width in enumerate(size["hidden"]):
        x = model.dense(f"hidden{i}", x, width, tf.nn.relu)
    logits = tf.cast(model.dense("logits", x, 1), tf.float32) + tf.add_n(wide)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
        labels=tf.cast(labels, tf.float32), logits=tf.reshape(logits, [-1])))
    others = [variable for variable in model.trainable if not variable.op.name.startswith("wide")]
    gradients = tf.gradients(loss, wide_variables + others)
    ftrl = v1.train.FtrlOptimizer(0.05).apply_gradients(zip(gradients, wide_variables))
    adagrad = v1.train.AdagradOptimizer(0.05).apply_gradients(zip(gradients[len(wide_variables):], others))
    return loss, [ftrl, adagrad]


def ceiling(model):
    """A product, for the most that a side can do."""
    side = model.size["side"]
    product = tf.matmul(model.cast(model.floats("a", [side, side])), model.cast(model.floats("b", [side, side])))
    return tf.cast(product[0, 0], tf.float32), []


MODELS = {"ceiling": ceiling, "mlp_sgd": mlp_sgd, "mlp_adam": mlp_adam, "mlp_small": mlp_small, "convnet": convnet, "lstm": lstm, "dlrm": dlrm,
          "wide_deep": wide_deep, "bert_b1": bert, "bert_b8": bert, "resnet50_infer": resnet50_infer,
          "resnet50_train": resnet50_train, "gpt2": gpt2}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("models", nargs="*", metavar="MODEL", choices=[[], *MODELS])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.models or sizes.NAMES:
        for compute in (tf.float32, tf.bfloat16):
            with tf.Graph().as_default():
                model = Model(name, compute, sizes.named(name, options.small))
                loss, train = MODELS[name](model)
                model.write(options.folder.resolve(), loss, train)


if __name__ == "__main__":
    main()
