"""Datasets made from datasets: programs read each to its end and one step beyond."""
from pipelines import Dataset, NUMBER, SCALAR, VECTOR, consume, experimental, function, numbers, over_numbers, through, through_variant, variant
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

# Order and number.
through("RepeatDataset TakeDataset", lambda: numbers(3).repeat(3).take(7), 9)
through("SkipDataset ShardDataset", lambda: numbers(9).skip(1).shard(3, 1))
through("ConcatenateDataset ZipDataset", lambda: Dataset.zip((numbers(3).concatenate(Dataset.range(9, 11)), numbers())))
through("ShuffleDatasetV3 ShuffleDataset ShuffleDatasetV2", lambda: numbers(9).shuffle(4, seed=3), 11)
over_numbers("ShuffleDatasetV3", 9, 11, buffer_size=4, seed=3, seed2=4,
             seed_generator=lambda: raw.AnonymousSeedGenerator(seed=3, seed2=4, reshuffle=True).handle)
# Of one element, for there is no way to give it a seed: TensorFlow's AnonymousRandomSeedGenerator fails.
over_numbers("ShuffleDatasetV2", 9, 11, buffer_size=1, seed_generator=raw.DummySeedGenerator)
through("ShuffleAndRepeatDatasetV2 ShuffleAndRepeatDataset", lambda: numbers(4).apply(experimental.shuffle_and_repeat(3, 2, seed=5)), 9)
over_numbers("ShuffleAndRepeatDatasetV2", 4, 11, buffer_size=3, seed=3, seed2=4, count=2,
             seed_generator=lambda: raw.AnonymousSeedGenerator(seed=3, seed2=4, reshuffle=True).handle)
through("UniqueDataset", lambda: Dataset.from_tensor_slices([1, 2, 1, 3, 2]).apply(experimental.unique()))
through("CacheDatasetV2 CacheDataset", lambda: numbers(3).cache().repeat(2))
over_numbers("CacheDatasetV2", 3, 4, filename="", cache=raw.DummyMemoryCache)
through("PrefetchDataset", lambda: numbers(4).prefetch(2))
through("OptionsDataset", lambda: numbers(3).with_options(tf.data.Options()))
through("AssertCardinalityDataset", lambda: numbers(3).apply(experimental.assert_cardinality(4)))
through("IgnoreErrorsDataset", lambda: Dataset.from_tensor_slices([1., 0., 2.]).map(lambda x: tf1.check_numerics(1. / x, "x")).apply(experimental.ignore_errors()))
# Batches.
through("BatchDatasetV2 BatchDataset", lambda: numbers().batch(3))
through("BatchDatasetV2", lambda: numbers().batch(3, drop_remainder=True))
through("ParallelBatchDataset", lambda: numbers(20).batch(3, num_parallel_calls=2), 9)
through("PaddedBatchDatasetV2 PaddedBatchDataset", lambda: numbers(5).map(lambda x: tf.fill([x], x)).padded_batch(2, [4], tf.constant(-1, I64)))
for name in ("BatchDataset", "PaddedBatchDataset"):
    known(name, "AddDataset", "TensorFlow cannot write this dataset into the graph that it optimises")
    known(name, "has not been initialized", "that follows from it")
through_variant("PaddedBatchDataset", lambda: raw.PaddedBatchDataset(
    input_dataset=variant(numbers(5).map(lambda x: tf.fill([x], x))), batch_size=2, padded_shapes=[np.array([4])],
    padding_values=[tf.constant(-1, I64)], output_shapes=[[None, None]]), [I64], [[None, None]], 4)
over_numbers("BatchDataset", typed=VECTOR, batch_size=3)
through("UnbatchDataset", lambda: numbers(6).batch(4).apply(experimental.unbatch()))
through("WindowDataset", lambda: numbers(7).window(3, 2, 2).flat_map(lambda x: x.batch(9)))
through_variant("SlidingWindowDataset", lambda: raw.SlidingWindowDataset(input_dataset=variant(numbers()), window_size=3, window_shift=2, window_stride=1,
                                                                   output_types=[I64], output_shapes=[[None]]), [I64], [[None]])
