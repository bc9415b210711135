"""Control flow, calls of functions, and functional loops and branches."""
from pipelines import consume, function
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


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


def constant(t):
    return [tf1.constant(V((2, 3), t).value, t)]


program("Enter Exit LoopCond NextIteration", 0, loop, [F32, I32, I64, F64])


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


program("PartitionedCall StatefulPartitionedCall If StatelessIf Case StatelessCase While StatelessWhile", 0, functions, [F32, I32, F64])


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


def symbolic(t):
    @tf.function(autograph=False, input_signature=[tf.TensorSpec(None, t), tf.TensorSpec(None, t)])
    def product(a, b):
        return a * b

    product = product.get_concrete_function()
    product.add_to_graph()
    return [raw.SymbolicGradient(input=[fed(V((3,), t)) for _ in range(3)], Tout=[t, t], f=product),
            raw.RemoteCall(target=fed(b"/job:localhost/replica:0/task:0/device:CPU:0", STRING), args=[fed(V((3,), t))] * 2, Tout=[t], f=product)][:1]


program("SymbolicGradient RemoteCall", 0, symbolic, [F32, F64])
elsewhere("RemoteCall", "its target is another task's name in each: tests/interop/stock_function_test.py")


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
row("ToBool", 0, unary([F32, I32, BOOL, STRING], shapes=[(), (0,), (1,), (2, 2)], arg="input"))
row("DeviceIndex", 0, plain({"device_names": ["CPU", "GPU"]}, {"device_names": ["TPU"]}))


def session_handle(t):
    return [raw.GetSessionHandle(value=fed(V((3,), t))).op, raw.GetSessionHandleV2(value=fed(V((3,), t))).op,
            raw.GetSessionTensor(handle=fed(b"none", STRING), dtype=t), raw.DeleteSessionTensor(handle=fed(b"none", STRING))]


program("GetSessionHandle GetSessionHandleV2 GetSessionTensor DeleteSessionTensor", 0, session_handle, [F32, I32])
elsewhere("GetSessionTensor DeleteSessionTensor", "a handle of one step is no good in the next program: tests/interop/stock_session_test.py")
consume("MapDefun", lambda: raw.MapDefun(
    arguments=[fed(V((4, 2), F32))], captured_inputs=[fed(V((2,), F32))], output_types=[F32, F32], output_shapes=[[2], []],
    f=tf.function(lambda x, c: (x + c, tf.reduce_sum(x))).get_concrete_function(tf.TensorSpec([2], F32), tf.TensorSpec([2], F32))))


def selected_variable(t):
    variables = [raw.VariableV2(shape=[2], dtype=t) for _ in range(3)]
    assign = [raw.Assign(ref=v, value=fed(V((2,), t))) for v in variables]
    pick = lambda i: raw.Identity(input=raw.RefSelect(index=fed(i, I32), inputs=variables))
    return [assign, pick(0), pick(2), pick(3), pick(-1), raw.AssignAdd(ref=raw.RefSelect(index=1, inputs=variables), value=fed(V((2,), t))),
            raw.Identity(input=variables[1])]


program("RefSelect", 0, selected_variable, [F32, I32])


# Functions that do not fit where they are called.
NUMBER, REAL = tf.TensorSpec([], I32), tf.TensorSpec([], F32)


def misfit(ops, make):
    """`make()` gives the outputs of one node, in a graph of its own: TensorFlow rejects a graph for any of its nodes."""

    def build(_):
        return [make()]

    build.__name__ = ops
    program(ops, WORDS, build, NOTYPE)


def of_number(call):
    return function(call, NUMBER)


for body, condition in ((lambda x: (x + 1, x), lambda x: x < 3), (lambda x: tf.cast(x, F32), lambda x: x < 3), (lambda x: x + 1, lambda x: (x < 3, x))):
    for name in ("While", "StatelessWhile"):
        misfit(name, lambda name=name, body=body, condition=condition: getattr(raw, name)(input=[fed(0, I32)], cond=of_number(condition), body=of_number(body)))
for body in (lambda i, x: (x + 1, x), lambda i, x: [], lambda i, x: tf.cast(x, F32)):
    for limit in (1, 3):
        misfit("For", lambda body=body, limit=limit: raw.For(start=fed(0, I32), limit=fed(limit, I32), delta=fed(1, I32), input=[fed(0, I32)],
                                                             body=function(body, NUMBER, NUMBER)))
for bounds in (([0], 3, 1), (0, [3], 1), (0, 3, [1])):
    misfit("For", lambda bounds=bounds: raw.For(start=fed(bounds[0], I32), limit=fed(bounds[1], I32), delta=fed(bounds[2], I32), input=[fed(0, I32)],
                                                body=function(lambda i, x: x + i, NUMBER, NUMBER)))
