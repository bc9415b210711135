"""Special functions: gamma, Bessel and their kin."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("BesselI0 BesselI1 BesselI0e BesselI1e BesselJ0 BesselJ1 Dawsn FresnelCos FresnelSin", 64, unary([F32, F64], (-9, 9)))
row("BesselK0 BesselK1 BesselK0e BesselK1e BesselY0 BesselY1 Expint Spence", 64, unary([F32, F64], (0.1, 9)))
row("Igamma Igammac", 256, binary([F32, F64], (0.1, 9), args=("a", "x")))
row("Igamma", 64, each(lambda t: {"a": Fed([-1, 3, np.inf, np.nan], t), "x": Fed([0, np.inf, 2, 0], t)}, types=[F32, F64]))
row("IgammaGradA", 4096, binary([F32, F64], (0.5, 9), args=("a", "x"), pairs=SAME))
row("Zeta", 64, binary([F32, F64], (1.1, 5), (0.1, 5), args=("x", "q")),
    each(lambda t: {"x": Fed([2, np.inf, np.inf, 1, 1.5], t), "q": Fed([np.inf, 3, -2.5, np.nan, np.inf], t)}, types=[F32, F64]))
row("Polygamma", 64, each(lambda t: {"a": Fed([1, 2, 3], t), "x": Fed([np.inf] * 3, t)}, types=[F32, F64]))
row("Polygamma", 64, each(lambda t: {"a": Fed([0, 1, 2, 5], t), "x": V((4,), t, (0.3, 5))}, types=[F32, F64]))
row("Betainc", 1024, each(lambda t: {"a": V((5,), t, (0.3, 4)), "b": V((5,), t, (0.3, 4)), "x": V((5,), t, (0, 1))},
                          lambda t: {"a": V((), t, (0.3, 4)), "b": V((5,), t, (0.3, 4)), "x": V((), t, (0, 1))},
                          lambda t: {"a": V((4,), t, (0.3, 4)), "b": V((5,), t, (0.3, 4)), "x": V((), t, (0, 1))}, types=[F32, F64]))
row("BesselI0 BesselI1 BesselI0e BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK1 BesselK0e BesselK1e BesselY0 BesselY1 Dawsn Expint FresnelCos FresnelSin Spence", 64, special([F32, F64]))
# Oscillating functions of large floats are inexact in TensorFlow, which computes in float; its Dawson's integral of large doubles loses its sign.
row("BesselI0 BesselI1 BesselI0e BesselI1e BesselK0 BesselK1 BesselK0e BesselK1e Expint FresnelSin Spence", 64, each(lambda t: {"x": Fed([1e-30, -1e-30, 200, -200, 800, -800, 1e10, -1e10, 1e30, 1.5, 2.5], t)}, types=[F32, F64]))
