"""Programs of a stock TensorFlow client whose variables are references (tf.compat.v1 without resources), on a server with a
simulated GPU: their models lie and train there, and give what they give in TensorFlow's own process.

  stock_gpu_variables_test.py WEIR [TEST...]    WEIR is the weir program
"""
import os
import sys
import tempfile
import unittest

import weir_cluster

weir_cluster.run_with_tensorflow()
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.FATAL)
cluster = None


def config():
    return tf1.ConfigProto(operation_timeout_in_ms=60000, allow_soft_placement=True)


def variable(name, shape, scale=0.3):
    values = scale * np.sin(1.7 * np.arange(np.prod(shape)) + 0.3)
    return tf1.get_variable(name, initializer=values.reshape(shape).astype(np.float32), use_resource=False)


def images_and_labels(step, size=8):
    images = 0.5 + 0.5 * np.sin(0.37 * np.arange(size * 28 * 28) + step).reshape(size, 28, 28, 1)
    return images.astype(np.float32), (np.arange(size) + step) % 10


def digits(optimizer):
    """A convolutional network for digits, as tutorials have it: (loss, train, feeds)."""
    images, labels = tf1.placeholder(tf.float32, [None, 28, 28, 1]), tf1.placeholder(tf.int64, [None])
    h = tf.nn.relu(tf.nn.conv2d(images, variable("f1", [5, 5, 1, 4], 0.1), 2, "SAME") + variable("b1", [4]))
    h = tf.nn.max_pool2d(h, 2, 2, "SAME")
    h = tf.nn.relu(tf.matmul(tf.reshape(h, [-1, 7 * 7 * 4]), variable("w2", [196, 16], 0.1)) + variable("b2", [16]))
    logits = tf.matmul(h, variable("w3", [16, 10])) + variable("b3", [10])
    loss = tf.reduce_mean(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = optimizer.minimize(loss, global_step=tf1.train.get_or_create_global_step())
    return loss, train, lambda step: dict(zip((images, labels), images_and_labels(step)))


def rows(optimizer):
    """A table of which each step sees some rows."""
    ids = tf1.placeholder(tf.int32, [None])
    table, w = variable("table", [10, 4]), variable("w", [4, 1])
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.embedding_lookup(table, ids), w) - 1))
    return loss, optimizer.minimize(loss), lambda step: {ids: [step % 10, 3, 3, 7]}


train = tf1.train
OPTIMIZERS = {
    "descent": lambda: train.GradientDescentOptimizer(0.1),
    "momentum": lambda: train.MomentumOptimizer(0.05, 0.9),
    "nesterov": lambda: train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
    "adam": lambda: train.AdamOptimizer(0.01),
    "adagrad": lambda: train.AdagradOptimizer(0.1),
    "rms": lambda: train.RMSPropOptimizer(0.01, momentum=0.5),
    "centered_rms": lambda: train.RMSPropOptimizer(0.01, centered=True),
    "ftrl": lambda: train.FtrlOptimizer(0.1, l1_regularization_strength=0.001),
    "adadelta": lambda: train.AdadeltaOptimizer(1.0),
    "proximal": lambda: train.ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.001),
    "proximal_adagrad": lambda: train.ProximalAdagradOptimizer(0.1, l2_regularization_strength=0.001),
}


