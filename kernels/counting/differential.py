"""Histograms, bin counts and buckets."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("IsotonicRegression", 0, plain(*[{"input": Fed([r], F32), "output_dtype": F32}
                                     for r in ([3, 1, 2], [1, 1, 1], [2, 1, 1], [-3, -1, -2], [1, 2, 2])]))
row("IsotonicRegression", 64, each(*[lambda t, s=s: {"input": V(s, t), "output_dtype": F32} for s in ((7,), (3, 5), (0,))], types=[F32, F64, I32]))
row("IsotonicRegression", 0, plain({"input": Fed(3.5, F32), "output_dtype": F32}, {"input": Fed([[]], F32), "output_dtype": F32}))
row("Bincount", 0, each(lambda t: {"arr": ids(1, 2, 2, 9), "size": Fed(5, I32), "weights": V((4,), t)}))
row("Bincount", 0, plain(*[{"arr": Fed(a, I32), "size": Fed(4, I32), "weights": V(w, F32)} for a, w in [
    ([[0, 1], [2, 3]], (4,)), ([0, 1, 2, 3], (2, 2)), ([0, 1, 2, 3], (3,)), ([0, 1], (1,)), (1, (1,)), ([], (0,)), ([[1, 5]], (0, 7))]]))
row("DenseBincount", 0, each(*[
    lambda t, a=a, w=w, b=b, s=s: {"input": Fed(a, I32), "size": Fed(s, I32), "weights": V(w, t), "binary_output": b}
    for a, w in [([1, 2, 2, 9], (0,)), ([1, 2, 2, 9], (4,)), ([[1, 1], [0, 7]], (2, 2)), ([[1, 1], [0, 7]], (0,)), ([-1], (0,)),
                 ([1, 2], (3,))]
    for b in (False, True) for s in (4, -1)], types=[F32, F64, I32, I64]))
row("DenseBincount", WORDS, plain(*[{"input": Fed(v, I32), "size": Fed(5, I32), "weights": Fed([], F32)} for v in ([1, -2, 2], [[1, -2, 2]])]))
row("HistogramFixedWidth", 0, each(*[
    lambda t, r=r, n=n: {"values": V((40,), t), "value_range": Fed(r, t), "nbins": Fed(n, I32), "dtype": I32}
    for r in ([-5, 5], [0, 0]) for n in (4, 7, 0)], types=[F32, F64, I32, I64]))
row("HistogramFixedWidth", WORDS, plain(*[
    {"values": V((3,), F32), "value_range": Fed(r, F32), "nbins": Fed(n, I32)} for r, n in [([0, 1, 2], 3), ([[0, 1]], 3), ([0, 1], [3])]]))
row("Bucketize", 0, unary(arg="input", boundaries=[-5.0, 0.5, 3.0]))
row("LowerBound UpperBound", 0, each(*[
    lambda t, o=o: {"sorted_inputs": Fed([[0, 1, 1, 5], [2, 3, 4, 4]], t), "values": Fed([[1, 0, 9], [4, 5, 2]], t), "out_type": o}
    for o in (I32, I64)], lambda t: {"sorted_inputs": V((2, 3), t), "values": V((3, 3), t)}))
row("UnravelIndex", 0, each(*[lambda t, i=i, d=d: {"indices": Fed(i, t), "dims": Fed(d, t)}
                              for i, d in [([1, 5, 23], [2, 3, 4]), (7, [3, 3]), ([24], [2, 3, 4]), ([0], [0, 2]), ([], [2])]], types=[I32, I64]))
row("UnravelIndex", 0, each(*[lambda t, i=i, d=d: {"indices": Fed(i, t), "dims": Fed(d, t)}
                              for i, d in [(-1, [7, 6]), ([-1, -7], [7, 6]), (1, [1 << 28, 1 << 28]), (42, [7, 6])]]))
row("Cross", 0, binary(args=("a", "b"), pairs=[((3,), (3,)), ((2, 4, 3), (2, 4, 3)), ((2,), (2,)), ((3,), (2, 3)), ((), ())]))
row("DataFormatDimMap", 0, each(*[lambda t, s=s, d=d: {"x": Fed([0, 1, -1, -4, 3], t), "src_format": s, "dst_format": d}
                                  for s, d in [("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NDHWC", "NCDHW")]], types=[I32, I64]))
row("DataFormatVecPermute", 0, each(*[lambda t, v=v, s=s, d=d: {"x": Fed(v, t), "src_format": s, "dst_format": d}
                                      for s, d in [("NHWC", "NCHW"), ("NCHW", "NHWC")]
                                      for v in ([1, 2, 3, 4], [5, 6], [[1, 2], [3, 4]], [[1, 2], [3, 4], [5, 6], [7, 8]], [1, 2, 3])],
                                    types=[I32, I64]))
row("DataFormatVecPermute DataFormatDimMap", WORDS, plain(*[{"x": Fed([1, 2, 3, 0], I32), "src_format": a, "dst_format": b} for a, b in [
    ("NHW", "NCH"), ("", ""), ("NHWCXY", "NCHWXY"), ("NHWC", "NHWD"), ("NHWC", "NHHC"), ("NHWC", "NCHWD")]]))
row("HistogramFixedWidth", WORDS, plain({"values": Fed([0.5, np.nan], F32), "value_range": np.array([0, 1], np.float32), "nbins": 3}))
