"""Stock TensorFlow clients' asynchronous jobs, of which each worker is a session of its own, while workers join the cluster, leave it
and are killed, and while variables move between parameter servers that come and go.

  stock_elastic_test.py WEIR [TEST...]    WEIR is the weir program
"""
import subprocess
import sys
import threading
import unittest

import weir_cluster

weir_cluster.run_with_tensorflow()
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.ERROR)
PARAMETER_SERVERS = 2
STEPS = 50
SECONDS = 120


class Worker:
    """Trains at the master of a worker's task until it is told to stop or a step fails."""

    def __init__(self, target, index):
        self.done, self.failed, self.error = 0, 0, None
        self._target, self._index = target, index
        self._stopping, self._progress = threading.Event(), threading.Condition()
        self._thread = threading.Thread(target=self._train, daemon=True)
        self._thread.start()

    def _train(self):
        # The client repeats a step until its time is over when its master has ended.
        config = tf1.ConfigProto(
            device_filters=["/job:ps", "/job:worker/task:%d" % self._index], operation_timeout_in_ms=5000)
        with tf.Graph().as_default():
            train, _ = build("/job:worker/task:%d" % self._index)
            try:
                with tf1.Session(self._target, config=config) as session:
                    while not self._stopping.is_set():
                        session.run(train)
                        with self._progress:
                            self.done += 1
                            self._progress.notify_all()
            except tf.errors.OpError as error:
                self.error = error
                self.failed = 1
            finally:
                with self._progress:
                    self._stopping.set()
                    self._progress.notify_all()

    def wait_for_steps(self, count):
        """For so many more. Returns whether the worker made them."""
        with self._progress:
            wanted = self.done + count
            self._progress.wait_for(lambda: self.done >= wanted or self._stopping.is_set(), 60)
            return self.done >= wanted

    def stop(self):
        self._stopping.set()
        self.join()

    def join(self):
        self._thread.join(60)
        assert not self._thread.is_alive()


def build(worker):
    """One step of a worker: adds a number of its own to a variable of each parameter server."""
    with tf1.device(tf1.train.replica_device_setter(PARAMETER_SERVERS, worker_device=worker)):
        counts = [tf1.get_variable("count%d" % i, initializer=0, use_resource=i == 0) for i in range(PARAMETER_SERVERS)]
        one = tf1.placeholder_with_default(1, [])
        train = tf.group(*[tf1.assign_add(count, one) for count in counts])
    return train, counts


class Elastic(unittest.TestCase):
    def test_a_job_goes_on_while_workers_join_and_leave(self):
        cluster = weir_cluster.Cluster(
            PROGRAM, {"ps": PARAMETER_SERVERS, "worker": 1}, arguments=["--member-lease", "2s"])
        self.addCleanup(cluster.stop)
        first_target = cluster.target(job="worker")
        with tf.Graph().as_default():
            _, counts = build("/job:worker/task:0")
            with tf1.Session(first_target) as session:
                session.run(tf1.global_variables_initializer())

            workers = [Worker(first_target, 0)]
            self.assertTrue(workers[0].wait_for_steps(STEPS))
            processes = []
            for index in (1, 2):
                process, target = cluster.join()
                processes.append(process)
                workers.append(Worker(target, index))
            for worker in workers:
                self.assertTrue(worker.wait_for_steps(STEPS), worker.error)
            # One leaves, the other is killed; the first goes on as if nothing had happened.
            processes[0].terminate()
            processes[1].kill()
            for worker in workers[1:]:
                worker.join()
                self.assertIsNotNone(worker.error)
            self.assertEqual(processes[0].wait(), 0)
            self.assertTrue(workers[0].wait_for_steps(STEPS), workers[0].error)
            # The one that left freed its place.
            _, target = cluster.join()
            workers.append(Worker(target, 1))
            self.assertTrue(workers[-1].wait_for_steps(STEPS), workers[-1].error)
            for worker in (workers[0], workers[-1]):
                worker.stop()
                self.assertIsNone(worker.error)

            with tf1.Session(first_target) as session:
                totals = session.run(counts)
            done, failed = sum(worker.done for worker in workers), sum(worker.failed for worker in workers)
            # A step that failed was applied on all parameter servers or on none.
            self.assertEqual(len(set(totals)), 1, totals)
            self.assertLessEqual(done, totals[0])
            self.assertLessEqual(totals[0], done + failed)


    def test_variables_move_to_a_server_that_joins_and_off_one_that_goes(self):
        cluster = weir_cluster.Cluster(PROGRAM, {"ps": PARAMETER_SERVERS, "worker": 2})
        self.addCleanup(cluster.stop)
        targets = [cluster.target(task) for task in range(2)]
        sessions, steps = [], []
        for index, target in enumerate(targets):
            with tf.Graph().as_default():
                train, loss, step = build_network("/job:worker/task:%d" % index)
                initialise = tf1.global_variables_initializer()
                config = tf1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index])
                session = tf1.Session(target, config=config)
                self.addCleanup(session.close)
                if index == 0:
                    session.run(initialise)
                sessions.append((session, train, loss))
                steps.append(step)
        made = [0]

        def train_for(rounds):
            for _ in range(rounds):
                for session, train, loss in sessions:
                    session.run([train, loss])
                    made[0] += 1

        train_for(10)
        process, _ = cluster.join(job="ps")
        for _ in range(600):
            train_for(1)
            if moved_to(targets[0], 2):
                break
        self.assertTrue(moved_to(targets[0], 2), "the server that joined has no variables")
        train_for(10)
        printed = weir(["drain", "--remove", targets[1], "/job:ps/task:0"])
        self.assertNotIn("/job:ps/replica:0/task:0 127", printed)
        train_for(10)
        process.terminate()  # hands over to the last server
        self.assertEqual(process.wait(), 0)
        train_for(10)
        session, _, loss = sessions[1]
        self.assertEqual(session.run(steps[1]), made[0])
        self.assertLess(session.run(loss), 0.02)


def build_network(worker):
    """A step of Adam on a regression, with resource and reference variables, and the global step."""
    with tf1.device(tf1.train.replica_device_setter(PARAMETER_SERVERS, worker_device=worker)):
        step = tf1.train.get_or_create_global_step()
        x = tf.constant([[i / 16.0, 1.0] for i in range(16)])
        hidden = x
        for layer, (inputs, outputs) in enumerate([(2, 8), (8, 8), (8, 1)]):
            weight = tf1.get_variable(
                "weight%d" % layer, [inputs, outputs], use_resource=layer != 1,
                initializer=tf1.initializers.random_uniform(-1, 1, seed=layer))
            hidden = tf.matmul(tf.tanh(hidden) if layer else hidden, weight)
        loss = tf.reduce_mean(tf.square(hidden - tf.square(x[:, :1])))
        train = tf1.train.AdamOptimizer(0.02).minimize(loss, global_step=step)
    return train, loss, step


def weir(arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def moved_to(target, index):
    """Whether a parameter server holds variables that graphs place on another one."""
    address = next(line.split()[1] for line in weir(["members", target]).splitlines()
                   if line.startswith("/job:ps/replica:0/task:%d " % index))
    return "@ps/" in weir(["status", "--resources", "grpc://" + address])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    timer = threading.Timer(SECONDS, lambda: (print("not done after %d s" % SECONDS, flush=True), __import__("os")._exit(1)))
    timer.daemon = True
    timer.start()
    unittest.main(verbosity=2)
