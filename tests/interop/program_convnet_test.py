"""Convolutional networks: inception blocks, batch norm with moving averages, auxiliary losses, averaged weights.

  program_convnet_test.py WEIR [TEST...]    WEIR is the weir program
"""
import os

# TensorFlow's own kernels have no gradient of a dilated convolution, and it uses oneDNN's by itself on some CPUs only.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
import program_case  # first: it finds an interpreter that can import TensorFlow

import numpy as np
from program_case import tf, tf1, train

CLASSES, SIZE = 4, 16


def images(seed, count=8):
    """Bars of four directions under noise, and which."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(CLASSES, size=count)
    x = rng.uniform(0, 0.5, size=[count, SIZE, SIZE, 3])
    for image, label in zip(x, labels):
        at = rng.randint(4, 12)
        diagonal = np.arange(SIZE)
        if label == 0:
            image[at] += 1
        elif label == 1:
            image[:, at] += 1
        else:
            image[diagonal, diagonal if label == 2 else SIZE - 1 - diagonal] += 1
    return x.astype(np.float32), labels.astype(np.int32)


class Layers:
    """Convolutions with batch norm, their moving averages updated through a collection."""

    def __init__(self, training, fused=True, data_format="NHWC"):
        self.training, self.fused, self.count = training, fused, 0

    def variable(self, name, shape, value, trainable=True):
        return tf1.get_variable("%s_%d" % (name, self.count), shape, initializer=value, trainable=trainable)

    def norm(self, x):
        depth = x.shape[-1]
        offset = self.variable("offset", [depth], tf1.zeros_initializer())
        scale = self.variable("scale", [depth], tf1.ones_initializer())
        kept = [self.variable("mean", [depth], tf1.zeros_initializer(), False),
                self.variable("variance", [depth], tf1.ones_initializer(), False)]

        def learn():
            if self.fused:
                y, mean, variance = tf1.nn.fused_batch_norm(x, scale, offset, epsilon=1e-3)
            else:
                mean, variance = tf1.nn.moments(x, [0, 1, 2])
                y = tf1.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)
            return y, mean, variance

        def infer():
            if self.fused:
                return tf1.nn.fused_batch_norm(x, scale, offset, *kept, epsilon=1e-3, is_training=False)[0], *kept
            return tf1.nn.batch_normalization(x, *kept, offset, scale, 1e-3), *kept

        y, mean, variance = tf1.cond(self.training, learn, infer)
        for average, now in zip(kept, (mean, variance)):
            tf1.add_to_collection(tf1.GraphKeys.UPDATE_OPS, tf1.assign_sub(average, (average - now) * 0.1))
        return y

    def convolve(self, x, depth, size, stride=1, padding="SAME"):
        self.count += 1
        w = self.variable("kernel", [size, size, x.shape[-1], depth], tf1.variance_scaling_initializer(2.0))
        tf1.add_to_collection(tf1.GraphKeys.REGULARIZATION_LOSSES, 1e-3 * tf.nn.l2_loss(w))
        return tf.nn.relu(self.norm(tf1.nn.conv2d(x, w, strides=stride, padding=padding)))

    def inception(self, x, depth):
        pooled = tf1.nn.avg_pool2d(x, 3, 1, "SAME")
        return tf.concat([self.convolve(x, depth, 1), self.convolve(self.convolve(x, depth, 1), depth, 3),
                          self.convolve(self.convolve(self.convolve(x, depth, 1), depth, 3), depth, 3),
                          self.convolve(pooled, depth, 1)], 3)

    def classify(self, x, keep=1.0):
        self.count += 1
        x = tf.reduce_mean(x, [1, 2])
        x = tf1.nn.dropout(x, rate=tf.where(self.training, 1 - keep, 0.))
        w = self.variable("kernel", [x.shape[-1], CLASSES], tf1.glorot_uniform_initializer())
        return tf1.nn.bias_add(x @ w, self.variable("bias", [CLASSES], tf1.zeros_initializer()))


class Convnet(program_case.ProgramTest):
    def program(self, network, fused, optimizer):
        def program(run):
            x, labels = tf1.placeholder(tf.float32, [None, SIZE, SIZE, 3]), tf1.placeholder(tf.int32, [None])
            training = tf1.placeholder_with_default(False, [])
            logits, auxiliary = network(Layers(training, fused), x)
            losses = [tf1.losses.sparse_softmax_cross_entropy(labels, logits)]
            if auxiliary is not None:
                losses.append(tf1.losses.sparse_softmax_cross_entropy(labels, auxiliary, weights=0.4))
            loss = tf1.losses.get_total_loss()
            at = tf1.train.get_or_create_global_step()
            with tf1.control_dependencies(tf1.get_collection(tf1.GraphKeys.UPDATE_OPS)):
                learn = optimizer(at).minimize(loss, at)
            averages = tf1.train.ExponentialMovingAverage(0.9, num_updates=at)
            with tf1.control_dependencies([learn]):
                step = averages.apply(tf1.trainable_variables())
            accuracy = tf1.metrics.accuracy(labels, tf.argmax(logits, 1))
            saver = tf1.train.Saver(averages.variables_to_restore())
            self.assertTrue(saver)
            feeds = lambda i: dict(zip([x, labels], images(i % 3)))
            with run.session() as session:
                seen = []
                for i in range(6):
                    seen.append(session.run([loss, step], {**feeds(i), training: True})[0])
                seen.append(session.run([logits, loss] + losses, feeds(7)))
                for i in range(2):
                    session.run(accuracy[1], feeds(i))
                seen.append(session.run(accuracy[0]))
                seen.append(session.run([averages.average(v) for v in tf1.trainable_variables()[:4]]))
                return seen

        # networks that learn make much of last bits
        return self.same(program, rtol=5e-3, atol=2e-3)

    def test_inception(self):
        def network(layers, x):
            x = tf1.nn.max_pool2d(layers.convolve(x, 8, 3), 3, 2, "VALID")
            x = layers.inception(x, 4)
            auxiliary = layers.classify(tf1.nn.avg_pool2d(x, 3, 2, "VALID"))
            return layers.classify(layers.inception(tf1.nn.max_pool2d(x, 2, 2, "SAME"), 4), keep=0.8), auxiliary

        rate = lambda at: tf1.train.exponential_decay(0.05, at, 2, 0.9, staircase=True)
        self.program(network, True, lambda at: tf1.train.MomentumOptimizer(rate(at), 0.9, use_nesterov=True))

    def test_residual(self):
        def network(layers, x):
            x = layers.convolve(x, 8, 3)
            for _ in range(2):
                x = x + layers.convolve(layers.convolve(x, 8, 3), 8, 3)
                x = tf1.nn.max_pool2d(x, 2, 2, "SAME")
            return layers.classify(tf1.nn.lrn(x)), None

        rate = lambda at: tf1.train.piecewise_constant(at, [2, 4], [0.02, 0.01, 0.005])
        self.program(network, False, lambda at: tf1.train.RMSPropOptimizer(rate(at), 0.9, 0.9, epsilon=1.0))

    def test_separable(self):
        def network(layers, x):
            depthwise = tf1.get_variable("depthwise", [3, 3, 3, 2])
            pointwise = tf1.get_variable("pointwise", [1, 1, 6, 8])
            x = tf.nn.relu6(layers.norm(tf1.nn.separable_conv2d(x, depthwise, pointwise, [1, 2, 2, 1], "SAME")))
            dilated = tf1.nn.conv2d(x, tf1.get_variable("dilated", [3, 3, 8, 8]), padding="SAME", dilations=2)
            up = tf1.nn.conv2d_transpose(dilated, tf1.get_variable("up", [2, 2, 4, 8]),
                                         tf.concat([tf.shape(x)[:1], [SIZE, SIZE, 4]], 0), 2)
            up.set_shape([None, SIZE, SIZE, 4])
            return layers.classify(tf.nn.leaky_relu(tf1.space_to_depth(up, 2))), None

        rate = lambda at: tf1.train.polynomial_decay(0.01, at, 10, 0.001, power=2.0)
        self.program(network, True, lambda at: tf1.train.AdamOptimizer(rate(at)))

    def test_learning_rates(self):
        def program(run):
            at = tf1.train.get_or_create_global_step()
            rates = [tf1.train.exponential_decay(0.1, at, 3, 0.5), tf1.train.exponential_decay(0.1, at, 3, 0.5, True),
                     tf1.train.piecewise_constant(at, [2, 5], [1., .5, .1]),
                     tf1.train.polynomial_decay(0.1, at, 4, 0.01, 0.5, cycle=True),
                     tf1.train.natural_exp_decay(0.1, at, 3, 0.5), tf1.train.inverse_time_decay(0.1, at, 3, 0.5),
                     tf1.train.cosine_decay(0.1, at, 6), tf1.train.cosine_decay_restarts(0.1, at, 3),
                     tf1.train.linear_cosine_decay(0.1, at, 6),
                     tf1.train.noisy_linear_cosine_decay(0.1, at, 6, initial_variance=0.0)]
            following = tf1.assign_add(at, 1)
            with run.session() as session:
                return [(session.run(rates), session.run(following)) for _ in range(9)]

        self.same(program)


if __name__ == "__main__":
    program_case.main()
