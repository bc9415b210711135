"""Ragged tensors."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


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
row("RaggedRange", 0, each(*[lambda t, s=s, l=l, d=d, k=k: {"starts": Fed(s, t), "limits": Fed(l, t), "deltas": Fed(d, t), "Tsplits": k}
                             for k in (I32, I64)
                             for s, l, d in [([0, 5, 8], [3, 5, 12], 1), (0, 5, 2), ([5], [0], [-2]), ([0, 1], [3], 1), (0, 3, 0), ([[0]], 3, 1), ([], [], 1)]]))
row("RaggedTensorToSparse", 0, each(*[lambda t, s=s, v=v: {"rt_nested_splits": [longs(x) for x in s], "rt_dense_values": V(v, t)} for s, v in [
    ([[0, 2, 2, 3]], (3,)), ([[0, 2, 2, 3]], (3, 2)), ([[0, 1, 3], [0, 0, 2, 3]], (3,)), ([[0, 2, 4]], (3,)), ([[1, 3]], (3,)), ([[0, 2, 1, 3]], (3,)),
    ([[0]], (0,)), ([[]], (0,)), ([[0, 0]], (0, 2)), ([[0, 2, 2, 3]], ())]]))


def to_tensor(t, shape, default, types, *partitions, values=(3,)):
    return {"shape": longs(shape), "values": V(values, t), "default_value": V(default, t), "row_partition_tensors": [longs(p) for p in partitions],
            "row_partition_types": types}


row("RaggedTensorToTensor", 0, each(*[lambda t, a=a, k=k: to_tensor(t, *a, **k) for a, k in [
    ((-1, (), ["ROW_SPLITS"], [0, 2, 2, 3]), {}), (([2, 1], (), ["ROW_SPLITS"], [0, 2, 2, 3]), {}), (([4, 5], (), ["ROW_SPLITS"], [0, 2, 2, 3]), {}),
    ((-1, (), ["FIRST_DIM_SIZE", "VALUE_ROWIDS"], 4, [0, 0, 2]), {}), (([-1, 3], (), ["FIRST_DIM_SIZE", "VALUE_ROWIDS"], 4, [0, 0, 2]), {}),
    ((-1, (2,), ["ROW_SPLITS"], [0, 2, 2, 3]), {"values": (3, 2)}), ((-1, (1,), ["ROW_SPLITS"], [0, 2, 2, 3]), {"values": (3, 2)}),
    ((-1, (3,), ["ROW_SPLITS"], [0, 2, 2, 3]), {"values": (3, 2)}), ((-1, (), ["ROW_SPLITS", "ROW_SPLITS"], [0, 1, 3], [0, 0, 2, 3]), {}),
    ((5, (), ["ROW_SPLITS"], [0, 2, 2, 3]), {}), (([2], (), ["ROW_SPLITS"], [0, 2, 2, 3]), {}), ((-1, (), ["VALUE_ROWIDS"], [0, 1, 1]), {}),
    ((-1, (), ["ROW_SPLITS"], [0, 2, 5]), {}), ((-1, (), ["FIRST_DIM_SIZE", "VALUE_ROWIDS"], 2, [0, 0, 7]), {})]]))
known("RaggedTensorToTensor", "there are 3", "TensorFlow reads behind the values")
row("RaggedGather", 0, each(*[lambda t, s=s, v=v, i=i, o=o: {"params_nested_splits": [longs(x) for x in s], "params_dense_values": V(v, t), "indices": longs(i), "OUTPUT_RAGGED_RANK": o}
                              for s, v, i, o in [([[0, 2, 2, 3]], (3,), [2, 0, 2], 1), ([[0, 2, 2, 3]], (3, 2), [[2, 0], [1, 1]], 2),
                                                 ([[0, 1, 3], [0, 0, 2, 3]], (3,), [1], 2), ([[0, 2, 2, 3]], (3,), [3], 1), ([[0, 2, 2, 3]], (3,), [-1], 1),
                                                 ([[0, 2, 2, 3]], (3,), [], 1), ([[0, 2, 2, 3]], (3,), 0, 0), ([[0, 2, 2, 3]], (3, 2), 2, 0),
                                                 ([[0, 1, 3], [0, 0, 2, 3]], (3,), 1, 1)]]))


def variants(t):
    splits, values = [fed(longs([0, 1, 3])), fed(longs([0, 0, 2, 3]))], fed(V((3, 2), t))
    whole = raw.RaggedTensorToVariant(rt_nested_splits=splits, rt_dense_values=values, batched_input=False)
    rows = raw.RaggedTensorToVariant(rt_nested_splits=splits, rt_dense_values=values, batched_input=True)
    outputs = []
    for encoded, rank in ((whole, 2), (rows, 1)):
        back = raw.RaggedTensorFromVariant(encoded_ragged=encoded, input_ragged_rank=rank, output_ragged_rank=2, Tvalues=t, Tsplits=I64)
        outputs += list(back.output_nested_splits) + [back.output_dense_values]
    outputs.append(raw.RaggedTensorToVariantGradient(encoded_ragged_grad=rows, row_splits=splits[0], dense_values_shape=[3, 2], Tvalues=t))
    return [outputs]


program("RaggedTensorToVariant RaggedTensorFromVariant RaggedTensorToVariantGradient", 0, variants, [F32, I64, STRING])
row("RaggedFillEmptyRowsGrad", 4, each(*[
    lambda t, m=m, n=n: {"reverse_index_map": longs(m), "grad_values": V((n,), t)}
    for m, n in [([0, 2, 3], 5), ([], 3), ([0, 5], 5), ([-1], 5), ([], 0)]], types=NUMBERS))
row("RaggedFillEmptyRows", 0, each(*[
    lambda t, r=r, n=n: {"value_rowids": longs(r), "values": V((len(r),), t), "nrows": longs(n), "default_value": V((), t)}
    for r, n in [([0, 2, 2], 4), ([2, 0], 3), ([], 2), ([0], 0), ([5], 3), ([-1], 3)]]))
