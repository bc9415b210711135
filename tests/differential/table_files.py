"""What is in files: first-version checkpoints, vocabularies, tables, records; summaries and what writes them."""
import tempfile

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

raw = tf.raw_ops
NOTYPE = [None]


def path(name):
    """In the folder that the harness drops; other in each process, so that no answer to it is remembered wrongly."""
    return os.path.join(tempfile.gettempdir(), "weir_table_files_" + name)


def written(name, content):
    """At once: a server may be reading what an earlier row wrote."""
    with open(path(name) + ".new", "wb") as file:
        file.write(content)
    os.replace(path(name) + ".new", path(name))
    return path(name)


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


known("LoadAndRemapMatrix", "Extent in dimension 0 out of bounds", "Weir sees it before it reads the file")
program("LoadAndRemapMatrix", 0, remapped, NOTYPE)


def text_tables(version):
    def build(_):
        steps = []
        lines = written("lines", b"a\t1\t0.5\nb\t2\t1.5\nc\tx\t2.5\n")
        for i, (key_type, value_type, key, value, attrs) in enumerate([
                (STRING, I64, -2, -1, {}), (I64, STRING, -1, -2, {}), (STRING, F32, 0, 2, dict(delimiter="\t")),
                (STRING, I64, 0, 1, dict(delimiter="\t")), (STRING, I64, 0, 1, dict(delimiter="\t", vocab_size=2)),
                (STRING, I64, -2, -1, dict(offset=1)), (STRING, I64, -2, -1, dict(vocab_size=9)), (STRING, I64, 5, -1, {}),
                (I64, I64, -2, -1, {}), (STRING, STRING, -2, -1, {})]):
            made = getattr(raw, "HashTable" + version)(key_dtype=key_type, value_dtype=value_type, shared_name="text_%d" % i)
            fill = getattr(raw, "InitializeTableFromTextFile" + version)(
                table_handle=made, filename=lines, key_index=key, value_index=value, **attrs)
            asked = [b"a", b"b", b"a\t1\t0.5", b"none"] if key_type == STRING else [0, 1, 2, 9]
            find = getattr(raw, "LookupTableFind" + version)(
                table_handle=made, keys=tf1.constant(asked, key_type), default_value=tf.zeros([], value_type))
            steps += [fill, find, getattr(raw, "LookupTableSize" + version)(table_handle=made), fill]
        for i, (content, size) in enumerate([(b"", -1), (b"", 1), (b"\n", -1), (b"a\n\nb\n", -1), (b"a\n\nb\n", 1), (b"a\r\n\r\n", -1), (b"a\nb\na\n", -1)]):
            made = getattr(raw, "HashTable" + version)(key_dtype=STRING, value_dtype=I64, shared_name="odd_%d" % i)
            steps += [getattr(raw, "InitializeTableFromTextFile" + version)(
                table_handle=made, filename=written("odd_%d" % i, content), key_index=-2, value_index=-1, vocab_size=size),
                      getattr(raw, "LookupTableSize" + version)(table_handle=made),
                      getattr(raw, "LookupTableExport" + version)(table_handle=made, Tkeys=STRING, Tvalues=I64)]
        lost = getattr(raw, "HashTable" + version)(key_dtype=STRING, value_dtype=I64, shared_name="lost")
        return steps + [getattr(raw, "InitializeTableFromTextFile" + version)(
            table_handle=lost, filename=path("none"), key_index=-2, value_index=-1)]

    return build


program("InitializeTableFromTextFile", 0, text_tables(""), NOTYPE)
program("InitializeTableFromTextFileV2", 0, text_tables("V2"), NOTYPE)


def table_from_dataset(t):
    made = raw.HashTableV2(key_dtype=I64, value_dtype=t, shared_name="from_dataset")
    dataset = tf1.data.Dataset.range(4).map(lambda x: (x * x, tf.cast(x, t)))
    find = raw.LookupTableFindV2(table_handle=made, keys=np.array([0, 1, 4, 5]), default_value=tf.zeros([], t))
    return [raw.InitializeTableFromDataset(table_handle=made, dataset=dataset._variant_tensor),  # pylint: disable=protected-access
            find, raw.LookupTableSizeV2(table_handle=made)]


program("InitializeTableFromDataset", 0, table_from_dataset, [I64, F32])


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


def up_to(_):
    queue, reader = raw.FIFOQueue(component_types=[STRING], shapes=[[]]), raw.WholeFileReader()
    file = written("whole", b"all of it")
    return [raw.QueueEnqueueMany(handle=queue, components=[np.array([file, file, file])]),
            raw.ReaderReadUpTo(reader_handle=reader, queue_handle=queue, num_records=np.int64(2))]


