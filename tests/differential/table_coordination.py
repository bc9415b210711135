"""Objects by which parts of a graph coordinate: queues, barriers, accumulators, staging areas, tables, readers; updates of
parts of values; generators in variables; summaries. What waits is in tests/interop/state_programs.py."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

raw = tf.raw_ops
ONE = [F32]


def queue_steps(make, version, first=()):
    def build(t):
        queue = make(version)
        op = lambda name, **kw: getattr(raw, name + version)(handle=queue, **kw)
        types = list(first) + [F32, I64]
        batch = [np.arange(3)[::-1].astype(t.as_numpy_dtype) for t in types]
        take = dict(component_types=types)
        return [op("QueueEnqueueMany", components=batch), op("QueueSize"), op("QueueDequeue", **take),
                op("QueueEnqueue", components=[b[0] for b in batch]), op("QueueDequeueMany", n=2, **take),
                op("QueueEnqueueMany", components=[b.reshape(3, 1) for b in batch]),
                op("QueueEnqueueMany", components=[batch[0][:2]] + batch[1:]),
                op("QueueDequeueMany", n=fed(Fed(np.int32(-1))), **take), op("QueueIsClosed"), op("QueueClose"), op("QueueIsClosed"),
                op("QueueDequeueUpTo", n=7, **take), op("QueueDequeueUpTo", n=7, **take), op("QueueDequeue", **take),
                op("QueueEnqueue", components=[b[0] for b in batch]), op("QueueClose", cancel_pending_enqueues=True)]

    return build


USERS = "QueueEnqueue QueueEnqueueMany QueueDequeue QueueDequeueMany QueueDequeueUpTo QueueClose QueueSize QueueIsClosed"
for v in ("", "V2"):
    plain = dict(component_types=[F32, I64], shapes=[[], []])
    program("FIFOQueue%s " % v + " ".join(u + v for u in USERS.split()), 0,
            queue_steps(lambda v: getattr(raw, "FIFOQueue" + v)(**plain), v), ONE)
    program("PaddingFIFOQueue" + v, 0, queue_steps(lambda v: getattr(raw, "PaddingFIFOQueue" + v)(**plain), v), ONE)
    program("RandomShuffleQueue" + v, 0,
            queue_steps(lambda v: getattr(raw, "RandomShuffleQueue" + v)(seed=3, seed2=4, **plain), v), ONE)
    known("PriorityQueue" + v, "closed and has insufficient elements", "TensorFlow loses what is left in it")
    program("PriorityQueue" + v, 0,
            queue_steps(lambda v: getattr(raw, "PriorityQueue" + v)(**plain), v, [I64]), ONE)


def barriers(t):
    barrier = raw.Barrier(component_types=[t, I64], shapes=[[2], []])
    insert = lambda keys, i, values: raw.BarrierInsertMany(handle=barrier, keys=keys, values=values, component_index=i)
    take = lambda n, small=False: raw.BarrierTakeMany(handle=barrier, num_elements=n, component_types=[t, I64],
                                                      allow_small_batch=small)
    sizes = [raw.BarrierReadySize(handle=barrier), raw.BarrierIncompleteSize(handle=barrier)]
    return [insert(["a", "b"], 0, fed(V((2, 2), t))), insert(["b", "c"], 1, np.array([1, 2])), sizes[0], sizes[1], take(1),
            insert(["a"], 0, fed(V((1, 2), t))), insert(["a"], 0, fed(V((1, 3), t))), raw.BarrierClose(handle=barrier),
            insert(["new"], 1, np.array([9])), insert(["c"], 0, fed(V((1, 2), t))), insert(["a"], 1, np.array([5])),
            take(2), take(1), take(1, True), raw.BarrierClose(handle=barrier)]


program("Barrier BarrierInsertMany BarrierTakeMany BarrierClose BarrierReadySize BarrierIncompleteSize", 0, barriers, ONE)


def accumulators(maker, prefix):
    def build(t):
        steps = []
        for reduction in ("MEAN", "SUM"):
            acc = getattr(raw, maker)(dtype=t, shape=[3], reduction_type=reduction)
            op = lambda name, **kw: getattr(raw, prefix + name)(handle=acc, **kw)
            apply = lambda step, shape=(3,): op("ApplyGradient", local_step=np.int64(step), gradient=fed(V(shape, t)))
            steps += [apply(0), apply(0), apply(0), op("NumAccumulated"), op("TakeGradient", num_required=2, dtype=t),
                      apply(0), op("NumAccumulated"), op("SetGlobalStep", new_global_step=np.int64(4)), apply(3), apply(4),
                      apply(5, (2,)), op("NumAccumulated"), op("TakeGradient", num_required=0, dtype=t),
                      op("TakeGradient", num_required=1, dtype=t)]
        return steps

    return build


WITH_KERNELS = [F32, F64, HALF]
for maker, prefix in (("ConditionalAccumulator", "Accumulator"), ("ResourceConditionalAccumulator", "ResourceAccumulator")):
    program(maker + " " + " ".join(prefix + n for n in ("ApplyGradient", "NumAccumulated", "TakeGradient", "SetGlobalStep")),
            1, accumulators(maker, prefix), WITH_KERNELS)


def sparse_accumulators(t):
    acc = raw.SparseConditionalAccumulator(dtype=t, shape=[5, 2])

    def apply(rows, shape=(5, 2), width=2, known=True):
        return raw.SparseAccumulatorApplyGradient(
            handle=acc, local_step=np.int64(0), gradient_indices=np.array(rows, np.int64),
            gradient_values=fed(V((len(rows), width), t)), gradient_shape=np.array(shape, np.int64), has_known_shape=known)

    take = raw.SparseAccumulatorTakeGradient(handle=acc, num_required=2, dtype=t)
    return [apply([0, 3]), apply([1, 3, 4]), apply([3], known=False), take, raw.AccumulatorSetGlobalStep(
        handle=acc, new_global_step=np.int64(0)), apply([9]), apply([1], (6, 2)), apply([1], (5,)), apply([1], width=3)]


program("SparseConditionalAccumulator SparseAccumulatorApplyGradient SparseAccumulatorTakeGradient", 1, sparse_accumulators,
        WITH_KERNELS)


def stages(t):
    area = dict(shared_name="area", capacity=3)
    typed = dict(area, dtypes=[t, I32])
    put = lambda: raw.Stage(values=[fed(V((2,), t)), np.int32(7)], **area)
    return [put(), put(), raw.StageSize(**typed), raw.StagePeek(index=1, **typed), raw.Unstage(**typed),
            raw.StageSize(**typed), raw.StageClear(**typed), raw.StageSize(**typed)]


program("Stage Unstage StagePeek StageSize StageClear", 0, stages, [F32, STRING, BOOL])


def maps(prefix):
    def build(t):
        area = dict(shared_name=prefix, dtypes=[t, I32])
        op = lambda name, **kw: getattr(raw, prefix + name)(**area, **kw)
        put = lambda key, indices, values: op("Stage", key=np.int64(key), indices=indices, values=values)
        sizes = lambda: [op("Size"), op("IncompleteSize")]
        return [put(4, [0, 1], [fed(V((2,), t)), np.int32(1)]), put(3, [1], [np.int32(5)]), *sizes(),
                put(3, [1], [np.int32(5)]), put(3, [7], [np.int32(5)]), put(3, [0], [fed(V((), t))]), *sizes(),
                op("Peek", key=np.int64(4), indices=[0, 1]),
                op("Unstage", key=np.int64(4), indices=[0, 1]), op("UnstageNoKey", indices=[0, 1]), *sizes(),
                put(9, [0], [fed(V((), t))]), op("Clear"), *sizes(), put(2, [0, 1], [fed(V((), t)), np.int32(7)]),
                getattr(raw, prefix + "Unstage")(shared_name=prefix, dtypes=[I32], key=np.int64(2), indices=[1]), *sizes()]

    return build


for prefix in ("Map", "OrderedMap"):
    program(" ".join(prefix + n for n in ("Stage", "Unstage", "UnstageNoKey", "Peek", "Size", "IncompleteSize", "Clear")), 0,
            maps(prefix), [F32, STRING])


def mutexes(t):
    return [raw.ConsumeMutexLock(mutex_lock=raw.MutexLock(mutex=raw.MutexV2(shared_name="m"))) for _ in range(2)]


program("MutexV2 MutexLock ConsumeMutexLock", 0, mutexes, ONE)


def tables(maker, version, **attrs):
    def build(t):
        table = getattr(raw, maker + version)(key_dtype=I64, value_dtype=t, shared_name=maker, **attrs)
        shape = tuple(attrs.get("value_shape", ()))
        keys = lambda *k: np.array(k, np.int64)
        op = lambda name, **kw: getattr(raw, name + version)(table_handle=table, **kw)
        values = lambda n: fed(V((n,) + shape, t))
        find = lambda: op("LookupTableFind", keys=keys(3, 1, 7), default_value=fed(V(shape, t)))
        steps = [op("LookupTableSize"), find()]
        if maker == "HashTable":
            put = values(2)
            return steps + [op("InitializeTable", keys=keys(1, 3), values=put), find(), op("LookupTableSize"),
                            op("InitializeTable", keys=keys(1, 3), values=put),
                            op("LookupTableInsert", keys=keys(1), values=values(1))]
        put = values(1)
        return steps + [op("LookupTableInsert", keys=keys(1, 3, 9), values=values(3)), find(), op("LookupTableSize"),
                        op("LookupTableImport", keys=keys(5), values=put),
                        *op("LookupTableExport", Tkeys=I64, Tvalues=t), find(),
                        op("LookupTableInsert", keys=keys(1, 3), values=values(3))]

    return build


for v in ("", "V2"):
    program("HashTable%s InitializeTable%s" % (v, v), 0, tables("HashTable", v), [F32, I64])
    program("MutableHashTable{0} LookupTableFind{0} LookupTableInsert{0} LookupTableSize{0} LookupTableExport{0} "
            "LookupTableImport{0}".format(v), 0, tables("MutableHashTable", v), [F32, I64])
    program("MutableHashTableOfTensors" + v, 0, tables("MutableHashTableOfTensors", v, value_shape=[2]), [F32, I64])


def dense_tables(t):
    reserved = dict(empty_key=np.int64(-1), deleted_key=np.int64(-2))
    table = raw.MutableDenseHashTableV2(value_dtype=t, initial_num_buckets=4, shared_name="dense", **reserved)
    k = np.arange(5)
    export = raw.LookupTableExportV2(table_handle=table, Tkeys=I64, Tvalues=t)
    return [raw.LookupTableInsertV2(table_handle=table, keys=k, values=fed(V((5,), t))), *export,
            raw.LookupTableRemoveV2(table_handle=table, keys=k[1:3]), *export, raw.LookupTableSizeV2(table_handle=table),
            raw.LookupTableRemoveV2(table_handle=table, keys=np.int64([-1])),
            raw.LookupTableFindV2(table_handle=table, keys=k, default_value=fed(V((), t))),
            raw.LookupTableSizeV2(table_handle=raw.AnonymousMutableDenseHashTable(value_dtype=t, **reserved))]


known("MutableDenseHashTableV2", "step 5: output 0", "the bucket of an entry that was removed shows no value")
program("MutableDenseHashTableV2 LookupTableRemoveV2 AnonymousMutableDenseHashTable", 0, dense_tables, [F32, I64])


def anonymous_tables(t):
    shape = dict(value_shape=[2])
    return [raw.LookupTableSizeV2(table_handle=make(key_dtype=STRING, value_dtype=I64, **more)) for make, more in (
        (raw.AnonymousHashTable, {}), (raw.AnonymousMutableHashTable, {}), (raw.AnonymousMutableHashTableOfTensors, shape))]


program("AnonymousHashTable AnonymousMutableHashTable AnonymousMutableHashTableOfTensors", 0, anonymous_tables, ONE)


def readers(t):
    steps = []
    for make in (raw.IdentityReaderV2(), raw.WholeFileReaderV2(), raw.TextLineReaderV2(), raw.TFRecordReaderV2(),
                 raw.FixedLengthRecordReaderV2(record_bytes=2)):
        queue = raw.FIFOQueueV2(component_types=[STRING], shapes=[[]])
        op = lambda name, **kw: getattr(raw, name)(reader_handle=make, **kw)
        steps += [raw.QueueEnqueueManyV2(handle=queue, components=[np.array(["/etc/hostname", "/no/such/file"])]),
                  raw.QueueCloseV2(handle=queue), op("ReaderNumRecordsProducedV2"), op("ReaderNumWorkUnitsCompletedV2"),
                  op("ReaderSerializeStateV2"), op("ReaderRestoreStateV2", state=b"bogus"), op("ReaderResetV2")]
        if make.op.type != "TFRecordReaderV2":
            steps += [*op("ReaderReadV2", queue_handle=queue),
                      *op("ReaderReadUpToV2", queue_handle=queue, num_records=np.int64(3))]
    return steps


program("IdentityReaderV2 WholeFileReaderV2 TextLineReaderV2 TFRecordReaderV2 FixedLengthRecordReaderV2 ReaderReadV2 "
        "ReaderReadUpToV2 ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompletedV2 ReaderSerializeStateV2 "
        "ReaderRestoreStateV2 ReaderResetV2", 0, readers, ONE)


def first_readers(t):
    reader = raw.WholeFileReader()
    queue = raw.FIFOQueue(component_types=[STRING], shapes=[[]])
    op = lambda name, **kw: getattr(raw, name)(reader_handle=reader, **kw)
    return [raw.QueueEnqueueMany(handle=queue, components=[np.array(["/etc/hostname", "/etc/hostname"])]),
            *op("ReaderRead", queue_handle=queue), op("ReaderNumRecordsProduced"), op("ReaderNumWorkUnitsCompleted"),
            op("ReaderSerializeState"), op("ReaderRestoreState", state=b"\x08\x05\x10\x05"), op("ReaderNumWorkUnitsCompleted"),
            op("ReaderReset"), *op("ReaderReadUpTo", queue_handle=queue, num_records=np.int64(1))]


program("WholeFileReader ReaderRead ReaderReadUpTo ReaderNumRecordsProduced ReaderNumWorkUnitsCompleted ReaderSerializeState "
        "ReaderRestoreState ReaderReset", 0, first_readers, ONE)


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


def generators(t):
    state = raw.VarHandleOp(dtype=I64, shape=[3], shared_name="generator")
    read = lambda: raw.ReadVariableOp(resource=state, dtype=I64)
    steps = [raw.AssignVariableOp(resource=state, value=np.array([5, 6, 7]))]
    for name in ("StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform"):
        steps += [getattr(raw, name)(resource=state, algorithm=np.int64(1), shape=[4, 3], dtype=t), read()]
    return steps + [raw.RngSkip(resource=state, algorithm=np.int64(1), delta=np.int64(9)), read(),
                    raw.RngReadAndSkip(resource=state, alg=np.int32(1), delta=np.uint64(2)), read(),
                    raw.RngSkip(resource=state, algorithm=np.int64(9), delta=np.int64(9)),
                    raw.StatefulUniform(resource=state, algorithm=np.int64(2), shape=[1], dtype=t)]


program("StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform RngSkip RngReadAndSkip", 4, generators, FLOATS)


def integer_generators(t):
    state = raw.VarHandleOp(dtype=I64, shape=[3], shared_name="integer generator")
    return [raw.AssignVariableOp(resource=state, value=np.array([5, 6, 7])),
            raw.StatefulUniformFullInt(resource=state, algorithm=np.int64(1), shape=[7], dtype=t),
            raw.StatefulUniformInt(resource=state, algorithm=np.int64(1), shape=[7], minval=tf.constant(-3, I64),
                                   maxval=tf.constant(40, I64)),
            raw.StatefulUniformInt(resource=state, algorithm=np.int64(1), shape=[7], minval=tf.constant(40, I64),
                                   maxval=tf.constant(40, I64))]


program("StatefulUniformFullInt StatefulUniformInt", 0, integer_generators, [I32, I64, U32, U64])


def stacks(t):
    stack = raw.Stack(elem_type=t)
    with tf.control_dependencies([raw.StackPush(handle=stack, elem=fed(V((2,), t)))]):
        pop = raw.StackPop(handle=stack, elem_type=t)
    with tf.control_dependencies([pop]):
        empty = raw.StackPop(handle=stack, elem_type=t)
    return [pop, empty, raw.StackClose(handle=stack)]


program("Stack StackPush StackPop StackClose", 0, stacks, [F32, STRING])


def histograms(t):
    return [raw.HistogramSummary(tag="h", values=fed(V((50,), t))), raw.HistogramSummary(tag="h", values=fed(V((0,), t)))]


program("HistogramSummary", 0, histograms)


def other_summaries(t):
    return [raw.AudioSummaryV2(tag="a", tensor=np.linspace(-1.5, 1.5, 24, dtype=np.float32).reshape(shape), sample_rate=rate)
            for shape, rate in (((2, 12), 8000.), ((4, 3, 2), 44100.), ((24,), 1.), ((2, 12), 0.))] + [
                raw.TensorSummaryV2(tag="t", tensor=fed(V((2, 2), t)), serialized_summary_metadata=b""),
                raw.TensorSummaryV2(tag="t", tensor=np.array(["x"]), serialized_summary_metadata=b"\n\x03\n\x01x")]


program("AudioSummaryV2 TensorSummaryV2", 0, other_summaries, [F32, I64, BOOL])
