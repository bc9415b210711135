"""Reductions and scans."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

known("Cumprod", "complex", "TensorFlow forgets to conjugate")
row("Cumsum Cumprod", 64, each(*[
    lambda t, s=s, a=a, e=e, r=r: {"x": V(s, t, (0.5, 1.5)), "axis": a, "exclusive": e, "reverse": r}
    for s, a in [((7,), 0), ((3, 4, 5), 1), ((3, 0), 0), ((3,), 3)] for e in (False, True) for r in (False, True)]))
# 16-bit floats are rounded at each step, in TensorFlow's order.
row("Cumsum Cumprod", 0, each(*[lambda t, s=s, a=a, e=e, r=r: {"x": V(s, t, (0.6, 1.5)), "axis": a, "exclusive": e, "reverse": r}
                                for s, a in (((300,), 0), ((40, 13), 0), ((3, 40, 5), 1)) for e, r in ((False, False), (True, False), (True, True))], types=[HALF, BF16]))
row("Prod", 0, each(*[lambda t, s=s, a=a: {"input": V(s, t, (0.7, 1.4)), "axis": ints(*a)} for s, a in (
    ((15, 24), [0]), ((16, 24), [0]), ((101, 13), [0]), ((3, 40, 21), [1]), ((4, 33), [1]), ((3, 1003), [1]), ((40, 100), [1]), ((2, 9000), [1]), ((47,), [0]), ((3, 5), [0, 1]))],
                      types=[HALF, BF16]))
row("Sum Mean", 64, reduction())
row("Prod", 64, reduction(domain=(0.5, 1.5)))
row("Max Min", 0, reduction())
row("EuclideanNorm", 64, reduction())
for _name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
    known("EuclideanNorm", "input=" + _name, "TensorFlow's squares of integers overflow")
row("All Any", 0, reduction())
row("ArgMax ArgMin", 0, each(*[
    lambda t, s=s, d=d, o=o: {"input": V(s, t), "dimension": d, "output_type": o}
    for s, d in [((7,), 0), ((3, 4, 5), 1), ((3, 4), -1), ((0,), 0), ((3,), 2), ((0, 3), 1)] for o in (I32, I64)]))
row("CumulativeLogsumexp", 64, each(*[
    lambda t, s=s, a=a, e=e, r=r: {"x": V(s, t), "axis": a, "exclusive": e, "reverse": r}
    for s, a in [((7,), 0), ((3, 4, 2), 1), ((3, 0), 0), ((3,), 3)] for e in (False, True) for r in (False, True)]))
