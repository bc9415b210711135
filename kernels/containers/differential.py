"""Stacks, tensor arrays, tensor lists and tensor maps."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


def stack(t):
    handle = raw.StackV2(max_size=fed(2, I32), elem_type=t, stack_name=unique("s"))
    first = raw.StackPushV2(handle=handle, elem=fed(V((3,), t)))
    with tf1.control_dependencies([first]):
        second = raw.StackPushV2(handle=handle, elem=fed(V((2, 2), t)))
    with tf1.control_dependencies([second]):
        popped = raw.StackPopV2(handle=handle, elem_type=t)
    with tf1.control_dependencies([popped]):
        closed = raw.StackCloseV2(handle=handle)
    return [[first, second, popped, closed]]


program("StackV2 StackPushV2 StackPopV2 StackCloseV2", 0, stack, [F32, I32, BOOL, STRING])


def stack_misuse(t):
    handle = raw.StackV2(max_size=fed(1, I32), elem_type=t, stack_name=unique("s"))
    with tf1.control_dependencies([raw.StackPushV2(handle=handle, elem=fed(V((3,), t)))]):
        return [raw.StackPushV2(handle=handle, elem=fed(V((3,), t)))]


program("StackV2", 0, stack_misuse, [F32])


def stack_empty(t):
    return [raw.StackPopV2(handle=raw.StackV2(max_size=-1, elem_type=t, stack_name=unique("s")), elem_type=t)]


program("StackV2", 0, stack_empty, [F32])


def array_scatter_beyond(t):
    handle, flow = raw.TensorArrayV3(size=fed(3, I32), dtype=t, tensor_array_name=unique("a"))
    flow = raw.TensorArrayScatterV3(handle=handle, indices=fed([0, 3], I32), value=fed(V((2,), t)), flow_in=flow)
    return [raw.TensorArraySizeV3(handle=handle, flow_in=flow)]


program("TensorArrayV3", 0, array_scatter_beyond, [F32])


def array(t):
    handle, flow = raw.TensorArrayV3(size=fed(3, I32), dtype=t, tensor_array_name=unique("a"), clear_after_read=False)
    flow = raw.TensorArrayScatterV3(handle=handle, indices=fed([0, 2], I32), value=fed(V((2, 3), t)), flow_in=flow)
    flow = raw.TensorArrayWriteV3(handle=handle, index=fed(1, I32), value=fed(V((3,), t)), flow_in=flow)
    return [[raw.TensorArrayGatherV3(handle=handle, indices=fed([2, 0, 1], I32), flow_in=flow, dtype=t),
             raw.TensorArrayReadV3(handle=handle, index=fed(2, I32), flow_in=flow, dtype=t),
             raw.TensorArraySizeV3(handle=handle, flow_in=flow),
             raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=t)], raw.TensorArrayCloseV3(handle=handle)]


program("TensorArrayV3 TensorArrayScatterV3 TensorArrayWriteV3 TensorArrayGatherV3 TensorArrayReadV3 TensorArraySizeV3 TensorArrayConcatV3 "
        "TensorArrayCloseV3", 0, array, [F32, F64, I32, BOOL, STRING, HALF])


def array_split(t):
    handle, flow = raw.TensorArrayV3(size=fed(2, I32), dtype=t, tensor_array_name=unique("a"))
    flow = raw.TensorArraySplitV3(handle=handle, value=fed(V((5, 2), t)), lengths=fed([2, 3], I64), flow_in=flow)
    return [[raw.TensorArrayReadV3(handle=handle, index=fed(1, I32), flow_in=flow, dtype=t)]]


program("TensorArrayV3 TensorArraySplitV3", 0, array_split, [F32, I32, STRING])


def array_grad(t):
    handle, flow = raw.TensorArrayV3(size=fed(2, I32), dtype=t, tensor_array_name=unique("a"), clear_after_read=False)
    flow = raw.TensorArrayWriteV3(handle=handle, index=fed(1, I32), value=fed(V((3,), t)), flow_in=flow)
    grad, gflow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
    gflow = raw.TensorArrayWriteV3(handle=grad, index=fed(1, I32), value=fed(V((3,), t)), flow_in=gflow)
    gflow = raw.TensorArrayWriteV3(handle=grad, index=fed(1, I32), value=fed(V((3,), t)), flow_in=gflow)
    shaped, sflow = raw.TensorArrayGradWithShape(handle=handle, flow_in=flow, shape_to_prepend=fed([2], I32), source="h")
    sflow = raw.TensorArrayWriteV3(handle=shaped, index=fed(1, I32), value=fed(V((2, 3), t)), flow_in=sflow)
    return [[raw.TensorArrayReadV3(handle=grad, index=fed(1, I32), flow_in=gflow, dtype=t),
             raw.TensorArrayReadV3(handle=shaped, index=fed(1, I32), flow_in=sflow, dtype=t)]]


program("TensorArrayV3 TensorArrayGradV3 TensorArrayGradWithShape", 0, array_grad, [F32, F64])


def array_wrong(index, size=2, value=(3,), write_type=None, twice=False):
    def build(t):
        handle, flow = raw.TensorArrayV3(size=fed(size, I32), dtype=t, element_shape=[3], tensor_array_name=unique("a"))
        for _ in range(2 if twice else 1):
            flow = raw.TensorArrayWriteV3(handle=handle, index=fed(index, I32), value=fed(V(value, write_type or t)), flow_in=flow)
        return [raw.TensorArrayReadV3(handle=handle, index=fed(0, I32), flow_in=flow, dtype=t)]

    build.__name__ = "array_wrong(%s, %s, %s)" % (index, size, value)
    return build


for _arguments in [dict(index=5), dict(index=-1), dict(index=0, value=(2,)), dict(index=0, write_type=F64), dict(index=0, size=-1),
                   dict(index=0, twice=True), dict(index=1)]:
    program("TensorArrayV3", 0, array_wrong(**_arguments), [F32])


def tensor_list_unequal(t):
    made = raw.EmptyTensorList(element_shape=fed(-1, I32), max_num_elements=fed(-1, I32), element_dtype=t)
    for n in range(3):
        made = raw.TensorListPushBack(input_handle=made, tensor=fed(V((n,), t)))
    return [raw.TensorListGather(input_handle=made, indices=fed(np.array(i, int), I32), element_shape=fed(-1, I32), element_dtype=t) for i in ([2, 2], [2, 1], [5], [])]


program("EmptyTensorList TensorListPushBack TensorListGather", 0, tensor_list_unequal, [F32, STRING])


def tensor_list_reserved(t):
    made = raw.TensorListReserve(element_shape=fed([2], I32), num_elements=fed(3, I32), element_dtype=t)
    empty = raw.EmptyTensorList(element_shape=fed([-1], I32), max_num_elements=fed(1, I32), element_dtype=t)
    once = raw.TensorListPushBack(input_handle=empty, tensor=fed(V((4,), t)))
    old = raw.TensorListScatter(tensor=fed(V((2, 2), t)), indices=fed([1, 0], I32), element_shape=fed([2], I32))
    return [raw.TensorListStack(input_handle=made, element_shape=fed([2], I32), element_dtype=t),
            raw.TensorListStack(input_handle=old, element_shape=fed([2], I32), element_dtype=t),
            raw.TensorListLength(input_handle=once), raw.TensorListLength(input_handle=raw.TensorListPushBack(input_handle=once, tensor=fed(V((4,), t))))]


program("TensorListReserve EmptyTensorList TensorListScatter", 0, tensor_list_reserved, [F32, I32, STRING])


def tensor_list(t):
    made = raw.TensorListFromTensor(tensor=fed(V((3, 2), t)), element_shape=fed([2], I32))
    made = raw.TensorListPushBack(input_handle=made, tensor=fed(V((2,), t)))
    made = raw.TensorListSetItem(input_handle=made, index=fed(1, I32), item=fed(V((2,), t)))
    popped, item = raw.TensorListPopBack(input_handle=made, element_shape=fed([2], I32), element_dtype=t)
    wider = raw.TensorListResize(input_handle=popped, size=fed(5, I32))
    shape = fed([2], I32)
    scattered = raw.TensorListScatterV2(tensor=fed(V((2, 2), t)), indices=fed([3, 0], I32), element_shape=shape, num_elements=fed(-1, I32))
    both = raw.TensorListConcatLists(input_a=made, input_b=popped, element_dtype=t)
    split = raw.TensorListSplit(tensor=fed(V((5, 2), t)), element_shape=fed([-1, 2], I32), lengths=fed([2, 3], I64))
    into = raw.TensorListScatterIntoExistingList(input_handle=made, tensor=fed(V((2, 2), t)), indices=fed([1, 2], I32))
    stacked = [raw.TensorListStack(input_handle=h, element_shape=shape, element_dtype=t) for h in (made, popped, scattered, both, into)]
    return [[item, raw.TensorListLength(input_handle=made), raw.TensorListElementShape(input_handle=made, shape_type=I32), *stacked,
             raw.TensorListGather(input_handle=made, indices=fed([2, 0], I32), element_shape=shape, element_dtype=t),
             raw.TensorListGetItem(input_handle=made, index=fed(1, I32), element_shape=shape, element_dtype=t),
             *raw.TensorListConcatV2(input_handle=split, element_shape=fed([-1, 2], I32), leading_dims=fed(np.array([], int), I64), element_dtype=t)],
            raw.TensorListGetItem(input_handle=wider, index=fed(4, I32), element_shape=shape, element_dtype=t),
            *raw.TensorListConcat(input_handle=split, element_dtype=t)]


program("TensorListFromTensor TensorListPushBack TensorListSetItem TensorListPopBack TensorListResize TensorListScatterV2 TensorListConcatLists "
        "TensorListSplit TensorListScatterIntoExistingList TensorListStack TensorListLength TensorListElementShape TensorListGather TensorListGetItem "
        "TensorListConcatV2 TensorListConcat", 0, tensor_list, NUMBERS + [BOOL, STRING])


def list_wrong(name, **arguments):
    def build(t):
        made = raw.TensorListFromTensor(tensor=fed(V((3, 2), t)), element_shape=fed([2], I32))
        inputs = {key: fed(value) if isinstance(value, Fed) else value for key, value in arguments.items()}
        out = getattr(raw, name)(input_handle=made, **inputs)
        return [out if not isinstance(out, tf.Tensor) or out.dtype != tf.variant else raw.TensorListLength(input_handle=out)]

    build.__name__ = "%s(%s)" % (name, arguments.keys())
    return build


_SHAPE = lambda *dims: Fed(list(dims), I32)
for _name, _arguments in [
        ("TensorListGetItem", dict(index=Fed(3, I32), element_shape=_SHAPE(2), element_dtype=F32)),
        ("TensorListGetItem", dict(index=Fed(-1, I32), element_shape=_SHAPE(2), element_dtype=F32)),
        ("TensorListGetItem", dict(index=Fed(0, I32), element_shape=_SHAPE(3), element_dtype=F32)),
        ("TensorListGetItem", dict(index=Fed(0, I32), element_shape=_SHAPE(2), element_dtype=F64)),
        ("TensorListSetItem", dict(index=Fed(3, I32), item=V((2,), F32))),
        ("TensorListSetItem", dict(index=Fed(0, I32), item=V((3,), F32))),
        ("TensorListPushBack", dict(tensor=V((3,), F32))), ("TensorListPushBack", dict(tensor=V((2,), I32))),
        ("TensorListResize", dict(size=Fed(-1, I32))), ("TensorListGather", dict(indices=_SHAPE(9), element_shape=_SHAPE(2), element_dtype=F32)),
        ("TensorListStack", dict(element_shape=_SHAPE(2), element_dtype=F32, num_elements=7)),
        ("TensorListStack", dict(element_shape=_SHAPE(2, 2), element_dtype=F32)), ("TensorListStack", dict(element_shape=_SHAPE(2), element_dtype=I32))]:
    program("TensorListFromTensor", 0, list_wrong(_name, **_arguments), [F32])


def pushed_batch(t):
    lists = raw.Pack(values=[raw.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=t)] * 2)
    return [raw.TensorListLength(input_handle=raw.Unpack(value=raw.TensorListPushBackBatch(input_handles=lists, tensor=fed(V((2, 3), t))), num=2)[1])]


program("TensorListPushBackBatch", 0, pushed_batch, [F32, I32])


def misused_lists(_):
    """Rows that have no place, or no list."""
    empty = raw.EmptyTensorList(element_shape=fed(Fed([], I32)), max_num_elements=fed(Fed(-1, I32)), element_dtype=F32)
    length = lambda handle: raw.TensorListLength(input_handle=handle)
    pushed = raw.TensorListPushBackBatch(input_handles=tf.stack([empty, empty]), tensor=fed(V((3,), F32)))
    return [length(raw.TensorListScatterV2(tensor=fed(V((2,), F32)), indices=fed(Fed(i, I32)), element_shape=fed(Fed([], I32)), num_elements=fed(Fed(-1, I32))))
            for i in ([0, -3], [0, 3, 4], [0, 3])] + [length(pushed[0])]


program("TensorListScatterV2 TensorListPushBackBatch", WORDS, misused_lists, [None])
elsewhere("TensorArrayConcatV2", "TensorFlow's client makes it only with a kernel that it does not have")


def stacks(t):
    stack = raw.Stack(elem_type=t)
    with tf.control_dependencies([raw.StackPush(handle=stack, elem=fed(V((2,), t)))]):
        pop = raw.StackPop(handle=stack, elem_type=t)
    with tf.control_dependencies([pop]):
        empty = raw.StackPop(handle=stack, elem_type=t)
    return [pop, empty, raw.StackClose(handle=stack)]


program("Stack StackPush StackPop StackClose", 0, stacks, [F32, STRING])
_RAGGED, _SPARSE = b"\x0a\x02\x08\x03", b"\x0a\x02\x08\x01"  # CompositeTensorVariantMetadata of these classes


def composites(t):
    made = raw.CompositeTensorVariantFromComponents(components=[fed(V((3,), t)), fed([0, 2, 3], I64)], metadata=_RAGGED)
    nothing = raw.CompositeTensorVariantFromComponents(components=[], metadata=_SPARSE)
    apart = lambda encoded, types, metadata=_RAGGED: list(raw.CompositeTensorVariantToComponents(encoded=encoded, metadata=metadata, Tcomponents=types))
    return [apart(made, [t, I64]), apart(made, [t, t]), apart(made, [t]), apart(made, [t, I64], _SPARSE),
            apart(raw.EmptyTensorList(element_shape=fed(-1, I32), max_num_elements=fed(-1, I32), element_dtype=t), [t]),
            apart(raw.CompositeTensorVariantFromComponents(components=[nothing], metadata=_RAGGED), [tf.variant])[0]]


program("CompositeTensorVariantFromComponents CompositeTensorVariantToComponents", 0, composites, [F32, I32, STRING])


def maps(t):
    insert = lambda made, key, value: raw.TensorMapInsert(input_handle=made, key=key, value=value)
    look = lambda made, key: raw.TensorMapLookup(input_handle=made, key=key, value_dtype=t)
    one, two = fed(1, I32), fed(2, I32)
    made = insert(raw.EmptyTensorMap(), one, fed(V((3, 2), t)))
    both = insert(made, two, fed(V((2,), t)))
    replaced = insert(both, one, fed(V((4,), t)))
    erased = raw.TensorMapErase(input_handle=both, key=one, value_dtype=t)
    has = [raw.TensorMapHasKey(input_handle=m, key=k) for m in (made, both, erased) for k in (one, two)]
    sizes = [raw.TensorMapSize(input_handle=m) for m in (made, both, replaced, erased)]
    return [[look(both, one), look(both, two), look(replaced, one), look(erased, two), *has, *sizes,
             raw.TensorMapStackKeys(input_handle=made, key_dtype=I32)],
            look(erased, one), raw.TensorMapSize(input_handle=raw.TensorMapErase(input_handle=made, key=two, value_dtype=t)),
            raw.TensorMapStackKeys(input_handle=made, key_dtype=I64), raw.TensorMapStackKeys(input_handle=raw.EmptyTensorMap(), key_dtype=I64)]


program("EmptyTensorMap TensorMapErase TensorMapHasKey TensorMapInsert TensorMapLookup TensorMapSize TensorMapStackKeys", 0, maps, [F32, I32, STRING])


def empty_list(shape=-1, t=F32, size=-1):
    return raw.EmptyTensorList(element_shape=fed(np.array(shape, np.int32), I32), max_num_elements=fed(size, I32), element_dtype=t)


def list_of(*values, shape=-1, t=F32):
    made = empty_list(shape, t)
    for value in values:
        made = raw.TensorListPushBack(input_handle=made, tensor=fed(V(value, t)))
    return made


def reserved_list(shape, count, t=F32, **elements):
    made = raw.TensorListReserve(element_shape=fed(np.array(shape, np.int32), I32), num_elements=fed(count, I32), element_dtype=t)
    for index, value in elements.items():
        made = raw.TensorListSetItem(input_handle=made, index=int(index[1:]), item=fed(V(value, t)))
    return made


def list_length(handle):
    return raw.TensorListLength(input_handle=handle)


def joined_lists(_):
    """TensorListConcat of missing elements, of unequal ones, and of none."""
    made = [reserved_list([2], 3, e1=(2,)), reserved_list(-1, 3, e1=(2, 3)), reserved_list([-1, 3], 2, e1=(2, 3)), reserved_list([-1, 3], 2),
            reserved_list([], 2), reserved_list(-1, 2), empty_list([-1, 2]), empty_list([3, 2]), empty_list(-1), list_of((2, 3), (2, 4)),
            list_of((2, 3), (3,)), list_of(()), list_of((2,), (0,), (3,)), list_of((2, 3), (4, 3), shape=[-1, 3])]
    steps = []
    for handle in made:
        steps.append(list(raw.TensorListConcat(input_handle=handle, element_dtype=F32)))
        steps.append(list(raw.TensorListConcat(input_handle=handle, element_dtype=F32, element_shape=[None, 3])))
        for shape in ([-1, 3], [2, 3], -1, []):
            for leading in ([], [1], [1, 2, 3]):
                steps.append(list(raw.TensorListConcatV2(input_handle=handle, element_shape=fed(np.array(shape, np.int32), I32),
                                                         leading_dims=fed(np.array(leading, np.int64), I64), element_dtype=F32)))
    return steps


program("TensorListConcat TensorListConcatV2", WORDS, joined_lists, [None])


def gathered_lists(_):
    """TensorListGather, TensorListStack and TensorListGetItem of missing and unequal elements, and of other shapes."""
    made = [reserved_list([2], 3, e1=(2,)), reserved_list(-1, 3, e1=(2, 3)), reserved_list([-1, 3], 2, e1=(2, 3)), reserved_list([-1, 3], 2),
            reserved_list(-1, 2), empty_list([-1, 2]), empty_list([3, 2]), empty_list(-1), list_of((2, 3), (2, 4)), list_of((2, 3), (3,)),
            list_of((), ())]
    steps = []
    for handle in made:
        for shape in ([-1, 3], [2, 3], -1, []):
            shape = fed(np.array(shape, np.int32), I32)
            for indices in ([], [1, 0], [0, 7]):
                steps.append(raw.TensorListGather(input_handle=handle, indices=fed(np.array(indices, np.int32), I32), element_shape=shape, element_dtype=F32))
            for count in (-1, 5):
                steps.append(raw.TensorListStack(input_handle=handle, element_shape=shape, element_dtype=F32, num_elements=count))
            for index in (1, 9):
                steps.append(raw.TensorListGetItem(input_handle=handle, index=fed(index, I32), element_shape=shape, element_dtype=F32))
            steps.append(raw.TensorListPopBack(input_handle=handle, element_shape=shape, element_dtype=F32)[1])
    return steps


program("TensorListGather TensorListStack TensorListGetItem TensorListPopBack", WORDS, gathered_lists, [None])


def split_lists(_):
    steps = []
    for tensor in ((5, 2), ()):
        for shape in ([-1, 2], [2], [3, 2], -1, []):
            for lengths in ([2, 3], [2, 2], [2, 4], [-1, 6], [], [5], [[2, 3]], 5):
                steps.append(raw.TensorListConcatV2(
                    input_handle=raw.TensorListSplit(tensor=fed(V(tensor, F32)), element_shape=fed(np.array(shape, np.int32), I32),
                                                     lengths=fed(np.array(lengths, np.int64), I64)),
                    element_shape=fed(np.array(-1, np.int32), I32), leading_dims=fed(np.array([], np.int64), I64), element_dtype=F32)[1])
    return steps


program("TensorListSplit", WORDS, split_lists, [None])


def more_wrong_lists(_):
    empty, pair = empty_list(), list_of((2,), (2,))
    steps = []
    for handles, rows in [([empty, empty], (2, 3)), ([empty, pair], (2, 3)), ([pair, pair], (2, 2)), ([empty, pair], (2,)),
                          ([empty_list([2]), empty], (2, 3)), ([empty_list(size=0), empty], (2, 3)), ([empty_list(t=F64), empty], (2, 3))]:
        pushed = raw.TensorListPushBackBatch(input_handles=tf.stack(handles), tensor=fed(V(rows, F32)))
        steps += [list_length(pushed[0])]
    for shape, tensor in [([2], (3, 2)), ([3], (3, 2)), (-1, ()), ([2], (3,)), ([], (3,))]:
        shape = fed(np.array(shape, np.int32), I32)
        steps.append(list_length(raw.TensorListFromTensor(tensor=fed(V(tensor, F32)), element_shape=shape)))
        for indices in ([0, 1, 2], [0, 1], [-1, 0, 1], [5, 0, 1], [[0, 1, 2]], 0):
            for count in (-1, 2, -2):
                steps.append(list_length(raw.TensorListScatterV2(tensor=fed(V(tensor, F32)), indices=fed(np.array(indices, np.int32), I32),
                                                                 element_shape=shape, num_elements=fed(count, I32))))
            if np.min(indices) >= 0:  # TensorFlow writes before the list
                steps.append(list_length(raw.TensorListScatterIntoExistingList(input_handle=pair, tensor=fed(V(tensor, F32)),
                                                                               indices=fed(np.array(indices, np.int32), I32))))
    for other in (empty, empty_list([3]), empty_list([2]), list_of((3,))):
        for first in (pair, empty_list([2])):
            steps.append(list_length(raw.TensorListConcatLists(input_a=first, input_b=other, element_dtype=F32)))
    for count in (-1, 0, 3):
        steps += [list_length(raw.TensorListResize(input_handle=pair, size=fed(count, I32))), list_length(reserved_list([2], count))]
    for shape in ([-2], [[2]], 3, [-1, -1]):
        shape = fed(np.array(shape, np.int32), I32)
        steps.append(raw.TensorListElementShape(input_handle=raw.EmptyTensorList(element_shape=shape, max_num_elements=fed(-1, I32), element_dtype=F32),
                                                shape_type=I32))
    return steps


program("TensorListPushBackBatch TensorListFromTensor TensorListScatterV2 TensorListScatterIntoExistingList TensorListConcatLists TensorListResize "
        "TensorListReserve TensorListElementShape", WORDS, more_wrong_lists, [None])


def added_lists(_):
    """AddN and ZerosLike of lists whose elements are missing, or of unequal shape."""
    steps = []
    made = [list_of((2,), (3,)), list_of((2,), (2,)), reserved_list([2], 2, e1=(2,)), reserved_list(-1, 2, e1=(3,)), reserved_list(-1, 2), list_of((2,)),
            raw.EmptyTensorMap()]
    for first in made:
        for second in made:
            total = raw.AddN(inputs=[first, second])
            steps.append([raw.TensorListGetItem(input_handle=total, index=i, element_shape=fed(np.array(-1, np.int32), I32), element_dtype=F32) for i in (0, 1)])
        zeros = raw.ZerosLike(x=first)
        steps.append([raw.TensorListGetItem(input_handle=zeros, index=i, element_shape=fed(np.array(-1, np.int32), I32), element_dtype=F32) for i in (0, 1)])
    return steps


program("TensorListGetItem", 0, added_lists, [None])  # TensorFlow names the two in either order


def made_array(size=2, t=F32, dynamic=False, shape=None, **more):
    return raw.TensorArrayV3(size=fed(size, I32), dtype=t, tensor_array_name=unique("a"), dynamic_size=dynamic, element_shape=shape, **more)


def split_arrays(_):
    steps = []
    for arguments in (dict(), dict(dynamic=True), dict(dynamic=True, size=0), dict(shape=[None, 2]), dict(shape=[3, 2]), dict(t=F64)):
        for tensor in ((5, 2), ()):
            for lengths in ([2, 3], [1, 2, 2], [2, 2], [2, 4], [], [[2, 3]], 5):
                handle, flow = made_array(**arguments)
                flow = raw.TensorArraySplitV3(handle=handle, value=fed(V(tensor, F32)), lengths=fed(np.array(lengths, np.int64), I64), flow_in=flow)
                steps.append([raw.TensorArraySizeV3(handle=handle, flow_in=flow),
                              raw.TensorArrayReadV3(handle=handle, index=fed(0, I32), flow_in=flow, dtype=arguments.get("t", F32))])
    return steps


program("TensorArraySplitV3", 0, split_arrays, [None])


def joined_arrays(_):
    """Reads, gathers and concatenations of arrays with missing or unequal elements."""
    steps = []
    for arguments in (dict(), dict(shape=[None, 2]), dict(shape=[3, 2]), dict(dynamic=True), dict(size=0, shape=[3, 2]), dict(identical_element_shapes=True)):
        for written in ((), ((3, 2),), ((3, 2), (1, 2)), ((), ())):
            for read in ("concat", "concat shaped", "gather", "gather shaped", "gather none", "gather beyond", "read", "write twice", "other type"):
                handle, flow = made_array(**arguments)
                for i, shape in enumerate(written):
                    flow = raw.TensorArrayWriteV3(handle=handle, index=fed(i, I32), value=fed(V(shape, F32)), flow_in=flow)
                here = dict(handle=handle, flow_in=flow, dtype=F32)
                indices = lambda *values: fed(np.array(values, np.int32), I32)
                if read.startswith("concat"):
                    shape = [2] if read == "concat shaped" else None
                    steps.append(list(raw.TensorArrayConcatV3(element_shape_except0=shape, **here)))
                elif read.startswith("gather"):
                    shape = [3, 2] if read == "gather shaped" else None
                    steps.append(raw.TensorArrayGatherV3(indices=indices(*{"gather none": [], "gather beyond": [0, 5]}.get(read, [0, 1])),
                                                         element_shape=shape, **here))
                elif read == "write twice":
                    flow = raw.TensorArrayWriteV3(handle=handle, index=fed(0, I32), value=fed(V((3, 2), F32)), flow_in=flow)
                    steps.append(raw.TensorArraySizeV3(handle=handle, flow_in=flow))
                elif read == "other type":
                    steps.append(raw.TensorArrayReadV3(handle=handle, flow_in=flow, index=fed(0, I32), dtype=F64))
                else:
                    steps.append(raw.TensorArrayReadV3(index=fed(0, I32), **here))
    return steps


program("TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3 TensorArrayWriteV3", 0, joined_arrays, [None])


def scattered_arrays(_):
    steps = []
    for arguments in (dict(), dict(dynamic=True), dict(shape=[3]), dict(shape=[2]), dict(t=F64)):
        for tensor in ((2, 2), (2,), ()):
            for indices in ([0, 1], [1, 0], [0, 0], [0, 5], [-1, 0], [0], [], [[0, 1]], 0):
                handle, flow = made_array(**arguments)
                flow = raw.TensorArrayScatterV3(handle=handle, indices=fed(np.array(indices, np.int32), I32), value=fed(V(tensor, F32)), flow_in=flow)
                steps.append(raw.TensorArraySizeV3(handle=handle, flow_in=flow))
    for index in (-1, 0, 1, 2):
        for arguments in (dict(), dict(dynamic=True)):
            handle, flow = made_array(**arguments)
            steps.append(raw.TensorArrayReadV3(handle=handle, index=fed(index, I32), flow_in=flow, dtype=F32))
            flow = raw.TensorArrayWriteV3(handle=handle, index=fed(index, I32), value=fed(V((2,), F32)), flow_in=flow)
            steps.append(raw.TensorArraySizeV3(handle=handle, flow_in=flow))
    handle, flow = made_array()
    closed = raw.TensorArrayCloseV3(handle=handle)
    with tf.control_dependencies([closed]):
        steps.append(raw.TensorArrayWriteV3(handle=handle, index=fed(0, I32), value=fed(V((2,), F32)), flow_in=flow))
        steps.append(raw.TensorArraySizeV3(handle=handle, flow_in=flow))
        steps.append(raw.TensorArrayReadV3(handle=handle, index=fed(0, I32), flow_in=flow, dtype=F32))
    return steps


program("TensorArrayScatterV3 TensorArrayCloseV3 TensorArraySizeV3", 0, scattered_arrays, [None])


def variant_of(name, metadata=b"", tensors=()):
    """A constant that holds one encoded value."""
    proto = tf1.make_tensor_proto(np.int32(0))
    proto.Clear()
    proto.dtype = tf.variant.as_datatype_enum
    proto.variant_val.add(type_name=name, metadata=metadata, tensors=[tf.make_tensor_proto(t) for t in tensors])
    attributes = {"dtype": tf1.AttrValue(type=proto.dtype), "value": tf1.AttrValue(tensor=proto)}
    return tf1.get_default_graph().create_op("Const", [], [tf.variant], attrs=attributes).outputs[0]


def numbers_in_variants(_):
    numbers = [variant_of("int", np.int32(x).tobytes()) for x in (7, -3, 2 ** 31 - 1)]
    numbers += [variant_of("float", np.float32(x).tobytes()) for x in (1.5, 1 / 3, np.inf, 1e20)]
    numbers += [variant_of("double", np.float64(x).tobytes()) for x in (2.5, 1 / 3, np.nan)]
    numbers += [variant_of("bool", b"\1"), variant_of("bool", b"\0")]
    others = [variant_of("tensorflow::Tensor", tensors=[np.float32([1, 2])]), variant_of("tensorflow::Tensor", tensors=[np.arange(9).reshape(3, 3)]),
              raw.TensorListReserve(element_shape=tf.constant([], I32), num_elements=2, element_dtype=F32), raw.EmptyTensorMap(), raw.OptionalNone(),
              raw.OptionalFromValue(components=[tf.constant([.5, 2])]), variant_of("")]
    text = lambda variant: raw.AsString(input=variant)
    steps = []
    for value in numbers + others:
        steps += [text(value), text(raw.ZerosLike(x=value)), text(raw.AddN(inputs=[value, value, value]))]
    steps += [text(raw.AddN(inputs=[numbers[0], numbers[1]])), text(raw.AddN(inputs=[numbers[0], numbers[3]])), text(raw.AddN(inputs=[numbers[0], others[2]]))]
    steps += [raw.AsString(input=tf.stack(numbers[:2])), raw.AsString(input=numbers[0], width=30), raw.AsString(input=numbers[0], precision=2)]
    return steps


program("AddN AsString", WORDS, numbers_in_variants, NOTYPE)
