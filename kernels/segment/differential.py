"""Reductions over segments."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("SegmentSum SegmentMax SegmentMin SegmentProd SegmentMean", 8, each(*[
    lambda t, i=i: {"data": V((4, 3), t, (1, 3)), "segment_ids": Fed(i, I32)}
    for i in ([0, 0, 1, 3], [1, 0, 1, 2], [0, 1, 2], [-1, 0, 1, 2])]))
# Sums and products of 16-bit floats are rounded at each step, in TensorFlow's order.
row("SegmentSum SegmentProd SegmentMean", 0, each(*[
    lambda t, w=w, n=n: {"data": V((sum(n), w), t, (0.6, 1.5)), "segment_ids": Fed(np.repeat(np.arange(len(n)), n), I32)}
    for w, n in ((24, (15, 16, 0, 17)), (13, (41, 3, 100)), (1, (20, 1)))], types=[HALF, BF16]))
row("UnsortedSegmentSum UnsortedSegmentProd", 0, each(*[
    lambda t, w=w: {"data": V((120, w), t, (0.6, 1.5)), "segment_ids": Fed(np.arange(120) * 7 % 5, I32), "num_segments": 5} for w in (1, 13)], types=[HALF, BF16]))
known("SegmentProd", "gradient of SegmentProd(data=complex", "TensorFlow forgets to conjugate")
row("UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd", 8, each(*[
    lambda t, i=i: {"data": V((4, 3), t, (1, 3)), "segment_ids": Fed(i, I32), "num_segments": 4}
    for i in ([3, 0, 1, 3], [-1, 0, 1, 2], [4, 0, 0, 0])]))
row("UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd", 8, each(*[
    lambda t, s=s, i=i, n=n: {"data": V(s, t), "segment_ids": Fed(i, I64), "num_segments": Fed(n, I32)}
    for s, i, n in [((2, 2, 3), [[0, 3], [-1, 0]], 5), ((0, 3), [], 2), ((3,), 1, 2), ((2,), [0, 0], -1), ((2,), [0], 3), ((3, 2), [5, 0, 1], 3)]]))
known("UnsortedSegmentProd", "gradient of UnsortedSegmentProd(data=complex", "TensorFlow forgets to conjugate")
row("SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN", 8, each(*[
    lambda t, i=i, s=s: {"data": V((5, 3), t), "indices": Fed(i, I32), "segment_ids": Fed(s, I32)}
    for i, s in [([0, 4, 1], [0, 0, 1]), ([0, 5, 1], [0, 0, 1]), ([0, 1], [1, 0])]]))
row("SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments", 8, each(*[
    lambda t, i=i, s=s, n=n: {"data": V((5, 3), t), "indices": Fed(i, I32), "segment_ids": Fed(s, I32), "num_segments": Fed(n, I32)}
    for i, s, n in [([0, 4, 1], [0, 0, 2], 4), ([0, 5, 1], [0, 0, 1], 3), ([0, 1], [1, 0], 3), ([0, 1], [0, 3], 2), ([0], [0], -1), ([], [], 2)]]))
row("SparseSegmentSqrtNWithNumSegments", 8, each(*[
    lambda t, i=i, s=s, n=n: {"data": V((5, 3), t), "indices": Fed(i, I32), "segment_ids": Fed(s, I32), "num_segments": Fed(n, I32)}
    for i, s, n in [([0, 4, 1], [0, 0, 1], 4), ([0, 4, 1], [0, 0, 5], 4), ([0, 5, 1], [0, 0, 1], 4), ([], [], 3)]]))
known("SparseSegmentMeanWithNumSegments", "gradient of", "TensorFlow's gradient of no rows is not set")
row("SparseSegmentSumGrad SparseSegmentMeanGrad SparseSegmentSqrtNGrad", 8, each(*[
    lambda t, i=i, s=s, n=n: {"grad": V((2, 3), t), "indices": Fed(i, I32), "segment_ids": Fed(s, I32), "output_dim0": Fed(n, I32)}
    for i, s, n in [([0, 4, 1], [0, 0, 1], 5), ([0, 5, 1], [0, 0, 1], 5), ([0, 1], [1, 0], 5), ([0, 1], [0, 3], 5), ([0], [0], 0), ([0, 1], [-1, 0], 3)]]))
row("SparseSegmentSumGradV2 SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2", 8, each(*[
    lambda t, i=i, s=s, n=n: {"grad": V((2, 3), t), "indices": Fed(i, I32), "segment_ids": Fed(s, I32), "dense_output_dim0": np.int32(n)}
    for i, s, n in [([0, 4, 0], [0, 0, 1], 5), ([0, 5], [0, 1], 5), ([0, 1], [0, 2], 5), ([], [], 5), ([0], [0, 1], 5)]]))
for op, with_count in (("SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN", False), ("SparseSegmentSumWithNumSegments", True)):
    row(op, WORDS, plain(*[{"data": V((4, 2), F32), "indices": ids(0, 1), "segment_ids": Fed(s, I32), **({"num_segments": Fed(n, I32)} if with_count else {})}
                           for s in ([-1, 0], [-2, 1], [1, 0], [0, 9]) for n in ((3, [3], -1) if with_count else (0,))]))
row("SegmentSum SegmentMean SegmentMax SegmentProd", WORDS, plain({"data": V((), F32), "segment_ids": Fed([0], I32)}))
