#!/usr/bin/env python3
"""tf.data pipelines of a stock TensorFlow client on a two-task Weir cluster, against TensorFlow in this process.

  dataset_test.py WEIR [TEST...]    WEIR is the weir program

Each pipeline of PIPELINES is built twice, in a graph for a local session and in one for the cluster; all its elements,
and the error that ends it, must agree.
"""
import gzip
import os
import struct
import sys
import tempfile
import unittest
import zlib

import weir_cluster

weir_cluster.run_with_tensorflow()
import numpy as np
import tensorflow as tf
from tensorflow.python.data.experimental.ops import global_shuffle_op
from tensorflow.python.data.ops import dataset_ops

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.ERROR)
Dataset = tf1.data.Dataset
TEST_SECONDS = 500
STEP_MS = 20000
MOST_ELEMENTS = 200
cluster = None
directory = tempfile.mkdtemp(prefix="weir_dataset_")


def session(target):
    return tf1.Session(target, config=tf1.ConfigProto(operation_timeout_in_ms=STEP_MS))


def outcome(error):
    return "%s" % type(error).__name__


def plain(value):
    """Nested structures of arrays as lists that can be compared."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tf1.SparseTensorValue):
        return ("sparse", plain(value.indices), plain(value.values), plain(value.dense_shape))
    if isinstance(value, (tuple, list)):
        return tuple(plain(part) for part in value)
    array = np.asarray(value)
    return (str(array.dtype), array.tolist())


def elements(make, target, initializable):
    """What a pipeline yields, and how it ends."""
    with tf.Graph().as_default(), session(target) as running:
        dataset = make()
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        if initializable:
            iterator = tf1.data.make_initializable_iterator(dataset)
        else:
            iterator = tf1.data.make_one_shot_iterator(dataset)
        element = iterator.get_next()
        result = []
        try:
            if initializable:
                running.run(iterator.initializer)
            while len(result) < MOST_ELEMENTS:
                result.append(plain(running.run(element)))
            result.append("more")
        except tf.errors.OpError as error:
            result.append(outcome(error))
        return result


def numbers(n=10):
    return Dataset.range(n)


def write_records(name, records, compression=""):
    path = os.path.join(directory, name)
    options = tf.io.TFRecordOptions(compression_type=compression)
    with tf.io.TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return path


def write_file(name, content):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


RECORDS = [b"", b"a", b"record" * 1000, bytes(range(256))]


def damaged_record():
    path = write_records("damaged", RECORDS)
    with open(path, "rb") as file:
        content = bytearray(file.read())
    content[-10] ^= 1
    return write_file("damaged", bytes(content))


def truncated_record():
    path = write_records("truncated", RECORDS)
    with open(path, "rb") as file:
        return write_file("truncated", file.read()[:-7])


def long_record():
    """A length that its checksum covers but the file does not hold."""
    header = struct.pack("<Q", 1 << 60)
    crc = crc32c(header)
    return write_file("long", header + struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF) + b"abc")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


LINES = b"first\nsecond line\r\n\nlast without end"


def sparse_rows():
    return Dataset.from_sparse_tensor_slices(
        tf.SparseTensor(np.array([[0, 0], [0, 2], [2, 1]]), np.array([1.5, 2.5, 3.5]), np.array([4, 3])))


def windows(**arguments):
    return numbers().window(**arguments).flat_map(lambda window: window.batch(4))


def shuffled_globally(dataset, **arguments):
    return global_shuffle_op._global_shuffle(dataset, **arguments)


def grouped(window_size):
    return numbers(17).apply(tf.data.experimental.group_by_window(
        lambda x: x % 3, lambda key, window: window.batch(10).map(lambda x: (key, x)), window_size=window_size))


def lengths():
    return numbers(7).map(lambda x: tf.fill([x % 3 + 1, 2], x))


def fails_at(x, at=4):
    return tf1.debugging.check_numerics(
        tf.where(tf.equal(x, at), tf.constant(np.nan, tf.float64), tf.cast(x, tf.float64)), "bad number")


def uses_variable():
    table = tf.constant([10, 20, 30], tf.int64)
    return numbers(6).map(lambda x: tf.gather(table, x % 3) + x)


PIPELINES = {
    # Sources
    "range": lambda: numbers(),
    "range_steps": lambda: Dataset.range(10, -5, -4),
    "range_empty": lambda: Dataset.range(5, 5),
    "range_int32": lambda: Dataset.range(3, 9, 2, output_type=tf.int32),
    "range_float": lambda: Dataset.range(4, output_type=tf.float32),
    "range_huge": lambda: Dataset.range(2**63 - 3, 2**63 - 1),
    "tensors": lambda: Dataset.from_tensors({"a": [1, 2], "b": ("x", 3.5)}),
    "slices": lambda: Dataset.from_tensor_slices((np.arange(12).reshape(4, 3), ["a", "b", "c", "d"])),
    "slices_empty": lambda: Dataset.from_tensor_slices(np.zeros((0, 3))),
    "slices_dtypes": lambda: Dataset.from_tensor_slices(tuple(
        np.arange(3).astype(dtype) for dtype in (np.float16, np.float64, np.int8, np.uint16, np.complex64, np.bool_))),
    "sparse_slices": lambda: sparse_rows(),
    "random": lambda: tf.data.experimental.RandomDataset(seed=7).take(10),
    # Counting
    "repeat": lambda: numbers(3).repeat(4),
    "repeat_zero": lambda: numbers(3).repeat(0),
    "repeat_for_ever": lambda: numbers(3).repeat().take(20),
    "repeat_nothing_for_ever": lambda: numbers(0).repeat(),
    "take": lambda: numbers().take(3),
    "take_all": lambda: numbers().take(-1),
    "skip": lambda: numbers().skip(7),
    "skip_all": lambda: numbers().skip(-1),
    "skip_beyond": lambda: numbers().skip(100),
    "shard": lambda: numbers(11).shard(4, 2),
    "cardinality_kept": lambda: numbers(4).apply(tf.data.experimental.assert_cardinality(4)),
    "cardinality_broken": lambda: numbers(4).apply(tf.data.experimental.assert_cardinality(5)),
    "cardinality_exceeded": lambda: numbers(4).apply(tf.data.experimental.assert_cardinality(2)),
    # Combining
    "zip": lambda: Dataset.zip((numbers(5), (numbers(3), numbers(9)))),
    "concatenate": lambda: numbers(3).concatenate(Dataset.range(20, 23)),
    "enumerate": lambda: Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5),
    "choose": lambda: tf.data.experimental.choose_from_datasets(
        [numbers(2), Dataset.range(10, 20)], Dataset.from_tensor_slices(np.array([0, 1, 0, 0, 1, 1], np.int64)),
        stop_on_empty_dataset=False),
    "choose_out_of_range": lambda: tf.data.experimental.choose_from_datasets(
        [numbers(2), numbers(3)], Dataset.from_tensor_slices(np.array([0, 1, 2], np.int64)),
        stop_on_empty_dataset=False),
    "sample": lambda: tf.data.experimental.sample_from_datasets([numbers(5), Dataset.range(50, 60)], seed=3),
    # Batching
    "batch": lambda: numbers().batch(4),
    "batch_drop": lambda: numbers().batch(4, drop_remainder=True),
    "batch_of_batches": lambda: numbers(12).batch(2).batch(3),
    "batch_strings": lambda: Dataset.from_tensor_slices(["a", "bb", "ccc"]).batch(2),
    "batch_parallel": lambda: numbers().batch(3, num_parallel_calls=2),
    "batch_ragged": lambda: lengths().batch(2),
    "batch_zero": lambda: numbers().batch(tf1.placeholder_with_default(np.int64(0), [])),
    "batch_huge": lambda: numbers().batch(2**62),
    "unbatch": lambda: numbers(12).batch(5).unbatch(),
    "unbatch_two": lambda: Dataset.zip((numbers(4).batch(2), numbers(8).batch(2).batch(2))).unbatch(),
    "padded_batch": lambda: lengths().padded_batch(3, padded_shapes=[None, 2]),
    "padded_batch_to": lambda: lengths().padded_batch(3, padded_shapes=[4, 3], padding_values=np.int64(-1)),
    "padded_batch_strings": lambda: Dataset.from_tensor_slices([["a", "b"], ["c", "d"]]).padded_batch(
        2, padded_shapes=[3], padding_values="!"),
    "padded_batch_short": lambda: lengths().padded_batch(3, padded_shapes=[2, 2]),
    "window": lambda: windows(size=3),
    "window_shift": lambda: windows(size=3, shift=2, drop_remainder=True),
    "window_stride": lambda: windows(size=3, shift=4, stride=2),
    "map_and_batch": lambda: numbers().apply(tf.data.experimental.map_and_batch(lambda x: x * 2, 4)),
    # Functions
    "map": lambda: numbers().map(lambda x: (x * x, tf.strings.as_string(x))),
    "map_captured": uses_variable,
    "map_parallel": lambda: numbers(50).map(lambda x: x * 2, num_parallel_calls=4),
    "map_auto": lambda: numbers(50).map(lambda x: x * 2, num_parallel_calls=tf.data.experimental.AUTOTUNE),
    "map_random": lambda: numbers().map(lambda x: tf.random.uniform([], seed=9)),
    "map_while": lambda: numbers(6).map(lambda x: tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i),
                                                                (np.int64(0), np.int64(0)))[1]),
    "map_cond": lambda: numbers(6).map(lambda x: tf.cond(x > 2, lambda: x * 10, lambda: -x)),
    "map_fails": lambda: numbers(8).map(fails_at),
    "map_fails_parallel": lambda: numbers(8).map(fails_at, num_parallel_calls=3),
    "ignore_errors": lambda: numbers(8).map(fails_at).apply(tf.data.experimental.ignore_errors()),
    "filter": lambda: numbers().filter(lambda x: tf.equal(x % 3, 0)),
    "filter_none": lambda: numbers().filter(lambda x: x < 0),
    "take_while": lambda: numbers().apply(tf.data.experimental.take_while(lambda x: x < 4)),
    "scan": lambda: numbers().apply(tf.data.experimental.scan(np.int64(1), lambda s, x: (s + x, s * x))),
    "unique": lambda: Dataset.from_tensor_slices([3, 1, 3, 2, 1]).apply(tf.data.experimental.unique()),
    "unique_strings": lambda: Dataset.from_tensor_slices(["b", "a", "b"]).apply(tf.data.experimental.unique()),
    "flat_map": lambda: numbers(5).flat_map(lambda x: Dataset.range(x)),
    "flat_map_random": lambda: numbers(3).flat_map(
        lambda x: numbers(2).map(lambda y: tf.random.uniform([], seed=5))),
    "flat_map_nested": lambda: numbers(4).flat_map(
        lambda x: Dataset.range(x).flat_map(lambda y: Dataset.from_tensors((x, y)).repeat(2))),
    "interleave": lambda: numbers(7).interleave(lambda x: Dataset.range(x), cycle_length=3, block_length=2),
    "interleave_one": lambda: numbers(5).interleave(lambda x: Dataset.range(x), cycle_length=1, block_length=1),
    "interleave_wide": lambda: numbers(5).interleave(
        lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=10, block_length=3),
    "interleave_parallel": lambda: numbers(17).interleave(
        lambda x: Dataset.from_tensors(x).repeat(x % 5), cycle_length=4, block_length=2, num_parallel_calls=4),
    "interleave_parallel_two": lambda: numbers(17).interleave(
        lambda x: Dataset.from_tensors(x).repeat(x % 5), cycle_length=6, block_length=3, num_parallel_calls=2),
    "interleave_legacy": lambda: numbers(4).apply(tf.data.experimental.parallel_interleave(
        lambda x: Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=1)),
    "group_by_window": lambda: grouped(3),
    "group_by_large_window": lambda: grouped(100),
    "bucket": lambda: numbers(9).map(lambda x: tf.range(x)).apply(
        tf.data.experimental.bucket_by_sequence_length(lambda x: tf.size(x), [3, 6], [2, 2, 2])),
    # Order
    "shuffle": lambda: numbers(30).shuffle(7, seed=11),
    "shuffle_all": lambda: numbers(30).shuffle(100, seed=12),
    "shuffle_repeat": lambda: numbers(10).shuffle(4, seed=13).repeat(3),
    "shuffle_same_each_time": lambda: numbers(10).shuffle(4, seed=13, reshuffle_each_iteration=False).repeat(3),
    "shuffle_then_repeat_shuffled": lambda: numbers(5).repeat(3).shuffle(6, seed=1),
    "shuffle_and_repeat": lambda: numbers(6).apply(tf.data.experimental.shuffle_and_repeat(4, 5, seed=21)),
    "shuffle_and_repeat_for_ever": lambda: numbers(3).apply(
        tf.data.experimental.shuffle_and_repeat(100, seed=22)).take(50),
    "shuffle_graph_seed": lambda: (tf1.set_random_seed(5), numbers(20).shuffle(10))[1],
    "global_shuffle": lambda: shuffled_globally(numbers(40), seed=7),
    "global_shuffle_batches": lambda: shuffled_globally(numbers(41).batch(4, drop_remainder=True), seed=8),
    "global_shuffle_remainder": lambda: shuffled_globally(numbers(41).batch(4), seed=8),
    "global_shuffle_for_ever": lambda: shuffled_globally(numbers().repeat(), seed=8),
    "global_shuffle_repeat": lambda: shuffled_globally(numbers(5), seed=9).repeat(3),
    "global_shuffle_same_each_time": lambda: shuffled_globally(
        numbers(5), seed=9, reshuffle_each_iteration=False).repeat(3),
    "global_shuffle_unknown_size": lambda: shuffled_globally(numbers().filter(lambda x: x > 2), seed=1),
    "global_shuffle_skip_take": lambda: shuffled_globally(
        numbers(20).skip(3).concatenate(numbers(4)).take(15).prefetch(2), seed=2),
    "shuffle_two": lambda: numbers(20).shuffle(5, seed=1).shuffle(5, seed=2),
    # State between passes
    "cache": lambda: numbers(4).map(lambda x: x * 3).cache().repeat(3),
    "cache_random": lambda: numbers(4).map(lambda x: tf.random.uniform([], seed=3)).cache().repeat(2),
    "prefetch": lambda: numbers(20).prefetch(5),
    "prefetch_auto": lambda: numbers(20).map(lambda x: x + 1).prefetch(-1),
    "prefetch_fails": lambda: numbers(8).map(fails_at).prefetch(2),
    "long": lambda: numbers(1000).shuffle(50, seed=4).map(lambda x: x * 2, num_parallel_calls=3).filter(
        lambda x: tf.equal(x % 3, 0)).batch(7).prefetch(2),
    # Files
    "records": lambda: tf1.data.TFRecordDataset([write_records("plain", RECORDS)]),
    "records_gzip": lambda: tf1.data.TFRecordDataset(write_records("gzip", RECORDS * 50, "GZIP"), "GZIP"),
    "records_zlib": lambda: tf1.data.TFRecordDataset(write_records("zlib", RECORDS * 50, "ZLIB"), "ZLIB", 100),
    "records_many": lambda: tf1.data.TFRecordDataset([write_records("one", [b"1", b"2"]), write_records("two", [b"3"])]),
    "records_damaged": lambda: tf1.data.TFRecordDataset(damaged_record()),
    "records_truncated": lambda: tf1.data.TFRecordDataset(truncated_record()),
    "records_missing": lambda: tf1.data.TFRecordDataset(os.path.join(directory, "missing")),
    "records_wrong_compression": lambda: tf1.data.TFRecordDataset(write_records("plain", RECORDS), "GZIP"),
    "records_no_compression": lambda: tf1.data.TFRecordDataset(write_records("plain", RECORDS), "BROTLI"),
    "lines": lambda: tf1.data.TextLineDataset(write_file("lines", LINES)),
    "lines_gzip": lambda: tf1.data.TextLineDataset(
        write_file("lines.gz", gzip.compress(LINES * 100)), "GZIP"),
    "lines_skip": lambda: tf1.data.TextLineDataset([write_file("l1", b"a\nb\n"), write_file("l2", b"c\n")]).skip(1),
    "blocks": lambda: tf1.data.FixedLengthRecordDataset(
        write_file("blocks", b"head" + b"123" * 5 + b"feet"), 3, header_bytes=4, footer_bytes=4),
    "blocks_gzip": lambda: tf1.data.FixedLengthRecordDataset(
        write_file("blocks.z", zlib.compress(b"head" + b"123" * 5 + b"feet")), 3, 4, 4, compression_type="ZLIB"),
    "blocks_uneven": lambda: tf1.data.FixedLengthRecordDataset(write_file("uneven", b"1234567"), 3),
    "files": lambda: dataset_ops._VariantDataset(tf.raw_ops.MatchingFilesDataset(patterns=[os.path.join(
        os.path.dirname(write_file("match_b", b"") and write_file("match_a", b"")), "match_*")]),
                                                tf.TensorSpec([], tf.string)),
}


class Pipelines(unittest.TestCase):
    """PIPELINES, each with a one-shot and an initialisable iterator."""


def pipeline_test(name):
    def test(self):
        expected = elements(PIPELINES[name], "", True)
        self.assertEqual(elements(PIPELINES[name], cluster.target(), True), expected)
        if not isinstance(expected[-1], str) or expected[-1] in ("more", "OutOfRangeError"):
            try:
                expected = elements(PIPELINES[name], "", False)
            except ValueError:
                return  # captures what a one-shot iterator cannot
            self.assertEqual(elements(PIPELINES[name], cluster.target(1), False), expected)

    return test


for pipeline in PIPELINES:
    setattr(Pipelines, "test_" + pipeline, pipeline_test(pipeline))


class Iterators(unittest.TestCase):
    def setUp(self):
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)
        self.session = session(cluster.target())
        self.addCleanup(lambda: self.session.close())

    def run_(self, fetches, feeds=None):
        return self.session.run(fetches, feeds)

    def take(self, fetch, count, feeds=None):
        return [self.run_(fetch, feeds).tolist() for _ in range(count)]

    def expect(self, code, fetch, phrase, feeds=None):
        with self.assertRaises(code) as raised:
            self.run_(fetch, feeds)
        self.assertIn(phrase, str(raised.exception))

    def test_uninitialised(self):
        iterator = tf1.data.make_initializable_iterator(numbers())
        self.expect(tf.errors.FailedPreconditionError, iterator.get_next(), "has not been initialized")

    def test_end_of_sequence(self):
        element = tf1.data.make_one_shot_iterator(numbers(1)).get_next()
        self.assertEqual(self.take(element, 1), [0])
        for _ in range(2):
            self.expect(tf.errors.OutOfRangeError, element, "End of sequence")

    def test_initialised_again(self):
        size = tf1.placeholder(tf.int64, [])
        iterator = tf1.data.make_initializable_iterator(Dataset.range(size))
        element = iterator.get_next()
        for n in (3, 5, 0):
            self.run_(iterator.initializer, {size: n})
            self.assertEqual(self.take(element, n), list(range(n)))
            self.expect(tf.errors.OutOfRangeError, element, "End of sequence")

    def test_reinitialisable(self):
        training, validation = numbers(3).map(lambda x: x + 100), numbers(2)
        iterator = tf1.data.Iterator.from_structure(tf1.data.get_output_types(training), tf.TensorShape([]))
        element = iterator.get_next()
        for _ in range(2):
            self.run_(iterator.make_initializer(training))
            self.assertEqual(self.take(element, 3), [100, 101, 102])
            self.run_(iterator.make_initializer(validation))
            self.assertEqual(self.take(element, 2), [0, 1])

    def test_feedable(self):
        handle = tf1.placeholder(tf.string, [])
        element = tf1.data.Iterator.from_string_handle(handle, tf.int64, tf.TensorShape([])).get_next()
        training = tf1.data.make_one_shot_iterator(numbers().repeat())
        validation = tf1.data.make_initializable_iterator(Dataset.range(100, 103))
        first, second = self.run_([training.string_handle(), validation.string_handle()])
        self.assertEqual(self.take(element, 2, {handle: first}), [0, 1])
        self.run_(validation.initializer)
        self.assertEqual(self.take(element, 3, {handle: second}), [100, 101, 102])
        self.assertEqual(self.take(element, 2, {handle: first}), [2, 3])
        self.expect(tf.errors.OutOfRangeError, element, "End of sequence", {handle: second})
        self.expect(tf.errors.InvalidArgumentError, element, "", {handle: "not a handle"})

    def test_feedable_of_other_types(self):
        strings = tf1.data.make_one_shot_iterator(Dataset.from_tensors("a"))
        handle = self.run_(strings.string_handle())
        other = tf1.data.Iterator.from_string_handle(handle, tf.int64, tf.TensorShape([])).get_next()
        self.expect(tf.errors.InvalidArgumentError, other, "Data type mismatch")

    def test_sessions_have_their_own(self):
        element = tf1.data.make_one_shot_iterator(numbers()).get_next()
        self.assertEqual(self.take(element, 2), [0, 1])
        with session(cluster.target()) as other:
            self.assertEqual(other.run(element), 0)
        self.assertEqual(self.take(element, 1), [2])

    def test_one_iterator_for_several_signatures(self):
        element = tf1.data.make_one_shot_iterator(numbers()).get_next()
        self.assertEqual(self.take(element, 2), [0, 1])
        self.assertEqual(self.take(element * 10, 2), [20, 30])
        more = element + 1000
        self.assertEqual(self.take(more, 1), [1004])
        self.assertEqual(self.take(element, 1), [5])

    def test_on_another_task(self):
        with tf.device("/job:worker/task:1"):
            iterator = tf1.data.make_initializable_iterator(numbers().map(lambda x: x * 2))
            element = iterator.get_next()
        with tf.device("/job:worker/task:0"):
            result = element + 1
        self.run_(iterator.initializer)
        self.assertEqual(self.take(result, 3), [1, 3, 5])

    def test_variables_in_functions(self):
        counter = tf1.get_variable("counter", initializer=np.int64(0), use_resource=True)
        dataset = numbers(3).map(lambda x: counter.assign_add(10) + x)
        iterator = tf1.data.make_initializable_iterator(dataset)
        element = iterator.get_next()
        self.run_(tf1.global_variables_initializer())
        self.run_(iterator.initializer)
        self.assertEqual(self.take(element, 3), [10, 21, 32])
        self.assertEqual(self.run_(counter), 30)

    def test_tables_in_functions(self):
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["a", "b"], np.array([1, 2], np.int64)), np.int64(-1))
        dataset = Dataset.from_tensor_slices(["b", "c", "a"]).map(table.lookup)
        iterator = tf1.data.make_initializable_iterator(dataset)
        self.run_(tf1.tables_initializer())
        self.run_(iterator.initializer)
        self.assertEqual(self.take(iterator.get_next(), 3), [2, -1, 1])

    def test_cancelled_with_the_step(self):
        queue = tf1.FIFOQueue(10, [tf.int64], [[]])
        iterator = tf1.data.make_initializable_iterator(numbers().map(lambda x: queue.dequeue() + x))
        element = iterator.get_next()
        self.run_(iterator.initializer)
        with self.assertRaises(tf.errors.DeadlineExceededError):
            self.session.run(element, options=tf1.RunOptions(timeout_in_ms=500))
        self.run_(queue.enqueue(np.int64(7)))
        self.assertIn(self.run_(element), (7, 8))

    def test_endless_filter_ends_with_the_step(self):
        iterator = tf1.data.make_initializable_iterator(numbers().repeat().filter(lambda x: x < 0))
        element = iterator.get_next()
        self.run_(iterator.initializer)
        with self.assertRaises(tf.errors.DeadlineExceededError):
            self.session.run(element, options=tf1.RunOptions(timeout_in_ms=500))

    def test_optionals(self):
        iterator = tf1.data.make_initializable_iterator(numbers(1))
        optional = tf.data.experimental.get_next_as_optional(iterator)
        has_value, value = optional.has_value(), optional.get_value()
        self.run_(iterator.initializer)
        self.assertEqual(self.run_([has_value, value]), [True, 0])
        self.assertFalse(self.run_(has_value))
        self.expect(tf.errors.InvalidArgumentError, value, "does not have a value")
        made = tf.experimental.Optional.from_value((tf.constant(3), "a"))
        self.assertEqual(self.run_([made.has_value(), made.get_value()]), [True, (3, b"a")])

    def test_single_element_reduce_and_cardinality(self):
        self.assertEqual(self.run_(numbers(5).reduce(np.int64(100), lambda s, x: s + x)), 110)
        self.assertEqual(self.run_(tf.data.experimental.get_single_element(numbers(1))), 0)
        self.expect(tf.errors.InvalidArgumentError, tf.data.experimental.get_single_element(numbers(2)),
                    "more than one element")
        for dataset in (numbers(), numbers().repeat(), numbers().filter(lambda x: x > 1), numbers().batch(3),
                        numbers().shard(3, 1), numbers().flat_map(Dataset.range), numbers().concatenate(numbers())):
            cardinality = tf.data.experimental.cardinality(dataset)
            with session("") as local:
                self.assertEqual(self.run_(cardinality), local.run(cardinality))

    def test_random_access(self):
        datasets = [numbers(), numbers().map(lambda x: x * 3), numbers().batch(3), numbers().skip(2).take(5),
                    Dataset.zip((numbers(), numbers(4))), numbers().shuffle(10, seed=4), numbers().prefetch(2),
                    numbers().concatenate(numbers()), numbers().repeat(2), numbers().cache(), numbers().shard(3, 1)]
        for dataset in datasets:
            for index in (0, 3, 2, -1, 1000):
                element = tf.data.experimental.at(dataset, index)
                results = []
                with session("") as local:
                    for running in (local, self.session):
                        try:
                            results.append(plain(running.run(element)))
                        except tf.errors.OpError as error:
                            results.append(outcome(error))
                self.assertEqual(results[1], results[0], (dataset, index))

    def test_graph_of_a_dataset(self):
        dataset = numbers().map(lambda x: x * 7).filter(lambda x: x > 20).batch(2)
        graph = tf.raw_ops.DatasetToGraphV2(input_dataset=dataset._variant_tensor)
        copy = tf.raw_ops.DatasetFromGraph(graph_def=graph)
        copied = dataset_ops._VariantDataset(copy, dataset.element_spec)
        iterator = tf1.data.make_initializable_iterator(copied)
        self.run_(iterator.initializer)
        self.assertEqual(self.take(iterator.get_next(), 2), [[21, 28], [35, 42]])

    def test_length_of_a_record_is_not_believed(self):  # TensorFlow dies of this file
        iterator = tf1.data.make_initializable_iterator(tf1.data.TFRecordDataset(long_record()))
        self.run_(iterator.initializer)
        self.expect(tf.errors.DataLossError, iterator.get_next(), "truncated record at 0")

    def test_malformed_variants(self):
        for variant in (tf.raw_ops.OptionalNone(), tf.raw_ops.EmptyTensorList(
                element_shape=-1, max_num_elements=-1, element_dtype=tf.float32)):
            fetch = tf.raw_ops.DatasetCardinality(input_dataset=variant)
            self.expect(tf.errors.InvalidArgumentError, fetch, "must be a Dataset object")
        dataset = numbers()._variant_tensor
        self.expect(tf.errors.InvalidArgumentError, tf.raw_ops.OptionalHasValue(optional=dataset), "OptionalVariant")


# Pipelines that are saved and restored, position by position.
SAVED = ["range", "slices", "repeat", "repeat_for_ever", "take", "skip", "shard", "zip", "concatenate", "choose", "batch",
         "unbatch", "padded_batch", "map", "map_parallel", "filter", "take_while", "scan", "unique", "flat_map",
         "flat_map_nested", "interleave", "interleave_parallel", "group_by_window", "shuffle", "shuffle_repeat",
         "shuffle_and_repeat", "cache", "prefetch", "records", "records_gzip", "lines", "blocks", "random", "long",
         "window_shift", "global_shuffle_repeat"]


def inverse(x):
    """Of a number that is not 1."""
    return tf.cast(tf.debugging.check_numerics(1.0 / tf.cast(x - 1, tf.float32), "bad"), tf.int64)


def beyond_the_end(x):
    """Ends with OutOfRange, which must not pass for the end of a sequence."""
    queue = tf1.FIFOQueue(1, tf.int64, [])
    with tf.control_dependencies([queue.close()]):
        return queue.dequeue() + x


FAILING = {
    "map": lambda: Dataset.range(4).map(inverse),
    "map_parallel": lambda: Dataset.range(4).map(inverse, num_parallel_calls=2),
    "map_and_batch": lambda: Dataset.range(7).apply(tf.data.experimental.map_and_batch(inverse, 3)),
    "filter": lambda: Dataset.range(4).filter(lambda x: inverse(x) > -9),
    "scan": lambda: Dataset.range(4).scan(tf.constant(0, tf.int64), lambda sum, x: (sum + inverse(x), sum)),
    "flat_map": lambda: Dataset.range(4).flat_map(lambda x: tf.data.Dataset.range(inverse(x) + 2)),
    "interleave": lambda: Dataset.range(4).interleave(lambda x: tf.data.Dataset.range(inverse(x) + 2), 2),
    "interleave_parallel": lambda: Dataset.range(4).interleave(
        lambda x: tf.data.Dataset.range(inverse(x) + 2), 2, num_parallel_calls=2),
    "interleave_with_too_many_calls": lambda: Dataset.range(4).interleave(
        lambda x: tf.data.Dataset.range(2), 2, num_parallel_calls=3),
    "group_by_window": lambda: Dataset.range(4).group_by_window(
        lambda x: x % 2, lambda _, window: window.batch(inverse(tf.constant(1, tf.int64))), 2),
    "blocks": lambda: tf1.data.FixedLengthRecordDataset(write_file("uneven", b"1234567"), 3),
    "filter_beyond_the_end": lambda: Dataset.range(3).filter(lambda x: beyond_the_end(x) > 0),
    "map_beyond_the_end": lambda: Dataset.range(3).map(beyond_the_end),
    "flat_map_beyond_the_end": lambda: Dataset.range(3).flat_map(lambda x: tf.data.Dataset.range(beyond_the_end(x))),
}


class Failing(unittest.TestCase):
    """Whoever reads on after an error gets what TensorFlow gives then."""


def failing_test(name):
    def outcomes(target):
        with tf.Graph().as_default(), session(target) as running:
            iterator = tf1.data.make_initializable_iterator(FAILING[name]())
            element, seen = iterator.get_next(), []
            for fetch in [iterator.initializer] + [element] * 8:
                try:
                    seen.append(plain(running.run(fetch)))
                except tf.errors.OpError as error:
                    seen.append(outcome(error))
                    if seen[-1] != "InvalidArgumentError":
                        break
            return seen

    def test(self):
        self.assertEqual(outcomes(cluster.target()), outcomes(""))

    return test


for pipeline in FAILING:
    setattr(Failing, "test_" + pipeline, failing_test(pipeline))


class Saving(unittest.TestCase):
    """What is yielded after a state was restored, in another session, is what would have been yielded without."""


def saving_test(name):
    def test(self):
        with tf.Graph().as_default():
            iterator = tf1.data.make_initializable_iterator(PIPELINES[name]())
            element = iterator.get_next()
            # Keeps the state between the sessions, as a Saver would.
            checkpoint = os.path.join(directory, "state_" + name)
            saved = tf.raw_ops.SaveV2(
                prefix=checkpoint, tensor_names=["state"], shape_and_slices=[""],
                tensors=[tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)])
            state, = tf.raw_ops.RestoreV2(
                prefix=checkpoint, tensor_names=["state"], shape_and_slices=[""], dtypes=[tf.variant])
            restored = tf.raw_ops.DeserializeIterator(
                resource_handle=iterator._iterator_resource, serialized=state)
            full = elements(PIPELINES[name], cluster.target(), True)
            for position in (0, 1, 4):
                with session(cluster.target()) as first:
                    first.run(iterator.initializer)
                    begin = []
                    try:
                        begin = [plain(first.run(element)) for _ in range(position)]
                    except tf.errors.OutOfRangeError:
                        pass
                    first.run(saved)
                rest = []
                with session(cluster.target()) as second:
                    second.run(iterator.initializer)
                    second.run(restored)
                    try:
                        while len(begin) + len(rest) < MOST_ELEMENTS:
                            rest.append(plain(second.run(element)))
                        rest.append("more")
                    except tf.errors.OutOfRangeError as error:
                        rest.append(outcome(error))
                if len(begin) == position:
                    self.assertEqual(begin + rest, full, "saved after %d elements" % position)

    return test


for pipeline in SAVED:
    setattr(Saving, "test_" + pipeline, saving_test(pipeline))


def main():
    global cluster
    program = sys.argv.pop(1)
    cluster = weir_cluster.Cluster(program, 2)
    weir_cluster.end_after(TEST_SECONDS, cluster)
    unittest.main(verbosity=1)


if __name__ == "__main__":
    main()