for branch in (lambda x: (x, x), lambda x: [], lambda x: tf.cast(x, F32)):
    for name in ("If", "StatelessIf"):
        misfit(name, lambda name=name, branch=branch: getattr(raw, name)(cond=fed(True, BOOL), input=[fed(0, I32)], Tout=[I32], then_branch=of_number(branch),
                                                                         else_branch=of_number(lambda x: x)))
    for name in ("Case", "StatelessCase"):
        misfit(name, lambda name=name, branch=branch: getattr(raw, name)(branch_index=fed(0, I32), input=[fed(0, I32)], Tout=[I32],
                                                                         branches=[of_number(branch), of_number(lambda x: x)]))
misfit("Case", lambda: raw.Case(branch_index=fed([0], I32), input=[fed(0, I32)], Tout=[I32], branches=[of_number(lambda x: x)]))
for count, types, seed in ((1, [F32], F32), (3, [F32], F32), (2, [F32, F32], F32), (2, [F32], I32)):
    misfit("SymbolicGradient", lambda count=count, types=types, seed=seed: raw.SymbolicGradient(
        input=[fed(3, F32)] * (count - 1) + [fed(1, seed)], Tout=types, f=function(lambda x: x * x, REAL)))


def lowered(made):
    """The same node, which is to become switches and merges."""
    op = made if isinstance(made, tf.Operation) else tf.nest.flatten(made)[0].op
    op._set_attr("_lower_using_switch_merge", tf1.AttrValue(b=True))  # pylint: disable=protected-access
    return made


# Only the code: TensorFlow names nodes that it makes on the way. It takes branches and bodies with results that nobody reads, and conditions of one type
# alone; Weir takes the conditions that an If takes which is not lowered.
def lowered_misfit(name, make):
    def build(_):
        return [lowered(make())]

    build.__name__ = "lowered_" + name
    program(name, 0, build, NOTYPE)


FITS = lambda: of_number(lambda x: x)
for branch in (lambda x: (x, x), lambda x: tf.cast(x, F32)):
    for name in ("If", "StatelessIf"):
        lowered_misfit(name, lambda name=name, branch=branch: getattr(raw, name)(cond=fed(True, BOOL), input=[fed(0, I32)], Tout=[I32], then_branch=of_number(branch), else_branch=FITS()))
    lowered_misfit("Case", lambda branch=branch: raw.Case(branch_index=fed(0, I32), input=[fed(0, I32)], Tout=[I32], branches=[of_number(branch), FITS()]))
for branch in (lambda x: [], lambda x: tf.cast(x, F32)):
    for name in ("If", "StatelessIf"):
        lowered_misfit(name, lambda name=name, branch=branch: getattr(raw, name)(cond=fed(True, BOOL), input=[fed(0, I32)], Tout=[I32], then_branch=FITS(), else_branch=of_number(branch)))
    lowered_misfit("Case", lambda branch=branch: raw.Case(branch_index=fed(0, I32), input=[fed(0, I32)], Tout=[I32], branches=[FITS(), of_number(branch)]))
for arguments in ([], [F32], [I32, I32]):
    for name in ("If", "StatelessIf"):
        lowered_misfit(name, lambda name=name, arguments=arguments: getattr(raw, name)(
            cond=fed(True, BOOL), input=[fed(0, t) for t in arguments], Tout=[I32], then_branch=FITS(), else_branch=FITS()))
    lowered_misfit("Case", lambda arguments=arguments: raw.Case(branch_index=fed(0, I32), input=[fed(0, t) for t in arguments], Tout=[I32], branches=[FITS()]))
for arguments in ([F32], [I32, I32]):
    lowered_misfit("While", lambda arguments=arguments: raw.While(input=[fed(0, t) for t in arguments], cond=of_number(lambda x: x < 3), body=of_number(lambda x: x + 1)))
for body, condition in ((lambda x: tf.cast(x, F32), lambda x: x < 3), (lambda x: [], lambda x: x < 3), (lambda x: x + 1, lambda x: []), (lambda x: x + 1, lambda x: [x < 3])):
    for name in ("While", "StatelessWhile"):
        lowered_misfit(name, lambda name=name, body=body, condition=condition: getattr(raw, name)(input=[fed(0, I32)], cond=of_number(condition), body=of_number(body)))
for choice in ([], [True], [True, False]):
    misfit("If", lambda choice=choice: lowered(raw.If(cond=fed(choice, BOOL), input=[fed(0, I32)], Tout=[I32], then_branch=FITS(), else_branch=of_number(lambda x: x + 1))))
for choice in ([], [0], [0, 1], -1, 5):
    misfit("Case", lambda choice=choice: lowered(raw.Case(branch_index=fed(np.array(choice), I32), input=[fed(0, I32)], Tout=[I32], branches=[FITS(), of_number(lambda x: x + 1)])))


def unknown_attributes(_):
    """Of an op of a later release: neither runtime asks about them."""
    made = [raw.AddV2(x=fed(1, F32), y=fed(2, F32)) for _ in range(2)]
    for name, sum_ in zip(("later", "_later"), made):
        sum_.op._set_attr(name, tf1.AttrValue(i=3))  # pylint: disable=protected-access
    return made


program("NoOp", 0, unknown_attributes, NOTYPE)
