"""Softmax and cross-entropy."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("Softmax LogSoftmax", 64, unary(shapes=[(5,), (3, 4), (0, 4), (2, 3, 4), (3, 0), ()], arg="logits"))
row("SoftmaxCrossEntropyWithLogits", 64, each(*[
    lambda t, a=a, b=b: {"features": V(a, t), "labels": V(b, t, (0, 1))}
    for a, b in [((3, 4), (3, 4)), ((0, 4), (0, 4)), ((3, 4), (1, 4)), ((3, 4), (2, 4))]]))
row("SparseSoftmaxCrossEntropyWithLogits", 64, each(*[
    lambda t, l=l: {"features": V((3, 4), t), "labels": Fed(l, I32)} for l in ([0, 1, 3], [0, 1, 4], [0, 1])]))
