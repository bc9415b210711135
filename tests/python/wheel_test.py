#!/usr/bin/env python3
"""The wheel's tree works wherever it lies, with nothing of the build. scripts/prove_wheel proves the wheel itself.

    wheel_test.py BUILD
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

WHEEL_TREE = Path(__file__).resolve().parents[2] / "scripts/wheel_tree"
LIMIT = 60


class WheelTree(unittest.TestCase):
    build: str

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.tree = Path(folder.name) / "tree"
        subprocess.run([WHEEL_TREE, cls.build, cls.tree], check=True, timeout=LIMIT)

    def python(self, text: str) -> str:
        """The output of a Python program with the tree and without a program of Weir on its path."""
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(self.tree), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_the_version_is_the_programs(self):
        version = (self.tree / "VERSION").read_text().strip()
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        self.assertEqual(self.python("import sys, weir; sys.argv = ['weir', '--version']; weir.main()"), f"weir {version}")

    def test_the_library_is_the_trees(self):
        listed = subprocess.run(["ldd", self.tree / "weir/bin/weir"], check=True, capture_output=True, text=True).stdout
        library, = (line for line in listed.splitlines() if "libweir.so" in line)
        self.assertIn(os.path.realpath(self.tree / "weir"), os.path.realpath(library.split()[2]))

    def test_a_cluster_starts(self):
        self.assertEqual(self.python("import subprocess, weir\n"
                                     "with weir.launch(workers=1, ps=1) as cluster:\n"
                                     "    subprocess.run([weir.program(), 'probe', cluster.target], check=True)\n"
                                     "    print(weir.program())"), str(self.tree / "weir/bin/weir"))


if __name__ == "__main__":
    WheelTree.build = sys.argv.pop(1)
    unittest.main()
