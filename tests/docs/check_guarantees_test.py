#!/usr/bin/env python3
"""Tests of check_guarantees.py."""

import unittest

from check_guarantees import problems

NAMES = {"SuiteTest", "SuiteTest.ItHolds", "interop.stock_${topic}"}


def page(tests):
    return f"| guarantee | test |\n| --- | --- |\n| it holds | {tests} |\n"


class CheckGuaranteesTest(unittest.TestCase):
    def test_tests_suites_and_names_of_cmake_are_found(self):
        self.assertEqual(problems(page("`SuiteTest.ItHolds`, `SuiteTest`, with and without, `interop.stock_session`"), NAMES), [])

    def test_a_test_that_is_gone_is_named(self):
        self.assertEqual(problems(page("`SuiteTest.ItHeld`"), NAMES), ["no such test: SuiteTest.ItHeld"])

    def test_a_guarantee_needs_a_test(self):
        self.assertEqual(problems(page("believe it"), NAMES), ["no test for: it holds"])


if __name__ == "__main__":
    unittest.main()
