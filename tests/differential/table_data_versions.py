"""Versions of dataset ops that TensorFlow's client makes no more, or only in its second mode."""
import contextlib
import functools
import sqlite3
import tempfile

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import
from table_data import NOTYPE, Dataset, _CSV, _examples, _written, numbers, raw, variant

ops = tf.raw_ops
NUMBER = dict(output_types=[I64], output_shapes=[[]])
VECTOR = dict(output_types=[I64], output_shapes=[[None]])


def function(call, *specs):
    return tf.function(call, autograph=False).get_concrete_function(*specs)


SCALAR = tf.TensorSpec([], I64)


def over_numbers(names, n=7, steps=8, typed=NUMBER, **arguments):
    """Each op gets range(n); arguments that are functions of nothing are made in the graph."""
    for name in names.split():
        def make(name=name):
            made = {key: value() if callable(value) and not hasattr(value, "structured_outputs") else value for key, value in arguments.items()}
            return getattr(ops, name)(input_dataset=variant(numbers(n)), **typed, **made)

        raw(name, make, typed["output_types"], typed["output_shapes"], steps)


def as_variant(x):
    return variant(Dataset.from_tensors(x).repeat(2))


for name in ("BatchDataset", "PaddedBatchDataset", "ExperimentalRandomDataset"):
    known(name, "AddDataset", "TensorFlow cannot write this dataset into the graph that it optimises")
    known(name, "has not been initialized", "that follows from it")
over_numbers("BatchDataset", typed=VECTOR, batch_size=3)
over_numbers("CacheDatasetV2", 3, 4, filename="", cache=ops.DummyMemoryCache)
# Of one element, for there is no way to give it a seed: TensorFlow's AnonymousRandomSeedGenerator fails.
over_numbers("ShuffleDatasetV2", 9, 11, buffer_size=1, seed_generator=ops.DummySeedGenerator)
over_numbers("ShuffleDatasetV3", 9, 11, buffer_size=4, seed=3, seed2=4,
             seed_generator=lambda: ops.AnonymousSeedGenerator(seed=3, seed2=4, reshuffle=True).handle)
over_numbers("ShuffleAndRepeatDatasetV2", 4, 11, buffer_size=3, seed=3, seed2=4, count=2,
             seed_generator=lambda: ops.AnonymousSeedGenerator(seed=3, seed2=4, reshuffle=True).handle)
raw("RandomDatasetV2", lambda: ops.RandomDatasetV2(seed=3, seed2=4, seed_generator=ops.AnonymousSeedGenerator(seed=3, seed2=4, reshuffle=True).handle, **NUMBER),
    [I64], [[]], 4)
over_numbers("GlobalShuffleDataset", 6, 7, seed=3, seed2=4, seed_generator=ops.DummySeedGenerator)
raw("ExperimentalRandomDataset", lambda: ops.ExperimentalRandomDataset(seed=3, seed2=4, **NUMBER), [I64], [[]], 4)
over_numbers("ParallelMapDataset", other_arguments=[], num_parallel_calls=2, f=lambda: function(lambda x: x * x, SCALAR))
INTERLEAVED = dict(other_arguments=[], cycle_length=2, block_length=2)
for name, more in (("ParallelInterleaveDatasetV2", dict(num_parallel_calls=2)), ("ParallelInterleaveDatasetV3", dict(num_parallel_calls=2)),
                   ("ParallelInterleaveDataset", dict(sloppy=False, buffer_output_elements=2, prefetch_input_elements=1)),
                   ("ExperimentalParallelInterleaveDataset", dict(sloppy=False, buffer_output_elements=2, prefetch_input_elements=1)),
                   ("LegacyParallelInterleaveDatasetV2", dict(buffer_output_elements=2, prefetch_input_elements=1, deterministic="true"))):
    over_numbers(name, 3, 8, **INTERLEAVED, **more, f=lambda: function(as_variant, SCALAR))
raw("PaddedBatchDataset", lambda: ops.PaddedBatchDataset(
    input_dataset=variant(numbers(5).map(lambda x: tf.fill([x], x))), batch_size=2, padded_shapes=[np.array([4])],
    padding_values=[tf.constant(-1, I64)], output_shapes=[[None, None]]), [I64], [[None, None]], 4)
raw("ListDataset", lambda: ops.ListDataset(tensors=[fed(V((2,), F32)), fed(V((2,), F32)), fed(V((3,), F32))], output_types=[F32], output_shapes=[[None]]), [F32], [[None]], 4)


def generated():
    first = function(lambda x: x, SCALAR)
    following = function(lambda s: ops.Identity(input=s) + 1, SCALAR)
    return ops.GeneratorDataset(init_func_other_args=[tf.constant(5, I64)], next_func_other_args=[], finalize_func_other_args=[], init_func=first,
                                next_func=following, finalize_func=first, **NUMBER)


