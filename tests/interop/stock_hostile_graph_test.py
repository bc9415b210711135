"""Graphs that mean harm, by TensorFlow's messages without its client's checks: an error in time, and the server goes on.

  stock_hostile_graph_test.py WEIR [TEST...]    WEIR is the weir program
"""
import session_case  # first: it finds an interpreter that can import TensorFlow

import time

from google.protobuf import text_format
import grpc
from session_case import tf, tf1
from tensorflow.core.framework import graph_pb2, types_pb2

PATIENCE = 30
FLOAT, INT, BOOL = types_pb2.DT_FLOAT, types_pb2.DT_INT32, types_pb2.DT_BOOL


def field(number, value):
    """A field of bytes: the wheel has none of the master's messages."""
    size, head = len(value), bytearray([number << 3 | 2])
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    return bytes(head + bytearray([size])) + value


def first_field(message):
    """The bytes of field 1, which these messages begin with and which are short."""
    return message[2:2 + message[1]]


def node(graph, name, op, inputs=(), **attrs):
    added = graph.node.add(name=name, op=op, input=list(inputs))
    for key, value in attrs.items():
        attr = added.attr[key]
        if isinstance(value, bool):
            attr.b = value
        elif isinstance(value, str):
            attr.s = value.encode()
        elif key in ("T", "dtype"):
            attr.type = value
        elif isinstance(value, int):
            attr.i = value
        else:
            attr.CopyFrom(value)
    return added


def constant(graph, name="c", values=(1.0,), dims=()):
    added = node(graph, name, "Const", dtype=FLOAT)
    tensor = added.attr["value"].tensor
    tensor.dtype = FLOAT
    tensor.float_val.extend(values)
    for dim in dims:
        tensor.tensor_shape.dim.add(size=dim)
    return added


def calls(library, name, callees):
    """x -> callees one after the other."""
    added = library.function.add()
    added.signature.name = name
    added.signature.input_arg.add(name="x", type=FLOAT)
    added.signature.output_arg.add(name="y", type=FLOAT)
    value = "x"
    for i, callee in enumerate(callees):
        body = added.node_def.add(name="n%d" % i, op=callee, input=[value])
        if callee == "Neg":
            body.attr["T"].type = FLOAT
        value = "n%d:y:0" % i
    added.ret["y"] = value


