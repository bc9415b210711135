#!/usr/bin/env python3
"""Checks that every file includes only what its folder may use, and that names and sizes of folders say something.

    scripts/check_layering.py [file…]      (all of git's C++ files, by default)

LAYERS is the order: a folder may use itself and what stands above it. SUBFOLDERS is the same for the subfolders of core/ and
distribute/, so that none of them include each other in a circle. NEVER holds what a folder may not use although the
order would allow it. Only TOOLKIT_FILES may include the CUDA toolkit's headers. Tests (tests/, *_test.cc, *_testing.*)
may use everything; nothing uses them. Only WALL_CLOCK_FILES read the wall clock.
No folder has one of FOLDER_NAMES, no source file one of FILE_WORDS in its name, and no folder more than MOST_SOURCES sources
of its own.
"""

import collections
import posixpath
import re
import subprocess
import sys
from pathlib import Path

LAYERS = [
    ("protos",),
    ("core",),
    ("graph",),
    ("kernels",),
    ("distribute",),
    ("worker",),
    ("master",),
    ("client/runtime",),
    ("client",),
    ("client/strategy",),
    ("client/elastic",),
    ("client/estimator",),
    ("tools",),
    ("examples",),
    ("bench",),
]
RANK = {folder: rank for rank, layer in enumerate(LAYERS) for folder in layer}

# Subfolders of one row do not use each other.
SUBFOLDERS = [
    ("core",),
    ("core/memory", "core/metrics", "core/threads"),
    ("core/files",),
    ("core/files/remote",),
    ("core/tensor",),
    ("core/checkpoint", "core/device", "core/op", "core/wire"),
    ("core/fusion", "core/rendezvous"),
    ("core/kernel",),
    ("core/gpu",),
    ("core/cuda/cupti",),
    ("core/cuda",),
    ("distribute/cluster",),
    ("distribute/membership",),
    ("distribute/transport/liveness",),
    ("distribute/transport/clients",),
    ("distribute/transport",),
    ("distribute/transport/frames", "distribute/transport/membership", "distribute/transport/python"),
    ("distribute/transport/shared_memory", "distribute/transport/stream"),
    ("distribute/transport/workers",),
    ("distribute/collective",),
    ("distribute/collective/gpu",),
    ("distribute/collective/nccl", "distribute/collective/task"),
    ("distribute/coordination",),
    ("distribute/coordination/etcd",),
]
SUBFOLDER_RANK = {folder: rank for rank, row in enumerate(SUBFOLDERS) for folder in row}

GRPC = r"grpc(pp)?/|.*\.grpc\.pb\.h$"
NCCL = r"nccl"
CUDA = r"(cuda|cublas|cudnn|cusparse|nvrtc|nccl)[^/]*\.h$|core/cuda/|kernels/cuda/"
TOOLKIT = re.compile(r"(cuda|cublas|cudnn|cusparse|nvrtc|nccl|cupti|cub/|device_launch)[^\"]*$")
TOOLKIT_FILES = re.compile(r"(core/cuda|distribute/collective/nccl|bench/gpu)/|kernels/.*(cuda|cudnn|cublas|cusparse|nvrtc)[^/]*$")
THREADS = r"(thread|future|condition_variable|barrier|latch|semaphore|stop_token|pthread\.h)$|core/threads/work_queue\.h$"
IO = r"(fstream|iostream|filesystem|fcntl\.h|unistd\.h|stdio_ext\.h|sys/[a-z]+\.h)$"

# The wall clock can jump, so only what people or files read comes from it.
WALL_CLOCK = re.compile(r"absl::Now\(\)|system_clock|gettimeofday\(|CLOCK_REALTIME")
WALL_CLOCK_FILES = {
    "client/embedding/embedding_exporter.cc", "client/embedding/embedding_follower.cc",
    "client/estimator/saved_model.cc", "client/training/board_events.cc", "core/checkpoint/text_record.cc", "core/clock.cc",
    "core/device/incarnation.cc", "core/files/memory_file_system.cc", "core/files/remote/s3_client.cc",
    "core/kernel/debug_publisher.cc", "core/logging.cc", "distribute/transport/grpc_deadline.h",
    "distribute/transport/grpc_server.cc", "distribute/transport/workers/grpc_worker_service.cc",
    "kernels/data/element_saver.cc", "kernels/debug/cpu_probe.cc", "kernels/embedding/embedding_table.cc",
    "kernels/summary/event_writer.cc", "tools/trace_command.cc",
}

