#!/usr/bin/env python3
"""Runs clang-tidy over our own files, in parallel, and remembers which were clean.

    scripts/tidy.py [--build-dir build/tidy] [--generated-dir build/release] [--changed [BASE]] [--minutes N] [file…]

--build-dir is configured without unity builds and precompiled headers; generated headers come from --generated-dir.
--changed checks only files that differ from BASE, and for each header that differs one file that includes it. BASE is,
by default, the newest commit that is at least 12 hours older than HEAD: what one day's work has changed.

A clean result is kept in ~/.cache/weir/tidy under a hash of the file, of every file of ours that it includes, of its
flags, of .clang-tidy and of clang-tidy's version, so that a second run checks only changed files. With --minutes, the
files changed last come first, and those not reached in time are named and do not fail the run.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weir" / "tidy"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
DAY = 12 * 3600
LISTED = 20  # files not reached in time
# GCC's own, which clang does not know.
GCC_FLAGS = re.compile(r"-fvect-cost-model=|-Wno-maybe-uninitialized|-Wno-restrict|-Wno-stringop-overflow|-fpch-preprocess|-Winvalid-pch|-fsanitize")


class Files:
    """Digests of files and of what they include, each read once."""

    def __init__(self, include_dirs):
        self.include_dirs = include_dirs
        self.parsed = {}
        self.included = {}

    def _parse(self, path):
        if path not in self.parsed:
            content = path.read_bytes()
            includes = [name.decode(errors="replace") for name in INCLUDE.findall(content)]
            found = [self._find(name) for name in includes]
            self.parsed[path] = (hashlib.sha256(content).hexdigest(), [file for file in found if file])
        return self.parsed[path]

    def _find(self, name):
        for folder in self.include_dirs:
            if (folder / name).is_file():
                return folder / name
        return None

    def includes(self, path):
        """`path` and all of our files that it includes, directly or not."""
        if path not in self.included:
            seen, waiting = set(), [path]
            while waiting:
                file = waiting.pop()
                if file not in seen:
                    seen.add(file)
                    waiting.extend(self._parse(file)[1])
            self.included[path] = seen
        return self.included[path]

    def closure(self, path):
        """Sorted digests of `includes(path)`."""
        return sorted(self._parse(file)[0] for file in self.includes(path))


def selected(sources, changed, includes):
    """Of `sources`, those in `changed`, and one for each header in `changed` that none of them includes: the source of
    the same name if there is one, otherwise the first in order."""
    chosen = sorted(source for source in sources if source in changed)
    covered = set().union(*(includes(source) for source in chosen))
    for header in sorted(path for path in changed if path.suffix == ".h"):
        if header in covered:
            continue
        own = header.with_suffix(".cc")
        candidates = [own] if own in sources else sorted(source for source in sources if header in includes(source))
        if candidates:
            chosen.append(candidates[0])
            covered |= includes(candidates[0])
    return chosen


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def default_base():
    """The newest commit at least 12 hours older than HEAD; the empty tree where the history has none."""
    before = int(git("log", "-1", "--format=%ct")) - DAY
    return git("rev-list", "-1", f"--before={before}", "HEAD") or git("hash-object", "-t", "tree", "/dev/null")


def changed_since(base):
    """Files that differ from `base` in the work tree, and untracked ones; not those that only moved."""
    rows = [row.split("\t") for row in git("diff", "--name-status", "-M", "-l0", "--diff-filter=d", base).splitlines()]
    names = [row[-1] for row in rows if row[0] != "R100"]
    names += git("ls-files", "--others", "--exclude-standard").splitlines()
    return {ROOT / name for name in names}


def arguments_of(entry):
    """The compile command as clang-tidy gets it: no launcher, compiler, output, precompiled header or GCC-only flag."""
    words = shlex.split(entry["command"])
    start = next(i for i, word in enumerate(words) if re.search(r"(c\+\+|g\+\+|clang\+\+)(-\d+)?$", word)) + 1
    kept, skip = [], False
    for word in words[start:]:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-c", "-include"):
            skip = True
        elif word not in ("-MD", "-Werror") and not GCC_FLAGS.match(word):
            kept.append(word)
    return kept


def recency():
    """Path -> number of commits since it last changed; what is not committed yet comes before all."""
    order = {}
    log = subprocess.run(["git", "log", "--name-only", "--format=%x00", "-n", "400"], cwd=ROOT, capture_output=True,
                         text=True)
    for age, names in enumerate(log.stdout.split("\0")):
        for name in names.split():
            order.setdefault(name, age)
    return order


def tidy(path, arguments):
    command = ["clang-tidy", "--quiet", str(path), "--", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.strip() or done.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", default="build/tidy", type=Path)
    parser.add_argument("--generated-dir", default="build/release", type=Path)
    parser.add_argument("--changed", nargs="?", const="", metavar="BASE", help="only files that differ from BASE")
    parser.add_argument("--minutes", type=float, help="start no file after so long")
    parser.add_argument("files", nargs="*", help="all of ours, by default")
    options = parser.parse_args()
    start = time.monotonic()

    database = ROOT / options.build_dir / "compile_commands.json"
    entries = {}
    for entry in json.loads(database.read_text()):
        path = Path(entry["file"])
        if path.suffix == ".cc" and path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "build"):
            entries[path] = [word.replace(str(ROOT / options.build_dir), str(ROOT / options.generated_dir))
                             for word in arguments_of(entry)]
    if options.files:
        asked = {Path(name).resolve() for name in options.files}
        for path in sorted(asked - entries.keys()):
            print(f"tidy: {path} is not built in {options.build_dir}", file=sys.stderr)
            return 1
        entries = {path: entries[path] for path in asked}

    generated = ROOT / options.generated_dir
    files = Files([ROOT, generated / "protos", generated / "client" / "generated"])
    if options.changed is not None:
        base = options.changed or default_base()
        chosen = selected(entries.keys(), changed_since(base), files.includes)
        print(f"tidy: {len(chosen)} of {len(entries)} files changed since {base[:12]}", flush=True)
        entries = {path: entries[path] for path in chosen}

    version = subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True, text=True).stdout
    config = hashlib.sha256((version + (ROOT / ".clang-tidy").read_text()).encode()).hexdigest()

    def key_of(path):
        flags = " ".join(entries[path]).replace(str(ROOT), "")
        words = [config, flags, path.relative_to(ROOT).as_posix(), *files.closure(path)]
        return hashlib.sha256("\n".join(words).encode()).hexdigest()

    CACHE.mkdir(parents=True, exist_ok=True)
    ages = recency()
    waiting = [(path, key) for path in entries if not (CACHE / (key := key_of(path))).exists()]
    waiting.sort(key=lambda item: (ages.get(item[0].relative_to(ROOT).as_posix(), -1), item[0]))
    late, failed = [], []

    def check(item):
        path, key = item
        if options.minutes is not None and time.monotonic() - start > 60 * options.minutes:
            late.append(path)
            return
        status, output = tidy(path, entries[path])
        if status == 0:
            (CACHE / key).touch()
        else:
            failed.append(path)
            print(output, flush=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(check, waiting))

    if late:
        names = sorted(path.relative_to(ROOT).as_posix() for path in late)
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        print(f"tidy: not reached within {options.minutes:g} minutes: {' '.join(names[:LISTED])}{more}")
    print(f"tidy: {len(entries)} files, {len(entries) - len(waiting)} clean before, {len(late)} not reached, "
          f"{len(failed)} with errors, {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
