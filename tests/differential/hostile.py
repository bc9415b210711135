"""Hostile inputs at every op of the tables: the server must live, answer within seconds, and not take memory without bound.

Begins with the cases of an op's rows and makes mutants of them: shapes, ranks, values, types and attributes that do not
fit. Each is sent twice, its tensors fed and as constants, past the checks of TensorFlow's client.
"""
import itertools
import os
import re
import time

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import op_def_registry
from tensorflow.python.framework import tensor_util

import master_client
import runner
import table
import weir_cluster

BASES = 2  # cases of a row that mutants are made of
MIXED = 40  # mutants of each case with several wrong things
ANSWER_SECONDS = 4.0
CALL_SECONDS = 12.0
SANITIZED_FACTOR = 5  # by so much slower a sanitized server may be
ADDRESS_SPACE = 5 << 30  # of the server: what it cannot get it has to refuse
MEMORY = 3 << 30  # resident, at most
rng = np.random.RandomState(3)
VARIABLES = {"VarHandleOp": ("AssignVariableOp", "dtype"), "VariableV2": ("Assign", "T")}  # what assigns, its type
BIG = [1 << 31, 1 << 40, (1 << 62) - 1]


# A sanitized server cannot survive an allocation that fails.
SANITIZER_LIMITS = ("allocation-size-too-big", "out-of-memory", "exceeds maximum supported size", "calloc-overflow")
SANITIZED = re.compile(r"==ERROR: [^\n]*(\n[^\n]*){1,14}")
LAST = re.compile(r"[\s\S]{0,700}\Z")


class Specimen:
    """One node: op, attributes, and the tensors that enter it. `variables`: for each input, the op that makes a variable of
    it, or None."""

    def __init__(self, op, attrs, inputs, variables):
        self.op, self.attrs, self.inputs, self.variables = op, attrs, inputs, variables

    def but(self, index, tensor):
        inputs = list(self.inputs)
        inputs[index] = tensor
        return self.with_inputs(inputs)

    def with_inputs(self, inputs):
        return Specimen(self.op, self.attrs, inputs, self.variables)

    def with_attr(self, name, value):
        return Specimen(self.op, {**self.attrs, name: value}, self.inputs, self.variables)

    def describe(self):
        return "%s(%s; %s)" % (self.op, ", ".join(map(describe, self.inputs)), ", ".join(
            "%s=%s" % (name, " ".join(str(value).split())) for name, value in sorted(self.attrs.items())))


class Program:
    """The graph of a program: `feeds` are the tensors of its placeholders, `steps` the nodes that are run one after the
    other. A mutant shares them and keeps its `change` apart: (node, attribute, value), or (placeholder, None, tensor). A
    graph of a thousand nodes has ten thousand mutants, too many to copy it for each."""

    def __init__(self, op, graph, feeds, steps, change=None):
        self.op, self.graph, self.steps = op, graph, steps
        self._feeds, self._change = feeds, change

    def mutants(self):
        for name in sorted(self._feeds):
            for tensor in tensors(self._feeds[name]):
                yield self._but(name, None, tensor)
        for node in self.graph.node:
            for attr, value in attr_mutants(node.op, Specimen(node.op, node.attr, [], [])):
                yield self._but(node.name, attr, value)

    def _but(self, *change):
        return Program(self.op, self.graph, self._feeds, self.steps, change)

    def feeds(self):
        name, attr, tensor = self._change
        return self._feeds if attr else {**self._feeds, name: tensor}

    def describe(self):
        name, attr, value = self._change
        wrong = "%s: %s=%s" % (name, attr, " ".join(str(value).split())) if attr else "%s = %s" % (name, describe(value))
        return "%s in a program (%s)" % (self.op, wrong)

    def graph_of(self, constants):
        graph = graph_pb2.GraphDef()
        graph.CopyFrom(self.graph)
        changed, attr, value = self._change
        feeds = self.feeds()
        for node in graph.node:
            if attr and node.name == changed:
                node.attr[attr].CopyFrom(value)
            if node.name in feeds:
                node.attr["dtype"].type = feeds[node.name].dtype
                if constants:
                    node.op = "Const"
                    node.attr.pop("shape", None)
                    node.attr["value"].tensor.CopyFrom(feeds[node.name])
        return graph


