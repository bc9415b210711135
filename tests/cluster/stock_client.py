"""Runs a stock TensorFlow client on a cluster of Weir tasks: python stock_client.py TARGET."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
WORKER, OTHER = "/job:worker/task:0", "/job:worker/task:1"


def data():
    rng = np.random.RandomState(1)
    x = rng.uniform(-1, 1, [64, 3]).astype(np.float32)
    return x, x @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 0.25


def trains(target, use_resource):
    """Linear regression, its variables on one task and its loss on the other."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.placeholder(tf.float32, [None, 1])
        with tf.device(OTHER):
            w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer(), use_resource=use_resource)
            b = tf.get_variable("b", [1], initializer=tf.zeros_initializer(), use_resource=use_resource)
        with tf.device(WORKER):
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        feeds = dict(zip((x, y), data()))
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            first = session.run(loss, feeds)
            for _ in range(200):
                session.run(train, feeds)
            last, weights = session.run([loss, w], feeds)
        assert last < 1e-4 < first, (first, last)
        np.testing.assert_allclose(weights[:, 0], [1.0, -2.0, 0.5], atol=0.02)


def places_by_cost(target):
    """The same regression without devices, placed by cost on two tasks of unequal speed."""
    config = tf.ConfigProto()
    optimizer = config.graph_options.rewrite_options.custom_optimizers.add(name="CostPlacement")
    optimizer.parameter_map["devices"].s = (
        b"/job:worker/task:0/device:CPU:0=gflops:0.001,gbs:0.001;/job:worker/task:1/device:CPU:0=gflops:10,gbs:10")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [64, 3])
        y = tf.placeholder(tf.float32, [64, 1])
        w = tf.get_variable("w_by_cost", [3, 1], initializer=tf.zeros_initializer(), use_resource=True)
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + 0.25 - y))
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        feeds = dict(zip((x, y), data()))
        with tf.Session(target, config=config) as session:
            session.run(tf.global_variables_initializer())
            metadata = tf.RunMetadata()
            session.run(train, feeds, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
            for _ in range(200):
                session.run(train, feeds)
            last, weights = session.run([loss, w], feeds)
        updated_on = {device.device for device in metadata.step_stats.dev_stats for node in device.node_stats
                      if "ResourceApplyGradientDescent" in node.timeline_label}
        assert updated_on == {"/job:worker/replica:0/task:1/device:CPU:0"}, updated_on
        assert last < 1e-4, last
        np.testing.assert_allclose(weights[:, 0], [1.0, -2.0, 0.5], atol=0.02)


def loops(target):
    with tf.Graph().as_default():
        limit = tf.placeholder(tf.int32, [])
        with tf.device(OTHER):
            _, total = tf.while_loop(lambda i, _: i < limit, lambda i, t: (i + 1, t + tf.cast(i, tf.float32)),
                                     [tf.constant(0), tf.constant(0.0)])
        with tf.Session(target) as session:
            assert session.run(total, {limit: 101}) == 5050.0
            assert session.run(total, {limit: 0}) == 0.0


def tells_errors(target):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        with tf.device(OTHER):
            bad = tf.reshape(x, [7], name="bad")
        with tf.Session(target) as session:
            assert len(session.list_devices()) == 2
            try:
                session.run(bad, {x: [1.0]})
            except tf.errors.InvalidArgumentError as error:
                assert "Input to reshape is a tensor with 1 values, but the requested shape has 7" in error.message
                assert error.op.name == "bad", error
            else:
                raise AssertionError("a bad reshape passed")


def carries_types(target):
    with tf.Graph().as_default():
        for value in (np.array(["a", "", "text"], object), np.arange(6, dtype=np.int64).reshape(2, 3),
                      np.zeros([0, 3], np.float64), np.array(True), np.full([300, 1000], 1.5, np.float32)):
            x = tf.placeholder(tf.as_dtype(value.dtype) if value.dtype != object else tf.string, value.shape)
            with tf.device(OTHER):
                there = tf.identity(x)
            with tf.device(WORKER):
                back = tf.identity(there)
            with tf.Session(target) as session:
                result = session.run(back, {x: value})
            if value.dtype == object:
                result = np.array([text.decode() for text in result], object)
            assert np.array_equal(result, value), (result, value)


if __name__ == "__main__":
    trains(sys.argv[1], use_resource=False)
    trains(sys.argv[1], use_resource=True)
    places_by_cost(sys.argv[1])
    loops(sys.argv[1])
    tells_errors(sys.argv[1])
    carries_types(sys.argv[1])
