"""Activations, their gradients, and bias."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("L2Loss", 64, unary(arg="t"))
row("Relu Relu6", 0, unary(arg="features"), special(arg="features"))
row("Selu Elu", 64, unary(arg="features"), special(arg="features"))
row("Softplus Softsign LeakyRelu", 8, unary(arg="features"), special(arg="features"))
row("ReluGrad Relu6Grad SoftplusGrad SoftsignGrad LeakyReluGrad", 8,
    binary(args=("gradients", "features"), pairs=[((7,), (7,)), ((0,), (0,)), ((3,), (4,))]))
row("ReluGrad Relu6Grad SoftplusGrad LeakyReluGrad", 8, special_pairs([F32, F64], args=("gradients", "features")))
row("EluGrad SeluGrad", 8, binary(args=("gradients", "outputs"), pairs=SAME))
row("BiasAdd", 0, each(lambda t: {"value": V((2, 3, 4), t), "bias": V((4,), t)},
                       lambda t: {"value": V((2, 3, 4), t), "bias": V((3,), t)},
                       lambda t: {"value": V((2, 3, 4, 5), t), "bias": V((3,), t), "data_format": "NCHW"}))
row("BiasAddGrad", 64, unary(shapes=[(3, 4), (2, 3, 4, 5), (0, 4)], arg="out_backprop"))
# Of bfloat16 TensorFlow rounds the sum after each row, so that 3,000 rows of ones sum to 512; Weir rounds once.
row("BiasAddGrad", 64, each(*[lambda t, s=s, f=f: {"out_backprop": V(s, t, (0.5, 1.5)), "data_format": f}
                              for s, f in (((40, 13), "NHWC"), ((3, 13, 5), "NCHW"), ((5, 3, 20), "NCHW"), ((40, 16, 5), "NCHW"))], types=[BF16]))
row("BiasAddV1", 0, each(lambda t: {"value": V((2, 3, 4), t), "bias": V((4,), t)}, lambda t: {"value": V((2, 4), t), "bias": V((3,), t)}))
