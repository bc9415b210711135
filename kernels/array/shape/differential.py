"""Shapes, reshaped tensors, constants and fills."""
from tensorflow.python.framework import op_def_library

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("Identity StopGradient PreventGradient Snapshot", 0, unary(arg="input"))
row("ZerosLike OnesLike", 0, unary(arg="x"))
row("Shape Size Rank", 0, unary(arg="input"))
row("Reshape", 0, each(*[lambda t, s=s: {"tensor": V((3, 4), t), "shape": Fed(s, I32)}
                         for s in ([12], [2, -1], [-1, 0], [5, -1], [-1, -1], [-2, 6], [3, 4, 1])]))
row("Reshape", 0, plain(*[{"tensor": V((1,), F32), "shape": Fed([1] * n, I64)} for n in (8, 254, 255)]))
row("ExpandDims", 0, each(*[lambda t, a=a: {"input": V((3, 4), t), "axis": a} for a in (0, -1, 2, 5, -4)]))
row("Squeeze", 0, each(*[lambda t, a=a: {"input": V((1, 3, 1), t), "axis": a} for a in ([], [0], [-1], [1], [9])]))
row("Fill", 0, each(*[lambda t, d=d: {"dims": Fed(d, I32), "value": V((), t)} for d in ([2, 3], [0], [-1])]))
row("IdentityN", 0, each(lambda t: {"input": [V((2, 3), t), V((), I32)]}))
row("ShapeN", 0, each(lambda t: {"input": [V((2, 3), t), V((), t), V((0, 4), t)]},
                      lambda t: {"input": [V((2, 3), t)], "out_type": I64}))
row("DeepCopy", 0, unary())
row("Empty", 0, lambda: ({"shape": Fed(s, I32), "dtype": t, "init": True} for t in ALL[:-1] for s in ([2, 3], [], [0], [-1], [[1]])))
known("Empty", "output 0", "what it holds is not said")
row("EnsureShape", 0, each(*[lambda t, s=s: {"input": V((2, 3), t), "shape": s} for s in ([2, 3], [None, 3], [2, 2], [2], None)]))


def placeholders(t):
    return [raw.PlaceholderWithDefault(input=fed(V((3,), t)), shape=[3]), raw.Placeholder(dtype=t)]


program("PlaceholderWithDefault Placeholder PlaceholderV2", 0, placeholders, [F32])


def constant(t):
    return [tf1.constant(V((2, 3), t).value, t)]


program("Const", 0, constant, ALL)


def inplace_updates(t):
    steps = []
    for name in ("InplaceUpdate", "InplaceAdd", "InplaceSub"):
        for shape, indices, rows in (((4, 3), [0, 2], (2, 3)), ((4,), [3, -1, 9], (3,)), ((4, 3), [1], (2, 3)),
                                     ((4, 3), [1], (1, 2)), ((), [0], (1,))):
            x = raw.AddV2(x=fed(V(shape, t)), y=tf.zeros([], t))  # what is fed must not be written to
            steps.append(getattr(raw, name)(x=x, i=np.int32(indices), v=fed(V(rows, t))))
    rows = [np.array([[1, 2]], t.as_numpy_dtype), np.array([[3, 4]], t.as_numpy_dtype)]
    return steps + [raw.ParallelConcat(values=rows, shape=[2, 2])]


program("InplaceUpdate InplaceAdd InplaceSub ParallelConcat", 0, inplace_updates, [F32, F64, I32, I64, HALF])
row("Range", WORDS, each(*[lambda t, a=a: {"start": Fed(a[0], t), "limit": Fed(a[1], t), "delta": Fed(a[2], t)}
                           for a in ((0, np.nan, 1), (np.nan, 0, 1), (0, 1, np.nan), (0, np.inf, 1), (1, 0, 1), (0, 1, -1))], types=[F64]))
row("Range", 0, each(*[lambda t, a=a: {"start": Fed(a[0], t), "limit": Fed(a[1], t), "delta": Fed(a[2], t)}
                       for a in [(0, 5, 1), (5, 0, -2), (0, 0, 1), (0, 5, 0), (0, 5, -1), (1, 9, 3)]], types=[F32, F64, I32, I64]))
row("LinSpace", 2, each(*[lambda t, n=n: {"start": Fed(-1, t), "stop": Fed(2, t), "num": Fed(n, I32)} for n in (1, 5, 0)]))


def constants(t):
    value = V((2, 3), t).value
    return [op_def_library.apply_op("HostConst", value=tf1.make_tensor_proto(value, t), dtype=t), raw.Shape(input=raw.FakeParam(dtype=t, shape=[2, 0]))]


program("HostConst FakeParam", 0, constants, [F32, I32, STRING, BOOL])


def inplace_without_elements(_):
    made = []
    for name in ("InplaceUpdate", "InplaceAdd", "InplaceSub"):
        for x, i, v in (((0, 2), (), (0, 2)), ((0, 2), (0,), (1, 2)), ((3, 0), (1,), (1, 0)), ((), (0,), (1,))):
            made.append(getattr(raw, name)(x=fed(V(x, F32)), i=fed(np.array(i, np.int32), I32), v=fed(V(v, F32))))
    return made


program("InplaceUpdate InplaceAdd InplaceSub", WORDS, inplace_without_elements, NOTYPE)


def inplace_of_shared(t):
    """Results. TensorFlow updates what shares the memory too: constants, variables, what others read."""
    steps = []
    copied = lambda: raw.AddV2(x=fed(V((3, 2), t)), y=tf.zeros([], t))  # TensorFlow would change the array that is fed to both
    for name in ("InplaceUpdate", "InplaceAdd", "InplaceSub"):
        variable = raw.VarHandleOp(dtype=t, shape=[3, 2], shared_name="shared " + name)
        steps.append(raw.AssignVariableOp(resource=variable, value=copied()))
        for x in (copied(), tf.constant(V((3, 2), t).value), raw.ReadVariableOp(resource=variable, dtype=t)):
            steps.append(getattr(raw, name)(x=x, i=np.int32([1]), v=fed(Fed([[5, 6]], t))))
    return steps


program("InplaceUpdate InplaceAdd InplaceSub", 0, inplace_of_shared, [F32])