# folder: (pattern of an include, what it is)
NEVER = {
    "core": [(GRPC, "gRPC"), (NCCL, "NCCL")],
    "graph": [(GRPC, "gRPC"), (CUDA, "CUDA"), (THREADS, "threads"), (IO, "I/O")],
    "kernels": [(GRPC, "gRPC"), (NCCL, "NCCL")],
    "distribute": [(r"kernels/", "kernels")],
    "master": [(r"kernels/", "kernels")],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
TEST_FILE = re.compile(r"^tests/|_test\.(cc|cu|h)$|_testing\.(cc|cu|h)$|/testing(/|\.h$)")
SOURCE = re.compile(r"\.(cc|h|cu|cuh|inc)$")

FOLDER_NAMES = {"rare", "misc", "util", "utils", "helper", "helpers", "common2", "former", "numeric", "domain", "inspection"}
FILE_WORDS = {"rare", "misc", "former", "domain", "util", "utils", "helper", "helpers"}
NAMED_SOURCE = re.compile(r"\.(cc|h|cu|cuh|inc|py|proto)$")
FOREIGN = "protos/"  # its paths are TensorFlow's
MOST_SOURCES = 60


def folder_of(path, folders=RANK):
    """The one of `folders` that holds `path`, the longest if several do; None outside of them all."""
    found = [folder for folder in folders if path.startswith(folder + "/")]
    return max(found, key=len, default=None)


def subfolder_of(path):
    """The folder of `path`, if it is inside core/ or distribute/. Each such folder has its own place in SUBFOLDERS."""
    folder = path.rpartition("/")[0]
    return folder if folder.split("/")[0] in ("core", "distribute") else None


def subfolder_error(path, include):
    """Why `path` may not include `include` although both are in one of these; None: it may."""
    own, target = subfolder_of(path), subfolder_of(include)
    if own is None or target is None or own == target:
        return None
    unknown = [folder for folder in (own, target) if folder not in SUBFOLDER_RANK]
    if unknown:
        return f"{unknown[0]} is not in SUBFOLDERS: give it a place there"
    if SUBFOLDER_RANK[target] >= SUBFOLDER_RANK[own]:
        return f"{own} may not use {target}: {include}"
    return None


def target_of(include):
    """The folder that an include line's path stands for; None for what is not ours."""
    if re.match(r"(tensorflow|weir|etcd)/.*\.pb\.h$", include):
        return "protos"
    return folder_of(include)


def errors_of(path, text, exists):
    """Yields (line number, message). `exists` tells whether a path from the repository's root is there."""
    is_test = bool(TEST_FILE.search(path))
    own = folder_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        if own and not is_test and WALL_CLOCK.search(line) and path not in WALL_CLOCK_FILES:
            yield number, "the wall clock can jump: use MonotonicNow (core/clock.h)"
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, include = match.groups()
        target = target_of(include)
        if quote == '"' and (include.startswith(".") or "/" not in include):
            yield number, f'"{include}": write the path from the repository\'s root'
            continue
        if quote == "<" and target and exists(include):
            yield number, f"<{include}> is ours: include it with quotes"
        if is_test or own is None:
            continue
        if TEST_FILE.search(include) or include.startswith(("gtest/", "gmock/")):
            yield number, f"{include} is for tests alone"
        if TOOLKIT.match(include) and not TOOLKIT_FILES.match(path):
            yield number, f"only files named after the CUDA toolkit use it: {include}"
        if target and target != own and RANK[target] >= RANK[own]:
            yield number, f"{own} may not use {target}: {include}"
        if subfolder_problem := subfolder_error(path, include):
            yield number, subfolder_problem
        for pattern, what in NEVER.get(own.split("/")[0], []):
            if re.match(pattern, include):
                yield number, f"{own} never uses {what}: {include}"


def place_errors(paths):
    """Yields (path, message) of folders and files whose names say nothing, and of folders with too many sources."""
    ours = [path for path in paths if not path.startswith(FOREIGN)]
    folders = {str(folder) for path in ours for folder in Path(path).parents if str(folder) != "."}
    for folder in sorted(folders):
        if posixpath.basename(folder) in FOLDER_NAMES:
            yield folder, "the folder's name does not say what is in it"
    for path in sorted(ours):
        found = FILE_WORDS & set(re.split(r"[_.-]", posixpath.basename(path)))
        if NAMED_SOURCE.search(path) and found:
            yield path, f"the file's name does not say what is in it: {min(found)}"
    counts = collections.Counter(posixpath.dirname(path) for path in ours if SOURCE.search(path))
    for folder, count in sorted(counts.items()):
        if count > MOST_SOURCES:
            yield folder, f"{count} sources in one folder, {MOST_SOURCES} at most: make subfolders"


def main(arguments):
    root = Path(__file__).resolve().parent.parent
    paths, count = arguments, 0
    if not paths:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, check=True, capture_output=True, text=True)
        there = [path for path in listed.stdout.split("\0") if path and (root / path).is_file()]
        for path, message in place_errors(there):
            print(f"{path}: {message}")
            count += 1
        paths = [path for path in there if SOURCE.search(path)]
    for path in sorted(paths):
        if not (root / path).is_file():
            continue
        text = (root / path).read_text(encoding="utf-8")
        for number, message in errors_of(path, text, lambda include: (root / include).exists()):
            print(f"{path}:{number}: {message}")
            count += 1
    print(f"layering: {len(paths)} files, {count} errors")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
