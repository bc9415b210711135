"""The CTC loss and its decoders."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

LABELS = {"labels_indices": Fed([[0, 0], [0, 1], [1, 0]], I64), "labels_values": ids(0, 1, 1)}
row("CTCLoss", 256, each(*[
    lambda t, l=l, c=c, m=m: {"inputs": V((5, 2, 4), t, (-1, 1)), **LABELS, "labels_values": Fed(l, I32), "sequence_length": ids(5, 4),
                              "preprocess_collapse_repeated": c, "ctc_merge_repeated": m}
    for l in ([1, 2, 1], [1, 1, 2], [1, 9, 0], [3, 1, 1], [-1, 1, 1]) for c in (False, True) for m in (False, True)], types=[F32]))
# The index of a label says where it stands in its row, which may be beyond the time.
row("CTCLoss", 256, plain(*[
    {"inputs": V((2, 1, 4), F32), "labels_indices": Fed([[0, 0], [0, 5]], I64), "labels_values": Fed(v, I32),
     "sequence_length": Fed([n], I32), "ignore_longer_outputs_than_inputs": ignore}
    for v, n, ignore in [([0, 1], 0, False), ([0, 1], 2, False), ([1, 1], 2, False), ([1, 1], 2, True), ([0, 1], 3, False)]]))
row("CTCLoss", 256, plain(*[
    {"inputs": V((5, 2, 4), F32), "labels_indices": Fed(np.array(i).reshape(-1, 2), I64), "labels_values": Fed(v, I32), "sequence_length": Fed(n, I32)}
    for i, v, n in [([[0, 0]], [1], [5, 4]), ([[1, 0]], [1], [5, 4]), ([], [], [5, 4]), ([[0, 0]], [1], [5, 0])]]))
row("CTCLoss", WORDS, plain({"inputs": V((5, 1, 4), F32), "labels_indices": Fed([[0, 1], [0, 0]], I64), "labels_values": Fed([1, 2], I32), "sequence_length": Fed([5], I32)}))
row("CTCGreedyDecoder", 8, each(*[lambda t, m=m, n=n: {"inputs": V((6, 2, 3), t), "sequence_length": Fed(n, I32), "merge_repeated": m}
                                  for m in (False, True) for n in ([6, 3], [7, 3], [6])]))
row("CTCBeamSearchDecoder", 1 << 28, each(*[
    lambda t, m=m, w=w, p=p: {"inputs": V((6, 2, 4), t, (-3, 3)), "sequence_length": ids(6, 3), "beam_width": w, "top_paths": p, "merge_repeated": m}
    for m in (True, False) for w, p in ((1, 1), (5, 2), (40, 3), (2, 3))]))
