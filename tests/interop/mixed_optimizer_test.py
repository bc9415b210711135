"""TensorFlow's master optimises a graph before it sends its parts to workers: what that makes of many small graphs, a
Weir worker computes as TensorFlow does without the optimizer.

  mixed_optimizer_test.py WEIR [CASE...]    WEIR is the weir program
"""
import sys

import weir_cluster

weir_cluster.run_with_tensorflow()
import mixed_cluster
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.FATAL)
WEIR = "/job:weir/task:0"
SECONDS = 500
STEP_MS = 20000


class Feeds:
    """Placeholders with what they are fed; no dimension of the first is known, so that nothing is folded."""

    def __init__(self):
        self.rng = np.random.RandomState(1)
        self.values = {}

    def __call__(self, *shape, dtype=np.float32, low=-1, high=1):
        x = tf1.placeholder(dtype, [None] + list(shape[1:]) if shape else [])
        self.values[x] = self.rng.uniform(low, high, shape).astype(dtype)
        return x

    def const(self, *shape, dtype=np.float32):
        return tf.constant(self.rng.uniform(-1, 1, shape).astype(dtype))


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "elu": tf.nn.elu,
    "leaky_relu": lambda x: tf.nn.leaky_relu(x, 0.3),
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "gelu_approximate": lambda x: tf.nn.gelu(x, True),
    "gelu_exact": lambda x: tf.nn.gelu(x, False),
    "swish": lambda x: x * tf.sigmoid(x),
    "mish": lambda x: x * tf.tanh(tf.math.softplus(x)),
    "hard_swish": lambda x: x * tf.nn.relu6(x + 3.0) * 0.16666667,
}


def matmul(dtype):
    return lambda f: tf.nn.bias_add(tf.matmul(f(5, 7, dtype=dtype), f.const(7, 6, dtype=dtype)), f.const(6, dtype=dtype))


def conv2d(f, **more):
    more = dict({"strides": [1, 2, 2, 1], "padding": "SAME"}, **more)
    return tf.nn.bias_add(tf.nn.conv2d(f(2, 8, 8, 3), f.const(3, 3, 3, 4), **more), f.const(4))


def depthwise(f):
    product = tf1.nn.depthwise_conv2d_native(f(2, 8, 8, 3), f.const(3, 3, 3, 2), [1, 1, 1, 1], "VALID")
    return tf.nn.bias_add(product, f.const(6))


def conv3d(f):
    product = tf.nn.conv3d(f(2, 5, 6, 6, 3), f.const(2, 3, 3, 3, 4), [1, 1, 1, 1, 1], "SAME")
    return tf.nn.bias_add(product, f.const(4))


def inference_norm(f, x):
    moments = f.const(4), tf.abs(f.const(4)) + 0.5
    return tf1.nn.fused_batch_norm(x, f.const(4), f.const(4), *moments, is_training=False)[0]


def training_norm(f):
    return tf1.nn.fused_batch_norm(f(2, 8, 8, 4), f.const(4), f.const(4), is_training=True)[0]


def moments_norm(f, axes, *shape):
    x = tf.identity(f(*shape))
    mean, variance = tf.nn.moments(x, axes, keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, f.const(shape[-1]), f.const(shape[-1]), 1e-3)


def keras_layer_norm(f):
    """As Keras 2 wrote it: a batch norm with each row as a channel."""
    x = f(4, 16)
    rows = tf.shape(x)[0]
    y = tf1.nn.fused_batch_norm(tf.reshape(x, [1, rows, 16, 1]), tf.fill([rows], 1.0), tf.fill([rows], 0.0),
                                data_format="NCHW", is_training=True, epsilon=1e-3)[0]
    return tf.reshape(y, tf.shape(x)) * f.const(16) + f.const(16)


def lstm(f):
    z = tf.nn.bias_add(tf.matmul(tf.concat([f(3, 4), f(3, 8)], 1), f.const(12, 32)), f.const(32))
    i, j, forget, o = tf.split(z, 4, 1)
    return tf.tanh(f(3, 8) * tf.sigmoid(forget + 1.0) + tf.sigmoid(i) * tf.tanh(j)) * tf.sigmoid(o)


def loop(f):
    """The optimizer works on the functions of loops too."""
    w, b, x = f.const(4, 4), f.const(4), f(3, 4)
    body = lambda i, y: (i + 1, tf.nn.relu(tf.nn.bias_add(tf.matmul(y, w), b)))
    return tf.while_loop(lambda i, y: i < 5, body, [0, x])[1]


def branch(f):
    x, w, b = f(3, 4), f.const(4, 4), f.const(4)
    layer = lambda: tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b))
    return tf.cond(tf.reduce_sum(x) > 100, lambda: x, layer)


