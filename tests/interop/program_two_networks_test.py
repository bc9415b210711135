"""Programs with more than one network: a GAN with two optimizers, DQN with replay through queues, word2vec.

  program_two_networks_test.py WEIR [TEST...]    WEIR is the weir program
"""
import program_case  # first: it finds an interpreter that can import TensorFlow

import numpy as np
from program_case import tf, tf1
from rnn_cells import dense


class Adversarial(program_case.ProgramTest):
    NOISE, BATCH = 4, 16

    def real(self, i):
        rng = np.random.RandomState(i)
        angle = rng.uniform(0, 2 * np.pi, self.BATCH)
        return np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32)

    def networks(self, real):
        def generator(z):
            with tf1.variable_scope("generator"):
                return dense(dense(z, 8, "hidden", tf.nn.relu), 2, "out")

        def discriminator(x):
            with tf1.variable_scope("discriminator", reuse=tf1.AUTO_REUSE):
                hidden = tf.nn.leaky_relu(dense(x, 8, "hidden"))
                return tf1.nn.dropout(dense(hidden, 1, "out"), rate=0.0), hidden

        fake = generator(tf1.random_normal([self.BATCH, self.NOISE], seed=1))
        mine = lambda scope: tf1.get_collection(tf1.GraphKeys.TRAINABLE_VARIABLES, scope)
        return fake, discriminator(real), discriminator(fake), discriminator, mine

    def test_two_optimizers(self):
        def program(run):
            real = tf1.placeholder(tf.float32, [self.BATCH, 2])
            fake, (on_real, hidden), (on_fake, fake_hidden), _, mine = self.networks(real)
            cross = lambda logits, value: tf.reduce_mean(tf1.nn.sigmoid_cross_entropy_with_logits(
                logits=logits, labels=tf.fill(tf.shape(logits), value)))
            d_loss = cross(on_real, 0.9) + cross(on_fake, 0.0)
            matching = tf.reduce_mean(tf.square(tf.reduce_mean(hidden, 0) - tf.reduce_mean(fake_hidden, 0)))
            g_loss = cross(on_fake, 1.0) + 0.1 * matching
            d_step = tf1.train.AdamOptimizer(0.01, beta1=0.5).minimize(d_loss, var_list=mine("discriminator"))
            g_step = tf1.train.AdamOptimizer(0.02, beta1=0.5).minimize(g_loss, var_list=mine("generator"))
            with run.session() as session:
                seen = []
                for i in range(8):
                    seen.append(session.run([d_loss, d_step], {real: self.real(i)})[0])
                    seen.append(session.run([g_loss, g_step], {real: self.real(i)})[0])
                return seen + [session.run([fake] + tf1.trainable_variables())]

        self.same(program)

    def test_gradient_penalty(self):
        """Second order: the discriminator's loss holds the norm of its gradient; its weights are clipped too."""
        def program(run):
            # No weight changes while a gradient or a loss still reads it.
            gate = tf1.train.Optimizer.GATE_GRAPH
            real = tf1.placeholder(tf.float32, [self.BATCH, 2])
            fake, (on_real, _), (on_fake, _), discriminator, mine = self.networks(real)
            mix = tf1.random_uniform([self.BATCH, 1])
            between = mix * real + (1 - mix) * fake
            slopes = tf1.gradients(discriminator(between)[0], between)[0]
            penalty = tf.reduce_mean(tf.square(tf.norm(slopes, axis=1) - 1.))
            d_loss = tf.reduce_mean(on_fake) - tf.reduce_mean(on_real) + 10. * penalty
            rms = tf1.train.RMSPropOptimizer(0.01)
            slopes = rms.compute_gradients(d_loss, mine("discriminator"), gate_gradients=gate)
            with tf1.control_dependencies([d_loss, penalty]):
                d_step = rms.apply_gradients(slopes)
            with tf1.control_dependencies([d_step]):
                d_step = tf.group(*[v.assign(tf.clip_by_value(v, -1., 1.)) for v in mine("discriminator")])
            g_step = tf1.train.RMSPropOptimizer(0.01).minimize(-tf.reduce_mean(on_fake), var_list=mine("generator"),
                                                               gate_gradients=gate)
            with run.session() as session:
                seen = []
                for i in range(6):
                    seen.append(session.run([d_loss, penalty, d_step], {real: self.real(i)})[:2])
                    session.run(g_step, {real: self.real(i)})
                return seen + [session.run(tf1.trainable_variables())]

        self.same(program, rtol=1e-3, atol=1e-4)


