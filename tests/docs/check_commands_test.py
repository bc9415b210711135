#!/usr/bin/env python3
"""Tests of check_commands.py."""

import pathlib
import tempfile
import unittest

import check_commands

# Lists one test for filters that begin with A, as GoogleTest does.
TEST_PROGRAM = """#!/bin/sh
case "$2" in --gtest_filter=A*) printf 'ATest.\\n  Works\\n' ;; esac
"""


class CheckCommandsTest(unittest.TestCase):
    def problems(self, text):
        with tempfile.TemporaryDirectory() as root:
            program = pathlib.Path(root, "build", "a_test")
            program.parent.mkdir()
            program.write_text(TEST_PROGRAM, encoding="utf-8")
            program.chmod(0o755)
            pathlib.Path(root, "page.md").write_text(text, encoding="utf-8")
            return list(check_commands.problems(root, str(program.parent)))

    def test_accepts_programs_and_filters_that_exist(self):
        self.assertEqual(self.problems("`build/release/bin/a_test`\nbuild/release/bin/a_test --gtest_filter='A*' x\n"), [])

    def test_names_document_line_and_program(self):
        self.assertEqual(self.problems("text\nbuild/release/bin/gone\n"), ["page.md:2: the build makes no program gone"])

    def test_a_filter_must_select_a_test(self):
        for test_filter in ("'B*'", "B*"):
            self.assertEqual(self.problems(f"build/release/bin/a_test --gtest_filter={test_filter}\n"),
                             ["page.md:1: a_test has no test that matches B*"])


if __name__ == "__main__":
    unittest.main()
