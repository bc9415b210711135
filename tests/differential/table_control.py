"""Control flow, functions, stacks, tensor arrays, tensor lists, tables, queues: what needs more than one op."""
import tempfile

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

raw = tf.raw_ops


def unique(name):
    return tf1.get_default_graph().unique_name(name)


def switch_and_merge(t):
    dead, alive = raw.Switch(data=fed(V((3,), t)), pred=fed(True, BOOL))
    merged = raw.Merge(inputs=[raw.Identity(input=dead), raw.Identity(input=alive)])
    return [merged, raw.Switch(data=fed(V((3,), t)), pred=fed([True], BOOL))[0], raw.NoOp(), raw.ControlTrigger()]


program("Merge Switch ControlTrigger NoOp", 0, switch_and_merge)


def dead_fetch(t):
    return [raw.Switch(data=fed(V((3,), t)), pred=fed(True, BOOL)).output_false]


program("Switch", 0, dead_fetch, [F32])


def ref_control(t):
    var = raw.VariableV2(shape=[2], dtype=t)
    off, on = raw.RefSwitch(data=var, pred=fed(True, BOOL))
    merged = raw.RefMerge(inputs=[raw.RefIdentity(input=off), raw.RefIdentity(input=on)])
    return [raw.Assign(ref=var, value=fed(V((2,), t))), raw.AssignAdd(ref=merged.output, value=fed(V((2,), t))), merged.value_index, raw.Identity(input=var)]


program("RefSwitch RefMerge RefIdentity", 0, ref_control, [F32, I32, F64])


def loop(t):
    def enter(value, constant):
        return raw.Enter(data=fed(value), frame_name="f", is_constant=constant)

    entered = enter(V((3,), t), False)
    merged = raw.Merge(inputs=[entered, entered]).output
    with tf1.control_dependencies([merged]):
        axis = tf1.constant(0)
    total = raw.Sum(input=raw.Cast(x=merged, DstT=F32), axis=axis)
    condition = raw.LoopCond(input=raw.Less(x=total, y=enter(Fed(50.0, F32), True)))
    leave, stay = raw.Switch(data=merged, pred=condition)
    following = raw.NextIteration(data=raw.AddV2(x=stay, y=enter(Fed([9, 9, 9], t), True)))
    merged.op._update_input(1, following)  # pylint: disable=protected-access
    return [raw.Exit(data=leave)]


program("Enter Exit LoopCond NextIteration", 0, loop, [F32, I32, I64, F64])


def placeholders(t):
    return [raw.PlaceholderWithDefault(input=fed(V((3,), t)), shape=[3]), raw.Placeholder(dtype=t)]


program("PlaceholderWithDefault Placeholder PlaceholderV2", 0, placeholders, [F32])


def constant(t):
    return [tf1.constant(V((2, 3), t).value, t)]


program("Const", 0, constant, ALL)


def abort(_):
    return [raw.Abort(error_msg="x", exit_without_error=True)]


def functions(t):
    x, y = fed(V((3,), t)), fed(V((3,), t))

    @tf.function(autograph=False, input_signature=[tf.TensorSpec(None, t), tf.TensorSpec(None, t)])
    def add(a, b):
        return a + b

    @tf.function(autograph=False, input_signature=[tf.TensorSpec(None, t), tf.TensorSpec(None, t)])
    def multiply(a, b):
        return a * b

    @tf.function(autograph=False, input_signature=[tf.TensorSpec(None, t), tf.TensorSpec(None, t)])
    def small(a, b):
        return tf.reduce_sum(tf.cast(a, F32)) < 40

    @tf.function(autograph=False, input_signature=[tf.TensorSpec(None, t), tf.TensorSpec(None, t)])
    def grow(a, b):
        return tf.abs(a) + tf.ones_like(a), b

    add, multiply, small, grow = [f.get_concrete_function() for f in (add, multiply, small, grow)]
    for f in (add, multiply, small, grow):
        f.add_to_graph()
    args = [x, y]
    branch = fed(1, I32)
    return [raw.PartitionedCall(args=args, Tout=[t], f=add), raw.StatefulPartitionedCall(args=args, Tout=[t], f=multiply),
            raw.If(cond=fed(True, BOOL), input=args, Tout=[t], then_branch=add, else_branch=multiply),
            raw.StatelessIf(cond=fed(0, I32), input=args, Tout=[t], then_branch=add, else_branch=multiply),
            raw.If(cond=fed([], F32), input=args, Tout=[t], then_branch=add, else_branch=multiply),
            raw.Case(branch_index=branch, input=args, Tout=[t], branches=[add, multiply]),
            raw.StatelessCase(branch_index=fed(-3, I32), input=args, Tout=[t], branches=[add, multiply]),
            raw.While(input=args, cond=small, body=grow), raw.StatelessWhile(input=args, cond=small, body=grow, parallel_iterations=1),
            raw.RemoteCall(target=fed(b"/job:worker/task:0/device:CPU:0", STRING), args=args, Tout=[t], f=add)][:-1]




