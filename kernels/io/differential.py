"""Files: checkpoints of both versions, vocabularies, readers and records."""
import tempfile

from scratch_files import path, written
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


def save_and_restore(t):
    prefix = tempfile.mkdtemp(prefix="weir_differential_") + "/c"
    x, y = fed(V((2, 3), t)), fed(V((), I64))
    parts = [fed(prefix + "%d" % i, STRING) for i in range(2)]
    names = [fed([name], STRING) for name in ("x", "y")]
    whole = fed([b""], STRING)
    return [raw.SaveV2(prefix=parts[0], tensor_names=names[0], shape_and_slices=whole, tensors=[x]),
            raw.SaveV2(prefix=parts[1], tensor_names=names[1], shape_and_slices=whole, tensors=[y]),
            raw.RestoreV2(prefix=parts[0], tensor_names=names[0], shape_and_slices=whole, dtypes=[t]),
            raw.RestoreV2(prefix=parts[0], tensor_names=names[0], shape_and_slices=fed([b"2 3 0,1:1,2"], STRING), dtypes=[t]),
            raw.MergeV2Checkpoints(checkpoint_prefixes=raw.Pack(values=parts), destination_prefix=fed(prefix, STRING)),
            raw.RestoreV2(prefix=fed(prefix, STRING), tensor_names=fed([b"y", b"x"], STRING), shape_and_slices=fed([b"", b""], STRING), dtypes=[I64, t]),
            raw.RestoreV2(prefix=fed(prefix, STRING), tensor_names=fed([b"z"], STRING), shape_and_slices=whole, dtypes=[t])]


program("SaveV2 RestoreV2 MergeV2Checkpoints", 0, save_and_restore, ALL)
known("SaveV2", "not supported", "Weir restores slices of all types")
ONE = [F32]


def readers(t):
    steps = []
    for make in (raw.IdentityReaderV2(), raw.WholeFileReaderV2(), raw.TextLineReaderV2(), raw.TFRecordReaderV2(),
                 raw.FixedLengthRecordReaderV2(record_bytes=2)):
        queue = raw.FIFOQueueV2(component_types=[STRING], shapes=[[]])
        op = lambda name, **kw: getattr(raw, name)(reader_handle=make, **kw)
        steps += [raw.QueueEnqueueManyV2(handle=queue, components=[np.array(["/etc/hostname", "/no/such/file"])]),
                  raw.QueueCloseV2(handle=queue), op("ReaderNumRecordsProducedV2"), op("ReaderNumWorkUnitsCompletedV2"),
                  op("ReaderSerializeStateV2"), op("ReaderRestoreStateV2", state=b"bogus"), op("ReaderResetV2")]
        if make.op.type != "TFRecordReaderV2":
            steps += [*op("ReaderReadV2", queue_handle=queue),
                      *op("ReaderReadUpToV2", queue_handle=queue, num_records=np.int64(3))]
    return steps


program("IdentityReaderV2 WholeFileReaderV2 TextLineReaderV2 TFRecordReaderV2 FixedLengthRecordReaderV2 ReaderReadV2 "
        "ReaderReadUpToV2 ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompletedV2 ReaderSerializeStateV2 "
        "ReaderRestoreStateV2 ReaderResetV2", 0, readers, ONE)


