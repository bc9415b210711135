"""The largest elements, and where the targets rank among them."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("TopKV2", 0, each(*[lambda t, s=s, k=k: {"input": V(s, t), "k": k} for s, k in [((9,), 3), ((3, 8), 8), ((3, 8), 0), ((3, 2), 5)]]))
# TopK is gone from new graphs. NaN counts as the largest number, as on TensorFlow's GPUs. On its CPUs the place of NaN and of the numbers beside it depends on
# the type, on k and on the heap of the C++ library: of (1, 2, NaN, 3, NaN, 2) the largest is 3 as doubles and 2 as floats.
row("TopKV2", 0, each(*[lambda t, s=s, k=k: {"input": V(s, t), "k": k} for s, k in [((9,), 3), ((3, 8), 8), ((3, 8), 0), ((3, 2), 5)]]))
row("InTopKV2", 0, plain({"predictions": V((4, 6), F32), "targets": ids(0, 2, 5, 7), "k": 2}))
row("NthElement", 0, each(lambda t: {"input": V((3, 7), t), "n": 3}, lambda t: {"input": V((3, 7), t), "n": 7}))
row("InTopK", 0, plain({"predictions": V((4, 6), F32), "targets": ids(0, 2, 5, 7), "k": 2}, {"predictions": V((2, 6), F32), "targets": ids(0, 2, 5), "k": 2}))
# All different, so that the order is no matter of chance.
row("ApproxTopK", 0, each(*[
    lambda t, k=k, d=d, m=m: {"input": Shaped(Fed(np.random.RandomState(k).permutation(60).reshape(3, 20) - 30, t)), "k": k, "reduction_dimension": d, "is_max_k": m}
    for k, d in ((1, -1), (3, 1), (3, 0), (20, -1), (21, -1), (2, 2)) for m in (True, False)]))
row("ApproxTopK", 0, plain(*[{"input": Shaped(V(s, F32)), "k": k, "recall_target": r, "reduction_input_size_override": o, "aggregate_to_topk": False}
                             for s, k, r, o in [((2000,), 3, 0.95, -1), ((20000,), 3, 0.5, -1), ((3000,), 5, 0.5, 100000), ((2, 3000), 5, 0.9, -1), ((1500,), 1, 0.5, -1)]]))
elsewhere("ApproxTopK", "TensorFlow has no CPU kernel for it: kernels/ranking's tests have it")
