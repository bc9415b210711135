"""Examples, protos, CSV and raw bytes."""
import gzip
import zlib as compression

from google.protobuf import descriptor_pb2
from tensorflow.core.example import example_pb2

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


def fill(feature, value):
    if value is None:
        return
    if isinstance(value[0], float) if value else True:
        feature.float_list.value.extend(value)
    elif isinstance(value[0], int):
        feature.int64_list.value.extend(value)
    else:
        feature.bytes_list.value.extend(value)


def example(**features):
    made = example_pb2.Example()
    for key, value in features.items():
        fill(made.features.feature[key], value)
    return made.SerializeToString()


ROWS_OF_EXAMPLES = [example(a=[1.0, 2.0], b=[3], c=[b"x", b"yz"]), example(a=[5.0, 6.0]), example(b=[7, 8], c=[b""]), example(a=None)]
NONE = {t: Fed(np.zeros(0, object if t == STRING else t.as_numpy_dtype), t) for t in (F32, I64, STRING)}


def v2(serialized, sparse=(), dense=(), ragged=(), names=None):
    """dense: (key, default, shape)."""
    return {"serialized": serialized, "names": names or text(), "sparse_keys": text(*[k for k, _ in sparse]), "dense_keys": text(*[k for k, _, _ in dense]),
            "ragged_keys": text(*[k for k, _ in ragged]), "dense_defaults": [d for _, d, _ in dense], "num_sparse": len(sparse), "sparse_types": [t for _, t in sparse],
            "ragged_value_types": [t for _, t in ragged], "ragged_split_types": [I64 for _ in ragged], "dense_shapes": [s for _, _, s in dense]}


BATCHES = [text(*ROWS_OF_EXAMPLES), text(), text(ROWS_OF_EXAMPLES[0]), one(ROWS_OF_EXAMPLES[0]), one(ROWS_OF_EXAMPLES[3]), text(b"hoge"), one(b"hoge"),
           text(ROWS_OF_EXAMPLES[0], shape=(1, 1))]
row("ParseExampleV2", 0, plain(*[v2(s, **k) for s in BATCHES for k in [
    {"sparse": [("a", F32), ("b", I64), ("c", STRING)]}, {"ragged": [("a", F32), ("b", I64), ("c", STRING)]}, {"dense": [("a", Fed([8.0, 9.0], F32), [2])]},
    {"dense": [("a", NONE[F32], [2])]}, {"dense": [("a", Fed(4.0, F32), [None])]}, {"dense": [("a", Fed(4.0, F32), [None, 2])]}, {"dense": [("b", Fed([4], I64), [1])]},
    {"dense": [("a", Fed([4.0], F32), [2])]}, {"dense": [("a", NONE[F32], [None])]}, {"dense": [("a", NONE[I64], [2])]}, {"sparse": [("a", I64)]}, {"ragged": [("b", F32)]}]],
    v2(text(*ROWS_OF_EXAMPLES), dense=[("a", NONE[F32], [2])], names=text("p", "q", "r", "s")), v2(text(*ROWS_OF_EXAMPLES), sparse=[("a", F32)], names=text("p"))))
# Fields that no example has, whole and cut short, groups, and features that promise more bytes than there are.
for _tail in (b"\x12\x05ab", b"\x12\x02ab", b"\x12", b"\x12\xff\xff\xff\xff\x0f\x18\x05", b"\x18\x05", b"\x18", b"\x1d\x00", b"\x1d\x00\x00\x00\x00", b"\x19\x00", b"\x1b\x18\x05\x1c", b"\x1c",
              b"\x00", b"\n\x7f", b"\n\x03ab", b"\x1f", b"\x18" + b"\xff" * 12):
    row("ParseExampleV2", 0, plain(*[v2(s, sparse=[("a", F32)]) for s in (text(ROWS_OF_EXAMPLES[0] + _tail), one(ROWS_OF_EXAMPLES[0] + _tail))]))
# Features without a key or a value, and with more than both.
_KEY, _VALUE = b"\n\1a", b"\x12\x08\x12\6\n\4\0\0\x80?"
for _feature in (b"", _KEY, _VALUE, _KEY + _VALUE, _VALUE + _KEY, _KEY + b"\x12\0", _KEY + _VALUE + _KEY, _KEY + b"\x18\1"):
    _features = b"\n" + bytes([len(_feature)]) + _feature
    row("ParseExampleV2", 0, plain(*[v2(s, sparse=[("a", F32)]) for s in (text(b"\n" + bytes([len(_features)]) + _features), one(b"\n" + bytes([len(_features)]) + _features))]))


