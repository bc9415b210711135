"""Iterators of all kinds, and optionals."""
from pipelines import NUMBER, experimental, numbers, through, variant
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


def shards(_):
    """One pass dealt out to two shards."""
    common = dict(output_types=[I64], output_shapes=[[]])
    iterator = raw.MultiDeviceIterator(devices=["a", "b"], shared_name="", container="", **common)
    number = raw.MultiDeviceIteratorInit(dataset=variant(numbers(5)), multi_device_iterator=iterator, max_buffer_size=4)
    take = [raw.MultiDeviceIteratorGetNextFromShard(multi_device_iterator=iterator, shard_num=s, incarnation_id=np.int64(1), **common) for s in (0, 1, 2)]
    return [number, take[0], take[1], take[1], take[0], take[0], take[1]]


program("MultiDeviceIterator MultiDeviceIteratorInit MultiDeviceIteratorGetNextFromShard", 0, shards, NOTYPE)
through("AnonymousIterator", lambda: numbers(4).apply(experimental.copy_to_device("/cpu:0")), 6)


def anonymous_iterators(_):
    steps = []
    for version in ("", "V2", "V3"):
        made = getattr(raw, "AnonymousIterator" + version)(**NUMBER)
        handle = made.handle if version == "V2" else made
        with tf.control_dependencies([raw.MakeIterator(dataset=variant(numbers(5)), iterator=handle)]):
            first = raw.IteratorGetNext(iterator=handle, **NUMBER)
        steps.append(first)
        if version == "V2":
            with tf.control_dependencies(first):
                steps.append(raw.DeleteIterator(handle=handle, deleter=made.deleter))
    return steps


program("AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 DeleteIterator", 0, anonymous_iterators, NOTYPE)


def named_iterator(_):
    iterator = raw.Iterator(shared_name="named", container="", **NUMBER)
    handle = raw.IteratorToStringHandle(resource_handle=iterator)
    same = [raw.IteratorFromStringHandle(string_handle=handle, **NUMBER), raw.IteratorFromStringHandleV2(string_handle=handle, **NUMBER)]
    other = raw.IteratorFromStringHandleV2(string_handle=handle, output_types=[F32], output_shapes=[[]])
    take = lambda it: raw.IteratorGetNextSync(iterator=it, **NUMBER)
    return [take(iterator), raw.MakeIterator(dataset=variant(numbers(5)), iterator=iterator), take(iterator), *map(take, same),
            raw.IteratorGetNext(iterator=other, output_types=[F32], output_shapes=[[]]), raw.StringLength(input=handle) > 0,
            raw.IteratorFromStringHandle(string_handle="rubbish", **NUMBER),
            *[raw.IteratorGetNext(iterator=iterator, output_types=[I64], output_shapes=[[2]])], take(iterator), take(iterator), take(iterator)]


program("Iterator IteratorToStringHandle IteratorFromStringHandle IteratorFromStringHandleV2 IteratorGetNextSync", 0, named_iterator, NOTYPE)


def devices(_):
    iterator = raw.IteratorV2(shared_name="placed", container="", **NUMBER)
    return [raw.MakeIterator(dataset=variant(numbers(5)), iterator=iterator),
            raw.RegexFullMatch(input=raw.IteratorGetDevice(resource=iterator), pattern=".*/device:CPU:0"),
            raw.RegexFullMatch(input=raw.ExperimentalIteratorGetDevice(resource=iterator), pattern=".*/device:CPU:0")]


program("IteratorGetDevice ExperimentalIteratorGetDevice", 0, devices, NOTYPE)


def one_shot(_):
    @tf.function(autograph=False, input_signature=[])
    def factory():
        return variant(numbers(2))

    factory = factory.get_concrete_function()
    factory.add_to_graph()
    iterator = raw.OneShotIterator(dataset_factory=factory, **NUMBER)
    return [raw.IteratorGetNext(iterator=iterator, **NUMBER)] * 4


