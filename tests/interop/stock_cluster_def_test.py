"""Sessions that bring their cluster along (ConfigProto.cluster_def), as a stock TensorFlow client opens them at servers that were
each started alone.

  stock_cluster_def_test.py WEIR [TEST...]    WEIR is the weir program
"""
import sys
import unittest
from pathlib import Path

import weir_cluster

weir_cluster.run_with_tensorflow()
import tensorflow as tf
from tensorflow.core.protobuf import cluster_pb2

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
sys.dont_write_bytecode = True
import weir  # noqa: E402

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.ERROR)
TEST_SECONDS = 100
STEP_MS = 20000
servers = []  # clusters of one task


def cluster_def(*tasks, job="trainer"):
    """Of the servers with these numbers, in order."""
    tasks = {index: servers[number].addresses[0] for index, number in enumerate(tasks)}
    return cluster_pb2.ClusterDef(job=[cluster_pb2.JobDef(name=job, tasks=tasks)])


def session(master, cluster, graph=None, **options):
    config = tf1.ConfigProto(cluster_def=cluster, operation_timeout_in_ms=STEP_MS, **options)
    return tf1.Session(servers[master].target(), graph=graph, config=config)


def variable(task, name="v"):
    """A graph with a variable on that task: (graph, assignment, value)."""
    with tf.Graph().as_default() as graph, tf.device("/job:trainer/task:%d" % task):
        handle = tf1.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=name)
        return (graph, tf1.raw_ops.AssignVariableOp(resource=handle, value=3.0),
                tf1.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32))


class ClusterDef(unittest.TestCase):
    def setUp(self):
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)

    def refused(self, phrase, cluster):
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, phrase):
            session(0, cluster).run(tf.constant(1))

    def test_devices(self):
        with session(0, cluster_def(1, 0)) as one:
            self.assertEqual(sorted(device.name for device in one.list_devices()),
                             ["/job:trainer/replica:0/task:%d/device:CPU:0" % task for task in (0, 1)])
        with session(0, cluster_def(0, 1, 2), device_filters=["/job:trainer/task:2"]) as one:
            self.assertEqual(sorted(device.name for device in one.list_devices()),
                             ["/job:trainer/replica:0/task:%d/device:CPU:0" % task for task in (0, 2)])
        with session(0, cluster_pb2.ClusterDef()) as one:
            self.assertEqual([device.name for device in one.list_devices()], ["/job:worker/replica:0/task:0/device:CPU:0"])

    def test_placement(self):
        with tf.device("/job:trainer/task:1"):
            a = tf1.placeholder(tf.float32, [1000]) * 2
        with tf.device("/job:trainer/task:2"):
            b = a + 1
        with tf.device("/job:trainer/task:0"):
            c = a * b
        report = tf1.RunMetadata()
        with session(2, cluster_def(0, 1, 2)) as one:
            options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
            for _ in range(3):
                result = one.run(c, {a.op.inputs[0]: [1.0] * 1000}, options=options, run_metadata=report)
            self.assertEqual(list(result), [6.0] * 1000)
        self.assertEqual({device.device for device in report.step_stats.dev_stats},
                         {"/job:trainer/replica:0/task:%d/device:CPU:0" % task for task in range(3)})

    def test_a_device_of_no_task(self):
        with tf.device("/job:worker/task:0"):
            a = tf1.placeholder_with_default(1, []) + 1
        with session(0, cluster_def(0, 1)) as one:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "was explicitly assigned to /job:worker"):
                one.run(a)

    def test_state_is_the_sessions(self):
        graph, assign, value = variable(1)
        with session(0, cluster_def(0, 1), graph) as one, session(0, cluster_def(0, 1), graph) as other:
            one.run(assign)
            self.assertEqual(one.run(value), 3)
            with self.assertRaises(tf.errors.FailedPreconditionError):
                other.run(value)
            # A master of another cluster, with the same name there, leaves the session's state alone.
            graph, assign, value_there = variable(1)
            with session(2, cluster_def(2, 1), graph) as third:
                with self.assertRaises(tf.errors.FailedPreconditionError):
                    third.run(value_there)
            self.assertEqual(one.run(value), 3)

    def test_partial_run(self):
        a, b, c = (tf1.placeholder(tf.float32, []) for _ in range(3))
        with tf.device("/job:trainer/task:1"):
            first = a + b
        with tf.device("/job:trainer/task:0"):
            second = first * c
        with session(0, cluster_def(0, 1)) as one:
            handle = one.partial_run_setup([first, second], [a, b, c])
            self.assertEqual(one.partial_run(handle, first, {a: 1, b: 2}), 3)
            self.assertEqual(one.partial_run(handle, second, {c: 17}), 51)

    def test_iterator(self):
        with tf.device("/job:trainer/task:1"):
            dataset = tf1.data.Dataset.range(3).map(lambda x: x * x)
            iterator = tf1.data.make_initializable_iterator(dataset)
            element = iterator.get_next()
        with tf.device("/job:trainer/task:0"):
            result = element + 1
        with session(0, cluster_def(0, 1)) as one:
            one.run(iterator.initializer)
            self.assertEqual([one.run(result) for _ in range(3)], [1, 2, 5])
            with self.assertRaises(tf.errors.OutOfRangeError):
                one.run(result)
            self.assertIn(b"/job:trainer/replica:0/task:1/device:CPU:0", one.run(iterator.string_handle()))

    def test_an_error_names_the_task(self):
        with tf.device("/job:trainer/task:1"):
            wrong = tf.reshape(tf1.placeholder(tf.float32), [3])
        with session(0, cluster_def(0, 1)) as one:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Input to reshape is a tensor with 2 values"):
                one.run(wrong, {wrong.op.inputs[0]: [1, 2]})

    def test_python_functions_are_unimplemented(self):
        config = weir.enable_py_func(servers[0].target(), tf1.ConfigProto(cluster_def=cluster_def(0, 1)))
        for task in range(2):
            with tf.device("/job:trainer/task:%d" % task):
                number = tf1.py_func(lambda: 1, [], tf.int64)
                constant = tf1.placeholder_with_default(2, []) + 1
            with tf1.Session(servers[0].target(), config=config) as one:
                self.assertEqual(one.run(constant), 3)
                with self.assertRaisesRegex(tf.errors.UnimplementedError, "cluster_def of its own cannot call functions"):
                    one.run(number)

    def test_a_session_without_meanwhile(self):
        a = tf1.placeholder_with_default(1, []) + 1
        with session(0, cluster_def(0, 1)) as one, tf1.Session(servers[0].target()) as plain:
            self.assertEqual([one.run(a), plain.run(a)], [2, 2])

    def test_refusals(self):
        self.refused("is not included in the provided cluster_def", cluster_def(1, 2))
        self.refused("Found multiple matching tasks that correspond to to the master", cluster_def(0, 0))
        self.refused("to be the same names that were provided when the server booted", cluster_def(0, 1, job="worker"))


def main():
    for _ in range(3):
        servers.append(weir_cluster.Cluster(sys.argv[1], tasks=1))
    weir_cluster.end_after(TEST_SECONDS, servers[0])
    try:
        result = unittest.main(module="__main__", argv=sys.argv[:1] + sys.argv[2:], exit=False, verbosity=2).result
        if not result.wasSuccessful():
            print("\n".join(server.logs() for server in servers))
    finally:
        for server in servers:
            server.stop()
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