class Replay(program_case.ProgramTest):
    """Q learning on a corridor of 6 cells: right leads to the reward. Play is fed from outside, replay comes from a queue."""

    CELLS, BATCH = 6, 8

    def test_dqn(self):
        def program(run):
            def q_values(name, states, trainable=True):
                with tf1.variable_scope(name):
                    w1 = tf1.get_variable("w1", [self.CELLS, 8], trainable=trainable)
                    w2 = tf1.get_variable("w2", [8, 2], trainable=trainable)
                    return tf.nn.relu(tf.one_hot(states, self.CELLS) @ w1) @ w2

            types, shapes = [tf.int32, tf.int32, tf.float32, tf.int32, tf.bool], [[]] * 5
            memory = tf1.RandomShuffleQueue(200, 0, types, shapes, seed=4, shared_name="memory")
            put = [tf1.placeholder(t, []) for t in types]
            remember = memory.enqueue(put)
            state, action, reward, following, over = memory.dequeue_many(self.BATCH)
            with tf1.control_dependencies([state]):
                again = memory.enqueue_many([state, action, reward, following, over])

            q = tf.reduce_sum(q_values("online", state) * tf.one_hot(action, 2), 1)
            best = tf.reduce_max(q_values("target", following, trainable=False), 1)
            wanted = tf.stop_gradient(reward + 0.9 * tf.where(over, tf.zeros_like(best), best))
            loss = tf1.losses.huber_loss(wanted, q)
            optimizer = tf1.train.AdamOptimizer(0.05)
            pairs = [(tf1.clip_by_norm(g, 10.), v) for g, v in optimizer.compute_gradients(loss) if g is not None]
            step = tf.group(optimizer.apply_gradients(pairs), again)
            named = lambda scope: tf1.get_collection(tf1.GraphKeys.GLOBAL_VARIABLES, scope)[:2]
            copy = tf.group(*[tf1.assign(t, v) for t, v in zip(named("target"), named("online"))])
            here = tf1.placeholder(tf.int32, [1])
            with tf1.variable_scope("", reuse=True):
                values = q_values("online", here)
            rate = tf1.placeholder(tf.float32, [])
            explore = tf1.random_uniform([], seed=9) < rate
            choice = tf1.cond(explore, lambda: tf1.random_uniform([], 0, 2, tf.int32, seed=8),
                              lambda: tf.argmax(values[0], output_type=tf.int32))
            with run.session() as session:
                session.run(copy)
                seen, cell = [], 0
                for t in range(60):
                    a = session.run(choice, {here: [cell], rate: 0.5})
                    after = min(max(cell + (1 if a else -1), 0), self.CELLS - 1)
                    end = after == self.CELLS - 1
                    session.run(remember, dict(zip(put, (cell, a, float(end), after, end))))
                    cell = 0 if end else after
                    if t >= self.BATCH and t % 2 == 0:
                        seen.append(session.run([loss, step])[0])
                    if t % 10 == 9:
                        session.run(copy)
                return seen + [session.run([memory.size()] + named("online") + named("target"))]

        self.same(program, on=["one task"])
        self.same(program)

    def test_policy_gradient(self):
        """Actor and critic with sampled actions, entropy, discounted returns by a scan, and batches of several lengths."""
        def program(run):
            states, rewards = tf1.placeholder(tf.int32, [None]), tf1.placeholder(tf.float32, [None])
            hidden = tf.tanh(tf.gather(tf1.get_variable("w", [self.CELLS, 8]), states))
            logits, value = dense(hidden, 2, "actor"), dense(hidden, 1, "critic")[:, 0]
            action = tf.cast(tf.random.categorical(logits, 1, seed=3)[:, 0], tf.int32)
            returns = tf.reverse(tf.scan(lambda total, r: r + 0.9 * total, tf.reverse(rewards, [0])), [0])
            advantage = tf.stop_gradient(returns - value)
            log = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=action, logits=logits)
            entropy = -tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), 1)
            loss = tf.reduce_mean(log * advantage + 0.5 * tf.square(returns - value) - 0.01 * entropy)
            step = tf1.train.RMSPropOptimizer(0.01, decay=0.99).minimize(loss)
            with run.session() as session:
                seen = []
                for i in range(8):
                    rng = np.random.RandomState(i)
                    feeds = {states: rng.randint(self.CELLS, size=3 + i), rewards: rng.rand(3 + i)}
                    seen.append(session.run([loss, action, returns, step], feeds)[:3])
                return seen

        self.same(program)


