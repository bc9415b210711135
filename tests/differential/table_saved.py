"""Datasets that are saved, loaded, compressed, asserted and flattened by index; messages; what looks into files and tensors."""
import tempfile

from google.protobuf import descriptor_pb2
from tensorflow.python.framework import op_def_library
from tensorflow.python.framework import test_ops

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import
from table_data import NOTYPE, Dataset, numbers, raw, variant
from table_domain import of_shape

ops = tf.raw_ops
NUMBER = dict(output_types=[I64], output_shapes=[[]])
SCALAR = tf.TensorSpec([], I64)
VARIANT = tf.TensorSpec([], tf.variant)
PLACE = os.path.join(tempfile.gettempdir(), "weir_table_saved")


def function(call, *specs):
    return tf.function(call, autograph=False).get_concrete_function(*specs)


def flattened(datasets):
    return ops.FlatMapDataset(input_dataset=datasets, other_arguments=[], f=function(lambda d: d, VARIANT), **NUMBER)


# Assertions about a pipeline.
def asserted(op, transformations, build, steps=3):
    def make():
        source = numbers(5)
        checked = getattr(ops, op)(input_dataset=variant(source), transformations=np.array(transformations), **NUMBER)
        return build(checked)

    raw(op, make, [I64], [[]], steps)


def unoptimised(handle):
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return ops.OptionsDataset(input_dataset=handle, serialized_options=options._to_proto().SerializeToString(), **NUMBER)  # pylint: disable=protected-access


def mapped(handle):
    return ops.MapDataset(input_dataset=handle, other_arguments=[], f=function(lambda x: x * 2, SCALAR), **NUMBER)


def taken(handle):
    return ops.TakeDataset(input_dataset=handle, count=np.int64(3), **NUMBER)


for name in ("AssertNextDataset", "ExperimentalAssertNextDataset"):
    for wanted in (["Map"], ["Map", "FiniteTake"], ["MapV2"], ["Take"], ["Map", "FiniteTake", "Root"], ["A"] * 4):
        asserted(name, wanted, lambda d: unoptimised(taken(mapped(d))))
asserted("AssertNextDataset", ["Shuffle"], lambda d: unoptimised(ops.ShuffleDatasetV3(
    input_dataset=d, buffer_size=1, seed=1, seed2=1, seed_generator=ops.DummySeedGenerator(), **NUMBER)))
for wanted in ([], ["name: 'RangeDataset'"], ["name: 'Range'"], ["name: 'RangeDataset' attr { key: 'replicate_on_split' value { b: false } }"], ["not text"],
               ["name: 'RangeDataset'", "name: 'RangeDataset'"]):
    asserted("AssertPrevDataset", np.array(wanted, object), lambda d: d)
    raw("AssertPrevDataset", lambda wanted=wanted: ops.AssertPrevDataset(input_dataset=variant(numbers(3)), transformations=np.array(wanted, object), **NUMBER), [I64], [[]], 2)


# Compressed elements.
def compressed(_):
    packed = ops.CompressElement(components=[fed(V((2, 3), F32)), fed(V((3,), STRING)), fed(V((), I64)), fed(V((0, 2), BOOL))])
    types, shapes = [F32, STRING, I64, BOOL], [[2, 3], [3], [], [0, 2]]
    nothing = ops.EmptyTensorList(element_shape=-1, max_num_elements=1, element_dtype=F32)
    return [ops.UncompressElement(compressed=packed, output_types=types, output_shapes=shapes),
            ops.UncompressElement(compressed=packed, output_types=types[:1], output_shapes=shapes[:1]),
            ops.UncompressElement(compressed=packed, output_types=types[::-1], output_shapes=shapes[::-1]),
            ops.UncompressElement(compressed=nothing, output_types=types[:1], output_shapes=shapes[:1]),
            ops.TensorListLength(input_handle=ops.UncompressElement(compressed=ops.CompressElement(components=[nothing]), output_types=[tf.variant], output_shapes=[[]])[0])]


program("CompressElement UncompressElement", 0, compressed, NOTYPE)

# Flattened by index.
raw("WeightedFlatMapDataset", lambda: ops.WeightedFlatMapDataset(
    input_datasets=[variant(numbers(10)), variant(Dataset.range(100, 110)), variant(Dataset.range(1000, 1010))], weights=[np.float64(w) for w in (.5, .3, .2)], **NUMBER), [I64], [[]], 21)
