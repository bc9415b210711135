"""Wide and deep models from CSV files, by readers with queues and by tf.data, with tables, hashes and crossed columns.

  program_wide_and_deep_test.py WEIR [TEST...]    WEIR is the weir program
"""
import program_case  # first: it finds an interpreter that can import TensorFlow

import os
import tempfile

import numpy as np
from program_case import tf, tf1
from rnn_cells import dense

WORK = ["clerk", "farmer", "sales", "teacher"]
CITIES = ["Ulm", "Jena", "Bonn", "Celle", "Trier", "Hof"]
DEFAULTS = [[0.0], [""], [""], [""], [0]]
STEPS, BATCH = 6, 8


def write_files(directory):
    """age,work,city,tags,label: some ages are missing, some work is unknown, some tags are none or several."""
    rng = np.random.RandomState(2)
    paths = []
    for part in range(2):
        paths.append(os.path.join(directory, "people%d.csv" % part))
        with open(paths[-1], "w") as f:
            f.write("age,work,city,tags,label\n")
            for _ in range(40):
                age, work, city = rng.randint(18, 80), rng.randint(5), rng.randint(6)
                tags = "|".join("t%d" % t for t in rng.randint(12, size=rng.randint(4)))
                label = int(age + 10 * work - 5 * city + rng.randn() * 5 > 50)
                f.write("%s,%s,\"%s\",%s,%d\n" % (
                    age if rng.rand() > 0.1 else "", WORK[work] if work < 4 else "?", CITIES[city], tags, label))
    vocabulary = os.path.join(directory, "work.txt")
    with open(vocabulary, "w") as f:
        f.write("\n".join(WORK))
    return paths, vocabulary


def by_queue(paths):
    names = tf1.train.string_input_producer(paths, shuffle=False)
    _, line = tf1.TextLineReader(skip_header_lines=1).read(names)
    return tf1.train.batch(list(tf1.decode_csv(line, DEFAULTS)), BATCH)


def by_dataset(paths):
    lines = tf1.data.Dataset.from_tensor_slices(paths).interleave(
        lambda path: tf1.data.TextLineDataset(path).skip(1), cycle_length=2, block_length=3)
    parsed = lines.map(lambda line: tuple(tf1.decode_csv(line, DEFAULTS)), num_parallel_calls=2)
    data = parsed.shuffle(20, seed=3).repeat().batch(BATCH, drop_remainder=True).prefetch(2)
    return tf1.data.make_one_shot_iterator(data).get_next()


def wide_and_deep(age, work, city, tags, vocabulary):
    """The logits, from columns by hand."""
    table = tf1.lookup.StaticVocabularyTable(tf1.lookup.TextFileInitializer(
        vocabulary, tf.string, tf1.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf1.lookup.TextFileIndex.LINE_NUMBER), 2)
    work_ids = table.lookup(work)
    city_ids = tf1.string_to_hash_bucket_fast(city, 16)
    crossed = tf1.string_to_hash_bucket_strong(tf1.string_join([work, city], "_X_"), 32, key=[1, 2])
    split = tf1.string_split(tags, "|")
    tag_ids = tf.SparseTensor(split.indices, tf1.string_to_hash_bucket(split.values, 8), split.dense_shape)
    bucket = tf.raw_ops.Bucketize(input=age, boundaries=[0., 25., 40., 60.])

    with tf1.variable_scope("wide", partitioner=tf1.fixed_size_partitioner(2)):
        weights = tf1.get_variable("crossed", [32, 1], initializer=tf1.zeros_initializer())
        wide = tf1.nn.embedding_lookup(list(weights), crossed, partition_strategy="div")
        tag_weights = tf1.get_variable("tags", [8, 1], initializer=tf1.zeros_initializer())
        wide += tf1.nn.safe_embedding_lookup_sparse(list(tag_weights), tag_ids, combiner="sum")
    with tf1.variable_scope("deep"):
        parts = [tf.expand_dims(age / 50., 1), tf.one_hot(bucket, 5)]
        for name, ids, size in (("work", work_ids, 6), ("city", city_ids, 16)):
            parts.append(tf.gather(tf1.get_variable(name, [size, 4]), ids))
        tag_embedding = tf1.get_variable("tags", [8, 4])
        pooled = tf1.nn.embedding_lookup_sparse(tag_embedding, tag_ids, None, combiner="sqrtn")
        missing = BATCH - tf.shape(pooled)[0]  # rows without tags at the end
        parts.append(tf.reshape(tf.pad(pooled, [[0, missing], [0, 0]]), [BATCH, 4]))
        deep = dense(dense(tf.concat(parts, 1), 8, "hidden", tf.nn.relu), 1, "logit")
    return tf.squeeze(wide + deep, 1)


