"""What ops refuse, and what they take although it looks wrong."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("UnravelIndex", 0, each(*[lambda t, i=i, d=d: {"indices": Fed(i, t), "dims": Fed(d, t)}
                              for i, d in [(-1, [7, 6]), ([-1, -7], [7, 6]), (1, [1 << 28, 1 << 28]), (42, [7, 6])]]))
row("Reshape", 0, plain(*[{"tensor": V((1,), F32), "shape": Fed([1] * n, I64)} for n in (8, 254, 255)]))
row("GatherNd", 0, plain({"params": V((3, 2), F32), "indices": Fed([[[0], [3]]], I32)},
                         {"params": V((0,), F32), "indices": Fed([[0]], I32)}))
row("ScatterNd", 0, plain(*[{"indices": Fed(i, I32), "updates": V(u, F32), "shape": Fed(s, I32)} for i, u, s in [
    ([[[0], [3]]], (1, 2, 2), [3, 2]), ([[0]], (2, 2), [3, 2]), ([[0]], (1, 3), [3, 2]), ([[0]], (), [3]),
    ([[0, 0, 0]], (1,), [3, 2])]]))
row("ReverseSequence", 0, plain(*[{"input": V((2, 3), F32), "seq_lengths": Fed([1, 2], I32), "seq_dim": s, "batch_dim": b}
                                  for s, b in [(0, 0), (1, 3), (7, 0), (1, 0)]]))
CONVOLVED = dict(strides=[1, 1, 1, 1], padding="SAME")
row("Conv2D", 512, plain(*[{"input": V((1, 4, 4, 2), F32), "filter": V((2, 2, 2, 2), F32), **CONVOLVED, "strides": s}
                           for s in ([2, 1, 1, 1], [1, 1, 1, 2])]))
row("Conv2DBackpropInput", 512, plain(*[
    {"input_sizes": Fed(s, I32), "filter": V((2, 2, 2, 3), F32), "out_backprop": V(g, F32), **CONVOLVED}
    for s, g in [([1, 4, 4, 2], (1, 3, 4, 3)), ([1, 4, 4, 2], (2, 4, 4, 3)), ([1, 4, 4], (1, 4, 4, 3)),
                 ([1, 4, 4, 2], (1, 4, 4, 2))]]))
row("MaxPool", 0, plain({"input": V((2, 4, 4, 2), F32), "ksize": [2, 1, 1, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}))
# The index of a label says where it stands in its row, which may be beyond the time.
row("CTCLoss", 256, plain(*[
    {"inputs": V((2, 1, 4), F32), "labels_indices": Fed([[0, 0], [0, 5]], I64), "labels_values": Fed(v, I32),
     "sequence_length": Fed([n], I32), "ignore_longer_outputs_than_inputs": ignore}
    for v, n, ignore in [([0, 1], 0, False), ([0, 1], 2, False), ([1, 1], 2, False), ([1, 1], 2, True), ([0, 1], 3, False)]]))

# Gradients of functions want two inputs with as many elements; their shapes need not be one.
row("SigmoidGrad TanhGrad SqrtGrad RsqrtGrad InvGrad ReciprocalGrad", 64, each(*[
    lambda t, y=y, dy=dy: {"y": V(y, t, (0.1, 1)), "dy": V(dy, t)} for y, dy in [
        ((6,), (2, 3)), ((2, 3), (6,)), ((), (1,)), ((1, 1), ()), ((), (2, 3)), ((2, 3), ()), ((2,), (2, 3)), ((0,), (3, 0))]]))
row("ResizeBilinearGrad ResizeBicubicGrad", 64, plain(*[
    {"grads": V((2, 4, 4, 3), F32), "original_image": V(s, F32)} for s in [(1, 2, 2, 3), (3, 2, 2, 3), (2, 2, 2, 1), (2, 2, 2, 4), (0, 2, 2, 0)]]))
row("IsotonicRegression", 0, plain({"input": Fed(3.5, F32), "output_dtype": F32}, {"input": Fed([[]], F32), "output_dtype": F32}))
NAN, INF = np.nan, np.inf
RANGES = [(NAN, 1), (-1, NAN), (NAN, NAN), (-INF, INF), (-1, INF), (INF, INF), (2, 1), (1, 1), (-1, -1)]
row("FakeQuantWithMinMaxVars", 0, plain(*[{"inputs": Fed([-9, -1, 0, 0.3, 9, NAN, INF], F32), "min": Fed(a, F32), "max": Fed(b, F32)}
                                          for a, b in RANGES]))
row("FakeQuantWithMinMaxVarsPerChannel", 0, plain(*[{"inputs": Fed([[-9], [0.3], [9], [NAN]], F32), "min": Fed([a], F32), "max": Fed([b], F32)}
                                                    for a, b in RANGES]))
row("FakeQuantWithMinMaxVarsGradient", 0, plain(*[
    {"gradients": V((5,), F32), "inputs": Fed([-9, -1, 0.3, 9, NAN], F32), "min": Fed(a, F32), "max": Fed(b, F32)} for a, b in RANGES]))
row("FakeQuantWithMinMaxVarsPerChannelGradient", 0, plain(*[
    {"gradients": V((4, 1), F32), "inputs": Fed([[-9], [0.3], [9], [NAN]], F32), "min": Fed([a], F32), "max": Fed([b], F32)} for a, b in RANGES]))
row("AvgPoolGrad", 8, plain(*[
    {"orig_input_shape": Fed([1, 4, 4, 2], I32), "grad": V(s, F32), "ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    for s in [(1, 2, 2, 2), (1, 2, 2, 1), (1, 2, 2, 3), (2, 2, 2, 2), (1, 1, 2, 2)]]))
row("Bincount", 0, plain(*[{"arr": Fed(a, I32), "size": Fed(4, I32), "weights": V(w, F32)} for a, w in [
    ([[0, 1], [2, 3]], (4,)), ([0, 1, 2, 3], (2, 2)), ([0, 1, 2, 3], (3,)), ([0, 1], (1,)), (1, (1,)), ([], (0,)), ([[1, 5]], (0, 7))]]))
# Windows that a stride would bring back fit nowhere; those beyond it have no size.
BEYOND = [{"strides": [1, s, s, 1], "padding": "VALID"} for s in (1, 2, 3)]
row("MaxPool", 0, plain(*[{"input": V((1, 6, 6, 2), F32), "ksize": [1, 9, 3, 1], **b} for b in BEYOND]))
row("AvgPool", 0, plain(*[{"value": V((1, 6, 6, 2), F32), "ksize": [1, 9, 3, 1], **b} for b in BEYOND]))
row("Conv2D", 512, plain(*[{"input": V((1, 6, 6, 2), F32), "filter": V((9, 3, 2, 2), F32), **b} for b in BEYOND]))
row("ExtractImagePatches", 0, plain(*[{"images": V((1, 6, 6, 2), F32), "ksizes": [1, 9, 3, 1], "rates": [1, 1, 1, 1], **b} for b in BEYOND]))
known("AvgPoolGrad", "Expected grad shape", "TensorFlow writes beyond its output for some shapes, which ends its process")
known("FractionalMaxPoolGrad", "must not be negative", "TensorFlow reads before its input")
known("MaxPool", "static shape", "TensorFlow's shape function divides channels by a stride that its kernel ignores")
POOL = {"ksize": [1, 2, 2, 1], "padding": "VALID"}
row("MaxPool", 8, plain(*[{"input": V((1, 4, 4, 4), F32), **POOL, "strides": s} for s in [[1, 2, 2, 2], [1, 1, 1, 4]]]))
row("AvgPool", 8, plain(*[{"value": V((1, 4, 4, 4), F32), **POOL, "strides": s} for s in [[1, 2, 2, 2], [1, 1, 1, 4]]]))
row("MaxPoolV2", 0, plain(*[{"input": V((1, 4, 4, 4), F32), "ksize": Fed(k, I32), "strides": Fed(s, I32), "padding": "VALID"} for k, s in [
    ([1, 2, 2, 1], [1, 2, 2, 2]), ([1, 2, 2, 1], [1, 1, 1, 4]), ([1, 1, 1, 2], [1, 1, 1, 2]), ([1, 1, 1, 2], [1, 1, 1, 1])]]))
row("FractionalAvgPoolGrad", 8, plain(*[
    {"orig_input_tensor_shape": Fed([1, 4, 4, 1], I64), "out_backprop": V((1, 2, 2, 1), F32), "row_pooling_sequence": Fed(r, I64),
     "col_pooling_sequence": Fed(c, I64), "overlapping": o} for o in (True, False) for r, c in [
        ([0, 2, 4], [0, 2, 4]), ([0, 2, 9], [0, 2, 4]), ([0, 7, 9], [0, 2, 4]), ([0, 3, 2], [0, 2, 4]), ([0, 2, 4], [0, 4, 4]),
        ([0, 2], [0, 2, 4]), ([0, 2, 4, 4], [0, 2, 4]), ([-1, 2, 4], [0, 2, 4])]]))
row("FractionalMaxPoolGrad", 8, plain(*[
    {"orig_input": Fed(np.arange(16.).reshape(1, 4, 4, 1), F32), "orig_output": Fed(np.array([5., 7, 13, 15]).reshape(1, 2, 2, 1), F32),
     "out_backprop": V((1, 2, 2, 1), F32), "row_pooling_sequence": Fed(r, I64), "col_pooling_sequence": Fed([0, 2, 4], I64)}
    for r in [[0, 2, 4], [0, 2, 9], [0, 3, 2], [-1, 2, 4], [0, 2]]]))
row("FractionalMaxPool FractionalAvgPool", 0, plain(*[
    {"value": V(s, F32), "pooling_ratio": r, "deterministic": True, "seed": 3, "seed2": 4} for s, r in [
        ((0, 4, 4, 1), [1., 2., 2., 1.]), ((1, 4, 4, 0), [1., 2., 2., 1.]), ((1, 0, 4, 1), [1., 2., 2., 1.]), ((1, 4, 4, 1), [1., 5., 2., 1.]),
        ((1, 4, 4, 1), [1., 0.5, 2., 1.]), ((1, 4, 4, 2), [1., 2., 2., 2.]), ((2, 4, 4, 2), [2., 2., 2., 1.]), ((1, 4, 4, 1), [1., 2., 2.])]]))
row("MatrixLogarithm", 1e4, each(*[lambda t, m=m: {"input": Fed(m, t)} for m in (
    [[0, 0], [0, 0]], [[1, 0], [0, 1]], [[0, 1], [0, 0]], [[-1, 0], [0, 2]], [[1, 2], [2, 4]])]))
row("StatelessRandomPoisson", 0, plain(*[
    {"shape": Fed([2], I32), "seed": Fed([1, 2], I64), "lam": Fed(r, F32), "dtype": t} for r in (-1, NAN, INF, 0) for t in (I32, I64, F32, F64, HALF)]))
row("Fingerprint", 0, plain(*[{"data": V(s, t), "method": Fed(b"farmhash64", STRING)} for s in ((2, 0), (0, 3), (2, 3, 0)) for t in (F32, U8)]))
row("DrawBoundingBoxes", 0, each(*[lambda t, b=b: {"images": Fed(np.linspace(0, 1, 300).reshape(1, 10, 10, 3), t), "boxes": Fed([[b]], F32)} for b in (
    [.1, .1, .8, .8], [NAN, .1, .8, .8], [.1, NAN, .8, .8], [.1, .1, NAN, .8], [.1, .1, .8, NAN], [-INF, .1, INF, .8], [.1, -INF, .8, INF], [INF, 0, INF, 1])]))
row("DrawBoundingBoxesV2", 0, each(*[lambda t, b=b: {
    "images": Fed(np.linspace(0, 1, 300).reshape(1, 10, 10, 3), t), "boxes": Fed([[b]], F32), "colors": Fed([[.1, .7, .3]], F32)}
    for b in ([.1, .1, .8, .8], [.3, -3, .9, .5])]))
# What kernel tests ask of shapes and of what is missing.
row("MatrixTriangularSolve BandedTriangularSolve", 64, plain(*[
    {"matrix": V(m, F32), "rhs": V(r, F32)} for m, r in [
        ((3, 3), (2, 1)), ((3, 3), (2,)), ((2,), (2, 1)), ((2, 3), (3, 1)), ((2, 3, 3), (3, 3, 1)), ((0, 3), (3, 1)), ((3, 3), (3, 0))]]))
row("TridiagonalSolve", 64, plain(*[{"diagonals": V(d, F32), "rhs": V(r, F32)} for d, r in [((3, 3), (3,)), ((2, 3, 3), (3, 1)), ((3,), (3,))]]))
row("Lu Cholesky", 64, plain({"input": V((2,), F32)}))
row("MatMul", 64, plain(*[{"a": V(a, F32), "b": V(b, F32)} for a, b in [((2,), (2, 2)), ((2, 2), (2,)), ((1, 2, 2), (2, 2)), ((), ())]]))
row("MatrixDiagPartV3", 0, plain(*[
    {"input": V((3, 4), F32), "k": Fed(k, I32), "padding_value": Fed(p, F32)} for k, p in [([9], 0), ([0, 9], 0), ([-5, 0], 0), ([0, 1], [0, 1])]]))
row("MatrixSetDiagV3", 0, plain(*[
    {"input": V((3, 4), F32), "diagonal": V(d, F32), "k": Fed(k, I32)} for d, k in [((1, 3), [0, 1]), ((2, 4), [0, 1]), ((2,), [0, 1]), ((), [0]), ((3,), [7])]]))
# Not "i...->": TensorFlow refuses an ellipsis that the output lacks, Weir sums over it, as its gradient of Einsum wants.
row("Einsum", 64, plain(*[{"inputs": [V(s, F32) for s in shapes], "equation": e} for e, *shapes in [
    ("i1->i", (2, 3)), ("...ij->i", (2,)), ("ij,jkl->ik", (2, 3), (3, 4)), ("ii->i", (2, 3)),
    ("...ij,...jk->...ik", (2, 2, 2), (3, 2, 2)), ("i...->i...", (2, 3))]]))
row("CTCLoss", 256, plain(*[
    {"inputs": V((5, 2, 4), F32), "labels_indices": Fed(np.array(i).reshape(-1, 2), I64), "labels_values": Fed(v, I32), "sequence_length": Fed(n, I32)}
    for i, v, n in [([[0, 0]], [1], [5, 4]), ([[1, 0]], [1], [5, 4]), ([], [], [5, 4]), ([[0, 0]], [1], [5, 0])]]))
row("EditDistance", 0, plain({
    "hypothesis_indices": Fed([[0, 0]], I64), "hypothesis_values": Fed([1], I32), "hypothesis_shape": Fed([1, 1], I64),
    "truth_indices": Fed([[5, 0]], I64), "truth_values": Fed([1], I32), "truth_shape": Fed([1, 1], I64)}))
row("FakeQuantWithMinMaxArgsGradient", 0, plain({"gradients": V((1,), F32), "inputs": V((2, 3), F32)}))
