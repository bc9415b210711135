#!/usr/bin/env python3
"""TensorFlow's side of the comparison of models.

  models_interop.py write DIR   writes models, their inputs and what TensorFlow makes of them; with WEIR_ALL_MODELS=1 also
                                those that take long to write
  models_interop.py check DIR   loads what Weir wrote there

A model NAME is DIR/NAME/model (a SavedModel) or DIR/NAME/frozen.pb, with inputs/*.npy and outputs/*.npy beside it, named
as the signature does.
"""
import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0")
import numpy as np
import tensorflow as tf

keras = tf.keras
tf1 = tf.compat.v1
tf1.logging.set_verbosity(tf1.logging.ERROR)
random = np.random.RandomState(5)


def keep(directory, name, inputs, outputs):
    """Writes the values of a call."""
    for kind, values in ("inputs", inputs), ("outputs", outputs):
        os.makedirs(os.path.join(directory, name, kind), exist_ok=True)
        for key, value in values.items():
            value = np.asarray(value)
            value = value.astype("S") if value.dtype == object else value
            np.save(os.path.join(directory, name, kind, key + ".npy"), value)


def call(path, inputs, signature="serving_default"):
    function = tf.saved_model.load(path).signatures[signature]
    return {key: value.numpy() for key, value in function(**{k: tf.constant(v) for k, v in inputs.items()}).items()}


def randomise(model):
    """Statistics and scales that are not 0 and 1, so that each of them matters."""
    for weight in model.weights:
        if weight.path.endswith(("gamma", "moving_variance")):
            weight.assign(random.uniform(0.6, 1.4, weight.shape))
        elif weight.path.endswith(("beta", "moving_mean", "bias")):
            weight.assign(random.uniform(-0.2, 0.2, weight.shape))


def write_keras(directory, name, model, x):
    randomise(model)
    model.export(os.path.join(directory, name, "model"), format="tf_saved_model", verbose=False)
    input_name, = [tensor.name for tensor in model.inputs]
    keep(directory, name, {input_name: x}, {"output_0": model(x, training=False)})


def images(size):
    return random.uniform(0, 255, (2, size, size, 3)).astype(np.float32)


def write_applications(directory):
    def write_one(name, application, x, **options):
        model = application(input_shape=x.shape[1:], weights=None, classes=10, classifier_activation=None, **options)
        write_keras(directory, name, model, x)

    write_one("mobilenet_v2", keras.applications.MobileNetV2, images(64) / 128 - 1, alpha=0.35)
    write_one("mobilenet_v3_small", keras.applications.MobileNetV3Small, images(64))
    write_one("resnet50", keras.applications.ResNet50, images(64) / 128 - 1)
    if os.environ.get("WEIR_ALL_MODELS"):
        write_one("efficientnet_b0", keras.applications.EfficientNetB0, images(64))


def write_transformer(directory):
    tokens = keras.Input((12,), dtype="int32", name="tokens")
    x = keras.layers.Embedding(50, 16)(tokens)
    mask = keras.ops.expand_dims(keras.ops.not_equal(tokens, 0), 1)
    for _ in range(2):
        x = keras.layers.LayerNormalization()(
            x + keras.layers.MultiHeadAttention(num_heads=2, key_dim=8)(x, x, attention_mask=mask, use_causal_mask=True))
        x = keras.layers.LayerNormalization()(
            x + keras.layers.Dense(16)(keras.layers.Dense(32, activation="gelu")(x)))
    model = keras.Model(tokens, keras.layers.Dense(50)(x))
    write_keras(directory, "transformer", model, random.randint(0, 50, (3, 12)).astype(np.int32))


def write_recurrent(directory):
    x = keras.Input((None, 5), name="x")
    y = keras.layers.Bidirectional(keras.layers.LSTM(6, return_sequences=True))(x)
    y = keras.layers.GRU(7)(y)
    model = keras.Model(x, keras.layers.Dense(3, activation="softmax")(y))
    write_keras(directory, "recurrent", model, random.randn(2, 9, 5).astype(np.float32))


