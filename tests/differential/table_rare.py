"""Quantised integers, functions of matrices, beam search, samplers, debugging, batching."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

QTYPES = [tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32]


def scalar(x):
    return Fed(x, F32)


row("QuantizeV2", 0, plain(*[
    {"input": Fed(np.linspace(-3, 7, 23), F32), "min_range": scalar(a), "max_range": scalar(b), "T": t, "mode": m}
    for t in QTYPES for m in ("MIN_COMBINED", "MIN_FIRST", "SCALED") for a, b in ((-3.0, 7.0), (0.5, 2.0), (1.0, 0.0)) if t != tf.qint32 or m != "MIN_COMBINED"],
    *[{"input": V((3, 4), F32), "min_range": Fed([-9, -5, 0], F32), "max_range": Fed([9, 2, 4], F32), "T": tf.qint8, "mode": "SCALED", "axis": 0, "round_mode": r,
       "narrow_range": n} for r in ("HALF_TO_EVEN", "HALF_AWAY_FROM_ZERO") for n in (True, False)],
    {"input": V((3, 4), F32), "min_range": Fed([-9, -5], F32), "max_range": Fed([9, 2, 4], F32), "T": tf.qint8, "axis": 0}))
known("QuantizeV2", "should be -2147483648", "TensorFlow converts 2^31 to 32 bits, which C++ does not define")
row("Dequantize", 4, plain(*[
    {"input": Fed(np.arange(8).reshape(2, 4), t), "min_range": scalar(a), "max_range": scalar(b), "mode": m, "dtype": d}
    for t in QTYPES for m in ("MIN_COMBINED", "MIN_FIRST", "SCALED") for a, b in ((-3.0, 7.0), (0.5, 2.0)) for d in (F32, BF16)
    ]))
row("QuantizedMatMul", 2, plain(*[
    {"a": Fed(np.arange(12).reshape(a), tf.quint8), "b": Fed(np.arange(8, 28).reshape(b)[:, :], tf.quint8), "min_a": scalar(-2.0), "max_a": scalar(3.0), "min_b": scalar(0.0),
     "max_b": scalar(1.0), "transpose_a": ta, "transpose_b": tb, "Toutput": tf.qint32}
    for a, ta in (((3, 4), False), ((4, 3), True)) for b, tb in (((4, 5), False), ((5, 4), True), ((5, 4), False))]))
row("QuantizedMatMul", 2, plain(*[
    {"a": Fed([[1, 2]], tf.quint8), "b": Fed([[3], [4]], tf.quint8), "min_a": scalar(a), "max_a": scalar(b), "min_b": scalar(c), "max_b": scalar(d), "Toutput": tf.qint32}
    for a, b, c, d in ((1.0, 1.0, 0.0, 1.0), (2.0, 1.0, 0.0, 1.0), (0.0, 1.0, 1.0, 1.0))]))
# With filters of qint8 TensorFlow has a kernel only with oneDNN; the one without gives nothing.
row("QuantizedConv2D", 2, plain(*[
    {"input": Fed(np.arange(72).reshape(2, 4, 3, 3), tf.quint8), "filter": Fed(np.arange(24).reshape(2, 2, 3, 2), f), "min_input": scalar(-1.0), "max_input": scalar(1.0),
     "min_filter": scalar(-2.0), "max_filter": scalar(2.0), "strides": [1, *s, 1], "padding": p} for f in (tf.quint8,) for s in ((1, 1), (2, 2), (2, 1)) for p in ("SAME", "VALID")]))
row("QuantizedRelu QuantizedRelu6", 0, plain(*[
    {"features": Fed(np.arange(0, 250, 9), t), "min_features": scalar(-4.0), "max_features": scalar(9.0), "out_type": t} for t in (tf.quint8, tf.qint32)]))
row("QuantizedMaxPool QuantizedAvgPool", 0, plain(*[
    {"input": Fed(np.arange(96).reshape(2, 4, 4, 3), t), "min_input": scalar(-4.0), "max_input": scalar(9.0), "ksize": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "padding": p}
    for t in (tf.quint8, tf.qint8) for p in ("SAME", "VALID")]))
row("QuantizedAvgPool", 0, plain(*[
    {"input": Fed(np.random.RandomState(k).randint(-128, 128, (1, 6, 6, 3)) + (128 if t == tf.quint8 else 0), t), "min_input": scalar(-4.0), "max_input": scalar(9.0),
     "ksize": [1, k, k, 1], "strides": [1, s, s, 1], "padding": p} for t in (tf.quint8, tf.qint8) for k in (2, 3, 4) for s in (1, 2) for p in ("SAME", "VALID")]))
row("QuantizedReshape", 0, plain(*[
    {"tensor": Fed(np.arange(12).reshape(3, 4), t), "shape": ids(*s), "input_min": scalar(-4.0), "input_max": scalar(9.0)} for t in (tf.quint8, tf.qint32) for s in ((2, 6), (-1,), (5, 2))]))
row("QuantizedBiasAdd", 0, plain(*[
    {"input": Fed(np.arange(12).reshape(3, 4), t), "bias": Fed(np.arange(n), t), "min_input": scalar(-4.0), "max_input": scalar(9.0), "min_bias": scalar(-1.0),
     "max_bias": scalar(1.0), "out_type": tf.qint32} for t in (tf.quint8, tf.qint8) for n in (4, 3)]))
row("QuantizedConcat", 0, plain(*[
    {"concat_dim": a, "values": [Fed(np.arange(6).reshape(2, 3), t), Fed(np.arange(6, 12).reshape(2, 3), t)], "input_mins": [scalar(-1.0), scalar(-2.0)],
     "input_maxes": [scalar(3.0), scalar(m)]} for t in (tf.quint8, tf.qint32) for a in (0, 1, -1) for m in (1.0, 5.0)]))
row("RequantizationRange", 2, plain({"input": Fed([-100000, 5, 70000000, 1 << 30], tf.qint32), "input_min": scalar(-256.0), "input_max": scalar(256.0)}))
row("QuantizeDownAndShrinkRange", 2, plain(
    {"input": Fed([-100000, 5, 70000000, 1 << 30], tf.qint32), "input_min": scalar(-256.0), "input_max": scalar(256.0), "out_type": tf.quint8}))
BINARY = [{"x": Fed(np.random.RandomState(1).randint(0, 256, x), tf.quint8), "y": Fed(np.random.RandomState(2).randint(0, 256, y), tf.quint8), "min_x": scalar(a),
           "max_x": scalar(b), "min_y": scalar(c), "max_y": scalar(d), "Toutput": tf.qint32}
          for x, y in (((5,), (5,)), ((), (5,)), ((5,), ()), ((2, 3), (3,)), ((3, 4), (2, 3, 4)), ((1, 1), (2, 2)), ((0,), (1,)), ((2,), (3,)))
          for a, b, c, d in ((-1, 3, -2, 1.5), (1, 3, 0, 1), (3, 1, 0, 1), (0, 1, 2, 2), (np.nan, 1, 0, 1))]
BINARY += [{"x": Fed([1, 2], tf.quint8), "y": Fed([3, 4], tf.quint8), "min_x": scalar(0.0), "max_x": scalar(1.0), "min_y": scalar(0.0), "max_y": scalar(1.0),
            "Toutput": tf.qint32, limit: Fed([0.5], F32)} for limit in ("min_x", "max_x", "min_y", "max_y")]
row("QuantizedMul", 0, plain(*BINARY))
outputs_of("QuantizedAdd", (1, 2), 0, plain(*BINARY))


def rounded_sums(_):
    """TensorFlow's sums are off by up to a hundred of 2^32 steps, by others for other shapes."""
    return [tf.round(tf.cast(tf.bitcast(tf.raw_ops.QuantizedAdd(**{k: fed(v) if isinstance(v, Fed) else v for k, v in case.items()}).z, I32), F32) / 4096)
            for case in BINARY[:30:5] + BINARY[1:30:5]]


