"""Values, sessions and errors as a stock TensorFlow client sees them.

  stock_session_test.py WEIR [TEST...]    WEIR is the weir program
"""
import session_case  # first: it finds an interpreter that can import TensorFlow

import threading
import time

import numpy as np
from session_case import TASK0, TASK1, session, tf, tf1
from tensorflow.core.protobuf import config_pb2

import weir_cluster


class Values(session_case.SessionTest):
    def test_constants(self):
        self.assertEqual(self.run_(tf.constant(3.0)), 3.0)
        self.assertEqual(self.run_(tf.constant("text")), b"text")
        for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32,
                      tf.uint32, tf.int64, tf.uint64, tf.complex64, tf.complex128, tf.bool):
            for shape in ((), (0, 3), (2, 3)):
                value = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype.as_numpy_dtype)
                there = self.run_(tf.constant(value, dtype))
                self.assertEqual(there.dtype, value.dtype)
                np.testing.assert_array_equal(there, value)

    def test_feeds_and_fetches(self):
        x = tf1.placeholder(tf.float32, [None, 2])
        y = x * 2 + 1
        result = self.run_({"y": y, "both": [x, y], "op": y.op}, {x: [[1, 2]]})
        np.testing.assert_array_equal(result["y"], [[3, 5]])
        np.testing.assert_array_equal(result["both"][0], [[1, 2]])
        self.assertIsNone(result["op"])
        self.assertEqual(self.run_(y, {x: np.zeros((0, 2))}).shape, (0, 2))
        inner = tf.constant(1.0) + tf.constant(2.0)
        self.assertEqual(self.run_(inner * 3), 9)
        self.assertEqual(self.run_(inner * 3, {inner: 10}), 30)
        default = tf1.placeholder_with_default(5, [])
        self.assertEqual((self.run_(default), self.run_(default, {default: 4})), (5, 4))
        large = np.random.RandomState(1).rand(600, 1000).astype(np.float32)
        fed = tf1.placeholder(tf.float32)
        with tf.device(TASK1):
            back = tf.identity(fed)
        np.testing.assert_array_equal(self.run_(back, {fed: large}), large)

    def test_the_graph_grows(self):
        total = tf.constant(0)
        for i in range(10):
            total += i
            self.assertEqual(self.run_(total), i * (i + 1) // 2)

    def test_tasks(self):
        with tf.device(TASK0):
            a = tf1.placeholder_with_default(1.0, []) + 1
        with tf.device(TASK1):
            b = a * 3
        with tf.device(TASK0 + "/cpu:0"):
            c = b + a
        self.assertEqual(self.run_([a, b, c]), [2, 6, 8])
        with session(task=1) as other:
            self.assertEqual(other.run([a, b, c]), [2, 6, 8])
        metadata = tf1.RunMetadata()
        self.run_(c, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True),
                  run_metadata=metadata)
        self.assertEqual(len(metadata.partition_graphs), 2)
        self.assertEqual({stats.device for stats in metadata.step_stats.dev_stats},
                         {"/job:worker/replica:0/task:%d/device:CPU:0" % task for task in range(2)})

    def test_random_numbers_are_tensorflows(self):
        numbers = [tf.random.uniform([7], seed=1), tf.random.normal([7], seed=2), tf.random.truncated_normal([7], seed=3),
                   tf.random.uniform([7], 0, 100, tf.int32, seed=4), tf.random.stateless_uniform([7], [5, 6])]
        with tf1.Session() as local:
            for ours, theirs in zip(self.run_(numbers), local.run(numbers)):
                np.testing.assert_allclose(ours, theirs, rtol=2e-6)


    def test_summaries(self):
        x = tf1.placeholder_with_default(2.5, [])
        tf1.summary.scalar("x", x)
        tf1.summary.scalar("twice", x * 2)
        merged = tf1.summary.merge_all()
        with tf1.Session() as local:
            self.assertEqual(self.run_(merged), local.run(merged))


