"""Loops, conditions and functions of a stock TensorFlow client.

  stock_control_flow_test.py WEIR [TEST...]    WEIR is the weir program
"""
import session_case  # first: it finds an interpreter that can import TensorFlow

import numpy as np
from session_case import TASK0, TASK1, session, tf, tf1


class ControlFlow(session_case.SessionTest):
    def test_loops_with_gradients(self):
        for v2 in (False, True):
            for use_resource in (False, True):
                with self.subTest(v2=v2, use_resource=use_resource), tf.Graph().as_default(), session() as self.session:
                    (tf1.enable_control_flow_v2 if v2 else tf1.disable_control_flow_v2)()
                    self.addCleanup(tf1.disable_control_flow_v2)
                    w = tf1.get_variable("w", initializer=2.0, use_resource=use_resource)
                    n = tf1.placeholder(tf.int32, [])
                    _, power = tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, a * w), [0, tf.constant(1.0)])
                    slope = tf1.gradients(power, w)[0]
                    train = tf1.train.GradientDescentOptimizer(0.01).minimize((power - 1) ** 2)
                    self.initialize()
                    self.assertEqual(self.run_([power, slope], {n: 3}), [8, 12])
                    self.assertEqual(self.run_([power, slope], {n: 0}), [1, 0])
                    for _ in range(60):
                        self.run_(train, {n: 2})
                    self.assertAlmostEqual(float(self.run_(power, {n: 2})), 1.0, places=2)

    def test_loop_over_two_tasks(self):
        x = tf1.placeholder(tf.float32, [3])

        def body(i, a):
            with tf.device(TASK1):
                twice = a * 2
            with tf.device(TASK0):
                return i + 1, twice + 1

        with tf.device(TASK0):
            _, y = tf.while_loop(lambda i, _: i < 5, body, [0, x])
        slope = tf1.gradients(y, x)[0]
        for _ in range(3):
            ours, slopes = self.run_([y, slope], {x: [1, 1, 2]})
            np.testing.assert_array_equal(ours, [63, 63, 95])
            np.testing.assert_array_equal(slopes, [32, 32, 32])

    def test_constants_that_enter_elsewhere(self):
        """All that a loop has on another task are values that do not change in it."""
        for nested in (False, True):
            with self.subTest(nested=nested), tf.Graph().as_default() as graph, session() as self.session:
                x = tf1.placeholder(tf.float32, [])

                def body(i, a):
                    if nested:
                        _, a = tf1.while_loop(lambda j, _: j < 2, lambda j, b: (j + 1, b + x), [0, a])
                        return i + 1, a
                    with tf.device(TASK1):
                        other = -x
                    return i + 1, a + x - other

                with tf.device(TASK0):
                    _, y = tf1.while_loop(lambda i, _: i < 4, body, [0, tf.constant(0.)])
                for op in graph.get_operations():
                    if op.type == "Enter" and op.get_attr("is_constant"):
                        op._set_device(TASK1)
                for _ in range(3):
                    self.assertEqual(self.run_(y, {x: 3.}), 24)

    def test_nested_loops(self):
        def inner(i, total):
            _, total = tf.while_loop(lambda j, _: j <= i, lambda j, t: (j + 1, t + j), [0, total])
            return i + 1, total

        _, total = tf.while_loop(lambda i, _: i < 6, inner, [0, 0])
        self.assertEqual(self.run_(total), sum(j for i in range(6) for j in range(i + 1)))

    def test_tensor_arrays(self):
        x = tf1.placeholder(tf.float32, [None])
        squares = tf.map_fn(lambda a: a * a, x)
        np.testing.assert_array_equal(self.run_(squares, {x: [1, 2, 3]}), [1, 4, 9])
        np.testing.assert_array_equal(self.run_(tf1.gradients(squares, x)[0], {x: [1, 2, 3]}), [2, 4, 6])
        np.testing.assert_array_equal(self.run_(tf.scan(lambda a, b: a + b, x), {x: [1, 2, 3]}), [1, 3, 6])
        self.assertEqual(self.run_(tf.foldl(lambda a, b: a * 2 + b, x), {x: [1, 1, 1]}), 7)

    def test_conditions(self):
        for v2 in (False, True):
            with self.subTest(v2=v2), tf.Graph().as_default(), session() as self.session:
                (tf1.enable_control_flow_v2 if v2 else tf1.disable_control_flow_v2)()
                self.addCleanup(tf1.disable_control_flow_v2)
                p, x = tf1.placeholder(tf.bool, []), tf1.placeholder(tf.float32, [])
                with tf.device(TASK1):
                    y = tf.cond(p, lambda: x * 2, lambda: x + 100)
                slope = tf1.gradients(y, x)[0]
                self.assertEqual(self.run_([y, slope], {p: True, x: 3}), [6, 2])
                self.assertEqual(self.run_([y, slope], {p: False, x: 3}), [103, 1])
                v = tf1.get_variable("v", initializer=0.0, use_resource=True)
                update = tf.cond(p, lambda: v.assign_add(1.0), v.read_value)
                self.initialize()
                for taken in (True, False, True):
                    self.run_(update, {p: taken})
                self.assertEqual(self.run_(v), 2)
        x = tf1.placeholder(tf.float32, [])
        kind = tf.case([(x < 1, lambda: tf.constant(1)), (x < 2, lambda: tf.constant(2))], lambda: tf.constant(3))
        self.session = session()
        self.assertEqual([self.run_(kind, {x: value}) for value in (0.5, 1.5, 5)], [1, 2, 3])

    def test_functions(self):
        @tf.function
        def f(a):
            return tf.nn.relu(a) + 1

        x = tf1.placeholder(tf.float32, [2])
        y = f(x)
        slope = tf1.gradients(y, x)[0]
        ours, slopes = self.run_([y, slope], {x: [-1, 1]})
        np.testing.assert_array_equal(ours, [1, 2])
        np.testing.assert_array_equal(slopes, [0, 1])


if __name__ == "__main__":
    session_case.main()
