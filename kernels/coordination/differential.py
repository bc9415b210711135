"""Queues, barriers, accumulators, staging areas, mutexes and batches. What waits is in tests/interop/state_programs.py."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


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
    elements = dict(component_types=[F32, I64], shapes=[[], []])
    program("FIFOQueue%s " % v + " ".join(u + v for u in USERS.split()), 0,
            queue_steps(lambda v: getattr(raw, "FIFOQueue" + v)(**elements), v), ONE)
    program("PaddingFIFOQueue" + v, 0, queue_steps(lambda v: getattr(raw, "PaddingFIFOQueue" + v)(**elements), v), ONE)
    program("RandomShuffleQueue" + v, 0,
            queue_steps(lambda v: getattr(raw, "RandomShuffleQueue" + v)(seed=3, seed2=4, **elements), v), ONE)
    known("PriorityQueue" + v, "closed and has insufficient elements", "TensorFlow loses what is left in it")
    program("PriorityQueue" + v, 0,
            queue_steps(lambda v: getattr(raw, "PriorityQueue" + v)(**elements), v, [I64]), ONE)


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


def keys_and_indices(prefix):
    """Which TensorFlow takes as they are, and which it rejects."""

    def build(_):
        area = lambda name, dtypes=(F32, I32): dict(shared_name=prefix + name, dtypes=list(dtypes))
        op = lambda name, where, **kw: getattr(raw, prefix + name)(**where, **kw)
        first, second = lambda: fed(1.0, F32), lambda: fed(2, I32)
        given = lambda values: [make() for make in values]
        put = lambda key, indices, values, where: op("Stage", where, key=fed(key, I64), indices=fed(indices, I32), values=given(values))
        read = lambda name, key, indices, where: op(name, where, key=fed(key, I64), indices=fed(indices, I32))
        steps = []
        for key in (1, [1], [[1]], [], [1, 2]):
            steps += [put(key, [0, 1], (first, second), area("keys")), op("Size", area("keys"))]
        for i, indices in enumerate(([0], [1], [0, 0], [1, 0], [2, 0], [-1, 0], [0, 1, 2], [], [[0, 1]], 0, [3])):
            where = area("both %d" % i)
            if indices != [0, 1, 2]:
                steps += [put(5, indices, (first, second), where)]
            steps += [op("IncompleteSize", where), op("Size", where)]
        for i, (indices, value) in enumerate((([0], first), ([1], second), ([1], first), ([5], first), ([-1], first), ([], first))):
            where = area("one %d" % i)
            steps += [put(7, indices, (value,), where), op("IncompleteSize", where)]
        where = area("read")
        steps += [put(1, [0], (first,), where), put(1, [0], (first,), where), put(1, [1], (second,), where), put(1, [1], (second,), where),
                  put(1, [0], (first,), where), op("Size", where), op("IncompleteSize", where)]
        for indices in ([0, 1], [1, 0], [2, 0], [-1, 0], [], [0, 0], [0, 1, 0], [[0, 1]]):
            steps.append(read("Peek", 1, indices, where))
        steps += [read("Peek", key, [0, 1], where) for key in ([1], [], [1, 2])]
        # Outputs that the components do not fit.
        steps += [read("Peek", 1, [1], area("read", [F32])), read("Peek", 1, [1], where), read("Peek", 1, [0], where), op("Size", where)]
        steps += [read("Unstage", 1, [1], area("read", [I32])), read("Unstage", 1, [1], area("read", [I32])), op("Size", where)]
        steps += [put(1, [0, 1], (first, second), dict(area("full"), capacity=1)), put(2, [0], (first,), dict(area("full"), capacity=1))]
        return steps

    build.__name__ = "keys_and_indices"
    return build


for prefix in ("Map", "OrderedMap"):
    program(" ".join(prefix + n for n in ("Stage", "Unstage", "Peek", "Size", "IncompleteSize")), WORDS, keys_and_indices(prefix), NOTYPE)


def mutexes(t):
    return [raw.ConsumeMutexLock(mutex_lock=raw.MutexLock(mutex=raw.MutexV2(shared_name="m"))) for _ in range(2)]


program("MutexV2 MutexLock ConsumeMutexLock", 0, mutexes, ONE)


def batches(_):
    batched, index, number = raw.Batch(in_tensors=[fed(V((2, 3), F32))], num_batch_threads=1, max_batch_size=2, batch_timeout_micros=1000, grad_timeout_micros=0)
    back = raw.Unbatch(batched_tensor=batched[0] * 2, batch_index=index, id=number, timeout_micros=1000000)
    return [batched[0], back, index[:, 1:]]


program("Batch Unbatch", 0, batches, [None])


def unbatched_gradient(_):
    batched, index, number = raw.Batch(in_tensors=[fed(V((2, 3), F32))], num_batch_threads=1, max_batch_size=2, batch_timeout_micros=1000, grad_timeout_micros=0)
    return [raw.UnbatchGrad(original_input=batched[0], batch_index=index, grad=fed(V((2, 3), F32)), id=number)]


program("UnbatchGrad", 0, unbatched_gradient, [None])


def batched_calls(_):
    double = tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec([None], F32))
    return [raw.BatchFunction(in_tensors=[fed(V((n,), F32))], captured_tensors=[], f=double, num_batch_threads=1, max_batch_size=4,
                                     batch_timeout_micros=100, allowed_batch_sizes=[2, 4], Tout=[F32]) for n in (1, 3, 5)]


program("BatchFunction", 0, batched_calls, [None])


def batch_functions(_):
    """Sizes that a batch is filled up to, calls that are cut into several, and functions that do not fit."""
    vector = tf.TensorSpec([None], F32)
    sizes = lambda x: tf.cast(tf.fill([tf.shape(x)[0]], tf.shape(x)[0]), F32)
    functions = [tf.function(f).get_concrete_function(vector)
                 for f in (sizes, tf.reduce_sum, lambda x: x[:1], lambda x: tf.concat([x, x], 0), lambda x: tf.cast(x, I32), lambda x: (x, x * 2))]
    steps = []

    def call(n, function=functions[0], types=(F32,), **more):
        arguments = dict(num_batch_threads=1, max_batch_size=4, batch_timeout_micros=100, allowed_batch_sizes=[2, 4], shared_name=unique("batch"))
        arguments.update(more)
        steps.append(list(raw.BatchFunction(in_tensors=[fed(V((n,), F32))], captured_tensors=[], f=function, Tout=list(types), **arguments)))

    for allowed in ([2, 4], [4, 2], [2, 2, 4], [2, 3], [2, 8], [3], []):
        for splits in (False, True) if allowed != [2, 8] else (False,):  # TensorFlow's text ends with a number of its source
            for n in (1, 3, 4, 5):
                call(n, allowed_batch_sizes=allowed, enable_large_batch_splitting=splits)
    for n in (7, 8, 9):
        call(n, max_batch_size=8, allowed_batch_sizes=[2, 3], enable_large_batch_splitting=True)
    for more in (dict(num_batch_threads=0), dict(max_batch_size=0, allowed_batch_sizes=[]), dict(batch_timeout_micros=-1), dict(max_enqueued_batches=0)):
        call(3, **more)
    call(0)
    for function in functions[1:5]:
        call(3, function)
    call(3, functions[5], (F32, F32))
    call(3, functions[5])
    call(3, types=(F32, F32))
    for rows in (1, 2, 3, 4, 5):
        for allowed in ([2, 4], [3], []):
            batched, index, _ = raw.Batch(in_tensors=[fed(V((rows, 2), F32))], num_batch_threads=1, max_batch_size=4, allowed_batch_sizes=allowed,
                                          batch_timeout_micros=100, grad_timeout_micros=0, shared_name=unique("batch"))
            steps.append([batched[0], index[:, 1:]])
    return steps


program("BatchFunction", WORDS, batch_functions, [None])


def misplaced_batches(_):
    """Functions whose nodes are on other tasks, or that take other arguments."""
    rows = tf.TensorSpec([None], F32)

    def on(device):
        def call(x):
            with tf.device(device):
                return raw.Neg(x=x)

        return tf.function(call, autograph=False).get_concrete_function(rows)

    def run(f, *inputs):
        return raw.BatchFunction(in_tensors=list(inputs), captured_tensors=[], f=f, num_batch_threads=1, max_batch_size=4, batch_timeout_micros=100,
                                 allowed_batch_sizes=[], Tout=[F32])

    steps = [run(on(device), fed(V((2,), F32))) for device in ("", "/cpu:0", "/job:elsewhere", "/task:7")]
    return steps + [run(on(""), fed(V((2,), I32))), run(on(""), fed(V((2,), F32)), fed(V((2,), F32)))]


program("BatchFunction", 0, misplaced_batches, NOTYPE)


def bad_parts(_):
    def part(index, number, shape=(2,)):
        return raw.Unbatch(batched_tensor=fed(V(shape, F32)), batch_index=fed(np.array(index), I64), id=fed(number, I64), timeout_micros=1000)

    return [part([[5, 0, 2]], 5), part([[0, 0, 2]], [0]), part([[7, 0]], 7)]


program("Unbatch", WORDS, bad_parts, NOTYPE)
