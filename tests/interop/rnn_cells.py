"""Recurrent cells as programs of compat.v1 write them: the wheel's own need a Keras that it does not have."""
import tensorflow as tf

tf1 = tf.compat.v1


def dense(x, units, name, activation=None):
    """Over the last dimension of a matrix."""
    with tf1.variable_scope(name, reuse=tf1.AUTO_REUSE):
        w = tf1.get_variable("kernel", [x.shape[-1], units])
        b = tf1.get_variable("bias", [units], initializer=tf1.zeros_initializer())
        y = tf1.nn.xw_plus_b(x, w, b)
        return activation(y) if activation else y


class Cell:
    """What dynamic_rnn, raw_rnn and the like ask of a cell."""

    def __init__(self, units, name="cell"):
        self.units, self.name = units, name
        self.output_size = units

    def zero_state(self, batch_size, dtype):
        return tf.nest.map_structure(lambda size: tf.zeros([batch_size, size], dtype), self.state_size)


class LSTMCell(Cell):
    @property
    def state_size(self):
        return (self.units, self.units)

    def __call__(self, inputs, state, scope=None):
        c, h = state
        gates = dense(tf.concat([inputs, h], 1), 4 * self.units, self.name)
        i, j, f, o = tf.split(gates, 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)


class GRUCell(Cell):
    @property
    def state_size(self):
        return self.units

    def __call__(self, inputs, state, scope=None):
        gates = tf.sigmoid(dense(tf.concat([inputs, state], 1), 2 * self.units, self.name + "_gates"))
        r, u = tf.split(gates, 2, axis=1)
        candidate = tf.tanh(dense(tf.concat([inputs, r * state], 1), self.units, self.name + "_candidate"))
        state = u * state + (1 - u) * candidate
        return state, state


class Stacked:
    def __init__(self, cells):
        self.cells = cells
        self.output_size = cells[-1].output_size
        self.state_size = tuple(cell.state_size for cell in cells)

    def zero_state(self, batch_size, dtype):
        return tuple(cell.zero_state(batch_size, dtype) for cell in self.cells)

    def __call__(self, inputs, state, scope=None):
        states = []
        for cell, old in zip(self.cells, state):
            inputs, new = cell(inputs, old)
            states.append(new)
        return inputs, tuple(states)