through("DenseToSparseBatchDataset", lambda: numbers(5).map(lambda x: tf.fill([x], x)).apply(experimental.dense_to_sparse_batch(2, [6])))
through("DenseToSparseBatchDataset", lambda: numbers(5).map(lambda x: tf.fill([x], x)).apply(experimental.dense_to_sparse_batch(2, [2])))
through("RebatchDatasetV2", lambda: numbers(11).batch(4).rebatch([2, 3, 1]), 9)
through("RebatchDatasetV2", lambda: numbers(11).batch(4).rebatch(3, drop_remainder=True), 9)
# Functions.
through("MapDataset", lambda: numbers().map(lambda x: (x * x, tf.cast(x, F32) / 2)))
through("MapDataset", lambda: numbers(4).map(lambda x: 6 // (x - 1)).filter(lambda y: 6 // (y - 3) > 0), 6)
through("ParallelMapDatasetV2 ParallelMapDataset", lambda: numbers(20).map(lambda x: x + 1, num_parallel_calls=3), 22)
over_numbers("ParallelMapDataset", other_arguments=[], num_parallel_calls=2, f=lambda: function(lambda x: x * x, SCALAR))
through("MapAndBatchDataset", lambda: numbers().apply(experimental.map_and_batch(lambda x: x * 2, 3)))
through("FlatMapDataset", lambda: numbers(4).flat_map(lambda x: Dataset.from_tensors(x).repeat(x)))
through("InterleaveDataset", lambda: numbers(4).interleave(lambda x: Dataset.from_tensors(x).repeat(3), 2, 2), 13)
through("InterleaveDataset", lambda: numbers(4).interleave(lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=-1, block_length=1), 8)
through("ParallelInterleaveDatasetV4 ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV2",
        lambda: numbers(4).interleave(lambda x: Dataset.from_tensors(x).repeat(3), 2, 2, num_parallel_calls=2), 13)


def as_variant(x):
    return variant(Dataset.from_tensors(x).repeat(2))


INTERLEAVED = dict(other_arguments=[], cycle_length=2, block_length=2)
for name, more in (("ParallelInterleaveDatasetV2", dict(num_parallel_calls=2)), ("ParallelInterleaveDatasetV3", dict(num_parallel_calls=2)),
                   ("ParallelInterleaveDataset", dict(sloppy=False, buffer_output_elements=2, prefetch_input_elements=1)),
                   ("ExperimentalParallelInterleaveDataset", dict(sloppy=False, buffer_output_elements=2, prefetch_input_elements=1)),
                   ("LegacyParallelInterleaveDatasetV2", dict(buffer_output_elements=2, prefetch_input_elements=1, deterministic="true"))):
    over_numbers(name, 3, 8, **INTERLEAVED, **more, f=lambda: function(as_variant, SCALAR))


def of_length(lengths):
    return lambda x: variant(Dataset.range(10 * x, 10 * x + tf.gather(tf.constant(lengths, I64), x)))


def with_nan(x):
    return variant(Dataset.from_tensor_slices(tf.stack([x, 0., x + 1, x + 2])).map(lambda y: tf1.check_numerics(10. / y, "y")))


def nan(x):
    return variant(Dataset.from_tensors(tf1.check_numerics(10. / x, "x")).repeat(3))


# The order of blocks, with datasets that end within one, and errors that count as elements where they are read ahead.
FLOAT = dict(output_types=[F32], output_shapes=[[]])
BLOCKS = (("InterleaveDataset", {}), ("ParallelInterleaveDatasetV2", dict(num_parallel_calls=2)), ("ParallelInterleaveDatasetV3", dict(num_parallel_calls=2)),
          ("ParallelInterleaveDatasetV4", dict(num_parallel_calls=2, buffer_output_elements=2, prefetch_input_elements=1)),
          ("ParallelInterleaveDataset", dict(sloppy=False, buffer_output_elements=2, prefetch_input_elements=1)),
          ("LegacyParallelInterleaveDatasetV2", dict(buffer_output_elements=2, prefetch_input_elements=1, deterministic="true")))
for name, more in BLOCKS:
    for lengths in ((2, 3, 4), (1, 5, 0, 2, 3), (7, 1, 2, 5, 3)):
        for cycle in (2, 3, 4):
            over_numbers(name, len(lengths), 20, other_arguments=[], cycle_length=cycle, block_length=3, **more,
                         f=lambda lengths=lengths: function(of_length(lengths), SCALAR))
    for f, values in ((with_nan, (1, 2, 4)), (with_nan, (-1, 2, 0)), (nan, (1, 0, 2, 4, 0)), (nan, (0, 0, 5))):
        def made(name=name, more=more, f=f, values=values):
            return getattr(raw, name)(input_dataset=variant(Dataset.from_tensor_slices(np.array(values, np.float32))), other_arguments=[], cycle_length=2,
                                      block_length=3, f=function(f, tf.TensorSpec([], F32)), **more, **FLOAT)

        through_variant(name, made, [F32], [[]], 14)
        through_variant(name, lambda made=made: raw.IgnoreErrorsDataset(input_dataset=made(), **FLOAT), [F32], [[]], 11)
through("FilterDataset", lambda: numbers().filter(lambda x: tf.equal(x % 2, 0)))
through_variant("ParallelFilterDataset", lambda: raw.ParallelFilterDataset(
    input_dataset=variant(numbers(20)), other_arguments=[], num_parallel_calls=3, deterministic="true", output_types=[I64], output_shapes=[[]],
    predicate=tf.function(lambda x: tf.equal(x % 3, 0)).get_concrete_function(tf.TensorSpec([], I64))), [I64], [[]])
known("ParallelFilterDataset", "AddDataset", "TensorFlow cannot write this dataset into the graph that it optimises")
known("ParallelFilterDataset", "has not been initialized", "that follows from it")
elsewhere("BatchDataset PaddedBatchDataset ParallelFilterDataset",
          "TensorFlow's iterators cannot write these versions into the graph that they optimise")
through("TakeWhileDataset", lambda: numbers().apply(experimental.take_while(lambda x: x < 4)))
through("ScanDataset", lambda: numbers().apply(experimental.scan(tf.constant(1, I64), lambda s, x: (s + x, s * x))))
through("GroupByWindowDataset", lambda: numbers(9).apply(experimental.group_by_window(lambda x: x % 2, lambda k, w: w.batch(3), 3)))
through("GroupByReducerDataset", lambda: numbers(9).apply(experimental.group_by_reducer(
    lambda x: x % 4, experimental.Reducer(lambda k: k * 100, lambda s, x: s + x, lambda s: (s, -s)))))
through_variant("GroupByReducerDataset", lambda: raw.GroupByReducerDataset(
    input_dataset=variant(numbers(9)), key_func_other_arguments=[], init_func_other_arguments=[], reduce_func_other_arguments=[],
    finalize_func_other_arguments=[], key_func=function(lambda x: x % 3, SCALAR), init_func=function(lambda k: k * 100, SCALAR),
    reduce_func=function(lambda s, x: s + x, SCALAR, SCALAR), finalize_func=function(lambda s: -s, SCALAR), **NUMBER), [I64], [[]], 5)
through("DirectedInterleaveDataset", lambda: experimental.choose_from_datasets([numbers(3), numbers(2)], Dataset.from_tensor_slices(np.array([0, 1, 1, 0, 1, 0], np.int64))))
# Hints and probes.
for name, more in (("SleepDataset", {"sleep_microseconds": 10}), ("SamplingDataset", {"rate": 0.5, "seed": 3, "seed2": 4})):
    through_variant(name, lambda name=name, more=more: getattr(raw, name)(input_dataset=variant(numbers()), output_types=[I64], output_shapes=[[]],
                                                                     **{k: np.int64(v) if isinstance(v, int) else v for k, v in more.items()}), [I64], [[]])
through_variant("ThreadPoolDataset ThreadPoolHandle", lambda: raw.ThreadPoolDataset(
    input_dataset=variant(numbers(3)), thread_pool=raw.ThreadPoolHandle(num_threads=2, display_name="p"), output_types=[I64], output_shapes=[[]]), [I64], [[]], 4)
through_variant("ChooseFastestDataset", lambda: raw.ChooseFastestDataset(
    input_datasets=[variant(numbers(3)), variant(numbers(3))], num_experiments=1, output_types=[I64], output_shapes=[[]]), [I64], [[]], 4)
through_variant("WrapDatasetVariant UnwrapDatasetVariant", lambda: raw.UnwrapDatasetVariant(
    input_handle=raw.WrapDatasetVariant(input_handle=variant(numbers(3)))), [I64], [[]], 4)


def _examples():
    feature = lambda i: tf.train.Features(feature={
        "dense": tf.train.Feature(int64_list=tf.train.Int64List(value=[i, i + 1])),
        "sparse": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"v"] * i))})
    return [tf.train.Example(features=feature(i)).SerializeToString() for i in range(5)]


