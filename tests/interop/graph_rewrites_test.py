"""Mixed precision and layouts as a stock TensorFlow client asks for them: Weir gives the nodes the types that TensorFlow's
optimizer gives them, and programs the losses that they have there.

  graph_rewrites_test.py WEIR [TEST...]    WEIR is the weir program
"""
import os
import sys
import unittest

import weir_cluster

# Read when TensorFlow's optimizer runs: with it nodes get their types instead of casts around them.
os.environ["TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_EMULATE_FP16"] = "false"
# Its rewrite for bfloat16 needs oneDNN, which TensorFlow uses by itself on some CPUs only.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
weir_cluster.run_with_tensorflow()
import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2
from tensorflow.python.grappler import tf_optimizer

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.FATAL)
ON, OFF = rewriter_config_pb2.RewriterConfig.ON, rewriter_config_pb2.RewriterConfig.OFF
STEP_MS = 60000
SHORT = (tf.float16.as_datatype_enum, tf.bfloat16.as_datatype_enum)
cpu_cluster = gpu_cluster = None


class ClusterWithGpu(weir_cluster.Cluster):
    def command(self, job, index, ready_file):
        return super().command(job, index, ready_file) + ["--simulated-gpus", "1"]


def variable(name, shape, scale=0.3):
    values = scale * np.sin(1.7 * np.arange(np.prod(shape)) + 0.3)
    return tf1.get_variable(name, initializer=values.reshape(shape).astype(np.float32))


def data(shape):
    return tf.constant((0.5 + np.sin(0.9 * np.arange(np.prod(shape)))).reshape(shape).astype(np.float32))


def batch_norm(x, name, size):
    scale, offset = variable(name + "/scale", [size], 1), variable(name + "/offset", [size], 0.1)
    return tf1.nn.fused_batch_norm(x, scale, offset, is_training=True)[0]


def mlp():
    x = data([16, 8])
    h = tf.nn.relu(tf.matmul(x, variable("w1", [8, 16])) + variable("b1", [16]))
    h = tf.nn.tanh(tf.nn.bias_add(tf.matmul(h, variable("w2", [16, 16])), variable("b2", [16])))
    logits = tf.matmul(h, variable("w3", [16, 4]))
    labels = tf.constant(np.arange(16) % 4)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def convnet():
    x = data([4, 8, 8, 3])
    h = tf.nn.conv2d(x, variable("f1", [3, 3, 3, 8]), 1, "SAME")
    h = tf.nn.max_pool2d(tf.nn.relu(batch_norm(h, "n1", 8)), 2, 2, "VALID")
    h = tf.nn.conv2d(h, variable("f2", [3, 3, 8, 8]), 1, "SAME")
    h = tf.nn.avg_pool2d(tf.nn.leaky_relu(batch_norm(h, "n2", 8)), 2, 2, "VALID")
    logits = tf.matmul(tf.reshape(h, [4, -1]), variable("w", [32, 4]))
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=tf.one_hot([0, 1, 2, 3], 4), logits=logits))


def residual():
    h = data([2, 6, 6, 8])
    for i in range(2):
        f = tf.nn.relu(batch_norm(tf.nn.conv2d(h, variable("f%d" % i, [3, 3, 8, 8]), 1, "SAME"), "n%d" % i, 8))
        h = h + tf.nn.conv2d(f, variable("g%d" % i, [1, 1, 8, 8]), 1, "SAME")
    pooled = tf.reduce_mean(h, [1, 2])
    return tf.reduce_mean(tf.square(tf.matmul(pooled, variable("w", [8, 2])) - 1))


def embedding():
    rows = tf.nn.embedding_lookup(variable("table", [10, 8]), tf.constant([[1, 2, 3], [4, 5, 5]]))
    pooled = tf.reduce_sum(rows, 1)
    h = tf.nn.softmax(tf.matmul(pooled, variable("w", [8, 8])))
    return tf.reduce_mean(tf.math.squared_difference(tf.matmul(h, variable("v", [8, 1])), 0.5))


def recurrent():
    x, w, u = data([5, 4, 6]), variable("w", [6, 8]), variable("u", [8, 8])
    inputs = tf1.TensorArray(tf.float32, 5).unstack(x)
    outputs = tf1.TensorArray(tf.float32, 5)

    def step(i, h, outputs):
        h = tf.tanh(tf.matmul(inputs.read(i), w) + tf.matmul(h, u))
        return i + 1, h, outputs.write(i, h)

    _, h, outputs = tf1.while_loop(lambda i, *_: i < 5, step, (0, tf.zeros([4, 8]), outputs))
    return tf.reduce_mean(tf.square(h)) + tf.reduce_mean(tf.square(outputs.stack() - 0.1))