def branches_with_effects(t):
    """An effect that no result needs does not happen in a branch or a loop; that of a function which is called does."""
    from tensorflow.python.framework import function
    from tensorflow.python.ops import cond_v2
    from tensorflow.python.ops import while_v2
    counters = [raw.VarHandleOp(dtype=t, shape=[], shared_name="counter %d" % i) for i in range(4)]
    count = [lambda h=h: raw.AssignAddVariableOp(resource=h, value=tf.ones([], t)) for h in counters]

    def after(effect, result):
        with tf.control_dependencies([effect]):
            return tf.identity(result)

    @function.Defun(tf.resource)
    def called(handle):
        raw.AssignAddVariableOp(resource=handle, value=tf.ones([], t))
        return tf.constant(3)

    x = fed(V((), t))
    steps = [[raw.AssignVariableOp(resource=h, value=tf.zeros([], t)) for h in counters],
             cond_v2.cond_v2(fed(True, BOOL), lambda: (count[0](), x)[1], lambda: x + x, name="branch"),
             cond_v2.cond_v2(fed(True, BOOL), lambda: after(count[1](), x), lambda: x + x, name="needed"),
             while_v2.while_loop(lambda i: i < 3, lambda i: (count[2](), i + 1)[1], [tf.constant(0)], return_same_structure=False),
             called(counters[3])]
    return steps + [[raw.ReadVariableOp(resource=h, dtype=t) for h in counters]]


program("If", 0, branches_with_effects, [F32])
program("PartitionedCall StatefulPartitionedCall If StatelessIf Case StatelessCase While StatelessWhile", 0, functions, [F32, I32, F64])


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


def stack_misuse(t):
    handle = raw.StackV2(max_size=fed(1, I32), elem_type=t, stack_name=unique("s"))
    with tf1.control_dependencies([raw.StackPushV2(handle=handle, elem=fed(V((3,), t)))]):
        return [raw.StackPushV2(handle=handle, elem=fed(V((3,), t)))]


def stack_empty(t):
    return [raw.StackPopV2(handle=raw.StackV2(max_size=-1, elem_type=t, stack_name=unique("s")), elem_type=t)]


program("StackV2 StackPushV2 StackPopV2 StackCloseV2", 0, stack, [F32, I32, BOOL, STRING])
program("StackV2", 0, stack_misuse, [F32])
program("StackV2", 0, stack_empty, [F32])


def array(t):
    handle, flow = raw.TensorArrayV3(size=fed(3, I32), dtype=t, tensor_array_name=unique("a"), clear_after_read=False)
    flow = raw.TensorArrayScatterV3(handle=handle, indices=fed([0, 2], I32), value=fed(V((2, 3), t)), flow_in=flow)
    flow = raw.TensorArrayWriteV3(handle=handle, index=fed(1, I32), value=fed(V((3,), t)), flow_in=flow)
    return [[raw.TensorArrayGatherV3(handle=handle, indices=fed([2, 0, 1], I32), flow_in=flow, dtype=t),
             raw.TensorArrayReadV3(handle=handle, index=fed(2, I32), flow_in=flow, dtype=t),
             raw.TensorArraySizeV3(handle=handle, flow_in=flow),
             raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=t)], raw.TensorArrayCloseV3(handle=handle)]


