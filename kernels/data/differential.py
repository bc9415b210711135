"""Properties of datasets, their consumers, and assertions about them."""
from tensorflow.core.framework.dataset_options_pb2 import CardinalityOptions
from tensorflow.python.data.experimental.ops import distribute

from pipelines import Dataset, NUMBER, SCALAR, VECTOR, consume, experimental, function, numbers, over_numbers, through, through_variant, variant
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

through("AutoShardDataset", lambda: distribute._AutoShardDataset(numbers(8), 3, 1))  # pylint: disable=protected-access
consume("ReduceDataset", lambda: numbers().reduce(tf.constant(0, I64), lambda s, x: s + x))


def twice(x):
    return Dataset.from_tensors(x).repeat(2)


def interleaved(op, **more):
    return lambda d: getattr(raw, op)(input_dataset=variant(d), other_arguments=[], cycle_length=2, block_length=2,
                                      f=function(lambda x: variant(twice(x)), SCALAR), **more, **NUMBER)


AHEAD = dict(buffer_output_elements=2, prefetch_input_elements=1)
COUNTED = [
    lambda d: d.flat_map(twice), lambda d: d.flat_map(twice).batch(4).prefetch(2).skip(1).repeat(3), lambda d: d.flat_map(lambda x: twice(x).flat_map(twice)),
    lambda d: d.flat_map(lambda x: Dataset.from_tensors(6 // (x - 1))), lambda d: d.flat_map(lambda x: twice(x).repeat()), lambda d: d.flat_map(twice).take(4),
    lambda d: d.flat_map(twice).filter(lambda x: x > 0), lambda d: Dataset.zip((d.flat_map(twice), d)), lambda d: d.flat_map(twice).concatenate(d),
    lambda d: raw.MapDataset(input_dataset=variant(d), other_arguments=[], f=function(lambda x: x, SCALAR), preserve_cardinality=True, **NUMBER),
    interleaved("InterleaveDataset"), interleaved("ParallelInterleaveDatasetV2", num_parallel_calls=2), interleaved("ParallelInterleaveDatasetV3", num_parallel_calls=2),
    interleaved("ParallelInterleaveDatasetV4", num_parallel_calls=2, **AHEAD), interleaved("ParallelInterleaveDataset", sloppy=False, **AHEAD),
    interleaved("LegacyParallelInterleaveDatasetV2", **AHEAD),
    lambda d: d.apply(experimental.group_by_window(lambda x: x % 2, lambda k, w: w.batch(3), 3)), lambda d: d.enumerate(), lambda d: d.apply(experimental.ignore_errors()),
    lambda d: d.apply(experimental.bucket_by_sequence_length(lambda x: tf.cast(x, I32), [3, 5], [2, 2, 2])), lambda d: d.apply(experimental.assert_cardinality(4)),
    lambda d: d.apply(experimental.scan(tf.constant(1, I64), lambda s, x: (s + x, s * x))), lambda d: d.repeat(), lambda d: d.batch(3, drop_remainder=True).unbatch(),
]


def counts(_):
    """Of finite, empty and infinite inputs, without and with calls of functions."""
    steps = []
    for make in COUNTED:
        for source, levels in ((numbers(9), (0, 1, 2)), (numbers(0), (0, 1, 2)), (numbers(9).repeat(), (0, 1))):  # TensorFlow would not end
            made = make(source)
            made = made if isinstance(made, tf.Tensor) else variant(made)
            for level in levels:
                steps.append(raw.DatasetCardinality(input_dataset=made, cardinality_options=CardinalityOptions(compute_level=level).SerializeToString()))
    return steps


program("DatasetCardinality", 0, counts, NOTYPE)
consume("DatasetToSingleElement", lambda: experimental.get_single_element(numbers(1)))
for _types, _shapes in (([I32], [[2]]), ([F32], [[]]), ([I32], [None]), ([I32, I32], [[], []])):
    consume("DatasetToSingleElement", lambda t=_types, s=_shapes: raw.DatasetToSingleElement(
        dataset=variant(Dataset.from_tensors(3)), output_types=t, output_shapes=s))
over_numbers("ExperimentalAutoShardDataset", num_workers=2, index=1)


def table_from_dataset(t):
    made = raw.HashTableV2(key_dtype=I64, value_dtype=t, shared_name="from_dataset")
    dataset = tf1.data.Dataset.range(4).map(lambda x: (x * x, tf.cast(x, t)))
    find = raw.LookupTableFindV2(table_handle=made, keys=np.array([0, 1, 4, 5]), default_value=tf.zeros([], t))
    return [raw.InitializeTableFromDataset(table_handle=made, dataset=dataset._variant_tensor),  # pylint: disable=protected-access
            find, raw.LookupTableSizeV2(table_handle=made)]


program("InitializeTableFromDataset", 0, table_from_dataset, [I64, F32])


def mapped_by(op, call=lambda x: x * x, n=5, **more):
    return lambda: getattr(raw, op)(input_dataset=variant(numbers(n)), other_arguments=[], f=function(call, SCALAR), preserve_cardinality=True, **more, **NUMBER)


def unbatched():
    return raw.UnbatchDataset(input_dataset=variant(numbers(6).batch(3, drop_remainder=True)), **NUMBER)


def flattened():
    return raw.IndexFlatMapDataset(
        input_dataset=variant(numbers(4)), map_func_other_args=[], index_map_func_other_args=[], output_cardinality=np.int64(8),
        map_func=function(lambda x: tf.stack([x, x + 10]), SCALAR), index_map_func=function(lambda i: (i // 2, i % 2), SCALAR), **NUMBER)


def weighted():
    return raw.WeightedFlatMapDataset(input_datasets=[variant(numbers(4))] * 2, weights=[np.float64(.5)] * 2, **NUMBER)


def hinted(op, **more):
    return lambda: getattr(raw, op)(input_dataset=variant(numbers(5)), **more, **NUMBER)


INDEXED = [  # with random access, in TensorFlow
    lambda: numbers(5), lambda: Dataset.from_tensors(tf.constant(3, I64)), lambda: Dataset.from_tensor_slices(np.arange(5)), mapped_by("MapDataset"),
    mapped_by("ParallelMapDataset", num_parallel_calls=2), mapped_by("ParallelMapDatasetV2", num_parallel_calls=2), mapped_by("MapDataset", lambda x: 6 // (x - 2)),
    lambda: numbers(5).take(3), lambda: numbers(5).take(-1), lambda: numbers(5).skip(3), lambda: numbers(5).skip(0), lambda: numbers(2).repeat(2),
    lambda: numbers(5).cache(), lambda: numbers(5).prefetch(2), lambda: numbers(5).shard(2, 1), lambda: numbers(2).concatenate(numbers(3)),
    lambda: numbers(5).with_options(tf.data.Options()), lambda: numbers(5).apply(experimental.assert_cardinality(5)),
    hinted("AutoShardDataset", num_workers=2, index=0),
    lambda: raw.ListDataset(tensors=[tf.constant(1, I64), tf.constant(2, I64)], **NUMBER),
]
UNSHUFFLED = [unbatched, lambda: numbers(3).shuffle(3, seed=1), lambda: numbers(5).take(0), lambda: numbers(5).skip(9), lambda: numbers(5).skip(-1),
              lambda: numbers(5).repeat(0), lambda: numbers(5).repeat()]
UNINDEXED = [
    lambda: numbers(5).filter(lambda x: x > 2), lambda: numbers(5).flat_map(twice), lambda: numbers(5).interleave(twice), weighted,
    lambda: numbers(5).apply(experimental.scan(tf.constant(1, I64), lambda s, x: (s + x, s * x))), lambda: numbers(5).apply(experimental.ignore_errors()),
    lambda: numbers(5).filter(lambda x: x > -1).apply(experimental.assert_cardinality(5)), lambda: numbers(5).apply(experimental.unique()),
    hinted("PrivateThreadPoolDataset", num_threads=2), hinted("MaxIntraOpParallelismDataset", max_intra_op_parallelism=2), hinted("ModelDataset"),
    hinted("SleepDataset", sleep_microseconds=1), lambda: numbers(5).cache("unindexed"),
]
BATCHED = [lambda: numbers(5).batch(2), lambda: numbers(5).batch(2, drop_remainder=True), lambda: numbers(5).padded_batch(2),
           lambda: numbers(5).batch(2, num_parallel_calls=2), lambda: numbers(6).batch(3, drop_remainder=True).rebatch(2)]


def handle(make):
    made = make()
    return made if isinstance(made, tf.Tensor) else variant(made)


def random_access(_):
    steps = []
    too_few = lambda: numbers(5).apply(experimental.assert_cardinality(6))
    for makes, typed in ((INDEXED + UNSHUFFLED + UNINDEXED + [flattened, too_few], NUMBER), (BATCHED, VECTOR)):
        for make in makes:
            steps += [raw.GetElementAtIndex(dataset=handle(make), index=fed(i, I64), **typed) for i in (0, 2, 5, -1)]
    for types, shapes in (([F32], [[]]), ([I64, I64], [[], []]), ([I64], [[2]])):
        steps.append(raw.GetElementAtIndex(dataset=handle(numbers), index=fed(1, I64), output_types=types, output_shapes=shapes))
    return steps


program("GetElementAtIndex", 0, random_access, NOTYPE)
for makes, typed in ((INDEXED + UNSHUFFLED + UNINDEXED + [flattened], NUMBER), (BATCHED, VECTOR)):
    for shuffled in makes:
        through_variant("GlobalShuffleDataset", lambda shuffled=shuffled, typed=typed: raw.GlobalShuffleDataset(
            input_dataset=handle(shuffled), seed=3, seed2=4, seed_generator=raw.DummySeedGenerator(), **typed), typed["output_types"], typed["output_shapes"], 9)


def graphs(_):
    dataset = variant(numbers(5).batch(2))
    text = [raw.DatasetToGraph(input_dataset=dataset), raw.DatasetToGraphV2(input_dataset=dataset)]
    back = [raw.DatasetCardinality(input_dataset=raw.DatasetFromGraph(graph_def=t)) for t in text]
    return back + [raw.DatasetCardinality(input_dataset=raw.DatasetFromGraph(graph_def=fed(b"rubbish", STRING))),
                   raw.ExperimentalDatasetCardinality(input_dataset=dataset)]


program("DatasetToGraph DatasetToGraphV2 DatasetFromGraph ExperimentalDatasetCardinality", 0, graphs, NOTYPE)


# Assertions about a pipeline.
def asserted(op, transformations, build, steps=3):
    def make():
        source = numbers(5)
        checked = getattr(raw, op)(input_dataset=variant(source), transformations=np.array(transformations), **NUMBER)
        return build(checked)

    through_variant(op, make, [I64], [[]], steps)


def unoptimised(handle):
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return raw.OptionsDataset(input_dataset=handle, serialized_options=options._to_proto().SerializeToString(), **NUMBER)  # pylint: disable=protected-access


def mapped(handle):
    return raw.MapDataset(input_dataset=handle, other_arguments=[], f=function(lambda x: x * 2, SCALAR), **NUMBER)


def taken(handle):
    return raw.TakeDataset(input_dataset=handle, count=np.int64(3), **NUMBER)


for name in ("AssertNextDataset", "ExperimentalAssertNextDataset"):
    for wanted in (["Map"], ["Map", "FiniteTake"], ["MapV2"], ["Take"], ["Map", "FiniteTake", "Root"], ["A"] * 4):
        asserted(name, wanted, lambda d: unoptimised(taken(mapped(d))))
asserted("AssertNextDataset", ["Shuffle"], lambda d: unoptimised(raw.ShuffleDatasetV3(
    input_dataset=d, buffer_size=1, seed=1, seed2=1, seed_generator=raw.DummySeedGenerator(), **NUMBER)))
for wanted in ([], ["name: 'RangeDataset'"], ["name: 'Range'"], ["name: 'RangeDataset' attr { key: 'replicate_on_split' value { b: false } }"], ["not text"],
               ["name: 'RangeDataset'", "name: 'RangeDataset'"]):
    asserted("AssertPrevDataset", np.array(wanted, object), lambda d: d)
    through_variant("AssertPrevDataset", lambda wanted=wanted: raw.AssertPrevDataset(input_dataset=variant(numbers(3)), transformations=np.array(wanted, object), **NUMBER), [I64], [[]], 2)


# Compressed elements.
def compressed(_):
    packed = raw.CompressElement(components=[fed(V((2, 3), F32)), fed(V((3,), STRING)), fed(V((), I64)), fed(V((0, 2), BOOL))])
    types, shapes = [F32, STRING, I64, BOOL], [[2, 3], [3], [], [0, 2]]
    nothing = raw.EmptyTensorList(element_shape=-1, max_num_elements=1, element_dtype=F32)
    return [raw.UncompressElement(compressed=packed, output_types=types, output_shapes=shapes),
            raw.UncompressElement(compressed=packed, output_types=types[:1], output_shapes=shapes[:1]),
            raw.UncompressElement(compressed=packed, output_types=types[::-1], output_shapes=shapes[::-1]),
            raw.UncompressElement(compressed=nothing, output_types=types[:1], output_shapes=shapes[:1]),
            raw.TensorListLength(input_handle=raw.UncompressElement(compressed=raw.CompressElement(components=[nothing]), output_types=[tf.variant], output_shapes=[[]])[0])]


program("CompressElement UncompressElement", 0, compressed, NOTYPE)
elsewhere("CompressElement", "its rows end with UncompressElement")


def fingerprints(_):
    def of(dataset):
        return raw.DatasetFingerprint(input_dataset=variant(dataset))

    first = of(numbers(3).map(lambda x: x + 1))
    return [tf.equal(first, of(numbers(3).map(lambda x: x + 1))), tf.equal(first, of(numbers(4).map(lambda x: x + 1))),
            tf.equal(first, of(numbers(3).map(lambda x: x + 2)))]


program("DatasetFingerprint", 0, fingerprints, NOTYPE)


# State outside of a dataset: functions that have some are not written where that is asked for.
def drawn(x):
    return x + tf.cast(tf.random.uniform([], 0, 1), I64)


def asserted_positive(x):
    with tf.control_dependencies([tf1.Assert(x >= 0, [x])]):
        return tf.identity(x)


def variable_named(name):
    return raw.VarHandleOp(dtype=I64, shape=[], shared_name=name)


def failing(dataset):
    options = tf.data.Options()
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.FAIL
    return dataset.with_options(options)


STATEFUL = [
    lambda: numbers(5).map(lambda x: x + 1), lambda: numbers(5).map(drawn), lambda: numbers(5).map(asserted_positive),
    lambda: numbers(5).map(lambda x: tf.cond(x > 2, lambda: drawn(x), lambda: x)), lambda: numbers(5).map(drawn, num_parallel_calls=2).batch(2).unbatch(),
    lambda: numbers(5).map(lambda x: tf.while_loop(lambda i: i < 3, lambda i: (drawn(i) + 1,), [x * 0])), lambda: numbers(5).flat_map(lambda x: numbers(2).map(drawn)),
    lambda: numbers(5).flat_map(lambda x: numbers(2).shuffle(2)), lambda: numbers(5).flat_map(lambda x: numbers(2).cache()), lambda: numbers(5).shuffle(3).cache(),
    lambda: numbers(5).filter(lambda x: drawn(x) > -1), lambda: Dataset.zip((numbers(5).map(drawn), numbers(5))).map(lambda a, b: a),
    lambda: numbers(5).apply(experimental.scan(tf.constant(1, I64), lambda s, x: (drawn(s), x))), lambda: numbers(5).interleave(lambda x: numbers(2).map(drawn)),
    lambda: numbers(5).apply(experimental.group_by_window(lambda x: drawn(x) % 2, lambda k, w: w, 3)), lambda: failing(numbers(5).map(drawn)),
    lambda: numbers(5).map(lambda x: tf.cast(raw.VarIsInitializedOp(resource=variable_named("inner")), I64)),
    lambda: (lambda table: numbers(5).map(lambda x: raw.LookupTableSizeV2(table_handle=table)))(raw.HashTableV2(key_dtype=I64, value_dtype=I64, shared_name="sizes")),
    lambda: hinted("AutoShardDataset", num_workers=2, index=0)(), lambda: numbers(5).map(lambda x: tf.random.shuffle([x, x])[0]).map(drawn),
]


def external_state(_):
    steps = []
    for make in STATEFUL:
        dataset = handle(make)
        steps += [raw.DatasetToGraph(input_dataset=dataset).op, raw.DatasetToGraph(input_dataset=dataset, allow_stateful=True).op]
        steps += [raw.DatasetToGraphV2(input_dataset=dataset, external_state_policy=policy).op for policy in (0, 1, 2)]
        iterator = raw.IteratorV2(shared_name="state %d" % len(steps), container="", **NUMBER)
        steps.append(raw.MakeIterator(dataset=dataset, iterator=iterator))
        steps += [raw.SerializeIterator(resource_handle=iterator, external_state_policy=policy) for policy in (0, 1, 2, 7)]
    return steps


program("SerializeIterator DatasetToGraph DatasetToGraphV2", WORDS, external_state, NOTYPE)
