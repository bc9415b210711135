"""Functions, and control flow by functions, of a stock TensorFlow client.

  stock_function_test.py WEIR [TEST...]    WEIR is the weir program
"""
import session_case  # first: it finds an interpreter that can import TensorFlow

import numpy as np
from session_case import TASK0, TASK1, session, tf, tf1
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops


class Calls(session_case.SessionTest):
    def test_gradients(self):
        @function.Defun(tf.float32, tf.float32)
        def f(x, y):
            return tf.tanh(x) * y + x * x

        x, y = tf.constant(0.5), tf.constant(3.0)
        called = tf1.gradients(f(x, y), [x, y])
        written_out = tf1.gradients(tf.tanh(x) * y + x * x, [x, y])
        np.testing.assert_allclose(*self.run_([called, written_out]), rtol=1e-6)
        self.assertEqual(self.run_(functional_ops.symbolic_gradient(
            input=[x, tf.constant(2.0), tf.constant(1.0)], Tout=[tf.float32] * 2,
            f=function.Defun(tf.float32, tf.float32)(lambda a, b: a * b))), [2.0, 0.5])

    def test_assertions_in_functions(self):
        """In a function of version 1 the assertion is an op in a branch that is not taken."""
        @function.Defun(tf.float32)
        def f(x):
            with tf.control_dependencies([tf1.Assert(x > 0, ["negative", x])]):
                return x * 2

        @function.Defun(tf.int32)
        def noise(n):
            return tf.while_loop(lambda i, _: i < n, lambda i, sum: (i + 1, sum + tf.random.uniform([])), [0, 0.0])[1]

        x = tf1.placeholder_with_default(3.0, [])
        self.assertEqual(self.run_([f(x), tf1.gradients(f(x), x)[0]]), [6, 2])
        self.expect(tf.errors.InvalidArgumentError, f(x), {x: -1.0}, phrase="assertion failed: [negative] [-1]")
        self.assertLess(self.run_(noise(5)), 5)

    def test_own_gradients(self):
        @function.Defun(tf.float32, tf.float32)
        def ten_times(x, dy):
            return 10 * dy + 0 * x

        @function.Defun(tf.float32, grad_func=ten_times)
        def f(x):
            return x + 1

        x = tf.constant(2.0)
        self.assertEqual(self.run_(tf1.gradients(f(x), x)[0]), 10)

    def test_variables_of_another_task(self):
        with tf.device(TASK1):
            v = tf1.get_variable("v", initializer=3.0, use_resource=True)

        @tf.function
        def f(x):
            v.assign_add(x)
            return v.read_value() * 2

        with tf.device(TASK0):
            y = f(tf.constant(2.0))
        self.initialize()
        self.assertEqual([self.run_(y), self.run_(v), self.run_(y)], [10, 5, 14])

    def test_devices_in_a_body(self):
        @tf.function
        def f(x):
            with tf.device(TASK1):
                y = x + 1
            with tf.device(TASK0):
                return y * 2

        x = tf1.placeholder(tf.float32, [])
        metadata = tf1.RunMetadata()
        self.assertEqual(self.run_(f(x), {x: 2}, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE),
                                   run_metadata=metadata), 6)
        self.assertEqual(len({stats.device for stats in metadata.step_stats.dev_stats}), 2)

    def test_effects_happen_in_order_and_once(self):
        v = tf1.get_variable("v", initializer=0.0, use_resource=True)

        @tf.function
        def f():
            v.assign(1.0)
            v.assign_add(2.0)
            v.assign(v * 10.0)
            return 5

        y = f()
        self.initialize()
        self.assertEqual([self.run_(y), self.run_(v)], [5, 30])

    def test_calls_in_branches_and_loops(self):
        v = tf1.get_variable("v", initializer=0.0, use_resource=True)

        @tf.function
        def f(x):
            v.assign_add(1.0)
            return x * 2

        p, x = tf1.placeholder(tf.bool, []), tf1.placeholder(tf.float32, [])
        y = tf.cond(p, lambda: f(x), lambda: x)
        total = tf.while_loop(lambda i, _: i < 4, lambda i, a: (i + 1, f(a)), [0, 1.0])[1]
        self.initialize()
        self.assertEqual([self.run_(y, {p: taken, x: 3}) for taken in (True, False, True)], [6, 3, 6])
        self.assertEqual(self.run_(v), 2)
        self.assertEqual([self.run_(total), self.run_(v)], [16, 6])

    def test_remote_calls(self):
        @function.Defun(tf.float32)
        def triple(x):
            return x * 3

        with tf.device(TASK0):
            there = functional_ops.remote_call(args=[tf.constant(2.0)], Tout=[tf.float32], f=triple,
                                               target=TASK1 + "/cpu:0")
            target = tf1.placeholder(tf.string, [])
            chosen = functional_ops.remote_call(args=[tf.constant(2.0)], Tout=[tf.float32], f=triple, target=target)
        self.assertEqual(self.run_(there), [6])
        self.assertEqual(self.run_(chosen, {target: TASK0 + "/cpu:0"}), [6])
        self.assertEqual(self.run_(chosen, {target: TASK1 + "/cpu:0"}), [6])
        self.expect(tf.errors.InvalidArgumentError, chosen, {target: "/job:worker/task:7/cpu:0"}, phrase="RemoteCall")
        self.expect(tf.errors.InvalidArgumentError, chosen, {target: "nowhere"})

    def test_remote_calls_run_where_they_are_sent(self):
        """Each task's function reads a variable of that task."""
        with tf.device(TASK1):
            tf1.get_variable("there", initializer=5.0, use_resource=True)

        @function.Defun(tf.float32)
        def add(x):
            handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="there")
            return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) + x

        target, x = tf1.placeholder(tf.string, []), tf1.placeholder(tf.float32, [])
        with tf.device(TASK0):
            sent = functional_ops.remote_call(args=[x], Tout=[tf.float32], f=add, target=target)
        self.initialize()
        self.assertEqual(self.run_(sent, {target: TASK1 + "/cpu:0", x: 2}), [7])
        with self.assertRaises((tf.errors.NotFoundError, tf.errors.FailedPreconditionError)):
            self.run_(sent, {target: TASK0 + "/cpu:0", x: 2})

    def test_errors_name_the_op(self):
        @tf.function
        def f(x):
            return tf.reshape(x, [2, 2], name="inner")

        x = tf1.placeholder(tf.float32)
        self.expect(tf.errors.InvalidArgumentError, f(x), {x: [1, 2, 3]}, phrase="inner")


