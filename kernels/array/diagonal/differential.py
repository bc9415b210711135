"""Diagonals and bands of matrices."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("Diag MatrixDiag", 0, unary(shapes=[(3,), (2, 3), (0,), ()], arg="diagonal"))
row("DiagPart MatrixDiagPart", 0, unary(shapes=[(3, 3), (2, 3, 2, 3), (2, 3), (3,)], arg="input"))
row("MatrixBandPart", 0, each(*[lambda t, l=l, u=u: {"input": V((2, 4, 5), t), "num_lower": np.int64(l), "num_upper": np.int64(u)}
                                for l, u in [(1, 2), (-1, 0), (0, -1), (9, 0)]]))
row("MatrixSetDiag", 0, each(*[lambda t, s=s, d=d: {"input": V(s, t), "diagonal": V(d, t)} for s, d in [
    ((3, 3), (3,)), ((2, 3, 4), (2, 3)), ((2, 0, 4), (2, 0)), ((3, 3), (2,)), ((3,), (3,))]]))
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
row("MatrixDiagPartV3", 0, plain(*[
    {"input": V((3, 4), F32), "k": Fed(k, I32), "padding_value": Fed(p, F32)} for k, p in [([9], 0), ([0, 9], 0), ([-5, 0], 0), ([0, 1], [0, 1])]]))
row("MatrixDiagPartV2", 0, band("input", (2, 3, 4), lambda t: {"padding_value": V((), t)}, (None,)))
row("MatrixSetDiagV3 MatrixSetDiagV2", 0, each(*[
    lambda t, k=k, d=d: {"input": V((2, 3, 4), t), "diagonal": V(d, t), "k": Fed(k, I32)}
    for k, d in [(0, (2, 3)), ([-1, 1], (2, 3, 3)), (2, (2, 2)), (-2, (2, 1)), (0, (2, 2)), ([1, 3], (2, 3, 3))]],
    types=[F32, C64, I32, BOOL]))
row("MatrixSetDiagV3", 0, plain(*[
    {"input": V((3, 4), F32), "diagonal": V(d, F32), "k": Fed(k, I32)} for d, k in [((1, 3), [0, 1]), ((2, 4), [0, 1]), ((2,), [0, 1]), ((), [0]), ((3,), [7])]]))
