#!/usr/bin/env python3
"""Prints one line that says whether the comparisons with TensorFlow, ctest's label "tensorflow", ran.

    tensorflow_report.py BUILD_DIR RESULTS_XML [REASON]

RESULTS_XML is what ctest --output-junit wrote; REASON says why TensorFlow is missing. Exit status 1: a comparison that
was selected did not run, or the build has none.
"""

import json
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path


def labelled(build_dir):
    """Names of the build's tests with the label."""
    listed = subprocess.run(["ctest", "--test-dir", build_dir, "--show-only=json-v1", "-L", "^tensorflow$"], check=True,
                            capture_output=True, text=True)
    return {test["name"] for test in json.loads(listed.stdout)["tests"]}


def statuses(junit):
    """Test name -> "run", "fail", "notrun" or "disabled"."""
    return {case.get("name"): case.get("status") for case in xml.etree.ElementTree.fromstring(junit).iter("testcase")}


def report(comparisons, results, reason=""):
    """The line, and the exit status."""
    if not comparisons:
        return "TensorFlow comparisons: this build has none", 1
    selected = {name: results[name] for name in sorted(comparisons) if name in results}
    if not selected:
        return "TensorFlow comparisons: none selected", 0
    skipped = [name for name, status in selected.items() if status not in ("run", "fail")]
    line = f"TensorFlow comparisons: {len(selected) - len(skipped)} ran"
    if not skipped:
        return line, 0
    if len(skipped) == len(selected) and reason:
        return f"TensorFlow comparisons: {len(skipped)} skipped: {reason}", 1
    return f"{line}, {len(skipped)} skipped: {' '.join(skipped)}", 1


def main():
    build_dir, results = sys.argv[1:3]
    try:
        line, status = report(labelled(build_dir), statuses(Path(results).read_text()), "".join(sys.argv[3:]))
    except (OSError, subprocess.CalledProcessError, xml.etree.ElementTree.ParseError) as error:
        line, status = f"TensorFlow comparisons: unknown: ctest wrote no results ({error})", 1
    print(line)
    return status


if __name__ == "__main__":
    sys.exit(main())
