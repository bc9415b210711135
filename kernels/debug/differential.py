"""Checks, prints, debug identities, probes of the runtime, and ops that TensorFlow has for its own tests."""
import tempfile

from tensorflow.python.framework import op_def_library
from tensorflow.python.framework import test_ops

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("Assert", 0, plain(*[{"condition": Fed(False, tf.bool), "data": [d]} for d in (
    Fed([1 / 3, 0.1, 123456789.0], F32), Fed([1 / 3, 45035996273704.961, np.nan, -np.inf], F64), Fed([1 + 2j], C64), Fed([7], U8))]))
row("Assert", 0, plain({"condition": Fed(True, BOOL), "data": [V((3,), F32)]}, {"condition": Fed(False, BOOL), "data": [ids(1, 2), Fed(b"x", STRING)]},
                       {"condition": Fed([True], BOOL), "data": [ids(1)]}))
row("CheckNumerics", 0, special(arg="tensor", message="m"), unary(arg="tensor", message="m"))
row("GuaranteeConst", 0, unary(arg="input"))


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


def runtime(_):
    return [op_def_library.apply_op("IsTensorFloat32Enabled"), raw.SyncDevice(), raw.Greater(x=raw.Timestamp(), y=tf.constant(1e9, F64)),
            raw.Shape(input=raw.NonDeterministicInts(shape=[3, 2]))]


program("IsTensorFloat32Enabled SyncDevice Timestamp NonDeterministicInts", 0, runtime, NOTYPE)


def copied_on_read(t):
    variable = raw.VarHandleOp(dtype=t, shape=[2], shared_name="copied")
    return [raw.AssignVariableOp(resource=variable, value=fed(V((2,), t))), raw.DisableCopyOnRead(resource=variable),
            raw.ReadVariableOp(resource=variable, dtype=t)]


program("DisableCopyOnRead", 0, copied_on_read, [F32, I64])
# One program each: one that cannot be made keeps all of a graph from running.
program("KernelLabel", 0, lambda t: [test_ops.kernel_label()], [None])
program("KernelLabelRequired", 0, lambda t: [test_ops.kernel_label_required(input=fed(1, I32))], [None])
program("SleepOp", 0, lambda t: [test_ops.sleep_op(sleep_seconds=0)], [None])
program("SleepIdentityOp", 0, lambda t: [test_ops.sleep_identity_op(sleep_seconds=0, input=fed(V((2,), t)))], [F32])
program("GetDeadline", 0, lambda t: [test_ops.get_deadline() > 0], [None])
known("GetDeadline", "should be OK", "a step's deadline stays with its master")


def resources_for_tests(t):
    stub = test_ops.stub_resource_handle_op(shared_name="probe")
    counted = test_ops.make_weak_resource_handle(stub)
    return [test_ops.resource_create_op(stub), test_ops.resource_using_op(stub), test_ops.is_resource_handle_ref_counting(stub),
            test_ops.is_resource_handle_ref_counting(counted)]


program("ResourceUsingOp IsResourceHandleRefCounting MakeWeakResourceHandle", 0, resources_for_tests, [None])
known("DevicePlacementOp", "|S", "the tasks have different names")
program("DevicePlacementOp", 0, lambda t: [test_ops.device_placement_op()], [None])
elsewhere("GetDeadline DevicePlacementOp KernelLabelRequired", "no result that is the same in both")
program("ConstructionFails", 0, lambda t: [op_def_library.apply_op("ConstructionFails")], [None])
elsewhere("Abort ConstructionFails", "they have no result")
row("CheckNumericsV2", 0, unary(arg="tensor", message="m"), special(arg="tensor", message="m"))
row("Copy CopyHost", 0, unary(arg="input", types=[F32, I32, STRING]))


def stubs(_):
    handle = _test_ops().stub_resource_handle_op(shared_name="stub")
    return [_test_ops().resource_initialized_op(handle), _test_ops().resource_create_op(handle), _test_ops().resource_initialized_op(handle), _test_ops().resource_create_op(handle)]


def _test_ops():
    from tensorflow.python.framework import test_ops  # pylint: disable=g-import-not-at-top
    return test_ops


program("StubResourceHandleOp ResourceCreateOp ResourceInitializedOp", 0, stubs, [None])
FILE = os.path.join(tempfile.gettempdir(), "weir_table_saved.bin")
with open(FILE, "wb") as bytes_file:
    bytes_file.write(bytes(range(64)))
row("ImmutableConst", 0, plain(*[{"dtype": t, "shape": s, "memory_region_name": f} for t, s, f in (
    (F32, [2, 2], FILE), (I64, [8], FILE), (U8, [0], FILE), (F32, [20, 2], FILE), (F32, [2], FILE + ".none"), (STRING, [2], FILE), (F32, [2], os.path.dirname(FILE)))]))
row("DebugNumericSummaryV2", 0, each(*[lambda t, m=m, o=o: {"input": V((2, 3), t), "output_dtype": o, "tensor_debug_mode": m, "tensor_id": 7} for m in range(1, 9) for o in (F32, F64)]),
    plain(*[{"input": Fed(x, F32), "output_dtype": F64, "tensor_debug_mode": m, "tensor_id": i} for m in (2, 3, 4, 5, 8) for x, i in (
        (SPECIAL, 3), (np.zeros((0, 2)), -1), (-1.0, 1), (np.zeros((2, 1, 3, 1, 2, 1, 4)), 1), ([0.0], (1 << 53) + 1))]))


def queues(_):
    queue = tf.queue.FIFOQueue(3, [F32])
    handle = op_def_library.apply_op("FakeQueue", resource=queue.queue_ref)
    enqueue = raw.QueueEnqueue(handle=handle, components=[fed(V((), F32))], timeout_ms=-1)
    return [handle[:0], enqueue, raw.QueueSize(handle=handle), queue.size(), raw.QueueDequeue(handle=handle, component_types=[F32], timeout_ms=-1)]


program("FakeQueue", 0, queues, NOTYPE)
program("Fact", 0, lambda _: [op_def_library.apply_op("Fact")], NOTYPE)
program("TestAttr", 0, lambda _: [test_ops.test_attr(T=F32)], NOTYPE)
program("DtypeWithDefaultOp", 0, lambda _: [test_ops.dtype_with_default_op(fed(V((2,), t))) for t in (F32, I32, STRING)], NOTYPE)
row("Print", 0, each(lambda t: {"input": V((2,), t), "data": [V((3,), t)]}))
row("PrintV2", 0, plain({"input": Fed(b"", STRING)}, {"input": Fed([b"a"], STRING)}))