def attention():
    x = data([2, 5, 8])
    q, k, v = (tf.reshape(tf.matmul(tf.reshape(x, [10, 8]), variable(n, [8, 8])), [2, 5, 8]) for n in "qkv")
    weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 2.8)
    y = tf.einsum("btd,de->bte", tf.matmul(weights, v), variable("o", [8, 8]))
    mean, variance = tf.nn.moments(y + x, [-1], keepdims=True)
    return tf.reduce_mean(tf.square((y + x - mean) * tf.math.rsqrt(variance + 1e-3) - 0.2))


PROGRAMS = {f.__name__: f for f in (mlp, convnet, residual, embedding, recurrent, attention)}
MODES = ("auto_mixed_precision_onednn_bfloat16", "auto_mixed_precision_cpu")


def config_with(mode, **more):
    config = config_pb2.ConfigProto(operation_timeout_in_ms=STEP_MS, **more)
    rewrite = config.graph_options.rewrite_options
    rewrite.min_graph_nodes = -1
    if mode is not None:
        setattr(rewrite, mode, ON)
    return config


def keep_names(config):
    """What would rename nodes, or do away with them, is off."""
    rewrite = config.graph_options.rewrite_options
    for name in ("constant_folding", "common_subgraph_elimination", "remapping"):
        setattr(rewrite, name, OFF)
    return config


def graph_of(program, use_resource, optimizer=tf1.train.GradientDescentOptimizer, rate=0.1):
    graph = tf.Graph()
    with graph.as_default():
        tf1.get_variable_scope().set_use_resource(use_resource)
        loss = tf.identity(program(), name="loss")
        train = optimizer(rate).minimize(loss, name="train")
        tf1.global_variables_initializer()
    return graph, loss, train


def short_nodes(nodes):
    """{name: attributes} of those with 16-bit types, but for casts that a pass added."""
    found = {}
    for node in nodes:
        attrs = set()
        for name, value in node.attr.items():
            if not name.startswith("_") and (value.type in SHORT or any(t in SHORT for t in value.list.type)):
                attrs.add(name)
        if attrs and not node.name.endswith("AutoMixedPrecision"):
            found[node.name] = attrs
    return found


def types_by_tensorflow(graph, mode):
    """Of the part that a step runs, as a session would cut it out."""
    part = tf1.graph_util.extract_sub_graph(graph.as_graph_def(), ["loss", "train"])
    with tf.Graph().as_default() as cut:
        tf1.import_graph_def(part, name="")
        meta = tf1.train.export_meta_graph(graph=cut)
    meta.collection_def["train_op"].node_list.value.extend(["loss:0", "train"])
    config = config_with(None)
    rewrite = config.graph_options.rewrite_options
    rewrite.optimizers.append(mode)
    rewrite.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.ONE
    optimized = tf_optimizer.OptimizeGraph(config, meta)
    return short_nodes(optimized.node)


def start_afresh(target):
    """Variables of former sessions are forgotten."""
    if target:
        tf1.Session.reset(target)


def run(target, graph, loss, train, config, steps=5):
    """The losses, and the nodes of the last step."""
    start_afresh(target)
    options = tf1.RunOptions(output_partition_graphs=True)
    metadata = tf1.RunMetadata()
    with tf1.Session(target, graph=graph, config=config) as session:
        session.run("init")
        losses = [session.run([loss, train], options=options, run_metadata=metadata)[0] for _ in range(steps)]
    return losses, [node for part in metadata.partition_graphs for node in part.node]


