#!/usr/bin/env python3
"""Tests of tidy.py's choice of files and of its compile commands."""

import unittest
from pathlib import Path

import tidy

INCLUDES = {
    "a.cc": {"a.cc", "a.h", "c.h"},
    "b.cc": {"b.cc", "b.h"},
    "c.cc": {"c.cc", "c.h"},
    "d.cc": {"d.cc", "e.h", "b.h"},
}


def selected(*changed):
    sources = {Path(name): {Path(file) for file in files} for name, files in INCLUDES.items()}
    return [path.name for path in tidy.selected(sources.keys(), {Path(name) for name in changed}, sources.get)]


class SelectedTest(unittest.TestCase):
    def test_changed_sources(self):
        self.assertEqual(selected("b.cc", "a.cc", "README.md"), ["a.cc", "b.cc"])

    def test_a_header_is_checked_through_its_own_source(self):
        self.assertEqual(selected("c.h"), ["c.cc"])

    def test_a_header_without_a_source_is_checked_through_the_first_that_includes_it(self):
        self.assertEqual(selected("e.h"), ["d.cc"])

    def test_a_header_that_a_changed_source_includes_needs_no_other(self):
        self.assertEqual(selected("c.h", "a.cc"), ["a.cc"])

    def test_a_header_that_no_source_includes(self):
        self.assertEqual(selected("unused.h"), [])

    def test_nothing_changed(self):
        self.assertEqual(selected(), [])


class ArgumentsTest(unittest.TestCase):
    def test_drops_launcher_output_and_flags_of_gcc(self):
        command = "ccache /usr/bin/g++ -I/x -MD -Werror -fvect-cost-model=dynamic -O2 -o a.o -c /x/a.cc"
        self.assertEqual(tidy.arguments_of({"command": command}), ["-I/x", "-O2"])


if __name__ == "__main__":
    unittest.main()
