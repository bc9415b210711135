"""Losses that do not look at all classes, or at no alignment: sampled softmax, noise-contrastive estimation, CTC.

  program_sampled_losses_test.py WEIR [TEST...]    WEIR is the weir program
"""
import program_case  # first: it finds an interpreter that can import TensorFlow

from language_model import BATCH, STEPS, UNITS, VOCABULARY, LanguageModelTest, text
from program_case import tf, tf1, train
from rnn_cells import GRUCell, LSTMCell, dense


class SampledLosses(LanguageModelTest):
    def sampled(self, loss_of):
        def program(run):
            words, _, inputs = self.placeholders()
            outputs, _ = tf1.nn.dynamic_rnn(LSTMCell(UNITS), inputs, dtype=tf.float32)
            w = tf1.get_variable("w", [VOCABULARY, UNITS], partitioner=tf1.fixed_size_partitioner(3))
            b = tf1.get_variable("b", [VOCABULARY], initializer=tf1.zeros_initializer())
            labels = tf.cast(tf.reshape(words[:, 1:], [-1, 1]), tf.int64)
            loss = tf.reduce_mean(loss_of(list(w), b, labels, tf.reshape(outputs, [-1, UNITS])))
            step, norm = self.clipped(loss, tf1.train.AdagradOptimizer(0.5))
            return train(run, loss, step, fetches=[norm], feeds=lambda i: {words: text(i)[0]})

        self.same(program)

    def test_sampled_softmax(self):
        self.sampled(lambda w, b, labels, inputs: tf1.nn.sampled_softmax_loss(
            w, b, labels, inputs, num_sampled=5, num_classes=VOCABULARY, seed=3))

    def test_noise_contrastive_estimation(self):
        self.sampled(lambda w, b, labels, inputs: tf1.nn.nce_loss(
            w, b, labels, inputs, num_sampled=6, num_classes=VOCABULARY))

    def test_learned_unigram_sampler(self):
        def loss(w, b, labels, inputs):
            sampled = tf.random.fixed_unigram_candidate_sampler(
                labels, 1, 6, True, VOCABULARY, unigrams=list(range(1, VOCABULARY + 1)), distortion=0.75, seed=2)
            return tf1.nn.nce_loss(w, b, labels, inputs, 6, VOCABULARY, sampled_values=sampled,
                                   partition_strategy="div")

        self.sampled(loss)

    def test_connectionist_temporal_classification(self):
        def program(run):
            words, lengths, inputs = self.placeholders()
            outputs, _ = tf1.nn.dynamic_rnn(GRUCell(UNITS), inputs, lengths, dtype=tf.float32)
            logits = tf.reshape(dense(tf.reshape(outputs, [-1, UNITS]), 6, "logits"), [-1, STEPS, 6])
            labels = tf.sparse.from_dense(words[:, :2] % 4 + 1)
            loss = tf.reduce_mean(tf1.nn.ctc_loss(labels, logits, tf.fill([BATCH], STEPS), time_major=False))
            step, norm = self.clipped(loss)
            decoded, scores = tf1.nn.ctc_greedy_decoder(tf.transpose(logits, [1, 0, 2]), tf.fill([BATCH], STEPS))
            return train(run, loss, step, fetches=[norm, decoded[0].values, scores],
                         feeds=lambda i: dict(zip([words, lengths], text(0))))

        self.same(program)


if __name__ == "__main__":
    program_case.main()