def by_columns(age, work, city, tags, vocabulary):
    columns = tf1.feature_column
    features = {"age": age, "work": work, "city": city, "tags": tf1.string_split(tags, "|")}
    number = columns.numeric_column("age", normalizer_fn=lambda x: x / 50.)
    buckets = columns.bucketized_column(columns.numeric_column("age"), [25, 40, 60])
    known = columns.categorical_column_with_vocabulary_file("work", vocabulary, num_oov_buckets=1)
    listed = columns.categorical_column_with_vocabulary_list("city", CITIES[:4], default_value=0)
    hashed = columns.categorical_column_with_hash_bucket("tags", 8)
    crossed = columns.crossed_column(["work", "city"], 32)
    logits = columns.linear_model(features, [crossed, buckets, hashed, known], sparse_combiner="mean")
    x = columns.input_layer(features, [
        number, buckets, columns.indicator_column(known), columns.embedding_column(hashed, 3),
        columns.embedding_column(crossed, 3, combiner="sqrtn"), columns.indicator_column(listed)])
    return tf.squeeze(logits + dense(dense(x, 8, "hidden", tf.nn.relu), 1, "logit"), 1)


class WideAndDeep(program_case.ProgramTest):
    def train(self, inputs, model):
        def program(run):
            with tempfile.TemporaryDirectory() as directory:
                paths, vocabulary = write_files(directory)
                with tf1.device("/cpu:0" if not run.target else "/job:worker/task:1"):
                    age, work, city, tags, label = inputs(paths)
                at = tf1.train.get_or_create_global_step()
                logits = model(age, work, city, tags, vocabulary)
                labels = tf.cast(label, tf.float32)
                loss = tf.reduce_mean(tf1.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
                variables = tf1.trainable_variables()
                wide = [v for v in variables if "wide" in v.name or "linear" in v.name]
                step = tf.group(
                    tf1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001).minimize(loss, at, wide),
                    tf1.train.AdagradOptimizer(0.05).minimize(loss, var_list=[v for v in variables if v not in wide]))
                guess = tf.sigmoid(logits)
                seen_metrics = [tf1.metrics.accuracy(label, guess > 0.5), tf1.metrics.auc(label, guess),
                                tf1.metrics.precision(label, guess > 0.5), tf1.metrics.mean(loss)]
                metrics, updates = zip(*seen_metrics)
                seen = []
                with run.session() as session:
                    coordinator = tf1.train.Coordinator()
                    threads = tf1.train.start_queue_runners(session, coordinator)
                    for _ in range(STEPS):
                        seen.append(session.run([loss, label, age, step, updates])[:3])
                    coordinator.request_stop()
                    coordinator.join(threads, stop_grace_period_secs=20)
                    return seen + [session.run([metrics, variables])]

        self.same(program)

    def test_queues(self):
        self.train(by_queue, wide_and_deep)

    def test_datasets(self):
        self.train(by_dataset, wide_and_deep)

    def test_feature_columns(self):
        self.train(by_dataset, by_columns)


if __name__ == "__main__":
    program_case.main()