class Words(tf.Module):
    """Counts the words of a vocabulary in texts, and scores them."""

    def __init__(self, vocabulary):
        self.table = tf.lookup.StaticVocabularyTable(
            tf.lookup.TextFileInitializer(vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                          tf.lookup.TextFileIndex.LINE_NUMBER), 2)
        self.scores = tf.Variable(random.randn(6).astype(np.float32), name="scores")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def score(self, text):
        words = tf.strings.split(tf.strings.lower(text))
        ids = self.table.lookup(words.values)
        return {"score": tf.math.unsorted_segment_sum(tf.gather(self.scores, ids), words.value_rowids(), words.nrows()),
                "first": words[:, :1].to_tensor("")[:, 0]}


def write_words(directory):
    vocabulary = os.path.join(directory, "words.txt")
    with open(vocabulary, "w") as file:
        file.write("the\ncat\nsat\nmat\n")
    module = Words(vocabulary)
    path = os.path.join(directory, "words", "model")
    tf.saved_model.save(module, path, signatures={"serving_default": module.score})
    inputs = {"text": np.array([b"The cat sat", b"mat of dogs", b"a the the"], object)}
    keep(directory, "words", inputs, call(path, inputs))


class Examples(tf.Module):
    """Parses tf.train.Example."""

    def __init__(self):
        self.weights = tf.Variable(random.randn(3, 2).astype(np.float32), name="weights")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def predict(self, examples):
        parsed = tf.io.parse_example(examples, {
            "x": tf.io.FixedLenFeature([3], tf.float32), "id": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
            "tags": tf.io.VarLenFeature(tf.string)})
        return {"y": tf.matmul(parsed["x"], self.weights), "id": parsed["id"],
                "tags": tf.sparse.to_dense(parsed["tags"], default_value="-")}


def write_examples(directory):
    def example(x, **features):
        kinds = {"id": lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
                 "tags": lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v))}
        feature = {key: kinds[key](value) for key, value in features.items()}
        feature["x"] = tf.train.Feature(float_list=tf.train.FloatList(value=x))
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    module = Examples()
    path = os.path.join(directory, "examples", "model")
    tf.saved_model.save(module, path, signatures={"serving_default": module.predict})
    inputs = {"examples": np.array([example([1, 2, 3], id=[4]), example([0, -1, 5], tags=[b"a", b"bc"])], object)}
    # Files of NumPy cut zero bytes at the end.
    assert not any(text.endswith(b"\0") for text in inputs["examples"])
    keep(directory, "examples", inputs, call(path, inputs))


class Newton(tf.Module):
    """Square roots by iteration, with a variable in the loop and branches; a second signature."""

    def __init__(self):
        self.tolerance = tf.Variable(1e-5, name="tolerance")
        self.scale = tf.Variable(2., name="scale")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x"), tf.TensorSpec([], tf.bool, name="double")])
    def root(self, x, double):
        def body(i, y):
            return i + 1, (y + x / y) / 2

        steps, y = tf.while_loop(lambda i, y: tf.reduce_any(tf.abs(y * y - x) > self.tolerance * x) & (i < 50), body,
                                 (tf.constant(0), tf.ones_like(x)))
        return {"y": tf.cond(double, lambda: self.scale * y, lambda: y), "steps": steps}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def square(self, x):
        return {"y": x * x}


def write_loop(directory):
    module = Newton()
    path = os.path.join(directory, "loop", "model")
    tf.saved_model.save(module, path, signatures={"serving_default": module.root, "square": module.square})
    inputs = {"x": np.array([2, 9, 1e4], np.float32), "double": np.array(True)}
    keep(directory, "loop", inputs, call(path, inputs))


