"""TensorFlow's side of weir_save_stall: tensorflow_save_stall.py MIB DIR in_steps|none dense|rows.

The same graphs, saved by tf.compat.v1.train.Saver between steps, as MonitoredTrainingSession does.
"""

import os
import statistics
import sys
import time

import tensorflow.compat.v1 as tf

WIDTH, BATCH = 2048, 16
ROW_WIDTH, TABLE_MIB, ROWS_IN_A_STEP = 256, 512, 1024


def dense_loss(mib):
    value = tf.constant([[(row * WIDTH + column) % 7 / 7 for column in range(WIDTH)] for row in range(BATCH)], tf.float32)
    for i in range(max(1, mib // (WIDTH * WIDTH * 4 >> 20))):
        weights = tf.get_variable(f"weights_{i}", [WIDTH, WIDTH], use_resource=True)
        bias = tf.get_variable(f"bias_{i}", [WIDTH], use_resource=True, initializer=tf.zeros_initializer())
        value = tf.nn.relu(tf.matmul(value, weights) + bias)
    return tf.reduce_mean(tf.square(value))


def rows_loss(mib):
    losses = []
    for i, left in enumerate(range(mib, 0, -TABLE_MIB)):
        rows = (min(left, TABLE_MIB) << 20) // (ROW_WIDTH * 4)
        table = tf.get_variable(f"table_{i}", [rows, ROW_WIDTH], use_resource=True, initializer=tf.zeros_initializer())
        indices = tf.random.uniform([ROWS_IN_A_STEP], 0, rows, tf.int64)
        losses.append(tf.reduce_mean(tf.square(tf.gather(table, indices) - 1)))
    return tf.add_n(losses)


def main():
    mib, folder, mode, variables = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    tf.disable_eager_execution()
    loss, between = (dense_loss(mib), 20) if variables == "dense" else (rows_loss(mib), 400)
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
    saver = tf.train.Saver(max_to_keep=2)
    path = os.path.join(folder, "model.ckpt")
    count = 0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def steps(number):
            nonlocal count
            seconds = []
            for _ in range(number):
                start = time.monotonic()
                session.run(train)
                count += 1
                if mode != "none" and count % between == 0:
                    saver.save(session, path, global_step=count, write_meta_graph=False)
                seconds.append(time.monotonic() - start)
            return max(seconds) - statistics.median(seconds)

        steps(between + 1)
        print("ready", flush=True)
        for line in sys.stdin:
            print(steps(int(line)), flush=True)


main()