program("OneShotIterator", 0, one_shot, NOTYPE)


def saved_iterator(_):
    iterator = raw.IteratorV2(shared_name="saved", container="", **NUMBER)
    begin = raw.MakeIterator(dataset=variant(numbers(5).batch(2).map(lambda x: tf.reduce_sum(x))), iterator=iterator)
    take = raw.IteratorGetNext(iterator=iterator, **NUMBER)
    with tf.control_dependencies(take):
        state = raw.SerializeIterator(resource_handle=iterator)
    with tf.control_dependencies([state]):
        ahead = raw.IteratorGetNext(iterator=iterator, **NUMBER)
    with tf.control_dependencies(ahead):
        back = raw.DeserializeIterator(resource_handle=iterator, serialized=state)
    with tf.control_dependencies([back]):
        again = raw.IteratorGetNext(iterator=iterator, **NUMBER)
    return [begin, [take, ahead, again], take, take]


program("SerializeIterator DeserializeIterator", 0, saved_iterator, NOTYPE)


def optionals(t):
    some, none = raw.OptionalFromValue(components=[fed(V((2,), t)), fed(3, I32)]), raw.OptionalNone()
    typed = dict(output_types=[t, I32], output_shapes=[[2], []])
    iterator = raw.IteratorV2(shared_name="optional", container="", **NUMBER)
    following = raw.IteratorGetNextAsOptional(iterator=iterator, **NUMBER)
    return [raw.OptionalHasValue(optional=some), raw.OptionalHasValue(optional=none), raw.OptionalGetValue(optional=some, **typed),
            raw.OptionalGetValue(optional=none, **typed), raw.OptionalGetValue(optional=some, output_types=[t], output_shapes=[[2]]),
            raw.OptionalGetValue(optional=some, output_types=[t, F64], output_shapes=[[2], []]),
            raw.OptionalGetValue(optional=some, output_types=[t, I32], output_shapes=[[3], []]),
            raw.OptionalHasValue(optional=following), raw.MakeIterator(dataset=variant(numbers(1)), iterator=iterator),
            raw.OptionalGetValue(optional=following, **NUMBER), raw.OptionalHasValue(optional=following)]


program("OptionalFromValue OptionalNone OptionalHasValue OptionalGetValue IteratorGetNextAsOptional", 0, optionals, [F32, STRING, BOOL])


def multi_device_iterators(_):
    steps = []
    for version in ("", "V3"):
        made = getattr(raw, "AnonymousMultiDeviceIterator" + version)(devices=["a", "b"], **NUMBER)
        handle = made if version else made.handle
        number = raw.MultiDeviceIteratorInit(dataset=variant(numbers(3)), multi_device_iterator=handle, max_buffer_size=2)
        steps.append(raw.MultiDeviceIteratorGetNextFromShard(multi_device_iterator=handle, shard_num=1, incarnation_id=number, **NUMBER))
        if not version:
            with tf.control_dependencies(steps[-1]):
                steps.append(raw.DeleteMultiDeviceIterator(multi_device_iterator=handle, iterators=[], deleter=made.deleter))
    named = raw.MultiDeviceIterator(devices=["a"], shared_name="dealt", container="", **NUMBER)
    text = raw.MultiDeviceIteratorToStringHandle(multi_device_iterator=named)
    again = raw.MultiDeviceIteratorFromStringHandle(string_handle=text, **NUMBER)
    return steps + [raw.MultiDeviceIteratorInit(dataset=variant(numbers(3)), multi_device_iterator=named, max_buffer_size=2),
                    raw.MultiDeviceIteratorGetNextFromShard(multi_device_iterator=again, shard_num=0, incarnation_id=np.int64(1), **NUMBER)]


program("AnonymousMultiDeviceIterator AnonymousMultiDeviceIteratorV3 DeleteMultiDeviceIterator MultiDeviceIteratorToStringHandle "
        "MultiDeviceIteratorFromStringHandle", 0, multi_device_iterators, NOTYPE)