def describe(tensor):
    shape = [d.size for d in tensor.tensor_shape.dim]
    shown = ""
    if tensor.tensor_content or tensor.string_val or tensor.ByteSize() < 200:
        try:
            array = tensor_util.MakeNdarray(tensor)
            shown = " = " + np.array2string(array.ravel()[:6], separator=",").replace("\n", " ") if array.size else ""
        except Exception:  # pylint: disable=broad-except
            shown = " = ?"
    return "%s%s%s" % (types_pb2.DataType.Name(tensor.dtype)[3:].lower(), shape, shown[:80])


def proto(array, dtype):
    """Of any array, also when the type is not numpy's own."""
    dtype = tf.as_dtype(dtype)
    if dtype == tf.string:
        return tensor_util.make_tensor_proto(np.asarray(array, object), dtype, shape=np.shape(array))
    made = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)
    with np.errstate(all="ignore"):
        array = np.asarray(array).astype(dtype.as_numpy_dtype)  # which keeps a scalar one
    for size in np.shape(array):
        made.tensor_shape.dim.add(size=size)
    made.tensor_content = array.tobytes()
    return made


def hollow(shape, dtype):
    """Dimensions and no bytes."""
    made = tensor_pb2.TensorProto(dtype=tf.as_dtype(dtype).as_datatype_enum)
    for size in shape:
        made.tensor_shape.dim.add(size=size)
    return made


def specimens(op):
    """Of the op's rows: the node that is tested, with values for its inputs."""
    found = []
    for case in runner.build_cases(op, 4 * BASES):
        values = {tensor.name: (tensor.dtype, value) for tensor, value in case.feeds.items()}
        for node in reversed(case.nodes):
            if node.type == op and (inputs := inputs_of(node, values)) is not None:
                attrs = {name: value for name, value in node.node_def.attr.items() if not name.startswith("_")}
                variables = [t.op.type if t.op.type in VARIABLES else None for t in node.inputs]
                found.append(Specimen(op, attrs, inputs, variables))
                break
    return [item for _, item in runner.spread(found, BASES)]


def programs(op):
    for _, build, dtype in table.programs_of(op):
        graph = tf.Graph()
        with graph.as_default():
            table.FEEDS = feeds = {}
            try:
                steps = [runner.fetchable(step) for step in build(dtype)]
            except ValueError:
                continue
        yield Program(op, graph.as_graph_def(), {tensor.op.name: proto(value, tensor.dtype) for tensor, value in feeds.items()},
                      [[(f.op if isinstance(f, tf.Tensor) else f).name for f in step] for step in steps])


def inputs_of(node, values):
    inputs = []
    for tensor in node.inputs:
        if tensor.op.type in VARIABLES:  # made together with the placeholder of its value
            tensor = next(user.inputs[1] for user in tensor.consumers() if user.type == VARIABLES[tensor.op.type][0])
        if tensor.name in values:
            dtype, value = values[tensor.name]
            inputs.append(proto(value, dtype))
        elif tensor.op.type == "Const":
            inputs.append(tensor.op.get_attr("value"))
        else:
            return None  # a handle: programs cover it
    return inputs


