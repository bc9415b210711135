"""examples/plugin/cube_tensorflow.cc builds against TensorFlow's headers, and its op computes what docs/plugins.md says.

  cube_test.py COMPILER
"""
import weir_cluster

weir_cluster.run_with_tensorflow()

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

SOURCE = Path(__file__).resolve().parents[2] / "examples/plugin/cube_tensorflow.cc"
LIMIT = 200

with tempfile.TemporaryDirectory() as folder:
    library = Path(folder) / "cube_tensorflow.so"
    subprocess.run([sys.argv[1], "-w", "-O0", "-shared", "-fPIC", SOURCE, "-o", library, *tf.sysconfig.get_compile_flags(),
                    *tf.sysconfig.get_link_flags()], check=True, timeout=LIMIT)
    cube = tf.load_op_library(str(library)).my_cube
for dtype in (np.float32, np.float64):
    np.testing.assert_array_equal(cube(np.array([1, -2, 3], dtype), scale=2), np.array([2, -16, 54], dtype))
print("passed")
