"""Sparse tensors: rearranged, added, multiplied, reduced, crossed; sets."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("EditDistance", 0, each(*[lambda t, i=i, s=s, n=n: {
    "hypothesis_indices": longs(i), "hypothesis_values": V((len(i),), t, (0, 2)), "hypothesis_shape": longs(s), "truth_indices": longs([[0, 0], [0, 1], [0, 2], [2, 0]]),
    "truth_values": V((4,), t, (0, 2)), "truth_shape": longs([3, 4]), "normalize": n} for n in (True, False)
    for i, s in [([[0, 0], [0, 1], [1, 0]], [3, 2]), ([[0, 0], [0, 1], [0, 2], [2, 0]], [5, 4]), (np.zeros((0, 2)), [3, 2]), ([[3, 0]], [3, 2]), ([[0]], [3]), ([[0, 0]], [3])]],
    types=[F32, I32, I64, STRING, U8]))
row("EditDistance", 0, plain({
    "hypothesis_indices": Fed([[0, 0]], I64), "hypothesis_values": Fed([1], I32), "hypothesis_shape": Fed([1, 1], I64),
    "truth_indices": Fed([[5, 0]], I64), "truth_values": Fed([1], I32), "truth_shape": Fed([1, 1], I64)}))
SORTED = [[0, 1], [1, 0], [1, 3]]
EMPTY = np.zeros((0, 2), np.int64)
row("SparseToDense", 0, each(*[
    lambda t, i=i, s=s, n=n, v=v: {"sparse_indices": longs(i), "output_shape": longs(s), "sparse_values": V(n, t),
                                   "default_value": V((), t), "validate_indices": v}
    for i, s, n, v in [(SORTED, [3, 4], (3,), True), (SORTED, [3, 4], (), True), ([2, 0], [4], (2,), False), (1, [4], (), True),
                       ([[0, 1], [0, 1]], [3, 4], (2,), True), ([[1, 1], [0, 1]], [3, 4], (2,), True),
                       ([[0, 1], [3, 0]], [3, 4], (2,), True), ([[0, 1], [3, 0]], [3, 4], (2,), False),
                       ([[0, -1]], [3, 4], (1,), True), (SORTED, [3], (3,), True), (SORTED, [3, 4], (2,), True),
                       (SORTED, [[3, 4]], (3,), True), (SORTED, [3, -4], (3,), True), (EMPTY, [2, 2], (0,), True)]]))
row("SparseReshape", 0, plain(*[
    {"input_indices": longs(i), "input_shape": longs(s), "new_shape": longs(n)}
    for i, s, n in [(SORTED, [3, 4], [2, 6]), (SORTED, [3, 4], [-1]), (SORTED, [3, 4], [3, 4]), (SORTED, [3, 4], [5, -1]),
                    (SORTED, [3, 4], [-1, -1]), (SORTED, [3, 4], [-2, 6]), (SORTED, [3, 4], [13]), (SORTED, [0, 4], [4, 0]),
                    (EMPTY, [0, 4], [4, 0]), (EMPTY, [0, 4], [-1, 0]), (EMPTY, [0, 4], [-1, 2]), (SORTED, [3, -4], [12]),
                    (SORTED, [2 ** 40, 2 ** 40], [12]), ([0, 1], [3, 4], [12]), (SORTED, [[3, 4]], [12]), (SORTED, [3, 4], [[12]])]]))


def sparse(t, index=SORTED, shape=(3, 4), names=("indices", "values", "shape"), n=None, domain=None, last=True):
    """The arguments of a sparse input; by default of three entries in a [3, 4] matrix."""
    index = np.array(index, np.int64).reshape(-1, len(shape)) if not isinstance(index, np.ndarray) else index
    made = {names[0]: longs(index), names[1]: V((len(index) if n is None else n,), t, domain), names[2]: longs(list(shape))}
    return made


INPUT = ("input_indices", "input_values", "input_shape")
# Indices that are sorted, unsorted, repeated, out of range, negative, none, of another rank.
INDICES = [SORTED, [[1, 3], [0, 1], [1, 0]], [[0, 1], [0, 1], [2, 2]], [[0, 1], [1, 4]], [[0, 1], [-1, 0]], EMPTY,
           np.array([[0], [1]]), np.array([0, 1, 2])]
BAD_SHAPES = [(3, -4), (2 ** 40, 2 ** 40), (0, 4), (3,), (3, 4, 5)]
row("SparseReorder", 0, each(*[lambda t, i=i, s=s: sparse(t, i, s, INPUT)
                               for i, s in [(i, (3, 4)) for i in INDICES] + [(SORTED, s) for s in BAD_SHAPES[:3]]]))


def concat(t, shapes, axis, index=(SORTED, [[0, 0], [1, 1]])):
    return {"indices": [longs(i) for i in index], "values": [V((len(i),), t) for i in index],
            "shapes": [longs(s) for s in shapes], "concat_dim": axis}


row("SparseConcat", 0, each(*[lambda t, s=s, a=a: concat(t, s, a) for s, a in [
    ([[3, 4], [2, 4]], 0), ([[3, 4], [3, 2]], 1), ([[3, 4], [3, 2]], -1), ([[3, 4], [3, 2]], 0), ([[3, 4], [3, 2]], 2),
    ([[3, 4], [3, 2]], -3), ([[3, 4], [3]], 0), ([[3, 4], [3, -2]], 1)]]))  # TensorFlow does not survive sizes whose sum overflows
row("SparseSlice", 0, each(*[
    lambda t, b=b, n=n, i=i: {**sparse(t, i), "start": longs(b), "size": longs(n)}
    for b, n, i in [([0, 0], [3, 4], SORTED), ([1, 0], [2, 2], SORTED), ([1, 0], [9, 9], SORTED), ([0], [1], SORTED), ([0, 0], [1], SORTED),
                    ([3, 0], [1, 1], SORTED), ([0, 0], [0, 0], SORTED), ([0, 0], [3, 4], INDICES[1]), ([0, 0], [3, 4], EMPTY),
                    ([[0, 0]], [[3, 4]], SORTED)]]))
row("SparseSliceGrad", 0, each(*[
    lambda t, g=g, s=s, o=o: {"backprop_val_grad": V(g, t), "input_indices": longs(SORTED), "input_start": longs(s), "output_indices": longs(o)}
    for g, s, o in [((2,), [1, 0], [[0, 0], [0, 3]]), ((1,), [1, 0], [[0, 0], [0, 3]]), ((2,), [1], [[0, 0], [0, 3]]), ((0,), [0, 0], EMPTY),
                    ((2,), [0, 0], [[5, 5], [6, 6]]), ((2,), [[1, 0]], [[0, 0], [0, 3]]), ((1,), [0, 0], [[0]])]]))
row("SparseSplit", 0, each(*[
    lambda t, a=a, n=n, i=i: {"split_dim": longs(a), **sparse(t, i), "num_split": n}
    for a, n, i in [(0, 3, SORTED), (1, 2, SORTED), (1, 3, SORTED), (0, 4, SORTED), (2, 1, SORTED), (1, 2, EMPTY)]]))
row("SparseFillEmptyRows", 0, each(*[
    lambda t, i=i, s=s: {"indices": longs(i), "values": V((len(i),), t), "dense_shape": longs(s), "default_value": V((), t)}
    for i, s in [(SORTED, [3, 4]), ([[0, 1], [1, 0]], [2, 4]), ([[1, 1], [0, 2]], [4, 4]), (EMPTY, [3, 4]), (EMPTY, [0, 4]),
                 (SORTED, [0, 4]), (SORTED, [1, 4]), ([[-1, 0]], [3, 4]), (SORTED, [[3, 4]]), (SORTED, [])]]))
row("SparseFillEmptyRowsGrad", 4, each(*[
    lambda t, m=m, n=n: {"reverse_index_map": longs(m), "grad_values": V((n,), t)}
    for m, n in [([0, 2, 3], 5), ([], 3), ([0, 5], 5), ([-1], 5), ([], 0)]], types=NUMBERS))
A, B = ("a_indices", "a_values", "a_shape"), ("b_indices", "b_values", "b_shape")
row("SparseAdd", 0, each(*[
    lambda t, i=i, s=s, th=th: {**sparse(t, names=A), **sparse(t, i, s, B), "thresh": Fed(th, t.real_dtype)}
    for i, s, th in [([[0, 1], [2, 2]], (3, 4), 0), (SORTED, (3, 4), 5), (EMPTY, (3, 4), 0), ([[0, 0]], (3, 5), 0),
                     (np.array([[0], [1]]), (3,), 0), (SORTED, (3, 4), [0])]]))
ENTRIES, TWO_VALUES, TWO_BY_THREE = Fed([[0, 1], [1, 0]], I64), Fed([1, 2], F32), Fed([2, 3], I64)
ROW, SHORT, LONG, DEEP = Fed([0, 1], I64), Fed([1], F32), Fed([2, 3, 4], I64), Fed([[2, 3]], I64)


def misfits(prefix="", names=("indices", "values", "shape"), **other):
    """Cases with one part of a misfits tensor that does not fit."""
    parts = [(ENTRIES, SHORT, TWO_BY_THREE), (ENTRIES, TWO_VALUES, LONG), (ENTRIES, Fed(1, F32), TWO_BY_THREE), (ENTRIES, TWO_VALUES, DEEP)]
    return [{**{prefix + name: part for name, part in zip(names, three)}, **other} for three in parts]


TRUTH = {"truth_indices": ENTRIES, "truth_values": TWO_VALUES, "truth_shape": TWO_BY_THREE}
row("EditDistance", WORDS, plain(*misfits("hypothesis_", **TRUTH), {
    "hypothesis_indices": Fed([[0, 1, 0]], I64), "hypothesis_values": SHORT, "hypothesis_shape": LONG, **TRUTH}))
row("SparseSlice", WORDS, plain(*misfits(start=Fed([0, 0], I64), size=Fed([1, 1], I64))))
row("SparseSlice", 0, plain({"indices": ENTRIES, "values": TWO_VALUES, "shape": TWO_BY_THREE, "start": Fed([0, 5], I64), "size": Fed([1, 1], I64)}))
row("SparseReorder", WORDS, plain(*misfits("input_")))
OTHER = {"b_indices": ENTRIES, "b_values": TWO_VALUES, "b_shape": TWO_BY_THREE}
ADDED = {**OTHER, "thresh": Fed(0, F32)}
row("SparseAdd", WORDS, plain(*misfits("a_", **ADDED), {"a_indices": ROW, "a_values": TWO_VALUES, "a_shape": TWO_BY_THREE, **ADDED}))
row("SparseAddGrad", 0, each(*[
    lambda t, g=g, b=b: {"backprop_val_grad": V((g,), t), "a_indices": longs(SORTED), "b_indices": longs(b),
                         "sum_indices": longs([[0, 1], [1, 0], [1, 3], [2, 2]])}
    for g, b in [(4, [[0, 1], [2, 2]]), (3, [[0, 1]]), (4, EMPTY), (4, [[0]])]]))
row("SparseTensorDenseAdd", 0, each(*[
    lambda t, i=i, s=s, b=b: {"a_indices": longs(i), "a_values": V((len(i),), t), "a_shape": longs(s), "b": V(b, t)}
    for i, s, b in [(SORTED, [3, 4], (3, 4)), ([[0, 1], [0, 1]], [3, 4], (3, 4)), (SORTED, [3, 4], (3, 5)), ([[3, 0]], [3, 4], (3, 4)),
                    ([[-1, 0]], [3, 4], (3, 4)), (SORTED, [3, 4], (12,)), (EMPTY, [3, 4], (3, 4)), (SORTED, [[3, 4]], (3, 4))]]))
row("SparseTensorDenseMatMul", 16, each(*[
    lambda t, i=i, s=s, b=b, x=x, y=y: {"a_indices": longs(i), "a_values": V((len(i),), t), "a_shape": longs(s), "b": V(b, t),
                                        "adjoint_a": x, "adjoint_b": y}
    for i, s, b, x, y in [(SORTED, [3, 4], (4, 2), False, False), (SORTED, [3, 4], (3, 5), True, False), (SORTED, [3, 4], (40, 4), False, True),
                          (SORTED, [3, 4], (2, 3), True, True), (EMPTY, [3, 4], (4, 2), False, False), (SORTED, [3, 4], (3, 2), False, False),
                          ([[0, 4]], [3, 4], (4, 2), False, False), ([[3, 0]], [3, 4], (4, 2), False, False), ([[-1, 0]], [3, 4], (4, 2), False, False),
                          (SORTED, [3], (4, 2), False, False), (SORTED, [3, 4], (4,), False, False), ([[0, 0]], [1, 4], (4, 0), False, False)]]))
row("SparseMatMul", 64, plain(*[{"a": V(a, t), "b": V(b, u), "transpose_a": x, "transpose_b": y, "a_is_sparse": True}
                                for t in (F32, BF16) for u in (F32, BF16)
                                for a, b, x, y in [((3, 4), (4, 5), False, False), ((4, 3), (5, 4), True, True), ((3, 4), (3, 5), False, False),
                                                   ((3,), (3, 5), False, False), ((0, 4), (4, 5), False, False), ((3, 0), (0, 5), False, False)]]))
SP = ("sp_indices", "sp_values", "sp_shape")
row("SparseDenseCwiseMul SparseDenseCwiseAdd SparseDenseCwiseDiv", 2, each(*[
    lambda t, i=i, d=d: {**sparse(t, i, names=SP), "dense": V(d, t, (1, 9))}
    for i, d in [(SORTED, (3, 4)), (SORTED, (4,)), (SORTED, (3, 1)), (SORTED, ()), (SORTED, (3, 5)), (SORTED, (2, 3, 4)), (EMPTY, (4,)),
                 ([[0, 4]], (4,)), ([[0, -1]], (4,)), (np.array([0, 1]), (4,))]]))
row("SparseReduceSum SparseReduceSumSparse", 8, each(*[
    lambda t, i=i, a=a, k=k: {**sparse(t, i, names=INPUT), "reduction_axes": Fed(a, I32), "keep_dims": k}
    for i, a, k in [(SORTED, [0], False), (SORTED, [1], True), (SORTED, [-1, 0], False), (SORTED, [-1, 0], True), (SORTED, [], False), (SORTED, 1, False),
                    (SORTED, [2], False), (SORTED, [[0]], False), (INDICES[1], [1], False), (INDICES[2], [1], False), (EMPTY, [1], False)]]))
row("SparseReduceMax SparseReduceMaxSparse", 0, each(*[
    lambda t, i=i, a=a, k=k: {**sparse(t, i, names=INPUT), "reduction_axes": Fed(a, I32), "keep_dims": k}
    for i, a, k in [(SORTED, [0], False), (SORTED, [1], True), (SORTED, [0, 1], False), (SORTED, [2], False), (INDICES[1], [1], False), (EMPTY, [1], False)]]))
AXES = {"reduction_axes": Fed([0], I32)}
row("SparseReduceSum SparseReduceMax SparseReduceSumSparse", WORDS, plain(*misfits("input_", **AXES)))
row("SparseSoftmax", 8, each(*[lambda t, i=i, s=s: sparse(t, i, s, SP)
                               for i, s in [(SORTED, (3, 4)), (EMPTY, (3, 4)), ([[0, 0, 1], [0, 1, 1], [0, 1, 2]], (2, 2, 3)), ([[0], [2]], (3,)),
                                            ([[2, 1], [0, 2], [0, 0], [0, 0]], (3, 4)), ([[7, 9], [0, 9], [-1, 0]], (3, 4))]]))
row("SparseSparseMaximum SparseSparseMinimum", 0, each(*[
    lambda t, i=i, s=s: {**sparse(t, names=A), **sparse(t, i, s, B)}
    for i, s in [([[0, 1], [2, 2]], (3, 4)), (EMPTY, (3, 4)), ([[0, 0]], (3, 5)), (np.array([[0], [1]]), (3,))]]))
FAR = Fed([[0, 1], [5, 0]], I64)
SPLIT = {"split_dim": Fed(1, I64), "num_split": 2}
row("SparseSplit", WORDS, plain(*misfits(**SPLIT)[:2], {"indices": FAR, "values": TWO_VALUES, "shape": TWO_BY_THREE, **SPLIT},
                                {"indices": ENTRIES, "values": TWO_VALUES, "shape": TWO_BY_THREE, "split_dim": Fed([1, 1], I64), "num_split": 2}))
row("SparseSparseMaximum SparseSparseMinimum", WORDS, plain(
    *misfits("a_", **OTHER), {"a_indices": ROW, "a_values": TWO_VALUES, "a_shape": TWO_BY_THREE, **OTHER},
    {"a_indices": FAR, "a_values": TWO_VALUES, "a_shape": TWO_BY_THREE, **OTHER}))
SPARSE = ("sparse_indices", "sparse_values", "sparse_shape")


def serialized(t):
    one = {k: fed(v) for k, v in sparse(t, names=SPARSE).items()}
    outputs = []
    for out_type in (STRING, tf.variant):
        packed = raw.SerializeSparse(**one, out_type=out_type)
        outputs += raw.DeserializeSparse(serialized_sparse=packed, dtype=t)
        outputs += raw.DeserializeSparse(serialized_sparse=tf.stack([packed, packed]), dtype=t)
        outputs += raw.DeserializeSparse(serialized_sparse=raw.SerializeManySparse(**one, out_type=out_type), dtype=t)
    outputs += raw.DeserializeManySparse(serialized_sparse=raw.SerializeManySparse(**one), dtype=t)
    return [outputs]


program("SerializeSparse DeserializeSparse SerializeManySparse DeserializeManySparse", 0, serialized, [F32, I64, STRING, C128])


def parked(t):
    one = {k: fed(v) for k, v in sparse(t, names=SPARSE).items()}
    first = raw.AddSparseToTensorsMap(**one, shared_name="m%s" % t.name)
    with tf.control_dependencies([first]):
        more = raw.AddManySparseToTensorsMap(**one, shared_name="n%s" % t.name)
        taken = raw.TakeManySparseFromTensorsMap(sparse_handles=tf.reshape(first, [1]), dtype=t, shared_name="m%s" % t.name)
        all_taken = raw.TakeManySparseFromTensorsMap(sparse_handles=more, dtype=t, shared_name="n%s" % t.name)
    return [list(taken) + list(all_taken)]


program("AddSparseToTensorsMap AddManySparseToTensorsMap TakeManySparseFromTensorsMap", 0, parked, [F32, STRING])
row("SparseBincount", 0, plain(*[{"indices": longs(SORTED), "values": Fed(v, I32), "dense_shape": longs([3, 4]), "size": Fed(5, I32),
                                  "weights": Fed(w, u), "binary_output": b}
                                 for u in (I32, F32) for b in (False, True) for v, w in [([1, 2, 2], []), ([1, 4, 2], [1, 2, 3]), ([1, -2, 2], [])]]))
NEGATIVE = {"values": Fed([1, -2, 2], I32), "size": Fed(5, I32), "weights": Fed([], F32)}
row("SparseBincount", WORDS, plain({"indices": longs([[0], [1], [2]]), "dense_shape": longs([4]), **NEGATIVE}))
row("RaggedBincount", WORDS, plain({"splits": longs([0, 1, 3]), **NEGATIVE}))
row("RaggedBincount", 0, plain(*[{"splits": longs(s), "values": Fed([1, 2, 2], I64), "size": Fed(5, I64), "weights": Fed(w, u), "binary_output": b}
                                 for u in (I64, F64) for b in (False, True)
                                 for s, w in [([0, 1, 3], []), ([0, 0, 3], [1, 2, 3]), ([0, 1, 2], []), ([1, 3], []), ([0], [])]]))
COUNTS = [([1, 2, 2, 7], []), ([0, 5], [1, 2]), ([], []), ([-1, 2], []), ([3, 3], [1])]
row("DenseCountSparseOutput", 0, plain(*[{"values": Fed(v, I64), "weights": Fed(w, F32), "minlength": lo, "maxlength": hi, "binary_output": b}
                                         for b in (False, True) for lo, hi in [(-1, -1), (9, -1), (-1, 3), (0, 0)]
                                         for v, w in COUNTS + [([[1, 2], [2, 2]], []), ([[1, 2], [2, 2]], [[1, 2], [3, 4]]), (3, []), ([[[1]]], [])]]))
row("SparseCountSparseOutput", 0, plain(*[
    {"indices": longs(i), "values": Fed([1, 2, 2], I32), "dense_shape": longs(s), "weights": Fed(w, F64), "minlength": -1, "maxlength": -1, "binary_output": False}
    for i, s, w in [(SORTED, [3, 4], []), (SORTED, [3, 4], [1, 2, 3]), ([[0], [1], [2]], [5], []), (SORTED, [1, 4], []), (SORTED, [3, 4], [1]),
                    ([[0, -1], [0, 0], [0, 0]], [3, 4], []), (SORTED, [3], [])]]))
row("RaggedCountSparseOutput", 0, plain(*[
    {"splits": longs(s), "values": Fed([1, 2, 2], I32), "weights": Fed(w, I64), "minlength": -1, "maxlength": -1, "binary_output": b}
    for b in (False, True) for s, w in [([0, 1, 3], []), ([0, 0, 3], [1, 2, 3]), ([0, 1, 2], []), ([1, 3], []), ([], []), ([0], [])]]))


def cross(first=F32, **more):
    strings = Fed(np.array([b"a", b"bc", b""], object), STRING)
    return {"indices": [longs([[0, 0], [0, 1], [1, 0]]), longs([[0, 0], [1, 0], [1, 1]])],
            "values": [strings, Fed([7, -3, 2 ** 40], I64) if first == I64 else strings], "shapes": [longs([2, 2])] * 2,
            "dense_inputs": [Fed([[5], [6]], I64) if first == I64 else Fed(np.array([[b"x"], [b"y"]], object), STRING)], **more}


row("SparseCross", 0, plain(cross(I64, hashed_output=True, num_buckets=0, hash_key=956888297470, out_type=I64, internal_type=I64),
                            cross(I64, hashed_output=True, num_buckets=97, hash_key=1, out_type=I64, internal_type=I64),
                            cross(hashed_output=False, num_buckets=0, hash_key=1, out_type=STRING, internal_type=STRING),
                            cross(I64, hashed_output=False, num_buckets=0, hash_key=1, out_type=STRING, internal_type=I64)))
row("SparseCrossV2", 0, plain(cross(sep=Fed(b"_Y_", STRING)), cross(I64, sep=Fed(b"", STRING))))
row("SparseCrossHashed", 0, plain(*[cross(t, num_buckets=longs(n), strong_hash=Fed(s, BOOL), salt=longs([137, -9]))
                                    for t in (F32, I64) for n in (0, 1000) for s in (False, True)]))
SETS = [I8, I16, I32, I64, U8, U16, STRING]
OPERATIONS = ("a-b", "b-a", "intersection", "union")
row("DenseToDenseSetOperation", 0, each(*[lambda t, a=a, b=b, o=o: {"set1": V(a, t, (0, 5)), "set2": V(b, t, (0, 5)), "set_operation": o}
                                          for o in OPERATIONS for a, b in [((2, 3), (2, 4)), ((2, 2, 3), (2, 2, 1)), ((2, 0), (2, 2)), ((2, 3), (3, 3)), ((3,), (3,))]],
                                        types=SETS))
row("DenseToSparseSetOperation", 0, each(*[
    lambda t, i=i, s=s, o=o: {"set1": V((3, 2), t, (0, 5)), "set2_indices": longs(i), "set2_values": V((len(i),), t, (0, 5)), "set2_shape": longs(s), "set_operation": o}
    for o in OPERATIONS for i, s in [(SORTED, [3, 4]), (EMPTY, [3, 4]), (SORTED, [2, 4]), (INDICES[1], [3, 4]), ([[0, 4]], [3, 4]), ([[0, 0]], [[3, 4]])]], types=SETS))
row("SparseToSparseSetOperation", 0, each(*[
    lambda t, i=i, s=s, o=o: {"set1_indices": longs(SORTED), "set1_values": V((3,), t, (0, 5)), "set1_shape": longs([3, 4]),
                              "set2_indices": longs(i), "set2_values": V((len(i),), t, (0, 5)), "set2_shape": longs(s), "set_operation": o}
    for o in OPERATIONS for i, s in [([[0, 0], [2, 1]], [3, 2]), (EMPTY, [3, 4]), (SORTED, [2, 4]), (INDICES[2], [3, 4])]], types=SETS))
row("SetSize", 0, each(*[lambda t, i=i, s=s: {"set_indices": longs(i), "set_values": V((len(i),), t, (0, 2)), "set_shape": longs(s)}
                         for i, s in [(SORTED, [3, 4]), (EMPTY, [3, 4]), (INDICES[1], [3, 4]), ([[0], [1]], [3]), ([[3, 0]], [3, 4])]], types=SETS))


def parts(prefix, indices, values, shape, t=F32):  # pylint: disable=redefined-outer-name
    return {prefix + "indices": longs(indices), prefix + "values": Fed(values, t), prefix + "shape": longs(shape)}


PAIR = ([[0], [2]], [1, 2], [3])
row("SparseAdd", WORDS, plain(*[{**parts("a_", *a), **parts("b_", *b), "thresh": Fed(t, F32)} for a, b, t in [
    (([[0, 0], [2, 0]], [1, 2], [3]), PAIR, 0), (PAIR, ([[0], [2]], [1, 2], [3, 1]), 0), (PAIR, ([[0], [2]], [1, 2], [4]), 0), (PAIR, ([[0, 0], [2, 0]], [1, 2], [3, 1]), 0),
    (([[0], [2]], [1], [3]), PAIR, 0), (PAIR, PAIR, [0])]]))
row("SparseTensorDenseAdd", WORDS, plain(*[{**parts("a_", *a), "b": V(b, F32)} for a, b in [
    (([[0] * 6], [1], [1] * 6), (1,) * 6), ((np.zeros((1, 0)), [1], []), ()), (PAIR, (4,)), (PAIR, (3, 1)), (([[0], [5]], [1, 2], [3]), (3,)), (([[0], [-1]], [1, 2], [3]), (3,))]]))
CROSSED = dict(dense_inputs=[], hashed_output=True, num_buckets=0, hash_key=956888297470, out_type=I64, internal_type=I64)
row("SparseCross", WORDS, plain(*[{"indices": [longs(i)], "values": [longs(v)], "shapes": [longs(s)], **CROSSED} for i, v, s in [
    ([[0, 0], [1, 0]], [1], [2, 1]), ([[0, 0], [1, 0]], [1, 2], [2, 1, 1]), ([[0], [1]], [1, 2], [2, 1]), ([0, 1], [1, 2], [2, 1]), ([[0, 0], [1, 0]], [[1, 2]], [2, 1])]]))
row("SparseCrossHashed", WORDS, plain({"indices": [longs([[0, 0]])], "values": [longs([1])], "shapes": [longs([2, 1])], "dense_inputs": [], "num_buckets": longs(0),
                                       "strong_hash": Fed(False, BOOL), "salt": longs([1])}))
SQUARE = ([[0, 0], [1, 0]], [1, 2], [2, 2])
row("SetSize", WORDS, plain(*[{**parts("set_", *s, t=I64), "validate_indices": True} for s in [
    ([[0, 0], [1, 0]], [1, 2], [2]), ([[0, 0], [1, 0]], [1, 2], []), ([[0, 0], [5, 0]], [1, 2], [2, 2]), ([[1, 0], [0, 0]], [1, 2], [2, 2])]]))
row("DenseToSparseSetOperation", WORDS, plain(*[{"set1": longs([[1, 2], [3, 4]]), **parts("set2_", *s, t=I64), "set_operation": "union", "validate_indices": True} for s in [
    ([[0, 0], [1, 0]], [1, 2], [2]), ([[0], [1]], [1, 2], [2]), ([[0, 0], [5, 0]], [1, 2], [2, 2]), ([[0, 0], [1, 7]], [1, 2], [2, 2]), ([[0, 0], [1, 0]], [1, 2], [3, 2])]]))
row("DenseToDenseSetOperation", WORDS, plain(*[{"set1": longs(a), "set2": longs(b), "set_operation": "a-b"} for a, b in [([1, 2], [1, 2]), (5, [[1]]), ([[1, 2]], [[1], [2]])]]))
row("SparseToSparseSetOperation", WORDS, plain(*[{**parts("set1_", *a, t=I64), **parts("set2_", *SQUARE, t=I64), "set_operation": "union"} for a in [
    ([[0, 0], [1, 0]], [1, 2], []), ([[0, 0], [5, 0]], [1, 2], [2, 2]), ([[0, 0], [1, 0]], [1, 2], [3, 2]), ([[0, 0], [1, 0]], [1], [2, 2])]]))
row("SparseBincount", WORDS, plain(*[{"indices": longs(i), "values": Fed(v, I32), "dense_shape": longs(s), "size": Fed(5, I32), "weights": V(w, F32)} for i, v, s, w in [
    ([[0, 0], [5, 0]], [1, 2], [2, 2], (0,)), ([[0, 0], [-1, 0]], [1, 2], [2, 2], (0,)), ([[0], [1]], [1], [3], (0,)), ([[0], [1]], [1, 2], [3], (3,)), ([[0, 0], [1, 0]], [1, 2], [3], (0,)),
    ([0, 1], [1, 2], [3], (0,)), ([[0], [1]], [[1, 2]], [3], (0,)), ([[0], [9]], [1, 2], [3], (0,)), ([[0], [1]], [1, -2], [3], (0,))]]))
row("RaggedBincount", WORDS, plain(*[{"splits": longs(s), "values": Fed(v, I32), "size": Fed(5, I32), "weights": V((0,), F32)} for s, v in [
    ([], [1, 2]), ([0, 1, 3], [1, 2]), ([1, 2], [1, 2]), ([0, 1, 2], [1, -2]), ([0], [1])]]))
