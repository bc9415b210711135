#!/usr/bin/env python3
"""What TensorFlow and Keras compute, for keras_oracle_test.

  keras_oracle.py layers DIR     writes checkpoints: DIR/model, by tf.compat.v1.train.Saver, and inputs, outputs and gradients
  keras_oracle.py training DIR   writes losses, metrics, optimizers and activations
"""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf
import tf_keras

RANDOM = np.random.RandomState(7)


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def save(prefix, named):
    names = sorted(named)
    return tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names),
                             tensors=[tf.constant(named[name]) for name in names])


class Cases:
    """Layers in one graph, with names of their own."""

    def __init__(self):
        self.values = {}
        self.fetches = {}

    def add(self, name, layer, inputs, call=None):
        """The outputs of the layer, and the gradients of a weighted sum of the first one."""
        constants = [tf.constant(value) for value in inputs]
        outputs = call(layer, *constants) if call else layer(*constants)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        for i, value in enumerate(inputs):
            self.values["%s/input%d" % (name, i)] = value
        for i, output in enumerate(outputs):
            self.fetches["%s/output%d" % (name, i)] = output
        weights = np.sin(1 + np.arange(int(np.prod(outputs[0].shape)), dtype=np.float32)).reshape(outputs[0].shape)
        self.values[name + "/weights"] = weights
        variables = layer.trainable_variables
        sources = ([constants[0]] if inputs[0].dtype == np.float32 else []) + variables
        names = (["input"] if inputs[0].dtype == np.float32 else []) + [v.name.split(":")[0] for v in variables]
        for source, gradient in zip(names, tf.gradients(tf.reduce_sum(outputs[0] * weights), sources)):
            self.fetches["%s/gradient/%s" % (name, source)] = tf.convert_to_tensor(gradient)


def all_layers(cases):
    keras = tf_keras.layers
    cases.add("dense", keras.Dense(4, name="dense"), [normal(3, 5)])
    cases.add("dense_3d", keras.Dense(4, activation="tanh", name="dense_3d"), [normal(2, 3, 5)])
    image = normal(2, 6, 7, 3)
    cases.add("conv", keras.Conv2D(4, 3, strides=2, padding="same", activation="elu", name="conv"), [image])
    cases.add("conv_dilated", keras.Conv2D(4, 2, dilation_rate=2, name="conv_dilated"), [image])
    sequence = normal(2, 6, 3)
    cases.add("conv1d", keras.Conv1D(4, 3, strides=2, padding="same", name="conv1d"), [sequence])
    cases.add("conv1d_causal", keras.Conv1D(4, 2, dilation_rate=2, padding="causal", name="conv1d_causal"), [sequence])
    cases.add("transposed", keras.Conv2DTranspose(4, 3, strides=2, padding="same", name="transposed"), [image])
    cases.add("transposed_valid", keras.Conv2DTranspose(4, 3, strides=2, name="transposed_valid"), [image])
    cases.add("depthwise", keras.DepthwiseConv2D(3, depth_multiplier=2, padding="same", name="depthwise"), [image])
    cases.add("layer_norm", keras.LayerNormalization(name="layer_norm"), [sequence])
    for name, x, axis in [("norm_4d", image, -1), ("norm_2d", normal(6, 3), -1), ("norm_axis", normal(2, 3, 5), 1)]:
        cases.add(name, keras.BatchNormalization(axis=axis, name=name), [x])
        name += "_training"
        layer = keras.BatchNormalization(axis=axis, name=name)
        cases.add(name, layer, [x], lambda layer, x: layer(x, training=True))
        with tf.control_dependencies(layer.updates):
            cases.fetches[name + "/moving_mean"] = layer.moving_mean.read_value()
            cases.fetches[name + "/moving_variance"] = layer.moving_variance.read_value()
    cases.add("embedding", keras.Embedding(5, 3, name="embedding"), [np.array([[1, 4], [1, 0]], np.int32)])
    lengths = np.array([4, 6], np.int32)
    for name, layer in [("lstm", keras.LSTM), ("gru", keras.GRU)]:
        cases.add(name, layer(4, return_sequences=True, return_state=True, name=name), [sequence])
        masked = layer(4, return_sequences=True, return_state=True, zero_output_for_mask=True, name=name + "_lengths")
        cases.add(name + "_lengths", masked, [sequence, lengths],
                  lambda layer, x, n: layer(x, mask=tf.sequence_mask(n, 6)))
    attention = lambda name: keras.MultiHeadAttention(2, 3, name=name)
    cases.add("attention", attention("attention"), [sequence], lambda layer, x: layer(x, x))
    cases.add("attention_causal", attention("attention_causal"), [sequence],
              lambda layer, x: layer(x, x, use_causal_mask=True))
    mask = (RANDOM.uniform(size=(2, 6, 5)) < 0.6).astype(np.int32)
    cases.add("attention_cross", keras.MultiHeadAttention(2, 3, value_dim=2, output_shape=5, name="attention_cross"),
              [sequence, normal(2, 5, 4), normal(2, 5, 2), mask],
              lambda layer, q, k, v, m: layer(q, v, key=k, attention_mask=m))