class FunctionalControlFlow(session_case.SessionTest):
    def setUp(self):
        super().setUp()
        tf1.enable_control_flow_v2()
        self.addCleanup(tf1.disable_control_flow_v2)

    def test_if(self):
        f, g = function.Defun(tf.float32)(lambda x: x + 1), function.Defun(tf.float32)(lambda x: x * 10)
        for condition, expected in ((True, 6), (False, 50), (3, 6), (0, 50), ("", 50), ("x", 6), ([1.0], 6), ([], 50)):
            self.assertEqual(self.run_(functional_ops.If(condition, [tf.constant(5.0)], f, g)), [expected])

    def test_while_and_for(self):
        y = functional_ops.While([0, 1.0], function.Defun(tf.int32, tf.float32)(lambda i, x: i < 4),
                                 function.Defun(tf.int32, tf.float32)(lambda i, x: (i + 1, x * 2)))
        self.assertEqual(self.run_(y), [4, 16])
        body = function.Defun(tf.int32, tf.float32)(lambda i, x: x + tf.cast(i, tf.float32))
        for start, limit, delta, expected in ((0, 5, 1, 10), (5, 0, -2, 9), (0, 0, 0, 0), (3, 3, 1, 0)):
            self.assertEqual(self.run_(functional_ops.For(start, limit, delta, [0.0], body)), [expected])
        self.expect(tf.errors.InvalidArgumentError, functional_ops.For(0, 5, -1, [0.0], body),
                    phrase="Invalid start/limit/delta: 0 5 -1")

    def test_effects_in_branches(self):
        v = tf1.get_variable("v", initializer=0.0, use_resource=True)
        p, i = tf1.placeholder(tf.bool, []), tf1.placeholder(tf.int32, [])

        def add():
            with tf.control_dependencies([v.assign_add(10.0)]):
                return tf.constant(1)

        y = tf.cond(p, add, lambda: tf.constant(2))
        chosen = tf.switch_case(i, [lambda: v.assign_add(1.0) + 0, lambda: v.assign_add(100.0) + 0])
        self.initialize()
        self.assertEqual([self.run_(y, {p: True}), self.run_(v), self.run_(y, {p: False}), self.run_(v)], [1, 10, 2, 10])
        self.assertEqual([self.run_(chosen, {i: value}) for value in (0, 1, 5, -1)], [11, 111, 211, 311])

    def test_effects_in_loops(self):
        for device in (TASK0, TASK1):
            with self.subTest(device), tf1.variable_scope("on" + device[-1]):
                with tf.device(device):
                    v = tf1.get_variable("v", initializer=1.0, use_resource=True)

                def body(i):
                    with tf.control_dependencies([v.assign_add(2.0)]):
                        return i + 1

                by_count = tf.while_loop(lambda i: i < 5, body, [0])
                by_value = tf.while_loop(lambda i: v.read_value() < 20, body, [0])
                self.run_(v.initializer)
                self.run_(by_count)
                self.assertEqual(self.run_(v), 11)
                self.run_(by_value)
                self.assertEqual(self.run_(v), 21)

    def test_loops_in_loops_and_conditions_in_loops(self):
        def inner(i, t):
            return i + 1, tf.while_loop(lambda j, _: j <= i, lambda j, t: (j + 1, t * 1.5), [0, t])[1]

        x = tf.constant(1.0)
        nested = tf.while_loop(lambda i, _: i < 4, inner, [0, x])[1]
        mixed = tf.while_loop(
            lambda i, _: i < 4,
            lambda i, a: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * x, lambda: a + x)), [0, x])[1]
        np.testing.assert_allclose(self.run_([nested, tf1.gradients(nested, x)[0]]), [1.5 ** 10, 1.5 ** 10])
        self.assertEqual(self.run_(mixed), 3)

    def test_loops_over_two_tasks(self):
        def body(i, a):
            with tf.device(TASK1):
                a *= 2
            with tf.device(TASK0):
                return i + 1, a

        x = tf1.placeholder(tf.float32, [])
        y = tf.while_loop(lambda i, _: i < 5, body, [0, x])[1]
        for _ in range(3):
            self.assertEqual(self.run_([y, tf1.gradients(y, x)[0]], {x: 1.5}), [48, 32])

    def test_tensor_lists_between_tasks(self):
        scalar = tf.constant([], tf.int32)
        with tf.device(TASK1):
            items = tf.raw_ops.TensorListReserve(element_shape=scalar, num_elements=3, element_dtype=tf.float32)
            items = tf.raw_ops.TensorListSetItem(input_handle=items, index=1, item=5.0)
        with tf.device(TASK0):
            for i in (0, 2):
                items = tf.raw_ops.TensorListSetItem(input_handle=items, index=i, item=4.0 + i)
            y = tf.raw_ops.TensorListStack(input_handle=items, element_shape=scalar, element_dtype=tf.float32)
        np.testing.assert_array_equal(self.run_(y), [4, 5, 6])