raw("GeneratorDataset", generated, [I64], [[]], 3)
raw("ExperimentalGroupByWindowDataset", lambda: ops.ExperimentalGroupByWindowDataset(
    input_dataset=variant(numbers(9)), key_func_other_arguments=[], reduce_func_other_arguments=[], window_size_func_other_arguments=[],
    key_func=function(lambda x: x % 2, SCALAR), window_size_func=function(lambda k: tf.constant(3, I64), SCALAR),
    reduce_func=function(lambda k, w: ops.BatchDatasetV2(input_dataset=w, batch_size=3, drop_remainder=False, **VECTOR), SCALAR, tf.TensorSpec([], tf.variant)),
    **VECTOR), [I64], [[None]], 5)
raw("GroupByReducerDataset", lambda: ops.GroupByReducerDataset(
    input_dataset=variant(numbers(9)), key_func_other_arguments=[], init_func_other_arguments=[], reduce_func_other_arguments=[],
    finalize_func_other_arguments=[], key_func=function(lambda x: x % 3, SCALAR), init_func=function(lambda k: k * 100, SCALAR),
    reduce_func=function(lambda s, x: s + x, SCALAR, SCALAR), finalize_func=function(lambda s: -s, SCALAR), **NUMBER), [I64], [[]], 5)

# Under their experimental names.
over_numbers("ExperimentalAutoShardDataset", num_workers=2, index=1)
over_numbers("ExperimentalDenseToSparseBatchDataset", typed=dict(output_types=[tf.variant], output_shapes=[[None, 3]]), batch_size=2, row_shape=np.array([], np.int64))
over_numbers("ExperimentalIgnoreErrorsDataset ExperimentalNonSerializableDataset NonSerializableDataset FinalizeDataset ModelDataset ExperimentalUniqueDataset")
over_numbers("MaxIntraOpParallelismDataset ExperimentalMaxIntraOpParallelismDataset", max_intra_op_parallelism=1)
over_numbers("PrivateThreadPoolDataset ExperimentalPrivateThreadPoolDataset", num_threads=2)
over_numbers("ExperimentalThreadPoolDataset", thread_pool=lambda: ops.ExperimentalThreadPoolHandle(num_threads=2, display_name="p"))
over_numbers("ExperimentalMapAndBatchDataset", typed=VECTOR, other_arguments=[], batch_size=3, num_parallel_calls=2, drop_remainder=False,
             f=lambda: function(lambda x: x * x, SCALAR))
over_numbers("ExperimentalScanDataset", initial_state=[np.int64(1)], other_arguments=[], f=lambda: function(lambda s, x: (s + x, s * x), SCALAR, SCALAR))
over_numbers("ExperimentalSleepDataset", sleep_microseconds=10)
over_numbers("ExperimentalSlidingWindowDataset", typed=VECTOR, window_size=3, window_shift=2, window_stride=1)
over_numbers("ExperimentalTakeWhileDataset", other_arguments=[], predicate=lambda: function(lambda x: x < 4, SCALAR))
over_numbers("OptimizeDataset", optimizations=np.array([], str))
over_numbers("OptimizeDatasetV2", optimizations_enabled=np.array([], str), optimizations_disabled=np.array([], str), optimizations_default=np.array([], str))
for name in ("RebatchDataset", "ExperimentalRebatchDataset"):
    raw(name, lambda name=name: getattr(ops, name)(input_dataset=variant(numbers(9).batch(4)), num_replicas=2, **VECTOR), [I64], [[None]])
raw("ExperimentalUnbatchDataset", lambda: ops.ExperimentalUnbatchDataset(input_dataset=variant(numbers(5).batch(2)), **NUMBER), [I64], [[]], 7)
raw("ExperimentalChooseFastestDataset", lambda: ops.ExperimentalChooseFastestDataset(
    input_datasets=[variant(numbers(3)), variant(numbers(3))], num_experiments=1, **NUMBER), [I64], [[]], 4)
raw("ExperimentalDirectedInterleaveDataset", lambda: ops.ExperimentalDirectedInterleaveDataset(
    selector_input_dataset=variant(Dataset.from_tensor_slices(np.array([0, 1, 1, 0]))), data_input_datasets=[variant(numbers(3)), variant(numbers(2))], **NUMBER), [I64], [[]], 6)

# Files.
for name in ("CSVDataset", "ExperimentalCSVDataset"):
    raw(name, lambda name=name: getattr(ops, name)(
        filenames=_written(_CSV, ".csv"), compression_type="", buffer_size=100, header=True, field_delim=",", use_quote_delim=True, na_value="",
        select_cols=np.array([], np.int64), record_defaults=[[0], [-1.0], ["none"]], output_shapes=[[], [], []]), [I32, F32, STRING], [[], [], []], 5)


@functools.lru_cache(None)
def _database():
    """Integers of several sizes, text, numbers, bytes; nothing in some columns."""
    file = _written("", ".sqlite")
    os.remove(file)
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("create table t (id integer primary key, name text, x real, big integer, bytes blob, flag integer)")
        database.execute("insert into t(name, x, big, bytes, flag) values ('a', 1.5, 9223372036854775807, x'0001ff', 1), "
                         "('\u00e9', -2.25, -5, null, 0), (null, null, null, x'', 300)")
        database.commit()
    return file