def write_builder(directory):
    """TensorFlow 1: reference variables, a table that a vocabulary fills, an op that initialises it, two sets of tags."""
    vocabulary = os.path.join(directory, "labels.txt")
    with open(vocabulary, "w") as file:
        file.write("zero\none\ntwo\n")
    path = os.path.join(directory, "builder", "model")
    with tf.Graph().as_default(), tf1.Session() as session:
        tf1.disable_resource_variables()
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        with tf1.device("/device:CPU:0"):
            weights = tf1.get_variable("weights", initializer=random.randn(4, 3).astype(np.float32))
        bias = tf1.get_variable("bias", initializer=random.randn(3).astype(np.float32), use_resource=True)
        steps = tf1.get_variable("steps", shape=[], dtype=tf.int64, initializer=tf1.zeros_initializer(),
                                 collections=[tf1.GraphKeys.LOCAL_VARIABLES])
        logits = tf.matmul(x, weights) + bias
        file = tf.constant(vocabulary, name="vocabulary")
        tf1.add_to_collection(tf1.GraphKeys.ASSET_FILEPATHS, file)
        table = tf1.lookup.StaticHashTable(
            tf1.lookup.TextFileInitializer(file, tf.int64, tf1.lookup.TextFileIndex.LINE_NUMBER, tf.string,
                                           tf1.lookup.TextFileIndex.WHOLE_LINE), "?")
        label = table.lookup(tf.argmax(logits, 1))
        session.run([tf1.global_variables_initializer(), tf1.local_variables_initializer(), tf1.tables_initializer()])
        signature = tf1.saved_model.predict_signature_def({"x": x}, {"logits": logits, "label": label})
        builder = tf1.saved_model.builder.SavedModelBuilder(path)
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature},
            assets_collection=tf1.get_collection(tf1.GraphKeys.ASSET_FILEPATHS),
            main_op=tf1.group(tf1.local_variables_initializer(), tf1.tables_initializer(), name="main"))
        builder.add_meta_graph(["serve", "tpu"], {"serving_default": signature})
        builder.save()
        inputs = {"x": random.randn(5, 4).astype(np.float32)}
        outputs = session.run({"logits": logits, "label": label}, {x: inputs["x"]})
    tf1.enable_resource_variables()
    keep(directory, "builder", inputs, outputs)


def write_frozen(directory):
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    model = keras.Sequential([keras.Input((8, 8, 2)), keras.layers.Conv2D(4, 3, activation="relu"),
                              keras.layers.DepthwiseConv2D(3), keras.layers.BatchNormalization(),
                              keras.layers.Flatten(), keras.layers.Dense(3)])
    randomise(model)
    function = tf.function(lambda x: model(x, training=False))
    frozen = convert_variables_to_constants_v2(function.get_concrete_function(tf.TensorSpec([None, 8, 8, 2], name="x")))
    os.makedirs(os.path.join(directory, "frozen"))
    graph = frozen.graph.as_graph_def()
    with open(os.path.join(directory, "frozen", "frozen.pb"), "wb") as file:
        file.write(graph.SerializeToString())
    x = random.randn(2, 8, 8, 2).astype(np.float32)
    keep(directory, "frozen", {"x": x}, {frozen.outputs[0].op.name: frozen(tf.constant(x))[0].numpy()})


def checkpoint_objects():
    """Objects for tf.train.Checkpoint, with values that count upwards."""
    dense = tf.Module()
    dense.kernel = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3), name="dense/kernel")
    dense.bias = tf.Variable(np.arange(3, dtype=np.float32), name="dense/bias")
    layers = tf.Module()
    layers.dense = dense
    return tf.train.Checkpoint(model=layers, step=tf.Variable(7, dtype=tf.int64, name="step"), same=dense)


def write_checkpoints(directory):
    checkpoint_objects().save(os.path.join(directory, "objects"))  # objects-1
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="first"), keras.layers.Dense(2)])
    tf.train.Checkpoint(model=model).write(os.path.join(directory, "keras_objects"))


def write(directory):
    keras.utils.set_random_seed(3)
    for part in (write_applications, write_transformer, write_recurrent, write_words, write_examples, write_loop,
                 write_builder, write_frozen, write_checkpoints):
        part(directory)


def run_frozen(path, inputs, outputs, init_op):
    graph_def = tf1.GraphDef()
    with open(path, "rb") as file:
        graph_def.ParseFromString(file.read())
    assert not [node.name for node in graph_def.node if "Var" in node.op], "variables stay"
    with tf.Graph().as_default(), tf1.Session() as session:
        tf.import_graph_def(graph_def, name="")
        if init_op:
            session.run(init_op)
        return session.run(outputs, inputs)