def write_layers(directory):
    tf.compat.v1.disable_eager_execution()
    cases = Cases()
    all_layers(cases)
    variables = tf.compat.v1.global_variables()
    assign = []
    for variable in variables:
        value = normal(*variable.shape) * 0.5
        if "variance" in variable.name:
            value = 0.5 + value * value
        assign.append(tf.compat.v1.assign(variable, value))
    saver = tf.compat.v1.train.Saver(variables)
    with tf.compat.v1.Session() as session:
        session.run(assign)
        saver.save(session, os.path.join(directory, "model"), write_meta_graph=False)
        reads = {name: fetch for name, fetch in cases.fetches.items() if "/moving_" not in name}
        cases.values.update(session.run(reads))
        cases.values.update(session.run({name: f for name, f in cases.fetches.items() if name not in reads}))
        session.run(save(os.path.join(directory, "layers"), cases.values))


def losses(values):
    scores, labels = normal(4, 3), normal(4, 3)
    bits = (normal(4, 3) > 0).astype(np.float32)
    softmax = lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    classes = np.array([2, 0, 1, 2], np.int32)
    one_hot = np.eye(3, dtype=np.float32)[classes]
    weights = np.array([0.5, 2, 0, 1], np.float32)
    all_losses = {
        "mean_squared_error": (tf_keras.losses.MeanSquaredError, {}, scores, labels),
        "mean_absolute_error": (tf_keras.losses.MeanAbsoluteError, {}, scores, labels),
        "huber": (tf_keras.losses.Huber, {"delta": 0.7}, scores, labels),
        "hinge": (tf_keras.losses.Hinge, {}, scores, np.sign(labels)),
        "hinge_bits": (tf_keras.losses.Hinge, {}, scores, bits),
        "binary": (tf_keras.losses.BinaryCrossentropy, {}, 1 / (1 + np.exp(-scores)), bits),
        "binary_logits": (tf_keras.losses.BinaryCrossentropy, {"from_logits": True, "label_smoothing": 0.2}, scores, bits),
        "categorical": (tf_keras.losses.CategoricalCrossentropy, {"label_smoothing": 0.1}, softmax(scores), one_hot),
        "categorical_logits": (tf_keras.losses.CategoricalCrossentropy, {"from_logits": True}, scores, one_hot),
        "sparse": (tf_keras.losses.SparseCategoricalCrossentropy, {}, softmax(scores), classes),
        "sparse_logits": (tf_keras.losses.SparseCategoricalCrossentropy, {"from_logits": True}, scores, classes),
        "kl_divergence": (tf_keras.losses.KLDivergence, {}, softmax(scores), softmax(labels)),
        "cosine": (tf_keras.losses.CosineSimilarity, {}, scores, labels),
    }
    for name, (loss, options, predictions, y) in all_losses.items():
        name = "losses/" + name
        values[name + "/predictions"], values[name + "/labels"], values[name + "/weights"] = predictions, y, weights
        for reduction in ["none", "sum", "sum_over_batch_size"]:
            values["%s/%s" % (name, reduction)] = loss(reduction=reduction, **options)(y, predictions, weights).numpy()


