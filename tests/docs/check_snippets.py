#!/usr/bin/env python3
"""Fails where a document's snippet differs from the file that it names.

    check_snippets.py ROOT

A line `<!-- from PATH -->` before a fenced block in a *.md below ROOT says that the block's text occurs in ROOT/PATH.
Only the words count, not the white space between them. check_blocks.py requires such a mark for C++.
"""

import os
import re
import sys

SNIPPET = re.compile(r"^<!-- from (\S+) -->\n```\w*\n(.*?)^```", re.M | re.S)
SKIPPED = {".git", ".venv", "build"}
MARK = re.compile(r"^<!-- from ", re.M)


def normalised(text):
    return " ".join(text.split())


def problems(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED)
        for name in sorted(name for name in names if name.endswith(".md")):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            document = os.path.relpath(path, root)
            snippets = list(SNIPPET.finditer(text))
            if len(snippets) != len(MARK.findall(text)):
                yield f"{document}: a mark `<!-- from … -->` has no fenced block behind it"
            for snippet in snippets:
                line = text.count("\n", 0, snippet.start()) + 1
                source = os.path.join(root, snippet.group(1))
                if not os.path.exists(source):
                    yield f"{document}:{line}: there is no {snippet.group(1)}"
                    continue
                with open(source, encoding="utf-8") as file:
                    if normalised(snippet.group(2)) not in normalised(file.read()):
                        yield f"{document}:{line}: {snippet.group(1)} does not contain this snippet"


def main():
    found = list(problems(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