def called(f):
    """A function that is not inlined."""

    @tf.function(experimental_implements="layer")
    def layer(x, w, b):
        return tf.sqrt(tf.abs(tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b))))

    return layer(f(3, 4), f.const(4, 4), f.const(4))


CASES = {
    "matmul_transposed": lambda f: tf.nn.relu(tf.nn.bias_add(
        tf.matmul(f(7, 5), f.const(6, 7), transpose_a=True, transpose_b=True), f.const(6))),
    "conv_squeeze": lambda f: tf.nn.bias_add(
        tf.squeeze(tf.nn.conv2d(f(2, 1, 8, 3), f.const(1, 3, 3, 4), 1, "SAME"), [1]), f.const(4)),
    "conv_padded": lambda f: tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(
        tf.pad(f(2, 8, 8, 3), [[0, 0], [1, 1], [2, 2], [0, 0]]), f.const(3, 3, 3, 4), 2, "VALID"), f.const(4))),
    "conv_explicit": lambda f: tf.nn.relu(conv2d(f, strides=1, padding=[[0, 0], [1, 2], [0, 1], [0, 0]])),
    "conv_dilated": lambda f: tf.nn.relu(conv2d(f, strides=1, dilations=2)),
    "conv3d_padded": lambda f: tf.nn.bias_add(tf.nn.conv3d(
        tf.pad(f(2, 5, 6, 6, 3), [[0, 0], [1, 1], [2, 2], [0, 1], [0, 0]]), f.const(2, 3, 3, 3, 4), [1] * 5, "VALID"),
                                              f.const(4)),
    "batch_matmul_mul_add": lambda f: tf.matmul(f(2, 3, 4, 5), f(2, 3, 6, 5), transpose_b=True) * 0.125 + f(2, 1, 1, 6),
    "batch_matmul_mul": lambda f: tf.matmul(f(2, 3, 4, 5), f(2, 3, 5, 6)) * tf.constant(0.5),
    "layer_norm": lambda f: moments_norm(f, [-1], 2, 5, 16),
    "layer_norm_keras": keras_layer_norm,
    "instance_norm": lambda f: moments_norm(f, [1, 2], 2, 5, 6, 16),
    "instance_norm_relu": lambda f: tf.nn.relu(moments_norm(f, [1, 2], 2, 5, 6, 16)),
    "unary_tanh": lambda f: tf.sqrt(tf.abs(tf.tanh(tf.sin(f(3, 100) * 1.0)))),
    "unary_relu": lambda f: tf.sqrt(tf.square(tf.nn.relu(tf.exp(tf.negative(f(3, 100)))))),
    "unary_floor": lambda f: tf.math.log(tf.exp(tf.nn.relu6(tf.sigmoid(tf.math.floor(f(3, 100) * 9.0))))),
    "unary_double": lambda f: tf.sqrt(tf.abs(tf.math.expm1(f(3, 4, dtype=np.float64)))),
    "hash_int64": lambda f: tf1.string_to_hash_bucket_fast(
        tf.as_string(f(20, dtype=np.int64, low=-1000, high=1000)), 100),
    "hash_int8": lambda f: tf1.string_to_hash_bucket_fast(tf.as_string(f(20, dtype=np.int8, low=-99, high=99)), 7),
    "parallel_stack": lambda f: tf.parallel_stack([tf.reshape(f(4), [4]), tf.constant([1.0, 2.0, 3.0, 4.0])]),
    "accumulate": lambda f: tf.raw_ops.AccumulateNV2(
        inputs=[tf.reshape(f(4), [4]), tf.constant([1.0, 2.0, 3.0, 4.0])], shape=[4]),
    "add_n": lambda f: tf.add_n([f(4), f(4), f(4)]),
    "constants": lambda f: (tf.constant([1.0, 2.0]) + tf.constant(3.0)) * f(2) + tf.reduce_sum(tf.zeros([3, 4]) + 1.0),
    "reshapes": lambda f: tf.reshape(tf.reshape(f(4, 6), [8, 3]), [-1]) + tf.cast(
        tf.cast(tf.ones([24]), tf.float64), tf.float32),
    "slices": lambda f: tf.concat([f(3, 2) * 2.0, f(3, 2) * 2.0, tf.zeros([3, 0])], 1)[:, 1:3],
    "transposes": lambda f: tf.transpose(tf.transpose(f(2, 3, 4), [0, 2, 1]), [0, 2, 1]) + 1.0,
    "hoisted": lambda f: f(3, 3) * tf.constant(2.0) + f(3, 3) * tf.constant(2.0) + f(3, 3) * tf.constant(2.0),
    "powers": lambda f: f(3) / tf.constant(3.0) + f(3)**2.0 + tf.abs(f(3))**0.5 + (f(3) + 3.0)**-0.5 + f(3)**3.0,
    "logarithms": lambda f: tf.math.log(1.0 + f(3, 3, low=0)) + (tf.exp(f(3, 3)) - 1.0),
    "einsum": lambda f: tf.einsum("bij,bjk->bik", f(2, 3, 4), f(2, 4, 5)),
    "softmax": lambda f: tf.nn.softmax(f(3, 10) * 2.0),
    "clip": lambda f: tf.clip_by_global_norm([f(3, 3), f(3, 4)], 1.0)[0],
    "integers": lambda f: f(3, 3, dtype=np.int32, low=-9, high=9) // 3 + f(3, 3, dtype=np.int32, low=-9, high=9) % 3,
    "lstm": lstm,
    "loop": loop,
    "branch": branch,
    "called": called,
}
for name, activation in ACTIVATIONS.items():

    def with_activation(layer, activation=activation):
        return lambda f: activation(layer(f))

    LAYERS = {
        "matmul": matmul(np.float32),
        "matmul_half": matmul(np.float16),
        "matmul_bfloat16": matmul(tf.bfloat16.as_numpy_dtype),
        "matmul_double": matmul(np.float64),
        "matmul_add": lambda f: matmul(np.float32)(f) + f(5, 6),
        "conv2d": conv2d,
        "conv2d_add": lambda f: conv2d(f) + f(2, 4, 4, 4),
        "conv2d_norm": lambda f: inference_norm(f, tf.nn.conv2d(f(2, 8, 8, 3), f.const(3, 3, 3, 4), 1, "VALID")),
        "depthwise": depthwise,
        "conv3d": conv3d,
        "training_norm": training_norm,
        "training_norm_add": lambda f: training_norm(f) + f(2, 8, 8, 4),
        "inference_norm": lambda f: inference_norm(f, f(2, 8, 8, 4)),
        "alone": lambda f: f(3, 50) * 2.0,
    }
    CASES.update({"%s_%s" % (layer, name): with_activation(LAYERS[layer]) for layer in LAYERS})


