"""Clusters in which one task is Weir's and one TensorFlow's: what each one's master computes on both.

  mixed_session_test.py WEIR [TEST...]    WEIR is the weir program
"""
import os
import sys
import tempfile
import unittest

import weir_cluster

weir_cluster.run_with_tensorflow()
import mixed_cluster
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.FATAL)
WEIR, TENSORFLOW = "/job:weir/task:0", "/job:tensorflow/task:0"
SECONDS = 500
STEP_MS = 20000
cluster = None


class OnBoth:
    """Each test in a graph and a session of its own, at the master of the job `master`."""

    def setUp(self):
        tf1.Session.reset(cluster.target(job=self.master))
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)
        config = tf1.ConfigProto(operation_timeout_in_ms=STEP_MS)
        self.session = tf1.Session(cluster.target(job=self.master), config=config)
        self.addCleanup(lambda: self.session.close())

    def run_(self, fetches, feeds=None, **more):
        return self.session.run(fetches, feeds, **more)

    def both_ways(self):
        """(here, there): where the variables are and where the work is done."""
        for here, there in ((WEIR, TENSORFLOW), (TENSORFLOW, WEIR)):
            with self.subTest(variables=here), tf1.variable_scope("on_" + here.split(":")[1].split("/")[0]):
                yield here, there

    def test_devices(self):
        devices = {device.name: device for device in self.session.list_devices()}
        for task in (WEIR, TENSORFLOW):
            device = devices[task.replace("/task", "/replica:0/task") + "/device:CPU:0"]
            self.assertEqual(device.device_type, "CPU")
            self.assertNotEqual(device.incarnation, 0)
            self.assertGreater(device.memory_limit_bytes, 0)

    def test_tensors_pass_both_ways(self):
        for here, there in self.both_ways():
            for dtype in (tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8, tf.int8, tf.uint16, tf.int16, tf.bool,
                          tf.complex64, tf.complex128, tf.float16, tf.bfloat16, tf.string):
                for shape in ((), (0,), (3,), (2, 0, 3), (2, 3)):
                    with self.subTest(dtype=dtype, shape=shape):
                        values = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2
                        value = np.vectorize(str, otypes=[object])(values) if dtype == tf.string else values.astype(
                            dtype.as_numpy_dtype)
                        with tf.device(here):
                            x = tf1.placeholder(dtype, shape)
                            sent = tf.identity(x)
                        with tf.device(there):
                            received = tf.identity(sent)
                        with tf.device(here):
                            back = tf.identity(received)
                        result = self.run_([received, back], {x: value})
                        wanted = value.astype(bytes).astype(object) if dtype == tf.string else value
                        for got in result:
                            np.testing.assert_array_equal(got, wanted)
                            self.assertEqual(np.shape(got), shape)

    def test_large_tensors(self):
        x = tf1.placeholder(tf.float32, [None])
        text = tf1.placeholder(tf.string, [])
        with tf.device(WEIR):
            a, left = x + 1, tf1.strings.join([text, "l"])
        with tf.device(TENSORFLOW):
            b, both = a * 2, tf1.strings.join([left, "r"])
        with tf.device(WEIR):
            c, end = b - 1, tf1.strings.join([both, "."])
        value = np.arange(5 << 20, dtype=np.float32) % 1000
        for _ in range(3):
            result, ended = self.run_([c, end], {x: value, text: "x" * 3000000})
            np.testing.assert_array_equal(result, (value + 1) * 2 - 1)
            self.assertEqual(ended, b"x" * 3000000 + b"lr.")

    def test_compression_that_tensorflow_does_not_know(self):
        """What is compressed between Weir's tasks passes as it is from and to TensorFlow's."""
        config = tf1.ConfigProto(operation_timeout_in_ms=STEP_MS)
        config.rpc_options.compression_algorithm = "lz4"
        x = tf1.placeholder(tf.float32, [None])
        with tf.device(WEIR):
            there = x + 1
        with tf.device(TENSORFLOW):
            back = there * 2
        with tf.device(WEIR):
            end = back - 1
        value = np.ones(100000, np.float32)
        with tf1.Session(cluster.target(job=self.master), config=config) as session:
            np.testing.assert_array_equal(session.run(end, {x: value}), 3 * value)

    def test_control_edges_cross(self):
        for here, there in self.both_ways():
            with tf.device(here):
                v = tf1.get_variable("v", initializer=1.0, use_resource=True)
            self.run_(v.initializer)
            with tf.device(there):
                first = tf.identity(tf.constant(5.0))
            with tf.device(here), tf.control_dependencies([first]):
                assign = tf1.assign(v, 7.0).op
            with tf.device(there), tf.control_dependencies([assign]):
                after = tf.identity(3.0)
            with tf.device(here), tf.control_dependencies([after]):
                read = v.read_value()
            self.assertEqual(self.run_(read), 7)

    def test_feeds_replace_what_crosses(self):
        with tf.device(WEIR):
            a = tf.constant(1.0)
        with tf.device(TENSORFLOW):
            b = a + 1
        with tf.device(WEIR):
            c = b * 10
        self.assertEqual(self.run_(c), 20)
        self.assertEqual(self.run_(c, {a: 4.0}), 50)
        self.assertEqual(self.run_([a, c], {b: 7.0}), [1, 70])
        np.testing.assert_array_equal(self.run_([b, c], {a: 2.0}), [3, 30])

    def test_conditionals_and_loops_cross(self):
        tf1.disable_control_flow_v2()
        self.addCleanup(tf1.enable_control_flow_v2)
        p = tf1.placeholder(tf.bool, [])
        with tf.device(WEIR):
            a = tf.constant([1.0, 2.0])

        def on(task, compute):
            def branch():
                with tf.device(task):
                    return compute()

            return branch

        y = tf1.cond(p, on(TENSORFLOW, lambda: a * 2), on(WEIR, lambda: a * 3))
        with tf.device(TENSORFLOW):
            z = y + 1

        def inner(j, v):
            with tf.device(WEIR):
                return j + 1, v + 1

        def outer(i, v):
            with tf.device(TENSORFLOW):
                u = v * 1.5
            _, u = tf1.while_loop(lambda j, _: j < 3, inner, [0, u])
            with tf.device(WEIR):
                return i + 1, u - 1

        _, w = tf1.while_loop(lambda i, v: i < 5, outer, [0, a])
        dw = tf1.gradients(w, a)[0]
        expected = np.array([1.0, 2.0])
        for _ in range(5):
            expected = expected * 1.5 + 3 - 1
        for value, factor in ((True, 2), (False, 3)):
            got = self.run_([z, w, dw], {p: value})
            np.testing.assert_array_equal(got[0], np.array([1.0, 2.0]) * factor + 1)
            np.testing.assert_allclose(got[1], expected)
            np.testing.assert_allclose(got[2], [1.5**5] * 2)

    def test_functions(self):
        @tf.function
        def twice(x):
            return tf.nn.relu(x) * 2.0 + 1.0

        @tf.function
        def power(x, n):
            return tf.while_loop(lambda i, _: i < n, lambda i, y: (i + 1, y * x), [0, 1.0])[1]

        with tf.device(WEIR):
            b = twice(tf.constant([1.0, -2.0]))
        with tf.device(TENSORFLOW):
            c = twice(b)
            d = power(tf.constant(2.0), tf.constant(10))
        with tf.device(WEIR):
            e = power(d, tf.constant(2))
        results = self.run_([b, c, d, e])
        for got, expected in zip(results, ([3, 1], [7, 3], 1024, 1024**2)):
            np.testing.assert_array_equal(got, expected)

    def curve(self, session, train, loss, feeds, steps):
        session.run(tf1.global_variables_initializer())
        return [session.run([loss, train], feeds)[0] for _ in range(steps)]

    def test_training(self):
        """Dense and sparse gradients, slots, reference and resource variables: TensorFlow's own curve."""
        rng = np.random.RandomState(3)
        ids, labels = rng.randint(0, 20, (16, 4)), rng.randint(0, 5, 16)
        optimizers = [lambda: tf1.train.GradientDescentOptimizer(0.5), lambda: tf1.train.MomentumOptimizer(0.1, 0.9),
                      lambda: tf1.train.AdamOptimizer(0.05), lambda: tf1.train.AdagradOptimizer(0.3)]

        def build(optimizer, use_resource, here, there):
            init = tf1.random_uniform_initializer(-0.5, 0.5, seed=7)
            with tf.device(here):
                table = tf1.get_variable("table", [20, 8], initializer=init, use_resource=use_resource)
                w = tf1.get_variable("w", [8, 5], initializer=init, use_resource=use_resource)
                b = tf1.get_variable("b", [5], initializer=init, use_resource=use_resource)
            with tf.device(there):
                x, y = tf1.placeholder(tf.int32, [None, 4]), tf1.placeholder(tf.int32, [None])
                hidden = tf.nn.relu(tf.reduce_mean(tf.nn.embedding_lookup(table, x), 1))
                logits = tf.nn.bias_add(tf.matmul(hidden, w), b)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            return optimizer().minimize(loss), loss, {x: ids, y: labels}

        for optimizer in optimizers:
            for use_resource in (False, True):
                with tf.Graph().as_default(), tf1.Session() as alone:
                    tf1.set_random_seed(1)
                    expected = self.curve(alone, *build(optimizer, use_resource, None, None), 15)
                self.assertLess(expected[-1], 0.9 * expected[0])
                for here, there in ((WEIR, TENSORFLOW), (TENSORFLOW, WEIR)):
                    with self.subTest(use_resource=use_resource, here=here), tf.Graph().as_default():
                        tf1.Session.reset(cluster.target(job=self.master))
                        tf1.set_random_seed(1)
                        built = build(optimizer, use_resource, here, there)
                        with tf1.Session(cluster.target(job=self.master)) as session:
                            np.testing.assert_allclose(self.curve(session, *built, 15), expected, rtol=1e-4)

    def test_checkpoints(self):
        """Each side writes and reads the variables that it holds; sharded, one merges what the other wrote too."""
        variables = []
        for task, use_resource in ((WEIR, True), (WEIR, False), (TENSORFLOW, True), (TENSORFLOW, False)):
            with tf.device(task):
                variables.append(tf1.get_variable("v%d" % len(variables), use_resource=use_resource,
                                                  initializer=[1.0, float(len(variables))]))
        clear = [tf1.assign(v, [0.0, 0.0]) for v in variables]
        with tempfile.TemporaryDirectory() as directory:
            for sharded in (False, True):
                for saves_on in (WEIR, TENSORFLOW):
                    with tf.device(saves_on):
                        saver = tf1.train.Saver(variables, sharded=sharded)
                    self.run_(tf1.global_variables_initializer())
                    path = saver.save(self.session, os.path.join(directory, "model"))
                    self.run_([tf.group(*clear)])
                    saver.restore(self.session, path)
                    np.testing.assert_array_equal(self.run_(variables), [[1, i] for i in range(4)])

    def test_errors_name_the_node(self):
        x = tf1.placeholder(tf.float32, [None])
        with tf.device(WEIR):
            a = tf1.check_numerics(x, "checked by weir", name="on_weir")
        with tf.device(TENSORFLOW):
            b = tf1.check_numerics(x, "checked by tensorflow", name="on_tensorflow")
            a_after = a + 1
        with tf.device(WEIR):
            b_after = b + 1
        for fetch, node, message in ((a_after, "on_weir", "checked by weir"),
                                     (b_after, "on_tensorflow", "checked by tensorflow")):
            with self.assertRaises(tf.errors.InvalidArgumentError) as raised:
                self.run_([fetch], {x: [float("nan")]})
            self.assertIn(message, raised.exception.message)
            self.assertEqual(raised.exception.op.name, node)
            self.assertEqual(self.run_(fetch, {x: [1.0]}), [2])

    def test_an_error_ends_the_other_sides_wait(self):
        for here, there in self.both_ways():
            with tf.device(here):
                x = tf1.placeholder(tf.float32, [])
                bad = tf1.check_numerics(x, "not a number")
            with tf.device(there):
                dequeued = tf.queue.FIFOQueue(1, tf.float32, shared_name="empty").dequeue()
                never = dequeued + bad
            with self.assertRaises(tf.errors.InvalidArgumentError):
                self.run_(never, {x: float("nan")})

    def test_a_time_out_ends_both(self):
        for here, there in self.both_ways():
            with tf.device(here):
                waits = tf.queue.FIFOQueue(1, tf.float32, shared_name="never").dequeue()
            with tf.device(there):
                after = waits + 1
            with self.assertRaises(tf.errors.DeadlineExceededError):
                self.run_(after, options=tf1.RunOptions(timeout_in_ms=300))
            with tf.device(there):
                self.assertEqual(self.run_(tf.constant(1) + 1), 2)

    def test_partial_runs(self):
        x, y = tf1.placeholder(tf.float32, []), tf1.placeholder(tf.float32, [])
        with tf.device(WEIR):
            a = x + 1
        with tf.device(TENSORFLOW):
            b = a * y
        with tf.device(WEIR):
            c = b + x
        for _ in range(2):
            run = self.session.partial_run_setup([a, b, c], [x, y])
            self.assertEqual(self.session.partial_run(run, a, {x: 1.0}), 2)
            self.assertEqual(self.session.partial_run(run, [b, c], {y: 3.0}), [6, 7])

    def test_callables(self):
        x = tf1.placeholder(tf.float32, [])
        with tf.device(WEIR):
            a = x + 1
        with tf.device(TENSORFLOW):
            b = a * 3
        call = self.session.make_callable([a, b], [x])
        self.assertEqual(call(1.0), [2, 6])
        self.assertEqual(call(2.0), [3, 9])

    def test_extension(self):
        with tf.device(WEIR):
            a = tf.constant(2.0)
        self.assertEqual(self.run_(a), 2)
        with tf.device(TENSORFLOW):
            b = a * 4
        self.assertEqual(self.run_(b), 8)

    def test_timelines_and_graphs(self):
        with tf.device(WEIR):
            a = tf.random.uniform([2], name="from_weir")
        with tf.device(TENSORFLOW):
            b = tf.exp(a, name="from_tensorflow")
        metadata = tf1.RunMetadata()
        self.run_(b, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True),
                  run_metadata=metadata)
        nodes = {(device.device.split("/")[1], node.node_name) for device in metadata.step_stats.dev_stats
                 for node in device.node_stats}
        self.assertIn(("job:weir", "from_weir/RandomUniform"), nodes)
        self.assertIn(("job:tensorflow", "from_tensorflow"), nodes)
        graphs = [{node.name for node in graph.node} for graph in metadata.partition_graphs]
        self.assertTrue(any("from_tensorflow" in names for names in graphs))
        self.assertTrue(any("from_weir/RandomUniform" in names for names in graphs))

    def test_sessions_are_apart(self):
        config = tf1.ConfigProto(isolate_session_state=True, operation_timeout_in_ms=STEP_MS)
        variables = []
        for task in (WEIR, TENSORFLOW):
            with tf.device(task):
                variables.append(tf1.get_variable("v%d" % len(variables), initializer=1.0, use_resource=True))
        target = cluster.target(job=self.master)
        with tf1.Session(target, config=config) as first, tf1.Session(target, config=config) as second:
            first.run(tf1.global_variables_initializer())
            second.run(tf1.global_variables_initializer())
            first.run([tf1.assign(v, 5.0) for v in variables])
            self.assertEqual(first.run(variables), [5, 5])
            self.assertEqual(second.run(variables), [1, 1])

    def test_reset_clears_both(self):
        variables = []
        for task in (WEIR, TENSORFLOW):
            with tf.device(task):
                variables.append(tf1.get_variable("v%d" % len(variables), initializer=1.0, use_resource=True))
        self.run_(tf1.global_variables_initializer())
        tf1.Session.reset(cluster.target(job=self.master))
        with self.assertRaises(tf.errors.AbortedError):
            self.session.close()
        self.session = tf1.Session(cluster.target(job=self.master))
        for v in variables:
            with self.assertRaises(tf.errors.FailedPreconditionError):
                self.run_(v)

    def test_many_steps_keep_the_connection(self):
        """Longer than three of Weir's pings, which TensorFlow's servers would end the connection for."""
        with tf.device(WEIR):
            here = tf.queue.FIFOQueue(1, tf.float32, shared_name="slow")
            waits = here.dequeue()
        with tf.device(TENSORFLOW):
            a = tf.constant(1.0)
            there = tf.queue.FIFOQueue(1, tf.float32, shared_name="slow")
            sum_ = waits + there.dequeue()
        with tf.device(WEIR):
            after = sum_ + a
        with self.assertRaises(tf.errors.DeadlineExceededError):
            self.run_(after, options=tf1.RunOptions(timeout_in_ms=15000))
        self.run_([here.enqueue(1.0), there.enqueue(2.0)])
        self.assertEqual(self.run_(after), 4)


class WeirMaster(OnBoth, unittest.TestCase):
    master = "weir"


class TensorFlowMaster(OnBoth, unittest.TestCase):
    master = "tensorflow"


def main():
    global cluster
    cluster = mixed_cluster.MixedCluster(sys.argv[1], {"weir": 1, "tensorflow": 1}, {("tensorflow", 0)})
    weir_cluster.end_after(SECONDS, cluster)
    try:
        result = unittest.main(argv=sys.argv[:1] + sys.argv[2:], exit=False, verbosity=2).result
        if not result.wasSuccessful() or not cluster.alive():
            print(cluster.logs())
    finally:
        cluster.stop()
    sys.stdout.flush()
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
