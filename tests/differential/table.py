"""The language of the tables: rows, fed values, and the cases that they make.

A row is one call:

    row("Sin Cos", 8, unary())                     # ops that take the same inputs, bound in ulps, cases
    row("Tile", 0, each(lambda t: {"input": V((2, 3), t), "multiples": ids(2, 0)}))
    program("Assign AssignAdd", 0, build)          # ops that need each other: build(t) makes nodes, returns steps to run

Cases are a function (unary(), each(...) and the like make one) that yields dicts of an op's arguments, by the names of
tf.raw_ops. A `Fed` argument is fed; anything else is an attribute or a constant. Types that a row does not name are all
those for which TensorFlow has a CPU kernel. The bound is on the error of real results, in units of the last place; 0 is bit
for bit.
"""
import functools
import glob
import importlib.util
import inspect
import itertools
import os
import zlib

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import kernels
from tensorflow.python.framework import op_def_registry

tf1 = tf.compat.v1
raw = tf.raw_ops
HALF, BF16, F32, F64 = tf.float16, tf.bfloat16, tf.float32, tf.float64
I8, I16, I32, I64 = tf.int8, tf.int16, tf.int32, tf.int64
U8, U16, U32, U64 = tf.uint8, tf.uint16, tf.uint32, tf.uint64
C64, C128, BOOL, STRING = tf.complex64, tf.complex128, tf.bool, tf.string
FLOATS = [F32, F64, HALF, BF16]
SIGNED = [I8, I16, I32, I64]
UNSIGNED = [U8, U16, U32, U64]
INTEGERS = SIGNED + UNSIGNED
COMPLEX = [C64, C128]
NUMBERS = FLOATS + INTEGERS + COMPLEX
QUANTIZED = [tf.qint8, tf.quint8, tf.qint32]
ALL = NUMBERS + [BOOL, STRING]
SHAPES = [(), (0,), (1,), (7,), (2, 0, 3), (3, 4, 5), (300,)]
PAIRS = [((), ()), ((5,), (5,)), ((3, 4), ()), ((), (3, 4)), ((3, 4), (4,)), ((3, 1, 5), (2, 1)), ((0,), (1,)),
         ((2, 0), (1, 1)), ((2, 3), (4,)), ((40, 50), (40, 50))]
NOTYPE = [None]  # of programs without a type
SAME = [((7,), (7,)), ((0,), (0,)), ((), ()), ((3, 5), (3, 5))]

rng = np.random.RandomState(20)
ROWS = {}  # op -> Row
ELSEWHERE = {}  # op: why no result of it is compared
KNOWN = []  # (op, part of the difference's text, why it is accepted)
SEED = 0  # of the values
_current = None  # the op whose cases are being made
_table = None  # the table that is being loaded


class Words(int):
    """The bound of cases whose error has TensorFlow's words, which programs look for: ours may say more."""


WORDS = Words(0)


class Row:
    """All that the tables say of one op."""

    def __init__(self):
        self.cases = []  # (bound in ulps, function that makes dicts of arguments)
        self.programs = []  # (bound in ulps, function that builds the graph, types or None)
        self.covered_by = None  # the op whose programs use this one
        self.tables = set()  # the families that speak of it


class Fed:
    """A value that is fed."""

    def __init__(self, value, dtype=None):
        self.dtype = tf.as_dtype(dtype if dtype is not None else value.dtype)
        self.value = np.asarray(value, object if self.dtype == STRING else self.dtype.as_numpy_dtype)


def _row(op):
    found = ROWS.setdefault(op, Row())
    found.tables.add(_table)
    return found


class Var(Fed):
    """A variable with this value, of the kind that the op takes. What it holds after the op is compared too."""

    def __init__(self, fed_value):
        super().__init__(fed_value.value, fed_value.dtype)


class Shaped(Fed):
    """A value whose shape the client is told: there are ops that want to know a rank."""

    def __init__(self, fed_value):
        super().__init__(fed_value.value, fed_value.dtype)


def row(ops, ulps, *cases):
    for op in ops.split():
        _row(op).cases += [(ulps, make) for make in cases]


def program(ops, ulps, build, types=None):
    """`build(t)` makes nodes in the default graph, with fed(value) where a value is fed, and returns the list of what is run,
    one step after the other. It is run for each of `types`, by default those that the first op has kernels for. All `ops`
    are covered by it."""
    first, *others = ops.split()
    _row(first).programs.append((ulps, build, types))
    for op in others:
        _row(op).covered_by = first


def outputs_of(ops, outputs, ulps, *cases):
    """Cases of which only some outputs are compared, for the others are not set, or nobody's business."""
    for op in ops.split():
        def build(_, op=op):
            steps = []
            for arguments in itertools.chain.from_iterable(make() for make in cases):
                if has_kernel(op, attr_types(op, arguments)):
                    made = getattr(tf.raw_ops, op)(**{k: fed(v) if isinstance(v, Fed) else v for k, v in arguments.items()})
                    steps.append([made[i] for i in outputs])
            return steps

        program(op, ulps, build, [None])


