"""Integers that stand for real numbers by an affine rule."""
from tensorflow.core.util.quantization import uniform_quant_ops_attr_pb2

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

Q8, QU8, Q32 = tf.qint8, tf.quint8, tf.qint32


def params(prefix, scales, zero_points):
    return {prefix + "scales": Fed(scales, F32), prefix + "zero_points": Fed(zero_points, I32)}


def bounds(prefix="", axis=-1, least=-128, most=127):
    return {prefix + "quantization_axis": axis, prefix + "quantization_min_val": least, prefix + "quantization_max_val": most}


# Scales and zero points, with the axis of the channels.
ONE = [(0.25, 3, -1), (1e-3, -20, -1), (3.0, 0, -1)]
MANY = [([0.5, 0.1, 2.0], [0, 5, -7], 1)]
WRONG = [([0.5], [1], -1), (0.5, [1], -1), (0.5, 1, 0), ([0.5, 1], [1, 2], 1), (0.5, 1, 2), (0.0, 1, -1), (-1.0, 1, -1), ([0.5, 0, 1], [0, 0, 0], 1),
         (np.nan, 0, -1), (np.inf, 0, -1), (0.5, (1 << 31) - 1, -1), (0.5, -(1 << 31), -1)]
REAL = Fed(np.concatenate([np.linspace(-40, 40, 23), [0.125, -0.125, 0.375, np.inf, -np.inf, np.nan, 1e30]]).reshape(10, 3), F32)
row("UniformQuantize", 0, plain(*[
    {"input": x, **params("", s, z), "Tout": t, **bounds("", axis, *limits)} for x in (REAL, V((0, 3), F32)) for s, z, axis in ONE + MANY + WRONG
    for t, *limits in ((Q8, -128, 127), (Q8, -127, 127), (QU8, 0, 255), (Q32, -(1 << 31), (1 << 31) - 1), (Q8, 5, 4))],
    {"input": V((2, 3, 4, 5), F32), **params("", [0.5, 1, 0.1, 0.2], [1, 2, 3, 4]), "Tout": Q8, **bounds("", 2)},
    {"input": REAL, **params("", 0.5, 1), "Tout": Q8, **bounds("", -2)}))
_random = np.random.RandomState(11)


def integers(shape, dtype, low=-128, high=128):
    return Fed(_random.randint(low, high, shape), dtype)


row("UniformDequantize", 0, plain(*[
    {"input": integers((10, 3), t, *((0, 256) if t == QU8 else (-128, 128))), **params("", s, z), "Tout": F32, **bounds("", axis)} for t in (Q8, QU8, Q32)
    for s, z, axis in ONE + MANY + WRONG], {"input": integers((3,), Q8), **params("", 0.5, 1), "Tout": F32, **bounds("", -2)}))
row("UniformRequantize", 0, plain(*[
    {"input": integers((10, 3), t, *((-128, 128) if t == Q8 else (-(1 << 31), 1 << 31))), **params("input_", s, z), **params("output_", os, oz), "Tout": Q8,
     **bounds("input_", axis), **bounds("output_", oaxis, least, 127)} for t in (Q8, Q32)
    for s, z, axis in ONE + MANY + WRONG for os, oz, oaxis in ((0.5, 2, -1), (1e9, 2, -1), ([0.5, 0.7, 1.5], [1, 2, 3], 1), ([1] * 10, [0] * 10, 0)) for least in (-128, -1)]))
for zero_point in (1 << 31) - 1, -(1 << 31):
    known("UniformRequantize", f"input_zero_points=int32[] = {zero_point}",
          "TensorFlow's difference leaves 32 bits, which C++ does not define; Weir's wraps")


def wide(prefix="", axis=-1):
    return bounds(prefix, axis, -(1 << 31), (1 << 31) - 1)


row("UniformQuantizedClipByValue", 0, plain(*[
    {"operand": integers((4, 3), Q32), "min": Fed(a, Q32), "max": Fed(b, Q32), **params("", s, z), **wide("", axis)}
    for a, b, s, z, axis in ((-50, 50, 0.5, 1, -1), (50, -50, 0.5, 1, -1), ([-50, 0, 9], [50, 5, 9], [0.5] * 3, [1] * 3, 1), ([1], 5, 0.5, 1, -1), (1, [5], 0.5, 1, -1),
                             (1, 5, [0.5], [1], -1), (1, 5, 0.5, 1, 2))]))