class GpuVariables(unittest.TestCase):
    def setUp(self):
        tf1.Session.reset(cluster.target())
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)

    def run_program(self, target, loss, train, feeds, steps=4):
        """The losses, what the variables hold in the end, and the nodes of the last step."""
        options, metadata = tf1.RunOptions(output_partition_graphs=True), tf1.RunMetadata()
        with tf1.Session(target, config=config()) as session:
            session.run(tf1.global_variables_initializer())
            losses = []
            for step in range(steps):
                losses.append(session.run([loss, train], feeds(step), options=options, run_metadata=metadata)[0])
            values = session.run(tf1.global_variables())
        return losses, values, [node for part in metadata.partition_graphs for node in part.node]

    def compare(self, program, optimizer):
        loss, train, feeds = program(optimizer)
        self.assertNotIn("VarHandleOp", {op.type for op in tf1.get_default_graph().get_operations()})
        losses, values, nodes = self.run_program(cluster.target(), loss, train, feeds)
        exact, expected, _ = self.run_program("", loss, train, feeds)
        np.testing.assert_allclose(losses, exact, rtol=1e-4)
        for v, ours, theirs in zip(tf1.global_variables(), values, expected):
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5, err_msg=v.name)
        return nodes

    def test_a_network_for_digits_lies_on_the_gpu(self):
        nodes = self.compare(digits, train.MomentumOptimizer(0.05, 0.9))
        on_gpu = {node.op for node in nodes if node.device.endswith("GPU:0")}
        on_cpu = {node.op for node in nodes if not node.device.endswith("GPU:0")}
        hot = {"VariableV2", "ApplyMomentum", "Conv2D", "Conv2DBackpropFilter", "MaxPool", "MaxPoolGrad", "MatMul",
               "ReluGrad", "SparseSoftmaxCrossEntropyWithLogits", "AssignAdd"}
        self.assertEqual(hot - on_gpu, set())
        self.assertEqual(on_cpu - {"Const", "_Send", "_Recv", "_HostSend", "_HostRecv", "NoOp"}, set())

    def test_optimizers(self):
        for name, make in OPTIMIZERS.items():
            for program in (digits, rows):
                with self.subTest(optimizer=name, program=program.__name__), tf.Graph().as_default():
                    tf1.Session.reset(cluster.target())
                    nodes = self.compare(program, make())
                    updates = [n for n in nodes if "Apply" in n.op or n.op in ("ScatterSub", "ScatterAdd", "VariableV2")]
                    self.assertTrue(updates)
                    self.assertEqual({n.device[-5:] for n in updates}, {"GPU:0"})

    def test_moving_averages_take_the_new_values(self):
        def program(optimizer):
            v = variable("v", [6])
            loss = tf.reduce_sum(tf.square(v - 1))
            average = train.ExponentialMovingAverage(0.5)
            with tf1.control_dependencies([optimizer.minimize(loss)]):
                return loss, average.apply([v]), lambda step: {}

        self.compare(program, train.GradientDescentOptimizer(0.1))

    def test_checkpoints(self):
        v, n = variable("v", [5, 3]), tf1.get_variable("n", initializer=np.int32(7), use_resource=False)
        saver, change = train.Saver(), [tf1.assign(v, v * 0), tf1.assign(n, 0)]
        with tempfile.TemporaryDirectory() as directory, tf1.Session(cluster.target(), config=config()) as session:
            session.run(tf1.global_variables_initializer())
            before = session.run(v)
            path = saver.save(session, os.path.join(directory, "model"))
            session.run(change)
            self.assertEqual(np.abs(session.run(v)).max(), 0)
            saver.restore(session, path)
            np.testing.assert_array_equal(session.run(v), before)
            self.assertEqual(session.run(n), 7)
            np.testing.assert_array_equal(tf1.train.load_variable(path, "v"), before)

    def test_what_has_no_value_is_named(self):
        v = variable("v", [2])
        with tf1.device("/device:GPU:0"):
            read = v + 1
        with tf1.Session(cluster.target(), config=config()) as session:
            np.testing.assert_array_equal(session.run(tf1.report_uninitialized_variables()), [b"v"])
            with self.assertRaises(tf.errors.FailedPreconditionError) as raised:
                session.run(read)
            self.assertIn("Attempting to use uninitialized value v", raised.exception.message)
            session.run(v.initializer)
            session.run(read)
        tf1.Session.reset(cluster.target())
        with tf1.Session(cluster.target(), config=config()) as session:
            np.testing.assert_array_equal(session.run(tf1.report_uninitialized_variables()), [b"v"])


def main():
    global cluster
    cluster = weir_cluster.Cluster(sys.argv[1], tasks=1, arguments=["--simulated-gpus", "1"])
    weir_cluster.end_after(290, cluster)
    try:
        result = unittest.main(module="__main__", argv=sys.argv[:1] + sys.argv[2:], exit=False, verbosity=2).result
    finally:
        cluster.stop()
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