FEATURES = {"dense": tf1.FixedLenFeature([2], I64), "sparse": tf1.VarLenFeature(tf.string)}
through("ParseExampleDatasetV2 ParseExampleDataset", lambda: Dataset.from_tensor_slices(_examples()).batch(2).apply(experimental.parse_example_dataset(FEATURES)), 4)
for name in ("ParseExampleDataset", "ExperimentalParseExampleDataset"):
    through_variant(name, lambda name=name: getattr(raw, name)(
        input_dataset=variant(Dataset.from_tensor_slices(_examples()).batch(2)), num_parallel_calls=1, dense_defaults=[np.array([], np.int64)], sparse_keys=[],
        dense_keys=["dense"], sparse_types=[], dense_shapes=[[2]], output_types=[I64], output_shapes=[[None, 2]]), [I64], [[None, 2]], 4)
through("ParseExampleDatasetV2", lambda: Dataset.from_tensor_slices([b"rubbish"]).batch(2).apply(experimental.parse_example_dataset(FEATURES)), 2)
consume("GetOptions", lambda: tf.strings.length(raw.GetOptions(input_dataset=variant(numbers()))))
over_numbers("GlobalShuffleDataset", 6, 7, seed=3, seed2=4, seed_generator=raw.DummySeedGenerator)
through_variant("ExperimentalGroupByWindowDataset", lambda: raw.ExperimentalGroupByWindowDataset(
    input_dataset=variant(numbers(9)), key_func_other_arguments=[], reduce_func_other_arguments=[], window_size_func_other_arguments=[],
    key_func=function(lambda x: x % 2, SCALAR), window_size_func=function(lambda k: tf.constant(3, I64), SCALAR),
    reduce_func=function(lambda k, w: raw.BatchDatasetV2(input_dataset=w, batch_size=3, drop_remainder=False, **VECTOR), SCALAR, tf.TensorSpec([], tf.variant)),
    **VECTOR), [I64], [[None]], 5)
