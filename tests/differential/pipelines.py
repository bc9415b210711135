"""Programs that run a dataset's pipeline: one step makes its iterator, each further one takes an element."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

Dataset = tf1.data.Dataset
experimental = tf1.data.experimental
NUMBER = dict(output_types=[I64], output_shapes=[[]])
VECTOR = dict(output_types=[I64], output_shapes=[[None]])
SCALAR = tf.TensorSpec([], I64)
VARIANT = tf.TensorSpec([], tf.variant)


def through(ops, make, steps=8):
    """`make()` gives a dataset; each step takes its next element."""

    def build(_):
        iterator = tf1.data.make_initializable_iterator(make())
        element = iterator.get_next()
        return [iterator.initializer] + [tf.nest.flatten(element, expand_composites=True)] * steps

    build.__name__ = ops.split()[0]
    program(ops, 0, build, NOTYPE)


def through_variant(ops, make, types, shapes, steps=8):
    """`make()` gives the variant of a dataset of those types and shapes."""

    def build(_):
        iterator = raw.IteratorV2(shared_name="", container="", output_types=types, output_shapes=shapes)
        begin = raw.MakeIterator(dataset=make(), iterator=iterator)
        element = raw.IteratorGetNext(iterator=iterator, output_types=types, output_shapes=shapes)
        return [begin] + [element] * steps

    build.__name__ = ops.split()[0]
    program(ops, 0, build, NOTYPE)


def over_numbers(names, n=7, steps=8, typed=NUMBER, **arguments):
    """Each op gets range(n); arguments that are functions of nothing are made in the graph."""
    for name in names.split():
        def make(name=name):
            made = {key: value() if callable(value) and not hasattr(value, "structured_outputs") else value for key, value in arguments.items()}
            return getattr(raw, name)(input_dataset=variant(numbers(n)), **typed, **made)

        through_variant(name, make, typed["output_types"], typed["output_shapes"], steps)


def consume(ops, make):
    """`make()` gives what a dataset comes down to, in one step."""

    def build(_):
        return [make()]

    build.__name__ = ops.split()[0]
    program(ops, 0, build, NOTYPE)


def numbers(n=7):
    return Dataset.range(n)


def variant(dataset):
    return dataset._variant_tensor  # pylint: disable=protected-access


def function(call, *specs):
    return tf.function(call, autograph=False).get_concrete_function(*specs)
