"""A base for tests of a stock TensorFlow client: tf.compat.v1.Session("grpc://...") on a two-task Weir cluster."""
import sys
import unittest

import weir_cluster

weir_cluster.run_with_tensorflow()
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.ERROR)
TASK0, TASK1 = "/job:worker/task:0", "/job:worker/task:1"
TEST_SECONDS = 100
STEP_MS = 20000
cluster = None


def target(task=0):
    return cluster.target(task)


def session(task=0, **options):
    options.setdefault("operation_timeout_in_ms", STEP_MS)
    return tf1.Session(cluster.target(task), config=tf1.ConfigProto(**options))


class SessionTest(unittest.TestCase):
    """Each test in a graph and a session of its own, on a cluster with no variables."""

    def setUp(self):
        tf1.Session.reset(cluster.target())
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)
        self.session = session()
        self.addCleanup(lambda: self.session.close())

    def run_(self, fetches, feeds=None, **more):
        return self.session.run(fetches, feeds, **more)

    def initialize(self):
        self.run_([tf1.global_variables_initializer(), tf1.local_variables_initializer()])

    def expect(self, code, fetches, feeds=None, node=None, phrase=""):
        with self.assertRaises(code) as raised:
            self.run_(fetches, feeds)
        self.assertIn(phrase, raised.exception.message)
        if node is not None:
            self.assertIsNotNone(raised.exception.op, raised.exception.message)
            self.assertEqual(raised.exception.op.name, node)


def main(seconds=TEST_SECONDS):
    """FILE WEIR [TEST...]    WEIR is the weir program."""
    global cluster
    cluster = weir_cluster.Cluster(sys.argv[1], tasks=2)
    weir_cluster.end_after(seconds, cluster)
    try:
        result = unittest.main(module="__main__", argv=sys.argv[:1] + sys.argv[2:], exit=False, verbosity=2).result
        if not result.wasSuccessful():
            print(cluster.logs())
    finally:
        cluster.stop()
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(0 if result.wasSuccessful() else 1)
