"""Activations, losses, pooling, convolutions, normalisation."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("Relu Relu6", 0, unary(arg="features"), special(arg="features"))
row("Selu Elu", 64, unary(arg="features"), special(arg="features"))
row("Softplus Softsign LeakyRelu", 8, unary(arg="features"), special(arg="features"))
row("ReluGrad Relu6Grad SoftplusGrad SoftsignGrad LeakyReluGrad", 8,
    binary(args=("gradients", "features"), pairs=[((7,), (7,)), ((0,), (0,)), ((3,), (4,))]))
row("EluGrad SeluGrad", 8, binary(args=("gradients", "outputs"), pairs=SAME))
row("TanhGrad SigmoidGrad", 64, binary(None, (0.1, 1), args=("y", "dy"), pairs=SAME))
row("SqrtGrad RsqrtGrad ReciprocalGrad InvGrad", 8, binary(None, (0.1, 2), args=("y", "dy"), pairs=SAME))
row("Softmax LogSoftmax", 64, unary(shapes=[(5,), (3, 4), (0, 4), (2, 3, 4), (3, 0), ()], arg="logits"))
row("SoftmaxCrossEntropyWithLogits", 64, each(*[
    lambda t, a=a, b=b: {"features": V(a, t), "labels": V(b, t, (0, 1))}
    for a, b in [((3, 4), (3, 4)), ((0, 4), (0, 4)), ((3, 4), (1, 4)), ((3, 4), (2, 4))]]))
row("SparseSoftmaxCrossEntropyWithLogits", 64, each(*[
    lambda t, l=l: {"features": V((3, 4), t), "labels": Fed(l, I32)} for l in ([0, 1, 3], [0, 1, 4], [0, 1])]))
row("BiasAdd", 0, each(lambda t: {"value": V((2, 3, 4), t), "bias": V((4,), t)},
                       lambda t: {"value": V((2, 3, 4), t), "bias": V((3,), t)},
                       lambda t: {"value": V((2, 3, 4, 5), t), "bias": V((3,), t), "data_format": "NCHW"}))
row("BiasAddGrad", 64, unary(shapes=[(3, 4), (2, 3, 4, 5), (0, 4)], arg="out_backprop"))
row("TopKV2", 0, each(*[lambda t, s=s, k=k: {"input": V(s, t), "k": k} for s, k in [((9,), 3), ((3, 8), 8), ((3, 8), 0), ((3, 2), 5)]]))
row("InTopKV2", 0, plain({"predictions": V((4, 6), F32), "targets": ids(0, 2, 5, 7), "k": 2}))
row("NthElement", 0, each(lambda t: {"input": V((3, 7), t), "n": 3}, lambda t: {"input": V((3, 7), t), "n": 7}))
IMAGE = (2, 6, 7, 3)
WINDOWS = [dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding=p) for p in ("SAME", "VALID")] + [
    dict(ksize=[1, 3, 3, 1], strides=[1, 1, 2, 1], padding="SAME"), dict(ksize=[1, 9, 9, 1], strides=[1, 1, 1, 1], padding="VALID")]
row("MaxPool", 0, each(*[lambda t, w=w: {"input": V(IMAGE, t), **w} for w in WINDOWS]))
row("AvgPool", 64, each(*[lambda t, w=w: {"value": V(IMAGE, t), **w} for w in WINDOWS]))
CONVS = [dict(strides=[1, 1, 1, 1], padding="SAME"), dict(strides=[1, 2, 2, 1], padding="VALID"),
         dict(strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 2, 1]), dict(strides=[1, 2, 1, 1], padding="SAME")]
row("Conv2D", 512, each(*[lambda t, c=c, f=f: {"input": V(IMAGE, t), "filter": V(f, t), **c}
                          for c in CONVS for f in [(3, 3, 3, 4), (1, 1, 3, 5), (3, 3, 2, 4)]]))
row("DepthwiseConv2dNative", 512, each(*[
    lambda t, c=c: {"input": V(IMAGE, t), "filter": V((3, 3, 3, 2), t), **c} for c in CONVS[:1] + CONVS[2:3]]))
known("DepthwiseConv2dNative", "does not support dilations", "Weir can")
row("LRN", 64, each(lambda t: {"input": V(IMAGE, t), "depth_radius": 1}))
row("AvgPoolGrad", 64, each(*[lambda t, w=w, g=g: {"orig_input_shape": ids(*IMAGE), "grad": V(g, t), **w}
                              for w, g in zip(WINDOWS, [(2, 3, 4, 3), (2, 3, 3, 3), (2, 6, 4, 3), (2, 1, 1, 3)])]))
row("MaxPoolGrad", 64, each(*[lambda t, w=w, g=g: {"orig_input": V(IMAGE, t), "orig_output": V(g, t), "grad": V(g, t), **w}
                              for w, g in zip(WINDOWS, [(2, 3, 4, 3), (2, 3, 3, 3), (2, 6, 4, 3), (2, 1, 1, 3)])]))
row("MaxPoolV2", 0, each(*[lambda t, p=p, k=k, s=s: {"input": V(IMAGE, t), "ksize": ids(*k), "strides": ids(*s), "padding": p}
                           for p in ("SAME", "VALID") for k, s in [([1, 2, 2, 1], [1, 2, 1, 1]), ([1, 3, 2, 1], [1, 1, 1, 1]), ([1, 2], [1, 1])]]))
row("MaxPoolGradV2", 64, each(*[lambda t, p=p, g=g: {"orig_input": V(IMAGE, t), "orig_output": V(g, t), "grad": V(g, t),
                                                     "ksize": ids(1, 2, 2, 1), "strides": ids(1, 2, 2, 1), "padding": p}
                                for p, g in [("SAME", (2, 3, 4, 3)), ("VALID", (2, 3, 3, 3)), ("VALID", (2, 3, 4, 3))]]))
_OUT = [(2, 6, 7, 4), (2, 2, 3, 4), (2, 6, 7, 4), (2, 3, 7, 4)]
row("Conv2DBackpropFilter", 512, each(*[lambda t, c=c, o=o, f=f: {"input": V(IMAGE, t), "filter_sizes": ids(*f), "out_backprop": V(o, t), **c}
                                        for c, o in zip(CONVS, _OUT) for f in [(3, 3, 3, 4), (3, 3, 3, 5)]]))
row("Conv2DBackpropInput", 512, each(*[lambda t, c=c, o=o, s=s: {"input_sizes": ids(*s), "filter": V((3, 3, 3, 4), t), "out_backprop": V(o, t), **c}
                                       for c, o in zip(CONVS, _OUT) for s in [IMAGE, (2, 6, 7, 5)]]))
row("DepthwiseConv2dNativeBackpropFilter", 512, each(*[
    lambda t, f=f: {"input": V(IMAGE, t), "filter_sizes": ids(*f), "out_backprop": V((2, 6, 7, 6), t), **CONVS[0]} for f in [(3, 3, 3, 2), (3, 3, 2, 2)]]))
row("DepthwiseConv2dNativeBackpropInput", 512, each(*[
    lambda t, s=s: {"input_sizes": ids(*s), "filter": V((3, 3, 3, 2), t), "out_backprop": V((2, 6, 7, 6), t), **CONVS[0]} for s in [IMAGE, (2, 6, 7, 2)]]))
row("BiasAddV1", 0, each(lambda t: {"value": V((2, 3, 4), t), "bias": V((4,), t)}, lambda t: {"value": V((2, 4), t), "bias": V((3,), t)}))
row("InTopK", 0, plain({"predictions": V((4, 6), F32), "targets": ids(0, 2, 5, 7), "k": 2}, {"predictions": V((2, 6), F32), "targets": ids(0, 2, 5), "k": 2}))
# TopK is gone from new graphs.
row("TopKV2", 0, each(*[lambda t, s=s, k=k: {"input": V(s, t), "k": k} for s, k in [((9,), 3), ((3, 8), 8), ((3, 8), 0), ((3, 2), 5)]]))
row("LRNGrad", 64, each(lambda t: {"input_grads": V(IMAGE, t), "input_image": V(IMAGE, t), "output_image": V(IMAGE, t), "depth_radius": 1},
                        lambda t: {"input_grads": V(IMAGE, t), "input_image": V(IMAGE, t), "output_image": V((2, 6, 7, 2), t)}))


def norm(second=None, channels=3, **attrs):
    """Inputs of a batch normalisation; `second`: the type of all but x."""
    return lambda t: {"x": V(IMAGE, t), "scale": V((channels,), second or t), "offset": V((3,), second or t),
                      "mean": V((0 if attrs.get("is_training", True) else 3,), second or t),
                      "variance": V((0 if attrs.get("is_training", True) else 3,), second or t, (0.5, 2)), **attrs}


def norm_grad(version, second=None, training=True):
    def case(t):
        u = second or t
        return {"y_backprop": V(IMAGE, t), "x": V(IMAGE, t), "scale": V((3,), u), "reserve_space_1": V((3,), u),
                "reserve_space_2": V((3,), u, (0.5, 2)), "is_training": training,
                **({"reserve_space_3": V((3,), u)} if version == 3 else {})}

    return case


# Reserved outputs have the shapes of TensorFlow with oneDNN, its default, and are not set when it does not train.
outputs_of("FusedBatchNorm", (0, 1, 2), 512, each(norm(), norm(is_training=False)))
outputs_of("FusedBatchNormV2 FusedBatchNormV3", (0, 1, 2), 512, each(norm(F32), norm(F32, is_training=False)))
row("FusedBatchNorm", 512, each(norm(channels=2)))
row("FusedBatchNormV2 FusedBatchNormV3", 512, each(norm(F32, channels=2)))
outputs_of("FusedBatchNormGrad", (0, 1, 2), 512, each(norm_grad(1), norm_grad(1, training=False)))
outputs_of("FusedBatchNormGradV2", (0, 1, 2), 512, each(norm_grad(2, F32), norm_grad(2, F32, False)))
outputs_of("FusedBatchNormGradV3", (0, 1, 2), 512, each(norm_grad(3, F32), norm_grad(3, F32, False)))

known("Conv2DBackpropFilter", "do not yet support dilation rates", "Weir can")
known("Conv2DBackpropInput", "do not yet support dilation rates", "Weir can")
