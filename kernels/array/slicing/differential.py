"""Slices, strided slices, and assignments to them."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("Slice", 0, each(*[lambda t, b=b, s=s: {"input": V((4, 6), t), "begin": Fed(b, I32), "size": Fed(s, I32)} for b, s in [
    ([0, 0], [2, 3]), ([1, 2], [-1, -1]), ([4, 0], [0, 6]), ([3, 0], [2, 1]), ([-1, 0], [1, 1])]]))
row("StridedSlice", 0, each(*[
    lambda t, b=b, e=e, s=s, m=m: {"input": V((5, 6), t), "begin": Fed(b, I32), "end": Fed(e, I32), "strides": Fed(s, I32), **m}
    for b, e, s, m in [([1], [4], [2], {}), ([4], [0], [-1], {}), ([0, 2], [9, 4], [1, 1], {}), ([2], [3], [1], {"shrink_axis_mask": 1}),
                       ([9], [10], [1], {"shrink_axis_mask": 1}), ([0], [1], [0], {}), ([0, 0, 1], [0, 0, 3], [1, 1, 1], {"ellipsis_mask": 1}),
                       ([0, 0], [0, 3], [1, 1], {"new_axis_mask": 1}), ([1, 1], [2, 3], [1, 2], {"begin_mask": 2, "end_mask": 3})]]))
row("StridedSliceGrad", 0, each(*[
    lambda t, b=b, e=e, s=s, d=d, m=m: {"shape": ids(5, 6), "begin": Fed(b, I32), "end": Fed(e, I32), "strides": Fed(s, I32), "dy": V(d, t), **m}
    for b, e, s, d, m in [([1], [4], [2], (2, 6), {}), ([4], [0], [-1], (4, 6), {}), ([2], [3], [1], (6,), {"shrink_axis_mask": 1}),
                          ([0, 0], [0, 3], [1, 1], (1, 3, 6), {"new_axis_mask": 1}), ([1], [4], [2], (3, 6), {}), ([1], [4], [0], (2, 6), {}),
                          ([0, 0], [0, 3], [1, 1], (0, 3), {})]]))


def slice_assignments(t):
    ref = raw.VariableV2(shape=[3, 4], dtype=t)
    var = raw.VarHandleOp(dtype=t, shape=[3, 4], shared_name="slices")
    start = fed(V((3, 4), t))
    steps = [raw.Assign(ref=ref, value=start), raw.AssignVariableOp(resource=var, value=start)]
    for begin, end, strides, shape, masks in (([0, 1], [2, 3], [1, 1], (2, 2), {}), ([2, 0], [0, 4], [-1, 2], (2, 2), {}),
                                              ([1, 0], [2, 0], [1, 1], (4,), dict(end_mask=2, shrink_axis_mask=1)),
                                              ([0, 0], [3, 4], [1, 1], (1, 4), {}), ([0, 0], [3, 4], [1, 1], (2, 4), {}),
                                              ([5, 0], [1, 4], [1, 1], (1, 4), dict(shrink_axis_mask=1)),
                                              ([0, 0], [3, 4], [0, 1], (1, 4), {}), ([0, 0, 0], [1, 1, 1], [1, 1, 1], (), {})):
        value = fed(V(shape, t))
        kw = dict(begin=np.int32(begin), end=np.int32(end), strides=np.int32(strides), value=value, **masks)
        try:
            steps += [raw.StridedSliceAssign(ref=ref, **kw), raw.ResourceStridedSliceAssign(ref=var, **kw),
                      raw.ReadVariableOp(resource=var, dtype=t), raw.TensorStridedSliceUpdate(input=start, **kw)]
        except ValueError:  # known when the graph is built
            pass
    return steps


program("StridedSliceAssign ResourceStridedSliceAssign TensorStridedSliceUpdate", 0, slice_assignments)
