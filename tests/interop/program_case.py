"""A base for tests of whole programs: a program runs in TensorFlow's own runtime and, with only its target changed, on a
Weir cluster of 2 ps and 2 workers, and must give the same values, step by step."""
import contextlib
import sys
import unittest

import weir_cluster

weir_cluster.run_with_tensorflow()
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.FATAL)
JOBS = {"ps": 2, "worker": 2}
SECONDS = 580
STEP_MS = 60000
cluster = None
has_gpus = False


class Run:
    """One run of a program: what its sessions' target is and where its ops go."""

    def __init__(self, target="", device=None, config=None, use_resource=False):
        self.target, self.device, self.config, self.use_resource = target, device, config, use_resource

    @contextlib.contextmanager
    def graph(self, seed=7):
        with tf.Graph().as_default() as graph, tf1.device(self.device):
            tf1.set_random_seed(seed)
            tf1.get_variable_scope().set_use_resource(self.use_resource)
            yield graph

    def session(self, initialize=True, **options):
        options.setdefault("operation_timeout_in_ms", STEP_MS)
        config = tf1.ConfigProto(**options)
        if self.config:
            config.MergeFrom(self.config)
        session = tf1.Session(self.target, config=config)
        if initialize:
            session.run([tf1.global_variables_initializer(), tf1.local_variables_initializer(), tf1.tables_initializer()])
        return session


def runs_on_weir():
    """Everything on the client's task; variables on the ps, the rest on another worker than the client's. References that
    cross devices give what was there when they were read, so that the second has resources, and where there are GPUs the
    first, too."""
    yield "one task", Run(cluster.target(0), use_resource=has_gpus)
    setter = tf1.train.replica_device_setter(ps_tasks=JOBS["ps"], worker_device="/job:worker/task:1")
    yield "ps and worker", Run(cluster.target(0), setter, tf1.ConfigProto(allow_soft_placement=True), use_resource=True)


class ProgramTest(unittest.TestCase):
    def same(self, program, rtol=1e-4, atol=1e-5, on=None):
        """`program(run)` builds a graph, runs it and gives what it saw, as any structure of arrays. `on` names some runs."""
        by_kind = {}
        for name, run in runs_on_weir():
            if on is not None and name not in on:
                continue
            if run.use_resource not in by_kind:
                by_kind[run.use_resource] = self.observe(program, Run(use_resource=run.use_resource))
            expected = by_kind[run.use_resource]
            self.assertTrue(expected)
            with self.subTest(on=name):
                tf1.Session.reset(run.target)
                actual = self.observe(program, run)
                self.assertEqual(len(actual), len(expected))
                for i, (ours, theirs) in enumerate(zip(actual, expected)):
                    self.assert_same(ours, theirs, rtol, atol, "value %d of %d" % (i, len(expected)))
        return expected

    def observe(self, program, run):
        with run.graph():
            return [np.asarray(value) for value in tf.nest.flatten(program(run)) if value is not None]

    def assert_same(self, ours, theirs, rtol, atol, message):
        self.assertEqual(ours.shape, theirs.shape, message)
        self.assertEqual(ours.dtype.kind, theirs.dtype.kind, message)
        if theirs.dtype.kind in "fc":
            self.assertFalse(np.isnan(theirs).any(), message)
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, err_msg=message)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=message)


def train(run, loss, step, steps=6, fetches=(), feeds=None, config=None):
    """The losses of so many steps, then the variables; `feeds(i)` gives those of step i."""
    with run.session(**(config or {})) as session:
        seen = [session.run([loss, step] + list(fetches), feeds and feeds(i)) for i in range(steps)]
        seen = [[values[0]] + values[2:] for values in seen]
        assert not np.array_equal(seen[0][0], seen[-1][0]), "nothing was trained"
        return seen + [session.run(tf1.trainable_variables())]


def main(seconds=SECONDS):
    """FILE [--simulated-gpus] WEIR [TEST...]    WEIR is the weir program; each task has a GPU if that is asked for."""
    global cluster, has_gpus
    has_gpus = sys.argv[1] == "--simulated-gpus"
    if has_gpus:
        del sys.argv[1]
    cluster = weir_cluster.Cluster(sys.argv[1], JOBS, arguments=["--simulated-gpus", "1"] if has_gpus else [])
    weir_cluster.end_after(seconds, cluster)
    try:
        result = unittest.main(module="__main__", argv=sys.argv[:1] + sys.argv[2:], exit=False, verbosity=2,
                               warnings="ignore").result
        if not result.wasSuccessful():
            print(cluster.logs())
        alive = cluster.alive()
        if not alive:
            print("a task has ended:\n" + cluster.logs())
    finally:
        cluster.stop()
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(0 if result.wasSuccessful() and alive else 1)
