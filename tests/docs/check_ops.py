#!/usr/bin/env python3
"""Fails unless each public op is described once, in its family's ops.txt, in one to three sentences of Weir's own.

    check_ops.py ROOT WEIR [--tensorflow]

WEIR is the program. --tensorflow compares with TensorFlow's texts instead: seven words in a row that TensorFlow's
description of the op has too are an error. WEIR_TF_PYTHON names an interpreter that has TensorFlow when this one has
not; exit status 77 if there is none.
"""

import argparse
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

ROW = re.compile(r"^\| `(\w+)` \| \[(\w+)\]", re.M)
SENTENCE_END = re.compile(r"[.!?](?=\s+[A-Z0-9\"]|$)")
WIDTH = 120
SENTENCES = 3
RUN = 7
SKIPPED = 77


def read(path):
    """[(op, description, line)] of an ops.txt."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("  ") and found:
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
        else:
            found.append([line, "", number])
    return found


def sentences(text):
    return len(SENTENCE_END.findall(text))


def problems(root, families):
    """`families`: {op: family} of the program's public ops."""
    described = {}
    for path in sorted(Path(root).glob("kernels/*/ops.txt")):
        family, name = path.parent.name, f"{path.relative_to(root)}"
        names = [op for op, _, _ in read(path)]
        if names != sorted(names):
            yield f"{name}: the ops are not sorted"
        for op, text, line in read(path):
            described[op] = text
            if families.get(op) != family:
                yield f"{name}:{line}: {op} is no public op of this family"
            if not text.endswith(".") or not 1 <= sentences(text) <= SENTENCES:
                yield f"{name}:{line}: {op} needs one to three sentences"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > WIDTH:
                yield f"{name}:{number}: longer than {WIDTH} characters"
    for op, family in sorted(families.items()):
        if op not in described:
            yield f"kernels/{family}/ops.txt: {op} is missing: say in one to three sentences what it does"


def words(text):
    return re.findall(r"[a-z0-9_]+", text.lower())


def runs(text):
    found = words(text)
    return {" ".join(found[i:i + RUN]) for i in range(len(found) - RUN + 1)}


def copies(root, text_of):
    """`text_of`: gives TensorFlow's text of an op, or an empty one."""
    for path in sorted(Path(root).glob("kernels/*/ops.txt")):
        for op, text, line in read(path):
            for run in sorted(runs(text) & runs(text_of(op)))[:1]:
                yield f"{path.relative_to(root)}:{line}: {op}: TensorFlow's text has '{run}' too; use words of your own"


def compare_with_tensorflow(root):
    wanted = os.environ.pop("WEIR_TF_PYTHON", "")
    if wanted:
        os.execvp(wanted, [wanted, *sys.argv])
    if importlib.util.find_spec("tensorflow") is None:
        print(f"skipped: {sys.executable} has no tensorflow; set WEIR_TF_PYTHON to an interpreter that has it")
        sys.exit(SKIPPED)
    raw_ops = importlib.import_module("tensorflow").raw_ops
    return list(copies(root, lambda op: getattr(getattr(raw_ops, op, None), "__doc__", None) or ""))


def public_ops(weir):
    """{op: family} of the program's public ops."""
    page = subprocess.run([weir, "ops", "--markdown"], check=True, capture_output=True, text=True, timeout=60).stdout
    return {op: family for op, family in ROW.findall(page) if not op.startswith("_")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("weir")
    parser.add_argument("--tensorflow", action="store_true")
    arguments = parser.parse_args()
    if arguments.tensorflow:
        found = compare_with_tensorflow(arguments.root)
    else:
        found = list(problems(arguments.root, public_ops(arguments.weir)))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
