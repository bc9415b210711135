"""What is timed: an op, the inputs that fill a number of bytes, and how it is called. A line a case, by family."""

from dataclasses import dataclass
from typing import Callable

import numpy as np
import tensorflow as tf

raw = tf.raw_ops
_random = np.random.RandomState(7)


@dataclass
class Case:
    family: str
    name: str
    inputs: Callable  # bytes -> list of arrays, which become variables of the task
    call: Callable    # tensors -> a tensor or an operation


CASES = []


def add(family, inputs, **calls):
    for name, call in calls.items():
        CASES.append(Case(family, name, inputs, call))


def floats(*shape, least=-1.0):
    return np.asarray(least + (1 - least) * _random.rand(*shape), np.float32)


def integers(limit, *shape, dtype=np.int32):
    return _random.randint(0, limit, shape).astype(dtype)


def square(size, bytes_each=4):
    """Rows and columns of a matrix of so many bytes, both multiples of 8."""
    columns = max(8, int((size / bytes_each) ** 0.5) // 8 * 8)
    return max(8, size // bytes_each // columns // 8 * 8), columns


def one(size):
    return [floats(size // 4)]


def positive(size):
    return [floats(size // 4, least=0.1)]


def two(size):
    return [floats(size // 4), floats(size // 4, least=0.1)]


def matrix(size):
    return [floats(*square(size))]


def image_batch(size, channels=32):
    """NHWC, 16 by 16."""
    return floats(max(1, size // 4 // (256 * channels)), 16, 16, channels)


# --- element by element ---
add("unary", one, Neg=tf.negative, Abs=tf.abs, Square=tf.square, Exp=tf.exp, Tanh=tf.tanh, Sigmoid=tf.sigmoid, Sin=tf.sin,
    Cos=tf.cos, Erf=tf.math.erf, Sign=tf.sign, Floor=tf.floor, Round=tf.round, Expm1=tf.math.expm1, IsNan=tf.math.is_nan,
    Relu=tf.nn.relu, Relu6=tf.nn.relu6, Elu=tf.nn.elu, Softplus=tf.nn.softplus, Selu=tf.nn.selu, LeakyRelu=tf.nn.leaky_relu,
    CastToInt32=lambda x: tf.cast(x, tf.int32), CastToHalf=lambda x: tf.cast(x, tf.half),
    CastToBfloat16=lambda x: tf.cast(x, tf.bfloat16), CastToDouble=lambda x: tf.cast(x, tf.double))
add("unary", positive, Sqrt=tf.sqrt, Rsqrt=tf.math.rsqrt, Log=tf.math.log, Log1p=tf.math.log1p, Reciprocal=tf.math.reciprocal,
    Lgamma=tf.math.lgamma)
add("binary", two, AddV2=tf.add, Sub=tf.subtract, Mul=tf.multiply, RealDiv=tf.divide, Maximum=tf.maximum, Minimum=tf.minimum,
    SquaredDifference=tf.math.squared_difference, Less=tf.less, Equal=tf.equal, GreaterEqual=tf.greater_equal,
    Atan2=tf.atan2, DivNoNan=tf.math.divide_no_nan, ReluGrad=lambda x, y: raw.ReluGrad(gradients=x, features=y),
    TanhGrad=lambda x, y: raw.TanhGrad(y=x, dy=y), SigmoidGrad=lambda x, y: raw.SigmoidGrad(y=x, dy=y))
add("binary", lambda size: [floats(size // 4, least=0.1), floats(size // 4)], Pow=tf.pow)
add("binary", lambda size: [integers(1000, size // 4), integers(99, size // 4) + 1], FloorDivInt32=tf.math.floordiv,
    FloorModInt32=tf.math.floormod, BitwiseAndInt32=tf.bitwise.bitwise_and, AddV2Int32=tf.add)
add("binary", lambda size: [integers(2, size).astype(bool), integers(2, size).astype(bool)], LogicalAnd=tf.logical_and)
add("broadcast", lambda size: [floats(*square(size)), floats(square(size)[1])], AddRow=tf.add, MulRow=tf.multiply)
add("broadcast", lambda size: [floats(*square(size)), floats(square(size)[0], 1)], AddColumn=tf.add)
add("broadcast", lambda size: [floats(size // 4), floats()], MulScalar=tf.multiply, MaximumScalar=tf.maximum)
add("broadcast", lambda size: [integers(2, size // 4).astype(bool), *two(size)], SelectV2=tf.where)

# --- reductions and scans ---
for axis, where in ((None, "All"), (0, "Rows"), (1, "Columns")):
    add("reduction", matrix, **{f"{name}{where}": lambda x, op=op, axis=axis: op(x, axis) for name, op in {
        "Sum": tf.reduce_sum, "Mean": tf.reduce_mean, "Max": tf.reduce_max, "Prod": tf.reduce_prod}.items()})
add("reduction", matrix, ArgMaxColumns=lambda x: tf.argmax(x, 1), ArgMaxRows=lambda x: tf.argmax(x, 0), L2Loss=tf.nn.l2_loss,
    CumsumColumns=lambda x: tf.cumsum(x, 1), CumsumRows=lambda x: tf.cumsum(x, 0))
add("reduction", lambda size: [integers(2, size).astype(bool)], AllBool=tf.reduce_all)
add("segment", lambda size: [floats(*square(size)), np.sort(integers(16, square(size)[0]))], SegmentSum=tf.math.segment_sum,
    UnsortedSegmentSum=lambda x, ids: tf.math.unsorted_segment_sum(x, ids, 16))

# --- linear algebra ---
add("matmul", lambda size: [floats(*square(size)), floats(square(size)[1], square(size)[1])], MatMul=tf.matmul)
add("matmul", lambda size: [floats(*square(size)), floats(*square(size))],
    MatMulTransposeA=lambda a, b: tf.matmul(a, b, transpose_a=True))
add("matmul", lambda size: [floats(max(1, size // 4096), 32, 32), floats(max(1, size // 4096), 32, 32)],
    BatchMatMulV2=lambda a, b: raw.BatchMatMulV2(x=a, y=b))
add("linalg", lambda size: [floats(max(1, size // 1024), 16, 16) + 8 * np.eye(16, dtype=np.float32)],
    MatrixInverse=tf.linalg.inv, MatrixDeterminant=tf.linalg.det, MatrixDiagPart=tf.linalg.diag_part,
    MatrixBandPart=lambda x: tf.linalg.band_part(x, 2, 3))

# --- moving elements ---
add("array", matrix, Transpose=tf.transpose, Reverse=lambda x: tf.reverse(x, [1]), Tile=lambda x: tf.tile(x, [2, 2]),
    Pad=lambda x: tf.pad(x, [[1, 2], [3, 4]]), MirrorPad=lambda x: tf.pad(x, [[1, 2], [3, 4]], "REFLECT"),
    SliceColumns=lambda x: x[:, 1:-1], StridedSliceRows=lambda x: x[::2], SplitColumns=lambda x: tf.split(x, 4, 1)[0],
    Unstack=lambda x: tf.unstack(x, axis=0)[0], ZerosLike=tf.zeros_like, Shape=tf.shape,
    Reshape=lambda x: tf.reshape(x, [-1]), BroadcastTo=lambda x: tf.broadcast_to(x, [2, *x.shape]))
add("array", lambda size: [floats(*square(size)), floats(*square(size))], ConcatRows=lambda x, y: tf.concat([x, y], 0),
    ConcatColumns=lambda x, y: tf.concat([x, y], 1), Pack=lambda x, y: tf.stack([x, y]), AddN=lambda x, y: tf.add_n([x, y, x]))
add("array", lambda size: [image_batch(size)], TransposeNhwcToNchw=lambda x: tf.transpose(x, [0, 3, 1, 2]),
    SpaceToDepth=lambda x: tf.nn.space_to_depth(x, 2), DepthToSpace=lambda x: tf.nn.depth_to_space(x, 2))
add("index", lambda size: [floats(*square(size)), integers(square(size)[0], square(size)[0])], GatherRows=tf.gather)
add("index", lambda size: [floats(size // 4), integers(size // 4, size // 4)], GatherScalars=tf.gather)
add("index", lambda size: [floats(*square(size)), integers(square(size)[0], square(size)[0], 1)], GatherNd=tf.gather_nd,
    ScatterNd=lambda x, i: tf.scatter_nd(i, x, x.shape))
add("index", lambda size: [integers(64, size // 256)], OneHot=lambda i: tf.one_hot(i, 64))
add("index", lambda size: [integers(1000, size // 4)], Unique=lambda x: tf.unique(x)[0], Bincount=lambda x: tf.math.bincount(x, maxlength=1000))
add("index", lambda size: [integers(2, size // 4)], Where=tf.where)
add("index", matrix, TopKV2=lambda x: tf.math.top_k(x, 5)[0], Sort=tf.sort)

# --- neural networks ---
def convolution_inputs(size):
    return [image_batch(size), floats(3, 3, 32, 32)]


def convolved(size):
    return [image_batch(size), floats(3, 3, 32, 32), image_batch(size)]


add("convolution", convolution_inputs, Conv2D=lambda x, f: tf.nn.conv2d(x, f, 1, "SAME"))
add("convolution", convolved,
    Conv2DBackpropInput=lambda x, f, g: raw.Conv2DBackpropInput(input_sizes=tf.shape(x), filter=f, out_backprop=g,
                                                                strides=[1, 1, 1, 1], padding="SAME"),
    Conv2DBackpropFilter=lambda x, f, g: raw.Conv2DBackpropFilter(input=x, filter_sizes=tf.shape(f), out_backprop=g,
                                                                  strides=[1, 1, 1, 1], padding="SAME"))
add("convolution", lambda size: [image_batch(size), floats(3, 3, 32, 1)],
    DepthwiseConv2dNative=lambda x, f: tf.nn.depthwise_conv2d(x, f, [1, 1, 1, 1], "SAME"))
add("nn", lambda size: [image_batch(size)], MaxPool=lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
    AvgPool=lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID"), LRN=tf.nn.local_response_normalization,
    ResizeBilinear=lambda x: tf.compat.v1.image.resize_bilinear(x, [24, 24]),
    ResizeNearestNeighbor=lambda x: tf.compat.v1.image.resize_nearest_neighbor(x, [24, 24]))
add("nn", lambda size: [image_batch(size), image_batch(size)[:, ::2, ::2], image_batch(size)[:, ::2, ::2]],
    MaxPoolGrad=lambda x, y, g: raw.MaxPoolGrad(orig_input=x, orig_output=y, grad=g, ksize=[1, 2, 2, 1],
                                                strides=[1, 2, 2, 1], padding="VALID"))
add("nn", lambda size: [image_batch(size), floats(32), floats(32)],
    FusedBatchNormV3=lambda x, s, o: tf.compat.v1.nn.fused_batch_norm(x, s, o)[0])
add("nn", lambda size: [floats(*square(size)), floats(square(size)[1])], BiasAdd=tf.nn.bias_add)
add("nn", matrix, Softmax=tf.nn.softmax, LogSoftmax=tf.nn.log_softmax, BiasAddGrad=lambda x: raw.BiasAddGrad(out_backprop=x))
add("nn", lambda size: [floats(*square(size)), integers(square(size)[1], square(size)[0])],
    SparseSoftmaxCrossEntropyWithLogits=lambda x, y: raw.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=y)[0])
add("nn", lambda size: [floats(*square(size)), floats(*square(size), least=0)],
    SoftmaxCrossEntropyWithLogits=lambda x, y: raw.SoftmaxCrossEntropyWithLogits(features=x, labels=y)[0])

# --- random numbers, transforms, strings ---
for kind in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
    add("random", one, **{kind: lambda x, kind=kind: getattr(raw, kind)(shape=tf.shape(x), dtype=tf.float32, seed=1, seed2=2)})
add("random", one, StatelessRandomUniform=lambda x: tf.random.stateless_uniform(tf.shape(x), [1, 2]),
    RandomShuffle=lambda x: tf.random.shuffle(x, seed=1))
add("signal", lambda size: [floats(max(1, size // 1024), 256)], RFFT=tf.signal.rfft)
add("string", lambda size: [np.array([str(i) for i in range(size // 16)], object)], StringToNumber=tf.strings.to_number,
    StringToHashBucketFast=lambda x: tf.strings.to_hash_bucket_fast(x, 1000), StringLength=tf.strings.length,
    StringUpper=tf.strings.upper, Substr=lambda x: tf.strings.substr(x, 0, 1), StringJoin=lambda x: tf.strings.join([x, x]),
    ReduceJoin=tf.strings.reduce_join)
add("string", lambda size: [integers(10**6, size // 16)], AsString=tf.strings.as_string)
