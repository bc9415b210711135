"""Elementwise math, comparisons, reductions, scans, products of matrices, ranges, random numbers."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("Abs Neg", 0, unary(), special())
row("Sign Square", 4, unary(COMPLEX))
row("Sign Square", 0, unary([t for t in ALL if not t.is_complex and t not in (BOOL, STRING)]), special())
row("Ceil Floor Rint Round", 0, unary(), special())
row("IsNan IsInf IsFinite", 0, special())
row("Exp Expm1 Sin Cos Tanh Sigmoid Erf Erfc Atan Asinh Sinh Cosh Tan", 8, unary(domain=(-5, 5)), special())
row("Log Log1p Sqrt Rsqrt Reciprocal Inv Lgamma", 8, unary(domain=(0.1, 9)), special())
row("Digamma", 64, unary(domain=(0.1, 9)))
row("Asin Acos Atanh", 16, unary(domain=(-0.95, 0.95)))
row("Erfinv", 64, unary(domain=(-0.95, 0.95)))
row("Acosh", 8, unary(domain=(1, 9)))
row("Ndtri", 64, unary(domain=(0.05, 0.95)))
row("Invert PopulationCount", 0, unary())
row("LogicalNot", 0, unary())
row("Conj", 0, unary([C64, C128], arg="input"))
for _t in COMPLEX:
    row("Real Imag Angle", 4, unary([_t], Tout=_t.real_dtype))
    row("ComplexAbs", 4, unary([_t], Tout=_t.real_dtype))
    row("Complex", 0, binary([_t.real_dtype], args=("real", "imag"), Tout=_t))
row("Add AddV2 Sub Maximum Minimum", 0, binary())
row("Mul", 0, binary(FLOATS + INTEGERS))
row("Mul", 4, binary(COMPLEX))
row("SquaredDifference", 3, binary())
row("Div RealDiv DivNoNan MulNoNan Xdivy", 2, binary())
row("Xlogy Xlog1py", 8, binary([F32, F64, HALF, BF16], (0.1, 5)))
row("Xlogy Xlog1py", 64, binary(COMPLEX, (0.1, 5)))
row("FloorDiv FloorMod TruncateDiv TruncateMod Mod", 0, binary(None, None, (1, 5)),
    binary(INTEGERS, None, (0, 0), pairs=[((3,), (3,))]))
row("Pow", 8, binary(None, (0.1, 3)), binary([I32, I64], None, (0, 4)), binary([I32], None, (-3, -1), pairs=[((3,), (3,))]))
row("Atan2", 8, binary(args=("y", "x")))
row("NextAfter", 0, binary(args=("x1", "x2")))
row("Equal NotEqual Less LessEqual Greater GreaterEqual", 0, binary())
row("LogicalAnd LogicalOr", 0, binary())
row("BitwiseAnd BitwiseOr BitwiseXor", 0, binary())
row("LeftShift RightShift", 0, binary(None, None, (0, 7)))
row("ApproximateEqual", 0, binary(pairs=[((5,), (5,)), ((), ())], tolerance=2.0))
row("Cast", 0, lambda: ({"x": V((9,), a, (0, 9)), "DstT": b} for a in ALL[:-1] for b in ALL[:-1]))
row("Sum Mean", 64, reduction())
row("Prod", 64, reduction(domain=(0.5, 1.5)))
row("Max Min", 0, reduction())
row("EuclideanNorm", 64, reduction())
row("All Any", 0, reduction())
row("ArgMax ArgMin", 0, each(*[
    lambda t, s=s, d=d, o=o: {"input": V(s, t), "dimension": d, "output_type": o}
    for s, d in [((7,), 0), ((3, 4, 5), 1), ((3, 4), -1), ((0,), 0), ((3,), 2), ((0, 3), 1)] for o in (I32, I64)]))
row("Cumsum Cumprod", 64, each(*[
    lambda t, s=s, a=a, e=e, r=r: {"x": V(s, t, (0.5, 1.5)), "axis": a, "exclusive": e, "reverse": r}
    for s, a in [((7,), 0), ((3, 4, 5), 1), ((3, 0), 0), ((3,), 3)] for e in (False, True) for r in (False, True)]))
row("MatMul", 64, each(*[
    lambda t, a=a, b=b, ta=ta, tb=tb: {"a": V(a[::-1] if ta else a, t), "b": V(b[::-1] if tb else b, t),
                                       "transpose_a": ta, "transpose_b": tb}
    for a, b in [((3, 4), (4, 5)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((33, 65), (65, 17)), ((2, 3), (4, 5)), ((3,), (3, 2))]
    for ta in (False, True) for tb in (False, True)]))
row("BatchMatMul BatchMatMulV2", 64, each(*[
    lambda t, a=a, b=b: {"x": V(a, t), "y": V(b, t)}
    for a, b in [((2, 3, 4), (2, 4, 5)), ((3, 4), (4, 5)), ((0, 3, 4), (0, 4, 5)), ((2, 1, 3, 4), (2, 5, 4, 2)),
                 ((2, 3, 4), (3, 4, 5)), ((2, 3, 4), (2, 3, 4))]]))
row("AddN", 0, each(lambda t: {"inputs": [V((3, 4), t)] * 1}, lambda t: {"inputs": [V((3, 4), t), V((3, 4), t)]},
                    lambda t: {"inputs": [V((0,), t), V((0,), t)]}, lambda t: {"inputs": [V((2,), t), V((3,), t)]}))
row("Range", 0, each(*[lambda t, a=a: {"start": Fed(a[0], t), "limit": Fed(a[1], t), "delta": Fed(a[2], t)}
                       for a in [(0, 5, 1), (5, 0, -2), (0, 0, 1), (0, 5, 0), (0, 5, -1), (1, 9, 3)]], types=[F32, F64, I32, I64]))
row("LinSpace", 2, each(*[lambda t, n=n: {"start": Fed(-1, t), "stop": Fed(2, t), "num": Fed(n, I32)} for n in (1, 5, 0)]))
row("Bincount", 0, each(lambda t: {"arr": ids(1, 2, 2, 9), "size": Fed(5, I32), "weights": V((4,), t)}))
row("L2Loss", 64, unary(arg="t"))
row("ClipByValue", 0, each(lambda t: {"t": V((3, 4), t), "clip_value_min": V((), t, (-3, -1)), "clip_value_max": V((), t, (1, 3))}))
row("CheckNumerics", 0, special(arg="tensor", message="m"), unary(arg="tensor", message="m"))

row("StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal", 8, each(*[
    lambda t, s=s: {"shape": Fed(s, I32), "seed": ids(3, 4), "dtype": t} for s in ([], [0], [7], [30, 40])], types=FLOATS))
row("RandomUniform RandomStandardNormal TruncatedNormal", 8, each(*[
    lambda t, s=s: {"shape": Fed(s, I32), "dtype": t, "seed": 3, "seed2": 4} for s in ([], [0], [7], [30, 40])], types=FLOATS))
row("RandomUniformInt", 0, each(lambda t: {"shape": ids(50), "minval": Fed(-3, t), "maxval": Fed(90, t), "seed": 3, "seed2": 4},
                                types=[I32, I64]))
row("Multinomial", 0, each(*[lambda t, s=s, n=n, o=o: {"logits": V(s, t), "num_samples": Fed(n, I32), "seed": 3, "seed2": 4, "output_dtype": o}
                             for s, n, o in [((2, 5), 7, I64), ((3, 4), 0, I32), ((2, 0), 3, I64), ((0, 3), 3, I64), ((5,), 3, I64), ((2, 3), -1, I64)]]))
row("StatelessMultinomial", 0, each(*[lambda t, s=s, n=n: {"logits": V(s, t), "num_samples": Fed(n, I32), "seed": ids(3, 4)}
                                      for s, n in [((2, 5), 7), ((3, 4), 0), ((2, 0), 3), ((5,), 3), ((2, 3), -1)]]))
row("StatelessRandomGetAlg", 0, plain({}))
row("StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg", 0, lambda: (
    {"seed": Fed(s, t)} for t in (I32, I64) for s in ([3, 4], [-1, 7], [1], [[1, 2]])))
row("StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessTruncatedNormalV2", 8, each(*[
    lambda t, s=s, k=k, c=c, a=a: {"shape": Fed(s, I32), "key": Fed(k, U64), "counter": Fed(c, U64), "alg": Fed(a, I32), "dtype": t}
    for s, k, c, a in [([30, 40], [5], [6, 7], 1), ([3], [5], [6], 2), ([3], [5], [6, 7], 3), ([3], [5], [6, 7], 9), ([-1], [5], [6, 7], 1),
                       ([3], [5, 5], [6, 7], 1), ([3], [5], [6], 1), ([], [5], [6, 7], 1)]], types=FLOATS))
row("StatelessRandomUniformFullIntV2", 0, each(*[
    lambda t, s=s, a=a: {"shape": Fed(s, I32), "key": Fed([5], U64), "counter": Fed([6, 7], U64), "alg": Fed(a, I32), "dtype": t}
    for s, a in [([30], 1), ([3], 3), ([0], 1)]], types=[I32, I64, U32, U64]))
row("StatelessRandomUniformFullInt", 0, each(*[lambda t, s=s: {"shape": Fed(s, I32), "seed": ids(3, 4), "dtype": t}
                                               for s in ([30], [], [0], [-2])], types=[I32, I64, U32, U64]))
row("StatelessRandomUniformInt", 0, each(*[lambda t, a=a, b=b: {"shape": ids(40), "seed": ids(3, 4), "minval": Fed(a, t), "maxval": Fed(b, t)}
                                           for a, b in [(-3, 90), (5, 5), (7, 2), (0, 1)]], types=[I32, I64]))
row("StatelessRandomUniformIntV2", 0, each(*[
    lambda t, a=a, b=b: {"shape": ids(40), "key": Fed([5], U64), "counter": Fed([6, 7], U64), "alg": 1, "minval": Fed(a, t), "maxval": Fed(b, t)}
    for a, b in [(3, 90), (5, 5), (7, 2), (0, 1)]], types=[I32, I64, U32, U64]))
row("RandomUniform RandomStandardNormal TruncatedNormal", 8, each(*[
    lambda t, s=s: {"shape": Fed(s, I64), "dtype": t, "seed": 87654321, "seed2": 1} for s in ([3, 5], [-1], [[2]])], types=FLOATS))

known("Round", "should be 0", "TensorFlow's kernel for integers returns zeros")
known("Erf", "should be nan", "TensorFlow's kernel for doubles gives NaN for infinities")
known("Where", "No WhereOp available for float16", "Weir can")
known("ClipByValue", "DT_COMPLEX", "complex numbers have no order")
known("TruncateDiv", "should be InternalError", "a division by zero is the caller's error, as it is for Div")
known("TruncateMod", "should be InternalError", "a division by zero is the caller's error, as it is for Mod")
for _name in ("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"):
    known(_name, "counter must be a vector", "TensorFlow reads beyond the counter")
for _name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
    known("EuclideanNorm", "input=" + _name, "TensorFlow's squares of integers overflow")
