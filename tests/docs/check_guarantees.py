#!/usr/bin/env python3
"""Fails where docs/guarantees.md names a test that is not there, or a guarantee without a test.

    check_guarantees.py ROOT

The second column of each table row names tests in backticks: `Suite.Test` or `Suite` of a C++ test, or the name of a
test that a CMakeLists.txt adds.
"""

import re
import sys
from pathlib import Path

ROW = re.compile(r"^\| (.*) \| (.*) \|$", re.M)
NAME = re.compile(r"`([\w.]+)`")
CPP_TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)")
CMAKE_NAME = re.compile(r"\bNAME\s+([\w.]+(?:\$\{\w+\})?)")


def tests_in(root):
    """The names of suites, of tests as "Suite.Test", and of tests that CMake adds; "x_${y}" stands for all that begin so."""
    names = set()
    for folder in Path(root).iterdir():
        if not folder.is_dir() or folder.name == "build" or folder.name.startswith("."):
            continue
        for path in folder.rglob("*_test.cc"):
            for suite, test in CPP_TEST.findall(path.read_text(encoding="utf-8")):
                names |= {suite, f"{suite}.{test}"}
        for path in folder.rglob("CMakeLists.txt"):
            names.update(CMAKE_NAME.findall(path.read_text(encoding="utf-8")))
    return names


def exists(name, names):
    prefixes = tuple(n.split("${")[0] for n in names if "${" in n)
    return name in names or bool(prefixes) and name.startswith(prefixes)


def problems(page, names):
    found = []
    for guarantee, tests in ROW.findall(page):
        if guarantee == "guarantee" or set(guarantee) <= set("- "):
            continue
        named = NAME.findall(tests)
        if not named:
            found.append(f"no test for: {guarantee}")
        found += [f"no such test: {name}" for name in named if not exists(name, names)]
    return found


def main():
    root = Path(sys.argv[1])
    found = problems((root / "docs" / "guarantees.md").read_text(encoding="utf-8"), tests_in(root))
    print("\n".join(found) or "guarantees: every test exists")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