def array_split(t):
    handle, flow = raw.TensorArrayV3(size=fed(2, I32), dtype=t, tensor_array_name=unique("a"))
    flow = raw.TensorArraySplitV3(handle=handle, value=fed(V((5, 2), t)), lengths=fed([2, 3], I64), flow_in=flow)
    return [[raw.TensorArrayReadV3(handle=handle, index=fed(1, I32), flow_in=flow, dtype=t)]]


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


def array_wrong(index, size=2, value=(3,), write_type=None, twice=False):
    def build(t):
        handle, flow = raw.TensorArrayV3(size=fed(size, I32), dtype=t, element_shape=[3], tensor_array_name=unique("a"))
        for _ in range(2 if twice else 1):
            flow = raw.TensorArrayWriteV3(handle=handle, index=fed(index, I32), value=fed(V(value, write_type or t)), flow_in=flow)
        return [raw.TensorArrayReadV3(handle=handle, index=fed(0, I32), flow_in=flow, dtype=t)]

    build.__name__ = "array_wrong(%s, %s, %s)" % (index, size, value)
    return build


def array_scatter_beyond(t):
    handle, flow = raw.TensorArrayV3(size=fed(3, I32), dtype=t, tensor_array_name=unique("a"))
    flow = raw.TensorArrayScatterV3(handle=handle, indices=fed([0, 3], I32), value=fed(V((2,), t)), flow_in=flow)
    return [raw.TensorArraySizeV3(handle=handle, flow_in=flow)]


program("TensorArrayV3", 0, array_scatter_beyond, [F32])
program("TensorArrayV3 TensorArrayScatterV3 TensorArrayWriteV3 TensorArrayGatherV3 TensorArrayReadV3 TensorArraySizeV3 TensorArrayConcatV3 "
        "TensorArrayCloseV3", 0, array, [F32, F64, I32, BOOL, STRING, HALF])
program("TensorArrayV3 TensorArraySplitV3", 0, array_split, [F32, I32, STRING])
program("TensorArrayV3 TensorArrayGradV3 TensorArrayGradWithShape", 0, array_grad, [F32, F64])
for _arguments in [dict(index=5), dict(index=-1), dict(index=0, value=(2,)), dict(index=0, write_type=F64), dict(index=0, size=-1),
                   dict(index=0, twice=True), dict(index=1)]:
    program("TensorArrayV3", 0, array_wrong(**_arguments), [F32])


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


def tensor_list_reserved(t):
    made = raw.TensorListReserve(element_shape=fed([2], I32), num_elements=fed(3, I32), element_dtype=t)
    empty = raw.EmptyTensorList(element_shape=fed([-1], I32), max_num_elements=fed(1, I32), element_dtype=t)
    once = raw.TensorListPushBack(input_handle=empty, tensor=fed(V((4,), t)))
    old = raw.TensorListScatter(tensor=fed(V((2, 2), t)), indices=fed([1, 0], I32), element_shape=fed([2], I32))
    return [raw.TensorListStack(input_handle=made, element_shape=fed([2], I32), element_dtype=t),
            raw.TensorListStack(input_handle=old, element_shape=fed([2], I32), element_dtype=t),
            raw.TensorListLength(input_handle=once), raw.TensorListLength(input_handle=raw.TensorListPushBack(input_handle=once, tensor=fed(V((4,), t))))]


def tensor_list_unequal(t):
    made = raw.EmptyTensorList(element_shape=fed(-1, I32), max_num_elements=fed(-1, I32), element_dtype=t)
    for n in range(3):
        made = raw.TensorListPushBack(input_handle=made, tensor=fed(V((n,), t)))
    return [raw.TensorListGather(input_handle=made, indices=fed(np.array(i, int), I32), element_shape=fed(-1, I32), element_dtype=t) for i in ([2, 2], [2, 1], [5], [])]


