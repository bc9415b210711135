"""Tables of keys and values."""
from scratch_files import path, written
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


def mutable_table(t):
    key, value = t
    handle = raw.MutableHashTableV2(key_dtype=key, value_dtype=value, shared_name=unique("t"))
    return table_steps(handle, key, value, ())


KEYS = {STRING: [b"a", b"", b"c"], I64: [1, -2, 3], I32: [1, -2, 3]}


def table_steps(handle, key, value, shape):
    keys, values = fed(KEYS[key], key), fed(V((3,) + shape, value))
    size = raw.LookupTableSizeV2(table_handle=handle)
    find = raw.LookupTableFindV2(table_handle=handle, keys=fed(KEYS[key][::-1] + [KEYS[key][0]], key), default_value=fed(V(shape, value)))
    exported = raw.LookupTableExportV2(table_handle=handle, Tkeys=key, Tvalues=value)
    return [raw.LookupTableInsertV2(table_handle=handle, keys=keys, values=values), size, find,
            raw.LookupTableRemoveV2(table_handle=handle, keys=fed(KEYS[key][:1], key)), size,
            raw.LookupTableImportV2(table_handle=handle, keys=fed(KEYS[key][1:2], key), values=fed(V((1,) + shape, value))), exported, size,
            raw.LookupTableInsertV2(table_handle=handle, keys=keys, values=fed(V((2,) + shape, value)))]


class Pair(tuple):
    """Types of keys and values."""
    name = property(lambda self: "%s to %s" % (self[0].name, self[1].name))


_PAIRS = [Pair(p) for p in [(STRING, I64), (I64, F32), (STRING, F32), (I64, STRING)]]
program("MutableHashTableV2 LookupTableInsertV2 LookupTableSizeV2 LookupTableFindV2 LookupTableRemoveV2 LookupTableImportV2 LookupTableExportV2", 0,
        mutable_table, _PAIRS)


def tensors_table(t):
    key, value = t
    handle = raw.MutableHashTableOfTensorsV2(key_dtype=key, value_dtype=value, value_shape=[2], shared_name=unique("t"))
    return table_steps(handle, key, value, (2,))


program("MutableHashTableOfTensorsV2", 0, tensors_table, [Pair((STRING, I64)), Pair((I64, F32))])


def static_table(t):
    key, value = t
    handle = raw.HashTableV2(key_dtype=key, value_dtype=value, shared_name=unique("t"))
    keys = fed(KEYS[key], key)
    find = raw.LookupTableFindV2(table_handle=handle, keys=keys, default_value=fed(V((), value)))
    return [raw.InitializeTableV2(table_handle=handle, keys=keys, values=fed(V((3,), value))), find, raw.LookupTableSizeV2(table_handle=handle),
            raw.InitializeTableV2(table_handle=handle, keys=keys, values=fed(V((3,), value)))]


program("HashTableV2 InitializeTableV2", 0, static_table, [Pair((STRING, I64)), Pair((I64, STRING)), Pair((I64, F32))])


def misused_tables(_):
    """Keys and values of other types or numbers than a table has."""
    table = raw.HashTableV2(key_dtype=STRING, value_dtype=I32, shared_name="words")
    fill = [raw.LookupTableImportV2(table_handle=table, keys=fed(Fed([b"a", b"b"], STRING)), values=fed(Fed(v, I32))) for v in ([1, 2, 3], [1, 2])]
    find = [raw.LookupTableFindV2(table_handle=table, keys=fed(k), default_value=fed(v)) for k, v in [
        (Fed([1], I32), Fed(1, I32)), (Fed([b"a"], STRING), Fed(1, I64)), (Fed([b"a"], STRING), Fed([1, 2], I32)), (Fed([b"b"], STRING), Fed(1, I32))]]
    return fill + find


program("LookupTableImportV2 LookupTableFindV2 HashTableV2", WORDS, misused_tables, [None])


def anonymous_table(t):
    return [raw.LookupTableSizeV2(table_handle=raw.AnonymousMutableHashTable(key_dtype=t[0], value_dtype=t[1])),
            raw.LookupTableSizeV2(table_handle=raw.AnonymousHashTable(key_dtype=t[0], value_dtype=t[1]))]


program("AnonymousMutableHashTable AnonymousHashTable", 0, anonymous_table, [Pair((STRING, I64)), Pair((I64, F32))])
ONE = [F32]


def anonymous_tables(t):
    shape = dict(value_shape=[2])
    return [raw.LookupTableSizeV2(table_handle=make(key_dtype=STRING, value_dtype=I64, **more)) for make, more in (
        (raw.AnonymousHashTable, {}), (raw.AnonymousMutableHashTable, {}), (raw.AnonymousMutableHashTableOfTensors, shape))]