program("QuantizedAdd", 0, rounded_sums)
row("QuantizedInstanceNorm", 2, plain(*[
    {"x": Fed(np.random.RandomState(3).randint(0, 256, s), tf.quint8), "x_min": scalar(a), "x_max": scalar(b), **more}
    for s in ((2, 3, 4, 3), (1, 2, 2, 1), (0, 2, 2, 3), (1, 0, 2, 3)) for a, b in ((-1.0, 1.0), (0.0, 7.0), (1.0, 1.0))
    for more in ({}, {"output_range_given": True, "given_y_min": -1.0, "given_y_max": 1.0}, {"variance_epsilon": 1.0}, {"min_separation": 100.0})],
    {"x": Fed(np.zeros((1, 2, 2, 1)), tf.quint8), "x_min": scalar(0.0), "x_max": scalar(1.0)},
    {"x": Fed(np.zeros((1, 2, 2, 1)), tf.quint8), "x_min": scalar(0.0), "x_max": Fed([1.0], F32)},
    {"x": Fed(np.zeros((1, 2, 2, 1)), tf.quint8), "x_min": scalar(0.0), "x_max": scalar(1.0), "output_range_given": True, "given_y_min": 1.0, "given_y_max": 1.0}))
row("QuantizedResizeBilinear", 0, plain(*[
    {"images": Fed(np.random.RandomState(4).randint(0, 256, (2, 3, 4, c)) * k, t), "size": ids(*size), "min": scalar(-1.0), "max": scalar(1.0), **how}
    for t, k in ((tf.quint8, 1), (tf.qint32, -7654321), (F32, 0.3)) for c in (1, 3, 2) for size in ((5, 9), (2, 3), (3, 4), (0, 3), (3,))
    for how in ({}, {"align_corners": True}, {"half_pixel_centers": True}, {"align_corners": True, "half_pixel_centers": True})],
    {"images": Fed(np.zeros((1, 2, 2, 1)), tf.quint8), "size": ids(3, 3), "min": Fed([0.0], F32), "max": scalar(1.0)},
    {"images": Fed(np.zeros((1, 0, 2, 1)), tf.quint8), "size": ids(3, 3), "min": scalar(0.0), "max": scalar(1.0)}))
