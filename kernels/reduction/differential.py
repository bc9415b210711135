"""Reductions and scans."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

known("Cumprod", "complex", "TensorFlow forgets to conjugate")
row("Cumsum Cumprod", 64, each(*[
    lambda t, s=s, a=a, e=e, r=r: {"x": V(s, t, (0.5, 1.5)), "axis": a, "exclusive": e, "reverse": r}
    for s, a in [((7,), 0), ((3, 4, 5), 1), ((3, 0), 0), ((3,), 3)] for e in (False, True) for r in (False, True)]))
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
