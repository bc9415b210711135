"""Iterators of all kinds, optionals, and the resources of datasets."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import
from table_data import NOTYPE, numbers, variant

raw = tf.raw_ops
NUMBER = dict(output_types=[I64], output_shapes=[[]])


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


def resources(_):
    """Each kind is made and given back."""
    steps = []
    for made, give_back in (
            (raw.AnonymousMemoryCache(), raw.DeleteMemoryCache), (raw.AnonymousSeedGenerator(seed=3, seed2=4, reshuffle=True), raw.DeleteSeedGenerator),
            (raw.AnonymousRandomSeedGenerator(seed=3, seed2=4), raw.DeleteRandomSeedGenerator)):
        steps.append(give_back(handle=made.handle, deleter=made.deleter))
    return steps


known("AnonymousMemoryCache", "Cannot delete an unowned Resource", "these are counted references in TensorFlow, which then refuses its own op")
known("AnonymousMemoryCache", "Unknown input name: reshuffle", "TensorFlow's kernel asks for an input by a name that it does not have")
program("AnonymousMemoryCache DeleteMemoryCache AnonymousSeedGenerator DeleteSeedGenerator AnonymousRandomSeedGenerator "
        "DeleteRandomSeedGenerator", 0, resources, NOTYPE)


def random_access(_):
    dataset = variant(numbers(5))
    return [raw.GetElementAtIndex(dataset=dataset, index=fed(i, I64), **NUMBER) for i in (0, 3, 5, -1)]


program("GetElementAtIndex", 0, random_access, NOTYPE)


def graphs(_):
    dataset = variant(numbers(5).batch(2))
    text = [raw.DatasetToGraph(input_dataset=dataset), raw.DatasetToGraphV2(input_dataset=dataset)]
    back = [raw.DatasetCardinality(input_dataset=raw.DatasetFromGraph(graph_def=t)) for t in text]
    return back + [raw.DatasetCardinality(input_dataset=raw.DatasetFromGraph(graph_def=fed(b"rubbish", STRING))),
                   raw.ExperimentalDatasetCardinality(input_dataset=dataset)]


program("DatasetToGraph DatasetToGraphV2 DatasetFromGraph ExperimentalDatasetCardinality", 0, graphs, NOTYPE)

elsewhere("AnonymousMemoryCache DeleteMemoryCache AnonymousRandomSeedGenerator DeleteRandomSeedGenerator DeleteSeedGenerator",
          "TensorFlow refuses its own handles")
