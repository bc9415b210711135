#!/usr/bin/env python3
"""Fails where a document names a file that is not there.

    check_links.py ROOT

Looks at every *.md under ROOT but build folders. A relative link must lead to a file, and to a heading of it where it has
an anchor. Text in backticks that looks like a path from the root (its first part is a folder there) must be a path, a pattern that matches
one, or a path that lacks ".h". One that begins with ../ starts at the document's folder.
"""

import glob
import os
import re
import sys

SKIPPED = {".venv", "build", "node_modules", "__pycache__"}
GENERATED = {"client/ops.h", "docs/measured/"}
FENCE = re.compile(r"^ *```.*?^ *```", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)*/?")


def documents(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        for name in sorted(files):
            if name.endswith(".md"):
                yield os.path.join(folder, name)


def anchors(path):
    with open(path, encoding="utf-8") as file:
        headings = re.findall(r"^#+ +(.*)$", FENCE.sub("", file.read()), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def bad_link(document, target):
    if re.match(r"\w+:", target):
        return False
    path, _, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
    return not os.path.exists(path) or bool(anchor and path.endswith(".md") and anchor not in anchors(path))


def bad_path(root, document, text):
    if not PATH.fullmatch(text) or "/" not in text or text in GENERATED:
        return False
    if text.startswith(("./", "../")):
        return not glob.glob(os.path.join(os.path.dirname(document), text))
    first = text.split("/")[0]
    if first in SKIPPED or not os.path.isdir(os.path.join(root, first)):
        return False
    path = os.path.join(root, text)
    return not (glob.glob(path) or os.path.exists(path + ".h"))


def problems(root):
    for document in documents(root):
        with open(document, encoding="utf-8") as file:
            text = FENCE.sub(lambda block: "\n" * block.group().count("\n"), file.read())
        for number, line in enumerate(text.split("\n"), 1):
            wrong = [t for t in LINK.findall(line) if bad_link(document, t)]
            wrong += [t for t in CODE.findall(line) if bad_path(root, document, t)]
            yield from (f"{os.path.relpath(document, root)}:{number}: there is no {target}" for target in wrong)


def main():
    found = list(problems(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