def v1(serialized, sparse=(), dense=(), names=None):
    return {"serialized": serialized, "names": names or text(), "sparse_keys": [one(k) for k, _ in sparse], "dense_keys": [one(k) for k, _, _ in dense],
            "dense_defaults": [d for _, d, _ in dense], "sparse_types": [t for _, t in sparse], "dense_shapes": [s for _, _, s in dense]}


row("ParseExample", 0, plain(*[v1(s, **k) for s in BATCHES for k in [
    {"sparse": [("a", F32), ("b", I64), ("c", STRING)]}, {"dense": [("a", Fed([8.0, 9.0], F32), [2])]}, {"dense": [("a", NONE[F32], [2])]}, {"dense": [("a", Fed(4.0, F32), [None])]}]]))
row("ParseSingleExample", WORDS, plain({"serialized": BATCHES[3], "dense_defaults": [Fed(1.0, F32)], "num_sparse": 0, "sparse_keys": [], "dense_keys": ["a"], "sparse_types": [], "dense_shapes": [[None, 3]]}))
row("ParseSingleExample", 0, plain(*[
    {"serialized": s, "dense_defaults": [d], "num_sparse": 1, "sparse_keys": ["c"], "dense_keys": ["a"], "sparse_types": [STRING], "dense_shapes": [shape]}
    for s in BATCHES[2:] for d, shape in [(NONE[F32], [2]), (Fed([8.0, 9.0], F32), [2]), (NONE[F32], [1]), (Fed(1.0, F32), [None]), (NONE[I64], [2])]]))


def sequence(context, **lists):
    made = example_pb2.SequenceExample()
    for key, value in context.items():
        fill(made.context.feature[key], value)
    for key, steps in lists.items():
        made.feature_lists.feature_list[key].SetInParent()
        for value in steps:
            fill(made.feature_lists.feature_list[key].feature.add(), value)
    return made.SerializeToString()


SEQUENCES = [sequence({"a": [1.0]}, l=[[1.0, 2.0], [], [3.0]], m=[[1, 2], [3, 4]]), sequence({}, l=[[4.0]]), sequence({"a": [2.0]}, m=[[5, 6]])]
SEQUENCE_BATCHES = [text(*SEQUENCES), text(SEQUENCES[0]), one(SEQUENCES[0]), one(SEQUENCES[1]), text(b"hoge"), one(b"hoge")]


def sequence_v2(serialized, cs=(), cd=(), cr=(), ls=(), ld=(), lr=(), missing=False):
    keys = lambda features: text(*[f[0] for f in features])
    return {"serialized": serialized, "debug_name": text(), "context_sparse_keys": keys(cs), "context_dense_keys": keys(cd), "context_ragged_keys": keys(cr),
            "feature_list_sparse_keys": keys(ls), "feature_list_dense_keys": keys(ld), "feature_list_ragged_keys": keys(lr),
            "feature_list_dense_missing_assumed_empty": Fed([missing] * len(ld), BOOL), "context_dense_defaults": [f[1] for f in cd], "Ncontext_sparse": len(cs),
            "context_sparse_types": [f[1] for f in cs], "context_ragged_value_types": [f[1] for f in cr], "context_ragged_split_types": [I64] * len(cr),
            "context_dense_shapes": [f[2] for f in cd], "Nfeature_list_sparse": len(ls), "Nfeature_list_dense": len(ld), "feature_list_dense_types": [f[1] for f in ld],
            "feature_list_sparse_types": [f[1] for f in ls], "feature_list_ragged_value_types": [f[1] for f in lr], "feature_list_ragged_split_types": [I64] * len(lr),
            "feature_list_dense_shapes": [f[2] for f in ld]}


# Splits of ragged features of a single record are uninitialised memory in TensorFlow.
row("ParseSequenceExampleV2", 0, plain(*[sequence_v2(s, **k) for s in SEQUENCE_BATCHES for k in [
    {"cs": [("a", F32)]}, {"cd": [("a", Fed([9.0], F32), [1])]}, {"cd": [("a", NONE[F32], [1])]}, {"cd": [("a", NONE[F32], [2])]}, {"cs": [("a", I64)]}, {"ls": [("l", F32), ("m", I64)]},
    {"ls": [("l", I64)]}, {"ld": [("m", I64, [2])], "missing": True}, {"ld": [("m", I64, [2])]}, {"ld": [("m", I64, [1])], "missing": True}]],
    *[sequence_v2(s, **k) for s in SEQUENCE_BATCHES[:2] for k in [{"cr": [("a", F32)]}, {"lr": [("l", F32), ("m", I64)]}]]))


