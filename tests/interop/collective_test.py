"""Collectives of a stock TensorFlow client among tasks and devices of a Weir cluster, and how they fail. Members that die
are in tests/cluster/collective_test.cc.

  collective_test.py WEIR [TEST...]    WEIR is the weir program
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import weir_cluster

weir_cluster.run_with_tensorflow()
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import threading
import unittest

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import collective_ops

tf1 = tf.compat.v1
tf1.disable_eager_execution()

PROGRAM = sys.argv[1]
LEADER = "/job:worker/replica:0/task:0"


class Devices(weir_cluster.Cluster):
    """Tasks with two CPU devices each."""

    def command(self, job, index, ready_file):
        return super().command(job, index, ready_file) + ["--cpu-devices", "2"]


def config(timeout_ms=60000):
    proto = tf1.ConfigProto(operation_timeout_in_ms=timeout_ms)
    proto.experimental.collective_group_leader = LEADER
    return proto


def device(task, cpu=0):
    return "/job:worker/replica:0/task:%d/device:CPU:%d" % (task, cpu)


class Keys:
    """Fresh keys: groups and instances are for a server's whole life."""

    group = 100
    instance = 1000

    @classmethod
    def next_group(cls):
        cls.group += 1
        return cls.group

    @classmethod
    def next_instance(cls):
        cls.instance += 1
        return cls.instance


def values(members, shape, dtype):
    rng = np.random.RandomState(7)
    return [rng.randint(-5, 6, size=shape).astype(dtype.as_numpy_dtype) for _ in range(members)]


def members(devices, make):
    """One tensor for each device, made there."""
    result = []
    for rank, name in enumerate(devices):
        with tf.device(name):
            result.append(make(rank))
    return result


class CollectiveTest(unittest.TestCase):
    tasks = 4

    @classmethod
    def setUpClass(cls):
        cls.cluster = Devices(PROGRAM, cls.tasks)
        weir_cluster.end_after(500, cls.cluster)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.graph = tf.Graph()
        self.entered = self.graph.as_default()
        self.entered.__enter__()

    def tearDown(self):
        self.entered.__exit__(None, None, None)

    def run_(self, fetches, feeds=None, task=0, timeout_ms=60000):
        with tf1.Session(self.cluster.target(task), config=config(timeout_ms)) as session:
            return session.run(fetches, feeds)

    def groups(self):
        yield [device(0), device(1)]
        yield [device(task) for task in range(4)]
        yield [device(0, 0), device(0, 1)]
        yield [device(0, 0), device(0, 1), device(1, 0), device(2, 1), device(3, 0)]


