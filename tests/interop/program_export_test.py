"""Models that are saved, frozen, imported, optimised and served, by either side for the other.

  program_export_test.py WEIR [TEST...]    WEIR is the weir program
"""
import program_case  # first: it finds an interpreter that can import TensorFlow

import os
import tempfile

import numpy as np
from program_case import tf, tf1
from rnn_cells import GRUCell, dense

STEPS, UNITS = 4, 3


def inputs(i=0):
    return np.random.RandomState(i).randn(2, STEPS, UNITS).astype(np.float32)


def model():
    """A recurrent network with a table behind it: a step of training, and words with their scores."""
    x = tf1.placeholder(tf.float32, [None, STEPS, UNITS], name="x")
    training = tf1.placeholder_with_default(False, [], name="training")
    _, state = tf1.nn.dynamic_rnn(GRUCell(UNITS), x, dtype=tf.float32)
    state = tf1.cond(training, lambda: tf1.nn.dropout(state, rate=0.5, seed=1), lambda: state)
    logits = dense(state, 3, "logits")
    scores = tf.nn.softmax(logits, name="scores")
    table = tf1.lookup.StaticHashTable(
        tf1.lookup.KeyValueTensorInitializer(tf.range(3, dtype=tf.int64), ["a", "b", "c"]), "?")
    words = tf.identity(table.lookup(tf.argmax(scores, 1)), name="words")
    loss = tf.reduce_mean(tf.square(logits - 1.), name="loss")
    tf1.train.AdamOptimizer(0.1).minimize(loss, tf1.train.get_or_create_global_step(), name="step")
    return x, scores, words