class Word2Vec(program_case.ProgramTest):
    VOCABULARY, WIDTH, BATCH = 20, 6, 8

    def test_skip_gram(self):
        rng = np.random.RandomState(5)
        words = np.minimum(rng.geometric(0.2, size=200), self.VOCABULARY) - 1

        def pairs(i):
            at = np.random.RandomState(i).randint(2, len(words) - 2, size=self.BATCH)
            shift = np.random.RandomState(i + 100).choice([-2, -1, 1, 2], size=self.BATCH)
            return words[at].astype(np.int32), words[at + shift][:, None].astype(np.int64)

        def program(run):
            center, context = tf1.placeholder(tf.int32, [None]), tf1.placeholder(tf.int64, [None, 1])
            embeddings = tf1.get_variable("in", [self.VOCABULARY, self.WIDTH],
                                          initializer=tf1.random_uniform_initializer(-1, 1))
            w = tf1.get_variable("out", [self.VOCABULARY, self.WIDTH],
                                 initializer=tf1.truncated_normal_initializer(stddev=0.4))
            b = tf1.get_variable("bias", [self.VOCABULARY], initializer=tf1.zeros_initializer())
            x = tf1.nn.embedding_lookup(embeddings, center)
            counts = np.bincount(words, minlength=self.VOCABULARY).tolist()
            sampled = tf.random.fixed_unigram_candidate_sampler(
                context, 1, 5, True, self.VOCABULARY, unigrams=counts, distortion=0.75, seed=6)
            losses = [tf.reduce_mean(tf1.nn.nce_loss(w, b, context, x, 5, self.VOCABULARY, sampled_values=sampled)),
                      tf.reduce_mean(tf1.nn.sampled_softmax_loss(w, b, context, x, 5, self.VOCABULARY, seed=2))]
            at = tf1.train.get_or_create_global_step()
            rate = tf.maximum(0.0001, 0.5 * (1 - tf.cast(at, tf.float32) / 20))
            step = tf1.train.GradientDescentOptimizer(rate).minimize(sum(losses), at)
            unit = tf.nn.l2_normalize(embeddings, 1)
            nearest = tf.nn.top_k(tf.matmul(unit[:4], unit, transpose_b=True), 3)
            analogy = tf.nn.in_top_k(targets=[1, 2], predictions=tf.matmul(unit[1:3], unit, transpose_b=True), k=1)
            with run.session() as session:
                seen = [session.run([losses, rate * 1., step], dict(zip([center, context], pairs(i))))[:2]
                        for i in range(12)]
                return seen + [session.run([nearest, analogy])]

        self.same(program)


if __name__ == "__main__":
    program_case.main()
