"""Transposed, reversed, rolled, padded and tiled tensors; blocks of space moved to the batch or to channels."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("Transpose ConjugateTranspose", 0, each(*[  # TensorFlow does not survive strings
    lambda t, s=s, p=p: {"x": V(s, t), "perm": Fed(p, I32)}
    for s, p in [((3, 4), [1, 0]), ((2, 3, 4), [2, 0, 1]), ((2, 0, 4), [2, 0, 1]), ((2, 3), [0, 0]), ((2, 3), [0, 2]), ((), [])]],
    types=NUMBERS + [BOOL]))
row("Tile", 0, each(*[lambda t, m=m: {"input": V((2, 3), t), "multiples": Fed(m, I32)}
                      for m in ([1, 1], [2, 3], [0, 2], [1], [-1, 1])]))
known("Tile", "data type is not supported", "Weir can")
row("Pad", 0, each(*[lambda t, p=p: {"input": V((2, 3), t), "paddings": Fed(p, I32)}
                     for p in ([[0, 1], [2, 0]], [[0, 0], [0, 0]], [[0, -1], [0, 0]], [[1, 1]])]))
row("MirrorPad", 0, each(*[lambda t, p=p, m=m: {"input": V((3, 4), t), "paddings": Fed(p, I32), "mode": m}
                           for p in ([[0, 1], [2, 0]], [[3, 0], [0, 0]], [[4, 0], [0, 0]]) for m in ("REFLECT", "SYMMETRIC")]))
row("ReverseV2", 0, each(*[lambda t, a=a: {"tensor": V((2, 3, 4), t), "axis": Fed(a, I32)} for a in ([0], [-1, 0], [3], [1, 1])]))
row("Roll", 0, each(*[lambda t, s=s, a=a: {"input": V((2, 5), t), "shift": Fed(s, I32), "axis": Fed(a, I32)}
                      for s, a in [([1], [0]), ([-7, 3], [1, 0]), ([1], [2])]]))
row("InvertPermutation", 0, each(*[lambda t, v=v: {"x": Fed(v, t)} for v in ([2, 0, 1], [0, 0], [3, 0], [])]))
row("ReverseSequence", 0, each(*[lambda t, n=n: {"input": V((2, 4), t), "seq_lengths": Fed(n, I32), "seq_dim": 1}
                                 for n in ([2, 4], [0, 1], [5, 1])]))
row("ReverseSequence", 0, plain(*[{"input": V((2, 3), F32), "seq_lengths": Fed([1, 2], I32), "seq_dim": s, "batch_dim": b}
                                  for s, b in [(0, 0), (1, 3), (7, 0), (1, 0)]]))
row("MirrorPadGrad", 4, each(*[lambda t, p=p, m=m: {"input": V((5, 6), t), "paddings": Fed(p, I32), "mode": m}
                               for p in ([[0, 1], [2, 0]], [[2, 1], [0, 2]], [[3, 3], [0, 0]], [[1, 1]]) for m in ("REFLECT", "SYMMETRIC")]))
row("PadV2", 0, each(*[lambda t, p=p: {"input": V((2, 3), t), "paddings": Fed(p, I64), "constant_values": V((), t)}
                       for p in ([[0, 1], [2, 0]], [[0, 0], [0, 0]], [[0, -1], [0, 0]], [[1, 1]])]))
row("Reverse", 0, each(*[lambda t, d=d: {"tensor": V((2, 3), t), "dims": Fed(d, BOOL)} for d in ([True, False], [True, True], [False], [True, True, True])]))
PADS = [([[0, 0], [0, 0]], (2, 2)), ([[1, 0], [0, 2]], (2, 3)), ([[1, 1], [0, 1]], (1, 2)), ([[0, 1], [0, 0]], (2, 2)),
        ([[0, -1], [0, 0]], (2, 2)), ([[0, 0], [0, 0]], (0, 2))]
row("SpaceToBatchND", 0, each(*[
    lambda t, p=p, b=b: {"input": V((2, 3, 4, 2), t), "block_shape": Shaped(ids(*b)), "paddings": Fed(p, I32)} for p, b in PADS]))
row("SpaceToBatchND", 0, each(lambda t: {"input": V((2, 4), t), "block_shape": Shaped(ids(2)), "paddings": Fed([[2, 2]], I64)},
                              lambda t: {"input": V((2,), t), "block_shape": Shaped(ids(2)), "paddings": Fed([[2, 2]], I64)}))
row("BatchToSpaceND", 0, each(*[
    lambda t, p=p, b=b: {"input": V((12, 3, 4, 2), t), "block_shape": Shaped(ids(*b)), "crops": Fed(p, I32)} for p, b in PADS]))
BEYOND_INT32 = (1 << 31) - 1
row("SpaceToBatch", 0, each(*[lambda t, s=s: {"input": V((2, 2, 4, 1), t), "paddings": Fed([[1, 1], [0, 2]], I32), "block_size": s}
                              for s in (2, 3)]))
row("BatchToSpace", 0, each(*[lambda t, s=s: {"input": V((8, 2, 2, 1), t), "crops": Fed([[1, 1], [0, 2]], I32), "block_size": s}
                              for s in (2, 3)]))
row("SpaceToDepth", 0, each(*[lambda t, s=s: {"input": V((2, 4, 6, 3), t), "block_size": s} for s in (2, 3)], types=[F32, F64, HALF, U8, I32]))
row("DepthToSpace", WORDS, plain(*[{"input": V(s, F32), "block_size": b} for s, b in [
    ((1, 4, 4, 4), 46341), ((1, 4, 4, 0), 46341), ((0, 0, 0, 0), 1 << 16), ((1, 4, 4, 0), BEYOND_INT32), ((1, 0, 0, 4), 46340), ((1, 0, 4, 4), 2), ((4, 4, 4), 2), ((1, 4, 4, 6), 2)]]))
row("SpaceToDepth", WORDS, plain(*[{"input": V(s, F32), "block_size": b} for s, b in [
    ((1, 4, 4, 0), 46341), ((0, 0, 0, 0), 1 << 16), ((0, 4, 4, 4), 2), ((1, 0, 4, 4), 2), ((4, 4, 4), 2), ((1, 3, 4, 4), 2)]]))
row("SpaceToBatch", WORDS, plain(*[{"input": V(s, F32), "paddings": Fed(p, I32), "block_size": b} for s, p, b in [
    ((1, 4, 4, 2), [[0, 0], [0, 0]], 3), ((1, 4, 4, 2), [[-1, 1], [0, 2]], 2), ((1, 0, 4, 2), [[0, 0], [0, 0]], 2), ((1, 4, 4, 2), [[0, BEYOND_INT32], [0, 0]], 2),
    ((1 << 10, 0, 0, 2), [[0, 0], [0, 0]], BEYOND_INT32), ((1, 4, 4, 2), [[0, 0]], 2)]]))
row("BatchToSpace", WORDS, plain(*[{"input": V(s, F32), "crops": Fed(c, I32), "block_size": b} for s, c, b in [
    ((4, 4, 4, 2), [[4, 5], [0, 2]], 2), ((4, 4, 4, 2), [[-1, 1], [0, 2]], 2), ((4, 4, 4, 2), [[0, 0], [0, 0]], 3), ((0, 4, 4, 2), [[0, 0], [0, 0]], 2), ((4, 4, 4, 2), [[4, 4], [0, 2]], 2),
    ((4, 4, 4, 2), [[0, 0]], 2)]]))
row("DepthToSpace", 0, each(*[lambda t, s=s: {"input": V((2, 2, 3, 18), t), "block_size": s} for s in (2, 3)], types=[F32, F64, HALF, U8, I32]))
