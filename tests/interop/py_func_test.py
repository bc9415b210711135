"""Functions of the client's Python on a Weir cluster: tf.py_func, tf.numpy_function, tf.py_function, in graphs and datasets.

  py_func_test.py WEIR [TEST...]    WEIR is the weir program
"""
import session_case  # first: it finds an interpreter that can import TensorFlow
import weir_cluster

import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import grpc
import numpy as np
from session_case import TASK0, TASK1, tf, tf1

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
sys.dont_write_bytecode = True
import weir  # noqa: E402
from weir import py_func  # noqa: E402

WAIT = 60  # for events that must happen


def enabled_session(task=0, timeout=WAIT, **options):
    config = weir.enable_py_func(session_case.target(task), tf1.ConfigProto(**options), timeout)
    return tf1.Session(session_case.target(task), config=config)


class PyFuncTest(session_case.SessionTest):
    """Its sessions can call the functions of this process."""

    def setUp(self):
        super().setUp()
        self.session.close()
        self.session = enabled_session(operation_timeout_in_ms=session_case.STEP_MS)


class Values(PyFuncTest):
    def test_arrays_of_all_types(self):
        for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32,
                      tf.uint32, tf.int64, tf.uint64, tf.complex64, tf.complex128, tf.bool):
            for shape in ((), (0, 3), (2, 3), (300, 700)):
                value = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype.as_numpy_dtype)
                seen = []
                returned = self.run_(tf1.py_func(lambda x: seen.append(x) or x, [tf.constant(value)], dtype))
                np.testing.assert_array_equal(returned, value)
                self.assertEqual((returned.dtype, seen[0].dtype, seen[0].shape), (value.dtype, value.dtype, shape))

    def test_strings(self):
        text = tf.constant([[b"a", b"\xff\x00b"], [b"", b"long" * 100]])
        joined = self.run_(tf.numpy_function(lambda x: np.array([b"|".join(row) for row in x], object), [text], tf.string))
        self.assertEqual(list(joined), [b"a|\xff\x00b", b"|" + b"long" * 100])
        self.assertEqual(self.run_(tf1.py_func(lambda x: x.decode() + "\u00e9", [tf.constant("s")], tf.string)),
                         "s\u00e9".encode())

    def test_several_results_and_none(self):
        total, largest = tf1.py_func(lambda x, y: (x + y, max(x, y)), [tf.constant(1.5), tf.constant(2.0)],
                                     [tf.float32, tf.float32])
        self.assertEqual(self.run_([total, largest]), [3.5, 2.0])
        called = []
        self.run_(tf1.py_func(lambda: called.append(1), [], []))
        self.assertEqual(called, [1])

    def test_a_function_runs_in_each_step(self):
        count = iter(range(100))
        number = tf1.py_func(lambda: np.int64(next(count)), [], tf.int64)
        self.assertEqual([self.run_(number) for _ in range(3)], [0, 1, 2])

    def test_stateless(self):
        doubled = tf1.py_func(lambda x: 2 * x, [tf.constant([1.0, 2.0])], tf.float32, stateful=False)
        self.assertEqual(list(self.run_(doubled)), [2, 4])

    def test_on_another_task(self):
        with tf.device(TASK1):
            there = tf1.py_func(lambda x: x + 1, [tf.constant(1)], tf.int32)
        with tf.device(TASK0):
            here = tf1.py_func(lambda x: x * 10, [there], tf.int32)
        self.assertEqual(self.run_(here), 20)
        with tf.device(TASK1):
            bad = tf1.py_func(lambda: 1 // 0, [], tf.int64)
        self.expect(tf.errors.UnknownError, bad, node=bad.op.name, phrase="ZeroDivisionError")

    def test_an_unavailable_error_on_another_task(self):
        def function():
            raise tf.errors.UnavailableError(None, None, "the database is away")

        with tf.device(TASK1):
            bad = tf1.py_func(function, [], tf.int64)
        self.expect(tf.errors.UnavailableError, bad, node=bad.op.name, phrase="the database is away")

    def test_in_functions_and_loops(self):
        @tf.function
        def squared(x):
            return tf.numpy_function(lambda v: v * v, [x], tf.float32)

        self.assertEqual(self.run_(squared(tf.constant(3.0))), 9)
        _, total = tf1.while_loop(lambda i, _: i < 5,
                                  lambda i, t: (i + 1, t + tf1.py_func(lambda v: np.int64(v), [i], tf.int64)),
                                  [tf.constant(0, tf.int64), tf.constant(0, tf.int64)], shape_invariants=[
                                      tf.TensorShape([]), tf.TensorShape(None)])
        self.assertEqual(self.run_(total), 10)

    def test_steps_run_concurrently(self):
        barrier = threading.Barrier(4)
        met = tf1.py_func(lambda: np.int64(barrier.wait(WAIT)), [], tf.int64)
        with tf1.Session(session_case.target(), config=weir.enable_py_func(session_case.target())) as session:
            results = []
            threads = [threading.Thread(target=lambda: results.append(session.run(met))) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(sorted(results), [0, 1, 2, 3])


class Training(PyFuncTest):
    def test_a_model_trains_on_python_data(self):
        generator = np.random.RandomState(0)

        def batch():
            x = generator.rand(16, 2).astype(np.float32)
            return x, x @ np.float32([[2.0], [-1.0]]) + np.float32(0.5)

        x, y = tf1.py_func(batch, [], [tf.float32, tf.float32])
        x.set_shape([None, 2])
        with tf.device(TASK1):
            weights = tf1.get_variable("w", [2, 1], initializer=tf1.zeros_initializer())
            bias = tf1.get_variable("b", [1], initializer=tf1.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) + bias - y))
        train = tf1.train.GradientDescentOptimizer(0.5).minimize(loss)
        self.initialize()
        for _ in range(300):
            self.run_(train)
        np.testing.assert_allclose(self.run_(weights), [[2], [-1]], atol=0.02)

    def test_gradients_through_py_function(self):
        x = tf.constant([1.0, 2.0, 3.0])
        cubes = tf.py_function(lambda v: v ** 3, [x], tf.float32)
        gradient, = tf1.gradients(cubes, x)
        values, slopes = self.run_([cubes, gradient])
        self.assertEqual((list(values), list(slopes)), ([1, 8, 27], [3, 12, 27]))

    def test_py_function_trains(self):
        w = tf1.get_variable("w", [], initializer=tf1.constant_initializer(3.0))
        loss = tf.py_function(lambda v: (v - 1) * (v - 1), [w], tf.float32)
        train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
        self.initialize()
        for _ in range(60):
            self.run_(train)
        self.assertAlmostEqual(self.run_(w), 1, places=3)

    def test_datasets(self):
        dataset = tf1.data.Dataset.range(6).map(lambda i: tf.numpy_function(lambda v: v * v, [i], tf.int64)).batch(3)
        batch = tf1.data.make_one_shot_iterator(dataset).get_next()
        self.assertEqual([list(self.run_(batch)) for _ in range(2)], [[0, 1, 4], [9, 16, 25]])
        self.expect(tf.errors.OutOfRangeError, batch)

    def test_parallel_map_and_initializable_iterator(self):
        dataset = tf1.data.Dataset.range(50).map(
            lambda i: tf1.py_func(lambda v: (v, str(v)), [i], [tf.int64, tf.string]), num_parallel_calls=4).prefetch(2)
        iterator = tf1.data.make_initializable_iterator(dataset)
        number, text = iterator.get_next()
        self.run_(iterator.initializer)
        self.assertEqual([self.run_([number, text]) for _ in range(50)], [[i, b"%d" % i] for i in range(50)])

    def test_from_generator(self):
        def numbers():
            for i in range(3):
                yield i, [float(i)] * i

        dataset = tf1.data.Dataset.from_generator(numbers, (tf.int32, tf.float32), ((), (None,)))
        number, values = tf1.data.make_one_shot_iterator(dataset).get_next()
        seen = []
        with self.assertRaises(tf.errors.OutOfRangeError):
            while True:
                seen.append(self.run_([number, values]))
        self.assertEqual([(n, list(v)) for n, v in seen], [(0, []), (1, [1]), (2, [2, 2])])