program("AnonymousHashTable AnonymousMutableHashTable AnonymousMutableHashTableOfTensors", 0, anonymous_tables, ONE)


def tables(maker, version, **attrs):
    def build(t):
        table = getattr(raw, maker + version)(key_dtype=I64, value_dtype=t, shared_name=maker, **attrs)
        shape = tuple(attrs.get("value_shape", ()))
        keys = lambda *k: np.array(k, np.int64)
        op = lambda name, **kw: getattr(raw, name + version)(table_handle=table, **kw)
        values = lambda n: fed(V((n,) + shape, t))
        find = lambda: op("LookupTableFind", keys=keys(3, 1, 7), default_value=fed(V(shape, t)))
        steps = [op("LookupTableSize"), find()]
        if maker == "HashTable":
            put = values(2)
            return steps + [op("InitializeTable", keys=keys(1, 3), values=put), find(), op("LookupTableSize"),
                            op("InitializeTable", keys=keys(1, 3), values=put),
                            op("LookupTableInsert", keys=keys(1), values=values(1))]
        put = values(1)
        return steps + [op("LookupTableInsert", keys=keys(1, 3, 9), values=values(3)), find(), op("LookupTableSize"),
                        op("LookupTableImport", keys=keys(5), values=put),
                        *op("LookupTableExport", Tkeys=I64, Tvalues=t), find(),
                        op("LookupTableInsert", keys=keys(1, 3), values=values(3))]

    return build


for v in ("", "V2"):
    program("HashTable%s InitializeTable%s" % (v, v), 0, tables("HashTable", v), [F32, I64])
    program("MutableHashTable{0} LookupTableFind{0} LookupTableInsert{0} LookupTableSize{0} LookupTableExport{0} "
            "LookupTableImport{0}".format(v), 0, tables("MutableHashTable", v), [F32, I64])
    program("MutableHashTableOfTensors" + v, 0, tables("MutableHashTableOfTensors", v, value_shape=[2]), [F32, I64])
known("MutableDenseHashTableV2", "step 5: output 0", "the bucket of an entry that was removed shows no value")


def dense_tables(t):
    reserved = dict(empty_key=np.int64(-1), deleted_key=np.int64(-2))
    table = raw.MutableDenseHashTableV2(value_dtype=t, initial_num_buckets=4, shared_name="dense", **reserved)
    k = np.arange(5)
    export = raw.LookupTableExportV2(table_handle=table, Tkeys=I64, Tvalues=t)
    return [raw.LookupTableInsertV2(table_handle=table, keys=k, values=fed(V((5,), t))), *export,
            raw.LookupTableRemoveV2(table_handle=table, keys=k[1:3]), *export, raw.LookupTableSizeV2(table_handle=table),
            raw.LookupTableRemoveV2(table_handle=table, keys=np.int64([-1])),
            raw.LookupTableFindV2(table_handle=table, keys=k, default_value=fed(V((), t))),
            raw.LookupTableSizeV2(table_handle=raw.AnonymousMutableDenseHashTable(value_dtype=t, **reserved))]


program("MutableDenseHashTableV2 LookupTableRemoveV2 AnonymousMutableDenseHashTable", 0, dense_tables, [F32, I64])


def ordered_tables(make, **reserved):
    """The order of an export, after growth, removals and an import."""

    def build(t):
        keys = np.array([b"%d" % (i * i % 97) for i in range(60)]) if t == STRING else np.arange(60) ** 3 % 1009 + 1
        if reserved:
            table = make(value_dtype=F32, initial_num_buckets=4, shared_name=unique("t"), **reserved[t.name])
        else:
            table = make(key_dtype=t, value_dtype=F32, shared_name=unique("t"))
        export = [raw.LookupTableExportV2(table_handle=table, Tkeys=t, Tvalues=F32)]
        insert = lambda some: raw.LookupTableInsertV2(table_handle=table, keys=fed(some, t), values=fed(V((len(some),), F32)))
        remove = raw.LookupTableRemoveV2(table_handle=table, keys=fed(keys[3:20:2], t))
        steps = [insert(keys[:5]), export, insert(keys), export]
        if not reserved:
            replace = raw.LookupTableImportV2(table_handle=table, keys=fed(keys[:9], t), values=fed(V((9,), F32)))
            steps += [remove, export, insert(keys[7:30]), export, replace, export, insert(keys[30:40]), export]
        return steps

    return build


program("MutableHashTableV2 LookupTableExportV2 LookupTableRemoveV2", 0, ordered_tables(raw.MutableHashTableV2), [I64, STRING])
program("MutableDenseHashTableV2 LookupTableExportV2", 0,
        ordered_tables(raw.MutableDenseHashTableV2, int64=dict(empty_key=np.int64(-1), deleted_key=np.int64(-2)),
                       string=dict(empty_key=b"", deleted_key=b"~")), [I64, STRING])


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