for weights in ((0.5, -0.5), (0.0, 1.0), (1.0, 1.0, 1.0)):
    raw("WeightedFlatMapDataset", lambda weights=weights: ops.WeightedFlatMapDataset(
        input_datasets=[variant(numbers(4)), variant(numbers(4))], weights=[np.float64(w) for w in weights], **NUMBER), [I64], [[]], 2)
raw("IndexFlatMapDataset", lambda: ops.IndexFlatMapDataset(
    input_dataset=variant(numbers(4)), map_func_other_args=[], index_map_func_other_args=[], output_cardinality=np.int64(8),
    map_func=function(lambda x: tf.stack([x, x + 10]), SCALAR), index_map_func=function(lambda i: (i // 2, i % 2), SCALAR), **NUMBER), [I64], [[]], 9)
raw("IndexFlatMapDataset", lambda: ops.IndexFlatMapDataset(
    input_dataset=variant(numbers(4)), map_func_other_args=[], index_map_func_other_args=[], output_cardinality=np.int64(8),
    map_func=function(lambda x: tf.stack([x, x + 10]), SCALAR), index_map_func=function(lambda i: i, SCALAR), **NUMBER), [I64], [[]], 2)
raw("WindowOp", lambda: ops.WindowOp(inputs=[fed(Fed(i, I64)) for i in range(5)], output_types=[I64, I64], output_shapes=[[], []]), [I64, I64], [[], []], 4)
for batched in (lambda: numbers(9), lambda: numbers(9).batch(3), lambda: numbers(9).batch(3).take(2), lambda: Dataset.zip((numbers(9).batch(3), numbers(9).batch(3))),
                lambda: numbers(9).batch(3).concatenate(numbers(9).batch(2)), lambda: numbers(9).padded_batch(4), lambda: numbers(9).batch(3).map(lambda x: x)):
    program("ComputeBatchSize", 0, lambda _, batched=batched: [ops.ComputeBatchSize(input_dataset=variant(batched()))], NOTYPE)


def fingerprints(_):
    def of(dataset):
        return ops.DatasetFingerprint(input_dataset=variant(dataset))

    first = of(numbers(3).map(lambda x: x + 1))
    return [tf.equal(first, of(numbers(3).map(lambda x: x + 1))), tf.equal(first, of(numbers(4).map(lambda x: x + 1))),
            tf.equal(first, of(numbers(3).map(lambda x: x + 2)))]


program("DatasetFingerprint", 0, fingerprints, NOTYPE)


# Saved datasets.
PLACES = []  # each run has its own; they go with the process


def shards(compression):
    PLACES.append(tempfile.TemporaryDirectory(prefix="weir_table_saved"))
    return os.path.join(PLACES[-1].name, "at" + compression)


def saved(compression):
    def build(_):
        path = shards(compression)
        last = function(lambda x: x % 3, SCALAR)
        save = ops.SaveDataset(input_dataset=variant(numbers(8)), path=path, shard_func_other_args=[], shard_func=last, compression=compression)
        iterators, steps = [], []
        for op, make in (("Load", lambda: ops.LoadDataset(path=path, reader_func_other_args=[], reader_func=function(flattened, VARIANT), compression=compression, **NUMBER)),
                         ("Save", lambda: ops.SaveDatasetV2(input_dataset=variant(numbers(4)), path=path + "2", shard_func_other_args=[], shard_func=last, compression=compression, **NUMBER)),
                         ("Again", lambda: ops.LoadDataset(path=path + "2", reader_func_other_args=[], reader_func=function(flattened, VARIANT), compression=compression, **NUMBER)),
                         ("Missing", lambda: ops.LoadDataset(path=path + "3", reader_func_other_args=[], reader_func=function(flattened, VARIANT), compression=compression, **NUMBER))):
            iterators.append(ops.IteratorV2(shared_name=op + compression, container="", **NUMBER))
            steps += [ops.MakeIterator(dataset=make(), iterator=iterators[-1])] + [ops.IteratorGetNext(iterator=iterators[-1], **NUMBER)] * (9 if op == "Load" else 5)
        return [save] + steps

    return build


# Both sides run one graph: the second one reads what TensorFlow wrote.
def snapshot(compression):
    def build(_):
        path = shards("snapshot" + compression)
        steps = []
        for name in ("first", "second", "third"):
            iterator = ops.IteratorV2(shared_name=name + compression, container="", **NUMBER)
            made = ops.SnapshotDatasetV2(input_dataset=variant(numbers(5) if name == "first" else numbers(2)), path=path, reader_func_other_args=[], shard_func_other_args=[],
                                         reader_func=function(flattened, VARIANT), shard_func=function(lambda x: x * 0, SCALAR), compression=compression,
                                         hash_valid=True, hash=-5, **NUMBER)
            steps += [ops.MakeIterator(dataset=made, iterator=iterator)] + [ops.IteratorGetNext(iterator=iterator, **NUMBER)] * 6
        return steps

    return build


for kind in ("", "GZIP", "SNAPPY", "AUTO", "NONE"):
    program("SaveDataset SaveDatasetV2 LoadDataset", 0, saved(kind), NOTYPE)
    program("SnapshotDatasetV2", 0, snapshot(kind), NOTYPE)
known("SaveDataset", "AddDataset", "TensorFlow cannot write this dataset into the graph that it optimises")


elsewhere("SnapshotDatasetReader SnapshotNestedDatasetReader",
          "TensorFlow's session cannot hold the dataset of a reader made by hand: kernels/data's tests read what was saved")


# Messages. A type with fields of all kinds, by its descriptor.
def descriptors():
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="all.proto", package="weir.table")
    message = file.message_type.add(name="All")
    group = message.nested_type.add(name="Group")
    group.field.add(name="inner", number=1, type=kinds.TYPE_INT32, label=kinds.LABEL_OPTIONAL)
    message.enum_type.add(name="Kind").value.add(name="FIRST", number=3)
    for number, kind in enumerate([k for k in kinds.Type.keys()], 1):  # pylint: disable=unnecessary-comprehension
        for label, offset in ((kinds.LABEL_OPTIONAL, 0), (kinds.LABEL_REPEATED, 50)):
            field = message.field.add(name=kind[5:].lower() + ("s" if offset else ""), number=number + offset, type=kinds.Type.Value(kind), label=label)
            if kind in ("TYPE_GROUP", "TYPE_MESSAGE"):
                field.type_name = ".weir.table.All.Group" if kind == "TYPE_GROUP" else ".weir.table.All"
                if kind == "TYPE_GROUP":
                    field.name = "group" if not offset else "groups"
            if kind == "TYPE_ENUM":
                field.type_name = ".weir.table.All.Kind"
            if offset and number % 2 and kind not in ("TYPE_STRING", "TYPE_BYTES", "TYPE_GROUP", "TYPE_MESSAGE"):
                field.options.packed = True
    message.field.add(name="number", number=99, type=kinds.TYPE_INT64, label=kinds.LABEL_OPTIONAL, default_value="-7")
    message.field.add(name="word", number=98, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL, default_value="none")
    return b"bytes://" + descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


ALL_FIELDS = dict(descriptor_source=descriptors(), message_type="weir.table.All")
FIELD_TYPES = dict(double=[F64], float=[F32, F64], int64=[I64], uint64=[U64], int32=[I32, I64], fixed64=[U64], fixed32=[U32, U64], bool=[BOOL], string=[STRING], bytes=[STRING], uint32=[U32, U64],
                   sfixed32=[I32, I64], sfixed64=[I64], sint32=[I32, I64], sint64=[I64])


def encoded():
    for name, types in FIELD_TYPES.items():
        for t in types:
            for field, width in ((name, 1), (name + "s", 3)):
                sizes = Fed([[width], [0], [1]], I32)
                yield {"sizes": sizes, "values": [V((3, width), t, (0, 99) if "u" in name or "fixed" in name else None)], "field_names": [field], **ALL_FIELDS}


def texts(*values):
    return Fed(np.array(values, object), STRING)


TEXT = [b"int32: 5 int32s: [1, 2, 3] floats: [0.5, -1] strings: 'a' strings: 'b' enum: FIRST message { int64: 1 } bools: true number: 8 Group { inner: 4 }", b"", b"word: 'x' doubles: 1e300 sint64s: -5"]
FIELDS = [("int32", I64), ("int32s", I32), ("floats", F64), ("strings", STRING), ("enum", I32), ("message", STRING), ("bools", BOOL), ("number", I64), ("word", STRING), ("doubles", F64), ("sint64s", I64)]
row("EncodeProto", 0, encoded, plain(
    {"sizes": Fed([[1, 4]], I32), "values": [V((1, 3), I32), V((1, 3), I32)], "field_names": ["int32s", "int32"], **ALL_FIELDS},
    {"sizes": Fed([[1]], I32), "values": [V((2, 3), I32)], "field_names": ["int32s"], **ALL_FIELDS}, {"sizes": Fed([[1]], I32), "values": [V((1, 3), F32)], "field_names": ["int32s"], **ALL_FIELDS},
    {"sizes": Fed([[1]], I32), "values": [V((1, 3), F32)], "field_names": ["nothing"], **ALL_FIELDS}, {"sizes": Fed([1], I32), "values": [V((1,), I32)], "field_names": ["int32s"], **ALL_FIELDS},
    {"sizes": Fed([[1]], I32), "values": [V((1, 1), I32)], "field_names": ["a"], "message_type": "no.Such"},
    {"sizes": Fed([[1]], I32), "values": [V((1, 1), I32)], "field_names": ["a"], "message_type": "no.Such", "descriptor_source": "bytes://junk"},
    {"sizes": Fed([[1]], I32), "values": [V((1, 1), I32)], "field_names": ["a"], "message_type": "no.Such", "descriptor_source": "/no/such/file"},
    {"sizes": Fed([[2, 1]], I32), "values": [texts([b"\x08\x03", b"\x08\x04"]), texts([b"\x08\x05"])], "field_names": ["groups", "group"], **ALL_FIELDS},
    {"sizes": Fed([[2]], I32), "values": [V((1, 2), I64)], "field_names": ["number"], **ALL_FIELDS},
    {"sizes": Fed([[1]], I32), "values": [V((1, 2), BOOL)], "field_names": ["unknown_rank"], "message_type": "tensorflow.TensorShapeProto"}))
row("DecodeProtoV2", 0, plain(
    {"bytes": texts(*TEXT), "message_format": "text", "field_names": [f for f, _ in FIELDS], "output_types": [t for _, t in FIELDS], **ALL_FIELDS},
    {"bytes": texts(b"junk {"), "message_format": "text", "field_names": ["int32"], "output_types": [I32], **ALL_FIELDS},
    {"bytes": texts(b""), "message_format": "json", "field_names": ["int32"], "output_types": [I32], **ALL_FIELDS},
    {"bytes": texts(b"\x28\x05\x28\x06", b"\x28"), "field_names": ["int32"], "output_types": [I32], **ALL_FIELDS},
    {"bytes": texts(b"\x28\x05\x28\x06"), "field_names": ["int32"], "output_types": [I32], "sanitize": True, **ALL_FIELDS},
    {"bytes": texts(b"\xff\xff"), "field_names": ["int32"], "output_types": [I32], "sanitize": True, **ALL_FIELDS},
    {"bytes": texts(b"\xff\xff"), "field_names": ["int32"], "output_types": [I32], **ALL_FIELDS},
    {"bytes": texts(b"\x28\x05"), "field_names": ["int32"], "output_types": [F32], **ALL_FIELDS}, {"bytes": texts(b"\x28\x05"), "field_names": ["int32"], "output_types": [], **ALL_FIELDS},
    {"bytes": texts(b"\x28\x05"), "field_names": ["nothing"], "output_types": [F32], **ALL_FIELDS}, {"bytes": Fed(np.zeros((0,), object), STRING), "field_names": ["int32"], "output_types": [I32], **ALL_FIELDS},
    {"bytes": texts(b"\x53\x08\x03\x54", b""), "field_names": ["group"], "output_types": [STRING], **ALL_FIELDS},
    {"bytes": texts(b"\xba\x02\x03\x01\x02\x03", b"\xb8\x02\x05", b"\x2a\x02\x01\x02", b"\x2d\x01\x00\x00\x00"), "field_names": ["int32s", "int32"], "output_types": [I32, I64], **ALL_FIELDS},
    {"bytes": texts(b"\x10\x01\x12\x04\x08\x03\x12\x00"), "field_names": ["dim", "unknown_rank"], "output_types": [STRING, BOOL], "message_type": "tensorflow.TensorShapeProto"}))
known("DecodeProtoV2", "output 2 at 2,0: 2, should be 0", "a packed value of a field that is not repeated: TensorFlow counts it and does not read it")

# Factors of sparse matrices. The order that keeps a factor sparse is one of many. TensorFlow dies of one that is no permutation, and of no rows.
SYMMETRIC = np.array([[4, 1, 0, 0, 1], [1, 5, 0, 0, 0], [0, 0, 3, 1, 0], [0, 0, 1, 6, 2], [1, 0, 0, 2, 7.]])


def csr(matrix):
    return ops.DenseToCSRSparseMatrix(dense_input=matrix, indices=tf.where(tf.not_equal(matrix, 0)))


def factors(t):
    steps = []
    imaginary = np.triu(SYMMETRIC, 1) * 0.5j if t.is_complex else 0
    one = SYMMETRIC + imaginary - np.transpose(imaginary)
    for matrix, order in ((one, [0, 1, 2, 3, 4]), (one, [2, 3, 4, 1, 0]), (np.stack([one, one * 2]), [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]), (np.tril(one), [4, 3, 2, 1, 0]),
                          (-one, [0, 1, 2, 3, 4]), (one * 0, [0, 1, 2, 3, 4])):
        factor = ops.SparseMatrixSparseCholesky(input=csr(of_shape(Fed(matrix, t))), permutation=of_shape(Fed(np.array(order), I32)), type=t)
        steps += [ops.CSRSparseMatrixToDense(sparse_input=factor, type=t), ops.CSRSparseMatrixComponents(csr_sparse_matrix=factor, index=0, type=t)[0]]
    return steps


def ordered(t):
    matrix = csr(of_shape(Fed(np.stack([SYMMETRIC, np.eye(5)]), t)))
    order = ops.SparseMatrixOrderingAMD(input=matrix)
    dense = ops.CSRSparseMatrixToDense(sparse_input=ops.SparseMatrixSparseCholesky(input=matrix, permutation=order, type=t), type=t)
    back = tf.argsort(order)
    product = tf.matmul(dense, dense, transpose_b=True)
    return [tf.sort(order), tf.round(tf.gather(tf.gather(product, back, batch_dims=1), back, batch_dims=1, axis=2))]


program("SparseMatrixSparseCholesky", 64, factors, [F32, F64, C64, C128])
program("SparseMatrixOrderingAMD", 0, ordered, [F64])

# What looks into files and tensors.
FILE = os.path.join(tempfile.gettempdir(), "weir_table_saved.bin")
with open(FILE, "wb") as bytes_file:
    bytes_file.write(bytes(range(64)))
row("ImmutableConst", 0, plain(*[{"dtype": t, "shape": s, "memory_region_name": f} for t, s, f in (
    (F32, [2, 2], FILE), (I64, [8], FILE), (U8, [0], FILE), (F32, [20, 2], FILE), (F32, [2], FILE + ".none"), (STRING, [2], FILE), (F32, [2], os.path.dirname(FILE)))]))
row("DebugNumericSummaryV2", 0, each(*[lambda t, m=m, o=o: {"input": V((2, 3), t), "output_dtype": o, "tensor_debug_mode": m, "tensor_id": 7} for m in range(1, 9) for o in (F32, F64)]),
    plain(*[{"input": Fed(x, F32), "output_dtype": F64, "tensor_debug_mode": m, "tensor_id": i} for m in (2, 3, 4, 5, 8) for x, i in (
        (SPECIAL, 3), (np.zeros((0, 2)), -1), (-1.0, 1), (np.zeros((2, 1, 3, 1, 2, 1, 4)), 1), ([0.0], (1 << 53) + 1))]))
program("AccumulateNV2", 4, lambda t: [ops.AccumulateNV2(inputs=[fed(V((2, 3), t)) for _ in range(n)], shape=s) for n, s in ((1, [2, 3]), (2, [None, 3]), (5, None))]
        + [ops.AccumulateNV2(inputs=[fed(V((2, 3), t)), fed(V((3, 2), t))], shape=None)], NUMBERS)


def queues(_):
    queue = tf.queue.FIFOQueue(3, [F32])
    handle = op_def_library.apply_op("FakeQueue", resource=queue.queue_ref)
    enqueue = ops.QueueEnqueue(handle=handle, components=[fed(V((), F32))], timeout_ms=-1)
    return [handle[:0], enqueue, ops.QueueSize(handle=handle), queue.size(), ops.QueueDequeue(handle=handle, component_types=[F32], timeout_ms=-1)]


program("FakeQueue", 0, queues, NOTYPE)
program("Fact", 0, lambda _: [op_def_library.apply_op("Fact")], NOTYPE)
program("TestAttr", 0, lambda _: [test_ops.test_attr(T=F32)], NOTYPE)
program("DtypeWithDefaultOp", 0, lambda _: [test_ops.dtype_with_default_op(fed(V((2,), t))) for t in (F32, I32, STRING)], NOTYPE)
elsewhere("CompressElement", "its rows end with UncompressElement")