class Errors(PyFuncTest):
    def test_exceptions_have_tensorflows_codes(self):
        def raises(error):
            def function():
                raise error

            return tf1.py_func(function, [], tf.int64)

        for error, code in ((ValueError("v"), tf.errors.InvalidArgumentError), (TypeError("t"), tf.errors.InvalidArgumentError),
                            (StopIteration("s"), tf.errors.OutOfRangeError), (MemoryError("m"), tf.errors.ResourceExhaustedError),
                            (NotImplementedError("n"), tf.errors.UnimplementedError), (KeyError("k"), tf.errors.UnknownError)):
            node = raises(error)
            self.expect(code, node, node=node.op.name, phrase="%s: %s" % (type(error).__name__, error))
        self.expect(tf.errors.InvalidArgumentError, raises(ValueError("v")), phrase="raise error")  # the traceback's line

    def test_exceptions_whose_text_is_not_utf8(self):
        def raises(error):
            def function():
                raise error

            return tf1.py_func(function, [], tf.int64)

        class Textless(Exception):
            __traceback__ = property(lambda self: 1 // 0)

        self.expect(tf.errors.InvalidArgumentError, raises(ValueError("bad \udc80")), phrase="bad \\udc80")
        self.expect(tf.errors.UnknownError, raises(Textless()), phrase="no text")

    def test_wrong_results(self):
        self.expect(tf.errors.InvalidArgumentError, tf1.py_func(lambda: np.float64(1), [], tf.float32), phrase="is double, but expects float")
        self.expect(tf.errors.InvalidArgumentError, tf1.py_func(lambda: (1, 2), [], [tf.int64]), phrase="returns 2 values")
        self.expect(tf.errors.OpError, tf1.py_func(lambda: object(), [], tf.int64))

    def test_a_function_that_is_gone(self):
        graph = tf.Graph()
        with graph.as_default():
            tf1.py_func(lambda: 1, [], tf.int64, name="gone")
        definition = graph.as_graph_def()
        definition.node[0].attr["token"].s = b"pyfunc_99999"
        gone, = tf.import_graph_def(definition, return_elements=["gone:0"])
        self.expect(tf.errors.InvalidArgumentError, gone, phrase="pyfunc_99999")
        definition.node[0].attr["token"].s = b"pyfunc_\xff"
        gone, = tf.import_graph_def(definition, return_elements=["gone:0"])
        self.expect(tf.errors.InvalidArgumentError, gone, phrase="pyfunc_")

    def test_without_functions_the_error_says_what_to_do(self):
        result = tf1.py_func(lambda: 1, [], tf.int64)
        with session_case.session() as plain, self.assertRaisesRegex(tf.errors.UnimplementedError, "weir.enable_py_func"):
            plain.run(result)

    def test_a_step_ends_before_its_function(self):
        entered, leave = threading.Event(), threading.Event()
        self.addCleanup(leave.set)
        waiting = tf1.py_func(lambda: np.int64(entered.set() or leave.wait(WAIT)), [], tf.int64)
        with self.assertRaises(tf.errors.DeadlineExceededError):
            self.run_(waiting, options=tf1.RunOptions(timeout_in_ms=1000))
        with enabled_session(timeout=1) as session, self.assertRaisesRegex(tf.errors.DeadlineExceededError, "client's Python"):
            session.run(waiting)
        self.assertTrue(entered.wait(WAIT))
        self.assertEqual(self.run_(tf1.py_func(lambda: np.int64(5), [], tf.int64)), 5)

    def test_targets(self):
        with self.assertRaisesRegex(ValueError, "grpc://host:port"):
            weir.enable_py_func("localhost:1")
        config = weir.enable_py_func(session_case.target(), tf1.ConfigProto(allow_soft_placement=True))
        again = weir.enable_py_func(session_case.target(), config, 5)
        optimizer, = again.graph_options.rewrite_options.custom_optimizers
        self.assertEqual((optimizer.name, optimizer.parameter_map["timeout_in_ms"].i), ("PythonFunctions", 5000))
        self.assertTrue(again.allow_soft_placement)


class Services(PyFuncTest):
    def test_a_failed_call_leaves_an_earlier_service_open(self):
        with mock.patch.object(py_func._Service, "await_connected", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                weir.enable_py_func(session_case.target())
        self.assertEqual(self.run_(tf1.py_func(lambda: np.int64(5), [], tf.int64)), 5)

    def test_a_forked_childs_exit_leaves_the_service_open(self):
        service = py_func._services[session_case.target()]
        with mock.patch.object(os, "getpid", return_value=os.getpid() + 1):
            service.close()
        self.assertFalse(service._closed)

    def test_a_service_that_was_never_connected_is_closed(self):
        target = "grpc://127.0.0.1:%d" % weir_cluster.free_ports(1)[0]
        with mock.patch.object(py_func, "_CONNECT_SECONDS", 0.01), self.assertRaises(ConnectionError):
            weir.enable_py_func(target)
        self.assertNotIn(target, py_func._services)

    def test_streams_that_end_early_are_opened_again(self):
        task = py_func._message_types()["ServePythonResponse"](task="/job:a").SerializeToString()
        answers, leave = [[], [b"\xff\xff"], [task]], threading.Event()  # of the streams in turn

        def serve(*_):
            yield from answers.pop(0)
            if not answers:
                leave.wait(WAIT)

        server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
            "weir.PythonService", {"Serve": grpc.stream_stream_rpc_method_handler(serve)}),))
        target = "grpc://127.0.0.1:%d" % server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(lambda: server.stop(0).wait(WAIT))
        self.addCleanup(leave.set)
        service = py_func._service_of(target)
        self.addCleanup(service.close)
        self.assertEqual(service.task, "/job:a")

    def test_a_task_that_answers_no_pings_is_lost(self):
        cluster = weir_cluster.Cluster(sys.argv[1], tasks=1)
        self.addCleanup(cluster.stop)
        with mock.patch.multiple(py_func, _PING_MILLISECONDS=1000, _PONG_MILLISECONDS=1000):
            service = py_func._service_of(cluster.target())
        self.addCleanup(service.close)
        process = cluster._processes[0]
        process.send_signal(signal.SIGSTOP)
        try:
            with service._changed:
                self.assertTrue(service._changed.wait_for(lambda: not service._connected, WAIT))
        finally:
            process.send_signal(signal.SIGCONT)
        service.await_connected(WAIT)


