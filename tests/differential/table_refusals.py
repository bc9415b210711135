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
    for v, n, ignore in [([0, 1], 2, False), ([1, 1], 2, False), ([1, 1], 2, True), ([0, 1], 3, False)]]))