def metrics(values):
    keras = tf_keras.metrics
    scores, classes = [normal(5, 4), normal(5, 4)], [np.array([0, 3, 1, 2, 1], np.int32), np.array([2, 2, 0, 1, 3], np.int32)]
    chances = [RANDOM.uniform(size=(6, 2)).astype(np.float32) for _ in range(2)]
    bits = [(RANDOM.uniform(size=(6, 2)) < chance).astype(np.float32) for chance in chances]
    weights = [np.array([1, 0.5, 2, 1, 1], np.float32), np.array([1, 1, 0, 2, 1], np.float32)]
    for i in range(2):
        for name, value in [("scores", scores), ("classes", classes), ("chances", chances), ("bits", bits), ("weights", weights)]:
            values["metrics/%s%d" % (name, i)] = value[i]
    by_class = {"accuracy": keras.SparseCategoricalAccuracy(), "top_k": keras.SparseTopKCategoricalAccuracy(k=2)}
    by_bit = {"precision": keras.Precision(thresholds=0.4), "recall": keras.Recall(), "auc": keras.AUC(num_thresholds=50),
              "mean_squared_error": keras.MeanSquaredError()}
    for name, metric in by_class.items():
        for i in range(2):
            metric.update_state(classes[i], scores[i], weights[i])
        values["metrics/" + name] = metric.result().numpy()
    for name, metric in by_bit.items():
        for i in range(2):
            metric.update_state(bits[i], chances[i])
        values["metrics/" + name] = metric.result().numpy()


def optimizers(values):
    new, old = tf_keras.optimizers, tf_keras.optimizers.legacy

    def adam_w():
        optimizer = new.AdamW(0.1, weight_decay=0.05)
        optimizer.exclude_from_weight_decay(var_names=["bias"])
        return optimizer

    makers = {
        "adam_w": adam_w,
        "adamax": lambda: new.Adamax(0.1),
        "nadam": lambda: new.Nadam(0.1),
        "adadelta": lambda: old.Adadelta(0.5, rho=0.9),
        "ftrl": lambda: old.Ftrl(0.2, l1_regularization_strength=0.01, l2_regularization_strength=0.02,
                                 l2_shrinkage_regularization_strength=0.03),
        "adam": lambda: old.Adam(0.1, epsilon=1e-8),
    }
    initial = {"kernel": normal(5, 3), "bias": normal(3)}
    steps = 4
    indices = np.array([0, 2, 2], np.int32)
    gradients = {"kernel": normal(steps, 5, 3), "bias": normal(steps, 3), "rows": normal(steps, 3, 3)}
    for name, value in list(initial.items()):
        values["optimizers/initial/" + name] = value
    for name, value in gradients.items():
        values["optimizers/gradient/" + name] = value
    values["optimizers/indices"] = indices
    def run(optimizer, variables, apply, key):
        after = {name: [] for name in variables}
        for step in range(steps):
            apply(optimizer, step)
            for name, variable in variables.items():
                after[name].append(np.array(variable))
        for name, value in after.items():
            values["optimizers/%s/%s" % (key, name)] = np.stack(value)

    for name, maker in makers.items():
        for kind in ["dense", "sparse"]:
            variables = {key: tf.Variable(value, name=key) for key, value in initial.items()}
            def apply(optimizer, step):
                kernel = gradients["kernel"][step]
                if kind == "sparse":
                    kernel = tf.IndexedSlices(gradients["rows"][step], indices, (5, 3))
                optimizer.apply_gradients([(kernel, variables["kernel"]), (tf.constant(gradients["bias"][step]), variables["bias"])])
            run(maker(), variables, apply, name + "/" + kind)
    # tf_keras has no Lamb.
    import keras
    variables = {key: keras.Variable(value, name=key) for key, value in initial.items()}
    run(keras.optimizers.Lamb(0.1), variables,
        lambda optimizer, step: optimizer.apply([tf.constant(gradients[key][step]) for key in variables], list(variables.values())),
        "lamb/dense")


def activations(values):
    x = np.linspace(-4, 4, 17).astype(np.float32)
    values["activations/x"] = x
    names = ["elu", "exponential", "gelu", "hard_sigmoid", "leaky_relu", "linear", "mish", "relu", "relu6", "selu", "sigmoid",
             "silu", "softmax", "softplus", "softsign", "swish", "tanh"]
    for name in names:
        function = {"leaky_relu": tf.nn.leaky_relu, "relu6": tf.nn.relu6, "silu": tf.nn.silu}.get(name)
        function = function or tf_keras.activations.get(name)
        values["activations/" + name] = function(tf.constant(x[None])).numpy()[0]
    values["activations/gelu_tanh"] = tf_keras.activations.gelu(tf.constant(x), approximate=True).numpy()


def write_training(directory):
    values = {}
    losses(values)
    metrics(values)
    optimizers(values)
    activations(values)
    save(os.path.join(directory, "training"), values)


if __name__ == "__main__":
    {"layers": write_layers, "training": write_training}[sys.argv[1]](sys.argv[2])