class ReferenceControlFlow(session_case.SessionTest):
    def test_switch_and_merge(self):
        v = tf1.get_variable("v", initializer=[1.0, 2.0], use_resource=False)
        p = tf1.placeholder(tf.bool, [])
        no, yes = tf.raw_ops.RefSwitch(data=v._ref(), pred=p)
        update = tf.raw_ops.Assign(ref=yes, value=[7.0, 8.0], validate_shape=True, use_locking=True)
        merged = tf.raw_ops.RefMerge(inputs=[no, yes])
        self.initialize()
        np.testing.assert_array_equal(self.run_(tf.identity(merged[0]), {p: False}), [1, 2])
        self.run_(update.op, {p: True})
        np.testing.assert_array_equal(self.run_(v), [7, 8])
        self.assertEqual(self.run_(merged[1], {p: True}), 1)

    def test_loop(self):
        """A variable goes round by reference; each iteration adds one to it."""
        v = tf1.get_variable("v", initializer=0, use_resource=False)
        enter = dict(frame_name="loop", parallel_iterations=1)
        limit = tf.raw_ops.Enter(data=tf.constant(5), is_constant=True, **enter)
        one = tf.raw_ops.Enter(data=tf.constant(1), is_constant=True, **enter)
        start = tf.raw_ops.RefEnter(data=v._ref(), is_constant=False, **enter)
        merge = tf.raw_ops.RefMerge(inputs=[start, start])
        go_on = tf.raw_ops.LoopCond(input=tf.raw_ops.Less(x=merge[0], y=limit))
        done, again = tf.raw_ops.RefSwitch(data=merge[0], pred=go_on)
        added = tf.raw_ops.AssignAdd(ref=again, value=one, use_locking=False)
        merge[0].op._update_input(1, tf.raw_ops.RefNextIteration(data=added))
        result = tf.identity(tf.raw_ops.RefExit(data=done))
        self.initialize()
        self.assertEqual([self.run_(result), self.run_(v)], [5, 5])


if __name__ == "__main__":
    session_case.main()