program("TFRecordReaderV2 ReaderRestoreStateV2 ReaderReadUpToV2", 0, all_readers, NOTYPE)
program("ReaderReadUpTo", 0, up_to, NOTYPE)


def read_and_write(_):
    file = path("text")
    return [raw.WriteFile(filename=file, contents=fed(b"some\0text", STRING)), raw.ReadFile(filename=file),
            raw.MatchingFiles(pattern=file[:-3] + "*t")]


program("WriteFile ReadFile", 0, read_and_write, NOTYPE)


def record_input(_):
    records = path("input")
    with tf.io.TFRecordWriter(records) as writer:
        for _ in range(4):
            writer.write(b"same")
    read = lambda batch, pattern=records: raw.RecordInput(file_pattern=pattern, file_random_seed=3, batch_size=batch,
                                                         file_buffer_size=2, file_parallelism=1)
    return [read(3)]


program("RecordInput", 0, record_input, NOTYPE)


def image_summaries(t):
    images = fed(V((3, 4, 5, 3), t, (0, 200)))
    return [raw.ImageSummary(tag="i", tensor=images, max_images=2), raw.ImageSummary(tag="i", tensor=fed(V((1, 4, 5, 1), t, (0, 90)))),
            raw.ImageSummary(tag="i", tensor=fed(V((1, 4, 5, 2), t))), raw.ImageSummary(tag="i", tensor=fed(V((4, 5, 3), t))),
            raw.ImageSummary(tag=["i"], tensor=images)]


# Of doubles, the last bit depends on how TensorFlow was compiled.
program("ImageSummary", 0, image_summaries, [U8, HALF, F32])


def image_summary_of_nothing(t):
    pixels = np.zeros((1, 2, 2, 1))
    pixels[0, 0, 1] = np.nan
    pixels[0, 1, 0] = 3
    return [raw.ImageSummary(tag="i", tensor=fed(Fed(pixels, t))), raw.ImageSummary(tag="i", tensor=fed(Fed(-1 - pixels, t)))]


program("ImageSummary", 0, image_summary_of_nothing, [F32, HALF, F64])


def tensor_summary(t):
    return [raw.TensorSummary(tensor=fed(V((2, 2), t)), description="d", labels=["l"], display_name="n")]


program("TensorSummary", 0, tensor_summary, [F32, I64, STRING])


def summary_files(_):
    writer = raw.SummaryWriter(shared_name="writer")
    step, meta = np.int64(3), b"\n\x03\n\x01x"
    write = lambda name, **kw: getattr(raw, name)(writer=writer, step=step, **kw)
    return [write("WriteScalarSummary", tag="s", value=fed(2.5, F32)),
            raw.CreateSummaryFileWriter(writer=writer, logdir=path("logs"), max_queue=3, flush_millis=1000, filename_suffix=".x"),
            write("WriteScalarSummary", tag="s", value=fed(2.5, F32)), write("WriteScalarSummary", tag="s", value=fed([1, 2], I32)),
            write("WriteSummary", tag="t", tensor=fed(V((2,), F64)), summary_metadata=meta),
            write("WriteSummary", tag="t", tensor=fed(V((2,), F64)), summary_metadata=b"\xff"),
            write("WriteHistogramSummary", tag="h", values=fed(V((9,), F32))),
            write("WriteHistogramSummary", tag="h", values=fed([1.0, np.nan], F32)),
            write("WriteImageSummary", tag="i", tensor=fed(V((1, 2, 2, 3), F32)), bad_color=np.array([255, 0, 0, 255], np.uint8)),
            write("WriteImageSummary", tag="i", tensor=fed(V((2, 2), F32)), bad_color=np.array([255, 0, 0, 255], np.uint8)),
            write("WriteAudioSummary", tag="a", tensor=fed(V((1, 9), F32, (-1, 1))), sample_rate=np.float32(8000)),
            write("WriteGraphSummary", tensor=fed(tf1.GraphDef().SerializeToString(), STRING)),
            write("WriteRawProtoSummary", tensor=fed(tf1.Summary().SerializeToString(), STRING)),
            write("WriteRawProtoSummary", tensor=fed(b"\xff", STRING)), raw.FlushSummaryWriter(writer=writer),
            raw.CloseSummaryWriter(writer=writer), raw.FlushSummaryWriter(writer=writer), raw.CloseSummaryWriter(writer=writer)]


known("SummaryWriter", "value must be scalar", "TensorFlow writes the first of several numbers")
known("SummaryWriter", "Could not parse the summary metadata", "TensorFlow drops metadata that it cannot parse")
program("SummaryWriter CreateSummaryFileWriter WriteScalarSummary WriteSummary WriteHistogramSummary WriteImageSummary WriteAudioSummary "
        "WriteGraphSummary WriteRawProtoSummary FlushSummaryWriter CloseSummaryWriter", 0, summary_files, NOTYPE)