def uneven_sequences(_):
    """Features and misused_lists of features with too many values, too few, or none."""
    def feature(size):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=range(size)))

    def parse(context, misused_lists):
        examples = [tf.train.SequenceExample(
            context=tf.train.Features(feature={"c": feature(c)} if c is not None else {}),
            feature_lists=tf.train.FeatureLists(feature_list={"f": tf.train.FeatureList(feature=map(feature, f))})) for c, f in zip(context, misused_lists)]
        return tf.io.parse_sequence_example(fed(Fed([e.SerializeToString() for e in examples], STRING)), {"c": tf.io.FixedLenFeature([2], I64)},
                                            {"f": tf.io.FixedLenSequenceFeature([2], I64)}, example_names=fed(Fed([b"a", b"b"], STRING)))

    return [parse(*wrong) for wrong in [((2, 1), ([2], [2])), ((1, 1), ([2], [2])), ((3, 2), ([2], [2])), ((None, None), ([2], [2])),
                                        ((2, None), ([2], [2])), ((2, 2), ([2], [3])), ((2, 2), ([2], [2, 1])), ((2, 2), ([2], [1, 3]))]]


def misused_lists(_):
    """Rows that have no place, or no list."""
    empty = raw.EmptyTensorList(element_shape=fed(Fed([], I32)), max_num_elements=fed(Fed(-1, I32)), element_dtype=F32)
    length = lambda handle: raw.TensorListLength(input_handle=handle)
    pushed = raw.TensorListPushBackBatch(input_handles=tf.stack([empty, empty]), tensor=fed(V((3,), F32)))
    return [length(raw.TensorListScatterV2(tensor=fed(V((2,), F32)), indices=fed(Fed(i, I32)), element_shape=fed(Fed([], I32)), num_elements=fed(Fed(-1, I32))))
            for i in ([0, -3], [0, 3, 4], [0, 3])] + [length(pushed[0])]


program("ParseSequenceExampleV2", WORDS, uneven_sequences, [None])


def sequence_v1(serialized, cs=(), cd=(), ls=(), ld=(), missing=()):
    keys = lambda features: [f[0] for f in features]
    return {"serialized": serialized, "debug_name": text(), "context_dense_defaults": [f[1] for f in cd], "feature_list_dense_missing_assumed_empty": list(missing),
            "context_sparse_keys": keys(cs), "context_dense_keys": keys(cd), "feature_list_sparse_keys": keys(ls), "feature_list_dense_keys": keys(ld),
            "Ncontext_sparse": len(cs), "Ncontext_dense": len(cd), "Nfeature_list_sparse": len(ls), "Nfeature_list_dense": len(ld), "context_sparse_types": [f[1] for f in cs],
            "feature_list_dense_types": [f[1] for f in ld], "context_dense_shapes": [f[2] for f in cd], "feature_list_sparse_types": [f[1] for f in ls],
            "feature_list_dense_shapes": [f[2] for f in ld]}


SEQUENCE_FEATURES = [{"cs": [("a", F32)]}, {"cd": [("a", Fed([9.0], F32), [1])]}, {"cd": [("a", NONE[F32], [1])]}, {"ls": [("l", F32), ("m", I64)]}, {"ls": [("l", I64)]},
                     {"ld": [("m", I64, [2])], "missing": ["m"]}, {"ld": [("m", I64, [2])]}, {"ld": [("m", I64, [1])], "missing": ["m"]}]
row("ParseSequenceExample", 0, plain(*[sequence_v1(s, **k) for s in SEQUENCE_BATCHES[:2] + SEQUENCE_BATCHES[4:5] for k in SEQUENCE_FEATURES]))


def sequence_single(serialized, cs=(), cd=(), ls=(), ld=(), missing=()):
    keys = lambda features: [one(f[0]) for f in features]
    return {"serialized": serialized, "feature_list_dense_missing_assumed_empty": text(*missing), "context_sparse_keys": keys(cs), "context_dense_keys": keys(cd),
            "feature_list_sparse_keys": keys(ls), "feature_list_dense_keys": keys(ld), "context_dense_defaults": [f[1] for f in cd], "debug_name": one("n"),
            "context_sparse_types": [f[1] for f in cs], "feature_list_dense_types": [f[1] for f in ld], "context_dense_shapes": [f[2] for f in cd],
            "feature_list_sparse_types": [f[1] for f in ls], "feature_list_dense_shapes": [f[2] for f in ld]}


