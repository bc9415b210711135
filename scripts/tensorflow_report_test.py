#!/usr/bin/env python3
"""Tests of tensorflow_report.py."""

import unittest

import tensorflow_report


class ReportTest(unittest.TestCase):
    def test_all_ran(self):
        self.assertEqual(tensorflow_report.report({"a", "b"}, {"a": "run", "b": "fail", "c": "notrun"}),
                         ("TensorFlow comparisons: 2 ran", 0))

    def test_all_skipped_gives_the_reason(self):
        self.assertEqual(tensorflow_report.report({"a"}, {"a": "notrun", "c": "run"}, "no network"),
                         ("TensorFlow comparisons: 1 skipped: no network", 1))

    def test_some_skipped_are_named(self):
        self.assertEqual(tensorflow_report.report({"a", "b"}, {"a": "notrun", "b": "run"}, "no network"),
                         ("TensorFlow comparisons: 1 ran, 1 skipped: a", 1))

    def test_none_selected(self):
        self.assertEqual(tensorflow_report.report({"a"}, {"c": "run"}), ("TensorFlow comparisons: none selected", 0))

    def test_build_without_comparisons(self):
        self.assertEqual(tensorflow_report.report(set(), {"c": "run"})[1], 1)

    def test_statuses_of_junit(self):
        self.assertEqual(tensorflow_report.statuses(
            '<testsuite><testcase name="a" status="run"/><testcase name="b" status="notrun"><skipped message="x"/>'
            "</testcase></testsuite>"), {"a": "run", "b": "notrun"})


if __name__ == "__main__":
    unittest.main()