over_numbers("ExperimentalDenseToSparseBatchDataset", typed=dict(output_types=[tf.variant], output_shapes=[[None, 3]]), batch_size=2, row_shape=np.array([], np.int64))
elsewhere("ExperimentalDenseToSparseBatchDataset", "rows of DenseToSparseBatchDataset, which is the same kernel, succeed")
over_numbers("ExperimentalIgnoreErrorsDataset ExperimentalNonSerializableDataset NonSerializableDataset FinalizeDataset ModelDataset ExperimentalUniqueDataset")
over_numbers("MaxIntraOpParallelismDataset ExperimentalMaxIntraOpParallelismDataset", max_intra_op_parallelism=1)
over_numbers("PrivateThreadPoolDataset ExperimentalPrivateThreadPoolDataset", num_threads=2)
over_numbers("ExperimentalThreadPoolDataset", thread_pool=lambda: raw.ExperimentalThreadPoolHandle(num_threads=2, display_name="p"))
over_numbers("ExperimentalMapAndBatchDataset", typed=VECTOR, other_arguments=[], batch_size=3, num_parallel_calls=2, drop_remainder=False,
             f=lambda: function(lambda x: x * x, SCALAR))
over_numbers("ExperimentalScanDataset", initial_state=[np.int64(1)], other_arguments=[], f=lambda: function(lambda s, x: (s + x, s * x), SCALAR, SCALAR))
over_numbers("ExperimentalSleepDataset", sleep_microseconds=10)
over_numbers("ExperimentalSlidingWindowDataset", typed=VECTOR, window_size=3, window_shift=2, window_stride=1)
over_numbers("ExperimentalTakeWhileDataset", other_arguments=[], predicate=lambda: function(lambda x: x < 4, SCALAR))
over_numbers("OptimizeDataset", optimizations=np.array([], str))
over_numbers("OptimizeDatasetV2", optimizations_enabled=np.array([], str), optimizations_disabled=np.array([], str), optimizations_default=np.array([], str))
for name in ("RebatchDataset", "ExperimentalRebatchDataset"):
    through_variant(name, lambda name=name: getattr(raw, name)(input_dataset=variant(numbers(9).batch(4)), num_replicas=2, **VECTOR), [I64], [[None]])
through_variant("ExperimentalUnbatchDataset", lambda: raw.ExperimentalUnbatchDataset(input_dataset=variant(numbers(5).batch(2)), **NUMBER), [I64], [[]], 7)
through_variant("ExperimentalChooseFastestDataset", lambda: raw.ExperimentalChooseFastestDataset(
    input_datasets=[variant(numbers(3)), variant(numbers(3))], num_experiments=1, **NUMBER), [I64], [[]], 4)
