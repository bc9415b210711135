#!/usr/bin/env python3
"""Rows on a GPU beside their peers: run.py --programs FOLDER [--torch PYTHON] [--rounds N] [row…]

Runs weir_gpu_bench, weir_cuda_by_hand and torch_peer.py in turns, row by row, and prints a line of JSON for each figure
and a table in Markdown: the best of the rounds, and whether each aim was met. What could not be measured says why.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROWS = ["small_kernels", "matmul", "copy_to_device", "copy_to_host", "resnet50", "gpt2", "all_reduce"]
NO_GPU = 3
LIMIT_SECONDS = 600


@dataclass
class Aim:
    """Weir's figure against a peer's, or against a number."""

    row: str
    work: str
    side: str = ""  # the peer; none: `limit` is absolute
    form: str = ""  # the peer's way; any
    weir_form: str = ""  # any: the best
    limit: float = 1.0
    of: str = "value"  # or peak_bytes
    at_most: bool = False


AIMS = [
    Aim("small_kernels", "1,000 small kernels, one by one", weir_form="one by one", limit=2.5, at_most=True),
    Aim("small_kernels", "1,000 small kernels, replayed", weir_form="replayed", limit=0.7, at_most=True),
    Aim("matmul", "bfloat16 matmul, 8192^3", "by hand", limit=0.95),
    Aim("copy_to_device", "256 MiB to the GPU", "by hand", limit=0.9),
    Aim("copy_to_host", "256 MiB from the GPU", "by hand", limit=0.9),
    Aim("resnet50", "ResNet-50, training, batch 256, bfloat16", "torch", "compiled", limit=1.1),
    Aim("resnet50", "ResNet-50, training, batch 256, bfloat16", "torch", "eager"),
    Aim("resnet50", "ResNet-50: memory", "torch", "compiled", limit=1.0, of="peak_bytes", at_most=True),
    Aim("gpt2", "GPT-2 124M, training, 8 x 1,024 tokens, bfloat16", "torch", "compiled", limit=1.1),
    Aim("gpt2", "GPT-2 124M, training, 8 x 1,024 tokens, bfloat16", "torch", "eager", limit=1.5),
    Aim("gpt2", "GPT-2 124M: memory", "torch", "compiled", limit=1.0, of="peak_bytes", at_most=True),
    Aim("all_reduce", "all-reduce of 256 MiB", "nccl-tests", limit=0.97),
]


class Results:
    def __init__(self):
        self.figures, self.reasons, self.failed = {}, {}, False

    def add(self, side, line):
        key = (side, line["row"])
        if "value" not in line:
            self.failed = self.failed or "error" in line
            self.reasons[key] = line.get("skipped") or line.get("error") or "no figure"
            return
        forms = self.figures.setdefault(key, {})
        old = forms.get(line["form"])
        if old is None or better(line, old):
            forms[line["form"]] = line

    def best(self, side, row, form):
        """The best figure of those whose form is `form`, or of all."""
        lines = [line for name, line in self.figures.get((side, row), {}).items() if form in ("", name)]
        best = None
        for line in lines:
            if best is None or better(line, best):
                best = line
        return best

    def reason(self, side, row):
        return self.reasons.get((side, row), "not run")


def better(a, b):
    return a["value"] < b["value"] if a["unit"] == "us" else a["value"] > b["value"]


def lines_of(command, row):
    """What the program prints for a row; an error is a line, too."""
    try:
        done = subprocess.run([*command, row], capture_output=True, text=True, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return [{"row": row, "error": f"it took more than {LIMIT_SECONDS} s"}]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for line in lines:
        line.setdefault("row", row)
    if done.returncode == NO_GPU:
        sys.exit(done.stdout.strip())
    if done.returncode != 0 and not any("error" in line for line in lines):
        why = (done.stderr.strip().splitlines() or ["nothing said why"])[-1]
        lines.append({"row": row, "error": f"it ended with {done.returncode}: {why}"})
    return lines


def nccl_tests(row, form):
    """nccl-tests' program, where it is on the PATH. `form`: Weir's, "N GPUs"."""
    command = ["all_reduce_perf", "-b", "256M", "-e", "256M", "-g", form.split()[0]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    except FileNotFoundError:
        return [{"row": row, "skipped": "all_reduce_perf is not on the PATH"}]
    for line in done.stdout.splitlines():
        parts = line.split()
        if parts and parts[0] == str(256 << 20):  # size count type op root time algbw busbw …
            return [{"row": row, "form": form, "value": float(parts[7]), "unit": "GB/s", "peak_bytes": 0}]
    return [{"row": row, "error": f"all_reduce_perf ended with {done.returncode}"}]


def shown(value, of, unit):
    if of == "peak_bytes":
        return f"{value / (1 << 30):.2f} GiB"
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def verdict(aim, value=None):
    text = f"{'at most' if aim.at_most else 'at least'} {aim.limit:g}"
    if value is None:
        return text
    return f"{text}: {'met' if (value <= aim.limit if aim.at_most else value >= aim.limit) else 'missed'}"


def table_row(aim, results):
    weir = results.best("weir", aim.row, aim.weir_form)
    if weir is None:
        return [aim.work, f"not measured: {results.reason('weir', aim.row)}", "", "", verdict(aim)]
    mine = weir[aim.of]
    figure = shown(mine, aim.of, weir["unit"])
    if not aim.side:
        return [aim.work, figure, "", "", verdict(aim, mine)]
    peer = results.best(aim.side, aim.row, aim.form)
    name = f"{aim.side} {aim.form}".strip()
    if peer is None or not peer[aim.of]:
        return [aim.work, figure, f"{name}: not measured: {results.reason(aim.side, aim.row)}", "", verdict(aim)]
    ratio = mine / peer[aim.of]
    return [aim.work, figure, f"{name}: {shown(peer[aim.of], aim.of, peer['unit'])}", f"{ratio:.2f}", verdict(aim, ratio)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--torch", help="an interpreter that has PyTorch")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--small", action="store_true", help="shows that it runs: simulated GPUs, PyTorch on the CPU")
    parser.add_argument("rows", nargs="*", metavar="row", choices=[[], *ROWS])
    options = parser.parse_args()

    sides = {"weir": [options.programs / "weir_gpu_bench"] + (["--simulated", "--small"] if options.small else [])}
    if not options.small:
        sides["by hand"] = [options.programs / "weir_cuda_by_hand"]
    if options.torch:
        peer = Path(__file__).with_name("torch_peer.py")
        sides["torch"] = [options.torch, peer] + (["--cpu", "--small"] if options.small else [])
    has_row = {"by hand": lambda row: row in ("matmul", "copy_to_device", "copy_to_host"),
               "torch": lambda row: row != "all_reduce"}

    results = Results()
    for row in options.rows or ROWS:
        for _ in range(options.rounds):
            for side, command in sides.items():
                if not has_row.get(side, lambda row: True)(row):
                    continue
                for line in lines_of(command, row):
                    results.add(side, line)
                    print(json.dumps({"side": side, **line}), flush=True)
        weir = results.best("weir", row, "")
        if row == "all_reduce" and weir:
            for line in nccl_tests(row, weir["form"]):
                results.add("nccl-tests", line)

    print("\n| work | Weir | peer | Weir / peer | aim |\n| --- | --- | --- | --- | --- |")
    for aim in AIMS:
        if not options.rows or aim.row in options.rows:
            print("| " + " | ".join(table_row(aim, results)) + " |")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