class Results(CollectiveTest):
    def test_all_reduce(self):
        for devices in self.groups():
            group = Keys.next_group()
            for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int32, tf.int64):
                for merge, final, expected in (("Add", "Id", np.sum), ("Add", "Div", np.mean), ("Max", "Id", np.max),
                                               ("Min", "Id", np.min), ("Mul", "Id", np.prod)):
                    instance = Keys.next_instance()
                    inputs = values(len(devices), (7, 3), dtype)
                    reduced = members(devices, lambda rank: collective_ops.all_reduce(
                        tf.constant(inputs[rank]), len(devices), group, instance, merge, final))
                    want = expected(np.stack([np.asarray(i, np.float64) for i in inputs]), axis=0)
                    if dtype.is_integer:
                        want = np.trunc(want)
                    for got in self.run_(reduced):
                        np.testing.assert_allclose(np.asarray(got, np.float64), want, rtol=1e-2,
                                                   err_msg="%s %s %s" % (dtype, merge, final))

    def test_sizes(self):
        devices = [device(task) for task in range(3)]
        group = Keys.next_group()
        for shape in ((0,), (1,), (2,), (), (3, 0, 2), (1000,), (65537,), (3000001,)):
            instance = Keys.next_instance()
            fed = members(devices, lambda rank: tf1.placeholder(tf.float32))
            reduced = members(devices, lambda rank: collective_ops.all_reduce(
                fed[rank], len(devices), group, instance, "Add", "Id"))
            inputs = [np.asarray(np.random.RandomState(rank).rand(*shape), np.float32) for rank in range(3)]
            results = self.run_(reduced, dict(zip(fed, inputs)))
            for got in results:
                np.testing.assert_allclose(got, sum(inputs), rtol=1e-5)
                np.testing.assert_array_equal(got, results[0])

    def test_many_steps_of_one_session(self):
        devices = [device(task) for task in range(4)]
        group, instances = Keys.next_group(), [Keys.next_instance() for _ in range(3)]
        x = tf1.placeholder(tf.float32, [])
        sums = [members(devices, lambda rank, i=i: collective_ops.all_reduce(
            x * (rank + 1), 4, group, instances[i], "Add", "Id")) for i in range(3)]
        with tf1.Session(self.cluster.target(1), config=config()) as session:
            for step in range(20):
                for got in session.run(sums, {x: step}):
                    self.assertEqual(list(got), [10 * step] * 4)

    def test_all_gather(self):
        for devices in self.groups():
            inputs = values(len(devices), (2, 3), tf.float32)
            group, instance = Keys.next_group(), Keys.next_instance()
            gathered = members(devices, lambda rank: collective_ops.all_gather(
                tf.constant(inputs[rank]), len(devices), group, instance))
            for got in self.run_(gathered):
                np.testing.assert_array_equal(got, np.concatenate(inputs))

    def test_broadcast(self):
        for devices in self.groups():
            value = values(1, (5, 2), tf.float32)[0]
            group, instance = Keys.next_group(), Keys.next_instance()
            source = len(devices) - 1
            results = members(devices, lambda rank: collective_ops.broadcast_send(
                tf.constant(value), value.shape, tf.float32, len(devices), group, instance) if rank == source else
                collective_ops.broadcast_recv(value.shape, tf.float32, len(devices), group, instance))
            for got in self.run_(results):
                np.testing.assert_array_equal(got, value)

    def test_second_versions(self):
        devices = [device(0), device(1), device(1, 1), device(3)]
        size, group = len(devices), Keys.next_group()
        inputs = values(size, (4, 3), tf.float32)
        keys = [Keys.next_instance() for _ in range(5)]
        reduced = members(devices, lambda rank: collective_ops.all_reduce_v2(
            tf.constant(inputs[rank]), size, group, keys[0], "Add", "Div"))
        gathered = members(devices, lambda rank: collective_ops.all_gather_v2(
            tf.constant(inputs[rank]), size, group, keys[1]))
        sent = members(devices, lambda rank: collective_ops.broadcast_send_v2(
            tf.constant(inputs[2]), size, group, keys[2]) if rank == 2 else collective_ops.broadcast_recv_v2(
                [4, 3], tf.float32, size, group, keys[2]))
        exchanged = members(devices, lambda rank: tf.raw_ops.CollectiveAllToAllV2(
            input=tf.constant(inputs[rank]), group_size=size, group_key=group, instance_key=keys[3],
            ordering_token=[]))
        scattered = members(devices, lambda rank: tf.raw_ops.CollectiveReduceScatterV2(
            input=tf.constant(inputs[rank]), group_size=size, group_key=group, instance_key=keys[4],
            ordering_token=[], merge_op="Add", final_op="Id"))
        results = self.run_([reduced, gathered, sent, exchanged, scattered])
        for rank in range(size):
            np.testing.assert_allclose(results[0][rank], np.mean(inputs, axis=0), rtol=1e-6)
            np.testing.assert_array_equal(results[1][rank], np.concatenate(inputs))
            np.testing.assert_array_equal(results[2][rank], inputs[2])
            np.testing.assert_array_equal(results[3][rank], np.stack([i[rank] for i in inputs]))
            np.testing.assert_array_equal(results[4][rank], np.sum(inputs, axis=0)[rank:rank + 1])

    def test_communicators(self):
        devices = [device(2), device(0), device(1)]  # ranks are as they say, not as devices are ordered
        group = Keys.next_group()
        inputs = values(3, (3, 2), tf.float32)
        communicators = members(devices, lambda rank: tf.raw_ops.CollectiveInitializeCommunicator(
            group_key=group, rank=rank, group_size=3))
        none = tf.zeros([0, 0], tf.int32)
        reduced = members(devices, lambda rank: tf.raw_ops.CollectiveReduceV3(
            input=tf.constant(inputs[rank]), communicator=communicators[rank], group_assignment=none, reduction="Add"))
        with tf.control_dependencies(reduced):
            exchanged = members(devices, lambda rank: tf.raw_ops.CollectiveAllToAllV3(
                input=tf.constant(inputs[rank]), communicator=communicators[rank], group_assignment=none))
        results = self.run_([reduced, exchanged])
        for rank in range(3):
            np.testing.assert_array_equal(results[0][rank], np.sum(inputs, axis=0))
            np.testing.assert_array_equal(results[1][rank], np.stack([i[rank] for i in inputs]))

    def test_assign_group(self):
        size, key = tf.raw_ops.CollectiveAssignGroupV2(group_assignment=[[0, 1], [2, 3]], device_index=2, base_key=7)
        self.assertEqual(self.run_([size, key]), [2, 8])
        for assignment, index, base, phrase in (([[0, 1]], 5, 1, "is not found in group_assignment"),
                                                ([[0, 9]], 5, 1, "is within"), ([[0, 1]], 0, 0, "reserved group_key")):
            bad = tf.raw_ops.CollectiveAssignGroupV2(group_assignment=assignment, device_index=index, base_key=base)
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, phrase):
                self.run_(bad[1])

    def test_in_a_loop(self):
        devices = [device(0), device(1)]
        group, instance = Keys.next_group(), Keys.next_instance()

        def body(i, *x):
            return [i + 1] + members(devices, lambda rank: collective_ops.all_reduce(
                x[rank], 2, group, instance, "Add", "Id"))

        looped = tf1.while_loop(lambda i, *x: i < 5, body, [tf.constant(0), tf.constant(1.0), tf.constant(2.0)])
        self.assertEqual(self.run_(looped), [5, 48, 48])

    def test_clients_at_several_masters(self):
        """Each task's master runs its own part; the leader gives them their step ids."""
        group, instance = Keys.next_group(), Keys.next_instance()
        results, errors = {}, []

        def client(task):
            try:
                with tf.Graph().as_default(), tf.device(device(task)):
                    x = tf1.placeholder(tf.float32, [3])
                    total = collective_ops.all_reduce(x, 4, group, instance, "Add", "Id")
                    with tf1.Session(self.cluster.target(task), config=config()) as session:
                        results[task] = [session.run(total, {x: [task, step, 1]}) for step in range(10)]
            except Exception as error:  # pylint: disable=broad-except
                errors.append(error)

        threads = [threading.Thread(target=client, args=(task,)) for task in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        for task in range(4):
            for step in range(10):
                np.testing.assert_array_equal(results[task][step], [6, 4 * step, 4])


class Failures(CollectiveTest):
    def reduce(self, devices, inputs, sizes=None, instance=None, group=None, timeout=0):
        group, instance = group or Keys.next_group(), instance or Keys.next_instance()
        return members(devices, lambda rank: collective_ops.all_reduce(
            inputs[rank], sizes[rank] if sizes else len(devices), group, instance, "Add", "Id", timeout=timeout))

    def test_shapes_that_differ(self):
        for devices in ([device(0), device(1)], [device(0), device(0, 1)], [device(0), device(1), device(2)]):
            inputs = [tf.zeros([4 + rank // (len(devices) - 1)]) for rank in range(len(devices))]
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Shape mismatch in the collective instance"):
                self.run_(self.reduce(devices, inputs))

    def test_types_that_differ(self):
        inputs = [tf.zeros([4]), tf.zeros([4], tf.int32)]
        with self.assertRaisesRegex(tf.errors.InternalError, "expected type .* and data_type .* but got"):
            self.run_(self.reduce([device(0), device(1)], inputs))

    def test_group_sizes_that_differ(self):
        inputs = [tf.zeros([4])] * 2
        with self.assertRaisesRegex(tf.errors.InternalError, "but that group has size"):
            self.run_(self.reduce([device(0), device(1)], inputs, sizes=[2, 3]))

    def test_a_device_that_is_not_of_the_group(self):
        group = Keys.next_group()
        self.run_(self.reduce([device(0), device(1)], [tf.zeros([2])] * 2, group=group))
        with self.assertRaisesRegex(tf.errors.InternalError, "but that group doesn't contain that device"):
            self.run_(self.reduce([device(0), device(2)], [tf.zeros([2])] * 2, group=group))

    def test_bad_arguments(self):
        for make, phrase in (
                (lambda: collective_ops.all_gather(tf1.placeholder_with_default(1.0, None), 1, Keys.next_group(), 1),
                 "rank > 0"),
                (lambda: tf.raw_ops.CollectiveReduceV2(
                    input=1.0, group_size=tf1.placeholder_with_default(0, None), group_key=1, instance_key=1,
                    ordering_token=[], merge_op="Add", final_op="Id"), "group_size must be positive"),
                (lambda: tf.raw_ops.CollectiveReduceV2(
                    input=1.0, group_size=tf1.placeholder_with_default([1], None), group_key=1, instance_key=1,
                    ordering_token=[], merge_op="Add", final_op="Id"), "Unexpected dimensions on input group_size"),
                (lambda: tf.raw_ops.CollectiveAllToAllV2(
                    input=[1.0, 2.0], group_size=1, group_key=1, instance_key=1, ordering_token=[]), "all-to-all"),
        ):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, phrase):
                self.run_(make())

    def test_broadcasts_without_and_with_two_sources(self):
        group = Keys.next_group()
        for senders, phrase in ((0, "found no source for broadcast"), (2, "already has source")):
            instance = Keys.next_instance()
            results = members([device(0), device(1)], lambda rank: collective_ops.broadcast_send(
                tf.zeros([2]), [2], tf.float32, 2, group, instance) if rank < senders else
                collective_ops.broadcast_recv([2], tf.float32, 2, group, instance))
            with self.assertRaisesRegex(tf.errors.InternalError, phrase):
                self.run_(results)

    def test_a_member_that_never_joins(self):
        group, instance = Keys.next_group(), Keys.next_instance()
        with tf.device(device(1)):
            alone = collective_ops.all_reduce(tf.zeros([2]), 2, group, instance, "Add", "Id", timeout=1)
        with self.assertRaisesRegex(tf.errors.DeadlineExceededError,
                                    "(?s)timed out waiting for other workers.*task:1/device:CPU:0.*task:0"):
            self.run_(alone)

    def test_a_member_that_does_not_run_the_op(self):
        devices = [device(0), device(1)]
        group, instance = Keys.next_group(), Keys.next_instance()
        self.run_(self.reduce(devices, [tf.zeros([2])] * 2, group=group))  # the group is known
        with tf.device(device(1)):
            alone = collective_ops.all_reduce(tf.zeros([2]), 2, group, instance, "Add", "Id", timeout=1)
        with self.assertRaisesRegex(tf.errors.DeadlineExceededError, "(?s)timed out during execution.*task:0/device:CPU:0"):
            self.run_(alone)

    def test_another_op_fails_the_step(self):
        devices = [device(0), device(1)]
        with tf.device(device(1)):
            bad = tf1.assert_equal(tf1.placeholder_with_default(1, []), 2, message="not at all")
            with tf.control_dependencies([bad]):
                second = tf.zeros([2])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "not at all"):
            self.run_(self.reduce(devices, [tf.zeros([2]), second]))

    def test_the_group_goes_on_after_a_failure(self):
        devices = [device(0), device(1)]
        group = Keys.next_group()
        with self.assertRaises(tf.errors.InvalidArgumentError):
            self.run_(self.reduce(devices, [tf.zeros([2]), tf.zeros([3])], group=group))
        for got in self.run_(self.reduce(devices, [tf.ones([2])] * 2, group=group)):
            self.assertEqual(list(got), [2, 2])

    def test_a_client_that_cancels(self):
        group = Keys.next_group()
        with tf.device(device(1)):
            alone = collective_ops.all_reduce(tf.zeros([2]), 2, group, Keys.next_instance(), "Add", "Id")
        with self.assertRaises(tf.errors.DeadlineExceededError):
            self.run_(alone, timeout_ms=500)
        # Whoever had joined has left: the group forms of others.
        for got in self.run_(self.reduce([device(2), device(3)], [tf.ones([2])] * 2, group=group)):
            self.assertEqual(list(got), [2, 2])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
