"""Keras layers, models and the layers and cells of compat.v1 that are made of them, in graphs. They need the package
tf_keras, which the tests find when the interpreter has it.

  program_keras_test.py WEIR [TEST...]    WEIR is the weir program
"""
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import program_case  # first: it finds an interpreter that can import TensorFlow

import sys

import numpy as np
import weir_cluster
from program_case import tf, tf1, train


def find_keras():
    try:
        import tf_keras  # pylint: disable=unused-import
    except ImportError as error:
        print("skipped: no Keras for graphs of compat.v1 (%s)" % error)
        sys.exit(weir_cluster.SKIPPED)


def batch(i, count=8):
    rng = np.random.RandomState(i)
    x = rng.rand(count, 8, 8, 1).astype(np.float32)
    return x, (x.mean((1, 2, 3)) > 0.5).astype(np.int32)


class Keras(program_case.ProgramTest):
    def test_layers(self):
        def program(run):
            x, y = tf1.placeholder(tf.float32, [None, 8, 8, 1]), tf1.placeholder(tf.int32, [None])
            training = tf1.placeholder_with_default(False, [])
            layers = tf1.layers
            h = layers.conv2d(x, 4, 3, padding="same", kernel_regularizer=lambda w: 1e-3 * tf.nn.l2_loss(w))
            h = tf.nn.relu(layers.batch_normalization(h, training=training))
            h = layers.max_pooling2d(h, 2, 2)
            h = layers.separable_conv2d(h, 6, 3, activation=tf.nn.elu)
            h = layers.dropout(layers.flatten(h), 0.3, training=training, seed=2)
            logits = layers.dense(layers.dense(h, 8, tf.tanh), 2)
            tf1.losses.sparse_softmax_cross_entropy(y, logits)
            loss = tf1.losses.get_total_loss()
            with tf1.control_dependencies(tf1.get_collection(tf1.GraphKeys.UPDATE_OPS)):
                step = tf1.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
            return train(run, loss, step, fetches=[logits],
                         feeds=lambda i: {x: batch(i)[0], y: batch(i)[1], training: i < 4})

        self.same(program, rtol=2e-3, atol=1e-3)

    def test_cells(self):
        def program(run):
            cells = tf1.nn.rnn_cell
            x = tf1.placeholder(tf.float32, [None, 5, 3])
            stacked = cells.MultiRNNCell([
                cells.DropoutWrapper(cells.LSTMCell(4, use_peepholes=True, num_proj=3), state_keep_prob=1.0),
                cells.ResidualWrapper(cells.GRUCell(3)), cells.BasicLSTMCell(4), cells.BasicRNNCell(2)])
            outputs, state = tf1.nn.dynamic_rnn(stacked, x, [5, 3, 1], dtype=tf.float32)
            loss = tf.reduce_mean(tf.square(outputs - 0.3)) + tf.reduce_mean(state[0].c)
            step = tf1.train.RMSPropOptimizer(0.05).minimize(loss)
            feeds = lambda i: {x: np.random.RandomState(i).randn(3, 5, 3).astype(np.float32)}
            return train(run, loss, step, steps=4, feeds=feeds)

        self.same(program)

    def test_models(self):
        """fit, evaluate and predict on the session's target; weights are saved and loaded."""
        def program(run):
            keras = tf1.keras
            with run.session(initialize=False) as session:
                keras.backend.set_session(session)
                inputs = keras.layers.Input([8, 8, 1])
                h = keras.layers.Conv2D(4, 3, activation="relu")(inputs)
                h = keras.layers.BatchNormalization()(h)
                h = keras.layers.Reshape([6, 24])(h)
                h = keras.layers.LSTM(5)(h)
                model = keras.Model(inputs, keras.layers.Dense(2, activation="softmax")(h))
                model.compile(keras.optimizers.SGD(0.1, momentum=0.5), "sparse_categorical_crossentropy", metrics=["accuracy"])
                x, y = batch(1, 24)
                history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0,
                                    validation_data=batch(2))
                seen = [history.history[key] for key in sorted(history.history)]
                weights = model.get_weights()
                model.set_weights([w * 0.5 for w in weights])
                seen += [model.predict(x), model.evaluate(x, y, verbose=0), weights]
            keras.backend.set_session(None)
            return seen

        self.same(program, rtol=5e-3, atol=2e-3, on=["one task"])


if __name__ == "__main__":
    find_keras()
    program_case.main()