program("EmptyTensorList TensorListPushBack TensorListGather", 0, tensor_list_unequal, [F32, STRING])


def list_wrong(name, **arguments):
    def build(t):
        made = raw.TensorListFromTensor(tensor=fed(V((3, 2), t)), element_shape=fed([2], I32))
        inputs = {key: fed(value) if isinstance(value, Fed) else value for key, value in arguments.items()}
        out = getattr(raw, name)(input_handle=made, **inputs)
        return [out if not isinstance(out, tf.Tensor) or out.dtype != tf.variant else raw.TensorListLength(input_handle=out)]

    build.__name__ = "%s(%s)" % (name, arguments.keys())
    return build


program("TensorListFromTensor TensorListPushBack TensorListSetItem TensorListPopBack TensorListResize TensorListScatterV2 TensorListConcatLists "
        "TensorListSplit TensorListScatterIntoExistingList TensorListStack TensorListLength TensorListElementShape TensorListGather TensorListGetItem "
        "TensorListConcatV2 TensorListConcat", 0, tensor_list, NUMBERS + [BOOL, STRING])
program("TensorListReserve EmptyTensorList TensorListScatter", 0, tensor_list_reserved, [F32, I32, STRING])
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


def mutable_table(t):
    key, value = t
    handle = raw.MutableHashTableV2(key_dtype=key, value_dtype=value, shared_name=unique("t"))
    return table_steps(handle, key, value, ())


def anonymous_table(t):
    return [raw.LookupTableSizeV2(table_handle=raw.AnonymousMutableHashTable(key_dtype=t[0], value_dtype=t[1])),
            raw.LookupTableSizeV2(table_handle=raw.AnonymousHashTable(key_dtype=t[0], value_dtype=t[1]))]


def tensors_table(t):
    key, value = t
    handle = raw.MutableHashTableOfTensorsV2(key_dtype=key, value_dtype=value, value_shape=[2], shared_name=unique("t"))
    return table_steps(handle, key, value, (2,))


def static_table(t):
    key, value = t
    handle = raw.HashTableV2(key_dtype=key, value_dtype=value, shared_name=unique("t"))
    keys = fed(KEYS[key], key)
    find = raw.LookupTableFindV2(table_handle=handle, keys=keys, default_value=fed(V((), value)))
    return [raw.InitializeTableV2(table_handle=handle, keys=keys, values=fed(V((3,), value))), find, raw.LookupTableSizeV2(table_handle=handle),
            raw.InitializeTableV2(table_handle=handle, keys=keys, values=fed(V((3,), value)))]


KEYS = {STRING: [b"a", b"", b"c"], I64: [1, -2, 3], I32: [1, -2, 3]}


def table_steps(handle, key, value, shape):
    keys, values = fed(KEYS[key], key), fed(V((3,) + shape, value))
    size = raw.LookupTableSizeV2(table_handle=handle)
    find = raw.LookupTableFindV2(table_handle=handle, keys=fed(KEYS[key][::-1] + [KEYS[key][0]], key), default_value=fed(V(shape, value)))
    exported = raw.LookupTableExportV2(table_handle=handle, Tkeys=key, Tvalues=value)
    return [raw.LookupTableInsertV2(table_handle=handle, keys=keys, values=values), size, find,
            raw.LookupTableRemoveV2(table_handle=handle, keys=fed(KEYS[key][:1], key)), size,
            raw.LookupTableImportV2(table_handle=handle, keys=fed(KEYS[key][1:2], key), values=fed(V((1,) + shape, value))), exported, size,
            raw.LookupTableInsertV2(table_handle=handle, keys=keys, values=fed(V((2,) + shape, value)))]


class Pair(tuple):
    """Types of keys and values."""
    name = property(lambda self: "%s to %s" % (self[0].name, self[1].name))


