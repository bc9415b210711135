"""Attention as a stock TensorFlow client writes it: a worker makes one node of it, which gives what TensorFlow's own
kernels give.

  stock_attention_test.py WEIR [TEST...]    WEIR is the weir program
"""
import session_case
from session_case import tf, tf1

import numpy as np


def numbers(*shape, seed):
    return np.random.RandomState(seed).uniform(-2, 2, shape).astype(np.float32)


def causal(hidden):
    return np.where(np.arange(11)[None, :] > np.arange(9)[:, None], np.float32(hidden), np.float32(0))


CAUSAL = np.where(np.arange(12)[None, :] > np.arange(12)[:, None], np.float32(-1e4), np.float32(0))


class AttentionTest(session_case.SessionTest):
    def compare(self, dtype, scores_of, tolerance, fused=True):
        """scores_of: what becomes of the product of queries and keys."""
        feeds = {}

        def fed(*shape, seed):
            placeholder = tf1.placeholder(tf.float32, shape)
            feeds[placeholder] = numbers(*shape, seed=seed)
            return tf.cast(placeholder, dtype)

        q, k, v = fed(2, 3, 9, 8, seed=1), fed(2, 3, 11, 8, seed=2), fed(2, 3, 11, 16, seed=3)
        weights = tf.nn.softmax(scores_of(tf.matmul(q, k, transpose_b=True)))
        out = tf.cast(tf.matmul(weights, v), tf.float32)
        with tf1.Session("") as local:
            expected = local.run(out, feeds)
        metadata = tf1.RunMetadata()
        got = self.run_(out, feeds, options=tf1.RunOptions(output_partition_graphs=True), run_metadata=metadata)
        ops = {node.op for graph in metadata.partition_graphs for node in graph.node}
        self.assertEqual("_FusedAttention" in ops, fused, ops)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)

    def test_types(self):
        for dtype, tolerance in ((tf.float32, 1e-5), (tf.float16, 1e-2), (tf.bfloat16, 6e-2)):
            self.compare(dtype, lambda scores: scores / tf.constant(8**0.5, scores.dtype), tolerance)

    def test_masks(self):
        for mask in (causal(-np.inf), causal(-1e9), numbers(2, 1, 1, 11, seed=4), numbers(2, 3, 9, 11, seed=5)):
            self.compare(tf.float32, lambda scores: scores * 0.25 + mask, 1e-5)

    def test_a_query_that_sees_nothing(self):
        mask = causal(0)
        mask[4] = -np.inf
        self.compare(tf.float32, lambda scores: scores + mask, 1e-5)

    def compare_training(self, dtype, batch, tolerance, mask=None, transpose=True):
        """A block of a transformer: what a step of training computes, and the loss after it."""
        width, heads, length = 16, 2, 12
        random = np.random.RandomState(7)
        tokens = tf1.placeholder(tf.float32, [batch, length, width])
        shapes = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]
        weights = [tf1.get_variable("w%d" % i, initializer=random.uniform(-0.4, 0.4, shape).astype(np.float32),
                                    use_resource=True) for i, shape in enumerate(shapes)]
        w_qkv, w_out, w_up, w_down = [tf.cast(w, dtype) for w in weights]

        def dense(x, w):
            flat = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), w)
            return tf.reshape(flat, [-1, length, w.shape[-1]])

        def split(x):
            return tf.transpose(tf.reshape(x, [-1, length, heads, width // heads]), [0, 2, 1, 3])

        x = tf.cast(tokens, dtype)
        q, k, v = [split(part) for part in tf.split(dense(x, w_qkv), 3, axis=-1)]
        if transpose:
            scores = tf.matmul(q, k, transpose_b=True) / tf.constant((width // heads)**0.5, dtype)
        else:
            scores = tf.matmul(q, tf.transpose(k, [0, 1, 3, 2])) * tf.constant((width // heads)**-0.5, dtype)
        if mask is not None:
            scores += tf.cast(mask, dtype)
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
        x += dense(tf.reshape(mixed, [-1, length, width]), w_out)
        x += dense(tf.nn.relu(dense(x, w_up)), w_down)
        loss = tf.reduce_mean(tf.square(tf.cast(x, tf.float32) - 0.5))
        gradients = tf1.gradients(loss, weights)
        train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)  # which holds gradients back
        feeds = {tokens: random.uniform(-1, 1, (3, length, width)).astype(np.float32)}
        init = tf1.global_variables_initializer()

        def losses(run):
            run(init)
            first = run([loss] + gradients, feeds)
            for _ in range(5):
                run(train, feeds)
            return first + [run(loss, feeds)]

        with tf1.Session("") as local:
            expected = losses(local.run)
        def run(fetches, feeds=None):
            metadata = tf1.RunMetadata()
            got = self.run_(fetches, feeds, options=tf1.RunOptions(output_partition_graphs=True), run_metadata=metadata)
            of_step = {node.op for graph in metadata.partition_graphs for node in graph.node}
            if fetches is not init and fetches is not loss:
                self.assertIn("_FusedAttentionGrad", of_step)
            return got

        got = losses(run)
        for a, b in zip(got, expected):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1e-3, np.abs(b).max()))

    def test_training(self):
        self.compare_training(tf.float32, None, 1e-4, mask=CAUSAL)

    def test_training_of_a_known_batch(self):
        self.compare_training(tf.float32, 3, 1e-4, mask=CAUSAL)

    def test_training_in_half(self):
        self.compare_training(tf.float16, None, 2e-2, mask=CAUSAL)

    def test_training_in_bfloat16(self):
        self.compare_training(tf.bfloat16, None, 1e-1, mask=CAUSAL)

    def test_training_without_mask(self):
        self.compare_training(tf.float32, None, 1e-4)

    def test_training_with_keys_in_columns(self):
        self.compare_training(tf.float32, None, 1e-4, transpose=False)

    def test_what_is_no_attention(self):
        self.compare(tf.float32, lambda scores: tf.nn.relu(scores), 1e-5, fused=False)
        self.compare(tf.float64, lambda scores: scores, 1e-5, fused=False)


if __name__ == "__main__":
    session_case.main()
