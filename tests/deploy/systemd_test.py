#!/usr/bin/env python3
"""Checks deploy/systemd with systemd-analyze.

    systemd_test.py DEPLOY WEIR

DEPLOY is the folder deploy/, WEIR the program that the unit is to start. Exit status 77: systemd-analyze is not there.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# Units with the program that each starts.
UNITS = {"weir": "/usr/local/bin/weir", "weir-train": "/usr/local/bin/train"}
# In tenths, as systemd-analyze counts: 0 is a unit that can do nothing. What is left is the network and its like.
EXPOSURE = "20"


def analyze(*arguments):
    """The command's complaints; None: there are none."""
    done = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip()
    return said or f"exit status {done.returncode}" if done.returncode or said else None


def verify(path, text):
    """The complaints of systemd-analyze about that text as this unit; None: there are none."""
    path.write_text(text, encoding="utf-8")
    return analyze("verify", "--man=no", str(path))


def check(deploy, name, program):
    """The unit as that of worker 0, with a program that exists."""
    text = (pathlib.Path(deploy) / "systemd" / f"{name}@.service").read_text(encoding="utf-8")
    assert UNITS[name] in text
    text = text.replace(UNITS[name], program)
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / f"{name}@worker-0.service"
        wrong = verify(unit, text)
        assert wrong is None, wrong
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", str(unit)],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        # The tool does find what is wrong.
        for right, mistaken in (("Restart=on-failure", "Restart=on-failrue"), ("ExecStart=", "ExecStrat="),
                                (program, "/no/such/program")):
            assert right in text
            assert verify(unit, text.replace(right, mistaken)) is not None, mistaken


def main(deploy, weir):
    if shutil.which("systemd-analyze") is None:
        print("skipped: there is no systemd-analyze (Debian's package systemd)")
        return SKIPPED
    for name in UNITS:
        check(deploy, name, weir)
    print("systemd-analyze finds nothing wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