def all_readers(_):
    steps = []
    records = path("records")
    with tf.io.TFRecordWriter(records) as writer:
        for record in (b"one", b"", b"three"):
            writer.write(record)
    lines = written("numbers", b"header\nfirst\nsecond\n123456789")
    for make, file in ((raw.TFRecordReaderV2, records), (raw.TextLineReaderV2, lines), (raw.IdentityReaderV2, lines),
                       (lambda: raw.FixedLengthRecordReaderV2(record_bytes=5, header_bytes=7, footer_bytes=5, hop_bytes=3), lines),
                       (raw.WholeFileReader, lines), (raw.WholeFileReaderV2, lines)):
        reader = make()
        version = "V2" if reader.dtype == tf.resource else ""
        queue = getattr(raw, "FIFOQueue" + version)(component_types=[STRING], shapes=[[]])
        op = lambda name, reader=reader, version=version, **kw: getattr(raw, name + version)(reader_handle=reader, **kw)
        take = op("ReaderRead", queue_handle=queue)
        steps += [getattr(raw, "QueueEnqueueMany" + version)(handle=queue, components=[np.array([file, file])]),
                  getattr(raw, "QueueClose" + version)(handle=queue), take, op("ReaderNumRecordsProduced"), take,
                  op("ReaderReadUpTo", queue_handle=queue, num_records=np.int64(2)), op("ReaderNumWorkUnitsCompleted"),
                  op("ReaderReadUpTo", queue_handle=queue, num_records=np.int64(9)), take, take, take,
                  op("ReaderSerializeState"), op("ReaderReset"), op("ReaderNumRecordsProduced")]
    state = raw.IdentityReaderV2()
    return steps + [raw.ReaderRestoreStateV2(reader_handle=state, state=b"\x08\x05\x10\x05\x18\x07"),
                    raw.ReaderNumRecordsProducedV2(reader_handle=state)]


program("TFRecordReaderV2 ReaderRestoreStateV2 ReaderReadUpToV2", 0, all_readers, NOTYPE)


def first_readers(t):
    reader = raw.WholeFileReader()
    queue = raw.FIFOQueue(component_types=[STRING], shapes=[[]])
    op = lambda name, **kw: getattr(raw, name)(reader_handle=reader, **kw)
    return [raw.QueueEnqueueMany(handle=queue, components=[np.array(["/etc/hostname", "/etc/hostname"])]),
            *op("ReaderRead", queue_handle=queue), op("ReaderNumRecordsProduced"), op("ReaderNumWorkUnitsCompleted"),
            op("ReaderSerializeState"), op("ReaderRestoreState", state=b"\x08\x05\x10\x05"), op("ReaderNumWorkUnitsCompleted"),
            op("ReaderReset"), *op("ReaderReadUpTo", queue_handle=queue, num_records=np.int64(1))]


program("WholeFileReader ReaderRead ReaderReadUpTo ReaderNumRecordsProduced ReaderNumWorkUnitsCompleted ReaderSerializeState "
        "ReaderRestoreState ReaderReset", 0, first_readers, ONE)


def up_to(_):
    queue, reader = raw.FIFOQueue(component_types=[STRING], shapes=[[]]), raw.WholeFileReader()
    file = written("whole", b"all of it")
    return [raw.QueueEnqueueMany(handle=queue, components=[np.array([file, file, file])]),
            raw.ReaderReadUpTo(reader_handle=reader, queue_handle=queue, num_records=np.int64(2))]


program("ReaderReadUpTo", 0, up_to, NOTYPE)


def first_checkpoints(t):
    x, y = fed(V((2, 3), t)), fed(V((), I64))
    file = path("checkpoint_" + t.name)
    read = lambda name, dt, pattern=file: raw.Restore(file_pattern=pattern, tensor_name=name, dt=dt)
    part = lambda slice_: raw.RestoreSlice(file_pattern=file + "_s", tensor_name="x", shape_and_slice=slice_, dt=t)
    return [raw.Save(filename=file, tensor_names=["x", "y"], data=[x, y]), read("x", t), read("y", I64), read("z", t),
            read("x", C128), read("x", t, file + "_none"), raw.SaveSlices(filename=file + "_s", tensor_names=["x", "y"], shapes_and_slices=["4 3 0,2:-", ""], data=[x, y]),
            part("4 3 0,2:-"), part("4 3 1,1:0,2"), part("4 3 2,2:-"), part("5 3 0,2:-"),
            raw.SaveSlices(filename=file + "_t", tensor_names=["x"], shapes_and_slices=["4 3 0,3:-"], data=[x])]


program("Save SaveSlices Restore RestoreSlice", 0, first_checkpoints, [F32, F64, I32, I64, U8, I16, I8, BOOL, HALF, C64])