SUMS = np.random.RandomState(7).randint(-(1 << 31), 1 << 31, 400) >> np.random.RandomState(8).randint(0, 31, 400)
row("Requantize", 0, plain(*[
    {"input": Fed(SUMS, tf.qint32), "input_min": scalar(a), "input_max": scalar(b), "requested_output_min": scalar(c), "requested_output_max": scalar(d),
     "out_type": tf.quint8} for a, b, c, d in ((-10, 10, -1, 1), (0, 1e4, 0, 1), (-9, 7, -3, 9), (-3, 7, -0.1, 6), (-1, 1, 0, 0), (2, 1, -1, 1))]))
row("QuantizeDownAndShrinkRange", 2, plain({"input": Fed(SUMS[SUMS < 5000], tf.qint32), "input_min": scalar(-1000), "input_max": scalar(1000), "out_type": tf.quint8}))
row("Requantize", 2, plain(*[
    {"input": Fed([-100000, 5, 70000000, 1 << 30], tf.qint32), "input_min": scalar(-256.0), "input_max": scalar(256.0), "requested_output_min": scalar(a),
     "requested_output_max": scalar(b), "out_type": t} for t in (tf.quint8, tf.qint8) for a, b in ((-1.0, 128.0), (1.0, 2.0), (-1.0, -2.0))]))

_SQUARE = lambda t: Fed(np.array([[4, 1, 0.5], [2, 5, 1], [0, 1, 3]]) + np.zeros((2, 3, 3)), t)
row("MatrixSquareRoot", 1 << 12, each(lambda t: {"input": _SQUARE(t)}, lambda t: {"input": V((2, 3), t)},
                                      lambda t: {"input": Fed([[-4, 1], [0, 9]], t)}, types=[F32, F64, C64, C128]))
row("MatrixLogarithm", 1 << 14, each(lambda t: {"input": _SQUARE(t)}, lambda t: {"input": V((0, 2, 2), t)}))
row("Lu", 1 << 10, each(lambda t: {"input": _SQUARE(t)}, lambda t: {"input": V((3, 2), t)}, lambda t: {"input": Fed(np.zeros((2, 2)), t)}, types=[F32, F64, C64, C128]))
row("TridiagonalMatMul", 64, each(*[lambda t, m=m: {"superdiag": V((2, 1, 4), t), "maindiag": V((2, 1, 4), t), "subdiag": V((2, 1, m), t), "rhs": V((2, 4, 3), t)} for m in (4, 3)]))
row("TridiagonalSolve", 1 << 14, each(*[lambda t, p=p: {"diagonals": Fed(np.array([[1, 2, 0], [7, 8, 9], [0, 2, 1]]) + np.zeros((2, 3, 3)), t), "rhs": V((2, 3, 2), t), "partial_pivoting": p}
                                     for p in (True, False)], lambda t: {"diagonals": Fed(np.zeros((3, 2)), t), "rhs": V((2, 1), t)}))
