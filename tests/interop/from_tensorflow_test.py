"""Runs the Python blocks of docs/from_tensorflow.md and python/README.md, each as a program of its own: it
must end well, and print what the block of text behind it says.

  from_tensorflow_test.py WEIR DOCUMENT...
"""
import weir_cluster

weir_cluster.run_with_tensorflow()

import os
import re
import subprocess
import sys
from pathlib import Path

import tensorflow as tf

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.M | re.S)
LIMIT = 80  # of a block; there are seven, and the test may take 600 s
ESTIMATOR = "tf.estimator."  # of TensorFlow up to 2.15
ROOT = Path(__file__).resolve().parents[2]


def run(text):
    environment = {**os.environ, "WEIR_PROGRAM": sys.argv[1], "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=LIMIT, check=False,
                          preexec_fn=weir_cluster.end_with_parent)


def main():
    failed = False
    for document in sys.argv[2:]:
        text = Path(document).read_text(encoding="utf-8")
        blocks = list(BLOCK.finditer(text))
        if not blocks:
            sys.exit("%s has no block of Python" % document)
        for block in blocks:
            program, expected = block.groups()
            place = "%s:%d" % (document, text.count("\n", 0, block.start()) + 1)
            if ESTIMATOR in program and not hasattr(tf, "estimator"):
                print("%s: skipped: TensorFlow %s has no tf.estimator" % (place, tf.__version__))
                continue
            done = run(program)
            if done.returncode != 0:
                print("%s: ended with %d\n%s" % (place, done.returncode, done.stderr[-4000:]))
            elif expected is not None and done.stdout != expected:
                print("%s: printed\n%s\nnot\n%s" % (place, done.stdout, expected))
            else:
                print("%s: passed" % place)
                continue
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