def vocabularies(_):
    old, new = written("old", b"b\na\nd\nc\n"), written("new", b"a\nb\nc\nd\ne\n")
    remap = lambda offset, number, size=-1, file=new: raw.GenerateVocabRemapping(
        new_vocab_file=file, old_vocab_file=old, new_vocab_offset=offset, num_new_vocab=number, old_vocab_size=size)
    return [remap(0, 5), remap(1, 3), remap(0, 4, 2), remap(4, 1), remap(4, 3), remap(0, 2, file=path("none"))]


program("GenerateVocabRemapping", 0, vocabularies, NOTYPE)
known("LoadAndRemapMatrix", "Extent in dimension 0 out of bounds", "Weir sees it before it reads the file")


def remapped(_):
    file = path("matrix")
    matrix = fed(V((4, 3), F32))

    def load(rows, columns, missing=(), shape=(), in_memory=-1, name="m"):
        shape = shape or (len(rows), len(columns) or 3)
        return raw.LoadAndRemapMatrix(
            ckpt_path=file, old_tensor_name=name, row_remapping=np.array(rows, np.int64), num_rows=shape[0], num_cols=shape[1],
            col_remapping=np.array(columns, np.int64), initializing_values=np.array(missing, np.float32), max_rows_in_memory=in_memory)

    return [raw.SaveV2(prefix=file, tensor_names=["m"], shape_and_slices=[""], tensors=[matrix]), load([0, 3, 1], []),
            load([2, -1, 0], [], [7, 8, 9]), load([2, -1, 0], [2, -1], [7, 8, 9, 6]), load([2, -1], [], [7]), load([9], []),
            load([3, 2, 1, 0], [1, 0], in_memory=1), load([0, 0], []), load([0], [], shape=(2, 3)), load([0], [], name="n")]


program("LoadAndRemapMatrix", 0, remapped, NOTYPE)


def read_and_write(_):
    file = path("text")
    return [raw.WriteFile(filename=file, contents=fed(b"some\0text", STRING)), raw.ReadFile(filename=file),
            raw.MatchingFiles(pattern=file[:-3] + "*t")]


program("WriteFile ReadFile", 0, read_and_write, NOTYPE)
row("WriteFile", 0, plain({"filename": Fed(b"/proc/nowhere", STRING), "contents": Fed(b"x", STRING)}, {"filename": Fed([b"/proc/nowhere"], STRING), "contents": Fed(b"x", STRING)}))
row("ReadFile", 0, plain({"filename": Fed(b"/nowhere/a", STRING)}, {"filename": Fed([b"a"], STRING)}, {"filename": Fed(b"", STRING)}))


def record_input(_):
    records = path("input")
    with tf.io.TFRecordWriter(records) as writer:
        for _ in range(4):
            writer.write(b"same")
    read = lambda batch, pattern=records: raw.RecordInput(file_pattern=pattern, file_random_seed=3, batch_size=batch,
                                                         file_buffer_size=2, file_parallelism=1)
    return [read(3)]


program("RecordInput", 0, record_input, NOTYPE)
row("ShardedFilename", 0, plain({"basename": Fed(b"a/b", STRING), "shard": 3, "num_shards": 12}, {"basename": Fed([b"a"], STRING), "shard": 3, "num_shards": 12}))
row("ShardedFilename", WORDS, plain(*[{"basename": Fed(b"a", STRING), "shard": Fed(s, I32), "num_shards": Fed(n, I32)} for s, n in (([0], 1), (0, [1]), (0, [1, 2]))]))
row("ShardedFilespec", WORDS, plain({"basename": Fed(b"a", STRING), "num_shards": Fed([5], I32)}))
row("ShardedFilespec", 0, plain({"basename": Fed(b"a/b", STRING), "num_shards": 12}))
row("MatchingFiles", 0, plain({"pattern": Fed(b"/nowhere/*", STRING)}, {"pattern": Fed([b"/etc/host[n]ame", b"/nowhere"], STRING)}))
