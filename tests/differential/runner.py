"""One process that runs cases in TensorFlow and on a Weir server of its own, and says how the answers differ."""
import hashlib
import os
import pickle
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

import compare
import shapes
import table
import variations
import weir_cluster

tf1 = tf.compat.v1
FORMAT = b"4"  # of remembered answers
STEPS_FORMAT = b"5"  # of those to programs
BATCH = 48  # cases in one step, where TensorFlow's answer is no error
STEP_MILLISECONDS = 20000


class Case:
    """Nodes of one case in a graph: what is run, step by step, and what is fed."""

    def __init__(self, index, ulps, graph, nodes, steps, feeds, text, batched=False):
        self.index, self.ulps, self.graph, self.nodes = index, ulps, graph, nodes
        self.steps, self.feeds, self.text, self.batched = steps, feeds, text, batched
        self.our_steps = steps  # what Weir runs
        self._library = None  # bodies of functions that no step was seen to call yet

    def digest(self):
        """Of all that TensorFlow's answer depends on, but not of where the case stands in its table."""
        scope = b"c%05d" % self.index
        hashed = hashlib.sha256((FORMAT if self.batched else STEPS_FORMAT) + tf.__version__.encode())
        for node in self.nodes:
            hashed.update(node.node_def.SerializeToString(deterministic=True).replace(scope, b"c"))
        for tensor, value in sorted(self.feeds.items(), key=lambda item: item[0].name):
            hashed.update(tensor.name.encode().replace(scope, b"c") + str(value.dtype).encode() + str(value.shape).encode())
            hashed.update(pickle.dumps(value.tolist()) if value.dtype == object else value.tobytes())
        hashed.update(repr([[f.name for f in step] for step in self.steps]).encode().replace(scope, b"c"))
        return hashed.hexdigest()

    def ops(self, step):
        """The ops that a step needs, also in the bodies of functions."""
        if self._library is None:
            self._library = {f.signature.name: f.node_def for f in self.graph.as_graph_def().library.function}
        found, seen, called = set(), set(), []
        waiting = [f.op if isinstance(f, tf.Tensor) else f for f in self.steps[step]]
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            found.add(node.type)
            called += _functions(node.node_def)
            waiting += [tensor.op for tensor in node.inputs] + list(node.control_inputs)
        while called:
            body = self._library.pop(called.pop(), ())
            found.update(node.op for node in body)
            called += [name for node in body for name in _functions(node)]
        return found


def _functions(node_def):
    return [f.name for value in node_def.attr.values() for f in [value.func, *value.list.func] if f.name]


def describe(arguments):
    def text(value):
        if isinstance(value, table.Fed):
            shown = " = %s" % value.value.tolist() if value.value.size <= 4 else ""
            return "%s%s%s" % (value.dtype.name, list(value.value.shape), shown)
        if isinstance(value, list):
            return "[%s]" % ", ".join(map(text, value))
        return value.name if isinstance(value, tf.DType) else str(value).replace("\n", " ")

    return ", ".join("%s=%s" % (name, text(value)) for name, value in arguments.items())


def fetchable(values):
    """What a session can hand to a client; ops, and the ops of other tensors, are only run."""
    return [value if isinstance(value, tf.Tensor) and value.dtype.base_dtype not in (tf.resource, tf.variant) else
            value.op if isinstance(value, tf.Tensor) else value for value in tf.nest.flatten(values)]


def nodes_of(fetches):
    """The node that gives these outputs, and what enters it."""
    node = fetches[0] if isinstance(fetches[0], tf.Operation) else fetches[0].op
    return [tensor.op for tensor in node.inputs] + [node]


def make_node(op, arguments, leaf):
    def node(value):
        if isinstance(value, list) and any(isinstance(v, table.Fed) for v in value):
            return [node(v) for v in value]
        return leaf(value) if isinstance(value, table.Fed) else value

    return getattr(tf.raw_ops, op)(**{name: node(value) for name, value in arguments.items()})