def check_frozen(directory):
    """The models that Weir froze: NAME/weir_frozen.pb with NAME/weir_frozen.txt, its tensors."""
    count = 0
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name, "weir_frozen.pb")
        if not os.path.exists(path):
            continue
        count += 1
        tensors, init_op = {"input": {}, "output": {}}, None
        with open(os.path.join(directory, name, "weir_frozen.txt")) as file:
            for kind, key, tensor in (line.split() for line in file):
                if kind == "init":
                    init_op = tensor
                else:
                    tensors[kind][key] = tensor
        load = lambda kind, key: np.load(os.path.join(directory, name, kind + "s", key + ".npy"))
        actual = run_frozen(path, {tensor: load("input", key) for key, tensor in tensors["input"].items()},
                            tensors["output"], init_op)
        for key, value in actual.items():
            expected = load("output", key)
            if expected.dtype.kind == "S":
                np.testing.assert_array_equal(value.astype("S"), expected, name)
            else:
                np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-4 * max(1e-9, np.abs(expected).max()),
                                           err_msg=name)
    assert count >= 9, count


def check_export(directory):
    """What Weir exports loads by both loaders, and has what TensorFlow Serving's loader asks for."""
    path = os.path.join(directory, "export")
    version, = os.listdir(path)
    assert version.isdigit(), version
    path = os.path.join(path, version)
    x = np.array([[1, 2], [3, 4]], np.float32)
    expected = np.load(os.path.join(directory, "export_expected.npy"))
    function = tf.saved_model.load(path).signatures["serving_default"]
    np.testing.assert_allclose(function(x=tf.constant(x))["y"], expected, rtol=1e-5)
    with tf.Graph().as_default(), tf1.Session() as session:
        graph = tf1.saved_model.load(session, ["serve"], path)
        signature = graph.signature_def["serving_default"]
        assert signature.method_name == "tensorflow/serving/predict"
        assert not signature.inputs["x"].tensor_shape.unknown_rank
        actual = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: x})
        np.testing.assert_allclose(actual, expected, rtol=1e-5)
        saver = graph.saver_def
        assert saver.filename_tensor_name and saver.restore_op_name and saver.version == tf1.train.SaverDef.V2
        with open(os.path.join(path, "saved_model.pb"), "rb") as file:
            assert file.read(1)
        extra = os.path.join(path, "assets.extra", "tf_serving_warmup_requests")
        assert not os.path.exists(extra)


def check_export_tables(directory):
    """Tables of an export are filled at loading, from the model's own assets."""
    path = os.path.join(directory, "export_tables")
    path = os.path.join(path, os.listdir(path)[0])
    assert not os.path.exists(os.path.join(directory, "vocabulary.txt"))
    words, expected = np.array([b"the", b"quick", b"fox", b"dog"]), [3, 1, 35, -1]
    function = tf.saved_model.load(path).signatures["serving_default"]
    np.testing.assert_array_equal(function(words=tf.constant(words))["y"], expected)
    with tf.Graph().as_default(), tf1.Session() as session:
        signature = tf1.saved_model.load(session, ["serve"], path).signature_def["serving_default"]
        actual = session.run(signature.outputs["y"].name, {signature.inputs["words"].name: words})
        np.testing.assert_array_equal(actual, expected)


def check_checkpoints(directory):
    objects = checkpoint_objects()
    objects.restore(os.path.join(directory, "weir_objects")).assert_consumed()
    np.testing.assert_array_equal(objects.model.dense.kernel.numpy(), np.arange(6).reshape(2, 3) * 10)
    np.testing.assert_array_equal(objects.model.dense.bias.numpy(), np.arange(3) * 10)
    assert objects.step.numpy() == 70 and objects.save_counter.numpy() == 1
    tree, layer = tf.Module(), tf.Module()
    layer.weights = tf.Variable([0., 0.])
    setattr(tree, "layer.1", layer)
    tree = tf.train.Checkpoint(net=tree)
    tree.restore(os.path.join(directory, "weir_tree")).assert_consumed()
    np.testing.assert_array_equal(layer.weights.numpy(), [1.5, 1.5])
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="first"), keras.layers.Dense(2)])
    tf.train.Checkpoint(model=model).read(os.path.join(directory, "weir_keras_objects")).assert_consumed()
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), np.full((4, 3), 2.5))


def check(directory):
    check_frozen(directory)
    check_export(directory)
    check_export_tables(directory)
    check_checkpoints(directory)


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])
