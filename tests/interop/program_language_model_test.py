"""Recurrent language models: dynamic_rnn and its kin, truncated back-propagation.

  program_language_model_test.py WEIR [TEST...]    WEIR is the weir program
"""
import program_case  # first: it finds an interpreter that can import TensorFlow

import numpy as np
from language_model import BATCH, STEPS, UNITS, LanguageModelTest, text
from program_case import tf, tf1, train
from rnn_cells import GRUCell, LSTMCell, Stacked


class LanguageModel(LanguageModelTest):
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


if __name__ == "__main__":
    program_case.main()