through_variant("ExperimentalDirectedInterleaveDataset", lambda: raw.ExperimentalDirectedInterleaveDataset(
    selector_input_dataset=variant(Dataset.from_tensor_slices(np.array([0, 1, 1, 0]))), data_input_datasets=[variant(numbers(3)), variant(numbers(2))], **NUMBER), [I64], [[]], 6)
known("AnonymousMemoryCache", "Cannot delete an unowned Resource", "these are counted references in TensorFlow, which then refuses its own op")
known("AnonymousMemoryCache", "Unknown input name: reshuffle", "TensorFlow's kernel asks for an input by a name that it does not have")


def resources(_):
    """Each kind is made and given back."""
    steps = []
    for made, give_back in (
            (raw.AnonymousMemoryCache(), raw.DeleteMemoryCache), (raw.AnonymousSeedGenerator(seed=3, seed2=4, reshuffle=True), raw.DeleteSeedGenerator),
            (raw.AnonymousRandomSeedGenerator(seed=3, seed2=4), raw.DeleteRandomSeedGenerator)):
        steps.append(give_back(handle=made.handle, deleter=made.deleter))
    return steps


program("AnonymousMemoryCache DeleteMemoryCache AnonymousSeedGenerator DeleteSeedGenerator AnonymousRandomSeedGenerator "
        "DeleteRandomSeedGenerator", 0, resources, NOTYPE)
elsewhere("AnonymousMemoryCache DeleteMemoryCache AnonymousRandomSeedGenerator DeleteRandomSeedGenerator DeleteSeedGenerator",
          "TensorFlow refuses its own handles")
# Flattened by index.
through_variant("WeightedFlatMapDataset", lambda: raw.WeightedFlatMapDataset(
    input_datasets=[variant(numbers(10)), variant(Dataset.range(100, 110)), variant(Dataset.range(1000, 1010))], weights=[np.float64(w) for w in (.5, .3, .2)], **NUMBER), [I64], [[]], 21)
for weights in ((0.5, -0.5), (0.0, 1.0), (1.0, 1.0, 1.0)):
    through_variant("WeightedFlatMapDataset", lambda weights=weights: raw.WeightedFlatMapDataset(
        input_datasets=[variant(numbers(4)), variant(numbers(4))], weights=[np.float64(w) for w in weights], **NUMBER), [I64], [[]], 2)
