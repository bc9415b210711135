"""TensorFlow loads the model that the example exported, and reads the events that its evaluations wrote.

    estimator_interop.py ESTIMATOR DIGITS_CSV
"""

import csv
import glob
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
python = os.environ.get("WEIR_TF_PYTHON")
if python and python != sys.executable:
    os.execv(python, [python] + sys.argv)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
try:
    import numpy as np
    import tensorflow as tf
except ImportError:
    print("no TensorFlow: skipped")
    sys.exit(SKIPPED)


def accuracy_of(export, pixels, labels):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        graph = tf.compat.v1.saved_model.load(session, ["serve"], export)
        signature = graph.signature_def["serving_default"]
        probabilities = session.run(
            signature.outputs["probabilities"].name, {signature.inputs["pixels"].name: pixels}
        )
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-4)
        return (probabilities.argmax(axis=1) == labels).mean()


def main():
    program, data = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([program, "--data", data, "--model-dir", directory], check=True)
        rows = np.array(list(csv.reader(open(data))), dtype=np.float32)[::5]
        pixels, labels = rows[:, :-1] / 16, rows[:, -1]

        (events_file,) = glob.glob(f"{directory}/eval/events.out.tfevents.*")
        written = {}
        for event in tf.compat.v1.train.summary_iterator(events_file):
            for value in event.summary.value:
                written.setdefault(value.tag, {})[event.step] = value.simple_value
        assert set(written) == {"accuracy", "loss"}, written
        assert len(written["accuracy"]) >= 10, written

        newest = max(glob.glob(f"{directory}/export/latest/*"))
        accuracy = accuracy_of(newest, pixels, labels)
        last = max(written["accuracy"])
        assert abs(accuracy - written["accuracy"][last]) < 1e-4, (accuracy, written["accuracy"][last])
        (best,) = glob.glob(f"{directory}/export/best/[0-9]*")
        assert abs(accuracy_of(best, pixels, labels) - max(written["accuracy"].values())) < 1e-4


main()
