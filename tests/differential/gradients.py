"""Weir's gradients against TensorFlow's: SymbolicGradient of each case's op, against tf.gradients in TensorFlow."""
import tensorflow as tf

import runner
import table

tf1 = tf.compat.v1
ULPS = 256


class GradientMaker:
    """The nodes of one case. `theirs` and `ours` are the gradients for the same inputs."""

    def __init__(self, op, arguments):
        self.feeds = {}
        inputs = []

        def leaf(value):
            inputs.append(tf1.placeholder(value.dtype))
            self.feeds[inputs[-1]] = value.value
            return inputs[-1]

        ys = self._outputs(runner.make_node(op, arguments, leaf))
        dys = [0.75 * tf.ones_like(y) if _flows(y) else tf.zeros_like(y) for y in ys]
        flowing = [(y, dy) for y, dy in zip(ys, dys) if _flows(y)]
        wanted = [i for i, x in enumerate(inputs) if _flows(x)]
        if not flowing or not wanted:
            raise ValueError("nothing flows")
        grads = tf.gradients([y for y, _ in flowing], [inputs[i] for i in wanted], [dy for _, dy in flowing])
        function = self._function(op, arguments, inputs)
        ours = tf.raw_ops.SymbolicGradient(input=inputs + dys, Tout=[x.dtype for x in inputs], f=function)
        kept = [(tf.convert_to_tensor(grad), ours[i]) for i, grad in zip(wanted, grads) if grad is not None]
        if not kept:
            raise ValueError("nothing flows")
        self.theirs, self.ours = [grad for grad, _ in kept], [grad for _, grad in kept]
        self.nodes = [tensor.op for tensor in inputs] + [ys[0].op, ours[0].op]

    @staticmethod
    def _outputs(made):
        return [y for y in tf.nest.flatten(made) if isinstance(y, tf.Tensor)]

    def _function(self, op, arguments, inputs):
        @tf.function(autograph=False, input_signature=[tf.TensorSpec(None, x.dtype) for x in inputs])
        def call(*args):
            waiting = list(args)
            return self._outputs(runner.make_node(op, arguments, lambda _: waiting.pop(0)))

        concrete = call.get_concrete_function()
        concrete.add_to_graph()
        return concrete


def _flows(tensor):
    return tensor.dtype.is_floating or tensor.dtype.is_complex


def build_cases(op, limit):
    cases, graph = [], tf.Graph()
    with graph.as_default():
        for index, (ulps, arguments) in runner.spread(list(table.cases_of(op)), limit):
            if any(isinstance(value, table.Var) for value in arguments.values()):
                continue
            if not table.has_kernel(op, table.attr_types(op, arguments)):
                continue
            try:
                with tf1.name_scope("c%05d" % index):
                    made = GradientMaker(op, arguments)
            except (TypeError, ValueError, LookupError, NotImplementedError):
                continue  # TensorFlow has no gradient, or no such node
            text = "gradient of %s(%s)" % (op, runner.describe(arguments))
            case = runner.Case(index, max(ulps, ULPS), graph, made.nodes, [made.theirs], made.feeds, text, batched=True)
            case.our_steps = [made.ours]
            cases.append(case)
    return cases


class Gradients(runner.Runner):
    """Like Runner, of gradients."""

    def compare_op(self, op, deadly):
        self._report("begin", op, -1)
        cases = build_cases(op, self._options.cases)
        theirs = self._oracle(op + ".gradient", cases, deadly)
        cases = [case for case in cases if not theirs[case.index].error and not theirs[case.index].died]
        ours = self._ask_weir(op, cases, theirs)
        texts = []
        for case in cases:
            if why := runner.difference(ours[case.index], theirs[case.index], case.ulps, floor=1.0):
                texts.append("%s: %s" % (case.text, why))
        return len(cases), texts, [], set()
