"""Functions and functional control flow in graphs of compat.v1: tf.function, cond_v2, while_v2, maps and scans, custom and
second order gradients.

  program_functions_test.py WEIR [TEST...]    WEIR is the weir program
"""
import program_case  # first: it finds an interpreter that can import TensorFlow

import contextlib

import numpy as np
from program_case import tf, tf1, train
from rnn_cells import LSTMCell, dense

STEPS, BATCH, UNITS = 4, 3, 5


@contextlib.contextmanager
def control_flow(version):
    was = tf1.control_flow_v2_enabled()
    (tf1.enable_control_flow_v2 if version == 2 else tf1.disable_control_flow_v2)()
    try:
        yield
    finally:
        (tf1.enable_control_flow_v2 if was else tf1.disable_control_flow_v2)()


def inputs():
    return np.random.RandomState(1).randn(BATCH, UNITS).astype(np.float32)


class Functions(program_case.ProgramTest):
    def with_both(self, program, **options):
        for version in (1, 2):
            with self.subTest(control_flow=version), control_flow(version):
                self.same(program, **options)

    def fetched(self, build, feeds=None, **options):
        """The values of what `build` returns, in each version of control flow."""
        def program(run):
            fetches = build()
            with run.session() as session:
                return [session.run(fetches, feeds and feeds()) for _ in range(2)]

        self.with_both(program, **options)

    def test_function_that_trains(self):
        def program(run):
            x = tf1.placeholder(tf.float32, [None, UNITS])
            w = tf1.get_variable("w", [UNITS, 2], use_resource=True)

            @tf.function
            def layer(x, w):
                return tf.nn.softplus(tf.matmul(x, w))

            @tf.function
            def model(x):
                y = layer(x, w.read_value())
                if tf.reduce_sum(y) > 1.0:
                    y = layer(tf.tile(y, [1, 3])[:, :UNITS], w.read_value())
                for _ in tf.range(3):
                    y = y * 0.5 + tf.sin(y)
                return tf.reduce_mean(tf.square(y))

            loss = model(x)
            step = tf1.train.AdamOptimizer(0.05).minimize(loss)
            return train(run, loss, step, feeds=lambda i: {x: inputs() * (i % 2 + 1)})

        self.with_both(program)

    def test_concrete_functions_and_state(self):
        def build():
            v = tf1.get_variable("v", [], initializer=tf1.zeros_initializer(), use_resource=True)

            @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
            def add(x):
                v.assign_add(tf.reduce_sum(x))
                return v.read_value(), {"twice": 2 * x}

            concrete = add.get_concrete_function()
            first, more = concrete(tf.constant([1., 2.]))
            with tf1.control_dependencies([first]):
                second, _ = add(tf.constant([3.]))
            return first, more, second

        self.fetched(build)

    def test_wrapped_function(self):
        def build():
            def body(x):
                w = tf1.get_variable("w", [UNITS, 1], initializer=tf1.ones_initializer(), use_resource=True)
                return tf.matmul(x, w)

            wrapped = tf1.wrap_function(body, [tf.TensorSpec([None, UNITS], tf.float32)])
            return wrapped(tf.constant(inputs()))

        self.fetched(build)

    def test_cond(self):
        x = lambda: tf1.placeholder_with_default(inputs(), [BATCH, UNITS])

        def build():
            value, pick = x(), tf1.placeholder_with_default(2, [])
            w = tf1.get_variable("w", [UNITS, UNITS], use_resource=True)
            y = tf.cond(tf.reduce_sum(value) > 0, lambda: tf.matmul(value, w),
                        lambda: tf.cond(pick > 1, lambda: value * 3, lambda: tf.exp(value)))
            z = tf1.case([(pick < 1, lambda: value), (pick > 1, lambda: tf.tanh(y))], default=lambda: y * 0.)
            s = tf.switch_case(pick, [lambda: value, lambda: y, lambda: z * y])
            return [y, z, s] + tf1.gradients(s, [value, w]) + tf1.gradients(tf1.gradients(s, value)[0], value)

        self.fetched(build, rtol=1e-3, atol=1e-4)

    def test_nested_loops(self):
        def build():
            x = tf1.placeholder_with_default(inputs(), [BATCH, UNITS])
            w = tf1.get_variable("w", [UNITS, UNITS], initializer=tf1.orthogonal_initializer(), use_resource=True)

            def inner(i, y):
                y = tf.cond(tf.equal(i % 2, 0), lambda: tf.tanh(y @ w), lambda: y * tf.sigmoid(y))
                return i + 1, y

            def outer(i, y, total):
                _, y = tf.while_loop(lambda k, _: k < i + 1, inner, [0, y])
                return i + 1, y, total + tf.reduce_sum(y)

            _, y, total = tf.while_loop(lambda i, *_: i < STEPS, outer, [0, x, 0.])
            return [y, total] + tf1.gradients(total, [x, w])

        self.fetched(build)

    def test_second_order_through_loops(self):
        def build():
            x = tf1.placeholder_with_default(inputs()[0], [UNITS])
            _, y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.sin(y) * y + x), [0, x])
            scanned = tf.scan(lambda a, b: a * tf.cos(b), x, initializer=1.0)
            first = tf1.gradients(tf.reduce_sum(y) + tf.reduce_sum(scanned), x)[0]
            return [first, tf1.gradients(tf.reduce_sum(first ** 2), x)[0]] + tf1.hessians(tf.reduce_sum(y), x)

        def program(run):
            fetches = build()
            with run.session() as session:
                return session.run(fetches)

        with control_flow(2):
            self.same(program)
        with control_flow(1), self.assertRaises((TypeError, ValueError, NotImplementedError)):
            self.observe(program, program_case.Run())  # TensorFlow's client does not build these

    def test_hessians(self):
        def build():
            x = tf1.placeholder_with_default(inputs()[0], [UNITS])
            w = tf.constant(np.random.RandomState(2).randn(UNITS, UNITS).astype(np.float32))
            y = tf.reduce_sum(tf.nn.softmax(tf.linalg.matvec(w, x)) * tf.tanh(x)) + tf.reduce_logsumexp(x)
            jacobian = tf.stack([tf1.gradients(tf.tanh(tf.linalg.matvec(w, x))[i], x)[0] for i in range(UNITS)])
            return tf1.hessians(y, x) + [jacobian]

        self.fetched(build)

    def test_maps_and_folds(self):
        def build():
            x = tf1.placeholder_with_default(inputs(), [BATCH, UNITS])
            results = [
                tf.map_fn(lambda row: tf.reduce_max(row) * row, x),
                tf.map_fn(lambda pair: (pair[0] + pair[1], tf.cast(pair[0] > 0, tf.int32)), (x, 2 * x),
                          dtype=(tf.float32, tf.int32), parallel_iterations=2),
                tf.foldl(lambda a, row: a * 0.5 + row, x), tf.foldr(lambda a, row: a - row, x),
                tf.scan(lambda a, row: tf.tanh(a + row), x), tf.scan(lambda a, r: a + r, x, reverse=True),
                tf.vectorized_map(lambda row: tf.sort(row), x),
                tf1.map_fn(lambda s: tf.strings.length(s), tf.constant(["a", "bcd", ""]), dtype=tf.int32)]
            real = [r for r in tf.nest.flatten(results) if r.dtype == tf.float32]
            return results + tf1.gradients([tf.reduce_sum(r ** 2) for r in real], x)

        self.fetched(build)

    def test_tensor_arrays(self):
        def build():
            x = tf1.placeholder_with_default(inputs(), [BATCH, UNITS])
            array = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False, infer_shape=False)

            def body(i, array):
                return i + 1, array.write(i, x[i % BATCH, :i + 1])

            _, array = tf.while_loop(lambda i, _: i < STEPS, body, [0, array])
            pieces = array.concat()
            split = tf.TensorArray(tf.float32, STEPS, infer_shape=False).split(pieces, list(range(1, STEPS + 1)))
            read = split.read(2) * 3
            return [pieces, read, array.size()] + tf1.gradients([pieces, read], x)

        self.fetched(build)

    def test_custom_gradients(self):
        def build():
            x = tf1.placeholder_with_default(inputs(), [BATCH, UNITS])

            @tf.custom_gradient
            def clipped(x):
                return tf.identity(x), lambda dy: tf.clip_by_value(dy, -0.1, 0.1)

            @tf.custom_gradient
            def stable(x):
                e = tf.exp(x)
                return tf.math.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

            through = tf.grad_pass_through(tf.round)
            recomputed = tf.recompute_grad(lambda v: tf.sin(tf.tanh(v)))(x)
            with tf1.get_default_graph().gradient_override_map({"Sign": "Identity"}):
                sign = tf.sign(x)
            total = tf.reduce_sum(clipped(x) ** 3 + stable(x) + through(x) * x + recomputed + sign)
            return [total] + tf1.gradients(total, x)

        self.fetched(build)

    def test_defun_with_captures(self):
        from tensorflow.python.framework import function

        def program(run):
            @function.Defun(tf.float32, tf.float32)
            def cube(x, y):
                return x * x * x + y

            def gradient(op, dy):
                return 3 * op.inputs[0] ** 2 * dy, dy

            @function.Defun(tf.float32, python_grad_func=gradient, func_name="Squared")
            def squared(x):
                return x * x

            x = tf1.placeholder_with_default(inputs(), [BATCH, UNITS])
            y = cube(x, tf.sin(x))
            with run.session() as session:
                return session.run([y] + tf1.gradients(y, x))

        self.same(program)

    def test_rnn_in_both_versions_and_kinds(self):
        for use_resource in (False, True):
            def program(run):
                x = tf1.placeholder(tf.float32, [STEPS, BATCH, UNITS])
                with tf1.variable_scope("", use_resource=use_resource):
                    outputs, state = tf1.nn.dynamic_rnn(LSTMCell(UNITS), x, [STEPS, 2, 1], time_major=True,
                                                        dtype=tf.float32)
                    loss = tf.reduce_mean(dense(state[1], 1, "out") ** 2) + tf.reduce_mean(outputs)
                step = tf1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
                return train(run, loss, step, steps=3, feeds=lambda i: {x: np.stack([inputs()] * STEPS) * (i + 1)})

            with self.subTest(use_resource=use_resource):
                self.with_both(program, on=None if use_resource else ["one task"])

    def test_loops_that_move_data(self):
        """Variables assigned in a loop, queues and tables used in branches, asserts and prints in both."""
        def build():
            v = tf1.get_variable("v", [3], initializer=tf1.zeros_initializer(), use_resource=True)
            table = tf1.lookup.StaticHashTable(tf1.lookup.KeyValueTensorInitializer(["a", "b"], [1., 2.]), -1.)
            queue = tf1.FIFOQueue(10, tf.float32, shapes=[[]])
            x = tf1.placeholder_with_default(["a", "c", "b"], [3])

            def body(i):
                value = tf.cond(i < 2, lambda: table.lookup(x[i]), lambda: queue.dequeue())
                with tf1.control_dependencies([tf1.scatter_add(v, i, value), tf1.assert_less(i, 3)]):
                    return tf1.Print(i + 1, [i, value], "in a loop: ")

            with tf1.control_dependencies([queue.enqueue(5.)]):
                end = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)], parallel_iterations=1)
            with tf1.control_dependencies(tf.nest.flatten(end)):
                return tf.nest.flatten(end) + [v.read_value(), queue.size()]

        self.fetched(build)


if __name__ == "__main__":
    program_case.main()