class MixedPrecision(unittest.TestCase):
    def for_each(self, check):
        for name, program in PROGRAMS.items():
            for use_resource in (False, True):
                with self.subTest(program=name, use_resource=use_resource):
                    check(*graph_of(program, use_resource))

    def check_types(self, mode):
        def check(graph, loss, train):
            expected = types_by_tensorflow(graph, mode)
            self.assertTrue(expected)
            _, nodes = run(cpu_cluster.target(), graph, loss, train, keep_names(config_with(mode)), steps=1)
            self.assertEqual(short_nodes(nodes), expected)
            casts = [node.input[0] for node in nodes if node.name.endswith("AutoMixedPrecision")]
            self.assertEqual(len(casts), len(set(casts)), "a tensor is cast twice")

        self.for_each(check)

    def test_bfloat16_has_tensorflows_types(self):
        self.check_types(MODES[0])

    def test_float16_has_tensorflows_types(self):
        self.check_types(MODES[1])

    def test_losses_are_near_those_of_float(self):
        def check(graph, loss, train):
            exact, _ = run("", graph, loss, train, config_with(None))
            for mode, tolerance in zip(MODES, (3e-2, 4e-3)):
                losses, nodes = run(cpu_cluster.target(), graph, loss, train, config_with(mode))
                self.assertTrue(short_nodes(nodes))
                np.testing.assert_allclose(losses, exact, rtol=tolerance, err_msg=mode)
                theirs, _ = run("", graph, loss, train, config_with(mode))
                np.testing.assert_allclose(losses, theirs, rtol=tolerance, err_msg=mode)

        self.for_each(check)

    def test_a_loop_of_functions(self):
        """TensorFlow optimizes the body on its own; Weir where it is written out, with its lists of tensors."""
        tf1.enable_control_flow_v2()
        try:
            graph, loss, train = graph_of(recurrent, True)
        finally:
            tf1.disable_control_flow_v2()
        exact, _ = run("", graph, loss, train, config_with(None))
        for mode, tolerance in zip(MODES, (3e-2, 4e-3)):
            losses, nodes = run(cpu_cluster.target(), graph, loss, train, config_with(mode))
            self.assertIn("MatMul", {node.op for node in nodes if node.name in short_nodes(nodes)})
            np.testing.assert_allclose(losses, exact, rtol=tolerance, err_msg=mode)

    def test_float16_on_gpus_has_the_types_of_float16(self):
        for program in (mlp, residual):
            graph, loss, train = graph_of(program, True)
            expected = types_by_tensorflow(graph, MODES[1])
            config = config_with("auto_mixed_precision", allow_soft_placement=True)
            losses, nodes = run(gpu_cluster.target(), graph, loss, train, keep_names(config))
            self.assertEqual(short_nodes(nodes), expected)
            self.assertEqual({node.device[-5:] for node in nodes if node.name in expected}, {"GPU:0"})
            exact, _ = run("", graph, loss, train, config_with(None))
            np.testing.assert_allclose(losses, exact, rtol=4e-3)

    def test_fed_and_fetched_tensors_keep_their_types(self):
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(tf.float32, [4, 4])
            product = tf.matmul(x, x)
            y = tf.exp(tf.matmul(tf.tanh(product), x))
        with tf1.Session(cpu_cluster.target(), graph=graph, config=config_with(MODES[0])) as session:
            feed = np.full([4, 4], 0.1, np.float32)
            fetched = session.run([product, y], {x: feed})
            self.assertEqual({value.dtype for value in fetched}, {np.dtype(np.float32)})
            self.assertEqual(session.run(y, {product: feed, x: feed}).dtype, np.float32)


def scaled(make_scale):
    return lambda rate: tf1.mixed_precision.MixedPrecisionLossScaleOptimizer(
        tf1.train.MomentumOptimizer(rate, 0.9), make_scale())


class Layout(unittest.TestCase):
    """Programs with channels first give what they give with channels last."""

    def check(self, cluster, config, device):
        for program in (convnet, residual):
            with self.subTest(program=program.__name__):
                graph, loss, train = graph_of(program, True)
                exact, _ = run("", graph, loss, train, config_with(None))
                plain, before = run(cluster.target(), graph, loss, train, config_with(None, allow_soft_placement=True))
                losses, after = run(cluster.target(), graph, loss, train, config)
                np.testing.assert_allclose(plain, exact, rtol=1e-4)
                np.testing.assert_allclose(losses, exact, rtol=1e-4)
                self.assertEqual(self.formats(before, device), {b"NHWC"})
                self.assertEqual(self.formats(after, device), {b"NCHW"})

    def formats(self, nodes, device):
        convolutions = ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "FusedBatchNormV3")
        return {node.attr["data_format"].s for node in nodes if node.op in convolutions and device in node.device}

    def test_on_gpus(self):
        config = config_with(None, allow_soft_placement=True)
        config.graph_options.rewrite_options.layout_optimizer = ON
        self.check(gpu_cluster, config, "GPU:0")

    def test_on_cpus(self):
        config = config_with(None)
        config.graph_options.rewrite_options.cpu_layout_conversion = rewriter_config_pb2.RewriterConfig.NHWC_TO_NCHW
        self.check(cpu_cluster, config, "CPU:0")


