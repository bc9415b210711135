"""Batch and local response normalization."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

IMAGE = (2, 6, 7, 3)
row("LRN", 64, each(lambda t: {"input": V(IMAGE, t), "depth_radius": 1}))
row("LRNGrad", 64, each(lambda t: {"input_grads": V(IMAGE, t), "input_image": V(IMAGE, t), "output_image": V(IMAGE, t), "depth_radius": 1},
                        lambda t: {"input_grads": V(IMAGE, t), "input_image": V(IMAGE, t), "output_image": V((2, 6, 7, 2), t)}))


def norm(second=None, channels=3, **attrs):
    """Inputs of a batch normalisation; `second`: the type of all but x."""
    return lambda t: {"x": V(IMAGE, t), "scale": V((channels,), second or t), "offset": V((3,), second or t),
                      "mean": V((0 if attrs.get("is_training", True) else 3,), second or t),
                      "variance": V((0 if attrs.get("is_training", True) else 3,), second or t, (0.5, 2)), **attrs}


# Reserved outputs have the shapes of TensorFlow with oneDNN, its default, and are not set when it does not train.
outputs_of("FusedBatchNorm", (0, 1, 2), 512, each(norm(), norm(is_training=False)))
row("FusedBatchNorm", 512, each(norm(channels=2)))
outputs_of("FusedBatchNormV2 FusedBatchNormV3", (0, 1, 2), 512, each(norm(F32), norm(F32, is_training=False)))
row("FusedBatchNormV2 FusedBatchNormV3", 512, each(norm(F32, channels=2)))


def norm_grad(version, second=None, training=True):
    def case(t):
        u = second or t
        return {"y_backprop": V(IMAGE, t), "x": V(IMAGE, t), "scale": V((3,), u), "reserve_space_1": V((3,), u),
                "reserve_space_2": V((3,), u, (0.5, 2)), "is_training": training,
                **({"reserve_space_3": V((3,), u)} if version == 3 else {})}

    return case


outputs_of("FusedBatchNormGrad", (0, 1, 2), 512, each(norm_grad(1), norm_grad(1, training=False)))
outputs_of("FusedBatchNormGradV2", (0, 1, 2), 512, each(norm_grad(2, F32), norm_grad(2, F32, False)))
outputs_of("FusedBatchNormGradV3", (0, 1, 2), 512, each(norm_grad(3, F32), norm_grad(3, F32, False)))
