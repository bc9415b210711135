#!/usr/bin/env python3
"""A program for TensorFlow 1 runs unchanged on a cluster, as scripts/scorecard runs programs, and the page is written.

    site_test.py WEIR
"""
import json
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/interop"), str(ROOT / "tests/scorecard")]
from weir_cluster import end_with_parent, run_with_tensorflow  # noqa: E402

run_with_tensorflow()
os.environ["WEIR_PROGRAM"] = sys.argv[1]
import programs  # noqa: E402
import weir  # noqa: E402

LIMIT = 100
PROGRAM = """
import tensorflow as tf
x = tf.placeholder(tf.float32, [None])
w = tf.Variable(0.0)
loss = tf.reduce_mean(tf.square(w * x - tf.py_func(lambda v: 2 * v, [x], tf.float32)))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(10):
        print("loss: %.4f" % session.run([loss, train], {x: [1, 2]})[0])
"""

with tempfile.TemporaryDirectory() as folder, weir.launch(workers=2) as cluster:
    log = Path(folder) / "record.json"
    paths = os.pathsep.join([str(ROOT / "tests/scorecard/site"), str(ROOT / "python")])
    environment = {**os.environ, "PYTHONPATH": paths, "WEIR_TARGET": cluster.target, "WEIR_SCORECARD_V1": "1",
                   "WEIR_SCORECARD_LOG": str(log)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=LIMIT, check=False,
                          preexec_fn=end_with_parent)
    assert done.returncode == 0, done.stderr
    record = json.loads(log.read_text())
assert (record["sessions"], record["steps"], record["failed_steps"], record["error"]) == (1, 11, 0, ""), record
assert "PyFunc" in record["ops"] and "ApplyGradientDescent" in record["ops"], record

# The page, of this one result.
scorecard = runpy.run_path(str(ROOT / "scripts/scorecard"))
losses = [float(line.split()[1]) for line in done.stdout.splitlines()]
result = {**record, "exit": 0, "stopped": False, "seconds": 1.0, "measures": losses, "end": ["loss"]}
program = programs.PROGRAMS[0]
better, worse = {**result, "measures": losses}, {**result, "failed_steps": 1, "error": "InternalError: no"}
measured = programs.Program(name="p", source="s", command=[], package="k==1")
assert scorecard["works"](measured, better) and not scorecard["works"](measured, {**result, "measures": losses[::-1]})
text = scorecard["page"]({program.name: {"tensorflow": better, "weir": worse}})
assert f"Of {len(programs.PROGRAMS)} programs, 1 were run: **0 of 1** work" in text and text.count("| not run | not run |") == len(programs.PROGRAMS) - 1, text
assert "fails: InternalError: no" in text, text
print("passed")