QUERIES = [("select id, name, x, big from t order by id", [I32, STRING, F64, I64]), ("select * from t", [STRING] * 6),
           ("select flag, flag, flag, flag, flag, flag from t", [I8, U8, I16, U16, I32, BOOL]), ("select name from t", [I32]),
           ("select x from t", [I64]), ("select big from t", [I32]), ("select x from t", [F32]), ("select x, id from t", [F64]),
           ("selec x", [F64]), ("select nope from t", [F64]), ("", [STRING]), ("select 1; select 2", [I64]), ("select 1 where 0", [I64]),
           ("insert into t(name) values ('new')", [STRING]), ("select count(*) from t", [I64])]
for name in ("SqlDataset", "ExperimentalSqlDataset"):
    for query, types in QUERIES:
        raw(name, lambda name=name, query=query, types=types: getattr(ops, name)(
            driver_name="sqlite", data_source_name=_database(), query=query, output_types=types, output_shapes=[[]] * len(types)), types, [[]] * len(types), 5)
    raw(name, lambda name=name: getattr(ops, name)(driver_name="mysql", data_source_name=_database(), query="select 1", output_types=[I64], output_shapes=[[]]), [I64], [[]], 2)
    raw(name, lambda name=name: getattr(ops, name)(
        driver_name="sqlite", data_source_name=_written("no database" * 100, ".txt"), query="select 1 from t", output_types=[I64], output_shapes=[[]]), [I64], [[]], 2)
for name in ("ParseExampleDataset", "ExperimentalParseExampleDataset"):
    raw(name, lambda name=name: getattr(ops, name)(
        input_dataset=variant(Dataset.from_tensor_slices(_examples()).batch(2)), num_parallel_calls=1, dense_defaults=[np.array([], np.int64)], sparse_keys=[],
        dense_keys=["dense"], sparse_types=[], dense_shapes=[[2]], output_types=[I64], output_shapes=[[None, 2]]), [I64], [[None, 2]], 4)
for name in ("MatchingFilesDataset", "ExperimentalMatchingFilesDataset"):
    raw(name, lambda name=name: getattr(ops, name)(patterns=_written("x", "_matched.txt")[:-4] + "*"), [STRING], [[]], 2)


def records(_):
    file = os.path.join(tempfile.gettempdir(), "weir_table_data_versions")
    bytes_ = _written("headfirstthirdtail", ".bin")
    iterators, steps = [], []
    number = dict(output_types=[STRING], output_shapes=[[]])
    text = variant(Dataset.from_tensor_slices([b"one", b"", b"three"]))
    for name, make in (("a", lambda: ops.TFRecordDataset(filenames=[file], compression_type="", buffer_size=10)),
                       ("b", lambda: ops.TFRecordDatasetV2(filenames=[file], compression_type="", buffer_size=10, byte_offsets=np.array([19]))),
                       ("c", lambda: ops.TFRecordDataset(filenames=[file + "2"], compression_type="GZIP", buffer_size=10)),
                       ("d", lambda: ops.FixedLengthRecordDataset(filenames=bytes_, header_bytes=4, record_bytes=5, footer_bytes=4, buffer_size=7)),
                       ("e", lambda: ops.FixedLengthRecordDatasetV2(filenames=bytes_, header_bytes=4, record_bytes=4, footer_bytes=4, buffer_size=0, compression_type="")),
                       ("f", lambda: ops.FixedLengthRecordDatasetV2(filenames=bytes_, header_bytes=4, record_bytes=5, footer_bytes=4, buffer_size=-1, compression_type=""))):
        iterators.append(ops.IteratorV2(shared_name=name, container="", **number))
        steps += [ops.MakeIterator(dataset=make(), iterator=iterators[-1])] + [ops.IteratorGetNext(iterator=iterators[-1], **number)] * 4
    return [ops.DatasetToTFRecord(input_dataset=text, filename=file, compression_type=""),
            ops.ExperimentalDatasetToTFRecord(input_dataset=text, filename=file + "2", compression_type="GZIP")] + steps


known("TFRecordDataset", "AddDataset", "TensorFlow cannot write these datasets into the graph that it optimises")
known("TFRecordDataset", "has not been initialized", "that follows from it")
program("TFRecordDataset TFRecordDatasetV2 FixedLengthRecordDataset FixedLengthRecordDatasetV2 DatasetToTFRecord ExperimentalDatasetToTFRecord", 0, records, NOTYPE)

elsewhere("BatchDataset PaddedBatchDataset ExperimentalRandomDataset FixedLengthRecordDataset TFRecordDatasetV2 ParallelFilterDataset",
          "TensorFlow's iterators cannot write these versions into the graph that they optimise")
elsewhere("ExperimentalDenseToSparseBatchDataset", "rows of DenseToSparseBatchDataset, which is the same kernel, succeed")
