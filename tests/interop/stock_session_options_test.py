"""Options of sessions and runs, what a run reports, and partial runs, as a stock TensorFlow client sees them.

  stock_session_options_test.py WEIR [TEST...]    WEIR is the weir program
"""
import session_case  # first: it finds an interpreter that can import TensorFlow

import threading
import time

import numpy as np
from session_case import TASK0, TASK1, session, tf, tf1
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2
from tensorflow.python.client import timeline
from tensorflow.python.ops import session_ops


class PartialRuns(session_case.SessionTest):
    def test_what_is_missing(self):
        a, b, c = (tf1.placeholder(tf.float32, []) for _ in range(3))
        first = a + b
        second = first * c
        handle = self.session.partial_run_setup([first, second], [a, b, c])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "can't be computed from the feeds"):
            self.session.partial_run(handle, first, {a: 1})
        self.assertEqual(self.session.partial_run(handle, first, {a: 1, b: 2}), 3)
        for fetch, feeds, phrase in ((second, {a: 1}, "has already been fed"), (first, {}, "has already been fetched"),
                                     (tf.constant(1), {}, "was not specified in partial_run_setup")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, phrase):
                self.session.partial_run(handle, fetch, feeds)
        self.assertEqual(self.session.partial_run(handle, second, {c: 5}), 15)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Must run 'setup' before performing partial runs!"):
            self.session.partial_run(handle, second, {c: 5})

    def test_without_feeds(self):
        x = tf.constant(1.0) + 2
        self.assertEqual(self.session.partial_run(self.session.partial_run_setup([x]), x), 3)
        missing = tf1.placeholder(tf.float32, []) * 2
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "You must feed a value for placeholder"):
            self.session.partial_run(self.session.partial_run_setup([missing]), missing)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Must specify at least one target"):
            self.session.partial_run_setup([], [tf1.placeholder(tf.float32, [])])

    def test_several_at_once(self):
        a, b = (tf1.placeholder(tf.float32, []) for _ in range(2))
        first = a + 1
        second = first * b
        handles = [self.session.partial_run_setup([first, second], [a, b]) for _ in range(3)]
        for i, handle in enumerate(handles):
            self.assertEqual(self.session.partial_run(handle, first, {a: i}), i + 1)
        self.assertEqual(self.run_(second, {a: 1, b: 1}), 2)
        for i, handle in reversed(list(enumerate(handles))):
            self.assertEqual(self.session.partial_run(handle, second, {b: 10}), 10 * (i + 1))


class Runs(session_case.SessionTest):
    def test_feeds_replace_any_tensor(self):
        x = tf.split(tf.constant([1.0, 2.0, 3.0, 4.0]), 2)
        self.assertEqual(list(self.run_(x[0] + x[1], {x[0]: [10, 10]})), [13, 14])
        v = tf1.get_variable("v", initializer=1.0, use_resource=False)
        self.initialize()
        self.assertEqual(self.run_(v + 1, {v: 5}), 6)
        self.assertEqual(self.run_(v), 1)

    def test_callables_connect_tensors(self):
        a = tf1.placeholder(tf.float32, [])
        b, c = a * 2, tf.constant(5.0) + 1
        options = config_pb2.CallableOptions(fetch=[b.name])
        options.tensor_connection.add(from_tensor=c.name, to_tensor=a.name)
        self.assertEqual(self.session._make_callable_from_options(options)(), [12])
        wrong = config_pb2.CallableOptions(fetch=["nowhere:0"])
        with self.assertRaisesRegex(tf.errors.NotFoundError, "nowhere:0"):
            self.session._make_callable_from_options(wrong)

    def test_handles(self):
        product = tf.constant(10) * tf.constant(5)
        handle = self.run_(session_ops.get_session_handle(product))
        holder, x = session_ops.get_session_tensor(handle.handle, tf.int32)
        self.assertEqual(self.run_(x * 10, {holder: handle.handle}), 500)
        fed = tf1.placeholder(tf.int32)
        self.assertEqual(self.run_(fed * 2, {fed: handle}), 100)
        self.assertEqual(handle.eval(), 50)
        holder, delete = session_ops.delete_session_tensor(handle.handle)
        self.run_(delete, {holder: handle.handle})
        holder, x = session_ops.get_session_tensor(handle.handle, tf.int32)
        self.expect(tf.errors.InvalidArgumentError, x, {holder: handle.handle}, phrase="is not in the session store")

    def test_a_closed_session_is_the_cause(self):
        begun = tf1.FIFOQueue(1, tf.float32, shapes=[[]], shared_name="begun")
        begin, await_begin = begun.enqueue(1.0), begun.dequeue()
        accumulator = tf1.ConditionalAccumulator(tf.float32, shape=[])
        with tf.control_dependencies([begin]):
            here = tf1.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue()
            gradient = accumulator.take_grad(2)
            with tf.device(TASK1):
                there = tf1.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue()
        endings = (lambda closed: closed.close(), lambda closed: tf1.Session.reset(session_case.target()))
        for waiting in (here, gradient, there + 1):
            for end in endings:
                closed, caught = session(), []

                def run():
                    with self.assertRaises(tf.errors.CancelledError) as raised:
                        closed.run(waiting)
                    caught.append(raised.exception.message)

                runner = threading.Thread(target=run)
                runner.start()
                with session() as other:
                    other.run(await_begin)
                end(closed)
                runner.join(session_case.STEP_MS / 1000)
                self.assertIn("Step was cancelled by an explicit call to `Session::Close()`.", caught[0])

    def test_a_step_while_the_graph_grows(self):
        queue = tf1.FIFOQueue(1, tf.float32, shared_name="grows")
        item, put = queue.dequeue(), queue.enqueue(1.0)
        taken = []
        taker = threading.Thread(target=lambda: taken.append(self.run_(item)))
        taker.start()
        self.assertEqual(self.run_(tf.constant(3) + 4), 7)
        self.run_(put)
        taker.join(session_case.STEP_MS / 1000)
        self.assertEqual(taken, [1])

    def test_reports(self):
        with tf.device(TASK1):
            a = tf.random.uniform([4, 4])
        with tf.device(TASK0):
            b = tf.matmul(a, a, name="product")
        quiet, full, graphs = (tf1.RunMetadata() for _ in range(3))
        self.run_(b, options=tf1.RunOptions(trace_level=tf1.RunOptions.NO_TRACE), run_metadata=quiet)
        self.run_(b, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=full)
        self.run_(b, options=tf1.RunOptions(output_partition_graphs=True), run_metadata=graphs)
        self.assertEqual((len(quiet.step_stats.dev_stats), len(quiet.partition_graphs)), (0, 0))
        self.assertEqual(len(graphs.partition_graphs), 2)
        stats = next(node for device in full.step_stats.dev_stats for node in device.node_stats
                     if node.node_name == "product")
        self.assertRegex(stats.timeline_label, r"^product = MatMul\(.+, .+\)$")
        self.assertGreater(stats.all_start_micros, 0)
        tensor = stats.output[0].tensor_description
        self.assertEqual((tensor.dtype, [dim.size for dim in tensor.shape.dim]), (tf.float32.as_datatype_enum, [4, 4]))
        self.assertEqual(tensor.allocation_description.requested_bytes, 64)
        trace = timeline.Timeline(full.step_stats)
        self.assertIn("product", trace.generate_chrome_trace_format(show_memory=True))
        self.assertEqual(list(trace.analyze_step_stats().allocator_maximums), ["cpu"])

    def test_cost_graph(self):
        y = tf.square(tf1.placeholder(tf.float32, [None], name="x"), name="y")
        with session(graph_options=tf1.GraphOptions(build_cost_model=3, build_cost_model_after=1)) as self.session:
            costs = [tf1.RunMetadata() for _ in range(5)]
            for metadata in costs:
                self.run_(y, {"x:0": [1, 2]}, run_metadata=metadata)
        self.assertEqual([metadata.HasField("cost_graph") for metadata in costs], [True, False, False, True, False])
        self.assertIn("y", {node.name for node in costs[0].cost_graph.node})

    def test_partition_graphs_that_the_session_forbids(self):
        forbids = tf1.ConfigProto.Experimental(disable_output_partition_graphs=True)
        with session(experimental=forbids) as self.session:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "output_partition_graphs"):
                self.run_(tf.constant(1), options=tf1.RunOptions(output_partition_graphs=True))
            self.assertEqual(self.run_(tf.constant(1)), 1)


