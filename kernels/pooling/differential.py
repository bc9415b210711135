"""Pools of images and volumes, and their gradients."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

for op in ("FractionalMaxPool", "FractionalAvgPool"):
    row(op, 8, each(*[lambda t, p=p, o=o, s=s: {"value": V((2, 11, 9, 3), t), "pooling_ratio": [1.0, 1.5, 1.7, 1.0], "pseudo_random": p, "overlapping": o,
                                              "deterministic": True, "seed": s, "seed2": 4} for p in (True, False) for o in (True, False) for s in (1, 2)],
                   lambda t: {"value": V((2, 11, 9), t), "pooling_ratio": [1.0, 1.5, 1.7, 1.0]}))
row("FractionalMaxPool FractionalAvgPool", 0, plain(*[
    {"value": V(s, F32), "pooling_ratio": r, "deterministic": True, "seed": 3, "seed2": 4} for s, r in [
        ((0, 4, 4, 1), [1., 2., 2., 1.]), ((1, 4, 4, 0), [1., 2., 2., 1.]), ((1, 0, 4, 1), [1., 2., 2., 1.]), ((1, 4, 4, 1), [1., 5., 2., 1.]),
        ((1, 4, 4, 1), [1., 0.5, 2., 1.]), ((1, 4, 4, 2), [1., 2., 2., 2.]), ((2, 4, 4, 2), [2., 2., 2., 1.]), ((1, 4, 4, 1), [1., 2., 2.])]]))
row("FractionalAvgPoolGrad", 256, each(*[
    lambda t, o=o, r=r: {"orig_input_tensor_shape": Fed([2, 5, 4, 3], I64), "out_backprop": V((2, 3, 2, 3), t), "row_pooling_sequence": Fed(r, I64),
                         "col_pooling_sequence": Fed([0, 1, 4], I64), "overlapping": o} for o in (True, False) for r in ([0, 2, 3, 5], [0, 2])]))
row("FractionalAvgPoolGrad", 8, plain(*[
    {"orig_input_tensor_shape": Fed([1, 4, 4, 1], I64), "out_backprop": V((1, 2, 2, 1), F32), "row_pooling_sequence": Fed(r, I64),
     "col_pooling_sequence": Fed(c, I64), "overlapping": o} for o in (True, False) for r, c in [
        ([0, 2, 4], [0, 2, 4]), ([0, 2, 9], [0, 2, 4]), ([0, 7, 9], [0, 2, 4]), ([0, 3, 2], [0, 2, 4]), ([0, 2, 4], [0, 4, 4]),
        ([0, 2], [0, 2, 4]), ([0, 2, 4, 4], [0, 2, 4]), ([-1, 2, 4], [0, 2, 4])]]))
row("FractionalMaxPoolGrad", 8, each(*[
    lambda t, o=o: {"orig_input": Fed(np.arange(40).reshape(1, 5, 4, 2), t), "orig_output": Fed([[[[14, 15]]]] if o else [[[[2, 3]]]], t),
                    "out_backprop": V((1, 1, 1, 2), t), "row_pooling_sequence": Fed([0, 1], I64), "col_pooling_sequence": Fed([0, 2], I64), "overlapping": o} for o in (True, False)]))
# Sequences without a region, and ones that are no vectors.
row("FractionalAvgPoolGrad", WORDS, plain(*[
    {"orig_input_tensor_shape": Fed([1, 4, 4, 2], I64), "out_backprop": V((1, len(r) - 1, len(c) - 1, 2), F32), "row_pooling_sequence": Fed(r, I64),
     "col_pooling_sequence": Fed(c, I64)} for r, c in (([0], [0]), ([0], [0, 1]), ([0, 1], [0]))]))
row("FractionalMaxPoolGrad", WORDS, plain(*[
    {"orig_input": V((1, 4, 4, 2), F32), "orig_output": V((1, *size, 2), F32), "out_backprop": V((1, *size, 2), F32), "row_pooling_sequence": Fed(np.array(r), I64),
     "col_pooling_sequence": Fed(np.array(c), I64)} for size, r, c in (((0, 0), [0], [0]), ((0, 1), [0], [0, 1]), ((1, 1), [[0, 1]], [0, 1]), ((1, 1), [0, 1], [[0, 1]]))]))
known("FractionalMaxPoolGrad", "must not be negative", "TensorFlow reads before its input")
row("FractionalMaxPoolGrad", 8, plain(*[
    {"orig_input": Fed(np.arange(16.).reshape(1, 4, 4, 1), F32), "orig_output": Fed(np.array([5., 7, 13, 15]).reshape(1, 2, 2, 1), F32),
     "out_backprop": V((1, 2, 2, 1), F32), "row_pooling_sequence": Fed(r, I64), "col_pooling_sequence": Fed([0, 2, 4], I64)}
    for r in [[0, 2, 4], [0, 2, 9], [0, 3, 2], [-1, 2, 4], [0, 2]]]))
IMAGE = (2, 6, 7, 3)
WINDOWS = [dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding=p) for p in ("SAME", "VALID")] + [
    dict(ksize=[1, 3, 3, 1], strides=[1, 1, 2, 1], padding="SAME"), dict(ksize=[1, 9, 9, 1], strides=[1, 1, 1, 1], padding="VALID")]
row("MaxPool", 0, each(*[lambda t, w=w: {"input": V(IMAGE, t), **w} for w in WINDOWS]))
row("MaxPool", 0, plain({"input": V((2, 4, 4, 2), F32), "ksize": [2, 1, 1, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}))
# Windows that a stride would bring back fit nowhere; those beyond it have no size.
BEYOND = [{"strides": [1, s, s, 1], "padding": "VALID"} for s in (1, 2, 3)]
row("MaxPool", 0, plain(*[{"input": V((1, 6, 6, 2), F32), "ksize": [1, 9, 3, 1], **b} for b in BEYOND]))
known("MaxPool", "static shape", "TensorFlow's shape function divides channels by a stride that its kernel ignores")
POOL = {"ksize": [1, 2, 2, 1], "padding": "VALID"}
row("MaxPool", 8, plain(*[{"input": V((1, 4, 4, 4), F32), **POOL, "strides": s} for s in [[1, 2, 2, 2], [1, 1, 1, 4]]]))
# Over depth: whole windows of one pixel.
DEPTHS = [([1, 1, 1, 2], [1, 1, 1, 2]), ([1, 1, 1, 4], [1, 1, 1, 4]), ([1, 1, 1, 3], [1, 1, 1, 3]), ([1, 1, 1, 2], [1, 1, 1, 1]), ([1, 2, 2, 2], [1, 1, 1, 2]),
          ([1, 2, 2, 1], [1, 1, 1, 2]), ([2, 1, 1, 1], [1, 1, 1, 1]), ([1, 1, 1, 1], [2, 1, 1, 1])]
row("MaxPool MaxPoolWithArgmax", WORDS, plain(*[{"input": V((2, 3, 3, 4), F32), "ksize": k, "strides": s, "padding": p} for k, s in DEPTHS for p in ("SAME", "VALID")]))
known("MaxPoolWithArgmax", "static shape", "TensorFlow's shape function divides channels by a stride that its kernel ignores")
row("MaxPool", WORDS, plain({"input": V((2, 3, 3, 4), F32), "ksize": [1, 1, 1, 2], "strides": [1, 2, 2, 2], "padding": "SAME"},
                            {"input": V((2, 3, 3, 4), F32), "ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "EXPLICIT", "explicit_paddings": [0] * 8}))
row("AvgPool", WORDS, plain(*[{"value": V((2, 3, 3, 4), F32), "ksize": k, "strides": s, "padding": "VALID"} for k, s in DEPTHS]))
row("MaxPoolGrad", WORDS, plain(*[{"orig_input": V((1, 2, 2, 4), F32), "orig_output": V((1, 2, 2, 4), F32), "grad": V((1, 2, 2, 4), F32), "ksize": k, "strides": s, "padding": "VALID"}
                                  for k, s in DEPTHS]))
row("AvgPoolGrad", WORDS, plain({"orig_input_shape": Fed([1, 2, 2], I32), "grad": V((1, 1, 1, 1), F32), **POOL, "strides": [1, 2, 2, 1]},
                                {"orig_input_shape": Fed([1, 2, 2, 1], I32), "grad": V((1, 1, 1), F32), **POOL, "strides": [1, 2, 2, 1]}))
# Explicit padding is smaller than the window.
row("MaxPool", WORDS, plain(*[{"input": V((2, 5, 6, 2), F32), "ksize": [1, 2, 3, 1], "strides": [1, 2, 2, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, *e, 0, 0]}
                              for e in [[1, 1, 2, 2], [2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 3], [1 << 31, 0, 0, 0]]]))
row("MaxPoolGrad", WORDS, plain({"orig_input": V((2, 5, 6, 2), F32), "orig_output": V((2, 3, 4, 2), F32), "grad": V((2, 3, 4, 2), F32), "ksize": [1, 2, 2, 1],
                                 "strides": [1, 2, 2, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 0, 1, 1, 0, 0]}))
row("AvgPool", 64, each(*[lambda t, w=w: {"value": V(IMAGE, t), **w} for w in WINDOWS]))
row("AvgPool", 0, plain(*[{"value": V((1, 6, 6, 2), F32), "ksize": [1, 9, 3, 1], **b} for b in BEYOND]))
row("AvgPool", 8, plain(*[{"value": V((1, 4, 4, 4), F32), **POOL, "strides": s} for s in [[1, 2, 2, 2], [1, 1, 1, 4]]]))
row("AvgPoolGrad", 64, each(*[lambda t, w=w, g=g: {"orig_input_shape": ids(*IMAGE), "grad": V(g, t), **w}
                              for w, g in zip(WINDOWS, [(2, 3, 4, 3), (2, 3, 3, 3), (2, 6, 4, 3), (2, 1, 1, 3)])]))
row("AvgPoolGrad", 8, plain(*[
    {"orig_input_shape": Fed([1, 4, 4, 2], I32), "grad": V(s, F32), "ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    for s in [(1, 2, 2, 2), (1, 2, 2, 1), (1, 2, 2, 3), (2, 2, 2, 2), (1, 1, 2, 2)]]))
known("AvgPoolGrad", "Expected grad shape", "TensorFlow writes beyond its output for some shapes, which ends its process")
row("MaxPoolGrad", 64, each(*[lambda t, w=w, g=g: {"orig_input": V(IMAGE, t), "orig_output": V(g, t), "grad": V(g, t), **w}
                              for w, g in zip(WINDOWS, [(2, 3, 4, 3), (2, 3, 3, 3), (2, 6, 4, 3), (2, 1, 1, 3)])]))
CONVOLVED = dict(strides=[1, 1, 1, 1], padding="SAME")
row("MaxPool", WORDS, plain({"input": V((4, 4, 1), F64), "ksize": [1, 2, 2, 1], **CONVOLVED}))
row("MaxPoolGrad", WORDS, plain(*[
    {"orig_input": V(i, F32), "orig_output": V(o, F32), "grad": V(g, F32), "ksize": [1, 2, 2, 1], **CONVOLVED} for i, o, g in [
        ((1, 4, 4, 1), (4, 4, 1), (1, 4, 4, 1)), ((1, 4, 4, 1), (1, 4, 4, 1), (4, 4, 1)), ((1, 4, 4, 1), (1, 4, 3, 1), (1, 4, 4, 1))]]))
row("MaxPoolV2", 0, each(*[lambda t, p=p, k=k, s=s: {"input": V(IMAGE, t), "ksize": ids(*k), "strides": ids(*s), "padding": p}
                           for p in ("SAME", "VALID") for k, s in [([1, 2, 2, 1], [1, 2, 1, 1]), ([1, 3, 2, 1], [1, 1, 1, 1]), ([1, 2], [1, 1])]]))
row("MaxPoolV2", 0, plain(*[{"input": V((1, 4, 4, 4), F32), "ksize": Fed(k, I32), "strides": Fed(s, I32), "padding": "VALID"} for k, s in [
    ([1, 2, 2, 1], [1, 2, 2, 2]), ([1, 2, 2, 1], [1, 1, 1, 4]), ([1, 1, 1, 2], [1, 1, 1, 2]), ([1, 1, 1, 2], [1, 1, 1, 1])]]))
row("MaxPoolGradV2", 64, each(*[lambda t, p=p, g=g: {"orig_input": V(IMAGE, t), "orig_output": V(g, t), "grad": V(g, t),
                                                     "ksize": ids(1, 2, 2, 1), "strides": ids(1, 2, 2, 1), "padding": p}
                                for p, g in [("SAME", (2, 3, 4, 3)), ("VALID", (2, 3, 3, 3)), ("VALID", (2, 3, 4, 3))]]))
VOLUME = (2, 3, 4, 5, 2)
POOLS = [dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 1, 2, 1], padding=p) for p in ("SAME", "VALID")] + [
    dict(ksize=[1, 3, 1, 2, 1], strides=[1, 1, 2, 3, 1], padding="SAME"), dict(ksize=[1, 9, 1, 1, 1], strides=[1, 1, 1, 1, 1], padding="VALID")]
row("MaxPool3D AvgPool3D", 64, each(*[lambda t, w=w: {"input": V(VOLUME, t), **w} for w in POOLS], lambda t: {"input": V((2, 3), t), **POOLS[0]}))
PLANES = [dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding=p) for p in ("SAME", "VALID")] + [
    dict(ksize=[1, 3, 3, 1], strides=[1, 1, 2, 1], padding="SAME")]
row("MaxPoolWithArgmax", 0, each(*[lambda t, w=w, b=b: {"input": V(IMAGE, t), "include_batch_in_index": b, **w} for w in PLANES for b in (False, True)],
                                 types=[F32, F64, I32]))


def max_pool_grad_grad(t):
    x, gradient = fed(V(IMAGE, t)), fed(V(IMAGE, t))
    steps = []
    for w in PLANES:
        y = raw.MaxPool(input=x, **w)
        steps.append([raw.MaxPoolGradGrad(orig_input=x, orig_output=y, grad=gradient, **w)])
    return steps


program("MaxPoolGradGrad", 0, max_pool_grad_grad, [F32])


def max_pool_3d_grad(t):
    x = fed(V(VOLUME, t))
    steps = []
    for w in POOLS[:3]:
        y = raw.MaxPool3D(input=x, **w)
        steps.append([raw.MaxPool3DGrad(orig_input=x, orig_output=y, grad=y, **w)])
        z = raw.AvgPool3D(input=x, **w)
        steps.append([raw.AvgPool3DGrad(orig_input_shape=ints(*VOLUME), grad=z, **w)])
    return steps


program("MaxPool3DGrad AvgPool3DGrad", 64, max_pool_3d_grad, [F32])


def argmax_grad(t):
    x = fed(V(IMAGE, t))
    y = raw.MaxPoolWithArgmax(input=x, **PLANES[0])
    return [[raw.MaxPoolGradWithArgmax(input=x, grad=y.output, argmax=y.argmax, **PLANES[0])]]


program("MaxPoolGradWithArgmax", 0, argmax_grad, [F32, F64])
row("Dilation2D", 0, each(*[lambda t, p=p, r=r: {"input": V(IMAGE, t), "filter": V((2, 3, 3), t), "strides": [1, 2, 1, 1], "rates": [1, r, 1, 1], "padding": p}
                            for p in ("SAME", "VALID") for r in (1, 2)], types=[F32, F64, I32]))
row("Dilation2DBackpropInput Dilation2DBackpropFilter", 64, each(
    lambda t: {"input": V(IMAGE, t), "filter": V((2, 3, 3), t), "out_backprop": V((2, 3, 7, 3), t), "strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1],
               "padding": "SAME"}, types=[F32, F64]))


def other_grad_grads(t):
    x, gradient = fed(V(IMAGE, t)), fed(V(IMAGE, t))
    volume, volume_gradient = fed(V(VOLUME, t)), fed(V(VOLUME, t))
    steps = []
    for w in PLANES:
        y = raw.MaxPool(input=x, **w)
        fed_window = {"ksize": ints(*w["ksize"]), "strides": ints(*w["strides"]), "padding": w["padding"]}
        steps.append(raw.MaxPoolGradGradV2(orig_input=x, orig_output=y, grad=gradient, **fed_window))
    for w in POOLS[:3]:
        y = raw.MaxPool3D(input=volume, **w)
        steps.append(raw.MaxPool3DGradGrad(orig_input=volume, orig_output=y, grad=volume_gradient, **w))
    return steps


program("MaxPoolGradGradV2 MaxPool3DGradGrad", 0, other_grad_grads, [F32])
