#!/usr/bin/env python3
"""Checks names of types, and names of files in comments.

    scripts/check_names.py

One name means one type: no two files define types of one name at namespace level of weir. Types in unnamed namespaces
and in namespaces inside weir do not count, nor do nested types, forward declarations, specialisations and tests. A type
that one file uses belongs in that file's unnamed namespace.

A path in a comment, from the repository's root, exists. It may lack ".h", be a pattern, or name a decision by its number.

The comment at the top of a file is a sentence or a noun phrase; it does not begin with What, How or Which.
"""

import collections
import fnmatch
import re
import subprocess
import sys
from pathlib import Path

SOURCE = re.compile(r"\.(cc|h|cu|cuh|inc)$")
COMMENTED = re.compile(r"\.(cc|h|cu|cuh|inc|proto)$")
TEST_FILE = re.compile(r"^tests/|_test\.(cc|cu|h)$|_testing\.(cc|cu|h)$|/testing(/|\.h$)")

# Text without structure: comments, literals, and directives with their continued lines.
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\''
                     r"|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s*(?P<name>[A-Za-z_][\w:]*)?\s*$")
TYPE = re.compile(r"(?:^|[\s>])(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:(?:alignas\s*\([^()]*\)|\[\[.*?\]\]|[A-Z][A-Z0-9_]*(?:\([^()]*\))?)\s+)*"
                  r"(?P<name>(?!final\b)[A-Za-z_]\w*)\s*(?P<rest>(?:final\b\s*)?(?::(?!:).*)?)$", re.S)

PATH = re.compile(r"(?<![\w./:<-])[\w-]+(?:/[\w.*-]+)+")
FRAGMENT = re.compile(r"//+ *(?:What|How|Which)\b")
GENERATED = {"client/ops.h"}


def comments_of(text):
    """Yields (line number, text) of the comments."""
    for match in IGNORED.finditer(text):
        if match.group().startswith(("//", "/*")):
            for number, line in enumerate(match.group().split("\n"), text.count("\n", 0, match.start()) + 1):
                yield number, line


def paths_and_folders(paths):
    return set(paths) | {str(folder) for path in paths for folder in Path(path).parents if str(folder) != "."}


def missing_paths(text, known):
    """Yields (line number, path) of the paths in comments that are not in `known`, the files and folders from the root."""
    for number, comment in comments_of(text):
        for match in PATH.finditer(comment):
            path = match.group().rstrip("./-")
            if path.split("/")[0] not in known or "/" not in path or path in GENERATED:
                continue
            if path in known or path + ".h" in known or ("*" in path and fnmatch.filter(known, path)):
                continue
            if re.fullmatch(r"docs/decisions/\d+", path) and fnmatch.filter(known, path + "-*"):
                continue
            yield number, path


def begins_with_fragment(text):
    """Whether the comment at the top of the file is a fragment such as "What kernels share."."""
    return bool(FRAGMENT.match(text))


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
    there = sorted(path for path in listed.stdout.split("\0") if path and (root / path).is_file())
    texts = {path: (root / path).read_text(encoding="utf-8") for path in there if COMMENTED.search(path)}
    errors = [f"{name} is defined twice: {', '.join(places)}"
              for name, places in duplicates((path, text) for path, text in texts.items() if SOURCE.search(path))]
    known = paths_and_folders(there)
    for path, text in texts.items():
        errors += [f"{path}:{number}: there is no {missing}" for number, missing in missing_paths(text, known)]
        if begins_with_fragment(text):
            errors.append(f"{path}:1: begin the comment with a sentence or a noun phrase, not with What, How or Which")
    for error in errors:
        print(error)
    print(f"names: {len(texts)} files, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