class LossScaling(unittest.TestCase):
    """Stock optimizers with loss scales: what they do is in the graph."""

    def losses_and_state(self, target, config, make_scale, times):
        graph, loss, train = graph_of(lambda: times * mlp(), True, scaled(make_scale), rate=0.05 / times)
        names = ("current_loss_scale", "good_steps")
        with graph.as_default():
            state = {v.op.name: v for v in tf1.global_variables() if v.op.name in names}
        seen = []
        start_afresh(target)
        with tf1.Session(target, graph=graph, config=config) as session:
            session.run("init")
            for _ in range(6):
                value, _ = session.run([loss, train])
                seen.append([value] + [session.run(state[name]) for name in sorted(state)])
        return np.array(seen, np.float64)

    def check(self, make_scale, times=1):
        dynamic = tf1.mixed_precision.DynamicLossScale
        exact = self.losses_and_state("", config_with(None), make_scale, times)
        plain = self.losses_and_state(cpu_cluster.target(), config_with(None), make_scale, times)
        np.testing.assert_allclose(plain, exact, rtol=1e-5)
        self.assertEqual(exact.shape[1], 3 if isinstance(make_scale(), dynamic) else 1)
        self.assertEqual(len(np.unique(exact[:, 1:], axis=0)) > 1, exact.shape[1] > 1, "the scale never changed")
        for cluster, mode, more in ((cpu_cluster, MODES[1], {}),
                                    (gpu_cluster, "auto_mixed_precision", {"allow_soft_placement": True})):
            short = self.losses_and_state(cluster.target(), config_with(mode, **more), make_scale, times)
            np.testing.assert_allclose(short, exact, rtol=4e-3, err_msg=mode)

    def test_a_fixed_scale(self):
        self.check(lambda: tf1.mixed_precision.FixedLossScale(128))

    def test_a_dynamic_scale_grows(self):
        self.check(lambda: tf1.mixed_precision.DynamicLossScale(initial_loss_scale=16, increment_period=2))

    def test_a_dynamic_scale_that_overflows_shrinks(self):
        """Beyond float itself, so that all skip the same steps."""
        scale = lambda: tf1.mixed_precision.DynamicLossScale(initial_loss_scale=2.0**125, multiplier=2.0**120)
        self.check(scale, times=1000)

    def test_the_rewrite_that_wraps_an_optimizer(self):
        """enable_mixed_precision_graph_rewrite asks each session made from then on for auto_mixed_precision."""
        graph = tf.Graph()
        with graph.as_default():
            tf1.get_variable_scope().set_use_resource(True)
            loss = tf.identity(mlp(), name="loss")
            optimizer = tf1.mixed_precision.enable_mixed_precision_graph_rewrite(
                tf1.train.GradientDescentOptimizer(0.1), loss_scale="dynamic")
            try:
                train = optimizer.minimize(loss, name="train")
                tf1.global_variables_initializer()
                config = config_with(None, allow_soft_placement=True)
                losses, nodes = run(gpu_cluster.target(), graph, loss, train, config)
            finally:
                tf1.mixed_precision.disable_mixed_precision_graph_rewrite()
        self.assertIn("MatMul", {node.op for node in nodes if node.name in short_nodes(nodes)})
        exact, _ = run("", graph, loss, train, config_with(None))
        np.testing.assert_allclose(losses, exact, rtol=4e-3)


def main():
    global cpu_cluster, gpu_cluster
    cpu_cluster = weir_cluster.Cluster(sys.argv[1], tasks=1)
    gpu_cluster = ClusterWithGpu(sys.argv[1], tasks=1)
    weir_cluster.end_after(550, cpu_cluster)
    try:
        result = unittest.main(module="__main__", argv=sys.argv[:1] + sys.argv[2:], exit=False, verbosity=2,
                               warnings="ignore").result
        if not result.wasSuccessful():
            print(cpu_cluster.logs(), gpu_cluster.logs())
    finally:
        cpu_cluster.stop()
        gpu_cluster.stop()
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
