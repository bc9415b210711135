"""Concatenated, packed, split and unpacked tensors."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("Pack", 0, each(*[lambda t, a=a, s=s: {"values": [V(s, t), V(s, t)], "axis": a} for a in (0, 1, -1, 3) for s in ((2, 3), (0, 2))]))
row("Unpack", 0, each(*[lambda t, a=a: {"value": V((2, 2), t), "num": 2, "axis": a} for a in (0, 1, -1)]))
row("ConcatV2", 0, each(*[lambda t, a=a, b=b, x=x: {"values": [V(a, t), V(b, t)], "axis": x}
                          for a, b, x in [((2, 3), (4, 3), 0), ((2, 3), (2, 0), -1), ((2, 3), (4, 2), 0), ((2,), (3,), 1)]]))
row("Split", 0, each(*[lambda t, x=x, n=n: {"axis": x, "value": V((4, 6), t), "num_split": n}
                       for x, n in [(0, 2), (1, 3), (-1, 6), (0, 3)]]))
row("Split", WORDS, plain(*[{"axis": Fed(a, I32), "value": V(s, F32), "num_split": n} for a, s, n in [(1, (6,), 2), (-2, (6,), 2), (0, (), 1), (0, (6,), 4), ([[0]], (6,), 2), (2, (2, 3), 1)]]))
row("SplitV", WORDS, plain(*[{"value": V((6,), F32), "size_splits": Fed(z, t), "axis": Fed(a, I32), "num_split": n} for z, a, n, t in [
    ([2, -2], 0, 2, I32), ([8, -2], 0, 2, I32), ([2, 3], 0, 2, I32), ([-1, -1], 0, 2, I32), ([7, -1], 0, 2, I32), ([5], 0, 1, I64), ([6], 0, 1, I64), ([2, 4], [0], 2, I32), 
    ([2, 4], [0, 1], 2, I32), ([2, 4], 1, 2, I32), ([2, 4], -2, 2, I32), ([2, 4], 0, 3, I32), ([[2, 4]], 0, 2, I32)]]))
row("SplitV", 0, each(*[lambda t, s=s: {"value": V((4, 6), t), "size_splits": Fed(s, I32), "axis": 1, "num_split": 2}
                        for s in ([2, 4], [-1, 1], [0, 6], [3, 4])]))
row("Concat", 0, each(*[lambda t, a=a, b=b, x=x: {"concat_dim": Fed(x, I32), "values": [V(a, t), V(b, t)]}
                        for a, b, x in [((2, 3), (4, 3), 0), ((2, 3), (2, 0), -1), ((2, 3), (4, 2), 0), ((2,), (3,), 1), ((), (), 0)]]))
row("ConcatOffset", 0, lambda: ({"concat_dim": Fed(x, I32), "shape": [Fed(s, I32) for s in shapes]} for x, shapes in [
    (1, [[2, 2], [2, 3], [2, 0]]), (-1, [[2, 2], [2, 5]]), (0, [[2, 2], [3, 3]]), (2, [[2, 2], [2, 2]]), (0, [[1], [2, 2]])]))