# A quantised sum over several scales has one operand's scales aligned with them: others end TensorFlow's process.
row("UniformQuantizedAdd", 0, plain(*[
    {"lhs": integers(a, Q32, -(1 << 20), 1 << 20), "rhs": integers(b, Q32, -9, 9), **params("lhs_", s, z), **params("rhs_", rs, rz), **params("output_", os, oz),
     **wide("lhs_", axis), **wide("rhs_", raxis), **bounds("output_", oaxis, -100000, 100000)}
    for a, b in (((4, 3), (4, 3)), ((4, 3), ()), ((), (4, 3)), ((4, 3), (3,)), ((4, 1), (1, 3)), ((0, 3), (1, 3)), ((2, 3), (3, 2)))
    for (s, z, axis), (rs, rz, raxis), (os, oz, oaxis) in (((0.5, 3, -1), (0.1, -2, -1), (0.25, 7, -1)), ((-0.5, 3, -1), (0.1, -2, -1), (0.25, 7, -1)),
                                                           ((0.5, [3], -1), (0.1, -2, -1), (0.25, 7, -1)))],
    *[{"lhs": integers((4, 3), Q32), "rhs": integers((4, 3), Q32), **params("lhs_", [0.5, 1, 2], [3, 4, 5]), **params("rhs_", [0.1, 0.2, 0.3], [1, 2, 3]),
       **params("output_", [0.25, 1, 3], [7, 8, 9]), **wide("lhs_", a), **wide("rhs_", 1), **wide("output_", 1)} for a in (1, 0, -2)],
    {"lhs": integers((4, 3), Q32), "rhs": integers((4, 3), Q32), **params("lhs_", [0.5, 1, 2], [3, 4, 5]), **params("rhs_", 0.1, 1), **params("output_", 0.25, 7),
     **wide("lhs_", 1), **wide("rhs_"), **wide("output_")}))
COLUMNS = [((0.5, 3, -1), (0.25, 7, -1)), (([0.5, 1, 2, 0.1], [3, 4, 5, 6], 1), (0.25, 7, -1)), (([0.5, 1, 2, 0.1], [3, 4, 5, 6], 1), ([0.25, 1, 3, 2], [7, 8, 9, 1], 1)),
           ((0.5, 3, -1), ([0.25, 1, 3, 2], [7, 8, 9, 1], 1)), (([0.5], [1], 1), (0.25, 7, -1)), ((-0.5, 3, -1), (0.25, 7, -1)), ((0.5, 3, -1), (0.0, 7, -1)),
           ((0.5, 3, 0), (0.25, 7, -1)), ((0.5, 3, -1), (0.25, 7, 0)), ((1e-30, 3, -1), (1e30, 7, -1)), ((1e30, 3, -1), (1e-30, 7, -1))]
row("UniformQuantizedDot", 0, plain(*[
    {"lhs": integers(a, Q8), "rhs": integers(b, Q8), **params("lhs_", s, z), **params("rhs_", rs, rz), **params("output_", os, oz), "Tout": Q32,
     **bounds("lhs_", axis), **bounds("rhs_", raxis), **wide("output_", oaxis)}
    for a, b in (((2, 3), (3, 4)), ((2, 0), (0, 4)), ((0, 3), (3, 4)), ((2, 3), (2, 4)), ((3,), (3, 4)), ((2, 3), (3,))) for s, z, axis in ((0.5, -4, -1), ([0.5], [1], -1), (0.5, 1, 0))
    for (rs, rz, raxis), (os, oz, oaxis) in COLUMNS]))
row("UniformQuantizedDotHybrid", 0, plain(*[
    {"lhs": a, "rhs": integers((3, 4), Q8), **params("rhs_", rs, rz), "Tout": F32, **bounds("rhs_", raxis)}
    for a in (V((2, 3), F32), V((5, 3), F32, (0, 1)), V((2, 3), F32, (-7, -2)), Fed(np.zeros((2, 3)), F32), Fed([[1e38, -1e38, 0], [1e-40, 0, 1e-41]], F32), V((0, 3), F32),
              V((2, 2), F32), V((3,), F32)) for (rs, rz, raxis), _ in COLUMNS]))


def numbers(image, kernel, output):
    attr = uniform_quant_ops_attr_pb2.UniformQuantizedConvolutionDimensionNumbersAttr()
    attr.input_batch_dimension, attr.input_feature_dimension, *attr.input_spatial_dimensions[:] = image
    attr.kernel_output_feature_dimension, attr.kernel_input_feature_dimension, *attr.kernel_spatial_dimensions[:] = kernel
    attr.output_batch_dimension, attr.output_feature_dimension, *attr.output_spatial_dimensions[:] = output
    return attr.SerializeToString()


