"""Gathers, scatters, unique values and masks."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("GatherV2", 0, each(*[lambda t, i=i, a=a: {"params": V((4, 5), t), "indices": Fed(i, I32), "axis": a}
                          for i, a in [([0, 3, 3], 0), ([[1], [2]], 1), ([4], 0), ([-1], 0), (2, -1), ([0], 2)]]))
row("GatherV2", 0, each(*[lambda t, p=p, i=i, a=a, b=b: {"params": V(p, t), "indices": Fed(i, I64), "axis": Fed(a, I32), "batch_dims": b}
                          for p, i, a, b in [((2, 3, 4), [[0, 2], [1, 1]], 1, 1), ((2, 3, 4), [[3], [0]], 2, 1), ((2, 3), [[0], [0]], 1, 2),
                                             ((2, 3), [[5], [0]], 1, 1), ((2, 3), [0], 1, 1), ((2, 0), [[]], 0, 0), ((), 0, 0, 0)]]))
row("GatherNd", 0, each(*[lambda t, i=i: {"params": V((4, 5), t), "indices": Fed(i, I32)}
                          for i in ([[0], [3]], [[1, 2]], [[4, 0]], [[0, 0, 0]])]))
row("GatherNd", 0, plain({"params": V((3, 2), F32), "indices": Fed([[[0], [3]]], I32)},
                         {"params": V((0,), F32), "indices": Fed([[0]], I32)}))
row("ScatterNd", 0, each(*[lambda t, i=i: {"indices": Fed(i, I32), "updates": V((2, 3), t), "shape": ints(4, 3)}
                           for i in ([[0], [3]], [[1], [1]], [[4], [0]])]))
row("ScatterNd", 0, plain(*[{"indices": Fed(i, I32), "updates": V(u, F32), "shape": Fed(s, I32)} for i, u, s in [
    ([[[0], [3]]], (1, 2, 2), [3, 2]), ([[0]], (2, 2), [3, 2]), ([[0]], (1, 3), [3, 2]), ([[0]], (), [3]),
    ([[0, 0, 0]], (1,), [3, 2])]]))
row("ScatterNd", WORDS, plain({"indices": Fed([[0]], I32), "updates": V((1,), F32), "shape": Fed([0], I32)}))
row("TensorScatterUpdate TensorScatterAdd TensorScatterSub TensorScatterMax TensorScatterMin", 0, each(*[
    lambda t, i=i: {"tensor": V((4, 3), t), "indices": Fed(i, I32), "updates": V((2, 3), t)} for i in ([[0], [3]], [[4], [0]])]))
TARGET = V((3, 2), F32)
row("TensorScatterAdd TensorScatterUpdate", WORDS, plain(*[
    {"tensor": t, "indices": Fed(i, I32), "updates": V(u, F32)} for t, i, u in [
        (TARGET, [[0]], (1, 3)), (TARGET, [[0]], (1,)), (TARGET, [[3]], (1, 2)), (V((), F32), [[0]], (1,)), (V((0, 2), F32), [[0]], (1, 2))]]))
row("OneHot", 0, each(*[lambda t, a=a: {"indices": ids(0, 2, -1, 5), "depth": 3, "on_value": V((), t), "off_value": V((), t), "axis": a}
                        for a in (-1, 0)]))
row("Where", 0, unary(arg="condition"))
known("Where", "No WhereOp available for float16", "Weir can")
row("Unique UniqueWithCounts", 0, unary(shapes=[(0,), (9,), (40,), (2, 2)]))
row("ListDiff", 0, binary(pairs=[((9,), (4,)), ((0,), (3,))]))
row("DynamicPartition", 0, each(*[lambda t, p=p: {"data": V((4, 2), t), "partitions": Fed(p, I32), "num_partitions": 3}
                                  for p in ([0, 2, 0, 1], [0, 3, 0, 0], [0, 1])]))
row("DynamicStitch", 0, each(lambda t: {"indices": [ids(0, 3), ids(1, 2)], "data": [V((2, 2), t), V((2, 2), t)]}))
row("ParallelDynamicStitch DynamicStitch", 0, each(*[lambda t, i=i, j=j: {
    "indices": [Fed(i, I32), Fed(j, I32)], "data": [V(np.shape(i) + (2,), t), V(np.shape(j) + (2,), t)]} for i, j in [
        ([0, 3], [1, 2]), ([[0], [4]], [2, 1]), ([], [0]), ([-1], [0]), (0, 1)]]))
row("DynamicStitch", WORDS, plain({"indices": [Fed([0, 1], I32), Fed([2], I32)], "data": [V((2,), F32), V((1, 1), F32)]}))
row("Gather", 0, each(*[lambda t, i=i: {"params": V((4, 5), t), "indices": Fed(i, I32)} for i in ([0, 3, 3], [[1], [2]], [4], [-1], 2)]))
row("UniqueV2 UniqueWithCountsV2", 0, each(*[lambda t, s=s, a=a, o=o: {"x": V(s, t, (0, 3)), "axis": Fed(np.array(a, int), I64), "out_idx": o}
                                             for s, a in [((9,), []), ((0,), []), ((6, 2), [0]), ((2, 6), [-1]), ((2, 2), []), ((3,), [4]), ((3,), [0, 0])]
                                             for o in (I32, I64)]))
VAR = (4, 3)
ND = [([[3], [0]], (2, 3)), ([[1, 2], [0, 0]], (2,)), ([[4], [0]], (2, 3)), ([[1, -1]], (1,)), ([[1]], (2, 2)), ([[[0]], [[1]]], (2, 1, 3))]
row("ScatterNdNonAliasingAdd", 0, each(*[
    lambda t, i=i, s=s: {"input": V(VAR, t), "indices": Fed(i, I32), "updates": V(s, t)} for i, s in ND]))
