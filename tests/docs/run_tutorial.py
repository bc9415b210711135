#!/usr/bin/env python3
"""Follows docs/tutorial.md: saves its programs, runs its commands in one shell, and looks at what they print.

    run_tutorial.py PAGE DIRECTORY [--built BUILT --weir BIN | --print | --check LOG]

Runs in DIRECTORY, which is emptied except for *.deb. Blocks that are marked `<!-- not run: … -->` are left out. With
--built, commands that install and build are left out too: the programs are in BUILT (tutorial_ring, tutorial_ask), weir is
in BIN, and other ports take the place of the page's. --print saves the programs, but prints the commands, for a shell
elsewhere; --check looks at the output of that shell.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import check_blocks

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))
from weir_cluster import free_ports  # noqa: E402

PORTS = ("2222", "2223", "9090")
INSTALLS = re.compile(r"^(apt-get|cmake) ", re.M)
SKIPPED = 77
SECONDS = 180
ATTEMPTS = 3
# Must be printed by the commands, in this order.
EXPECTED = (
    r"\nstep 10000   loss ",
    r"\nmodel: \S+/one/models/\d+\n",
    r"\n/job:worker/replica:0/task:0/device:CPU:0 .*\(this task\)",
    r"\nps:0 +down ",
    r"\nbegins at step 0\n",
    r"\nstep \d+ failed: .*/job:ps/replica:0/task:0",
    r"\nrecovered after [\d.]+ s: continues at step \d+ from \S+/two/checkpoints/model\.ckpt-\d+\n",
    r"\nstep 10000   loss ",
    r"\nmodel: \S+/two/models/\d+\n",
    r"\nweir_peer_losses_total\{task=\"/job:ps/replica:0/task:0\"\} [1-9]",
    r"\n +signature serving_default",
    r"\n\{\"inside\": \[\[(1\.0|0\.[5-9]\d*)\], \[(0\.[0-4]\d*|[\d.]+e-\d+)\]\]\}",
    r"\n\(0\.5, 0\.3\) is in the ring with probability (1\.00|0\.[5-9])",
    r"\n\(0, 0\) is in the ring with probability 0\.[0-4]",
    r"\nmodel\.ckpt-10000 .*latest",
)


def script_of(blocks, built):
    """The page's commands as one script."""
    parts = ["set -euo pipefail", "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT"]
    for block in blocks:
        if block.language == "sh" and block.kind != "not run:" and not (built and INSTALLS.search(block.text)):
            parts.append(f"echo 'run_tutorial: {block.at()}'\n{block.text}")
    script = "\n".join(parts)
    if built:
        for port, other in zip(PORTS, free_ports(len(PORTS))):
            script = script.replace(f":{port}", f":{other}").replace(f"--http-port {port}", f"--http-port {other}")
    return script


def prepare(directory, blocks, built):
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix != ".deb":
            path.unlink()
    for block in blocks:
        if block.kind == "from":
            (directory / Path(block.what).name).write_text(block.text, encoding="utf-8")
    if built:
        (directory / "build").mkdir()
        for program in ("ring", "ask"):
            (directory / "build" / program).symlink_to(built / f"tutorial_{program}")


def run(script, directory, environment):
    """Its exit status and output. The processes that it started end with it."""
    with subprocess.Popen(["bash", "-c", script], cwd=directory, env=environment, text=True, start_new_session=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
    return process.returncode, output


def missing(output):
    """The first of EXPECTED that does not follow those before it, or none."""
    position, text = 0, "\n" + output
    for pattern in EXPECTED:
        match = re.compile(pattern).search(text, position)
        if match is None:
            return pattern
        position = match.end() - 1
    return None


def trained_undisturbed(output):
    """Whether training on the cluster ended before the shell came to kill the parameter server."""
    return output.count("\nstep 10000 ") == 2 and "recovered after" not in output


def report(status, output):
    pattern = missing(output)
    if status != 0 or pattern is not None:
        print(f"run_tutorial: exit status {status}" + (f"; nothing printed {pattern!r}" if pattern else ""))
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--built", type=Path)
    parser.add_argument("--weir", type=Path)
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--check", type=Path)
    arguments = parser.parse_args()
    if arguments.check:
        report(0, arguments.check.read_text(encoding="utf-8"))
        return
    blocks = check_blocks.blocks_of("docs/tutorial.md", arguments.page.read_text(encoding="utf-8"))
    if arguments.print:
        prepare(arguments.directory, blocks, built=None)
        print(script_of(blocks, built=None))
        return
    if shutil.which("curl") is None:
        print("skipped: there is no curl, which the page uses")
        sys.exit(SKIPPED)
    environment = dict(os.environ)
    if arguments.weir:
        environment["PATH"] = f"{arguments.weir}:{environment['PATH']}"
    for attempt in range(ATTEMPTS):
        prepare(arguments.directory, blocks, arguments.built)
        status, output = run(script_of(blocks, arguments.built), arguments.directory, environment)
        print(output)
        if status != 0 or not trained_undisturbed(output) or attempt + 1 == ATTEMPTS:
            break
        print("run_tutorial: the shell was held up, and training ended before the kill; once more")
    report(status, output)


if __name__ == "__main__":
    main()
