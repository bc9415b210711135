"""Datasets of values and files: programs read each to its end and one step beyond."""
import contextlib
import functools
import sqlite3
import tempfile

from pipelines import Dataset, NUMBER, SCALAR, experimental, function, through, through_variant, variant
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

through("RangeDataset", lambda: Dataset.range(5, -4, -3))
through("TensorDataset", lambda: Dataset.from_tensors((tf.constant([1, 2]), fed(V((2, 2), F32)))), 3)
through("TensorSliceDataset", lambda: Dataset.from_tensor_slices({"a": fed(V((3, 2), F64)), "b": ["x", "y", "z"]}), 5)
through("SparseTensorSliceDataset", lambda: Dataset.from_sparse_tensor_slices(tf1.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])), 5)
through("RandomDatasetV2 RandomDataset", lambda: experimental.RandomDataset(seed=7), 4)
through_variant("RandomDatasetV2", lambda: raw.RandomDatasetV2(seed=3, seed2=4, seed_generator=raw.AnonymousSeedGenerator(seed=3, seed2=4, reshuffle=True).handle, **NUMBER),
    [I64], [[]], 4)
through("GeneratorDataset", lambda: Dataset.range(2).flat_map(lambda x: Dataset.from_tensors(x)), 4)


def generated():
    first = function(lambda x: x, SCALAR)
    following = function(lambda s: raw.Identity(input=s) + 1, SCALAR)
    return raw.GeneratorDataset(init_func_other_args=[tf.constant(5, I64)], next_func_other_args=[], finalize_func_other_args=[], init_func=first,
                                next_func=following, finalize_func=first, **NUMBER)


through_variant("GeneratorDataset", generated, [I64], [[]], 3)
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
# Files.
for name in ("CSVDataset", "ExperimentalCSVDataset"):
    through_variant(name, lambda name=name: getattr(raw, name)(
        filenames=_written(_CSV, ".csv"), compression_type="", buffer_size=100, header=True, field_delim=",", use_quote_delim=True, na_value="",
        select_cols=np.array([], np.int64), record_defaults=[[0], [-1.0], ["none"]], output_shapes=[[], [], []]), [I32, F32, STRING], [[], [], []], 5)
through("CSVDatasetV2", lambda: experimental.CsvDataset([_written(_CSV, ".csv")], [tf.string, F32], header=True, select_cols=[0, 1]), 5)
through("CSVDatasetV2", lambda: experimental.CsvDataset([_written("1,\"2\n3\n", "_open.csv")], [I32, tf.string]), 3)
through("CSVDatasetV2", lambda: experimental.CsvDataset([_written("a,1\n\nb,2\n", "_gap.csv")], [tf.string], select_cols=[0]), 5)
through("TextLineDataset", lambda: tf1.data.TextLineDataset([_written(_CSV, ".txt")]), 6)
known("ExperimentalRandomDataset", "AddDataset", "TensorFlow cannot write this dataset into the graph that it optimises")
known("ExperimentalRandomDataset", "has not been initialized", "that follows from it")
through_variant("ExperimentalRandomDataset", lambda: raw.ExperimentalRandomDataset(seed=3, seed2=4, **NUMBER), [I64], [[]], 4)
through_variant("ListDataset", lambda: raw.ListDataset(tensors=[fed(V((2,), F32)), fed(V((2,), F32)), fed(V((3,), F32))], output_types=[F32], output_shapes=[[None]]), [F32], [[None]], 4)


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
        through_variant(name, lambda name=name, query=query, types=types: getattr(raw, name)(
            driver_name="sqlite", data_source_name=_database(), query=query, output_types=types, output_shapes=[[]] * len(types)), types, [[]] * len(types), 5)
    through_variant(name, lambda name=name: getattr(raw, name)(driver_name="mysql", data_source_name=_database(), query="select 1", output_types=[I64], output_shapes=[[]]), [I64], [[]], 2)
    through_variant(name, lambda name=name: getattr(raw, name)(
        driver_name="sqlite", data_source_name=_written("no database" * 100, ".txt"), query="select 1 from t", output_types=[I64], output_shapes=[[]]), [I64], [[]], 2)
for name in ("MatchingFilesDataset", "ExperimentalMatchingFilesDataset"):
    through_variant(name, lambda name=name: getattr(raw, name)(patterns=_written("x", "_matched.txt")[:-4] + "*"), [STRING], [[]], 2)
known("TFRecordDataset", "AddDataset", "TensorFlow cannot write these datasets into the graph that it optimises")
known("TFRecordDataset", "has not been initialized", "that follows from it")


def records(_):
    file = os.path.join(tempfile.gettempdir(), "weir_table_data_versions")
    bytes_ = _written("headfirstthirdtail", ".bin")
    iterators, steps = [], []
    number = dict(output_types=[STRING], output_shapes=[[]])
    text = variant(Dataset.from_tensor_slices([b"one", b"", b"three"]))
    for name, make in (("a", lambda: raw.TFRecordDataset(filenames=[file], compression_type="", buffer_size=10)),
                       ("b", lambda: raw.TFRecordDatasetV2(filenames=[file], compression_type="", buffer_size=10, byte_offsets=np.array([19]))),
                       ("c", lambda: raw.TFRecordDataset(filenames=[file + "2"], compression_type="GZIP", buffer_size=10)),
                       ("d", lambda: raw.FixedLengthRecordDataset(filenames=bytes_, header_bytes=4, record_bytes=5, footer_bytes=4, buffer_size=7)),
                       ("e", lambda: raw.FixedLengthRecordDatasetV2(filenames=bytes_, header_bytes=4, record_bytes=4, footer_bytes=4, buffer_size=0, compression_type="")),
                       ("f", lambda: raw.FixedLengthRecordDatasetV2(filenames=bytes_, header_bytes=4, record_bytes=5, footer_bytes=4, buffer_size=-1, compression_type=""))):
        iterators.append(raw.IteratorV2(shared_name=name, container="", **number))
        steps += [raw.MakeIterator(dataset=make(), iterator=iterators[-1])] + [raw.IteratorGetNext(iterator=iterators[-1], **number)] * 4
    return [raw.DatasetToTFRecord(input_dataset=text, filename=file, compression_type=""),
            raw.ExperimentalDatasetToTFRecord(input_dataset=text, filename=file + "2", compression_type="GZIP")] + steps


program("TFRecordDataset TFRecordDatasetV2 FixedLengthRecordDataset FixedLengthRecordDatasetV2 DatasetToTFRecord ExperimentalDatasetToTFRecord", 0, records, NOTYPE)
elsewhere("ExperimentalRandomDataset FixedLengthRecordDataset TFRecordDatasetV2",
          "TensorFlow's iterators cannot write these versions into the graph that they optimise")
