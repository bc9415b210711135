"""Datasets and iterators: programs that go through a pipeline, element by element, to its end and one step beyond."""
import os
import tempfile

from tensorflow.python.data.experimental.ops import distribute
from tensorflow.python.data.ops import multi_device_iterator_ops  # pylint: disable=unused-import

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

Dataset = tf1.data.Dataset
experimental = tf1.data.experimental
NOTYPE = [None]


def through(ops, make, steps=8):
    """`make()` gives a dataset; each step takes its next element."""

    def build(_):
        iterator = tf1.data.make_initializable_iterator(make())
        element = iterator.get_next()
        return [iterator.initializer] + [tf.nest.flatten(element, expand_composites=True)] * steps

    build.__name__ = ops.split()[0]
    program(ops, 0, build, NOTYPE)


def raw(ops, make, types, shapes, steps=8):
    """`make()` gives the variant of a dataset of those types and shapes."""

    def build(_):
        iterator = tf.raw_ops.IteratorV2(shared_name="", container="", output_types=types, output_shapes=shapes)
        begin = tf.raw_ops.MakeIterator(dataset=make(), iterator=iterator)
        element = tf.raw_ops.IteratorGetNext(iterator=iterator, output_types=types, output_shapes=shapes)
        return [begin] + [element] * steps

    build.__name__ = ops.split()[0]
    program(ops, 0, build, NOTYPE)


def numbers(n=7):
    return Dataset.range(n)


def variant(dataset):
    return dataset._variant_tensor  # pylint: disable=protected-access


# Sources.
through("RangeDataset", lambda: Dataset.range(5, -4, -3))
through("TensorDataset", lambda: Dataset.from_tensors((tf.constant([1, 2]), fed(V((2, 2), F32)))), 3)
through("TensorSliceDataset", lambda: Dataset.from_tensor_slices({"a": fed(V((3, 2), F64)), "b": ["x", "y", "z"]}), 5)
through("SparseTensorSliceDataset", lambda: Dataset.from_sparse_tensor_slices(tf1.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])), 5)
through("RandomDatasetV2 RandomDataset", lambda: experimental.RandomDataset(seed=7), 4)
# Order and number.
through("RepeatDataset TakeDataset", lambda: numbers(3).repeat(3).take(7), 9)
through("SkipDataset ShardDataset", lambda: numbers(9).skip(1).shard(3, 1))
through("ConcatenateDataset ZipDataset", lambda: Dataset.zip((numbers(3).concatenate(Dataset.range(9, 11)), numbers())))
through("ShuffleDatasetV3 ShuffleDataset ShuffleDatasetV2", lambda: numbers(9).shuffle(4, seed=3), 11)
through("ShuffleAndRepeatDatasetV2 ShuffleAndRepeatDataset", lambda: numbers(4).apply(experimental.shuffle_and_repeat(3, 2, seed=5)), 9)
through("UniqueDataset", lambda: Dataset.from_tensor_slices([1, 2, 1, 3, 2]).apply(experimental.unique()))
through("CacheDatasetV2 CacheDataset", lambda: numbers(3).cache().repeat(2))
through("PrefetchDataset", lambda: numbers(4).prefetch(2))
through("OptionsDataset", lambda: numbers(3).with_options(tf.data.Options()))
through("AssertCardinalityDataset", lambda: numbers(3).apply(experimental.assert_cardinality(4)))
through("IgnoreErrorsDataset", lambda: Dataset.from_tensor_slices([1., 0., 2.]).map(lambda x: tf1.check_numerics(1. / x, "x")).apply(experimental.ignore_errors()))
# Batches.
through("BatchDatasetV2 BatchDataset", lambda: numbers().batch(3))
through("BatchDatasetV2", lambda: numbers().batch(3, drop_remainder=True))
through("ParallelBatchDataset", lambda: numbers(20).batch(3, num_parallel_calls=2), 9)
through("PaddedBatchDatasetV2 PaddedBatchDataset", lambda: numbers(5).map(lambda x: tf.fill([x], x)).padded_batch(2, [4], tf.constant(-1, I64)))
through("UnbatchDataset", lambda: numbers(6).batch(4).apply(experimental.unbatch()))
through("WindowDataset", lambda: numbers(7).window(3, 2, 2).flat_map(lambda x: x.batch(9)))
raw("SlidingWindowDataset", lambda: tf.raw_ops.SlidingWindowDataset(input_dataset=variant(numbers()), window_size=3, window_shift=2, window_stride=1,
                                                                   output_types=[I64], output_shapes=[[None]]), [I64], [[None]])