_PAIRS = [Pair(p) for p in [(STRING, I64), (I64, F32), (STRING, F32), (I64, STRING)]]
program("MutableHashTableV2 LookupTableInsertV2 LookupTableSizeV2 LookupTableFindV2 LookupTableRemoveV2 LookupTableImportV2 LookupTableExportV2", 0,
        mutable_table, _PAIRS)
program("MutableHashTableOfTensorsV2", 0, tensors_table, [Pair((STRING, I64)), Pair((I64, F32))])
program("HashTableV2 InitializeTableV2", 0, static_table, [Pair((STRING, I64)), Pair((I64, STRING)), Pair((I64, F32))])
program("AnonymousMutableHashTable AnonymousHashTable", 0, anonymous_table, [Pair((STRING, I64)), Pair((I64, F32))])


def queue(kind, **attrs):
    def build(t):
        handle = getattr(raw, kind)(component_types=[t, I32], shared_name=unique("q"), **attrs)
        size, closed = raw.QueueSizeV2(handle=handle), raw.QueueIsClosedV2(handle=handle)
        one = raw.QueueEnqueueV2(handle=handle, components=[fed(V((2,), t)), fed(7, I32)])
        many = raw.QueueEnqueueManyV2(handle=handle, components=[fed(V((4, 2), t)), fed([1, 2, 3, 4], I32)])
        wrong = raw.QueueEnqueueManyV2(handle=handle, components=[fed(V((4, 2), t)), fed([1, 2, 3], I32)])
        take = raw.QueueDequeueV2(handle=handle, component_types=[t, I32])
        several = raw.QueueDequeueManyV2(handle=handle, n=fed(2, I32), component_types=[t, I32])
        rest = raw.QueueDequeueUpToV2(handle=handle, n=fed(9, I32), component_types=[t, I32])
        return [one, many, size, take, several, closed, raw.QueueCloseV2(handle=handle), closed, rest, size, [take.components if hasattr(take, "components") else take]]

    build.__name__ = kind
    return build


program("FIFOQueueV2 QueueEnqueueV2 QueueEnqueueManyV2 QueueDequeueV2 QueueDequeueManyV2 QueueDequeueUpToV2 QueueSizeV2 QueueIsClosedV2 QueueCloseV2", 0,
        queue("FIFOQueueV2", shapes=[[2], []], capacity=9), [F32, I64, STRING])
program("RandomShuffleQueueV2", 0, queue("RandomShuffleQueueV2", shapes=[[2], []], capacity=9, seed=3, seed2=4), [F32, I64])


def ref_loop(t):
    var = raw.VariableV2(shape=[2], dtype=t)
    entered = raw.RefEnter(data=var, frame_name="f")
    merged = raw.RefMerge(inputs=[entered, entered]).output
    with tf1.control_dependencies([merged]):
        axis = tf1.constant([0])
    condition = raw.LoopCond(input=raw.Less(x=raw.Cast(x=raw.Max(input=merged, axis=axis), DstT=F32), y=raw.Enter(data=fed(50.0, F32), frame_name="f", is_constant=True)))
    leave, stay = raw.RefSwitch(data=merged, pred=condition)
    added = raw.AssignAdd(ref=stay, value=raw.Enter(data=fed(Fed([9, 9], t)), frame_name="f", is_constant=True))
    merged.op._update_input(1, raw.RefNextIteration(data=added))  # pylint: disable=protected-access
    return [raw.Assign(ref=var, value=fed(V((2,), t))), raw.Identity(input=raw.RefExit(data=leave)), raw.Identity(input=var)]


program("RefEnter RefExit RefNextIteration", 0, ref_loop, [F32, I32])


