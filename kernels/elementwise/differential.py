"""Arithmetic, comparisons, bits and selections, element by element."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("BroadcastTo", 0, each(*[lambda t, d=d: {"input": V((3, 1), t), "shape": Fed(d, I32)}
                             for d in ([3, 4], [2, 3, 1], [0, 3, 1], [2, 4], [3])]))
row("BroadcastTo", WORDS, plain({"input": V((3, 1), F32), "shape": Fed([1, 4], I32)}))
row("Select", 0, each(*[lambda t, c=c: {"condition": V(c, BOOL), "x": V((3, 4), t), "y": V((3, 4), t)}
                        for c in ((3, 4), (3,), (), (4,))]))
row("SelectV2", 0, each(*[lambda t, c=c, x=x, y=y: {"condition": V(c, BOOL), "t": V(x, t), "e": V(y, t)}
                          for c, x, y in [((3, 4), (4,), ()), ((), (2,), (2,)), ((3, 1), (4,), (1,)), ((3,), (2,), (2,))]]))
row("BroadcastArgs", 0, lambda: ({"s0": Fed(a, I32), "s1": Fed(b, I32)} for a, b in [([3, 1], [4]), ([], [2]), ([2], [3])]))
row("BroadcastGradientArgs", 0, each(*[lambda t, a=a, b=b: {"s0": Fed(a, t), "s1": Fed(b, t)} for a, b in [
    ([3, 1], [4]), ([], [2]), ([2], [3]), ([2, 3], [2, 3]), ([1, 1], [5, 1]), ([[1]], [2]), ([0], [1])]], types=[I32, I64]))
row("Abs Neg", 0, unary(), special())
row("Sign Square", 4, unary(COMPLEX))
row("Sign Square", 0, unary([t for t in ALL if not t.is_complex and t not in (BOOL, STRING)]), special())
row("Ceil Floor Rint Round", 0, unary(), special())
known("Round", "should be 0", "TensorFlow's kernel for integers returns zeros")
row("IsNan IsInf IsFinite", 0, special())
row("Exp Expm1 Sin Cos Tanh Sigmoid Erf Erfc Atan Asinh Sinh Cosh Tan", 8, unary(domain=(-5, 5)), special())
known("Erf", "should be nan", "TensorFlow's kernel for doubles gives NaN for infinities")
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
known("TruncateMod", "should be InternalError", "a division by zero is the caller's error, as it is for Mod")
known("TruncateDiv", "should be InternalError", "a division by zero is the caller's error, as it is for Div")
row("Pow", 8, binary(None, (0.1, 3)), binary([I32, I64], None, (0, 4)), binary([I32], None, (-3, -1), pairs=[((3,), (3,))]))
row("Atan2", 8, binary(args=("y", "x")))
row("NextAfter", 0, binary(args=("x1", "x2")))
row("Equal NotEqual Less LessEqual Greater GreaterEqual", 0, binary())
row("LogicalAnd LogicalOr", 0, binary())
row("BitwiseAnd BitwiseOr BitwiseXor", 0, binary())
row("LeftShift RightShift", 0, binary(None, None, (0, 7)))
row("ApproximateEqual", 0, binary(pairs=[((5,), (5,)), ((), ())], tolerance=2.0))
row("AddN", 0, each(lambda t: {"inputs": [V((3, 4), t)] * 1}, lambda t: {"inputs": [V((3, 4), t), V((3, 4), t)]},
                    lambda t: {"inputs": [V((0,), t), V((0,), t)]}, lambda t: {"inputs": [V((2,), t), V((3,), t)]}))
row("ClipByValue", 0, each(lambda t: {"t": V((3, 4), t), "clip_value_min": V((), t, (-3, -1)), "clip_value_max": V((), t, (1, 3))}))
row("ClipByValue", 0, each(*[lambda t, n=n, a=a, b=b: {"t": V((n,), t, (-2, 2)), "clip_value_min": V(a, t, (-2, 2)), "clip_value_max": V(b, t, (-2, 2))}
                             for n, a, b in ((9, (), (9,)), (9, (9,), ()), (4, (4,), (4,)))], types=COMPLEX),
    plain({"t": Fed([complex(np.nan, 1), complex(1, np.nan), complex(np.inf, -np.inf), 5 - 5j], C64), "clip_value_min": Fed(-1 - 2j, C64), "clip_value_max": Fed(1 + 2j, C64)}))
# In TensorFlow's order: the bits of sums depend on it.
row("AddN", 0, each(*[lambda t, n=n: {"inputs": [V((5,), t) for _ in range(n)]} for n in (3, 7, 8, 9, 10, 16, 17, 18, 25, 40)], types=FLOATS + COMPLEX))
row("TanhGrad SigmoidGrad", 64, binary(None, (0.1, 1), args=("y", "dy"), pairs=SAME))
row("SqrtGrad RsqrtGrad ReciprocalGrad InvGrad", 8, binary(None, (0.1, 2), args=("y", "dy"), pairs=SAME))
# A gradient of zero stays so at poles.
row("SqrtGrad RsqrtGrad ReciprocalGrad InvGrad", 8, each(lambda t: {"y": Fed([0, -0.0, 1, np.inf, -np.inf, np.nan, 0, np.inf], t), "dy": Fed([0, 0, 0, 0, 0, 0, 1, 2], t)}, types=FLOATS))
# Gradients of functions want two inputs with as many elements; their shapes need not be one.
row("SigmoidGrad TanhGrad SqrtGrad RsqrtGrad InvGrad ReciprocalGrad", 64, each(*[
    lambda t, y=y, dy=dy: {"y": V(y, t, (0.1, 1)), "dy": V(dy, t)} for y, dy in [
        ((6,), (2, 3)), ((2, 3), (6,)), ((), (1,)), ((1, 1), ()), ((), (2, 3)), ((2, 3), ()), ((2,), (2, 3)), ((0,), (3, 0))]]))
program("AccumulateNV2", 4, lambda t: [raw.AccumulateNV2(inputs=[fed(V((2, 3), t)) for _ in range(n)], shape=s) for n, s in ((1, [2, 3]), (2, [None, 3]), (5, None))]
        + [raw.AccumulateNV2(inputs=[fed(V((2, 3), t)), fed(V((3, 2), t))], shape=None)], NUMBERS)
row("Xlogy Xlog1py Xdivy", 8, special_pairs(), each(lambda t: {"x": Fed([1, 0, 2, -1, 0, 1, 3, 1e-3, np.nan, 0], t), "y": Fed([-1, -1, -0.999, -1.5, -2, -1 + 2.0 ** -7, -0.5, 1e-6, -1, np.nan], t)}, types=FLOATS))
row("Maximum Minimum Atan2 Pow DivNoNan MulNoNan FloorDiv FloorMod TruncateDiv TruncateMod RealDiv NextAfter SquaredDifference", 8, special_pairs(args=("", "")))
row("Digamma Lgamma Erfinv Ndtri Acosh Acos Asin Atanh", 64, special(), each(lambda t: {first_input(): Fed([-0.5, -2, -3, 1e-30, 1e30, 170, 36, 2, -2, 0.999], t)}, types=FLOATS))
row("Exp Expm1 Log Log1p Sin Cos Tan Tanh Sinh Cosh Asinh Atan Sigmoid Sqrt Rsqrt Erf Erfc", 8, each(lambda t: {"x": Fed([1e-30, -1e-30, 88, 89, -88, -104, 709, 710, -746, 1e30, -1e30, 3e38, -1 + 2.0 ** -7, -0.999], t)}, types=FLOATS))


def denormals(t):
    """Operands and results that are too small. Not their logarithms: TensorFlow's of floats are those of the least number, of doubles -infinity."""
    least = float(np.finfo(t.as_numpy_dtype).tiny)
    x = lambda *more: fed(Fed([least / 4, -least / 4, 0.75 * least, least, 1, *more], t))
    one, zero = fed(Fed(1, t)), fed(Fed(0, t))
    return [raw.AddV2(x=x(), y=zero), raw.Mul(x=x(), y=one), raw.Mul(x=x(), y=fed(Fed(0.5, t))), raw.Sub(x=x(), y=x()), raw.RealDiv(x=x(), y=fed(Fed(4, t))), raw.Maximum(x=x(), y=zero), raw.Less(x=zero, y=x()),
            raw.Equal(x=x(), y=zero), raw.Neg(x=x()), raw.Abs(x=x()), raw.Sign(x=x()), raw.Sqrt(x=raw.Abs(x=x())), raw.Square(x=x()), raw.Relu(features=x()), raw.Sum(input=x(), axis=[0]), raw.Prod(input=x(), axis=[0]),
            raw.MatMul(a=raw.Reshape(tensor=x(), shape=[1, 5]), b=raw.Fill(dims=[5, 2], value=one)), raw.Cast(x=x(), DstT=F64), raw.Cast(x=x(), DstT=F32), raw.Cast(x=x(), DstT=BOOL), raw.Identity(input=x()),
            raw.Select(condition=fed([True] * 5, BOOL), x=x(), y=x()), raw.Floor(x=x()), raw.Ceil(x=x()), raw.Sin(x=x()), raw.Tanh(x=x()),
            raw.AddN(inputs=[x(), x(), x()]), raw.BiasAdd(value=raw.Reshape(tensor=x(), shape=[1, 5]), bias=x()), raw.Mean(input=x(), axis=[0]), raw.Cumsum(x=x(), axis=0), raw.ClipByValue(t=x(), clip_value_min=zero, clip_value_max=one)]


program("AddV2", 8, denormals, [F32, F64])
