"""Ops that gradients and training need and that stand in no other table."""
from table import *


row("GRUBlockCellGrad", 256, each(
    lambda t: {"x": V((2, 4), t), "h_prev": V((2, 3), t), "w_ru": V((7, 6), t), "w_c": V((7, 3), t), "b_ru": V((6,), t), "b_c": V((3,), t),
               "r": V((2, 3), t, (0, 1)), "u": V((2, 3), t, (0, 1)), "c": V((2, 3), t, (-1, 1)), "d_h": V((2, 3), t)},
    lambda t: {"x": V((0, 4), t), "h_prev": V((0, 3), t), "w_ru": V((7, 6), t), "w_c": V((7, 3), t), "b_ru": V((6,), t), "b_c": V((3,), t),
               "r": V((0, 3), t), "u": V((0, 3), t), "c": V((0, 3), t), "d_h": V((0, 3), t)},
    lambda t: {"x": V((2, 4), t), "h_prev": V((2, 3), t), "w_ru": V((6, 6), t), "w_c": V((7, 3), t), "b_ru": V((6,), t), "b_c": V((3,), t),
               "r": V((2, 3), t), "u": V((2, 3), t), "c": V((2, 3), t), "d_h": V((2, 3), t)}))


def maps(t):
    raw = tf.raw_ops
    insert = lambda made, key, value: raw.TensorMapInsert(input_handle=made, key=key, value=value)
    look = lambda made, key: raw.TensorMapLookup(input_handle=made, key=key, value_dtype=t)
    one, two = fed(1, I32), fed(2, I32)
    made = insert(raw.EmptyTensorMap(), one, fed(V((3, 2), t)))
    both = insert(made, two, fed(V((2,), t)))
    replaced = insert(both, one, fed(V((4,), t)))
    erased = raw.TensorMapErase(input_handle=both, key=one, value_dtype=t)
    has = [raw.TensorMapHasKey(input_handle=m, key=k) for m in (made, both, erased) for k in (one, two)]
    sizes = [raw.TensorMapSize(input_handle=m) for m in (made, both, replaced, erased)]
    return [[look(both, one), look(both, two), look(replaced, one), look(erased, two), *has, *sizes,
             raw.TensorMapStackKeys(input_handle=made, key_dtype=I32)],
            look(erased, one), raw.TensorMapSize(input_handle=raw.TensorMapErase(input_handle=made, key=two, value_dtype=t)),
            raw.TensorMapStackKeys(input_handle=made, key_dtype=I64), raw.TensorMapStackKeys(input_handle=raw.EmptyTensorMap(), key_dtype=I64)]


program("EmptyTensorMap TensorMapErase TensorMapHasKey TensorMapInsert TensorMapLookup TensorMapSize TensorMapStackKeys", 0, maps, [F32, I32, STRING])

known("TridiagonalSolve", "gradient of TridiagonalSolve(diagonals=complex", "TensorFlow solves with the transposed matrix, not with its conjugate")
known("StatelessParameterizedTruncatedNormal", "gradient of", "TensorFlow leaves out that the bounds stay where they are when the mean and the deviation move")
known("MatrixDeterminant", "gradient of MatrixDeterminant(input=complex", "TensorFlow leaves out the conjugate; complex differences agree with Weir")
known("MatrixSolveLs", "gradient of MatrixSolveLs(matrix=complex", "as MatrixDeterminant")
