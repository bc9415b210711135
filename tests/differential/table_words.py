"""Errors whose words programs look for: each case is refused, and what Weir says holds what TensorFlow says."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

INDICES, VALUES, SHAPE = Fed([[0, 1], [1, 0]], I64), Fed([1, 2], F32), Fed([2, 3], I64)
ROW, SHORT, LONG, DEEP = Fed([0, 1], I64), Fed([1], F32), Fed([2, 3, 4], I64), Fed([[2, 3]], I64)
FAR = Fed([[0, 1], [5, 0]], I64)


def sparse(prefix="", names=("indices", "values", "shape"), **other):
    """Cases with one part of a sparse tensor that does not fit."""
    parts = [(INDICES, SHORT, SHAPE), (INDICES, VALUES, LONG), (INDICES, Fed(1, F32), SHAPE), (INDICES, VALUES, DEEP)]
    return [{**{prefix + name: part for name, part in zip(names, three)}, **other} for three in parts]


OTHER = {"b_indices": INDICES, "b_values": VALUES, "b_shape": SHAPE}
ADDED = {**OTHER, "thresh": Fed(0, F32)}
row("SparseAdd", WORDS, plain(*sparse("a_", **ADDED), {"a_indices": ROW, "a_values": VALUES, "a_shape": SHAPE, **ADDED}))
row("SparseReorder", WORDS, plain(*sparse("input_")))
row("SparseSparseMaximum SparseSparseMinimum", WORDS, plain(
    *sparse("a_", **OTHER), {"a_indices": ROW, "a_values": VALUES, "a_shape": SHAPE, **OTHER},
    {"a_indices": FAR, "a_values": VALUES, "a_shape": SHAPE, **OTHER}))
AXES = {"reduction_axes": Fed([0], I32)}
row("SparseReduceSum SparseReduceMax SparseReduceSumSparse", WORDS, plain(*sparse("input_", **AXES)))
row("SparseSlice", WORDS, plain(*sparse(start=Fed([0, 0], I64), size=Fed([1, 1], I64))))
row("SparseSlice", 0, plain({"indices": INDICES, "values": VALUES, "shape": SHAPE, "start": Fed([0, 5], I64), "size": Fed([1, 1], I64)}))
SPLIT = {"split_dim": Fed(1, I64), "num_split": 2}
row("SparseSplit", WORDS, plain(*sparse(**SPLIT)[:2], {"indices": FAR, "values": VALUES, "shape": SHAPE, **SPLIT},
                                {"indices": INDICES, "values": VALUES, "shape": SHAPE, "split_dim": Fed([1, 1], I64), "num_split": 2}))
TRUTH = {"truth_indices": INDICES, "truth_values": VALUES, "truth_shape": SHAPE}
row("EditDistance", WORDS, plain(*sparse("hypothesis_", **TRUTH), {
    "hypothesis_indices": Fed([[0, 1, 0]], I64), "hypothesis_values": SHORT, "hypothesis_shape": LONG, **TRUTH}))

row("MatMul", WORDS, plain(*[{"a": V(a, F64), "b": V(b, F64)} for a, b in [((3,), (3,)), ((2, 3), (3,)), ((2, 3, 4), (2, 4, 5)), ((2, 3), (4, 5))]]))
row("BatchMatMul", WORDS, plain(*[{"x": V(a, F32), "y": V(b, F32)} for a, b in [((3,), (3,)), ((2, 3), (3,)), ((2, 3, 4), (4, 5))]]))
row("BatchMatMulV2", WORDS, plain(*[{"x": V(a, F32), "y": V(b, F32)} for a, b in [((3,), (3,)), ((2, 3, 4), (3, 4, 5)), ((2, 3, 4), (3, 3, 5))]]))
row("BroadcastTo", WORDS, plain({"input": V((3, 1), F32), "shape": Fed([1, 4], I32)}))

PLAIN = dict(strides=[1, 1, 1, 1], padding="SAME")
row("Conv2DBackpropInput", WORDS, plain(*[
    {"input_sizes": Fed(s, I32), "filter": V(f, F64), "out_backprop": V(g, F64), **PLAIN} for s, f, g in [
        ([1, 4, 4, 2], (2, 2, 2), (1, 4, 4, 3)), ([1, 4, 4, 2], (2, 2, 2, 3), (2, 4, 4, 3)),
        ([1, 4, 4, 2], (2, 2, 2, 3), (1, 4, 4, 4))]]))
row("Conv2DBackpropFilter", WORDS, plain(*[
    {"input": V(i, F64), "filter_sizes": Fed(s, I32), "out_backprop": V(g, F64), **PLAIN} for i, s, g in [
        ((1, 4, 4), [2, 2, 2, 3], (1, 4, 4, 3)), ((1, 4, 4, 2), [2, 2, 2], (1, 4, 4, 3)), ((1, 4, 4, 2), [2, 2, 2, 3], (2, 4, 4, 3)),
        ((1, 4, 4, 2), [[2, 2, 2, 3]], (1, 4, 4, 3))]]))
row("DepthwiseConv2dNativeBackpropInput", WORDS, plain(*[
    {"input_sizes": Fed(s, I32), "filter": V(f, F32), "out_backprop": V(g, F32), **PLAIN} for s, f, g in [
        ([1, 4, 4, 2], (2, 2, 2), (1, 4, 4, 2)), ([1, 4, 4, 2], (2, 2, 2, 1), (1, 4, 4)), ([1, 4, 4, 2], (2, 2, 2, 1), (2, 4, 4, 2)),
        ([1, 4, 4, 2], (2, 2, 3, 1), (1, 4, 4, 3)), ([[1, 4, 4, 2]], (2, 2, 2, 1), (1, 4, 4, 2))]]))
CUBE = dict(strides=[1, 1, 1, 1, 1], padding="SAME")
row("Conv3DBackpropInputV2", WORDS, plain(*[
    {"input_sizes": Fed(s, I32), "filter": V((1, 1, 1, 2, 3), F32), "out_backprop": V(g, F32), **CUBE} for s, g in [
        ([1, 2, 2, 2], (1, 2, 2, 2, 3)), ([1, 2, 2, 2, 2], (2, 2, 2, 3)), ([1, 2, 2, 2, 2], (2, 2, 2, 2, 3)),
        ([1, 2, 2, 2, 3], (1, 2, 2, 2, 3)), ([1, 2, 2, 2, 2], (1, 2, 2, 2, 4))]]))
row("MaxPoolGrad", WORDS, plain(*[
    {"orig_input": V(i, F32), "orig_output": V(o, F32), "grad": V(g, F32), "ksize": [1, 2, 2, 1], **PLAIN} for i, o, g in [
        ((1, 4, 4, 1), (4, 4, 1), (1, 4, 4, 1)), ((1, 4, 4, 1), (1, 4, 4, 1), (4, 4, 1)), ((1, 4, 4, 1), (1, 4, 3, 1), (1, 4, 4, 1))]]))
row("MaxPool", WORDS, plain({"input": V((4, 4, 1), F64), "ksize": [1, 2, 2, 1], **PLAIN}))
row("HistogramFixedWidth", WORDS, plain(*[
    {"values": V((3,), F32), "value_range": Fed(r, F32), "nbins": Fed(n, I32)} for r, n in [([0, 1, 2], 3), ([[0, 1]], 3), ([0, 1], [3])]]))

CELL = {"x": (2, 4), "h_prev": (2, 3), "w_ru": (7, 6), "w_c": (7, 3), "b_ru": (6,), "b_c": (3,)}
row("GRUBlockCell", WORDS, plain(*[
    {name: V(wrong.get(name, shape), F32) for name, shape in CELL.items()} for wrong in [
        {"x": (4,)}, {"h_prev": (3, 3)}, {"w_ru": (7, 5)}, {"w_c": (6, 3)}, {"b_ru": (6, 1)}, {"b_c": (4,)}]]))
BLOCK = {"x": (5, 2, 4), "cs_prev": (2, 3), "h_prev": (2, 3), "w": (7, 12), "wci": (3,), "wcf": (3,), "wco": (3,), "b": (12,)}
row("BlockLSTM", WORDS, plain(*[
    {"seq_len_max": Fed(3, I64), **{name: V(wrong.get(name, shape), F32) for name, shape in BLOCK.items()}} for wrong in [
        {"x": (2, 4)}, {"cs_prev": (2, 3, 1)}, {"w": (7,)}, {"w": (6, 12)}, {"wci": (4,)}, {"b": (12, 1)}, {"b": (11,)}]]))
row("CTCLoss", WORDS, plain({"inputs": V((5, 1, 4), F32), "labels_indices": Fed([[0, 1], [0, 0]], I64), "labels_values": Fed([1, 2], I32), "sequence_length": Fed([5], I32)}))


def sequences(_):
    """Features and lists of features with too many values, too few, or none."""
    def feature(size):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=range(size)))

    def parse(context, lists):
        examples = [tf.train.SequenceExample(
            context=tf.train.Features(feature={"c": feature(c)} if c is not None else {}),
            feature_lists=tf.train.FeatureLists(feature_list={"f": tf.train.FeatureList(feature=map(feature, f))})) for c, f in zip(context, lists)]
        return tf.io.parse_sequence_example(fed(Fed([e.SerializeToString() for e in examples], STRING)), {"c": tf.io.FixedLenFeature([2], I64)},
                                            {"f": tf.io.FixedLenSequenceFeature([2], I64)}, example_names=fed(Fed([b"a", b"b"], STRING)))

    return [parse(*wrong) for wrong in [((2, 1), ([2], [2])), ((1, 1), ([2], [2])), ((3, 2), ([2], [2])), ((None, None), ([2], [2])),
                                        ((2, None), ([2], [2])), ((2, 2), ([2], [3])), ((2, 2), ([2], [2, 1])), ((2, 2), ([2], [1, 3]))]]


program("ParseSequenceExampleV2", WORDS, sequences, [None])


def tables(_):
    """Keys and values of other types or numbers than a table has."""
    table = tf.raw_ops.HashTableV2(key_dtype=STRING, value_dtype=I32, shared_name="words")
    fill = [tf.raw_ops.LookupTableImportV2(table_handle=table, keys=fed(Fed([b"a", b"b"], STRING)), values=fed(Fed(v, I32))) for v in ([1, 2, 3], [1, 2])]
    find = [tf.raw_ops.LookupTableFindV2(table_handle=table, keys=fed(k), default_value=fed(v)) for k, v in [
        (Fed([1], I32), Fed(1, I32)), (Fed([b"a"], STRING), Fed(1, I64)), (Fed([b"a"], STRING), Fed([1, 2], I32)), (Fed([b"b"], STRING), Fed(1, I32))]]
    return fill + find


program("LookupTableImportV2 LookupTableFindV2 HashTableV2", WORDS, tables, [None])
row("DynamicStitch", WORDS, plain({"indices": [Fed([0, 1], I32), Fed([2], I32)], "data": [V((2,), F32), V((1, 1), F32)]}))


def lists(_):
    """Rows that have no place, or no list."""
    ops = tf.raw_ops
    empty = ops.EmptyTensorList(element_shape=fed(Fed([], I32)), max_num_elements=fed(Fed(-1, I32)), element_dtype=F32)
    length = lambda handle: ops.TensorListLength(input_handle=handle)
    pushed = ops.TensorListPushBackBatch(input_handles=tf.stack([empty, empty]), tensor=fed(V((3,), F32)))
    return [length(ops.TensorListScatterV2(tensor=fed(V((2,), F32)), indices=fed(Fed(i, I32)), element_shape=fed(Fed([], I32)), num_elements=fed(Fed(-1, I32))))
            for i in ([0, -3], [0, 3, 4], [0, 3])] + [length(pushed[0])]


program("TensorListScatterV2 TensorListPushBackBatch", WORDS, lists, [None])

TARGET = V((3, 2), F32)
row("TensorScatterAdd TensorScatterUpdate", WORDS, plain(*[
    {"tensor": t, "indices": Fed(i, I32), "updates": V(u, F32)} for t, i, u in [
        (TARGET, [[0]], (1, 3)), (TARGET, [[0]], (1,)), (TARGET, [[3]], (1, 2)), (V((), F32), [[0]], (1,)), (V((0, 2), F32), [[0]], (1, 2))]]))
row("ScatterNd", WORDS, plain({"indices": Fed([[0]], I32), "updates": V((1,), F32), "shape": Fed([0], I32)}))