through("DenseToSparseBatchDataset", lambda: numbers(5).map(lambda x: tf.fill([x], x)).apply(experimental.dense_to_sparse_batch(2, [6])))
through("DenseToSparseBatchDataset", lambda: numbers(5).map(lambda x: tf.fill([x], x)).apply(experimental.dense_to_sparse_batch(2, [2])))
through("RebatchDatasetV2", lambda: numbers(11).batch(4).rebatch([2, 3, 1]), 9)
through("RebatchDatasetV2", lambda: numbers(11).batch(4).rebatch(3, drop_remainder=True), 9)
through("AutoShardDataset", lambda: distribute._AutoShardDataset(numbers(8), 3, 1))  # pylint: disable=protected-access
# Functions.
through("MapDataset", lambda: numbers().map(lambda x: (x * x, tf.cast(x, F32) / 2)))
through("ParallelMapDatasetV2 ParallelMapDataset", lambda: numbers(20).map(lambda x: x + 1, num_parallel_calls=3), 22)
through("MapAndBatchDataset", lambda: numbers().apply(experimental.map_and_batch(lambda x: x * 2, 3)))
through("FlatMapDataset", lambda: numbers(4).flat_map(lambda x: Dataset.from_tensors(x).repeat(x)))
through("InterleaveDataset", lambda: numbers(4).interleave(lambda x: Dataset.from_tensors(x).repeat(3), 2, 2), 13)
through("ParallelInterleaveDatasetV4 ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV2",
        lambda: numbers(4).interleave(lambda x: Dataset.from_tensors(x).repeat(3), 2, 2, num_parallel_calls=2), 13)
through("FilterDataset", lambda: numbers().filter(lambda x: tf.equal(x % 2, 0)))
raw("ParallelFilterDataset", lambda: tf.raw_ops.ParallelFilterDataset(
    input_dataset=variant(numbers(20)), other_arguments=[], num_parallel_calls=3, deterministic="true", output_types=[I64], output_shapes=[[]],
    predicate=tf.function(lambda x: tf.equal(x % 3, 0)).get_concrete_function(tf.TensorSpec([], I64))), [I64], [[]])
known("ParallelFilterDataset", "AddDataset", "TensorFlow cannot write this dataset into the graph that it optimises")
known("ParallelFilterDataset", "has not been initialized", "that follows from it")
through("TakeWhileDataset", lambda: numbers().apply(experimental.take_while(lambda x: x < 4)))
through("ScanDataset", lambda: numbers().apply(experimental.scan(tf.constant(1, I64), lambda s, x: (s + x, s * x))))
through("GroupByWindowDataset", lambda: numbers(9).apply(experimental.group_by_window(lambda x: x % 2, lambda k, w: w.batch(3), 3)))
through("GroupByReducerDataset", lambda: numbers(9).apply(experimental.group_by_reducer(
    lambda x: x % 4, experimental.Reducer(lambda k: k * 100, lambda s, x: s + x, lambda s: (s, -s)))))
through("DirectedInterleaveDataset", lambda: experimental.choose_from_datasets([numbers(3), numbers(2)], Dataset.from_tensor_slices(np.array([0, 1, 1, 0, 1, 0], np.int64))))
through("GeneratorDataset", lambda: Dataset.range(2).flat_map(lambda x: Dataset.from_tensors(x)), 4)
# Hints and probes.
for name, more in (("SleepDataset", {"sleep_microseconds": 10}), ("SamplingDataset", {"rate": 0.5, "seed": 3, "seed2": 4})):
    raw(name, lambda name=name, more=more: getattr(tf.raw_ops, name)(input_dataset=variant(numbers()), output_types=[I64], output_shapes=[[]],
                                                                     **{k: np.int64(v) if isinstance(v, int) else v for k, v in more.items()}), [I64], [[]])
raw("ThreadPoolDataset ThreadPoolHandle", lambda: tf.raw_ops.ThreadPoolDataset(
    input_dataset=variant(numbers(3)), thread_pool=tf.raw_ops.ThreadPoolHandle(num_threads=2, display_name="p"), output_types=[I64], output_shapes=[[]]), [I64], [[]], 4)
raw("ChooseFastestDataset", lambda: tf.raw_ops.ChooseFastestDataset(
    input_datasets=[variant(numbers(3)), variant(numbers(3))], num_experiments=1, output_types=[I64], output_shapes=[[]]), [I64], [[]], 4)
raw("WrapDatasetVariant UnwrapDatasetVariant", lambda: tf.raw_ops.UnwrapDatasetVariant(
    input_handle=tf.raw_ops.WrapDatasetVariant(input_handle=variant(numbers(3)))), [I64], [[]], 4)

