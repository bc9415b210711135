#!/usr/bin/env python3
"""A stock TensorFlow program trains on weir.launch().

    launch_trains_test.py WEIR
"""

import os
import sys
import threading
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/interop")]
from weir_cluster import run_with_tensorflow  # noqa: E402

run_with_tensorflow()
os.environ["WEIR_PROGRAM"] = sys.argv[1]

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

import weir  # noqa: E402

tf.disable_eager_execution()
with weir.launch(workers=2, ps=1) as cluster:
    with tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:1")):
        x = tf.placeholder(tf.float32, [None, 1])
        y = tf.placeholder(tf.float32, [None, 1])
        weight = tf.get_variable("weight", [1, 1], initializer=tf.zeros_initializer())
        bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weight) + bias - y))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    xs = np.arange(4, dtype=np.float32).reshape(4, 1)
    config = weir.enable_py_func(cluster.target)
    with tf.Session(cluster.target, config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(200):
            session.run(train, {x: xs, y: 2 * xs + 1})
        slope, offset = session.run([weight, bias])
np.testing.assert_allclose([slope[0, 0], offset[0]], [2, 1], atol=0.01)
for thread in threading.enumerate():  # the connection ends with its cluster
    if thread.name == "weir-py-func-stream":
        thread.join(60)
        assert not thread.is_alive()
print("trained: y = %.2f x + %.2f" % (slope[0, 0], offset[0]))
