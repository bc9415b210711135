"""Sequence to sequence: attention in a decoder's while_loop, and beam search.

  program_sequences_test.py WEIR [TEST...]    WEIR is the weir program
"""
import program_case  # first: it finds an interpreter that can import TensorFlow

import numpy as np
from program_case import tf, tf1, train
from rnn_cells import GRUCell, LSTMCell, dense

VOCABULARY, BATCH, LENGTH, UNITS, BEAM = 12, 3, 5, 8, 4
START, END = 0, 1


def pairs(seed):
    """Words, and the same backwards."""
    rng = np.random.RandomState(seed)
    words = rng.randint(2, VOCABULARY, size=[BATCH, LENGTH]).astype(np.int32)
    return words, words[:, ::-1].copy(), np.array([LENGTH, 3, 4], np.int32)


class Model:
    """Encoder, attention (Bahdanau's) and one step of the decoder."""

    def __init__(self, source, lengths):
        self.embedding = tf1.get_variable("embedding", [VOCABULARY, UNITS])
        inputs = tf1.nn.embedding_lookup(self.embedding, source)
        (forward, backward), (self.state, _) = tf1.nn.bidirectional_dynamic_rnn(
            GRUCell(UNITS, "forward"), GRUCell(UNITS, "backward"), inputs, lengths, dtype=tf.float32)
        self.memory = tf.concat([forward, backward], 2)
        self.mask = tf.sequence_mask(lengths, LENGTH)
        self.cell = GRUCell(UNITS, "decoder")
        self.keys = tf.einsum("btu,uv->btv", self.memory, tf1.get_variable("keys", [2 * UNITS, UNITS]))
        self.query = tf1.get_variable("query", [UNITS, UNITS])
        self.score = tf1.get_variable("score", [UNITS])

    def step(self, word, state, tiled=1):
        """The logits of the next word, the state after this one, and what was looked at."""
        repeat = lambda x: tf.repeat(x, tiled, axis=0) if tiled > 1 else x
        energy = tf.reduce_sum(self.score * tf.tanh(repeat(self.keys) + tf.expand_dims(state @ self.query, 1)), 2)
        weights = tf.nn.softmax(tf.where(repeat(self.mask), energy, tf.fill(tf.shape(energy), -1e9)))
        context = tf.einsum("bt,btu->bu", weights, repeat(self.memory))
        inputs = tf.concat([tf1.nn.embedding_lookup(self.embedding, word), context], 1)
        inputs.set_shape([None, 3 * UNITS])
        output, state = self.cell(inputs, state)
        return dense(tf.concat([output, context], 1), VOCABULARY, "logits"), state, weights

    def teach(self, target):
        """The mean loss over the target's words, and the attention of each step."""
        targets = tf1.TensorArray(tf.int32, LENGTH).unstack(tf.transpose(target))

        def body(time, word, state, losses, attention):
            logits, state, weights = self.step(word, state)
            right = targets.read(time)
            loss = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=right, logits=logits)
            return time + 1, right, state, losses.write(time, loss), attention.write(time, weights)

        *_, losses, attention = tf1.while_loop(
            lambda time, *_: time < LENGTH, body,
            [0, tf.fill([BATCH], START), self.state, tf1.TensorArray(tf.float32, LENGTH),
             tf1.TensorArray(tf.float32, LENGTH)])
        return tf.reduce_mean(losses.stack()), attention.stack()

    def greedy(self):
        def body(time, word, state, words):
            logits, state, _ = self.step(word, state)
            word = tf.argmax(logits, 1, output_type=tf.int32)
            return time + 1, word, state, tf.concat([words, word[:, None]], 1)

        start = tf.fill([BATCH], START)
        return tf1.while_loop(
            lambda time, word, *_: (time < 2 * LENGTH) & tf.reduce_any(tf.not_equal(word, END)), body,
            [0, start, self.state, tf.zeros([BATCH, 0], tf.int32)],
            shape_invariants=[tf.TensorShape([]), start.shape, tf.TensorShape([BATCH, UNITS]),
                              tf.TensorShape([BATCH, None])])[-1]

    def beam_search(self):
        """The words of each beam, best first, by parents kept in TensorArrays; and their scores."""
        def body(time, word, state, scores, words, parents):
            logits, state, _ = self.step(tf.reshape(word, [-1]), state, tiled=BEAM)
            totals = scores[:, :, None] + tf.reshape(tf.nn.log_softmax(logits), [BATCH, BEAM, VOCABULARY])
            scores, indices = tf.nn.top_k(tf.reshape(totals, [BATCH, -1]), BEAM)
            parent, word = indices // VOCABULARY, indices % VOCABULARY
            rows = tf.reshape(parent + tf.range(BATCH)[:, None] * BEAM, [-1])
            return (time + 1, word, tf.gather(state, rows), scores, words.write(time, word),
                    parents.write(time, parent))

        steps = LENGTH + 2
        first = tf.tile([[0.] + [-1e9] * (BEAM - 1)], [BATCH, 1])
        *_, scores, words, parents = tf1.while_loop(
            lambda time, *_: time < steps, body,
            [0, tf.fill([BATCH, BEAM], START), tf.repeat(self.state, BEAM, axis=0), first,
             tf1.TensorArray(tf.int32, steps), tf1.TensorArray(tf.int32, steps)])
        words, parents = words.stack(), parents.stack()
        return tf.stack([self.trace(words, parents, steps), words]), scores

    def trace(self, words, parents, steps):
        """What addons call gather_tree, backwards from the last step."""
        def body(time, beams, found):
            at = steps - 1 - time
            found = found.write(at, tf.gather(words[at], beams, batch_dims=1))
            return time + 1, tf.gather(parents[at], beams, batch_dims=1), found

        beams = tf.tile(tf.range(BEAM)[None], [BATCH, 1])
        return tf1.while_loop(lambda time, *_: time < steps, body,
                              [0, beams, tf1.TensorArray(tf.int32, steps)])[-1].stack()


