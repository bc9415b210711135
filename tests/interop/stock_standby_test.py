"""Stock TensorFlow clients' training while parameter servers with standbys are killed: it ends as an undisturbed one does.

  stock_standby_test.py WEIR [TEST...]    WEIR is the weir program
"""
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import weir_cluster

weir_cluster.run_with_tensorflow()
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.ERROR)
STEPS = 30
SECONDS = 200


def build(optimizer):
    """A regression with resource and reference variables, an average that is updated on a condition, and the global step."""
    with tf1.device(tf1.train.replica_device_setter(2, worker_device="/job:worker/task:0")):
        step = tf1.train.get_or_create_global_step()
        x = tf.constant([[i / 16.0, 1.0] for i in range(16)])
        hidden = x
        for layer, (inputs, outputs) in enumerate([(2, 8), (8, 8), (8, 1)]):
            weight = tf1.get_variable(
                "weight%d" % layer, [inputs, outputs], use_resource=layer != 1,
                initializer=tf1.initializers.random_uniform(-1, 1, seed=layer))
            hidden = tf.matmul(tf.tanh(hidden) if layer else hidden, weight)
        loss = tf.reduce_mean(tf.square(hidden - tf.square(x[:, :1])))
        average = tf1.get_variable("average", initializer=0.0, use_resource=True)
        kept = tf1.cond(tf.equal(step % 3, 0), lambda: average.assign(average * 0.9 + loss * 0.1), lambda: tf.identity(average))
        with tf1.control_dependencies([kept]):
            train = optimizer.minimize(loss, global_step=step)
    return train, loss


def values_after(optimizer, disturb):
    """All variables after STEPS steps; `disturb` gets the cluster and the step before each."""
    cluster = weir_cluster.Cluster(PROGRAM, {"ps": 2, "worker": 1})
    try:
        target = cluster.target(job="worker")
        with tf.Graph().as_default():
            tf1.set_random_seed(1)
            train, loss = build(optimizer())
            saver = tf1.train.Saver()
            with tf1.Session(target) as session, tempfile.TemporaryDirectory() as folder:
                session.run(tf1.global_variables_initializer())
                for step in range(STEPS):
                    disturb(cluster, step)
                    session.run([train, loss])
                path = saver.save(session, os.path.join(folder, "model"))
                values = {v.op.name: session.run(v) for v in tf1.global_variables()}
                reader = tf1.train.load_checkpoint(path)
                for name, value in values.items():
                    np.testing.assert_array_equal(reader.get_tensor(name), value, name)
                saver.restore(session, path)
                for v in tf1.global_variables():
                    np.testing.assert_array_equal(session.run(v), values[v.op.name])
                return values
    finally:
        cluster.stop()


def lose_servers(cluster, step):
    """Adds standbys; the first server is lost, returns, and takes over from the second one."""
    if step == 5:
        weir(["standby", cluster.target(job="worker")])
    if step == 12:
        cluster.kill(0, "ps")
    if step == 18:
        cluster.restart(0, "ps")
        weir(["standby", "--task", "/job:ps/task:1", "--on", "/job:ps/task:0", cluster.target(job="worker")])
    if step == 24:
        cluster.kill(1, "ps")


def weir(arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


class Standby(unittest.TestCase):
    def check(self, optimizer):
        expected = values_after(optimizer, lambda cluster, step: None)
        actual = values_after(optimizer, lose_servers)
        self.assertEqual(expected["global_step"], STEPS)
        self.assertEqual(set(expected), set(actual))
        for name, value in expected.items():
            np.testing.assert_array_equal(actual[name], value, name)

    def test_adam(self):
        self.check(lambda: tf1.train.AdamOptimizer(0.02))

    def test_momentum(self):
        self.check(lambda: tf1.train.MomentumOptimizer(0.01, 0.9))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    timer = threading.Timer(SECONDS, lambda: (print("not done after %d s" % SECONDS, flush=True), os._exit(1)))
    timer.daemon = True
    timer.start()
    unittest.main(verbosity=2)
