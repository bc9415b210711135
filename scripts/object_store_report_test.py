#!/usr/bin/env python3
"""Tests of object_store_report.py."""

import unittest

import object_store_report


class ReportTest(unittest.TestCase):
    def test_ran(self):
        for status in ("run", "fail"):
            self.assertEqual(object_store_report.report({"object_store": status}), ("Object store tests: ran", 0))

    def test_skipped_gives_the_reason(self):
        self.assertEqual(object_store_report.report({"object_store": "notrun"}, "no moto"),
                         ("Object store tests: skipped: no moto", 1))

    def test_none_selected(self):
        self.assertEqual(object_store_report.report({"other": "run"}), ("Object store tests: none selected", 0))


if __name__ == "__main__":
    unittest.main()
