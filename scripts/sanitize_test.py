#!/usr/bin/env python3
"""Tests of scripts/sanitize: the choice of programs, and what ends a run."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import tempfile
import unittest

path = str(pathlib.Path(__file__).resolve().parent / "sanitize")
loader = importlib.machinery.SourceFileLoader("sanitize", path)
sanitize = importlib.util.module_from_spec(importlib.util.spec_from_loader("sanitize", loader))
loader.exec_module(sanitize)

COSTS = {"a": 10, "b": 400, "c": 20, "d": 410, "e": 30, "f": 420, "g": 500}


class FakeBuild:
    """Programs whose build or run has a given outcome; each takes `seconds` of the time that is left."""

    preset = "asan"

    def __init__(self, folder, built=(), shards=(), seconds=0, left=None):
        self.folder = pathlib.Path(folder)
        (self.folder / "sanitize.log").write_text("error: no such type\n", encoding="utf-8")
        self.built, self.shards, self.seconds, self.left = dict(built), dict(shards), seconds, left
        self.deadline = left

    def seconds_left(self):
        return self.left

    def build(self, program):
        if self.left is not None:
            self.left -= self.seconds
        return self.built.get(program, 0)

    def run(self, program):
        return self.shards.get(program, [0, 0]), ["[       OK ] X.Y (0 ms)\n"] * 2


def run(programs, **outcomes):
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        return sanitize.sanitize(FakeBuild(folder, **outcomes), programs)


class ThirdTest(unittest.TestCase):
    def test_thirds_share_all_programs(self):
        thirds = [sanitize.third_of(COSTS, third) for third in range(3)]
        self.assertEqual(sorted(sum(thirds, [])), sorted(COSTS))

    def test_each_third_has_a_cheap_program_first(self):
        self.assertEqual([sanitize.third_of(COSTS, third)[0] for third in range(3)], ["a", "c", "e"])

    def test_without_a_third_all_programs_are_taken(self):
        self.assertEqual(sanitize.third_of(COSTS, None), ["a", "c", "e", "b", "d", "f", "g"])


class SanitizeTest(unittest.TestCase):
    def test_all_run(self):
        self.assertEqual(run(["a", "b"]), ({"a": 2, "b": 2}, [], []))

    def test_a_failed_test_is_a_failure(self):
        self.assertEqual(run(["a", "b"], shards={"a": [0, 1]}), ({"a": 2, "b": 2}, ["a"], []))

    def test_a_finding_in_one_shard_counts_when_the_other_was_stopped(self):
        self.assertEqual(run(["a"], shards={"a": [None, 1]}), ({"a": 2}, ["a"], []))

    def test_a_program_that_does_not_build_is_a_failure(self):
        self.assertEqual(run(["a", "b"], built={"a": 1}), ({"b": 2}, ["a"], []))

    def test_what_the_time_ends_is_late(self):
        self.assertEqual(run(["a", "b"], built={"b": None}), ({"a": 2}, [], ["b"]))
        self.assertEqual(run(["a"], shards={"a": [0, None]}), ({"a": 2}, [], ["a"]))

    def test_nothing_starts_without_time(self):
        self.assertEqual(run(["a", "b", "c"], seconds=100, left=150), ({"a": 2}, [], ["b", "c"]))

    def test_a_skipped_program_is_no_failure(self):
        self.assertEqual(run(["a"], shards={"a": [77, 77]}), ({"a": 2}, [], []))


class ReportTest(unittest.TestCase):
    def test_names_what_failed_and_what_was_not_reached(self):
        self.assertEqual(sanitize.summary("sanitize: asan, third 1", {"a": 5, "b": 6}, ["b"], ["c", "d"], 8),
                         "sanitize: asan, third 1: 2 programs ran, 11 tests passed; failed: b; "
                         "not finished in 8 minutes: c d")

    def test_an_excerpt_starts_with_the_finding(self):
        log = "[ RUN      ] X.Y\n==1==ERROR: AddressSanitizer: heap-use-after-free\n  #0 f\n"
        self.assertTrue(sanitize.excerpt(log).startswith("==1==ERROR: AddressSanitizer"))

    def test_an_excerpt_without_a_finding_is_the_end(self):
        self.assertEqual(sanitize.excerpt("1\n2\n3", lines=2), "2\n3")


if __name__ == "__main__":
    unittest.main()
