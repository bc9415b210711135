#!/usr/bin/env python3
"""Checks that one name means one type: no two files define types of one name at namespace level of weir.

    scripts/check_names.py

Types in unnamed namespaces and in namespaces inside weir do not count, nor do nested types, forward declarations,
specialisations and tests. A type that one file uses belongs in that file's unnamed namespace.
"""

import collections
import re
import subprocess
import sys
from pathlib import Path

SOURCE = re.compile(r"\.(cc|h|cu|cuh|inc)$")
TEST_FILE = re.compile(r"^tests/|_test\.(cc|cu|h)$|_testing\.(cc|cu|h)$|/testing(/|\.h$)")

# What carries no structure: comments, literals, and directives with their continued lines.
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\''
                     r"|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s*(?P<name>[A-Za-z_][\w:]*)?\s*$")
TYPE = re.compile(r"(?:^|[\s>])(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:(?:alignas\s*\([^()]*\)|\[\[.*?\]\]|[A-Z][A-Z0-9_]*(?:\([^()]*\))?)\s+)*"
                  r"(?P<name>(?!final\b)[A-Za-z_]\w*)\s*(?P<rest>(?:final\b\s*)?(?::(?!:).*)?)$", re.S)


def blanked(text):
    """`text` with spaces in place of what is ignored, so that lines stay where they are."""
    return IGNORED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def types_of(text):
    """Yields (line number, name) of the types that are defined directly in namespace weir."""
    code = blanked(text)
    scopes = []  # names of open namespaces; None for every other brace
    start = 0
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        head = code[start:at]
        if match.group() == "{":
            namespace = NAMESPACE.search(head)
            if namespace and "=" not in head:
                scopes.append(namespace.group("name") or "")
            else:
                found = TYPE.search(head) if scopes == ["weir"] else None
                if found and not re.search(r"[()=]", head[:found.start()].rsplit(">", 1)[-1]):
                    yield code.count("\n", 0, start + found.start("name")) + 1, found.group("name")
                scopes.append(None)
        elif match.group() == "}" and scopes:
            scopes.pop()
        start = at + 1


def duplicates(files):
    """`files`: (path, text). Yields (name, places), for each name that several files define."""
    places = collections.defaultdict(dict)
    for path, text in files:
        if TEST_FILE.search(path):
            continue
        for line, name in types_of(text):
            places[name].setdefault(path, f"{path}:{line}")
    for name, found in sorted(places.items()):
        if len(found) > 1:
            yield name, sorted(found.values())


def main():
    root = Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=root, check=True, capture_output=True, text=True)
    paths = sorted(path for path in listed.stdout.split("\0") if SOURCE.search(path) and (root / path).is_file())
    found = list(duplicates((path, (root / path).read_text(encoding="utf-8")) for path in paths))
    for name, places in found:
        print(f"{name} is defined twice: {', '.join(places)}")
    print(f"names: {len(paths)} files, {len(found)} errors")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
