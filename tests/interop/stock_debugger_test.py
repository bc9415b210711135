"""TensorFlow's debugger (tfdbg) watches steps: tensors, graphs and fetches, in files.

  stock_debugger_test.py WEIR [TEST...]    WEIR is the weir program
"""
import session_case  # first: it finds an interpreter that can import TensorFlow

import os
import shutil
import tempfile

import numpy as np
from session_case import TASK0, TASK1, tf, tf1
from tensorflow.python.debug.lib import debug_data, debug_utils


class Debugger(session_case.SessionTest):
    def setUp(self):
        super().setUp()
        self.root = tempfile.mkdtemp(prefix="weir_debugger_")
        self.addCleanup(shutil.rmtree, self.root)

    def options(self, *watches, urls=None, **more):
        """Of a run that watches (node, slot, debug ops), or the whole graph."""
        options = tf1.RunOptions(output_partition_graphs=True)
        urls = urls or ["file://" + self.root]
        if not watches:
            debug_utils.watch_graph(options, self.session.graph, debug_urls=urls, **more)
        for node, slot, ops in watches:
            debug_utils.add_debug_tensor_watch(options, node, slot, debug_ops=ops, debug_urls=urls, **more)
        return options

    def dump(self, fetches, options, feeds=None):
        """What the run gives, and what it left behind, which is read away: the order in time is checked by the reader."""
        metadata = tf1.RunMetadata()
        values = self.run_(fetches, feeds, options=options, run_metadata=metadata)
        dump = debug_data.DebugDumpDir(self.root, partition_graphs=metadata.partition_graphs)
        tensors = {datum.watch_key: datum.get_tensor() for datum in dump.dumped_tensor_data}
        for name in os.listdir(self.root):
            shutil.rmtree(os.path.join(self.root, name), ignore_errors=True)
            if os.path.exists(os.path.join(self.root, name)):
                os.remove(os.path.join(self.root, name))
        return values, dump, tensors

    def test_every_tensor(self):
        x = tf1.placeholder(tf.float32, [2], name="x")
        v = tf1.get_variable("v", initializer=[1.0, 2.0], use_resource=False)
        with tf.device(TASK1):
            y = tf.multiply(x, v, name="scope/y")
        z = tf.reduce_sum(y, name="z")
        self.initialize()
        value, dump, tensors = self.dump(z, self.options(global_step=7), {x: [3, 4]})
        self.assertEqual(value, 11)
        np.testing.assert_array_equal(tensors["v:0:DebugIdentity"], [1, 2])
        np.testing.assert_array_equal(tensors["scope/y:0:DebugIdentity"], [3, 8])
        self.assertEqual(tensors["z:0:DebugIdentity"], 11)
        self.assertEqual(len(dump.devices()), 2)
        self.assertIn("task:1", dump.node_device("scope/y"))
        told = dump.core_metadata
        self.assertEqual((told.global_step, told.session_run_index, told.executor_step_index), (7, 0, 0))
        self.assertEqual((told.input_names, told.output_names, told.target_nodes), (["x:0"], ["z:0"], []))
        for fetch, indices in ((z, (1, 1)), (y, (2, 0))):
            told = self.dump(fetch, self.options(global_step=8), {x: [3, 4]})[1].core_metadata
            self.assertEqual((told.session_run_index, told.executor_step_index), indices)

    def test_constants_are_there(self):
        with tf.device(TASK0):
            z = tf.add(tf.constant(1.0, name="one"), tf.constant(2.0, name="two"), name="sum")
            w = tf.square(z, name="square")
        _, _, tensors = self.dump(w, self.options())
        self.assertEqual({key.split(":")[0] for key in tensors}, {"one", "two", "sum", "square"})

    def test_each_iteration(self):
        tf1.disable_control_flow_v2()
        loop, = tf.while_loop(lambda i: i < 4, lambda i: [tf.add(i, 1, name="next")], [tf.constant(0)], name="loop")
        tf1.enable_control_flow_v2()
        options = self.options(("loop/next", 0, ["DebugIdentity"]), ("loop/NextIteration", 0, ["DebugIdentity"]),
                               ("loop/Merge", 0, ["DebugIdentity"]))
        metadata = tf1.RunMetadata()
        self.assertEqual(self.run_(loop, options=options, run_metadata=metadata), 4)
        dump = debug_data.DebugDumpDir(self.root, partition_graphs=metadata.partition_graphs, validate=False)
        for node, values in (("next", [1, 2, 3, 4]), ("NextIteration", [1, 2, 3, 4]), ("Merge", [0, 1, 2, 3, 4])):
            seen = dump.get_tensors("loop/" + node, 0, "DebugIdentity")
            # A Merge does not wait for what watches its inputs: what NextIteration gives may be told late.
            order = sorted if node == "NextIteration" else list
            self.assertEqual(order(int(value) for value in seen), values)

    def test_summaries(self):
        x = tf.identity([1.0, float("nan"), float("inf"), -2.0], name="x")
        y = tf.cast(tf.math.is_nan(x), tf.float32, name="y")
        ops = ["DebugNumericSummary(lower_bound=-1.5; mute_if_healthy=true)", "DebugNanCount"]
        _, _, tensors = self.dump(y, self.options(("x", 0, ops), ("y", 0, ops)))
        np.testing.assert_array_equal(tensors["x:0:DebugNanCount"], [1])
        np.testing.assert_array_equal(tensors["x:0:DebugNumericSummary"][:8], [1, 4, 1, 1, 0, 0, 1, 1])
        np.testing.assert_array_equal(tensors["y:0:DebugNanCount"], [0])
        self.assertNotIn("y:0:DebugNumericSummary", tensors)

    def test_what_is_not_initialized(self):
        v = tf1.get_variable("v", initializer=[1.0, 2.0], use_resource=False)
        ops = ["DebugIdentity", "DebugNumericSummary"]
        metadata = tf1.RunMetadata()
        self.run_(v.initializer, options=self.options(("v", 0, ops)), run_metadata=metadata)
        dump = debug_data.DebugDumpDir(self.root, partition_graphs=metadata.partition_graphs)
        value, = dump.get_tensors("v", 0, "DebugIdentity")
        self.assertIsInstance(value, debug_data.InconvertibleTensorProto)
        self.assertFalse(value.initialized)
        summary, = dump.get_tensors("v", 0, "DebugNumericSummary")
        np.testing.assert_array_equal(summary[:8], [0] * 8)
        np.testing.assert_array_equal(summary[12:], [1, 1, 2])  # its type and shape are known

    def test_refusals(self):
        tf.identity(["text"], name="text")
        fetch = tf.identity(self.session.graph.get_tensor_by_name("text:0"), name="again")
        for ops, phrase in ((["DebugNumericSummary"], "__dbg_text:0_0_DebugNumericSummary"),
                            (["DebugIdentity(foo=1; bar=2)"], r"2 attribute key\(s\) were not valid .*: bar, foo"),
                            (["DebugIdentity(gated_grpc=so)"], "Invalid value string for bool-type attribute"),
                            (["DebugIdentity(foo"], "Malformed debug op name"), (["NoSuchOp"], "NoSuchOp")):
            with self.assertRaisesRegex(tf.errors.FailedPreconditionError, phrase):
                self.run_(fetch, options=self.options(("text", 0, ops)))
        tolerant = self.options(("text", 0, ["DebugNumericSummary", "DebugIdentity"]),
                                tolerate_debug_op_creation_failures=True)
        _, _, tensors = self.dump(fetch, tolerant)
        self.assertEqual(list(tensors), ["text:0:DebugIdentity"])
        with self.assertRaisesRegex(tf.errors.UnimplementedError, "grpc"):
            self.run_(fetch, options=self.options(("text", 0, ["DebugIdentity"]), urls=["grpc://localhost:1"]))
        self.assertEqual(list(self.run_(fetch)), [b"text"])


if __name__ == "__main__":
    session_case.main()