class Sequences(program_case.ProgramTest):
    def test_training_and_search(self):
        def program(run):
            source, target = (tf1.placeholder(tf.int32, [BATCH, LENGTH]) for _ in range(2))
            lengths = tf1.placeholder(tf.int32, [BATCH])
            model = Model(source, lengths)
            loss, attention = model.teach(target)
            rate = tf1.train.exponential_decay(0.05, tf1.train.get_or_create_global_step(), 4, 0.9)
            optimizer = tf1.train.AdamOptimizer(rate)
            gradients = optimizer.compute_gradients(loss)
            step = optimizer.apply_gradients([(tf1.clip_by_norm(g, 1.0), v) for g, v in gradients],
                                             tf1.train.get_global_step())
            search = [model.greedy(), model.beam_search()]
            feeds = lambda i: dict(zip([source, target, lengths], pairs(i)))
            with run.session() as session:
                seen = [session.run([loss, attention, step], feeds(i % 3))[:2] for i in range(15)]
                return seen + [session.run(search, feeds(i)) for i in range(2)]

        losses = self.same(program, rtol=1e-3, atol=1e-4)[0:30:2]
        self.assertLess(losses[-1], losses[0])

    def test_scheduled_sampling(self):
        """A cond in the loop's body decides by a random number; its gradient goes through both branches."""
        def program(run):
            source, target = (tf1.placeholder(tf.int32, [BATCH, LENGTH]) for _ in range(2))
            model = Model(source, tf.fill([BATCH], LENGTH))
            coins = tf.random.stateless_uniform([LENGTH], [3, 4])

            def body(time, word, state, loss):
                logits, state, _ = model.step(word, state)
                right = tf.gather(target, time, axis=1)
                loss += tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=right, logits=logits)
                guess = lambda: tf.cast(tf.argmax(logits, 1), tf.int32)
                return time + 1, tf1.cond(coins[time] < 0.5, guess, lambda: right), state, loss

            *_, loss = tf1.while_loop(lambda time, *_: time < LENGTH, body,
                                      [0, tf.fill([BATCH], START), model.state, tf.zeros([BATCH])])
            loss = tf.reduce_mean(loss)
            step = tf1.train.RMSPropOptimizer(0.01).minimize(loss)
            return train(run, loss, step, feeds=lambda i: dict(zip([source, target], pairs(i % 2))))

        self.same(program, rtol=1e-3, atol=1e-4)

    def test_self_attention(self):
        """One block of a transformer with masked heads, layer norm and positions; learning rate with warm-up."""
        def program(run):
            words = tf1.placeholder(tf.int32, [None, LENGTH])
            embedding = tf1.get_variable("embedding", [VOCABULARY, UNITS])
            angles = tf.range(LENGTH, dtype=tf.float32)[:, None] / tf.pow(100., tf.range(UNITS // 2, dtype=tf.float32))
            x = tf.gather(embedding, words) * UNITS ** 0.5 + tf.concat([tf.sin(angles), tf.cos(angles)], 1)

            def norm(x, name):
                mean, variance = tf1.nn.moments(x, [-1], keep_dims=True)
                scale = tf1.get_variable(name, [UNITS], initializer=tf1.ones_initializer())
                return tf1.nn.batch_normalization(x, mean, variance, None, scale, 1e-6)

            def project(x, name):
                y = tf.tensordot(x, tf1.get_variable(name, [UNITS, UNITS]), 1)
                return tf.transpose(tf.reshape(y, [-1, LENGTH, 2, UNITS // 2]), [0, 2, 1, 3])

            q, k, v = (project(norm(x, "norm_" + name), name) for name in "qkv")
            weights = tf.matmul(q, k, transpose_b=True) + (1 - tf.linalg.band_part(tf.ones([LENGTH] * 2), -1, 0)) * -1e9
            heads = tf.matmul(tf1.nn.dropout(tf.nn.softmax(weights), rate=0.1), v)
            x += tf.reshape(tf.transpose(heads, [0, 2, 1, 3]), [-1, LENGTH, UNITS])
            hidden = tf.nn.gelu(tf.reshape(norm(x, "norm_hidden"), [-1, UNITS]) @ tf1.get_variable("w1", [UNITS, 16]))
            x = tf.reshape(x, [-1, UNITS]) + hidden @ tf1.get_variable("w2", [16, UNITS])
            logits = tf.reshape(tf.matmul(x, embedding, transpose_b=True), [-1, LENGTH, VOCABULARY])
            loss = tf.reduce_mean(tf1.nn.softmax_cross_entropy_with_logits_v2(
                labels=tf.one_hot(words[:, 1:], VOCABULARY, on_value=0.9, off_value=0.1 / VOCABULARY),
                logits=logits[:, :-1]))
            at = tf1.train.get_or_create_global_step()
            rate = 0.02 * tf.minimum(tf.pow(tf.cast(at + 1, tf.float32), -0.5), tf.cast(at + 1, tf.float32) / 8.)
            step = tf1.train.AdamOptimizer(rate, beta2=0.98).minimize(loss, at)
            return train(run, loss, step, steps=10, fetches=[rate * 1.], feeds=lambda i: {words: pairs(i % 2)[0]})

        self.same(program, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    program_case.main()
