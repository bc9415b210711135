#!/usr/bin/env python3
"""Tests of check_snippets.py."""

import pathlib
import tempfile
import unittest

import check_snippets


class CheckSnippetsTest(unittest.TestCase):
    def problems(self, text):
        with tempfile.TemporaryDirectory() as root:
            for path, content in (("core/tensor/tensor.cc", "int f() {\n    return 1;\n}\n"), ("docs/page.md", text)):
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content, encoding="utf-8")
            return list(check_snippets.problems(root))

    def test_white_space_does_not_count(self):
        self.assertEqual(self.problems("<!-- from core/tensor/tensor.cc -->\n```cpp\nint f() { return 1; }\n```\n"), [])

    def test_a_changed_word_does(self):
        self.assertEqual(self.problems("text\n\n<!-- from core/tensor/tensor.cc -->\n```cpp\nint f() { return 2; }\n```\n"),
                         ["docs/page.md:3: core/tensor/tensor.cc does not contain this snippet"])

    def test_the_file_must_exist(self):
        self.assertEqual(self.problems("<!-- from core/gone.cc -->\n```cpp\nint f();\n```\n"),
                         ["docs/page.md:1: there is no core/gone.cc"])

    def test_a_mark_needs_a_block(self):
        self.assertEqual(len(self.problems("<!-- from core/tensor/tensor.cc -->\n\n```cpp\nint f()\n```\n")), 1)

    def test_blocks_without_a_mark_are_left_alone(self):
        self.assertEqual(self.problems("```cpp\nint g();\n```\n"), [])


if __name__ == "__main__":
    unittest.main()