class Hostile(session_case.SessionTest):
    def setUp(self):
        super().setUp()
        self.channel = grpc.insecure_channel(session_case.target()[len("grpc://"):], options=[
            ("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)])
        self.addCleanup(self.channel.close)

    def call(self, method, request):
        return self.channel.unary_unary("/tensorflow.MasterService/" + method)(request, timeout=PATIENCE)

    def step(self, graph, fetch, producer=1882):
        """The answer to a step that fetches one tensor, in a session of its own."""
        graph.versions.producer = producer
        handle = field(1, first_field(self.call("CreateSession", field(1, graph.SerializeToString()))))
        try:
            return self.call("RunStep", handle + field(3, fetch.encode()))
        finally:
            self.call("CloseSession", handle)

    def refuses(self, graph, fetch="bad:0", code=grpc.StatusCode.INVALID_ARGUMENT, phrase="", **more):
        start = time.monotonic()
        with self.assertRaises(grpc.RpcError) as raised:
            self.step(graph, fetch, **more)
        self.assertEqual(raised.exception.code(), code, raised.exception.details())
        self.assertIn(phrase, raised.exception.details())
        self.assertLess(time.monotonic() - start, PATIENCE)
        self.assertEqual(self.run_(tf.constant(1) + 1), 2)

    def test_cycles_and_names(self):
        graph = graph_pb2.GraphDef()
        node(graph, "bad", "Neg", ["other"], T=FLOAT)
        node(graph, "other", "Neg", ["bad"], T=FLOAT)
        self.refuses(graph, phrase="in a cycle")
        graph = graph_pb2.GraphDef()
        constant(graph, "bad")
        constant(graph, "bad")
        self.refuses(graph, phrase="not unique")
        for inputs in (["nowhere"], ["c:7"], ["c:-1"], ["c:99999999999999999999"], ["^"], [""], ["c", "c"], ["^c", "c"]):
            graph = graph_pb2.GraphDef()
            constant(graph)
            node(graph, "bad", "Neg", inputs, T=FLOAT)
            self.refuses(graph)

    def test_attributes(self):
        for attrs in ({"T": types_pb2.DT_STRING}, {"T": 9999}):
            graph = graph_pb2.GraphDef()
            constant(graph)
            node(graph, "bad", "Neg", ["c"], **attrs)
            self.refuses(graph)
        graph = graph_pb2.GraphDef()
        constant(graph)
        node(graph, "bad", "Neg", ["c"])
        self.refuses(graph, code=grpc.StatusCode.NOT_FOUND, phrase="No attr named 'T' in NodeDef")
        for op in ("_Recv", "_Arg", "_Send"):
            graph = graph_pb2.GraphDef()
            node(graph, "bad", op)
            self.refuses(graph)

    def test_other_producers(self):
        graph = graph_pb2.GraphDef()
        constant(graph)
        node(graph, "newer", "Neg", ["c"], T=FLOAT, unknown=1)
        calls(graph.library, "F", ["Neg"])
        graph.library.function[0].node_def[0].attr["unknown"].i = 1
        node(graph, "call", "F", ["newer"], unknown=1)
        removed = node(graph, "removed", "BatchNormWithGlobalNormalization", ["c"] * 5, T=FLOAT)
        removed.attr["variance_epsilon"].f = 1
        removed.attr["scale_after_normalization"].b = True
        self.step(graph, "call:0")
        self.refuses(graph, "removed:0", grpc.StatusCode.UNIMPLEMENTED, "It has been removed in version 9")
        for text in ("producer: -1", "min_consumer: 99999", "bad_consumers: %d" % tf.version.GRAPH_DEF_VERSION):
            wrong = graph_pb2.GraphDef()
            wrong.CopyFrom(graph)
            text_format.Merge("versions { %s }" % text, wrong)
            self.refuses(wrong, "call:0", producer=wrong.versions.producer)

    def test_constants_that_claim_too_much(self):
        for dims, values in (([2 ** 60], [1.0]), ([2 ** 31, 2 ** 31, 4], [1.0]), ([2 ** 40], [])):
            graph = graph_pb2.GraphDef()
            constant(graph, "bad", values, dims)
            with self.assertRaises(grpc.RpcError) as raised:
                self.step(graph, "bad:0")
            self.assertIn(raised.exception.code(),
                          (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED))
        for dims in ([-2], [3]):
            graph = graph_pb2.GraphDef()
            constant(graph, "bad", [1.0] * 5, dims)
            self.refuses(graph)
        self.assertEqual(self.run_(tf.constant(1) + 1), 2)

    def test_ops_that_ask_for_too_much(self):
        n = tf1.placeholder(tf.int64, [])
        for value in (2 ** 60, 2 ** 40, -1):
            for op in (tf.fill([n], 1.0), tf.zeros(tf.stack([n, n])), tf.range(n * 4), tf.tile([1.0], [n])):
                with self.assertRaises((tf.errors.ResourceExhaustedError, tf.errors.InvalidArgumentError)):
                    if self.run_(op, {n: value}).size == 0:
                        raise tf.errors.InvalidArgumentError(None, None, "an empty range")
        self.assertEqual(self.run_(tf.constant(1) + 1), 2)

    def test_long_chains(self):
        for op, length in (("Identity", 100000), ("Neg", 100000)):
            graph = graph_pb2.GraphDef()
            constant(graph, "n0")
            for i in range(length):
                node(graph, "n%d" % (i + 1), op, ["n%d" % i], T=FLOAT)
            self.assertIn(b"n%d:0" % length, self.step(graph, "n%d:0" % length))
        graph = graph_pb2.GraphDef()
        constant(graph)
        for i in range(50000):
            node(graph, "n%d" % i, "Neg", ["c"], T=FLOAT)
        node(graph, "sum", "AddN", ["n%d" % i for i in range(50000)], T=FLOAT, N=50000)
        self.step(graph, "sum:0")

    def test_functions_that_call_themselves(self):
        graph = graph_pb2.GraphDef()
        constant(graph)
        calls(graph.library, "F", ["G"])
        calls(graph.library, "G", ["F"])
        node(graph, "bad", "F", ["c"])
        self.refuses(graph, code=grpc.StatusCode.RESOURCE_EXHAUSTED, phrase="levels deep")

    def test_recursion_that_ends(self):
        """F(n) = n <= 1 ? 1 : n * F(n - 1), and far too deep."""
        def graph_of(n):
            graph = graph_pb2.GraphDef()
            node(graph, "n", "Const", dtype=INT)
            graph.node[0].attr["value"].tensor.dtype = INT
            graph.node[0].attr["value"].tensor.int_val.append(n)
            for name in ("F", "Then", "Else"):
                function = graph.library.function.add()
                function.signature.name = name
                function.signature.input_arg.add(name="n", type=INT)
                function.signature.output_arg.add(name="y", type=INT)
                one = function.node_def.add(name="one", op="Const")
                one.attr["dtype"].type = one.attr["value"].tensor.dtype = INT
                one.attr["value"].tensor.int_val.append(1)
                function.ret["y"] = {"F": "if:output:0", "Then": "one:output:0", "Else": "product:z:0"}[name]
                if name == "F":
                    function.node_def.add(name="small", op="LessEqual", input=["n", "one:output:0"]).attr["T"].type = INT
                    branch = function.node_def.add(name="if", op="If", input=["small:z:0", "n"])
                    branch.attr["Tcond"].type = BOOL
                    for key in ("Tin", "Tout"):
                        branch.attr[key].list.type.append(INT)
                    branch.attr["then_branch"].func.name, branch.attr["else_branch"].func.name = "Then", "Else"
                elif name == "Else":
                    function.node_def.add(name="less", op="Sub", input=["n", "one:output:0"]).attr["T"].type = INT
                    function.node_def.add(name="rest", op="F", input=["less:z:0"])
                    function.node_def.add(name="product", op="Mul", input=["n", "rest:y:0"]).attr["T"].type = INT
            node(graph, "y", "F", ["n"])
            return graph

        self.assertIn((3628800).to_bytes(4, "little"), self.step(graph_of(10), "y:0"))
        self.refuses(graph_of(2 ** 30), "y:0", code=grpc.StatusCode.RESOURCE_EXHAUSTED, phrase="levels deep")

    def test_functions_in_a_long_chain(self):
        graph = graph_pb2.GraphDef()
        constant(graph)
        calls(graph.library, "F0", ["Neg"])
        for i in range(1000):
            calls(graph.library, "F%d" % (i + 1), ["F%d" % i])
        node(graph, "y", "F1000", ["c"])
        self.assertIn(b"y:0", self.step(graph, "y:0"))

    def test_malformed_functions(self):
        for callee, phrase in (("Frobnicate", "Op type not registered"), ("_Arg", "may not have _Arg")):
            graph = graph_pb2.GraphDef()
            constant(graph)
            calls(graph.library, "F", [callee])
            node(graph, "bad", "F", ["c"])
            with self.assertRaisesRegex(grpc.RpcError, phrase):
                self.step(graph, "bad:0")
        graph = graph_pb2.GraphDef()
        constant(graph)
        call = node(graph, "bad", "PartitionedCall", ["c"])
        call.attr["f"].func.name = "nowhere"
        call.attr["Tin"].list.type.append(FLOAT)
        call.attr["Tout"].list.type.append(FLOAT)
        self.refuses(graph, code=grpc.StatusCode.NOT_FOUND, phrase="nowhere")
        self.assertEqual(self.run_(tf.constant(1) + 1), 2)

    def test_loops_that_do_not_fit(self):
        graph = graph_pb2.GraphDef()
        constant(graph)
        node(graph, "bad", "Exit", ["c"], T=FLOAT)
        self.refuses(graph)
        graph = graph_pb2.GraphDef()
        constant(graph)
        node(graph, "e", "Enter", ["c"], T=FLOAT, frame_name="f")
        node(graph, "bad", "AddV2", ["c", "e"], T=FLOAT)
        try:  # a constant belongs to no frame
            self.step(graph, "bad:0")
        except grpc.RpcError as error:
            self.assertEqual(error.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(self.run_(tf.constant(1) + 1), 2)

    def test_bytes_that_are_no_message(self):
        for method in ("CreateSession", "RunStep", "ExtendSession", "PartialRunSetup", "MakeCallable", "RunCallable"):
            for data in (b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x7f", b"\x0a\x05ab"):
                with self.assertRaises(grpc.RpcError) as raised:
                    self.call(method, data)
                self.assertNotIn(raised.exception.code(),
                                 (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED))
        self.assertEqual(self.run_(tf.constant(1) + 1), 2)

    def test_a_variable_of_another_type(self):
        for use_resource in (False, True):
            with tf1.variable_scope("r%d" % use_resource):
                v = tf1.get_variable("v", initializer=1.0, use_resource=use_resource)
            self.initialize()
            if use_resource:
                handle = tf.raw_ops.VarHandleOp(dtype=tf.int32, shape=[], shared_name=v.op.name)
                self.expect(tf.errors.InvalidArgumentError, tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.int32))
            else:
                other = tf.raw_ops.VariableV2(shape=[], dtype=tf.int32, shared_name=v.op.name)
                self.expect(tf.errors.InternalError, other + 1)
            self.assertEqual(self.run_(v), 1)


if __name__ == "__main__":
    session_case.main(seconds=280)