def tensors(tensor):
    """Mutants of one tensor."""
    dtype = tf.as_dtype(tensor.dtype)
    array = tensor_util.MakeNdarray(tensor)
    n = max(array.size, 1)
    filler = np.resize(array, n) if array.size else np.zeros(1, array.dtype if dtype != tf.string else object)
    if dtype == tf.string and not array.size:
        filler = np.array([b""], object)
    shapes = [(), (0,), (1,), (n,), (n + 1,), (1, n), (n, 1), (0, 3), (3, 0), (2, 2), (1,) * 6, (1,) * 9, (2, 1, 3, 2)]
    shapes += [array.shape + (1,), (1,) + array.shape, array.shape[1:], array.shape[:-1]]
    for axis in range(array.ndim):
        shapes += [array.shape[:axis] + (size,) + array.shape[axis + 1:] for size in (0, 1, array.shape[axis] + 1)]
    for shape in dict.fromkeys(shapes):
        yield proto(np.resize(filler, shape), dtype)
    for shape in [(0, 1 << 40), (1 << 40, 0), (1 << 31, 0, 1 << 31), (1 << 62, 0), (1 << 62, 4), (-1,), (1 << 60,), (1,) * 300]:
        yield hollow(shape, dtype)
    shape = array.shape if array.size else (2,)
    for value in wrong_values(dtype):
        yield proto(np.full(shape, value, object if dtype == tf.string else None), dtype)
        for first in (0, -1):
            some = np.resize(filler, shape).copy()
            with np.errstate(all="ignore"):
                some[(first,) * some.ndim] = value
            yield proto(some, dtype)
    for other in (tf.string, tf.float32, tf.int64, tf.bool, tf.bfloat16):
        if other != dtype:
            yield proto(np.full(shape, b"x" if other == tf.string else 1, object if other == tf.string else None), other)


def wrong_values(dtype):
    if dtype == tf.string:
        return [b"", b"\xff\xfe\x00", b"9" * 5000, b"%n%s", b"-1", b"nan"]
    if dtype.is_floating:
        return [float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1e30]
    if dtype.is_integer:
        return [value for value in (-1, 0, 1, -2, 7, 1000, dtype.min, dtype.max, *BIG) if dtype.min <= value <= dtype.max]
    return []


def attr_mutants(op, specimen):
    """(name, AttrValue) of wrong attributes."""
    definition = op_def_registry.get(op)
    for attr in definition.attr if definition is not None else []:  # none: a call of a function by its name
        if attr.name not in specimen.attrs:
            continue
        old = specimen.attrs[attr.name]
        made = []
        if attr.type == "int":
            made = [dict(i=i) for i in (-1, 0, 1, 7, -(1 << 63), 1 << 31, 1 << 62)]
        elif attr.type == "float":
            made = [dict(f=f) for f in (float("nan"), float("inf"), -1.0, 0.0)]
        elif attr.type == "string":
            made = [dict(s=s) for s in (b"", b"bogus", b"\xff")]
        elif attr.type == "type":
            made = [dict(type=t) for t in (0, 1, 3, 7, 8, 9, 10, 11, 14, 19, 20, 21, 101, 9999) if t != old.type]
        elif attr.type == "bool":
            made = [dict(b=not old.b)]
        for fields in made:
            yield attr.name, tf.compat.v1.AttrValue(**fields)
        if attr.type == "list(int)":
            n = len(old.list.i)
            for listed in ([], [-1] * n, [0] * n, [1 << 31] * n, [1 << 62] * n, [-(1 << 63)] * n, [1] * (n + 3), [7] * n, [5] * (n - 1)):
                yield attr.name, tf.compat.v1.AttrValue(list=tf.compat.v1.AttrValue.ListValue(i=listed))
        elif attr.type == "list(type)":
            n = len(old.list.type)
            for listed in ([], [7] * n, [1] * (n + 1), [20] * n):
                yield attr.name, tf.compat.v1.AttrValue(list=tf.compat.v1.AttrValue.ListValue(type=listed))
        elif attr.type == "list(float)":
            for listed in ([], [float("nan")], [-1.0] * 9):
                yield attr.name, tf.compat.v1.AttrValue(list=tf.compat.v1.AttrValue.ListValue(f=listed))
        elif attr.type == "shape":
            yield attr.name, tf.compat.v1.AttrValue(shape=dict(unknown_rank=True))
            for dims in ([], [-1], [0], [1 << 62, 1 << 62], [1 << 40], [-5], [1] * 300):
                yield attr.name, tf.compat.v1.AttrValue(shape=hollow(dims, tf.float32).tensor_shape)


