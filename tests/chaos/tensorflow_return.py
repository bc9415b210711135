"""Times how fast TensorFlow's own training goes on once a killed task serves again, for comparison with Weir's.

  tensorflow_return.py ROUNDS        prints a line "ROLE SECONDS" for each round and role

Stock servers (tf.distribute.Server) and a stock MonitoredTrainingSession, with its defaults.
"""
import os
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))
import weir_cluster

weir_cluster.run_with_tensorflow()
import mixed_cluster
import tensorflow.compat.v1 as tf

ROLES = ("worker", "ps", "master")
PATIENCE = 180


class Steps:
    """Trains on a thread of its own."""

    def __init__(self, target, directory):
        self._target, self._directory = target, directory
        self._changed = threading.Condition()
        self._last = 0.0
        self._error = None
        threading.Thread(target=self._train, daemon=True).start()

    def await_step_after(self, start):
        """The time of the first step that ends after `start`."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._last > start or self._error, PATIENCE):
                raise TimeoutError("no step within %d s" % PATIENCE)
            if self._error:
                raise self._error
            return self._last

    def _train(self):
        try:
            with tf.Graph().as_default():
                with tf.device("/job:ps/task:0"):
                    step = tf.train.get_or_create_global_step()
                    weights = tf.get_variable("weights", [16, 4], use_resource=True)
                with tf.device("/job:worker/task:0"):
                    loss = tf.reduce_sum(tf.square(tf.matmul(tf.ones([8, 16]), weights)))
                train = tf.train.GradientDescentOptimizer(0.001).minimize(loss, global_step=step)
                with tf.train.MonitoredTrainingSession(self._target, checkpoint_dir=self._directory,
                                                       log_step_count_steps=None) as session:
                    while True:
                        session.run(train)
                        with self._changed:
                            self._last = time.monotonic()
                            self._changed.notify_all()
        except Exception as error:  # handed to the thread that waits
            with self._changed:
                self._error = error
                self._changed.notify_all()


def main():
    tf.logging.set_verbosity(tf.logging.ERROR)
    tasks = {role: 1 for role in ROLES}
    cluster = mixed_cluster.MixedCluster("", tasks, {(role, 0) for role in ROLES})
    with tempfile.TemporaryDirectory(prefix="tensorflow_return_") as directory:
        steps = Steps(cluster.target(0, "master"), directory)
        for role in ROLES:
            for _ in range(int(sys.argv[1])):
                steps.await_step_after(time.monotonic())
                cluster.restart(0, role)
                returned = time.monotonic()
                print(role, "%.3f" % (steps.await_step_after(returned) - returned), flush=True)
        cluster.stop()
        sys.stdout.flush()
        os._exit(0)  # the thread still trains


if __name__ == "__main__":
    main()
