"""Blocks, bands, counting, special functions, random distributions, linear algebra, volumes, candidates."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

PADS = [([[0, 0], [0, 0]], (2, 2)), ([[1, 0], [0, 2]], (2, 3)), ([[1, 1], [0, 1]], (1, 2)), ([[0, 1], [0, 0]], (2, 2)),
        ([[0, -1], [0, 0]], (2, 2)), ([[0, 0], [0, 0]], (0, 2))]
row("SpaceToBatchND", 0, each(*[
    lambda t, p=p, b=b: {"input": V((2, 3, 4, 2), t), "block_shape": Shaped(ids(*b)), "paddings": Fed(p, I32)} for p, b in PADS]))
row("SpaceToBatchND", 0, each(lambda t: {"input": V((2, 4), t), "block_shape": Shaped(ids(2)), "paddings": Fed([[2, 2]], I64)},
                              lambda t: {"input": V((2,), t), "block_shape": Shaped(ids(2)), "paddings": Fed([[2, 2]], I64)}))
row("BatchToSpaceND", 0, each(*[
    lambda t, p=p, b=b: {"input": V((12, 3, 4, 2), t), "block_shape": Shaped(ids(*b)), "crops": Fed(p, I32)} for p, b in PADS]))
row("SpaceToBatch", 0, each(*[lambda t, s=s: {"input": V((2, 2, 4, 1), t), "paddings": Fed([[1, 1], [0, 2]], I32), "block_size": s}
                              for s in (2, 3)]))
row("BatchToSpace", 0, each(*[lambda t, s=s: {"input": V((8, 2, 2, 1), t), "crops": Fed([[1, 1], [0, 2]], I32), "block_size": s}
                              for s in (2, 3)]))
row("SpaceToDepth", 0, each(*[lambda t, s=s: {"input": V((2, 4, 6, 3), t), "block_size": s} for s in (2, 3)], types=[F32, F64, HALF, U8, I32]))
row("DepthToSpace", 0, each(*[lambda t, s=s: {"input": V((2, 2, 3, 18), t), "block_size": s} for s in (2, 3)], types=[F32, F64, HALF, U8, I32]))

ALIGNS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")
KS = [[0], [1], [-2], [-1, 1], [-2, 0], [0, 2], [2, 1], [9, 9], [0, 0]]


def band(name, shape, extra=lambda t: {}, aligns=ALIGNS):
    return each(*[lambda t, k=k, a=a: {name: V(shape, t), "k": Fed(k, I32), **extra(t), **({"align": a} if aligns != (None,) else {})}
                  for k in KS for a in aligns], types=[F32, C64, I32, BOOL])


def sizes(t, rows=-1, columns=-1):
    return {"num_rows": Fed(rows, I32), "num_cols": Fed(columns, I32), "padding_value": V((), t)}


row("MatrixDiagV3", 0, band("diagonal", (2, 3), sizes), band("diagonal", (2, 3, 3), sizes),
    band("diagonal", (3, 3), lambda t: sizes(t, 5, -1)), band("diagonal", (3, 2), lambda t: sizes(t, 3, 4)))
row("MatrixDiagV2", 0, band("diagonal", (2, 3), sizes, (None,)), band("diagonal", (3, 3), lambda t: sizes(t, 5, -1), (None,)))
row("MatrixDiagPartV3", 0, band("input", (2, 3, 4), lambda t: {"padding_value": V((), t)}),
    band("input", (4, 3), lambda t: {"padding_value": V((), t)}))
row("MatrixDiagPartV2", 0, band("input", (2, 3, 4), lambda t: {"padding_value": V((), t)}, (None,)))
row("MatrixSetDiagV3 MatrixSetDiagV2", 0, each(*[
    lambda t, k=k, d=d: {"input": V((2, 3, 4), t), "diagonal": V(d, t), "k": Fed(k, I32)}
    for k, d in [(0, (2, 3)), ([-1, 1], (2, 3, 3)), (2, (2, 2)), (-2, (2, 1)), (0, (2, 2)), ([1, 3], (2, 3, 3))]],
    types=[F32, C64, I32, BOOL]))

row("DenseBincount", 0, each(*[
    lambda t, a=a, w=w, b=b, s=s: {"input": Fed(a, I32), "size": Fed(s, I32), "weights": V(w, t), "binary_output": b}
    for a, w in [([1, 2, 2, 9], (0,)), ([1, 2, 2, 9], (4,)), ([[1, 1], [0, 7]], (2, 2)), ([[1, 1], [0, 7]], (0,)), ([-1], (0,)),
                 ([1, 2], (3,))]
    for b in (False, True) for s in (4, -1)], types=[F32, F64, I32, I64]))
row("HistogramFixedWidth", 0, each(*[
    lambda t, r=r, n=n: {"values": V((40,), t), "value_range": Fed(r, t), "nbins": Fed(n, I32), "dtype": I32}
    for r in ([-5, 5], [0, 0]) for n in (4, 7, 0)], types=[F32, F64, I32, I64]))
row("Bucketize", 0, unary(arg="input", boundaries=[-5.0, 0.5, 3.0]))
row("LowerBound UpperBound", 0, each(*[
    lambda t, o=o: {"sorted_inputs": Fed([[0, 1, 1, 5], [2, 3, 4, 4]], t), "values": Fed([[1, 0, 9], [4, 5, 2]], t), "out_type": o}
    for o in (I32, I64)], lambda t: {"sorted_inputs": V((2, 3), t), "values": V((3, 3), t)}))
row("UnravelIndex", 0, each(*[lambda t, i=i, d=d: {"indices": Fed(i, t), "dims": Fed(d, t)}
                              for i, d in [([1, 5, 23], [2, 3, 4]), (7, [3, 3]), ([24], [2, 3, 4]), ([0], [0, 2]), ([], [2])]], types=[I32, I64]))
row("ToBool", 0, unary([F32, I32, BOOL, STRING], shapes=[(), (0,), (1,), (2, 2)], arg="input"))
row("Cross", 0, binary(args=("a", "b"), pairs=[((3,), (3,)), ((2, 4, 3), (2, 4, 3)), ((2,), (2,)), ((3,), (2, 3)), ((), ())]))
row("DataFormatDimMap", 0, each(*[lambda t, s=s, d=d: {"x": Fed([0, 1, -1, -4, 3], t), "src_format": s, "dst_format": d}
                                  for s, d in [("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NDHWC", "NCDHW")]], types=[I32, I64]))
row("DataFormatVecPermute", 0, each(*[lambda t, v=v, s=s, d=d: {"x": Fed(v, t), "src_format": s, "dst_format": d}
                                      for s, d in [("NHWC", "NCHW"), ("NCHW", "NHWC")]
                                      for v in ([1, 2, 3, 4], [5, 6], [[1, 2], [3, 4]], [[1, 2], [3, 4], [5, 6], [7, 8]], [1, 2, 3])],
                                    types=[I32, I64]))
row("IsotonicRegression", 64, each(*[lambda t, s=s: {"input": V(s, t), "output_dtype": F32} for s in ((7,), (3, 5), (0,))], types=[F32, F64, I32]))
row("CumulativeLogsumexp", 64, each(*[
    lambda t, s=s, a=a, e=e, r=r: {"x": V(s, t), "axis": a, "exclusive": e, "reverse": r}
    for s, a in [((7,), 0), ((3, 4, 2), 1), ((3, 0), 0), ((3,), 3)] for e in (False, True) for r in (False, True)]))

row("BesselI0 BesselI1 BesselI0e BesselI1e BesselJ0 BesselJ1 Dawsn FresnelCos FresnelSin", 64, unary([F32, F64], (-9, 9)))
row("BesselK0 BesselK1 BesselK0e BesselK1e BesselY0 BesselY1 Expint Spence", 64, unary([F32, F64], (0.1, 9)))
row("Igamma Igammac", 256, binary([F32, F64], (0.1, 9), args=("a", "x")))
row("IgammaGradA", 4096, binary([F32, F64], (0.5, 9), args=("a", "x"), pairs=SAME))
row("RandomGammaGrad", 4096, binary([F32, F64], (0.5, 9), args=("alpha", "sample"), pairs=SAME))
row("Zeta", 64, binary([F32, F64], (1.1, 5), (0.1, 5), args=("x", "q")),
    each(lambda t: {"x": Fed([2, np.inf, np.inf, 1, 1.5], t), "q": Fed([np.inf, 3, -2.5, np.nan, np.inf], t)}, types=[F32, F64]))
row("Polygamma", 64, each(lambda t: {"a": Fed([1, 2, 3], t), "x": Fed([np.inf] * 3, t)}, types=[F32, F64]))
row("Igamma", 64, each(lambda t: {"a": Fed([-1, 3, np.inf, np.nan], t), "x": Fed([0, np.inf, 2, 0], t)}, types=[F32, F64]))
row("Polygamma", 64, each(lambda t: {"a": Fed([0, 1, 2, 5], t), "x": V((4,), t, (0.3, 5))}, types=[F32, F64]))
row("Betainc", 1024, each(lambda t: {"a": V((5,), t, (0.3, 4)), "b": V((5,), t, (0.3, 4)), "x": V((5,), t, (0, 1))},
                          lambda t: {"a": V((), t, (0.3, 4)), "b": V((5,), t, (0.3, 4)), "x": V((), t, (0, 1))},
                          lambda t: {"a": V((4,), t, (0.3, 4)), "b": V((5,), t, (0.3, 4)), "x": V((), t, (0, 1))}, types=[F32, F64]))

SEEDS = {"seed": 3, "seed2": 4}
row("RandomGamma", 0, each(*[lambda t, s=s, a=a: {"shape": Fed(s, I32), "alpha": Fed(a, t), **SEEDS}
                             for s, a in [([40], [0.3, 1, 2.5]), ([2, 3], 7.0), ([0], [1.0]), ([2], [])]]))
row("StatelessRandomGammaV2", 0, each(*[lambda t, s=s, a=a: {"shape": Fed(s, I32), "seed": ids(5, 6), "alpha": Fed(a, t)}
                                        for s, a in [([40, 3], [0.3, 1, 2.5]), ([50], 7.0), ([0, 1], [1.0]), ([2], [1.0, 2, 3])]]))
row("StatelessRandomGammaV3", 0, each(lambda t: {"shape": ids(40, 3), "key": Fed([7], U64), "counter": Fed([8, 9], U64), "alg": Fed(1, I32),
                                                 "alpha": Fed([0.3, 1, 2.5], t)}))
row("RandomPoissonV2", 0, each(*[lambda t, s=s, a=a, o=o: {"shape": Fed(s, I32), "rate": Fed(a, t), "dtype": o, **SEEDS}
                                 for s, a in [([40], [0.3, 4, 25]), ([2, 3], 1000), ([0], [1])] for o in (F32, F64, I32, I64, HALF)]))
row("StatelessRandomPoisson", 0, each(*[lambda t, s=s, a=a: {"shape": Fed(s, I32), "seed": ids(5, 6), "lam": Fed(a, t), "dtype": I64}
                                        for s, a in [([40, 3], [0.3, 4, 25]), ([20], 1000), ([2], [1, 2, 3])]]))
row("StatelessRandomBinomial", 0, each(*[
    lambda t, s=s, c=c, p=p: {"shape": Fed(s, I32), "seed": ids(5, 6), "counts": Fed(c, t), "probs": Fed(p, t), "dtype": F64}
    for s, c, p in [([40, 3], [5, 50, 500], [0.3, 0.5, 0.9]), ([20, 3], 100, [0.01, 0.99, 0.4]), ([2], [1, 2, 3], 0.5)]], types=[F32, F64, HALF]))
row("ParameterizedTruncatedNormal", 0, each(*[
    lambda t, m=m, d=d, a=a, b=b: {"shape": ids(3, 50), "means": Fed(m, t), "stdevs": Fed(d, t), "minvals": Fed(a, t), "maxvals": Fed(b, t), **SEEDS}
    for m, d, a, b in [(0, 1, -2, 2), (0, 1, 1, 1.2), (0, 1, 2, 9), (1, 2, -9, -3), ([0, 1, 2], 1, -1, [1, 2, 3]), (0, 1, 2, 1), (0, -1, 0, 1)]]))
row("StatelessParameterizedTruncatedNormal", 0, each(*[
    lambda t, m=m, d=d, a=a, b=b: {"shape": ids(30, 3), "seed": ids(5, 6), "means": Fed(m, t), "stddevs": Fed(d, t), "minvals": Fed(a, t), "maxvals": Fed(b, t)}
    for m, d, a, b in [(0, 1, -2, 2), (0, 1, 1, 1.2), (0, 1, 2, 9), ([0, 1, 2], 1, -1, [1, 2, 3]), (0, 1, 2, 1), ([0, 1], 1, -1, 1)]]))
row("StatelessShuffle", 0, each(*[lambda t, s=s: {"value": V(s, t), "key": Fed([7], U64), "counter": Fed([8, 9], U64), "alg": Fed(1, I32)}
                                  for s in ((9,), (20, 3), (), (0, 2))]))
row("RandomIndexShuffle", 0, each(*[lambda t, i=i, m=m: {"index": Fed(i, t), "seed": ids(3, 4, 5), "max_index": Fed(m, t)}
                                    for i, m in [(5, 17), ([0, 1, 2, 3], 3), (100, 100000), (0, 0)]], types=[I32, I64, U32, U64]))

SQUARES = [(3, 3), (2, 4, 4), (0, 0), (2, 3), (3,)]
row("MatrixInverse", 512, each(*[lambda t, s=s, a=a: {"input": V(s, t), "adjoint": a} for s in SQUARES for a in (False, True)], types=[F64, C128]))
row("MatrixDeterminant LogMatrixDeterminant", 512, each(*[lambda t, s=s: {"input": V(s, t)} for s in SQUARES], types=[F32, F64, C64, C128]))
row("MatrixSolve", 512, each(*[lambda t, a=a, b=b, j=j: {"matrix": V(a, t), "rhs": V(b, t), "adjoint": j}
                               for a, b in [((3, 3), (3, 2)), ((2, 4, 4), (2, 4, 1)), ((3, 3), (2, 2)), ((2, 3), (2, 1)), ((0, 0), (0, 2))]
                               for j in (False, True)], types=[F64, C128]))
row("MatrixTriangularSolve", 512, each(*[
    lambda t, a=a, b=b, l=l, j=j: {"matrix": V(a, t, (1, 3)), "rhs": V(b, t), "lower": l, "adjoint": j}
    for a, b in [((3, 3), (3, 2)), ((2, 4, 4), (2, 4, 1)), ((4, 4), (2, 4, 1)), ((3, 3), (2, 2))] for l in (False, True) for j in (False, True)],
    types=[F32, F64, C64, C128]))
row("BandedTriangularSolve", 512, each(*[
    lambda t, a=a, b=b, l=l, j=j: {"matrix": V(a, t, (1, 3)), "rhs": V(b, t), "lower": l, "adjoint": j}
    for a, b in [((2, 5), (5, 2)), ((3, 2, 4), (3, 4, 1)), ((1, 3), (3, 2)), ((4, 3), (3, 2))] for l in (False, True) for j in (False, True)],
    types=[F64, C128]))
row("MatrixSolveLs", 4096, each(*[lambda t, a=a, b=b, f=f: {"matrix": V(a, t), "rhs": V(b, t), "l2_regularizer": Fed(0.1 if f else 0.0, F64), "fast": f}
                                  for a, b in [((4, 3), (4, 2)), ((2, 4), (2, 1)), ((3, 3), (2, 1))] for f in (True, False)], types=[F64, C128]))
row("MatrixDeterminant LogMatrixDeterminant", 8, each(lambda t: {"input": Fed([[-np.inf, 0], [0, 1]], t)}, types=[F32, F64]))
row("Qr", 512, each(*[lambda t, s=s, f=f: {"input": V(s, t), "full_matrices": f} for s in [(3, 3), (5, 2), (2, 2, 4), (0, 2)] for f in (False, True)],
                    types=[F32, F64, C64, C128]))
row("Svd", 4096, each(*[lambda t, s=s, f=f: {"input": V(s, t), "full_matrices": f} for s in [(3, 3), (5, 2), (2, 2, 4), (0, 2)]
                        for f in (False, True)], types=[F32, F64]))
outputs_of("Svd", (0,), 4096, each(*[lambda t, s=s: {"input": V(s, t), "compute_uv": False} for s in [(3, 3), (5, 2), (2, 2, 4), (20, 18)]],
                                   types=[F32, F64, C64, C128]))
row("SelfAdjointEigV2", 4096, each(*[lambda t, s=s: {"input": V(s, t)} for s in [(3, 3), (2, 4, 4), (2, 3)]], types=[F32, F64, C64, C128]))
outputs_of("SelfAdjointEigV2", (0,), 4096, each(*[lambda t, s=s: {"input": V(s, t), "compute_v": False} for s in [(3, 3), (7, 7)]],
                                                types=[F32, F64, C64, C128]))


def products_of_decompositions(t):
    """Phases of singular vectors follow from roundings, so what they multiply to is compared."""
    steps = []
    for shape in ((3, 3), (5, 2), (2, 2, 4)):
        d = tf.raw_ops.Svd(input=fed(V(shape, t)))
        steps.append([d.s, tf.matmul(d.u * tf.cast(d.s, t)[..., None, :], d.v, adjoint_b=True)])
    return steps


program("Svd", 2048, products_of_decompositions, [C64, C128])


def positive(t, n):
    a = np.random.RandomState(n).randn(2, n, n)
    return Fed(a @ a.transpose(0, 2, 1) + np.eye(n), t)


row("Cholesky", 512, each(lambda t: {"input": positive(t, 3)}, lambda t: {"input": positive(t, 6)}, lambda t: {"input": Fed(-np.eye(3), t)},
                          lambda t: {"input": V((2, 3), t)}, types=[F32, F64]))
row("BatchMatMulV3", 64, each(*[lambda t, a=a, b=b: {"x": V(a, t), "y": V(b, t), "Tout": t}
                                for a, b in [((2, 3, 4), (2, 4, 5)), ((3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3), (2, 3))]],
                              types=[F32, F64, HALF, BF16, I32, C64]))

VOLUME = (2, 3, 4, 5, 2)
POOLS = [dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 1, 2, 1], padding=p) for p in ("SAME", "VALID")] + [
    dict(ksize=[1, 3, 1, 2, 1], strides=[1, 1, 2, 3, 1], padding="SAME"), dict(ksize=[1, 9, 1, 1, 1], strides=[1, 1, 1, 1, 1], padding="VALID")]
row("MaxPool3D AvgPool3D", 64, each(*[lambda t, w=w: {"input": V(VOLUME, t), **w} for w in POOLS], lambda t: {"input": V((2, 3), t), **POOLS[0]}))
CONVS = [dict(strides=[1, 1, 1, 1, 1], padding="SAME"), dict(strides=[1, 2, 1, 2, 1], padding="VALID")]
row("Conv3D", 512, each(*[lambda t, c=c, f=f: {"input": V(VOLUME, t), "filter": V(f, t), **c}
                          for c in CONVS for f in [(2, 2, 3, 2, 4), (1, 1, 1, 2, 3), (2, 2, 2, 3, 4)]], types=[F32, F64]))
row("Conv3DBackpropInputV2", 512, each(*[
    lambda t, c=c, g=g: {"input_sizes": ids(*VOLUME), "filter": V((2, 2, 3, 2, 4), t), "out_backprop": V(g, t), **c}
    for c, g in zip(CONVS, [(2, 3, 4, 5, 4), (2, 1, 3, 2, 4)])], types=[F32, F64]))
row("Conv3DBackpropFilterV2", 512, each(*[
    lambda t, c=c, g=g: {"input": V(VOLUME, t), "filter_sizes": ids(2, 2, 3, 2, 4), "out_backprop": V(g, t), **c}
    for c, g in zip(CONVS, [(2, 3, 4, 5, 4), (2, 1, 3, 2, 4)])], types=[F32, F64]))
IMAGE = (2, 6, 7, 3)
PLANES = [dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding=p) for p in ("SAME", "VALID")] + [
    dict(ksize=[1, 3, 3, 1], strides=[1, 1, 2, 1], padding="SAME")]
row("MaxPoolWithArgmax", 0, each(*[lambda t, w=w, b=b: {"input": V(IMAGE, t), "include_batch_in_index": b, **w} for w in PLANES for b in (False, True)],
                                 types=[F32, F64, I32]))
row("Conv", 512, each(*[lambda t, p=p: {"input": V(IMAGE, t), "filter": V((3, 3, 3, 4), t), "strides": [1, 1, 1, 1], "padding": p}
                        for p in ("SAME", "VALID")], types=[F32, F64]))


def max_pool_grad_grad(t):
    x, gradient = fed(V(IMAGE, t)), fed(V(IMAGE, t))
    steps = []
    for w in PLANES:
        y = tf.raw_ops.MaxPool(input=x, **w)
        steps.append([tf.raw_ops.MaxPoolGradGrad(orig_input=x, orig_output=y, grad=gradient, **w)])
    return steps


program("MaxPoolGradGrad", 0, max_pool_grad_grad, [F32])


def max_pool_3d_grad(t):
    x = fed(V(VOLUME, t))
    steps = []
    for w in POOLS[:3]:
        y = tf.raw_ops.MaxPool3D(input=x, **w)
        steps.append([tf.raw_ops.MaxPool3DGrad(orig_input=x, orig_output=y, grad=y, **w)])
        z = tf.raw_ops.AvgPool3D(input=x, **w)
        steps.append([tf.raw_ops.AvgPool3DGrad(orig_input_shape=ints(*VOLUME), grad=z, **w)])
    return steps


program("MaxPool3DGrad AvgPool3DGrad", 64, max_pool_3d_grad, [F32])


def argmax_grad(t):
    x = fed(V(IMAGE, t))
    y = tf.raw_ops.MaxPoolWithArgmax(input=x, **PLANES[0])
    return [[tf.raw_ops.MaxPoolGradWithArgmax(input=x, grad=y.output, argmax=y.argmax, **PLANES[0])]]


program("MaxPoolGradWithArgmax", 0, argmax_grad, [F32, F64])

row("QuantizeAndDequantizeV2 QuantizeAndDequantizeV4", 8, each(*[
    lambda t, s=s, r=r, n=n, m=m: {"input": V((4, 5), t), "input_min": Fed(-3, t), "input_max": Fed(5, t), "signed_input": s, "range_given": r,
                                   "num_bits": n, "round_mode": m, "narrow_range": n == 4}
    for s in (False, True) for r in (False, True) for n in (4, 8) for m in ("HALF_TO_EVEN", "HALF_UP")], types=[F32, F64]))
row("QuantizeAndDequantizeV3", 8, each(lambda t: {"input": V((4, 5), t), "input_min": Fed(-3, t), "input_max": Fed(5, t), "num_bits": Fed(6, I32)}, types=[F32, F64]))
row("QuantizeAndDequantizeV4Grad", 0, each(lambda t: {"gradients": V((4, 5), t), "input": V((4, 5), t), "input_min": Fed(-3, t), "input_max": Fed(5, t)}))
row("UniformCandidateSampler LogUniformCandidateSampler", 8, plain(*[
    {"true_classes": Fed([[1, 2], [0, 7]], I64), "num_true": 2, "num_sampled": n, "unique": u, "range_max": 20, **SEEDS}
    for n in (5, 15, 25) for u in (False, True)]))
row("AllCandidateSampler", 0, plain({"true_classes": Fed([[1, 2], [0, 7]], I64), "num_true": 2, "num_sampled": 9, "unique": True}))
row("ComputeAccidentalHits", 0, plain({"true_classes": Fed([[1, 2], [0, 7]], I64), "sampled_candidates": Fed([7, 1, 5, 1], I64), "num_true": 2},
                                      {"true_classes": Fed([[1], [2]], I64), "sampled_candidates": Fed([7], I64), "num_true": 2}))
LABELS = {"labels_indices": Fed([[0, 0], [0, 1], [1, 0]], I64), "labels_values": ids(0, 1, 1)}
row("CTCLoss", 256, each(*[
    lambda t, l=l, c=c, m=m: {"inputs": V((5, 2, 4), t, (-1, 1)), **LABELS, "labels_values": Fed(l, I32), "sequence_length": ids(5, 4),
                              "preprocess_collapse_repeated": c, "ctc_merge_repeated": m}
    for l in ([1, 2, 1], [1, 1, 2], [1, 9, 0], [3, 1, 1], [-1, 1, 1]) for c in (False, True) for m in (False, True)], types=[F32]))
row("CTCGreedyDecoder", 8, each(*[lambda t, m=m, n=n: {"inputs": V((6, 2, 3), t), "sequence_length": Fed(n, I32), "merge_repeated": m}
                                  for m in (False, True) for n in ([6, 3], [7, 3], [6])]))
row("GuaranteeConst", 0, unary(arg="input"))

SMALL = (2, 4, 5, 3)
row("ResizeBilinear ResizeBicubic ResizeNearestNeighbor", 128, each(*[
    lambda t, s=s, a=a, h=h: {"images": V(SMALL, t), "size": Fed(s, I32), "align_corners": a, "half_pixel_centers": h}
    for s in ([8, 7], [2, 3], [4, 5], [1, 1], [0, 2]) for a, h in [(False, False), (True, False), (False, True)]], types=[F32, F64, U8]))
row("ResizeArea", 64, each(*[lambda t, s=s, a=a: {"images": V(SMALL, t), "size": Fed(s, I32), "align_corners": a}
                             for s in ([8, 7], [2, 3], [4, 5]) for a in (False, True)], types=[F32, U8]))
row("ResizeBilinearGrad ResizeBicubicGrad", 64, each(*[
    lambda t, s=s, a=a, h=h: {"grads": V((2, *s, 3), F32), "original_image": V(SMALL, t), "align_corners": a, "half_pixel_centers": h}
    for s in ((8, 7), (2, 3)) for a, h in [(False, False), (True, False), (False, True)]], types=[F32]))
row("ResizeNearestNeighborGrad", 64, each(*[
    lambda t, s=s, a=a, h=h: {"grads": V((2, *s, 3), t), "size": ids(4, 5), "align_corners": a, "half_pixel_centers": h}
    for s in ((8, 7), (2, 3)) for a, h in [(False, False), (True, False), (False, True)]], types=[F32, F64]))
row("RGBToHSV HSVToRGB", 0, unary([F32, F64], (0, 1), [(4, 3), (2, 3, 4, 3), (3, 2)], arg="images"))
row("AdjustContrastv2", 64, each(lambda t: {"images": V(SMALL, t, (0, 1)), "contrast_factor": Fed(1.7, F32)}, types=[F32]))
COLORS = np.concatenate([np.random.RandomState(5).rand(60, 3), [[0, 0, 0], [1, 1, 1], [.5, .5, .1], [.5, .1, .5], [.1, .5, .5], [-1, 2, .3]]]).astype(np.float32)[None]
row("AdjustHue", 0, each(*[lambda t, d=d: {"images": Fed(COLORS, t), "delta": Fed(d, F32)} for d in (0.3, 0.0, -0.7, 1.0, -9.3, 100.5)],
                         lambda t: {"images": V((2, 2), t), "delta": Fed(0.3, F32)}, types=[F32]))
row("AdjustSaturation", 0, each(*[lambda t, s=s: {"images": Fed(COLORS, t), "scale": Fed(s, F32)} for s in (1.7, 0.0, 0.4, -1.0, 90.0)], types=[F32]))
BOXES = Fed([[0, 0, 1, 1], [0.2, 0.3, 0.7, 0.9], [-0.5, 0, 1.5, 0.4]], F32)
row("CropAndResize", 64, each(*[lambda t, m=m, s=s, i=i: {"image": V(SMALL, t), "boxes": BOXES, "box_ind": Fed(i, I32), "crop_size": Fed(s, I32), "method": m}
                                for m in ("bilinear", "nearest") for s in ([3, 4], [1, 1], [0, 2]) for i in ([0, 1, 1], [0, 2, 1])], types=[F32, U8, I32]))
row("CropAndResizeGradImage", 64, each(*[lambda t, m=m: {"grads": V((3, 3, 4, 3), F32), "boxes": BOXES, "box_ind": ids(0, 1, 1), "image_size": ids(*SMALL), "T": t, "method": m}
                                         for m in ("bilinear", "nearest")], types=[F32]))
row("CropAndResizeGradBoxes", 512, each(lambda t: {"grads": V((3, 3, 4, 3), F32), "image": V(SMALL, t), "boxes": BOXES, "box_ind": ids(0, 1, 1)}, types=[F32]))


def boxes(n):
    corner = np.random.RandomState(n).rand(n, 2)
    return {"boxes": Fed(np.concatenate([corner, corner + 0.3], 1), F32), "scores": Fed(np.random.RandomState(n + 1).rand(n), F32)}


row("NonMaxSuppressionV3 NonMaxSuppressionV4", 0, plain(*[
    {**boxes(20), "max_output_size": Fed(k, I32), "iou_threshold": Fed(i, F32), "score_threshold": Fed(s, F32)}
    for k in (3, 20, -1) for i in (0.1, 0.5, 1.5) for s in (0.0, 0.4)]))
row("NonMaxSuppressionV5", 8, plain(*[
    {**boxes(20), "max_output_size": Fed(k, I32), "iou_threshold": Fed(0.5, F32), "score_threshold": Fed(0.1, F32), "soft_nms_sigma": Fed(s, F32),
     "pad_to_max_output_size": k == 20} for k in (3, 20) for s in (0.0, 0.5, -1.0)]))
row("NonMaxSuppressionV2", 0, plain({**boxes(20), "max_output_size": Fed(5, I32), "iou_threshold": Fed(0.3, F32)}))

LINES = [(1,), (8,), (5,), (3, 12), (2, 7), (0,), (2, 97)]
row("FFT IFFT", 256, unary([C64, C128], (-2, 2), LINES, arg="input"))
row("FFT2D IFFT2D", 256, unary([C64, C128], (-2, 2), [(4, 6), (2, 3, 5), (3,)], arg="input"))
row("FFT3D IFFT3D", 256, unary([C64, C128], (-2, 2), [(4, 3, 6), (2, 2, 3, 5)], arg="input"))
row("RFFT", 256, each(*[lambda t, s=s, n=n: {"input": V(s, t), "fft_length": ids(n), "Tcomplex": C64 if t == F32 else C128}
                        for s, n in [((8,), 8), ((2, 9), 9), ((8,), 5), ((4,), 6)]], types=[F32, F64]))
row("IRFFT", 256, each(*[lambda t, s=s, n=n: {"input": V(s, t), "fft_length": ids(n), "Treal": F32 if t == C64 else F64}
                         for s, n in [((5,), 8), ((2, 5), 9), ((5,), 5), ((3,), 9)]], types=[C64, C128]))
row("RFFT2D", 256, each(lambda t: {"input": V((2, 4, 6), t), "fft_length": ids(4, 6), "Tcomplex": C64 if t == F32 else C128}, types=[F32, F64]))
row("IRFFT2D", 256, each(lambda t: {"input": V((2, 4, 4), t), "fft_length": ids(4, 6), "Treal": F32 if t == C64 else F64}, types=[C64, C128]))
row("Dilation2D", 0, each(*[lambda t, p=p, r=r: {"input": V(IMAGE, t), "filter": V((2, 3, 3), t), "strides": [1, 2, 1, 1], "rates": [1, r, 1, 1], "padding": p}
                            for p in ("SAME", "VALID") for r in (1, 2)], types=[F32, F64, I32]))
row("Dilation2DBackpropInput Dilation2DBackpropFilter", 64, each(
    lambda t: {"input": V(IMAGE, t), "filter": V((2, 3, 3), t), "out_backprop": V((2, 3, 7, 3), t), "strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1],
               "padding": "SAME"}, types=[F32, F64]))
HALVES = Fed([k * 0.25 for k in range(-40, 41)], F32)  # many lie between two levels
row("FakeQuantWithMinMaxArgs", 0, plain(*[
    {"inputs": x, "num_bits": b, "narrow_range": n} for x in (V((4, 5), F32), HALVES) for b in (4, 8) for n in (False, True)]))
row("FakeQuantWithMinMaxArgsGradient", 0, plain({"gradients": V((4, 5), F32), "inputs": V((4, 5), F32)}))
row("FakeQuantWithMinMaxVars", 0, plain(*[
    {"inputs": x, "min": Fed(a, F32), "max": Fed(b, F32)} for x in (V((4, 5), F32), HALVES)
    for a, b in [(-3, 5), (0, 0), (1, 4), (-4, -1), (-2, 2)]]))
# Halves between two levels, as far as float can tell: each op goes its own way there.
BETWEEN = np.concatenate([np.arange(-8, 8, 0.25), (np.arange(-40, 40) + 0.5) * 4 / 255, (np.arange(-20, 20) + 0.5) * 12 / 15])
row("FakeQuantWithMinMaxVars", 0, plain(*[{"inputs": Fed(BETWEEN, F32), "min": Fed(low, F32), "max": Fed(high, F32), "num_bits": bits, "narrow_range": narrow}
                                          for low, high in [(-6, 6), (1, 5), (-1, 3), (-0.30965656, 1.2317955)] for bits in (4, 8) for narrow in (False, True)]))
row("FakeQuantWithMinMaxVarsPerChannel", 0, plain(*[{"inputs": Fed(BETWEEN[:, None], F32), "min": Fed([low], F32), "max": Fed([high], F32), "num_bits": bits}
                                                    for low, high in [(-6, 6), (1, 5), (-0.30965656, 1.2317955)] for bits in (4, 8)]))
row("FakeQuantWithMinMaxArgs", 0, plain(*[{"inputs": Fed(BETWEEN, F32), "min": low, "max": high, "num_bits": bits} for low, high in [(-6.0, 6.0), (1.0, 5.0)] for bits in (4, 8)]))
row("FakeQuantWithMinMaxVarsGradient", 64, plain({"gradients": V((4, 5), F32), "inputs": V((4, 5), F32), "min": Fed(-3, F32), "max": Fed(5, F32)}))
row("FakeQuantWithMinMaxVarsPerChannel", 0, plain({"inputs": V((4, 3), F32), "min": Fed([-3, -1, 0], F32), "max": Fed([5, 1, 2], F32)}))
row("FakeQuantWithMinMaxVarsPerChannelGradient", 64, plain(
    {"gradients": V((4, 3), F32), "inputs": V((4, 3), F32), "min": Fed([-3, -1, 0], F32), "max": Fed([5, 1, 2], F32)}))
row("Einsum", 256, each(*[lambda t, e=e, s=s: {"inputs": [V(x, t) for x in s], "equation": e}
                          for e, s in [("ab,bc->ac", [(2, 3), (3, 4)]), ("abc,bc->a", [(2, 3, 4), (3, 4)]), ("ab->ba", [(2, 3)]), ("ab->a", [(2, 3)]),
                                       ("ii->i", [(3, 3)]), ("i->ii", [(3,)]), ("...ab,...bc->...ac", [(2, 3, 4), (4, 5)]), ("ab,cd->abcd", [(2, 3), (2, 2)]),
                                       ("abd,acd->abc", [(2, 3, 4), (2, 5, 4)]), ("ab,bc->ac", [(2, 3), (4, 4)]), (",ab->b", [(), (2, 3)])]],
                        types=[F32, F64, I32, C64]))


def cell(t, rows, peephole):
    n = 3
    return {"cs_prev": V((2, n), t, (-1, 1)), "h_prev": V((2, n), t, (-1, 1)), "w": V((rows + n, 4 * n), t, (-1, 1)), "wci": V((n,), t), "wcf": V((n,), t),
            "wco": V((n,), t), "b": V((4 * n,), t), "use_peephole": peephole}


row("LSTMBlockCell", 256, each(*[lambda t, p=p: {"x": V((2, 4), t), **cell(t, 4, p)} for p in (False, True)], types=[F32]))
row("BlockLSTM BlockLSTMV2", 512, each(*[lambda t, p=p, n=n: {"seq_len_max": Fed(n, I64), "x": V((5, 2, 4), t, (-1, 1)), **cell(t, 4, p)}
                                         for p in (False, True) for n in (5,)], types=[F32]))
row("GRUBlockCell", 256, each(lambda t: {"x": V((2, 4), t), "h_prev": V((2, 3), t), "w_ru": V((7, 6), t), "w_c": V((7, 3), t), "b_ru": V((6,), t), "b_c": V((3,), t)}))
ONE = (1,) + SMALL[1:]  # of a second image TensorFlow's fused kernels make something else than of one alone
row("FusedResizeAndPadConv2D", 512, each(*[
    lambda t, m=m, p=p, a=a: {"input": Shaped(V(ONE, t)), "size": Shaped(ids(7, 6)), "paddings": Shaped(Fed([[0, 0], p, [1, 1], [0, 0]], I32)), "filter": Shaped(V((3, 2, 3, 2), t)),
                              "resize_align_corners": a, "mode": m, "strides": [1, 1, 1, 1], "padding": "VALID"}
    for m in ("REFLECT", "SYMMETRIC") for p in ([2, 1], [0, 0], [9, 0]) for a in (False, True)], types=[F32]))
row("FusedPadConv2D", 512, each(*[
    lambda t, m=m: {"input": Shaped(V(ONE, t)), "paddings": Shaped(Fed([[0, 0], [2, 1], [1, 1], [0, 0]], I32)), "filter": Shaped(V((3, 2, 3, 2), t)),
                    "mode": m, "strides": [1, 1, 1, 1], "padding": "VALID"} for m in ("REFLECT", "SYMMETRIC")], types=[F32]))
for above in ("0,1", "0,2", "1,2"):
    known("Cholesky", f"output 0 at {above}", "above the diagonal of a failed factor TensorFlow does not initialise")


def lstm_gradients(t):
    steps = []
    for peephole in (False, True):
        x, start = fed(V((5, 2, 4), t, (-1, 1))), {name: fed(value) for name, value in cell(t, 4, peephole).items() if isinstance(value, Fed)}
        for version in ("", "V2"):
            y = getattr(tf.raw_ops, "BlockLSTM" + version)(seq_len_max=fed(4, I64), x=x, use_peephole=peephole, **start)
            steps.append(list(getattr(tf.raw_ops, "BlockLSTMGrad" + version)(
                seq_len_max=fed(4, I64), x=x, use_peephole=peephole, **start, **y._asdict(), cs_grad=tf.ones_like(y.cs), h_grad=tf.ones_like(y.h))))
        y = tf.raw_ops.LSTMBlockCell(x=x[0], use_peephole=peephole, **start)
        outputs = {name: value for name, value in y._asdict().items() if name != "h"}
        steps.append(list(tf.raw_ops.LSTMBlockCellGrad(x=x[0], use_peephole=peephole, **start, **outputs, cs_grad=tf.ones_like(y.cs), h_grad=tf.ones_like(y.h))))
    return steps


program("BlockLSTMGrad BlockLSTMGradV2 LSTMBlockCellGrad", 512, lstm_gradients, [F32])


def eig(shape, **more):
    return lambda t: {"input": V(shape, t), "Tout": C64 if t in (F32, C64) else C128, **more}


row("Eig", 1 << 12, each(*[eig(s) for s in [(3, 3), (2, 4, 4), (1, 1), (2, 3), (0, 0)]], types=[C64, C128]))
# Of real matrices the phases of conjugate vectors follow from roundings.
outputs_of("Eig", (0,), 1 << 12, each(*[eig(s) for s in [(3, 3), (2, 4, 4), (1, 1), (0, 0)]], types=[F32, F64]))
row("Eig", 0, each(eig((2, 3)), types=[F32, F64]))
outputs_of("Eig", (0,), 1 << 12, each(*[eig(s, compute_v=False) for s in [(3, 3), (5, 5)]], types=[F32, F64, C64, C128]))


def residuals(t):
    wide = C64 if t == F32 else C128
    x = fed(V((2, 4, 4), t))
    e, v = tf.raw_ops.Eig(input=x, Tout=wide)
    return [[tf.reduce_max(tf.abs(tf.matmul(tf.cast(x, wide), v) - v * e[..., None, :])) < 1e-3]]


program("Eig", 0, residuals, [F32, F64])
row("CholeskyGrad", 512, each(*[lambda t, n=n: {"l": Fed(np.linalg.cholesky(positive(F64, n).value), t), "grad": V((2, n, n), t)} for n in (1, 3, 6)],
                              lambda t: {"l": V((2, 3), t), "grad": V((2, 3), t)}, types=[F32, F64]))
row("RFFT3D", 256, each(*[lambda t, n=n: {"input": V((2, 3, 4, 6), t), "fft_length": ids(*n), "Tcomplex": C64 if t == F32 else C128}
                          for n in ((3, 4, 6), (2, 5, 6))], types=[F32, F64]))
row("IRFFT3D", 256, each(*[lambda t, n=n: {"input": V((2, 3, 4, 4), t), "fft_length": ids(*n), "Treal": F32 if t == C64 else F64}
                           for n in ((3, 4, 6), (2, 4, 5))], types=[C64, C128]))


def other_grad_grads(t):
    x, gradient = fed(V(IMAGE, t)), fed(V(IMAGE, t))
    volume, volume_gradient = fed(V(VOLUME, t)), fed(V(VOLUME, t))
    steps = []
    for w in PLANES:
        y = tf.raw_ops.MaxPool(input=x, **w)
        fed_window = {"ksize": ints(*w["ksize"]), "strides": ints(*w["strides"]), "padding": w["padding"]}
        steps.append(tf.raw_ops.MaxPoolGradGradV2(orig_input=x, orig_output=y, grad=gradient, **fed_window))
    for w in POOLS[:3]:
        y = tf.raw_ops.MaxPool3D(input=volume, **w)
        steps.append(tf.raw_ops.MaxPool3DGradGrad(orig_input=volume, orig_output=y, grad=volume_gradient, **w))
    return steps


program("MaxPoolGradGradV2 MaxPool3DGradGrad", 0, other_grad_grads, [F32])