def is_resource(op, name):
    renamed = table.raw_names(op)
    return any(arg.type == tf.resource.as_datatype_enum for arg in op_def_registry.get(op).input_arg
               if renamed.get(arg.name, arg.name) == name)


class Maker:
    """Makes the nodes of one case: placeholders for what is fed, and variables with their first and last steps."""

    def __init__(self, op, arguments):
        self.feeds, self._first, self._last = {}, [], []
        self._resource = {id(value): is_resource(op, name) for name, value in arguments.items()}
        outputs = make_node(op, arguments, self._leaf)
        fetches = fetchable(outputs) if not isinstance(outputs, tf.Operation) else [outputs]
        self.nodes = nodes_of(fetches)
        self.steps = [self._first, fetches, self._last] if self._first else [fetches]
        if self._first:
            self.nodes += [each.op if isinstance(each, tf.Tensor) else each for each in self._first + self._last]

    def _leaf(self, value):
        placeholder = tf1.placeholder(value.dtype, value.value.shape if isinstance(value, table.Shaped) else None)
        self.feeds[placeholder] = value.value
        if not isinstance(value, table.Var):
            return placeholder
        shape = list(value.value.shape)
        name = placeholder.op.name.replace("/", "_")
        if self._resource[id(value)]:
            var = tf.raw_ops.VarHandleOp(dtype=value.dtype, shape=shape, shared_name=name)
            self._first.append(tf.raw_ops.AssignVariableOp(resource=var, value=placeholder))
            self._last.append(tf.raw_ops.ReadVariableOp(resource=var, dtype=value.dtype))
        else:
            var = tf.raw_ops.VariableV2(dtype=value.dtype, shape=shape, shared_name=name)
            self._first.append(tf.raw_ops.Assign(ref=var, value=placeholder).op)
            self._last.append(tf.raw_ops.Identity(input=var))
        return var


def build_cases(op, limit, varied=0):
    """Cases of all rows in one graph, and a graph for each program. `varied`: so many variations of cases instead."""
    cases = []
    graph = tf.Graph()
    listed = list(table.cases_of(op))
    if varied:
        listed, limit = variations.variations(listed, varied), 0
    chosen = spread(listed, limit)
    with graph.as_default():
        for index, (ulps, arguments) in chosen:
            if not table.has_kernel(op, table.attr_types(op, arguments)):
                continue  # it would make TensorFlow refuse the whole graph
            try:
                with tf1.name_scope("c%05d" % index):
                    made = Maker(op, arguments)
            except (TypeError, ValueError):
                continue  # the client itself refuses a type, or a wrong constant
            cases.append(Case(index, ulps, graph, made.nodes, made.steps, made.feeds,
                              "%s(%s)" % (op, describe(arguments)), batched=True))
    for index, (ulps, build, dtype) in spread([] if varied else list(table.programs_of(op)), limit):
        index += len(listed)
        graph = tf.Graph()
        with graph.as_default(), tf1.name_scope("c%05d" % index):
            table.FEEDS = feeds = {}
            try:
                steps = [fetchable(step) for step in build(dtype)]
            except ValueError:
                continue  # the client's shape functions see what is wrong
        text = "%s: %s%s" % (op, build.__name__, "" if dtype is None else "<%s>" % dtype.name)
        cases.append(Case(index, ulps, graph, graph.get_operations(), steps, feeds, text))
    return cases


