"""All optimizers of compat.v1.train, dense and sparse, with variables of both kinds.

  program_optimizers_test.py WEIR [TEST...]    WEIR is the weir program
"""
import program_case  # first: it finds an interpreter that can import TensorFlow

import numpy as np
from program_case import tf, tf1, train

ROWS, DEPTH = 10, 3
OPTIMIZERS = {
    "gradient descent": lambda at: tf1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda at: tf1.train.MomentumOptimizer(0.05, 0.9),
    "nesterov": lambda at: tf1.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
    "adam": lambda at: tf1.train.AdamOptimizer(0.1),
    "adagrad": lambda at: tf1.train.AdagradOptimizer(0.5),
    "adagrad da": lambda at: tf1.train.AdagradDAOptimizer(0.5, at, l1_regularization_strength=0.01),
    "rmsprop": lambda at: tf1.train.RMSPropOptimizer(0.05, momentum=0.5),
    "centered rmsprop": lambda at: tf1.train.RMSPropOptimizer(0.05, centered=True),
    "ftrl": lambda at: tf1.train.FtrlOptimizer(0.5, l1_regularization_strength=0.01, l2_regularization_strength=0.01),
    "ftrl with shrinkage": lambda at: tf1.train.FtrlOptimizer(
        0.5, learning_rate_power=-0.6, l2_shrinkage_regularization_strength=0.1),
    "adadelta": lambda at: tf1.train.AdadeltaOptimizer(1.0),
    "proximal": lambda at: tf1.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01),
    "proximal adagrad": lambda at: tf1.train.ProximalAdagradOptimizer(0.5, l1_regularization_strength=0.01),
}


def batch(i):
    rng = np.random.RandomState(i)
    ids = rng.randint(ROWS, size=[6])  # some more than once
    return ids.astype(np.int32), rng.randn(6, 1).astype(np.float32)


class Optimizers(program_case.ProgramTest):
    def model(self, use_resource):
        ids, y = tf1.placeholder(tf.int32, [None]), tf1.placeholder(tf.float32, [None, 1])
        with tf1.variable_scope("model", use_resource=use_resource):
            table = tf1.get_variable("table", [ROWS, DEPTH], initializer=tf1.random_uniform_initializer(-1, 1))
            w = tf1.get_variable("w", [DEPTH, 1], initializer=tf1.glorot_normal_initializer())
            b = tf1.get_variable("b", [], initializer=tf1.zeros_initializer())
        x = tf1.nn.embedding_lookup(table, ids)
        loss = tf1.losses.mean_squared_error(y, x @ w + b) + 0.01 * tf.nn.l2_loss(w)
        return loss, lambda i: dict(zip([ids, y], batch(i % 3)))

    def test_each(self):
        for name, optimizer in OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                def program(run):
                    seen = []
                    for use_resource in (False, True):
                        with run.graph():
                            loss, feeds = self.model(use_resource)
                            at = tf1.train.get_or_create_global_step()
                            step = optimizer(at).minimize(loss, at)
                            seen.append(train(run, loss, step, feeds=feeds))
                            if run.target:
                                tf1.Session.reset(run.target)
                    return seen

                self.same(program)

    def test_what_is_fetched_beside_the_step(self):
        """A weight that is fetched with the step that trains it is the new one, and so is the global step."""
        def program(run):
            loss, feeds = self.model(False)
            at = tf1.train.get_or_create_global_step()
            step = tf1.train.GradientDescentOptimizer(0.1).minimize(loss, at)
            return train(run, loss, step, fetches=[at] + tf1.trainable_variables(), feeds=feeds)

        self.same(program, on=["one task"])  # from another device it comes as it may

    def test_moving_averages_follow_the_step(self):
        for use_resource in (False, True):
            def program(run):
                loss, feeds = self.model(use_resource)
                learn = tf1.train.AdamOptimizer(0.1).minimize(loss)
                averages = tf1.train.ExponentialMovingAverage(0.8, zero_debias=True)
                plain = tf1.train.ExponentialMovingAverage(0.5, name="plain")
                with tf1.control_dependencies([learn]):
                    step = tf.group(averages.apply([loss]), plain.apply(tf1.trainable_variables()))
                kept = [averages.average(loss)] + [plain.average(v) for v in tf1.trainable_variables()]
                with run.session() as session:
                    return [session.run([loss, step], feeds(i))[:1] + session.run(kept) for i in range(6)]

            with self.subTest(use_resource=use_resource):
                self.same(program, on=None if use_resource else ["one task"])

    def test_gradients_by_hand(self):
        """Accumulated over batches, clipped each way, noisy, scaled; slots that are reset."""
        def program(run):
            loss, feeds = self.model(False)
            optimizer = tf1.train.AdamOptimizer(0.05)
            pairs = optimizer.compute_gradients(loss * 128., gate_gradients=tf1.train.Optimizer.GATE_GRAPH)
            pairs = [(tf.convert_to_tensor(g) / 128., v) for g, v in pairs]
            sums = [tf1.get_variable("sum_%d" % i, v.shape, trainable=False, initializer=tf1.zeros_initializer())
                    for i, (_, v) in enumerate(pairs)]
            clear = tf.group(*[tf1.assign(s, tf.zeros_like(s)) for s in sums])
            gather = tf.group(*[tf1.assign_add(s, g) for s, (g, _) in zip(sums, pairs)])
            clipped = [tf1.clip_by_value(s, -0.5, 0.5) if i else tf1.clip_by_average_norm(s, 0.3)
                       for i, s in enumerate(sums)]
            step = optimizer.apply_gradients([(g, v) for g, (_, v) in zip(clipped, pairs)])
            reset = tf1.variables_initializer(optimizer.variables())
            finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(s)) for s in sums])
            seen = []
            with run.session() as session:
                for i in range(6):
                    session.run(clear)
                    for k in range(3):
                        seen.append(session.run([loss, gather], feeds(i + k))[0])
                    seen.append(session.run([finite] + sums))
                    session.run(step if i != 3 else reset)
                return seen + [session.run(tf1.global_variables())]

        self.same(program)

    def test_sparse_variables_that_are_partitioned(self):
        def program(run):
            ids, y = tf1.placeholder(tf.int64, [None]), tf1.placeholder(tf.float32, [None, 1])
            with tf1.variable_scope("parts", partitioner=tf1.min_max_variable_partitioner(3, min_slice_size=16)):
                table = tf1.get_variable("table", [ROWS, DEPTH])
            seen = []
            for strategy in ("mod", "div"):
                x = tf1.nn.embedding_lookup(list(table), ids, partition_strategy=strategy, max_norm=1.0)
                loss = tf.reduce_mean(tf.square(tf.reduce_sum(x, 1, keepdims=True) - y))
                with tf1.variable_scope(strategy):
                    step = tf1.train.AdagradOptimizer(0.3).minimize(loss)
                seen.append(train(run, loss, step, feeds=lambda i: dict(zip([ids, y], batch(i % 3)))))
            return seen

        self.same(program)


if __name__ == "__main__":
    program_case.main()