def save_and_restore(t):
    prefix = tempfile.mkdtemp(prefix="weir_differential_") + "/c"
    x, y = fed(V((2, 3), t)), fed(V((), I64))
    parts = [fed(prefix + "%d" % i, STRING) for i in range(2)]
    names = [fed([name], STRING) for name in ("x", "y")]
    whole = fed([b""], STRING)
    return [raw.SaveV2(prefix=parts[0], tensor_names=names[0], shape_and_slices=whole, tensors=[x]),
            raw.SaveV2(prefix=parts[1], tensor_names=names[1], shape_and_slices=whole, tensors=[y]),
            raw.RestoreV2(prefix=parts[0], tensor_names=names[0], shape_and_slices=whole, dtypes=[t]),
            raw.RestoreV2(prefix=parts[0], tensor_names=names[0], shape_and_slices=fed([b"2 3 0,1:1,2"], STRING), dtypes=[t]),
            raw.MergeV2Checkpoints(checkpoint_prefixes=raw.Pack(values=parts), destination_prefix=fed(prefix, STRING)),
            raw.RestoreV2(prefix=fed(prefix, STRING), tensor_names=fed([b"y", b"x"], STRING), shape_and_slices=fed([b"", b""], STRING), dtypes=[I64, t]),
            raw.RestoreV2(prefix=fed(prefix, STRING), tensor_names=fed([b"z"], STRING), shape_and_slices=whole, dtypes=[t])]


program("SaveV2 RestoreV2 MergeV2Checkpoints", 0, save_and_restore, ALL)


def symbolic(t):
    @tf.function(autograph=False, input_signature=[tf.TensorSpec(None, t), tf.TensorSpec(None, t)])
    def product(a, b):
        return a * b

    product = product.get_concrete_function()
    product.add_to_graph()
    return [raw.SymbolicGradient(input=[fed(V((3,), t)) for _ in range(3)], Tout=[t, t], f=product),
            raw.RemoteCall(target=fed(b"/job:localhost/replica:0/task:0/device:CPU:0", STRING), args=[fed(V((3,), t))] * 2, Tout=[t], f=product)][:1]


program("SymbolicGradient RemoteCall", 0, symbolic, [F32, F64])
known("SaveV2", "not supported", "Weir restores slices of all types")


def for_loop(t):
    @tf.function(autograph=False, input_signature=[tf.TensorSpec(None, I32), tf.TensorSpec(None, t)])
    def body(i, a):
        return a + tf.cast(i, t)

    body = body.get_concrete_function()
    body.add_to_graph()
    return [raw.For(start=fed(a, I32), limit=fed(b, I32), delta=fed(c, I32), input=[fed(V((3,), t))], body=body)
            for a, b, c in [(0, 5, 2), (5, 0, -1), (3, 3, 1), (0, 3, 0)]]


program("For", 0, for_loop, [F32, I32])
row("ToBool", 0, unary(shapes=[(), (0,), (1,), (2, 3)]))
row("DeviceIndex", 0, plain({"device_names": ["CPU", "GPU"]}, {"device_names": ["TPU"]}))


def session_handle(t):
    return [raw.GetSessionHandle(value=fed(V((3,), t))).op, raw.GetSessionHandleV2(value=fed(V((3,), t))).op,
            raw.GetSessionTensor(handle=fed(b"none", STRING), dtype=t), raw.DeleteSessionTensor(handle=fed(b"none", STRING))]


program("GetSessionHandle GetSessionHandleV2 GetSessionTensor DeleteSessionTensor", 0, session_handle, [F32, I32])

# Of gradients.
known("Cumprod", "complex", "TensorFlow forgets to conjugate")
known("UnsortedSegmentProd", "gradient of UnsortedSegmentProd(data=complex", "TensorFlow forgets to conjugate")
known("SegmentProd", "gradient of SegmentProd(data=complex", "TensorFlow forgets to conjugate")
known("SparseSegmentMeanWithNumSegments", "gradient of", "TensorFlow's gradient of no rows is not set")

elsewhere("GetSessionTensor DeleteSessionTensor", "a handle of one step is no good in the next program: tests/interop/stock_session_test.py")
elsewhere("RemoteCall", "its target is another task's name in each: tests/interop/stock_function_test.py")
elsewhere("TensorArrayConcatV2", "TensorFlow's client makes it only with a kernel that it does not have")
