#!/usr/bin/env python3
"""Prints one line that says whether the tests of object stores, ctest's test "object_store", ran.

    object_store_report.py RESULTS_XML [REASON]

RESULTS_XML is what ctest --output-junit wrote; REASON says why moto is missing. Exit status 1: the test was selected,
but did not run.
"""

import sys
import xml.etree.ElementTree
from pathlib import Path

import tensorflow_report


def report(results, reason=""):
    """The line, and the exit status; `results` maps the name of a test to ctest's status."""
    status = results.get("object_store")
    if status is None:
        return "Object store tests: none selected", 0
    if status in ("run", "fail"):
        return "Object store tests: ran", 0
    return f"Object store tests: skipped: {reason or 'see the output of object_store'}", 1


def main():
    try:
        line, status = report(tensorflow_report.statuses(Path(sys.argv[1]).read_text()), "".join(sys.argv[2:]))
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        line, status = f"Object store tests: unknown: ctest wrote no results ({error})", 1
    print(line)
    return status


if __name__ == "__main__":
    sys.exit(main())