def spread(items, limit):
    """(index, item) of at most `limit` of them, evenly."""
    if not limit or len(items) <= limit:
        return list(enumerate(items))
    return [(i * len(items) // limit, items[i * len(items) // limit]) for i in range(limit)]


def config():
    made = tf1.ConfigProto(operation_timeout_in_ms=STEP_MILLISECONDS, isolate_session_state=True)
    made.graph_options.rewrite_options.disable_meta_optimizer = True
    made.graph_options.optimizer_options.opt_level = -1
    made.intra_op_parallelism_threads = 1
    return made


def run(session, case, steps):
    """The values of all steps, or the first error; of a program, those of each step."""
    if not case.batched:
        return run_program(session, case, steps)
    arrays = []
    try:
        for step in steps:
            arrays += [np.asarray(v) for v in session.run(step, case.feeds) if v is not None]
    except tf.errors.OpError as error:
        return compare.Answer(arrays, type(error).__name__, error.message)
    return compare.Answer(arrays)


def run_program(session, case, steps):
    """Goes on after errors, but for that of a step which waits."""
    done = []
    for step in steps:
        try:
            done.append(compare.Answer([np.asarray(v) for v in session.run(step, case.feeds) if v is not None]))
        except tf.errors.OpError as error:
            done.append(compare.Answer((), type(error).__name__, error.message))
            if isinstance(error, tf.errors.DeadlineExceededError):
                break
    return compare.Answer(steps=done)


class Answers:
    """TensorFlow's, remembered in a file for each op."""

    def __init__(self, directory, op):
        self._path = directory and os.path.join(directory, op + ".pickle")
        self._known = {}
        self._changed = False
        if self._path and os.path.exists(self._path):
            try:
                with open(self._path, "rb") as file:
                    self._known = pickle.load(file)
            except Exception:  # pylint: disable=broad-except
                self._known = {}  # an older format, or half a file: asked anew

    def get(self, digest):
        return self._known.get(digest)

    def put(self, digest, answer):
        self._known[digest] = answer
        self._changed = True

    def save(self):
        if self._path and self._changed:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            with tempfile.NamedTemporaryFile("wb", dir=os.path.dirname(self._path), delete=False) as file:
                pickle.dump(self._known, file)
            os.replace(file.name, self._path)


class Verdict:
    """What came of the cases of one op."""

    def __init__(self):
        self.compared, self.texts, self.messages, self.missing, self.succeeded = 0, [], [], set(), set()

    def judge(self, case, ours, theirs, ops, where=""):
        if compare.is_missing(ours) and not compare.is_missing(theirs):
            self.missing.add(compare.essence(ours.message))
        elif why := difference(ours, theirs, case.ulps):
            self.texts.append("%s%s: %s" % (case.text, where, why))
        elif not ours.error:
            self.succeeded |= ops()
        elif isinstance(case.ulps, table.Words) and compare.essence(theirs.message) not in compare.essence(ours.message):
            self.texts.append("%s%s: %s, should be %s" % (case.text, where, ours.summary(), theirs.summary()))
        elif compare.essence(ours.message) != compare.essence(theirs.message):
            self.messages.append("%s%s: %s\n    should be: %s" % (
                case.text, where, compare.essence(ours.message), compare.essence(theirs.message)))


def difference(ours, theirs, ulps, floor=None):
    if ours.died:
        return "the server dies, should be %s" % theirs.summary()
    if ours.error != theirs.error:
        return "%s, should be %s" % (ours.summary(), theirs.summary())
    return compare.differences(ours.arrays, theirs.arrays, ulps, floor)


class Runner:
    """Owns a Weir server, which it starts again when a case ends it."""

    def __init__(self, weir, options, report):
        self._weir, self._options, self._report = weir, options, report
        self._cluster = None
        self._open = (None, None, None)  # graph, server and session between the two

    def close(self):
        if self._cluster:
            self._cluster.stop()

    def _server(self):
        if self._cluster is None or not self._cluster.alive():
            if self._cluster:
                self._cluster.stop()
            self._cluster = weir_cluster.Cluster(self._weir, tasks=1)
        return self._cluster

    def compare_op(self, op, deadly):
        """(cases compared, texts of differences, texts of messages that differ, ops that succeeded on both sides). `deadly`:
        cases TensorFlow died of."""
        self._report("begin", op, -1)
        cases = build_cases(op, self._options.cases, self._options.varied)
        theirs = self._oracle(op, cases, deadly)
        ours = self._ask_weir(op, cases, theirs)
        verdict = Verdict()
        for case in cases:
            a, b = ours[case.index], theirs[case.index]
            if is_unanswerable(b):
                if a.died:
                    verdict.texts.append("%s: the server dies" % case.text)
                continue
            verdict.compared += 1
            if case.batched or a.died:
                verdict.judge(case, a, b, lambda: {op})
                continue
            if len(a.steps) != len(b.steps):
                verdict.texts.append("%s: %d steps, should be %d" % (case.text, len(a.steps), len(b.steps)))
            for step, (mine, other) in enumerate(zip(a.steps, b.steps)):
                if not compare.is_missing(other):
                    verdict.judge(case, mine, other, lambda step=step: case.ops(step), " step %d" % step)
        texts = verdict.texts + ["%s: %s" % (op, text) for text in sorted(verdict.missing)]
        if self._options.shapes and not self._options.varied:
            self._report("shapes", op, -1)
            wrong = {case.index for case in cases if theirs[case.index].error}  # what a shape function may refuse, or not
            texts += shapes.differences(op, self._weir, self._options.cases, wrong)
        return verdict.compared, texts, verdict.messages, verdict.succeeded

    def _oracle(self, op, cases, deadly):
        answers, found, sessions = Answers(self._options.answers, op), {}, {}
        for case in cases:
            digest = case.digest()
            # A death is not remembered: an earlier case may have corrupted the process's memory.
            answer = compare.Answer(died=True) if case.index in deadly else answers.get(digest)
            if answer is None:
                self._report("oracle", op, case.index)
                if case.graph not in sessions:
                    sessions[case.graph] = tf1.Session(graph=case.graph, config=config())
                answer = run(sessions[case.graph], case, case.steps)
                answers.put(digest, answer)
            found[case.index] = answer
        for session in sessions.values():
            session.close()
        answers.save()
        return found

    def _ask_weir(self, op, cases, theirs):
        self._report("weir", op, -1)
        found = {}
        waiting = [case for case in cases
                   if case.batched and theirs[case.index].error is None and not theirs[case.index].died]
        alone = [case for case in cases if case not in waiting]
        while waiting:
            batch, waiting = waiting[:BATCH], waiting[BATCH:]
            self._run_batch(op, batch, found)
        for case in alone:
            found[case.index] = self._run_alone(op, case)
        return found

    def _run_batch(self, op, batch, found):
        """All in one step; if that fails, each half of them."""
        if len(batch) == 1:
            found[batch[0].index] = self._run_alone(op, batch[0])
            return
        feeds = {tensor: value for case in batch for tensor, value in case.feeds.items()}
        arrays = {case.index: [] for case in batch}
        try:
            for step in range(max(len(case.steps) for case in batch)):
                having = [case for case in batch if step < len(case.our_steps)]
                values = self._session(batch[0].graph).run([case.our_steps[step] for case in having], feeds)
                for case, listed in zip(having, values):
                    arrays[case.index] += [np.asarray(v) for v in listed if v is not None]
        except (tf.errors.OpError, RuntimeError):
            for half in (batch[:len(batch) // 2], batch[len(batch) // 2:]):
                self._run_batch(op, half, found)
            return
        for case in batch:
            found[case.index] = compare.Answer(arrays=arrays[case.index])

    def _session(self, graph):
        cluster = self._server()
        if self._open[0] is not graph or self._open[1] is not cluster:
            self._open = (graph, cluster, tf1.Session(cluster.target(), graph=graph, config=config()))
        return self._open[2]

    def _run_alone(self, op, case):
        self._report("weir", op, case.index)
        session = self._session(case.graph)
        answer = run(session, case, case.our_steps)
        ended = {each.error for each in [answer, *answer.steps]} & {
            "UnavailableError", "AbortedError", "InternalError", "CancelledError"}
        if ended and not self._cluster.alive(1.0):
            return compare.Answer(died=True, message=self._cluster.logs()[-1000:])
        return answer


def is_unanswerable(theirs):
    return theirs.died or compare.is_missing(theirs)