class Options(session_case.SessionTest):
    def nodes(self, fetch, **options):
        metadata = tf1.RunMetadata()
        with session(**options) as self.session:
            self.run_(fetch, options=tf1.RunOptions(output_partition_graphs=True), run_metadata=metadata)
        return {node.name for graph in metadata.partition_graphs for node in graph.node}

    def test_optimizer_options(self):
        one, two = tf.constant(1.0, name="one"), tf.constant(2.0, name="two")
        total = tf.add(tf.add(one, two, name="sum"), tf1.placeholder_with_default(7.0, []))
        l0 = tf1.OptimizerOptions(opt_level=tf1.OptimizerOptions.L0)
        off = rewriter_config_pb2.RewriterConfig(constant_folding=rewriter_config_pb2.RewriterConfig.OFF)
        self.assertNotIn("one", self.nodes(total))
        self.assertLessEqual({"one", "two", "sum"},
                             self.nodes(total, graph_options=tf1.GraphOptions(optimizer_options=l0)))
        self.assertIn("one", self.nodes(total, graph_options=tf1.GraphOptions(rewrite_options=off)))

    def test_isolated_sessions(self):
        v = tf1.get_variable("v", initializer=1.0)
        with session(isolate_session_state=True) as a, session(isolate_session_state=True) as b:
            a.run(v.initializer)
            for other in (b, self.session):
                with self.assertRaises(tf.errors.FailedPreconditionError):
                    other.run(v)
            self.initialize()
            self.run_(v.assign(4.0))
            self.assertEqual([a.run(v), self.run_(v)], [1, 4])

    def test_time_limit_of_a_session(self):
        endless = tf.while_loop(lambda i: tf.constant(True), lambda i: i + 1, [0])
        with session(operation_timeout_in_ms=500) as self.session:
            start = time.monotonic()
            self.expect(tf.errors.DeadlineExceededError, endless)
            self.assertLess(time.monotonic() - start, 15)

    def test_soft_placement_stays_on_the_task(self):
        with tf.device(TASK1 + "/device:GPU:3"):
            here = tf1.placeholder_with_default(1, []) + 2
        with tf.device("/job:nowhere/task:3"):
            lost = tf.constant(1) + 2
        with session(allow_soft_placement=True) as self.session:
            self.assertEqual(self.run_(here), 3)
            self.expect(tf.errors.InvalidArgumentError, lost, phrase="was explicitly assigned to /job:nowhere")

    def test_device_filters(self):
        with tf.device(TASK1):
            other = tf.constant(1) + 2
        with session(device_filters=[TASK0]) as self.session:
            self.assertEqual(len(self.session.list_devices()), 1)
            self.expect(tf.errors.InvalidArgumentError, other, phrase="Cannot assign a device for operation")

    def test_memory_of_devices(self):
        self.assertTrue(all(device.memory_limit_bytes > 0 for device in self.session.list_devices()))


if __name__ == "__main__":
    session_case.main()
