"""Recurrent language models: dynamic_rnn and its kin, truncated back-propagation, sampled losses.

  program_language_model_test.py WEIR [TEST...]    WEIR is the weir program
"""
import program_case  # first: it finds an interpreter that can import TensorFlow

import numpy as np
from program_case import tf, tf1, train
from rnn_cells import GRUCell, LSTMCell, Stacked, dense

VOCABULARY, BATCH, STEPS, UNITS = 30, 4, 7, 8


def text(seed=0):
    """Sentences in which each word tells the next, with some noise."""
    rng = np.random.RandomState(seed)
    words = np.cumsum(rng.randint(1, 3, size=[BATCH, STEPS + 1]), axis=1) % VOCABULARY
    return words.astype(np.int32), np.array([STEPS, 3, 5, 1], np.int32)


class LanguageModel(program_case.ProgramTest):
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

    def same_model(self, outputs_of, **options):
        def program(run):
            words, lengths, inputs = self.placeholders()
            loss = self.loss(outputs_of(inputs, lengths), words, lengths)
            step, norm = self.clipped(loss)
            return train(run, loss, step, fetches=[norm],
                         feeds=lambda i: dict(zip([words, lengths], text(i % 2))))

        self.same(program, **options)

    def test_lstm(self):
        for options in ({}, {"swap_memory": True}, {"parallel_iterations": 1}, {"time_major": True}):
            with self.subTest(options=options):
                def outputs(inputs, lengths):
                    major = options.get("time_major", False)
                    inputs = tf.transpose(inputs, [1, 0, 2]) if major else inputs
                    y, _ = tf1.nn.dynamic_rnn(LSTMCell(UNITS), inputs, lengths, dtype=tf.float32, **options)
                    return tf.transpose(y, [1, 0, 2]) if major else y

                self.same_model(outputs)

    def test_stacked_lstm_with_dropout_between(self):
        class Dropping(LSTMCell):
            def __call__(self, inputs, state, scope=None):
                return super().__call__(tf1.nn.dropout(inputs, rate=0.2, seed=5), state)

        self.same_model(lambda inputs, lengths: tf1.nn.dynamic_rnn(
            Stacked([LSTMCell(UNITS, "first"), Dropping(UNITS, "second")]), inputs, lengths, dtype=tf.float32,
            parallel_iterations=1)[0])  # else iterations draw their numbers in any order

    def test_gru(self):
        self.same_model(lambda inputs, lengths: tf1.nn.dynamic_rnn(
            GRUCell(UNITS), inputs, lengths, dtype=tf.float32)[0])

    def test_bidirectional(self):
        def outputs(inputs, lengths):
            (forward, backward), _ = tf1.nn.bidirectional_dynamic_rnn(
                LSTMCell(UNITS, "forward"), GRUCell(UNITS, "backward"), inputs, lengths, dtype=tf.float32)
            return tf.concat([forward, backward], 2)

        self.same_model(outputs)

    def test_static(self):
        def outputs(inputs, lengths):
            steps = [inputs[:, t] for t in range(STEPS)]
            for step in steps:
                step.set_shape([None, UNITS])
            y, _ = tf1.nn.static_rnn(LSTMCell(UNITS), steps, dtype=tf.float32, sequence_length=lengths)
            return tf.stack(y, axis=1)

        self.same_model(outputs)

    def test_raw_rnn(self):
        def outputs(inputs, lengths):
            cell = LSTMCell(UNITS)
            array = tf1.TensorArray(tf.float32, tf.shape(inputs)[1]).unstack(tf.transpose(inputs, [1, 0, 2]))

            def loop(time, output, state, _):
                finished = time >= lengths
                every = tf.reduce_all(finished)
                following = tf.cond(every, lambda: tf.zeros([BATCH, UNITS]), lambda: array.read(time))
                following.set_shape([BATCH, UNITS])
                if output is None:
                    state = cell.zero_state(BATCH, tf.float32)
                return finished, following, state, output, None

            emitted, _, _ = tf1.nn.raw_rnn(cell, loop)
            return tf.transpose(emitted.stack(), [1, 0, 2])

        self.same_model(outputs)

    def test_truncated_back_propagation(self):
        """The state goes from step to step through variables, and once more through feeds."""
        def program(run):
            words, lengths, inputs = self.placeholders()
            cell = LSTMCell(UNITS)
            kept = [tf1.get_variable(name, [BATCH, UNITS], trainable=False, initializer=tf1.zeros_initializer())
                    for name in "ch"]
            outputs, state = tf1.nn.dynamic_rnn(cell, inputs, initial_state=tuple(kept))
            with tf1.control_dependencies([tf1.assign(v, s) for v, s in zip(kept, state)]):
                outputs = tf.identity(outputs)
            fed, last = tf1.nn.dynamic_rnn(cell, inputs, initial_state=(
                tf1.placeholder_with_default(kept[0] * 0., [BATCH, UNITS], "c0"),
                tf1.placeholder_with_default(kept[1] * 0., [BATCH, UNITS], "h0")))
            loss = self.loss(outputs, words, lengths)
            step, norm = self.clipped(loss)
            seen = train(run, loss, step, fetches=[norm, *state], feeds=lambda i: dict(zip([words, lengths], text(i))))
            with run.session() as session:
                feeds, state = dict(zip([words, lengths], text())), [np.ones([BATCH, UNITS], np.float32)] * 2
                for _ in range(3):
                    feeds.update(zip(["c0:0", "h0:0"], state))
                    y, state = session.run([fed, last], feeds)
                    seen.append([y, state])
            return seen

        self.same(program)

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