def mutants(specimen):
    """One wrong thing at a time, then several, then everything alike."""
    choices = [list(tensors(tensor)) for tensor in specimen.inputs]
    attrs = list(attr_mutants(specimen.op, specimen))
    for i, listed in enumerate(choices):
        for tensor in listed:
            yield specimen.but(i, tensor)
    for name, value in attrs:
        yield specimen.with_attr(name, value)
    dtypes = [tf.as_dtype(tensor.dtype) for tensor in specimen.inputs]
    for shape in [(), (0,), (1,), (3,), (0, 0), (1, 1), (2, 3), (0, 3, 0), (1, 1, 1, 1), (0, 2, 2, 1), (1,) * 5, (1,) * 8]:
        filled = [proto(np.full(shape, b"a" if d == tf.string else 1, object if d == tf.string else None), d) for d in dtypes]
        yield specimen.with_inputs(filled)
    for _ in range(MIXED if len(choices) + len(attrs) > 1 else 0):
        inputs = [listed[rng.randint(len(listed))] if rng.rand() < 0.5 else old for old, listed in zip(specimen.inputs, choices)]
        changed = dict(specimen.attrs)
        for name, value in [attrs[rng.randint(len(attrs))] for _ in range(rng.randint(3))] if attrs else []:
            changed[name] = value
        yield Specimen(specimen.op, changed, inputs, specimen.variables)


def all_mutants(op):
    for specimen in specimens(op):
        yield from mutants(specimen)
    for _, program in runner.spread(list(programs(op)), 2 * BASES):
        yield from program.mutants()


def graph_of(specimen, constants):
    """The node, with placeholders or constants for its inputs."""
    graph = graph_pb2.GraphDef()
    graph.versions.producer = tf.version.GRAPH_DEF_VERSION
    node = graph.node.add(name="hostile", op=specimen.op)
    for name, value in specimen.attrs.items():
        node.attr[name].CopyFrom(value)
    for i, tensor in enumerate(specimen.inputs):
        source = graph.node.add(name="i%d" % i, op="Const" if constants else "Placeholder")
        source.attr["dtype"].type = tensor.dtype
        if constants:
            source.attr["value"].tensor.CopyFrom(tensor)
        node.input.append(source.name)
        if specimen.variables[i]:
            assign, type_attr = VARIABLES[specimen.variables[i]]
            variable = graph.node.add(name="v%d" % i, op=specimen.variables[i])
            variable.attr["dtype"].type = tensor.dtype
            variable.attr["shape"].shape.unknown_rank = True
            setter = graph.node.add(name="a%d" % i, op=assign, input=[variable.name, source.name])
            setter.attr[type_attr].type = tensor.dtype
            if assign == "Assign":
                setter.attr["validate_shape"].b = False
            node.input[-1] = variable.name
    return graph


def place_on_gpu(op, graph):
    for node in graph.node:
        if node.op == op:
            node.device = "/device:GPU:0"