class Sessions(session_case.SessionTest):
    def test_partial_runs(self):
        a, b, c = (tf1.placeholder(tf.float32, []) for _ in range(3))
        with tf.device(TASK1):
            first = a + b
        second = first * c
        for _ in range(3):
            handle = self.session.partial_run_setup([first, second], [a, b, c])
            self.assertEqual(self.session.partial_run(handle, first, {a: 1, b: 2}), 3)
            self.assertEqual(self.session.partial_run(handle, second, {c: 5}), 15)
        handle = self.session.partial_run_setup([first, second], [a, b, c])
        self.session.partial_run(handle, first, {a: 1, b: 2})
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "already been fetched"):
            self.session.partial_run(handle, first)

    def test_callables(self):
        a = tf1.placeholder(tf.float32, [])
        self.assertEqual(self.session.make_callable([a * 2, a], [a])(3.0), [6, 3])
        options = config_pb2.CallableOptions()
        with tf.device(TASK1):
            doubled = a * 2
        options.feed.append(a.name)
        options.fetch.append(doubled.name)
        run = self.session._make_callable_from_options(options)  # MakeCallable, RunCallable
        for value in range(3):
            self.assertEqual(run(np.float32(value)), [2 * value])
        del run  # ReleaseCallable

    def test_devices(self):
        devices = self.session.list_devices()
        self.assertEqual(sorted(device.name for device in devices),
                         ["/job:worker/replica:0/task:%d/device:CPU:0" % task for task in range(2)])
        self.assertEqual({device.device_type for device in devices}, {"CPU"})
        self.assertEqual(len({device.incarnation for device in devices}), 2)

    def test_close(self):
        one = tf.constant(1)
        with session() as other:
            self.assertEqual(other.run(one), 1)
        with self.assertRaisesRegex(RuntimeError, "closed"):
            other.run(one)
        self.assertEqual(self.run_(one), 1)

    def test_close_ends_a_running_step(self):
        n = tf1.placeholder(tf.int32, [], name="n")
        spin = tf.while_loop(lambda i: i < n, lambda i: i + 0, [tf.constant(0)])
        running = tf1.FIFOQueue(1, [tf.int32], [[]], shared_name="running")
        tell, told = running.enqueue(n), running.dequeue()
        other = session()
        other.run(spin, {n: 0})
        outcome = []

        def run():
            try:
                outcome.append(other.run([spin, tell], {n: 1}))
            except tf.errors.OpError as error:
                outcome.append(error)

        runner = threading.Thread(target=run)
        runner.start()
        self.assertEqual(self.run_(told), 1)
        other.close()
        runner.join(session_case.STEP_MS / 1000)
        self.assertFalse(runner.is_alive())
        self.assertIsInstance(outcome[0], (tf.errors.CancelledError, tf.errors.AbortedError))

    def test_a_step_has_a_deadline(self):
        n = tf1.placeholder(tf.int32, [])
        with tf.device(TASK1):
            spin = tf.while_loop(lambda i: i < n, lambda i: i + 0, [tf.constant(0)])
        start = time.monotonic()
        with self.assertRaises(tf.errors.DeadlineExceededError):
            self.run_(spin, {n: 1}, options=tf1.RunOptions(timeout_in_ms=300))
        self.assertLess(time.monotonic() - start, 10)
        self.run_(spin, {n: 0})

    def test_nobody_there(self):
        port = weir_cluster.free_ports(1)[0]
        config = tf1.ConfigProto(operation_timeout_in_ms=1000)
        with tf1.Session("grpc://127.0.0.1:%d" % port, config=config) as nobody:
            with self.assertRaises((tf.errors.UnavailableError, tf.errors.DeadlineExceededError)):
                nobody.run(tf.constant(1))


class Errors(session_case.SessionTest):
    def test_name_the_op(self):
        x = tf1.placeholder(tf.float32, name="x")
        indices = tf1.placeholder(tf.int32, name="indices")
        invalid = tf.errors.InvalidArgumentError
        self.expect(invalid, x * 2, node="x", phrase="You must feed a value for placeholder")
        for task in (TASK0, TASK1):
            with tf.device(task), tf1.name_scope("on" + task[-1]) as scope:
                self.expect(invalid, tf.reshape(x, [2, 2], name="shape"), {x: [1, 2, 3]}, scope + "shape",
                            "Input to reshape is a tensor with 3 values, but the requested shape has 4")
                self.expect(invalid, tf.linalg.matmul(x, x, name="product"), {x: np.ones((2, 3))}, scope + "product",
                            "Matrix size-incompatible")
                self.expect(invalid, tf.gather([1, 2], indices, name="pick"), {indices: 7}, scope + "pick", "not in [0, 2)")
                self.expect(invalid, tf.add(x, [1.0, 2.0], name="sum"), {x: [1, 2, 3]}, scope + "sum",
                            "Incompatible shapes: [3] vs. [2]")
                self.expect(invalid, tf1.check_numerics(x, "seen here", name="check"), {x: np.nan}, scope + "check",
                            "seen here : Tensor had NaN values")
                with tf.control_dependencies([tf1.Assert(tf.less(x, 0), ["too large", x], name="claim")]):
                    self.expect(invalid, tf.identity(x), {x: 1}, phrase="too large")
        self.assertEqual(self.run_(x, {x: 1}), 1)  # the session goes on

    def test_placement(self):
        for device in ("/job:worker/task:7", "/job:ps/task:0", TASK1 + "/device:GPU:0"):
            with tf.Graph().as_default(), session() as self.session, tf.device(device):
                self.expect(tf.errors.InvalidArgumentError, tf.constant(1.0, name="lost") + 1,
                            phrase="Cannot assign a device for operation")
        with tf.Graph().as_default(), session(allow_soft_placement=True) as self.session, tf.device(TASK1 + "/device:GPU:0"):
            self.assertEqual(self.run_(tf.constant(1.0) + 1), 2)

    def test_unknown_op(self):
        with self.assertRaisesRegex(tf.errors.NotFoundError, "Op type not registered 'TPUReplicateMetadata'"):
            self.run_(tf.raw_ops.TPUReplicateMetadata(num_replicas=1))


if __name__ == "__main__":
    session_case.main()
