"""A stock TensorFlow client whose master's task is killed, with and without a journal.

  stock_master_loss_test.py WEIR [TEST...]    WEIR is the weir program
"""
import tempfile
import threading
import sys
import unittest

import weir_cluster

weir_cluster.run_with_tensorflow()
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.ERROR)
PS, MASTER = "/job:ps/task:0", "/job:worker/task:0"
STEPS = 200
SECONDS = 120


class MasterLoss(unittest.TestCase):
    def start(self, journal):
        arguments = ["--journal", journal] if journal else []
        self.cluster = weir_cluster.Cluster(PROGRAM, {"ps": 1, "worker": 1}, arguments=arguments)
        self.addCleanup(self.cluster.stop)

    def build(self):
        """A count on the parameter server, to which each step adds a number of the master's task."""
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)
        with tf.device(PS):
            step = tf1.train.get_or_create_global_step()
            count = tf1.get_variable("count", initializer=0.0, use_resource=True)
        with tf.device(MASTER):
            one = tf.identity(1.0)
        with tf.control_dependencies([tf1.assign_add(count, one)]), tf.device(PS):
            train = tf1.assign_add(step, 1)
        return count, step, train

    def kill_after(self, steps, session, step):
        """Kills the master's task, and starts it again, while the caller's steps run."""
        def work():
            while session.run(step) < steps:
                pass
            self.cluster.restart(0, "worker")
        thread = threading.Thread(target=work)
        thread.start()
        return thread

    def test_a_session_goes_on_with_its_handle(self):
        with tempfile.TemporaryDirectory() as journal:
            self.start(journal)
            count, step, train = self.build()
            config = tf1.ConfigProto(operation_timeout_in_ms=60000)
            with tf1.Session(self.cluster.target(job="worker"), config=config) as session, \
                    tf1.Session(self.cluster.target(job="ps"), config=config) as observer:
                session.run(tf1.global_variables_initializer())
                killer = self.kill_after(STEPS // 2, observer, step)
                done, unknown = 0, 0
                while done + unknown < STEPS or killer.is_alive():
                    try:
                        session.run(train)
                        done += 1
                    except (tf.errors.AbortedError, tf.errors.UnavailableError):
                        unknown += 1
                killer.join()
                session.run(train)
                done += 1
                total = session.run(count)
                # Each finished step counts once. One in flight at the crash ran or did not, never twice.
                self.assertLessEqual(done, total)
                self.assertLessEqual(total, done + unknown)
                self.assertEqual(session.run(step), total)
                self.assertLessEqual(unknown, 12)
            self.cluster.stop()

    def test_a_monitored_session_opens_a_new_one_without_a_journal(self):
        self.start(None)
        count, step, train = self.build()
        killed = []

        class KillOnce(tf1.train.SessionRunHook):
            def after_run(hook, context, values):
                if values.results == STEPS // 2 and not killed:
                    killed.append(True)
                    self.cluster.restart(0, "worker")

            def before_run(hook, context):
                return tf1.train.SessionRunArgs(step)

        hooks = [KillOnce(), tf1.train.StopAtStepHook(STEPS)]
        creator = tf1.train.ChiefSessionCreator(master=self.cluster.target(job="worker"))
        with tf1.train.MonitoredSession(creator, hooks=hooks) as session:
            while not session.should_stop():
                session.run(train)
        self.assertTrue(killed)
        with tf1.Session(self.cluster.target(job="worker")) as session:
            self.assertEqual(session.run(step), STEPS)
            self.assertEqual(session.run(count), STEPS)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    timer = threading.Timer(SECONDS, lambda: (print("not done after %d s" % SECONDS, flush=True), __import__("os")._exit(1)))
    timer.daemon = True
    timer.start()
    unittest.main(verbosity=2)