def gradient(case):

    def of(f):
        y = CASES[case](f)
        return tf1.gradients(tf.reduce_sum(tf.square(y)), list(f.values))

    return of


for name in ("conv2d_relu", "conv2d_elu", "conv2d_leaky_relu", "conv2d_norm_none", "training_norm_relu",
             "training_norm_add_relu", "inference_norm_relu", "matmul_relu", "matmul_tanh", "matmul_gelu_approximate",
             "matmul_gelu_exact", "matmul_swish", "depthwise_relu", "conv3d_relu", "alone_mish", "conv_padded",
             "layer_norm", "instance_norm", "lstm", "softmax"):
    CASES["gradient_" + name] = gradient(name)


def fetches(case):
    """A case's graph; the fetched nodes are not what the optimizer must leave alone."""
    feeds = Feeds()
    with tf.device(WEIR):
        y = CASES[case](feeds)
        return [tf.identity(t) for t in (y if isinstance(y, (list, tuple)) else [y])], feeds.values


def alone(graph, names, feeds):
    """What TensorFlow gives for the graph in this process, without its optimizer."""
    graph_def = graph.as_graph_def()
    nodes = list(graph_def.node) + [node for function in graph_def.library.function for node in function.node_def]
    for node in nodes:
        node.device = ""
    config = tf1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf1.Session(config=config) as session:
            return session.run(names, {x.name: value for x, value in feeds.items()})


def check(case, target):
    with tf.Graph().as_default() as graph:
        y, feeds = fetches(case)
        with tf1.Session(target, config=tf1.ConfigProto(operation_timeout_in_ms=STEP_MS)) as session:
            results = session.run(y, feeds)
        for got, wanted in zip(results, alone(graph, [t.name for t in y], feeds)):
            near = {"rtol": 2e-2, "atol": 2e-2} if wanted.dtype.itemsize == 2 else {"rtol": 1e-5, "atol": 1e-5}
            np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(wanted, np.float64), **near)


def main():
    cluster = mixed_cluster.MixedCluster(sys.argv[1], {"weir": 1, "tensorflow": 1}, {("tensorflow", 0)})
    weir_cluster.end_after(SECONDS, cluster)
    failed = []
    for case in sys.argv[2:] or CASES:
        try:
            check(case, cluster.target(job="tensorflow"))
        except (AssertionError, tf.errors.OpError) as error:
            failed.append(case)
            print("%s: %s\n" % (case, error))
    print("%d of %d cases failed: %s" % (len(failed), len(sys.argv[2:] or CASES), " ".join(failed)))
    if failed:
        print(cluster.logs())
    cluster.stop()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
