"""Properties of datasets, their consumers, and assertions about them."""
from tensorflow.python.data.experimental.ops import distribute

from pipelines import Dataset, NUMBER, SCALAR, consume, experimental, function, numbers, over_numbers, through, through_variant, variant
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

through("AutoShardDataset", lambda: distribute._AutoShardDataset(numbers(8), 3, 1))  # pylint: disable=protected-access
consume("ReduceDataset", lambda: numbers().reduce(tf.constant(0, I64), lambda s, x: s + x))
consume("DatasetCardinality", lambda: experimental.cardinality(numbers().batch(2)))
consume("DatasetToSingleElement", lambda: experimental.get_single_element(numbers(1)))
for _types, _shapes in (([I32], [[2]]), ([F32], [[]]), ([I32], [None]), ([I32, I32], [[], []])):
    consume("DatasetToSingleElement", lambda t=_types, s=_shapes: raw.DatasetToSingleElement(
        dataset=variant(Dataset.from_tensors(3)), output_types=t, output_shapes=s))
over_numbers("ExperimentalAutoShardDataset", num_workers=2, index=1)


def table_from_dataset(t):
    made = raw.HashTableV2(key_dtype=I64, value_dtype=t, shared_name="from_dataset")
    dataset = tf1.data.Dataset.range(4).map(lambda x: (x * x, tf.cast(x, t)))
    find = raw.LookupTableFindV2(table_handle=made, keys=np.array([0, 1, 4, 5]), default_value=tf.zeros([], t))
    return [raw.InitializeTableFromDataset(table_handle=made, dataset=dataset._variant_tensor),  # pylint: disable=protected-access
            find, raw.LookupTableSizeV2(table_handle=made)]


program("InitializeTableFromDataset", 0, table_from_dataset, [I64, F32])


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


# Assertions about a pipeline.
def asserted(op, transformations, build, steps=3):
    def make():
        source = numbers(5)
        checked = getattr(raw, op)(input_dataset=variant(source), transformations=np.array(transformations), **NUMBER)
        return build(checked)

    through_variant(op, make, [I64], [[]], steps)


def unoptimised(handle):
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return raw.OptionsDataset(input_dataset=handle, serialized_options=options._to_proto().SerializeToString(), **NUMBER)  # pylint: disable=protected-access


def mapped(handle):
    return raw.MapDataset(input_dataset=handle, other_arguments=[], f=function(lambda x: x * 2, SCALAR), **NUMBER)


def taken(handle):
    return raw.TakeDataset(input_dataset=handle, count=np.int64(3), **NUMBER)


for name in ("AssertNextDataset", "ExperimentalAssertNextDataset"):
    for wanted in (["Map"], ["Map", "FiniteTake"], ["MapV2"], ["Take"], ["Map", "FiniteTake", "Root"], ["A"] * 4):
        asserted(name, wanted, lambda d: unoptimised(taken(mapped(d))))
asserted("AssertNextDataset", ["Shuffle"], lambda d: unoptimised(raw.ShuffleDatasetV3(
    input_dataset=d, buffer_size=1, seed=1, seed2=1, seed_generator=raw.DummySeedGenerator(), **NUMBER)))
for wanted in ([], ["name: 'RangeDataset'"], ["name: 'Range'"], ["name: 'RangeDataset' attr { key: 'replicate_on_split' value { b: false } }"], ["not text"],
               ["name: 'RangeDataset'", "name: 'RangeDataset'"]):
    asserted("AssertPrevDataset", np.array(wanted, object), lambda d: d)
    through_variant("AssertPrevDataset", lambda wanted=wanted: raw.AssertPrevDataset(input_dataset=variant(numbers(3)), transformations=np.array(wanted, object), **NUMBER), [I64], [[]], 2)


# Compressed elements.
def compressed(_):
    packed = raw.CompressElement(components=[fed(V((2, 3), F32)), fed(V((3,), STRING)), fed(V((), I64)), fed(V((0, 2), BOOL))])
    types, shapes = [F32, STRING, I64, BOOL], [[2, 3], [3], [], [0, 2]]
    nothing = raw.EmptyTensorList(element_shape=-1, max_num_elements=1, element_dtype=F32)
    return [raw.UncompressElement(compressed=packed, output_types=types, output_shapes=shapes),
            raw.UncompressElement(compressed=packed, output_types=types[:1], output_shapes=shapes[:1]),
            raw.UncompressElement(compressed=packed, output_types=types[::-1], output_shapes=shapes[::-1]),
            raw.UncompressElement(compressed=nothing, output_types=types[:1], output_shapes=shapes[:1]),
            raw.TensorListLength(input_handle=raw.UncompressElement(compressed=raw.CompressElement(components=[nothing]), output_types=[tf.variant], output_shapes=[[]])[0])]


program("CompressElement UncompressElement", 0, compressed, NOTYPE)
elsewhere("CompressElement", "its rows end with UncompressElement")


def fingerprints(_):
    def of(dataset):
        return raw.DatasetFingerprint(input_dataset=variant(dataset))

    first = of(numbers(3).map(lambda x: x + 1))
    return [tf.equal(first, of(numbers(3).map(lambda x: x + 1))), tf.equal(first, of(numbers(4).map(lambda x: x + 1))),
            tf.equal(first, of(numbers(3).map(lambda x: x + 2)))]


program("DatasetFingerprint", 0, fingerprints, NOTYPE)