# Files.
_CSV = "a,b,c\n1,2.5,x\n,3,\"q\"\"u,o\"\n7,,\n"


def _written(text, suffix):
    path = os.path.join(tempfile.gettempdir(), "weir_table_data_%d%s" % (os.getpid(), suffix))
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def csv(**options):
    return lambda: experimental.CsvDataset([_written(_CSV, ".csv")], [[0], tf.constant([-1.0]), "none"], header=True, **options)


through("CSVDatasetV2 CSVDataset", csv(), 5)
through("CSVDatasetV2", lambda: experimental.CsvDataset([_written(_CSV, ".csv")], [tf.string, F32], header=True, select_cols=[0, 1]), 5)
through("CSVDatasetV2", lambda: experimental.CsvDataset([_written("1,\"2\n3\n", "_open.csv")], [I32, tf.string]), 3)
through("CSVDatasetV2", lambda: experimental.CsvDataset([_written("a,1\n\nb,2\n", "_gap.csv")], [tf.string], select_cols=[0]), 5)
through("TextLineDataset", lambda: tf1.data.TextLineDataset([_written(_CSV, ".txt")]), 6)


def _examples():
    feature = lambda i: tf.train.Features(feature={
        "dense": tf.train.Feature(int64_list=tf.train.Int64List(value=[i, i + 1])),
        "sparse": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"v"] * i))})
    return [tf.train.Example(features=feature(i)).SerializeToString() for i in range(5)]


FEATURES = {"dense": tf1.FixedLenFeature([2], I64), "sparse": tf1.VarLenFeature(tf.string)}
through("ParseExampleDatasetV2 ParseExampleDataset", lambda: Dataset.from_tensor_slices(_examples()).batch(2).apply(experimental.parse_example_dataset(FEATURES)), 4)
through("ParseExampleDatasetV2", lambda: Dataset.from_tensor_slices([b"rubbish"]).batch(2).apply(experimental.parse_example_dataset(FEATURES)), 2)


# Consumers.
def consume(ops, make):
    def build(_):
        return [make()]

    build.__name__ = ops.split()[0]
    program(ops, 0, build, NOTYPE)


consume("ReduceDataset", lambda: numbers().reduce(tf.constant(0, I64), lambda s, x: s + x))
consume("DatasetCardinality", lambda: experimental.cardinality(numbers().batch(2)))
consume("DatasetToSingleElement", lambda: experimental.get_single_element(numbers(1)))
for _types, _shapes in (([I32], [[2]]), ([F32], [[]]), ([I32], [None]), ([I32, I32], [[], []])):
    consume("DatasetToSingleElement", lambda t=_types, s=_shapes: tf.raw_ops.DatasetToSingleElement(
        dataset=variant(Dataset.from_tensors(3)), output_types=t, output_shapes=s))
consume("GetOptions", lambda: tf.strings.length(tf.raw_ops.GetOptions(input_dataset=variant(numbers()))))
consume("MapDefun", lambda: tf.raw_ops.MapDefun(
    arguments=[fed(V((4, 2), F32))], captured_inputs=[fed(V((2,), F32))], output_types=[F32, F32], output_shapes=[[2], []],
    f=tf.function(lambda x, c: (x + c, tf.reduce_sum(x))).get_concrete_function(tf.TensorSpec([2], F32), tf.TensorSpec([2], F32))))


def shards(_):
    """One pass dealt out to two shards."""
    common = dict(output_types=[I64], output_shapes=[[]])
    iterator = tf.raw_ops.MultiDeviceIterator(devices=["a", "b"], shared_name="", container="", **common)
    number = tf.raw_ops.MultiDeviceIteratorInit(dataset=variant(numbers(5)), multi_device_iterator=iterator, max_buffer_size=4)
    take = [tf.raw_ops.MultiDeviceIteratorGetNextFromShard(multi_device_iterator=iterator, shard_num=s, incarnation_id=np.int64(1), **common) for s in (0, 1, 2)]
    return [number, take[0], take[1], take[1], take[0], take[0], take[1]]


program("MultiDeviceIterator MultiDeviceIteratorInit MultiDeviceIteratorGetNextFromShard", 0, shards, NOTYPE)
through("InterleaveDataset", lambda: numbers(4).interleave(lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=-1, block_length=1), 8)
through("AnonymousIterator", lambda: numbers(4).apply(experimental.copy_to_device("/cpu:0")), 6)
through("MapDataset", lambda: numbers(4).map(lambda x: 6 // (x - 1)).filter(lambda y: 6 // (y - 3) > 0), 6)
