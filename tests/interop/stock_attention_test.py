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

    def test_what_is_no_attention(self):
        self.compare(tf.float32, lambda scores: tf.nn.relu(scores), 1e-5, fused=False)
        self.compare(tf.float64, lambda scores: scores, 1e-5, fused=False)


if __name__ == "__main__":
    session_case.main()
