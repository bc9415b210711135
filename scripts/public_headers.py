#!/usr/bin/env python3
"""Writes the public headers as an installed program includes them.

    scripts/public_headers.py OUTPUT [--generated DIRECTORY] [--forwarders DIRECTORY]

Copies the headers of cmake/public_headers.txt, and those of Weir's that they include, below OUTPUT/weir. client/session.h
becomes weir/session.h, tools/server.h weir/server.h, and others keep their folder: weir/core/status.h. Their #include
lines change likewise. Headers that the build generates are read from the first DIRECTORY. The second one gets headers of
the same names that include the tree's, for programs in the tree.
Fails for a header that includes protobuf, gRPC or Eigen, which programs may use in other versions, and for one that does
not mark its namespace with WEIR_API. Removes headers that are no longer public.
"""

import argparse
import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^(#include ")([^"]+)(")', re.M)
FORBIDDEN = re.compile(r'^#include ["<]([^">]*\.pb\.h|grpc[^">]*|google/protobuf/[^">]*|Eigen/[^">]*)[">]', re.M)
# Folders whose name is not part of the installed path.
FRONT = ("client/", "tools/")


def installed(header: str) -> str:
    for folder in FRONT:
        if header.startswith(folder):
            return f"weir/{header[len(folder):]}"
    return f"weir/{header}"


def roots(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


class Headers:
    """The public headers by their path in the tree, read from the first of `folders` that has them."""

    def __init__(self, folders: list[Path]):
        self.folders = folders
        self.texts: dict[str, str] = {}

    def find(self, header: str) -> Path | None:
        return next((folder / header for folder in self.folders if (folder / header).is_file()), None)

    def add(self, header: str) -> None:
        if header in self.texts:
            return
        path = self.find(header)
        if path is None:
            raise SystemExit(f"public_headers: there is no {header}")
        self.texts[header] = path.read_text()
        for match in INCLUDE.finditer(self.texts[header]):
            if self.find(match[2]) is not None:
                self.add(match[2])

    def errors(self) -> list[str]:
        found = []
        for header, text in self.texts.items():
            for match in FORBIDDEN.finditer(text):
                found.append(f"{header} includes {match[1]}, but a public header must not")
            if re.search(r"^namespace (weir|WEIR_API)", text, re.M) and "namespace WEIR_API " not in text:
                found.append(f"{header} is public: its namespace must be `namespace WEIR_API weir`")
        places: dict[str, str] = {}
        for header in self.texts:
            other = places.setdefault(installed(header), header)
            if other != header:
                found.append(f"{header} and {other} would both be {installed(header)}")
        return found

    def rewritten(self, header: str) -> str:
        def replace(match: re.Match) -> str:
            return match[1] + (installed(match[2]) if match[2] in self.texts else match[2]) + match[3]

        return INCLUDE.sub(replace, self.texts[header])

    def copies(self) -> dict[str, str]:
        return {installed(header): self.rewritten(header) for header in self.texts}

    def forwarders(self) -> dict[str, str]:
        return {installed(header): f'#pragma once\n#include "{header}"\n' for header in self.texts}


def write(output: Path, texts: dict[str, str]) -> None:
    for header, text in texts.items():
        path = output / header
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text() != text:  # keeps the time of a file that stays
            path.write_text(text)
    for path in (output / "weir").rglob("*.h"):
        if path.relative_to(output).as_posix() not in texts:
            path.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--generated", type=Path)
    parser.add_argument("--forwarders", type=Path)
    arguments = parser.parse_args()
    headers = Headers([SOURCE] + ([arguments.generated] if arguments.generated else []))
    for header in roots((SOURCE / "cmake/public_headers.txt").read_text()):
        headers.add(header)
    errors = headers.errors()
    for error in errors:
        print(f"public_headers: {error}", file=sys.stderr)
    if errors:
        return 1
    write(arguments.output, headers.copies())
    if arguments.forwarders:
        write(arguments.forwarders, headers.forwarders())
    return 0


if __name__ == "__main__":
    sys.exit(main())