NHWC = numbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
# Image, kernel, and attributes.
WINDOWS = [((2, 2, 5, 6), (4, 2, 3, 2), {"padding": p, **more}) for p in ("SAME", "VALID") for more in (
    {}, {"window_strides": [2, 1]}, {"rhs_dilation": [2, 3]}, {"lhs_dilation": [2, 3]}, {"lhs_dilation": [2, 1], "rhs_dilation": [1, 2], "window_strides": [3, 2]})]
WINDOWS += [((2, 2, 5, 6), (4, 2, 3, 2), {"padding": "EXPLICIT", "explicit_padding": p}) for p in ([1, 2, 0, 3], [0, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 0])]
WINDOWS += [((2, 5, 6, 2), (3, 2, 2, 4), {"padding": "SAME", "dimension_numbers": NHWC}), ((2, 4, 5, 6), (4, 2, 3, 2), {"padding": "VALID", "feature_group_count": 2}),
            ((4, 2, 5, 6), (4, 2, 3, 2), {"padding": "VALID", "batch_group_count": 2}), ((4, 2, 5, 6), (4, 2, 3, 2), {"padding": "VALID", "batch_group_count": 3}),
            ((2, 2, 7), (4, 2, 3), {"padding": "SAME"}), ((2, 2, 4, 4, 3), (4, 2, 2, 2, 2), {"padding": "VALID"}), ((0, 2, 5, 6), (4, 2, 3, 2), {"padding": "SAME"}),
            ((2, 2, 2, 6), (4, 2, 4, 2), {"padding": "VALID"}), ((2, 2, 5, 6), (4, 3, 3, 2), {"padding": "SAME"}), ((2, 2), (4, 2), {"padding": "SAME"}),
            ((2, 2, 5, 6), (4, 2, 3), {"padding": "SAME"}), ((2, 2, 5, 6), (4, 2, 3, 2), {"padding": "OTHER"}), ((2, 2, 5, 6), (4, 2, 3, 2), {"padding": "SAME", "window_strides": [1]}),
            ((2, 2, 5, 6), (4, 2, 3, 2), {"padding": "SAME", "window_strides": [0, 1]}), ((2, 2, 5, 6), (4, 2, 3, 2), {"padding": "SAME", "explicit_padding": [1, 1, 1, 1]}),
            ((2, 2, 5, 6), (4, 2, 3, 2), {"padding": "SAME", "dimension_numbers": b"\xff"}), ((2, 2, 5, 6), (4, 2, 3, 2), {"padding": "SAME", "dimension_numbers": numbers((0, 1, 2), (0, 1, 2), (0, 1, 2))}),
            ((2, 2, 5, 6), (4, 2, 3, 2), {"padding": "SAME", "dimension_numbers": numbers((0, 1, 2, 4), (0, 1, 2, 3), (0, 1, 2, 3))}),
            ((2, 2, 5, 6), (4, 2, 3, 2), {"padding": "SAME", "feature_group_count": 0})]


def windows(more):
    for image, kernel, attrs in WINDOWS:
        for (rs, rz, raxis), (os, oz, oaxis) in COLUMNS[:6]:
            channels_last = attrs.get("dimension_numbers") == NHWC
            yield more(image, kernel, attrs, params("rhs_", rs, rz), bounds("rhs_", raxis if raxis == -1 else 3 if channels_last else 0),
                       params("output_", os, oz), wide("output_", oaxis if oaxis == -1 else 3 if channels_last else 1))


row("UniformQuantizedConvolution", 0, plain(*windows(lambda image, kernel, attrs, right, right_bounds, out, out_bounds: {
    "lhs": integers(image, Q8), "rhs": integers(kernel, Q8), **params("lhs_", 0.5, -4), **right, **out, "Tout": Q32, **attrs, **bounds("lhs_"), **right_bounds, **out_bounds})))
row("UniformQuantizedConvolution", 0, plain(*[
    {"lhs": integers((1, 1, 4), Q8), "rhs": integers((1, 1, 3), Q8), **params("lhs_", 0.5, z), **params("rhs_", 1, 0), **params("output_", 1, 0), "Tout": Q32, "padding": "SAME",
     **bounds("lhs_", a), **bounds("rhs_"), **wide("output_")} for z, a in ((-4, -1), (300, -1), (-4, 0), ([3], -1))]))
row("UniformQuantizedConvolutionHybrid", 0, plain(*windows(lambda image, kernel, attrs, right, right_bounds, *_: {
    "lhs": V(image, F32), "rhs": integers(kernel, Q8), **right, "Tout": F32, **attrs, **right_bounds})))