SERVING = """
import sys
sys.path.insert(0, sys.argv[2])
import threading
import numpy as np
import tensorflow.compat.v1 as tf
import weir
tf.disable_eager_execution()
config = weir.enable_py_func(sys.argv[1])
quick = tf.py_func(lambda: np.int64(7), [], tf.int64, name="quick")
def endless():
    print("called", flush=True)
    threading.Event().wait()
hanging = tf.py_func(endless, [], tf.int64, name="hanging")
print(config.SerializeToString().hex(), tf.get_default_graph().as_graph_def().SerializeToString().hex(), flush=True)
sys.stdin.read()
"""


class OtherProcess(session_case.SessionTest):
    """The functions are those of a process that is killed."""

    def test_a_killed_client(self):
        serving = subprocess.Popen([sys.executable, "-c", SERVING, session_case.target(), str(Path(weir.__file__).parents[1])],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(serving.communicate)
        self.addCleanup(serving.kill)
        config, graph = (bytes.fromhex(part) for part in serving.stdout.readline().split())
        quick, hanging = tf.import_graph_def(tf1.GraphDef.FromString(graph), return_elements=["quick:0", "hanging:0"], name="")
        errors = []

        def hang(session):
            try:
                session.run(hanging)
            except tf.errors.OpError as error:
                errors.append(error)

        with tf1.Session(session_case.target(), config=tf1.ConfigProto.FromString(config)) as session:
            self.assertEqual(session.run(quick), 7)
            step = threading.Thread(target=hang, args=(session,))
            step.start()
            self.assertEqual(serving.stdout.readline(), "called\n")
            os.kill(serving.pid, signal.SIGKILL)
            step.join(WAIT)
            self.assertFalse(step.is_alive())
            self.assertIsInstance(errors[0], tf.errors.UnavailableError)
            self.assertIn("client whose Python has the function", errors[0].message)
            with self.assertRaisesRegex(tf.errors.UnavailableError, "not connected"):
                session.run(quick)
        self.assertEqual(self.run_(tf.constant(1)), 1)


class Restart(PyFuncTest):
    def test_functions_are_served_again_after_the_task_restarts(self):
        number = tf1.py_func(lambda: np.int64(3), [], tf.int64)
        self.assertEqual(self.run_(number), 3)
        self.session.close()
        session_case.cluster.restart(0)
        self.session = enabled_session(operation_timeout_in_ms=session_case.STEP_MS)
        deadline = time.monotonic() + WAIT
        while True:
            try:
                self.assertEqual(self.run_(number), 3)
                return
            except tf.errors.UnavailableError as error:  # until this process has connected again
                if time.monotonic() > deadline:
                    raise error


if __name__ == "__main__":
    session_case.main()