def known(op, part, reason):
    """A difference that is meant."""
    assert reason
    KNOWN.append((op, part, reason))


def elsewhere(ops, reason):
    """Ops whose results cannot be compared here: TensorFlow's local session refuses them, or their answer is no tensor."""
    assert reason
    ELSEWHERE.update(dict.fromkeys(ops.split(), reason))


def op_def():
    return op_def_registry.get(_current)


@functools.lru_cache(None)
def cpu_kernels(op):
    return [kernel for kernel in kernels.get_registered_kernels_for_op(op).kernel if kernel.device_type in ("CPU", "DEFAULT")]


def allowed_types(op, attr):
    """The types of an attribute for which TensorFlow has a CPU kernel."""
    found, free = set(), False
    for kernel in cpu_kernels(op):
        named = [c for c in kernel.constraint if c.name == attr]
        free = free or not named
        for constraint in named:
            found.update(constraint.allowed_values.list.type)
    if free:
        for a in op_def_registry.get(op).attr:
            if a.name == attr and a.allowed_values.list.type:
                found.update(a.allowed_values.list.type)
                free = False
    return [t for t in ALL if free or t.as_datatype_enum in found]


def has_kernel(op, types):
    """Whether TensorFlow has a CPU kernel for these values of the type attributes."""
    return any(all(t in c.allowed_values.list.type for c in kernel.constraint for t in types.get(c.name, ()))
               for kernel in cpu_kernels(op))


@functools.lru_cache(None)
def raw_names(op):
    """The names that tf.raw_ops has for an op's inputs and attributes, where they are others."""
    definition = op_def_registry.get(op)
    names = [a.name for a in definition.input_arg] + [a.name for a in definition.attr]
    raw = [name for name in inspect.signature(getattr(tf.raw_ops, op)).parameters if name != "name"]
    return dict(zip([name for name in names if name not in raw and not is_inferred(definition, name)],
                    [name for name in raw if name not in names]))


def is_inferred(definition, attr):
    return any(attr in (a.type_attr, a.number_attr, a.type_list_attr) for a in definition.input_arg)


def attr_types(op, arguments):
    """The type attributes that `arguments` give the op: name -> list of enums."""
    types = {}
    definition = op_def_registry.get(op)
    renamed = raw_names(op)
    for attr in definition.attr:
        if attr.type in ("type", "list(type)"):
            value = arguments.get(renamed.get(attr.name, attr.name))
            if value is None and attr.HasField("default_value"):
                value = ([tf.as_dtype(attr.default_value.type)] if attr.type == "type"
                         else [tf.as_dtype(t) for t in attr.default_value.list.type])
            if value is not None:
                types[attr.name] = [tf.as_dtype(t).as_datatype_enum for t in (value if isinstance(value, list) else [value])]
    for arg in definition.input_arg:
        value = arguments.get(renamed.get(arg.name, arg.name))
        listed = value if isinstance(value, list) else [value]
        found = [v.dtype.as_datatype_enum for v in listed if isinstance(v, Fed)]
        if found and arg.type == tf.resource.as_datatype_enum:
            types.setdefault(next((a.name for a in definition.attr if a.name in ("T", "dtype")), ""), found)
        if isinstance(value, np.ndarray) or isinstance(value, np.generic):
            found = [tf.as_dtype(value.dtype).as_datatype_enum]
        if found and (arg.type_attr or arg.type_list_attr):
            types[arg.type_attr or arg.type_list_attr] = found
    return types


def is_comparable(op):
    """Whether TensorFlow's client can still make it, and has a CPU kernel for it."""
    definition = op_def_registry.get(op)
    return (definition is not None and not 0 < definition.deprecation.version <= tf.version.GRAPH_DEF_VERSION
            and bool(cpu_kernels(op)))


def _types(dtypes, arg=None):
    """All that the current op has kernels for, where a row does not say."""
    if dtypes is not None:
        return dtypes
    renamed = raw_names(_current)
    inputs = [a for a in op_def().input_arg if renamed.get(a.name, a.name) == arg]
    attr = inputs[0].type_attr if inputs else None
    if inputs and not attr:
        return [tf.as_dtype(inputs[0].type)]
    if attr is None:
        attr = next((a.name for a in op_def().attr if a.type == "type" and a.name in ("T", "dtype")), None)
    if attr is None:
        attr = next((a.name for a in op_def().attr if a.type == "type"), None)
    if attr is None and any(a.type == "list(type)" for a in op_def().attr):
        return ALL
    return allowed_types(_current, attr) if attr else [None]


def _argument(name, position):
    names = [raw_names(_current).get(a.name, a.name) for a in op_def().input_arg]
    return name if name in names else names[position]


