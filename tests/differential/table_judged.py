"""Cases of the public API in which Weir once differed from TensorFlow."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

raw = tf.raw_ops
BOXES = [[0, 0, 1, 1], [0.2, 0.3, 0.1, 0.9]]
row("CropAndResize", 8, plain(*[{"image": V((2, 6, 8, 3), F32), "boxes": Fed([b], F32), "box_ind": Fed([1], I32), "crop_size": Fed([2, 3], I32)}
                                for b in BOXES + [[np.nan, 0, 1, 1], [0, 0, np.inf, 1]]]))
row("ExtractGlimpse ExtractGlimpseV2", 0, plain(*[{"input": V((2, 6, 8, 3), F32), "size": Fed(s, I32), "offsets": Fed([[0, 0], [-0.5, 0.7]], F32)}
                                                  for s in ([0, 3], [3, 0], [2, -1])]))
row("IsotonicRegression", 0, plain(*[{"input": Fed([r], F32), "output_dtype": F32}
                                     for r in ([3, 1, 2], [1, 1, 1], [2, 1, 1], [-3, -1, -2], [1, 2, 2])]))
SINGULAR = [([[0, 0], [0, 0]], [[1], [1]]), ([[1, 0], [5, 0]], [[1], [1]]), ([[0, 0], [5, 1]], [[0], [0]])]
row("MatrixTriangularSolve", 0, each(*[lambda t, m=m, r=r, l=l: {"matrix": Fed(m, t), "rhs": Fed(r, t), "lower": l}
                                       for m, r in SINGULAR for l in (True, False)], types=[F32, F64]))
row("TridiagonalSolve", 0, each(*[lambda t, d=d, p=p: {"diagonals": Fed(d, t), "rhs": Fed([[1]] * len(d[0]), t), "partial_pivoting": p}
                                  for d in ([[0], [0], [0]], [[0] * 3] * 3, [[1, 1, 0], [1, 1, 0], [0, 1, 0]]) for p in (True, False)],
                                types=[F32, F64]))
row("Cast", 0, plain(*[{"x": Fed([-3.7, 0, 1.5, 30], F32), "DstT": t} for t in (tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32)]))
row("Assert", 0, plain(*[{"condition": Fed(False, tf.bool), "data": [d]} for d in (
    Fed([1 / 3, 0.1, 123456789.0], F32), Fed([1 / 3, 45035996273704.961, np.nan, -np.inf], F64), Fed([1 + 2j], C64), Fed([7], U8))]))


def binomials(t):
    state = raw.VarHandleOp(dtype=I64, shape=[3], shared_name="binomial generator")
    read = lambda: raw.ReadVariableOp(resource=state, dtype=I64)
    # A value that is computed: TensorFlow loses the first draw's step where the variable shares its memory with a constant.
    steps = [raw.AssignVariableOp(resource=state, value=tf.reverse(fed(Fed([7, 6, 5], I64)), [0]))]
    for counts, probs, shape in [(7, 0.5, [3]), ([40, 90], [[0.5], [0.25]], [3, 2, 2]), ([], [], [0]), (-1, 0.5, [2])]:
        steps += [raw.StatefulRandomBinomial(resource=state, algorithm=np.int64(1), shape=shape, counts=tf.constant(counts, t),
                                             probs=tf.constant(probs, t), dtype=I64), read()]
    return steps + [raw.StatefulRandomBinomial(resource=state, algorithm=np.int64(1), shape=[3], counts=tf.constant([1, 2], t),
                                               probs=tf.constant(0.5, t), dtype=I64)]


program("StatefulRandomBinomial", 0, binomials, [F32, F64])



def crossed(hashed, *, splits=([0, 2, 2, 5],), order="RDS", t=STRING, splits_type=I64, dense_rows=3):
    """Arguments of a cross of a ragged, a dense and a sparse column."""
    feature = lambda *x: Fed([b"%d" % i for i in x] if t == STRING else list(x), t)
    grid = feature(*range(2 * dense_rows))
    grid.value = grid.value.reshape(dense_rows, 2)
    return {"ragged_values": [feature(1, 2, 3, 4, 5) for _ in splits], "ragged_row_splits": [Fed(s, splits_type) for s in splits],
            "sparse_indices": [Fed([[0, 0], [0, 1], [2, 3]], I64)], "sparse_values": [feature(7, 8, 9)],
            "sparse_shape": [Fed([3, 4], I64)], "dense_inputs": [grid], "input_order": order, "hashed_output": hashed,
            "num_buckets": 11 if hashed else 0, "hash_key": 956888297470, "out_values_type": I64 if hashed else STRING,
            "out_row_splits_type": splits_type}


row("RaggedCross", 0, plain(*[crossed(h, t=t, splits_type=s, order=o) for h in (True, False) for t in (STRING, I64)
                              for s in (I32, I64) for o in ("RDS", "SDR")],
                            crossed(True, dense_rows=2), crossed(False, splits=([0, 5],)), crossed(False, splits=([0, 2, 9, 5],)),
                            crossed(False, splits=([0, 2, 2, 4],)), crossed(False, splits=([0, 1, 2, 5], [0, 0, 4, 5]), order="RRDS"),
                            crossed(False, order="RD"), crossed(False, order="")))
