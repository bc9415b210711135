"""A small language model: its words, embedding, loss and step. The tests of recurrent networks and of sampled losses vary it."""
import program_case  # first: it finds an interpreter that can import TensorFlow

import numpy as np
from program_case import tf, tf1
from rnn_cells import dense

VOCABULARY, BATCH, STEPS, UNITS = 30, 4, 7, 8


def text(seed=0):
    """Sentences in which each word tells the next, with some noise."""
    rng = np.random.RandomState(seed)
    words = np.cumsum(rng.randint(1, 3, size=[BATCH, STEPS + 1]), axis=1) % VOCABULARY
    return words.astype(np.int32), np.array([STEPS, 3, 5, 1], np.int32)


class LanguageModelTest(program_case.ProgramTest):
    def placeholders(self):
        words = tf1.placeholder(tf.int32, [None, None])
        lengths = tf1.placeholder(tf.int32, [None])
        embedding = tf1.get_variable("embedding", [VOCABULARY, UNITS])
        return words, lengths, tf1.nn.embedding_lookup(embedding, words[:, :-1])

    def loss(self, outputs, words, lengths):
        logits = dense(tf.reshape(outputs, [-1, outputs.shape[-1]]), VOCABULARY, "softmax")
        targets = tf.reshape(words[:, 1:], [-1])
        costs = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)
        mask = tf.reshape(tf.sequence_mask(lengths, STEPS, tf.float32), [-1])
        return tf.reduce_sum(costs * mask) / tf.reduce_sum(mask)

    def clipped(self, loss, optimizer=None):
        variables = tf1.trainable_variables()
        gradients, norm = tf1.clip_by_global_norm(tf1.gradients(loss, variables), 1.0)
        optimizer = optimizer or tf1.train.AdamOptimizer(0.05)
        return optimizer.apply_gradients(zip(gradients, variables), tf1.train.get_or_create_global_step()), norm