class Export(program_case.ProgramTest):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.count = 0

    def path(self):
        self.count += 1
        return os.path.join(self.directory, "model%d" % self.count)

    def trained(self, session, steps=3):
        return [session.run(["loss:0", "step"], {"x:0": inputs(i), "training:0": False})[0] for i in range(steps)]

    def serve(self, session, names=("scores:0", "words:0")):
        return session.run(list(names), {"x:0": inputs(9)})

    def test_meta_graphs(self):
        """A second program has nothing but the files of the first."""
        def program(run):
            path = self.path()
            model()
            saver = tf1.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=1)
            with run.session() as session:
                seen = [self.trained(session)]
                for i in range(3):
                    saver.save(session, path, global_step=i)
                seen.append(self.serve(session))
            with run.graph(), run.session(initialize=False) as session:
                again = tf1.train.import_meta_graph(path + "-2.meta", clear_devices=True)
                again.restore(session, tf1.train.latest_checkpoint(self.directory))
                session.run(tf1.tables_initializer())
                seen += [self.serve(session), self.trained(session)]
            with run.graph(), run.session(initialize=False) as session:  # under another name, to be trained further
                again = tf1.train.import_meta_graph(path + "-2.meta", clear_devices=True, import_scope="copy")
                again.restore(session, path + "-1")
                return seen + [session.run("copy/scores:0", {"copy/x:0": inputs(9)})]

        self.same(program)

    def test_saved_models(self):
        def program(run):
            path = self.path()
            x, scores, words = model()
            with run.session() as session:
                seen = [self.trained(session)]
                builder = tf1.saved_model.builder.SavedModelBuilder(path)
                asset = os.path.join(self.directory, "asset.txt")
                with open(asset, "w") as f:
                    f.write("c\nb\na\n")
                name = tf.constant(asset, name="asset")
                tf1.add_to_collection(tf1.GraphKeys.ASSET_FILEPATHS, name)
                signature = tf1.saved_model.predict_signature_def({"x": x}, {"scores": scores, "words": words})
                builder.add_meta_graph_and_variables(
                    session, [tf1.saved_model.tag_constants.SERVING], {"serving_default": signature},
                    assets_collection=tf1.get_collection(tf1.GraphKeys.ASSET_FILEPATHS),
                    main_op=tf1.saved_model.main_op.main_op(), clear_devices=True)
                builder.save()
            with run.graph(), run.session(initialize=False) as session:
                loaded = tf1.saved_model.loader.load(session, ["serve"], path)
                signature = loaded.signature_def["serving_default"]
                outputs = [signature.outputs[key].name for key in ("scores", "words")]
                seen.append(session.run(outputs, {signature.inputs["x"].name: inputs(9)}))
                file = tf1.get_collection(tf1.GraphKeys.ASSET_FILEPATHS)[0]
                return seen + [session.run(tf.io.read_file(file))]

        self.same(program)

    def test_frozen_graphs(self):
        def program(run):
            model()
            with run.session() as session:
                seen = [self.trained(session)]
                frozen = tf1.graph_util.convert_variables_to_constants(
                    session, tf1.get_default_graph().as_graph_def(), ["scores", "words"])
                frozen = tf1.graph_util.remove_training_nodes(frozen, ["scores", "words"])
            for node in frozen.node:
                node.device = ""
            self.assertFalse([node for node in frozen.node if "Variable" in node.op])
            frozen = type(frozen).FromString(frozen.SerializeToString())
            with run.graph(), run.session(initialize=False) as session:
                scores, = tf1.import_graph_def(frozen, return_elements=["scores:0"], name="served")
                seen.append(session.run(scores, {"served/x:0": inputs(9)}))
                part = tf1.graph_util.extract_sub_graph(frozen, ["scores"])
            with run.graph(), run.session(initialize=False) as session:
                doubled = tf1.import_graph_def(part, {"x:0": 2 * inputs(9)}, ["scores:0"])
                return seen + [session.run(doubled)]

        self.same(program)

    def test_models_of_the_other_side(self):
        """What Weir saved TensorFlow serves, and the other way round."""
        saved = {}
        for target in ("", program_case.cluster.target(0)):
            run, path = program_case.Run(target), self.path()
            if target:
                tf1.Session.reset(target)
            with run.graph():
                x, scores, words = model()
                with run.session() as session:
                    self.trained(session)
                    tf1.saved_model.simple_save(session, path, {"x": x}, {"scores": scores, "words": words},
                                                legacy_init_op=tf1.tables_initializer())
                    saved[target] = path, self.serve(session)
        for target, (path, (scores, words)) in saved.items():
            for other in saved:
                run = program_case.Run(other)
                with self.subTest(saved_by=target, served_by=other), run.graph(), run.session(False) as session:
                    tf1.saved_model.loader.load(session, ["serve"], path)
                    actual = self.serve(session)
                    np.testing.assert_allclose(actual[0], scores, rtol=1e-5)
                    np.testing.assert_array_equal(actual[1], words)

    def test_warm_start_and_partial_restores(self):
        def program(run):
            path = self.path()
            model()
            with run.session() as session:
                self.trained(session)
                tf1.train.Saver({"renamed/" + v.op.name: v for v in tf1.trainable_variables()}).save(session, path)
            with run.graph():
                model()
                tf1.train.init_from_checkpoint(
                    path, {"renamed/" + v.op.name: v.op.name for v in tf1.trainable_variables()})
                with run.session() as session:
                    seen = [self.serve(session)]
            with run.graph():
                model()
                tf1.train.warm_start(path, vars_to_warm_start=["rnn/cell_gates/kernel:0"],
                                     var_name_to_prev_var_name={"rnn/cell_gates/kernel": "renamed/rnn/cell_gates/kernel"})
                with run.session() as session:
                    kernel, = [v for v in tf1.trainable_variables() if v.op.name == "rnn/cell_gates/kernel"]
                    seen.append(session.run(kernel))
            with run.graph(), run.session(initialize=False) as session:
                model()
                tf1.Session.reset(run.target) if run.target else None
            with run.graph(), run.session(initialize=False) as session:
                model()
                return seen + [sorted(session.run(tf1.report_uninitialized_variables()).tolist())]

        self.same(program)


if __name__ == "__main__":
    program_case.main()
