#!/usr/bin/env python3
"""Fails where a document runs a program that the build does not make, or a --gtest_filter that selects no test.

    check_commands.py ROOT BIN

Looks for build/release/bin/NAME in the *.md below ROOT; BIN holds the programs that were built.
"""

import os
import re
import subprocess
import sys

PROGRAM = re.compile(r"build/release/bin/(\w+)(?:[ ]+--gtest_filter=(?:'([^']*)'|(\S+)))?")
SKIPPED = {".git", ".venv", "build"}


def documents(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED)
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".md"))


def selects_tests(program, test_filter):
    """Whether the test program `program` has a test that `test_filter` selects."""
    command = [program, "--gtest_list_tests", f"--gtest_filter={test_filter}"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout
    return any(line.startswith("  ") for line in listed.splitlines())


def problems(root, programs):
    for path in documents(root):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for found in PROGRAM.finditer(text):
            where = f"{os.path.relpath(path, root)}:{text.count(chr(10), 0, found.start()) + 1}"
            name, test_filter = found.group(1), found.group(2) or found.group(3)
            program = os.path.join(programs, name)
            if not os.path.exists(program):
                yield f"{where}: the build makes no program {name}"
            elif test_filter and not selects_tests(program, test_filter):
                yield f"{where}: {name} has no test that matches {test_filter}"


def main():
    found = list(problems(sys.argv[1], sys.argv[2]))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
