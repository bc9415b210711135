"""Ops by which a program looks at the runtime, and ops that TensorFlow has for its own tests."""
from tensorflow.python.framework import op_def_library
from tensorflow.python.framework import test_ops

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

raw = tf.raw_ops
NOTYPE = [None]


def debugging(t):
    x = fed(V((2, 3), t))
    bad = fed(Fed([np.nan, 1, np.inf, -np.inf, 0, -2, 5], t)) if t.is_floating else x
    steps = [raw.DebugIdentity(input=x, tensor_name="x"), raw.DebugGradientIdentity(input=x),
             raw.DebugIdentityV2(input=x, op_name="x", tensor_debug_mode=0), raw.DebugIdentityV3(input=x, device_name="d", tensor_name="x")]
    if t not in (BOOL, STRING):
        steps += [raw.DebugNanCount(input=bad, tensor_name="x"), raw.DebugNumericSummary(input=bad, tensor_name="x")[:11],
                  raw.DebugNumericSummary(input=bad, tensor_name="x", lower_bound=-1, upper_bound=2)[:11],
                  raw.DebugNumericSummary(input=x, tensor_name="x", mute_if_healthy=True)]
    return steps


program("DebugIdentity DebugGradientIdentity DebugIdentityV2 DebugIdentityV3 DebugNanCount DebugNumericSummary", 8, debugging,
        FLOATS[:2] + SIGNED + [BOOL, STRING])


def debugged_variable(t):
    variable = raw.VariableV2(shape=[2], dtype=t)
    return [raw.Assign(ref=variable, value=fed(V((2,), t))), raw.Identity(input=raw.DebugGradientRefIdentity(input=variable))]


program("DebugGradientRefIdentity", 0, debugged_variable, [F32, I32])


def constants(t):
    value = V((2, 3), t).value
    return [op_def_library.apply_op("HostConst", value=tf1.make_tensor_proto(value, t), dtype=t), raw.Shape(input=raw.FakeParam(dtype=t, shape=[2, 0]))]


program("HostConst FakeParam", 0, constants, [F32, I32, STRING, BOOL])


def runtime(_):
    return [op_def_library.apply_op("IsTensorFloat32Enabled"), raw.SyncDevice(), raw.Greater(x=raw.Timestamp(), y=tf.constant(1e9, F64)),
            raw.Shape(input=raw.NonDeterministicInts(shape=[3, 2]))]


program("IsTensorFloat32Enabled SyncDevice Timestamp NonDeterministicInts", 0, runtime, NOTYPE)


def selected_variable(t):
    variables = [raw.VariableV2(shape=[2], dtype=t) for _ in range(3)]
    assign = [raw.Assign(ref=v, value=fed(V((2,), t))) for v in variables]
    pick = lambda i: raw.Identity(input=raw.RefSelect(index=fed(i, I32), inputs=variables))
    return [assign, pick(0), pick(2), pick(3), pick(-1), raw.AssignAdd(ref=raw.RefSelect(index=1, inputs=variables), value=fed(V((2,), t))),
            raw.Identity(input=variables[1])]


program("RefSelect", 0, selected_variable, [F32, I32])


def copied_on_read(t):
    variable = raw.VarHandleOp(dtype=t, shape=[2], shared_name="copied")
    return [raw.AssignVariableOp(resource=variable, value=fed(V((2,), t))), raw.DisableCopyOnRead(resource=variable),
            raw.ReadVariableOp(resource=variable, dtype=t)]


program("DisableCopyOnRead", 0, copied_on_read, [F32, I64])


def resources_for_tests(t):
    stub = test_ops.stub_resource_handle_op(shared_name="probe")
    counted = test_ops.make_weak_resource_handle(stub)
    return [test_ops.resource_create_op(stub), test_ops.resource_using_op(stub), test_ops.is_resource_handle_ref_counting(stub),
            test_ops.is_resource_handle_ref_counting(counted)]


# One program each: one that cannot be made keeps all of a graph from running.
program("KernelLabel", 0, lambda t: [test_ops.kernel_label()], [None])
program("KernelLabelRequired", 0, lambda t: [test_ops.kernel_label_required(input=fed(1, I32))], [None])
program("SleepOp", 0, lambda t: [test_ops.sleep_op(sleep_seconds=0)], [None])
program("SleepIdentityOp", 0, lambda t: [test_ops.sleep_identity_op(sleep_seconds=0, input=fed(V((2,), t)))], [F32])
program("GetDeadline", 0, lambda t: [test_ops.get_deadline() > 0], [None])
program("ResourceUsingOp IsResourceHandleRefCounting MakeWeakResourceHandle", 0, resources_for_tests, [None])
known("GetDeadline", "should be OK", "a step's deadline stays with its master")
known("DevicePlacementOp", "|S", "the tasks have different names")
program("DevicePlacementOp", 0, lambda t: [test_ops.device_placement_op()], [None])
program("ConstructionFails", 0, lambda t: [op_def_library.apply_op("ConstructionFails")], [None])
elsewhere("Abort ConstructionFails", "they have no result")
elsewhere("GetDeadline DevicePlacementOp KernelLabelRequired", "no result that is the same in both")
elsewhere("PyFunc PyFuncStateless EagerPyFunc", "they run in the client's process: TensorFlow refuses them over grpc")