def values(shape, dtype, domain=None):
    """Random ones that suit the type: (low, high) bounds real ones."""
    dtype = tf.as_dtype(dtype)
    n = int(np.prod(shape, dtype=int))
    if dtype == BOOL:
        return Fed((rng.rand(n) < 0.5).reshape(shape), dtype)
    if dtype == STRING:
        return Fed(np.array([b"abc"[:i % 4] for i in rng.randint(0, 9, n)] + [None], object)[:-1].reshape(shape), dtype)
    low, high = domain or (-9, 9)
    if dtype.is_complex:
        scale = 1 if domain is None else max(abs(low), abs(high)) / 2
        return Fed(scale * (rng.randn(n) + 1j * rng.randn(n)).reshape(shape), dtype)
    if dtype.is_integer:
        low, high = max(int(np.ceil(low)), dtype.min), int(high)
        return Fed(rng.randint(low, max(low, high) + 1, n).reshape(shape), dtype)
    return Fed((low + (high - low) * rng.rand(n)).reshape(shape), dtype)


V = values


def ints(*value):
    return np.array(value, np.int32)


def ids(*value):
    return Fed(np.array(value), I32)


def longs(value):
    return Fed(np.array(value, np.int64), I64)


def text(*values, shape=None):  # pylint: disable=redefined-outer-name
    """A tensor of strings."""
    made = np.empty(len(values), object)
    made[:] = [v if isinstance(v, bytes) else v.encode() for v in values]
    return Fed(made.reshape(shape if shape is not None else (len(values),)), STRING)


def one(value):
    """A string."""
    return text(value, shape=())


def unique(name):
    """A name that no other node of the graph has."""
    return tf1.get_default_graph().unique_name(name)


def each(*makes, types=None):
    """Cases written out: functions from a type to the op's arguments."""
    return lambda: (make(t) for t, make in itertools.product(_types(types), makes))


def plain(*cases):
    """Cases without a type."""
    return lambda: iter([case() if callable(case) else case for case in cases])


def unary(types=None, domain=None, shapes=None, arg="x", **attrs):
    def cases():
        name = _argument(arg, 0)
        for dtype, shape in itertools.product(_types(types, name), shapes or SHAPES):
            yield {name: values(shape, dtype, domain), **attrs}

    return cases


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 1e-3, 60.0, -60.0]


def special(types=None, arg="x", **attrs):
    """Zeros, infinities and the like."""

    def cases():
        name = _argument(arg, 0)
        for dtype in _types(types, name):
            if dtype.is_floating:
                yield {name: Fed(SPECIAL, dtype), **attrs}

    return cases


def special_pairs(types=None, args=("x", "y"), **attrs):
    def cases():
        a, b = _argument(args[0], 0), _argument(args[1], 1)
        for dtype in _types(types, a):
            if dtype.is_floating:
                grid = np.meshgrid(SPECIAL, SPECIAL)
                yield {a: Fed(grid[0], dtype), b: Fed(grid[1], dtype), **attrs}

    return cases


def binary(types=None, domain=None, second=None, args=("x", "y"), pairs=None, **attrs):
    def cases():
        x, y = _argument(args[0], 0), _argument(args[1], 1)
        for dtype, (a, b) in itertools.product(_types(types, x), pairs or PAIRS):
            yield {x: values(a, dtype, domain), y: values(b, dtype, second or domain), **attrs}

    return cases


def reduction(types=None, arg="input", axis="axis", domain=None):
    def cases():
        for dtype in _types(types, arg):
            for shape, axes in [((), []), ((7,), [0]), ((3, 4, 5), [1]), ((3, 4, 5), [0, 2]), ((3, 4, 5), [-1]), ((0, 3), [0]),
                                ((3, 0), [1]), ((3, 4), []), ((40, 30), [0, 1]), ((3,), [2]), ((2, 3), [0, 0])]:
                for keep in (False, True):
                    yield {arg: values(shape, dtype, domain), axis: np.array(axes, np.int32), "keep_dims": keep}

    return cases


def _seed(op):
    global _current
    _current = op
    rng.seed((zlib.crc32(op.encode()) + SEED) % (1 << 32))


def cases_of(op):
    """(bound, arguments) of each case of an op's rows. The same ones each time."""
    _seed(op)
    for ulps, make in ROWS[op].cases:
        for arguments in make():
            yield ulps, arguments


def programs_of(op):
    """(bound, build, type) of each case of an op's programs."""
    _seed(op)
    for ulps, build, types in ROWS[op].programs:
        for dtype in _types(types):
            yield ulps, build, dtype


def current():
    """The op whose cases are being made."""
    return _current


def first_input():
    """The name of the current op's first input."""
    return _argument("", 0)


FEEDS = None  # of the program that is being built: placeholder -> value


def fed(value, dtype=None):
    """In a program: a tensor that is fed with this value."""
    value = value if isinstance(value, Fed) else Fed(value, dtype)
    placeholder = tf1.placeholder(value.dtype)
    FEEDS[placeholder] = value.value
    return placeholder


def load():
    """Runs differential.py of every op family: the table of kernels/softmax/ is "softmax", that of kernels/array/moving/ "array/moving"."""
    global _table
    kernels_folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kernels")
    for path in sorted(glob.glob(os.path.join(kernels_folder, "**", "differential.py"), recursive=True)):
        _table = os.path.relpath(os.path.dirname(path), kernels_folder)
        rng.seed(zlib.crc32(_table.encode()))  # some rows draw their values here
        spec = importlib.util.spec_from_file_location("differential_" + _table.replace("/", "_"), path)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return ROWS