through_variant("IndexFlatMapDataset", lambda: raw.IndexFlatMapDataset(
    input_dataset=variant(numbers(4)), map_func_other_args=[], index_map_func_other_args=[], output_cardinality=np.int64(8),
    map_func=function(lambda x: tf.stack([x, x + 10]), SCALAR), index_map_func=function(lambda i: (i // 2, i % 2), SCALAR), **NUMBER), [I64], [[]], 9)
through_variant("IndexFlatMapDataset", lambda: raw.IndexFlatMapDataset(
    input_dataset=variant(numbers(4)), map_func_other_args=[], index_map_func_other_args=[], output_cardinality=np.int64(8),
    map_func=function(lambda x: tf.stack([x, x + 10]), SCALAR), index_map_func=function(lambda i: i, SCALAR), **NUMBER), [I64], [[]], 2)
through_variant("WindowOp", lambda: raw.WindowOp(inputs=[fed(Fed(i, I64)) for i in range(5)], output_types=[I64, I64], output_shapes=[[], []]), [I64, I64], [[], []], 4)
for batched in (lambda: numbers(9), lambda: numbers(9).batch(3), lambda: numbers(9).batch(3).take(2), lambda: Dataset.zip((numbers(9).batch(3), numbers(9).batch(3))),
                lambda: numbers(9).batch(3).concatenate(numbers(9).batch(2)), lambda: numbers(9).padded_batch(4), lambda: numbers(9).batch(3).map(lambda x: x)):
    program("ComputeBatchSize", 0, lambda _, batched=batched: [raw.ComputeBatchSize(input_dataset=variant(batched()))], NOTYPE)


# After an error: the next element, with and without ignore_errors.
def failing(x):
    return 6 // (x - 2)


def repeated(x):
    return Dataset.from_tensors(x).repeat(2)


FAILING = [
    lambda: numbers(6).map(failing), lambda: numbers(6).map(failing, num_parallel_calls=2), lambda: numbers(6).map(failing).batch(2), lambda: numbers(6).map(failing).batch(2, num_parallel_calls=2),
    lambda: numbers(6).map(failing).padded_batch(2), lambda: numbers(6).map(failing).prefetch(2), lambda: numbers(6).map(failing).cache(), lambda: numbers(6).map(failing).shuffle(3, seed=1),
    lambda: numbers(6).map(failing).repeat(2), lambda: numbers(6).map(failing).take(4), lambda: numbers(6).map(failing).skip(1), lambda: numbers(6).map(failing).skip(4), lambda: numbers(6).map(failing).shard(2, 0),
    lambda: numbers(6).map(failing).concatenate(numbers(2)), lambda: Dataset.zip((numbers(6).map(failing), numbers(6))).map(lambda a, b: a * 10 + b), lambda: numbers(6).map(failing).filter(lambda x: x > -9),
    lambda: numbers(6).filter(lambda x: 6 // (x - 2) < 4), lambda: numbers(6).map(failing).window(2).flat_map(lambda w: w), lambda: numbers(6).map(failing).enumerate().map(lambda i, x: i + x),
    lambda: numbers(6).flat_map(lambda x: repeated(6 // (x - 2))), lambda: numbers(4).flat_map(lambda x: numbers(4).map(lambda y: failing(y + x))),
    lambda: numbers(6).interleave(lambda x: repeated(6 // (x - 2)), 2, 2), lambda: numbers(4).interleave(lambda x: numbers(4).map(lambda y: failing(y + x)), 2, 2),
    lambda: numbers(4).interleave(lambda x: numbers(4).map(lambda y: failing(y + x)), 3, 1), lambda: numbers(6).map(failing).interleave(repeated, 2, 1),
    lambda: numbers(6).interleave(lambda x: repeated(6 // (x - 2)), 2, 2, num_parallel_calls=2), lambda: numbers(4).interleave(lambda x: numbers(4).map(lambda y: failing(y + x)), 2, 2, num_parallel_calls=2),
    lambda: numbers(4).interleave(lambda x: numbers(4).map(lambda y: failing(y + x)).apply(experimental.ignore_errors()), 2, 2), lambda: numbers(6).map(failing).interleave(repeated, 2, 1, num_parallel_calls=2),
    lambda: numbers(6).apply(experimental.scan(tf.constant(0, I64), lambda s, x: (s + x, 6 // (x - 2)))), lambda: numbers(6).map(failing).apply(experimental.take_while(lambda x: x < 9)),
    lambda: numbers(6).apply(experimental.take_while(lambda x: 6 // (x - 2) < 9)), lambda: numbers(6).map(failing).apply(experimental.unique()),
    lambda: numbers(6).apply(experimental.map_and_batch(failing, 2)), lambda: numbers(6).apply(experimental.group_by_window(lambda x: 6 // (x - 2) % 2, lambda k, w: w.batch(2).map(tf.reduce_sum), 2)),
    lambda: numbers(6).map(failing).apply(experimental.group_by_window(lambda x: x % 2, lambda k, w: w.batch(2).map(tf.reduce_sum), 2)),
    lambda: numbers(6).apply(experimental.group_by_window(lambda x: x % 2, lambda k, w: w.batch(2).map(lambda b: tf.reduce_sum(6 // (b - 2))), 2)),
    lambda: numbers(6).map(failing).batch(2, drop_remainder=True), lambda: numbers(6).batch(3).map(lambda b: 6 // (b - 2)).unbatch(),
]
through("AssertCardinalityDataset", lambda: numbers(6).map(failing).apply(experimental.assert_cardinality(6)), 9)  # ignore_errors would not end
for make in FAILING:
    through("IgnoreErrorsDataset", make, 9)
    through("IgnoreErrorsDataset", lambda make=make: make().apply(experimental.ignore_errors()), 9)
# Caches of passes that end early, that begin again and that failed.
for file in ("", "early"):
    through("CacheDatasetV2", lambda file=file: numbers(5).cache(file).take(2).repeat(2), 6)
    through("CacheDatasetV2", lambda file=file: numbers(5).cache(file and file + "_whole").repeat(2).skip(3), 9)
    through("CacheDatasetV2", lambda file=file: Dataset.zip((numbers(5).cache(file and file + "_a"), numbers(3).cache(file and file + "_b"))).map(lambda a, b: a + b).repeat(2), 9)
    through("CacheDatasetV2", lambda file=file: numbers(0).cache(file and file + "_none").repeat(2), 2)
    through("CacheDatasetV2", lambda file=file: numbers(3).flat_map(lambda x: numbers(3).cache(file and file + "_inner")), 11)
    through("CacheDatasetV2", lambda file=file: numbers(3).map(lambda x: tf.fill([x], x)).cache(file and file + "_rows").map(tf.size).repeat(2), 8)