row("ParseSingleSequenceExample", 0, plain(*[sequence_single(s, **k) for s in SEQUENCE_BATCHES[1:4] + SEQUENCE_BATCHES[5:6] for k in SEQUENCE_FEATURES]))
CSV = ["1,2.5,a", "3,,b", "4,5,\"q,\"\"x\"\"\"", ",1e3,", "7,8,9\n"]
DEFAULTS = [[Fed([0], I32), Fed([1.5], F32), Fed(np.array([b"d"], object), STRING)], [NONE[I64], Fed(2.0, F64), one("z")], [NONE[I64], NONE[F32], NONE[STRING]]]
row("DecodeCSV", 0, plain(*[{"records": text(*c), "record_defaults": d, "na_value": n} for d in DEFAULTS for n in ("", "4")
                            for c in (CSV, CSV[:1], ["1,2"], ["1,2,3,4"], ["x,2,3"], ["1,y,3"], ["1,2,a\"b"], ["1,2,\"a"], ["1,2,\"a\"b"], ["99999999999,1,a"], [])],
                          {"records": text(CSV[0]), "record_defaults": [NONE[STRING]], "select_cols": [1]}, {"records": text(CSV[0]), "record_defaults": [NONE[STRING], NONE[I64]], "select_cols": [1, 0]},
                          {"records": text("1;2"), "record_defaults": [NONE[I64], NONE[I64]], "field_delim": ";"}, {"records": text("\"1\",2"), "record_defaults": [NONE[STRING], NONE[I64]], "use_quote_delim": False},
                          {"records": text("1"), "record_defaults": [Fed([1, 2], I64)]}))
row("DecodeJSONExample", 0, plain(*[{"json_examples": text(j)} for j in (
    '{"features": {"feature": {"a": {"int64List": {"value": [1, 2]}}}}}', "{}", "", "{", '{"x": 1}', '{"features": {"feature": {"z": {"int64List": {"value": [-1, "300"]}}, "b": {"floatList": {"value": [1.5, 2]}}, "a": null}}}', '{"features": {"feature": {"a": {"bytesList": {"value": ["YWI="]}}}}}', "[" * 1000)]))
row("DecodePaddedRaw", 0, plain(*[{"input_bytes": text("abcdefgh", "", "abcdefghijkl"), "fixed_length": Fed(n, I32), "out_type": t, "little_endian": e}
                                  for t in (U8, I16, I32, F32, F64, HALF) for e in (True, False) for n in (8, 0, -1, 6, 16)]))
row("DecodeCompressed", 0, plain(*[{"bytes": text(*b), "compression_type": c} for c in ("", "ZLIB", "GZIP", "LZ4")
                                   for b in ([compression.compress(b"abc" * 99), compression.compress(b"")], [gzip.compress(b"xyz" * 99, mtime=0)], ["not compressed"], [""], [compression.compress(b"ab") * 2], [compression.compress(b"ab") + b"xyz"],
                                             [gzip.compress(b"ab", mtime=0) * 2], [gzip.compress(b"ab", mtime=0) + b"xyz"])]))
row("SerializeTensor", 0, each(*[lambda t, s=s: {"tensor": V(s, t)} for s in ((), (0,), (2, 3))]))
row("ParseTensor", 0, plain(*[{"serialized": s, "out_type": t} for t in (F32, I32, STRING)
                              for s in [one(tf.make_tensor_proto([1.0, 2.0]).SerializeToString()), one(tf.make_tensor_proto([b"a"]).SerializeToString()), one("junk"), text("a"), one("")]]))


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
TEXT = [b"int32: 5 int32s: [1, 2, 3] floats: [0.5, -1] strings: 'a' strings: 'b' enum: FIRST message { int64: 1 } bools: true number: 8 Group { inner: 4 }", b"", b"word: 'x' doubles: 1e300 sint64s: -5"]
FIELDS = [("int32", I64), ("int32s", I32), ("floats", F64), ("strings", STRING), ("enum", I32), ("message", STRING), ("bools", BOOL), ("number", I64), ("word", STRING), ("doubles", F64), ("sint64s", I64)]
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
row("DecodeRaw", 0, lambda: ({"bytes": Fed([b"abcdefgh" * 2, b"12345678" * 2], STRING), "out_type": t, "little_endian": e}
                             for t in ALL[:-1] for e in (True, False)), lambda: ({"bytes": Fed(b, STRING), "out_type": t} for t in (I32, U8) for b in (
                                 [b"abc"], [b"abcd", b"abcdefgh"], [b""], [])))
