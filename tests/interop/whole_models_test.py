"""The models of scripts/bench models at small sizes: their losses on Weir are TensorFlow's, step by step.

  whole_models_test.py WEIR [TEST...]    WEIR is the weir program
"""
import program_case  # first: it finds an interpreter that can import TensorFlow

import pathlib
import sys
import tempfile
import unittest

import numpy as np
from program_case import tf, tf1

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "models"))
import graphs
import sizes

STEPS = 20
# bfloat16 has 8 bits, and the two round at different places.
RELATIVE = {tf.float32: 1e-3, tf.bfloat16: 2e-2}


def losses(target):
    with tf1.Session(target, config=tf1.ConfigProto(operation_timeout_in_ms=program_case.STEP_MS)) as session:
        for initialise in ("restore", "slots"):
            session.run(initialise)
        return [session.run(["loss:0", "train"])[0] for _ in range(STEPS)]


class WholeModelsTest(unittest.TestCase):
    """A test for each model."""


def test_of(name):
    def run(self):
        for compute, tolerance in RELATIVE.items():
            tf1.Session.reset(program_case.cluster.target(0))
            with self.subTest(compute=compute.name), tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
                model = graphs.Model(name, compute, sizes.named(name, small=True))
                model.write(pathlib.Path(folder), *graphs.MODELS[name](model))
                expected = losses("")
                self.assertTrue(np.all(np.isfinite(expected)))
                np.testing.assert_allclose(losses(program_case.cluster.target(0)), expected, rtol=tolerance,
                                           atol=0.1 * tolerance * abs(expected[0]))

    return run


for model_name in sizes.NAMES:
    setattr(WholeModelsTest, f"test_{model_name}", test_of(model_name))

if __name__ == "__main__":
    program_case.main()