class Hostile:
    """Like Runner, but asks Weir alone, and only whether it lives."""

    def __init__(self, weir, options, report):
        self._weir, self._options, self._report = weir, options, report
        self._cluster, self._client = None, None
        self._session = (None, None)  # graph, handle
        self._said = {}  # what a sanitizer has said so far
        factor = SANITIZED_FACTOR if options.sanitized else 1
        self._call_seconds, self._answer_seconds = factor * CALL_SECONDS, factor * ANSWER_SECONDS

    def close(self):
        if self._client:
            self._client.close()
        if self._cluster:
            self._cluster.stop()
        self._cluster, self._client, self._session = None, None, (None, None)

    def _start(self):
        if self._cluster is None or not self._cluster.alive():
            self.close()
            limit = None if self._options.sanitized else ADDRESS_SPACE
            if self._options.sanitized:  # which takes a great part of the address space itself
                os.environ.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1:max_allocation_size_mb=%d" % (MEMORY >> 20))
            arguments = ["--simulated-gpus", "1"] if self._options.gpu else []
            self._cluster = weir_cluster.Cluster(self._weir, tasks=1, address_space=limit, arguments=arguments)
            self._client = master_client.MasterClient(self._cluster.addresses[0], self._call_seconds)

    def compare_op(self, op, deadly):
        """(mutants sent, texts of what went wrong, [], set())"""
        del deadly
        self._report("begin", op, -1)
        rng.seed(5)
        sent, texts = 0, []
        self._start()
        for mutant, constants in itertools.product(self._chosen(op), (False, True)):
            if sent % 50 == 0:
                self._report("hostile", op, sent)
            why = self._send(mutant, constants)
            sent += 1
            if why:
                texts.append("%s %s: %s" % (mutant.describe(), "constant" if constants else "fed", why))
                self._report("hostile", op, sent)
                if len(texts) >= self._options.hostile_limit:
                    break
        logs = self._cluster.logs(1 << 30) if self._cluster else ""
        found = dict.fromkeys(re.findall(r"[^\n/]*:\d+:\d+: runtime error: [^\n]*", logs))
        self._said, texts = {**self._said, **found}, texts + ["%s: %s" % (op, line) for line in found if line not in self._said]
        return sent, texts, [], set()

    def _chosen(self, op):
        found = list(all_mutants(op)) if self._options.mutants else all_mutants(op)
        if not self._options.mutants or len(found) <= self._options.mutants:
            return found
        return [found[i] for i in sorted(rng.choice(len(found), self._options.mutants, replace=False))]

    def _send(self, mutant, constants):
        """What went wrong, or None. A slow answer counts when it comes again, for the machine may be busy."""
        why = self._send_once(mutant, constants)
        return self._send_once(mutant, constants) if why and why.startswith("answered") else why

    def _send_once(self, mutant, constants):
        self._start()
        started = time.monotonic()
        try:
            self._step(mutant, constants)
        except master_client.Failed as failed:
            if failed.silent and time.monotonic() - started < self._call_seconds - 1:
                return None  # the step ended by itself: an op that waits
            if failed.silent:
                self.close()
                return "no answer within %g s" % self._call_seconds
            if failed.gone and not self._cluster.alive(1.0):
                logs = self._cluster.logs(20000)
                self.close()
                if self._options.sanitized and any(part in logs for part in SANITIZER_LIMITS):
                    return None
                return "the server died: " + " ".join((SANITIZED.search(logs) or LAST.search(logs)).group().split())
        seconds = time.monotonic() - started
        memory = self._cluster.peak_memory()
        if memory > MEMORY:
            self.close()
            return "took %.1f GiB" % (memory / 2.0 ** 30)
        return "answered after %.1f s" % seconds if seconds > self._answer_seconds else None

    def _step(self, mutant, constants):
        program = isinstance(mutant, Program)
        graph = mutant.graph_of(constants) if program else graph_of(mutant, constants)
        if self._options.gpu:
            place_on_gpu(mutant.op, graph)
        text = graph.SerializeToString(deterministic=True)
        if self._session[0] != text:
            if self._session[1]:
                self._client.close_session(self._session[1])
            self._session = (None, None)
            self._session = (text, self._client.create_session(graph))
        if program:
            feeds = {} if constants else {name + ":0": tensor for name, tensor in mutant.feeds().items()}
            for step in mutant.steps:
                self._client.run_step(self._session[1], feeds, step)
            return
        feeds = {} if constants else {"i%d:0" % i: tensor for i, tensor in enumerate(mutant.inputs)}
        assigned = ["a%d" % i for i, variable in enumerate(mutant.variables) if variable]
        if assigned:
            self._client.run_step(self._session[1], feeds, assigned)
        self._client.run_step(self._session[1], feeds, ["hostile"])
