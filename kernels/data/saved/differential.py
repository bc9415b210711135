"""Datasets that are saved, loaded and snapshotted."""
import tempfile

from pipelines import NUMBER, SCALAR, VARIANT, function, numbers, variant
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


def flattened(datasets):
    return raw.FlatMapDataset(input_dataset=datasets, other_arguments=[], f=function(lambda d: d, VARIANT), **NUMBER)


PLACES = []  # each run has its own; they go with the process


def shards(compression):
    PLACES.append(tempfile.TemporaryDirectory(prefix="weir_table_saved"))
    return os.path.join(PLACES[-1].name, "at" + compression)


def saved(compression):
    def build(_):
        path = shards(compression)
        last = function(lambda x: x % 3, SCALAR)
        save = raw.SaveDataset(input_dataset=variant(numbers(8)), path=path, shard_func_other_args=[], shard_func=last, compression=compression)
        iterators, steps = [], []
        for op, make in (("Load", lambda: raw.LoadDataset(path=path, reader_func_other_args=[], reader_func=function(flattened, VARIANT), compression=compression, **NUMBER)),
                         ("Save", lambda: raw.SaveDatasetV2(input_dataset=variant(numbers(4)), path=path + "2", shard_func_other_args=[], shard_func=last, compression=compression, **NUMBER)),
                         ("Again", lambda: raw.LoadDataset(path=path + "2", reader_func_other_args=[], reader_func=function(flattened, VARIANT), compression=compression, **NUMBER)),
                         ("Missing", lambda: raw.LoadDataset(path=path + "3", reader_func_other_args=[], reader_func=function(flattened, VARIANT), compression=compression, **NUMBER))):
            iterators.append(raw.IteratorV2(shared_name=op + compression, container="", **NUMBER))
            steps += [raw.MakeIterator(dataset=make(), iterator=iterators[-1])] + [raw.IteratorGetNext(iterator=iterators[-1], **NUMBER)] * (9 if op == "Load" else 5)
        return [save] + steps

    return build


# Both sides run one graph: the second one reads what TensorFlow wrote.
def snapshot(compression):
    def build(_):
        path = shards("snapshot" + compression)
        steps = []
        for name in ("first", "second", "third"):
            iterator = raw.IteratorV2(shared_name=name + compression, container="", **NUMBER)
            made = raw.SnapshotDatasetV2(input_dataset=variant(numbers(5) if name == "first" else numbers(2)), path=path, reader_func_other_args=[], shard_func_other_args=[],
                                         reader_func=function(flattened, VARIANT), shard_func=function(lambda x: x * 0, SCALAR), compression=compression,
                                         hash_valid=True, hash=-5, **NUMBER)
            steps += [raw.MakeIterator(dataset=made, iterator=iterator)] + [raw.IteratorGetNext(iterator=iterator, **NUMBER)] * 6
        return steps

    return build


for kind in ("", "GZIP", "SNAPPY", "AUTO", "NONE"):
    program("SaveDataset SaveDatasetV2 LoadDataset", 0, saved(kind), NOTYPE)
    program("SnapshotDatasetV2", 0, snapshot(kind), NOTYPE)
known("SaveDataset", "AddDataset", "TensorFlow cannot write this dataset into the graph that it optimises")
elsewhere("SnapshotDatasetReader SnapshotNestedDatasetReader",
          "TensorFlow's session cannot hold the dataset of a reader made by hand: kernels/data's tests read what was saved")