row("CTCBeamSearchDecoder", 1 << 28, each(*[
    lambda t, m=m, w=w, p=p: {"inputs": V((6, 2, 4), t, (-3, 3)), "sequence_length": ids(6, 3), "beam_width": w, "top_paths": p, "merge_repeated": m}
    for m in (True, False) for w, p in ((1, 1), (5, 2), (40, 3), (2, 3))]))
row("LearnedUnigramCandidateSampler ThreadUnsafeUnigramCandidateSampler", 8, plain(*[
    {"true_classes": Fed([[0, 3], [1, 1]], I64), "num_true": 2, "num_sampled": n, "unique": u, "range_max": 5, "seed": 3, "seed2": 4} for n, u in ((4, True), (9, False), (6, True))]))
row("CheckNumericsV2", 0, unary(arg="tensor", message="m"), special(arg="tensor", message="m"))
row("Copy CopyHost", 0, unary(arg="input", types=[F32, I32, STRING]))


def batches(_):
    batched, index, number = tf.raw_ops.Batch(in_tensors=[fed(V((2, 3), F32))], num_batch_threads=1, max_batch_size=2, batch_timeout_micros=1000, grad_timeout_micros=0)
    back = tf.raw_ops.Unbatch(batched_tensor=batched[0] * 2, batch_index=index, id=number, timeout_micros=1000000)
    return [batched[0], back, index[:, 1:]]


program("Batch Unbatch", 0, batches, [None])


def unbatched_gradient(_):
    batched, index, number = tf.raw_ops.Batch(in_tensors=[fed(V((2, 3), F32))], num_batch_threads=1, max_batch_size=2, batch_timeout_micros=1000, grad_timeout_micros=0)
    return [tf.raw_ops.UnbatchGrad(original_input=batched[0], batch_index=index, grad=fed(V((2, 3), F32)), id=number)]


program("UnbatchGrad", 0, unbatched_gradient, [None])


def batched_calls(_):
    double = tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec([None], F32))
    return [tf.raw_ops.BatchFunction(in_tensors=[fed(V((n,), F32))], captured_tensors=[], f=double, num_batch_threads=1, max_batch_size=4,
                                     batch_timeout_micros=100, allowed_batch_sizes=[2, 4], Tout=[F32]) for n in (1, 3, 5)]


program("BatchFunction", 0, batched_calls, [None])


def stubs(_):
    handle = _test_ops().stub_resource_handle_op(shared_name="stub")
    return [_test_ops().resource_initialized_op(handle), _test_ops().resource_create_op(handle), _test_ops().resource_initialized_op(handle), _test_ops().resource_create_op(handle)]


def _test_ops():
    from tensorflow.python.framework import test_ops  # pylint: disable=g-import-not-at-top
    return test_ops


program("StubResourceHandleOp ResourceCreateOp ResourceInitializedOp", 0, stubs, [None])

# All different, so that the order is no matter of chance.
row("ApproxTopK", 0, each(*[
    lambda t, k=k, d=d, m=m: {"input": Shaped(Fed(np.random.RandomState(k).permutation(60).reshape(3, 20) - 30, t)), "k": k, "reduction_dimension": d, "is_max_k": m}
    for k, d in ((1, -1), (3, 1), (3, 0), (20, -1), (21, -1), (2, 2)) for m in (True, False)]))

elsewhere("ApproxTopK", "TensorFlow has no CPU kernel for it: kernels/cpu's tests have it")
row("SobolSample", 0, each(*[lambda t, d=d, n=n, s=s: {"dim": Fed(d, I32), "num_results": Fed(n, I32), "skip": Fed(s, I32), "dtype": t}
                             for d, n, s in [(1, 9, 0), (5, 20, 0), (5, 20, 7), (1111, 40, 3), (40, 9, 100000), (3, 3, (1 << 29) - 2),
                                             (0, 3, 0), (3, 0, 0), (3, -1, 0), (3, 2, -1), ([3], 2, 0), (3, [2], 0), (3, 2, [0]),
                                             (3, 2, (1 << 31) - 2)]]))
