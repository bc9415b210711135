#!/usr/bin/env python3
"""Tests of check_ops.py."""

import tempfile
import unittest
from pathlib import Path

import check_ops


class CheckOpsTest(unittest.TestCase):
    def problems(self, text, families):
        with tempfile.TemporaryDirectory() as root:
            path = Path(root) / "kernels/math/ops.txt"
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            return list(check_ops.problems(root, families))

    def copies(self, text, theirs):
        with tempfile.TemporaryDirectory() as root:
            path = Path(root) / "kernels/math/ops.txt"
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            return list(check_ops.copies(root, lambda op: theirs))

    def test_every_op_is_described(self):
        text = "Abs\n  Drops the sign, as in |x|. Of 0.5 it is 0.5.\n"
        self.assertEqual(self.problems(text, {"Abs": "math"}), [])
        self.assertEqual(self.problems(text, {"Abs": "math", "Mul": "math"}),
                         ["kernels/math/ops.txt: Mul is missing: say in one to three sentences what it does"])

    def test_an_op_belongs_to_its_family(self):
        found = self.problems("Abs\n  One.\nOld\n  Two.\n", {"Abs": "strings"})
        self.assertEqual(found, ["kernels/math/ops.txt:1: Abs is no public op of this family",
                                 "kernels/math/ops.txt:3: Old is no public op of this family"])

    def test_texts_are_sentences(self):
        for text in ("no end", "One. Two. Three. Four. Five."):
            self.assertEqual(self.problems(f"Abs\n  {text}\n", {"Abs": "math"}),
                             ["kernels/math/ops.txt:1: Abs needs one to three sentences"])

    def test_ops_are_sorted(self):
        self.assertEqual(self.problems("Mul\n  One.\nAbs\n  Two.\n", {"Abs": "math", "Mul": "math"}),
                         ["kernels/math/ops.txt: the ops are not sorted"])

    def test_lines_are_short(self):
        self.assertEqual(self.problems(f"Abs\n  {'a' * 120}.\n", {"Abs": "math"}),
                         ["kernels/math/ops.txt:2: longer than 120 characters"])

    def test_copies_are_found(self):
        theirs = "Computes the value that has no sign of any kind, element by element."
        self.assertEqual(self.copies("Abs\n  The value without a sign.\n", theirs), [])
        found = self.copies("Abs\n  It is the value that has no\n  sign of any kind.\n", theirs)
        self.assertEqual(len(found), 1)
        self.assertIn("ops.txt:1: Abs: TensorFlow's text has", found[0])


if __name__ == "__main__":
    unittest.main()
