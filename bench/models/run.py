#!/usr/bin/env python3
"""Whole models beside TensorFlow and PyTorch: run.py --programs FOLDER --tensorflow PYTHON [--pytorch PYTHON] [flag…] [model…]

scripts/bench models builds and calls it. Each side is a process; the sides take turns. Prints a line of JSON for each model
and type, then a table. --values compares losses instead of times, and fails if they differ.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import sizes
from side import Failure, Runner

SIDES = ["weir", "tensorflow", "eager", "compiled"]
WORDS = {"weir": "Weir", "tensorflow": "TensorFlow", "eager": "PyTorch", "compiled": "torch.compile"}
ROUND_SECONDS = 0.25
CEILING = "ceiling"  # a model of one product
# Relative difference of a loss from TensorFlow's. Those of bfloat16 differ by its 8 bits, and training spreads that.
TOLERANCE = {"f32": 2e-3, "bf16": 3e-2}


class Sides:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.quiet = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="")

    def write(self, model):
        if (self.folder / f"{model}.npz").exists():
            return
        subprocess.run([self.options.tensorflow, str(HERE / "graphs.py"), str(self.folder), model,
                        *(["--small"] if self.options.small else [])], check=True, env=self.quiet, stderr=subprocess.DEVNULL)

    def names(self):
        names = SIDES if self.options.pytorch else SIDES[:2]
        return [name for name in names if name in self.options.sides]

    def command(self, side, model, type_name):
        if side in ("weir", "tensorflow"):
            program = "weir_bench" if side == "weir" else "tensorflow_peer"
            return [str(self.options.programs / program), str(self.folder / f"{model}.{type_name}")]
        return [self.options.pytorch, str(HERE / "torch_side.py"), str(self.folder), model, type_name, side,
                *(["--small"] if self.options.small else [])]

    def open(self, side, model, type_name):
        return Runner(self.command(side, model, type_name), self.quiet)

    def losses(self, side, model, type_name, steps):
        command = self.command(side, model, type_name)
        if side in ("weir", "tensorflow"):
            command.insert(2, "")  # no target
        ran = subprocess.run([*command, "--values", str(steps)], env=self.quiet, text=True, capture_output=True)
        if ran.returncode:
            raise Failure((ran.stderr.strip().splitlines() or ["failed"])[-1])
        return [float(line) for line in ran.stdout.split()]

    def ceilings(self, model):
        """The most operations a second, by type, and bytes; nothing without PyTorch, which measures the bytes."""
        if not self.options.pytorch:
            return {}
        command = [self.options.pytorch, str(HERE / "torch_side.py"), str(self.folder), "ceilings"]
        most = json.loads(subprocess.run(command, env=self.quiet, text=True, capture_output=True, check=True).stdout)
        for type_name in ("f32", "bf16"):
            work = json.loads((self.folder / f"{model}.{type_name}.json").read_text())["flops"]
            for side in ("weir", "tensorflow"):
                runner = self.open(side, model, type_name)
                runner.seconds(1)
                most[type_name] = max(most[type_name], *(work / runner.seconds(1) for _ in range(8)))
                runner.close()
        return most


def forget_peak(pid):
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def peak_mib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return None


def measure(sides, model, type_name, rounds):
    """{side: {least_ms, median_ms, peak_mib}, or {error}}."""
    runners, results, samples, steps = {}, {}, {}, {}
    try:
        for side in sides.names():
            try:
                runners[side] = sides.open(side, model, type_name)
                took = runners[side].seconds(1)
                steps[side] = max(1, round(ROUND_SECONDS / min(took, runners[side].seconds(1))))
                forget_peak(runners[side].process.pid)
            except Failure as failure:
                results[side] = {"error": str(failure)}
        running = [side for side in runners if side in steps]
        samples = {side: [] for side in running}
        for _ in range(rounds):
            for side in running:
                samples[side].append(runners[side].seconds(steps[side]) / steps[side] * 1e3)
        for side in running:
            results[side] = {"least_ms": min(samples[side]), "median_ms": statistics.median(samples[side]),
                             "peak_mib": peak_mib(runners[side].process.pid)}
    finally:
        for runner in runners.values():
            runner.close()
    return results


def line_of(model, type_name, results, bound_ms):
    weir = results["weir"].get("least_ms")
    peers = {side: result["least_ms"] for side, result in results.items() if side != "weir" and "least_ms" in result}
    best = min(peers, key=peers.get, default=None)
    return {"bench": f"model_{model}_{type_name}", "work": f"{sizes.WORK[model]}, {type_name}", "unit": "ms", "weir": weir,
            "peer": peers.get(best), "peer_name": best, "ratio": peers[best] / weir if best and weir else None,
            "bound_ms": bound_ms, "sides": results, "load": os.getloadavg()[0]}


def bound(folder, model, type_name, ceilings):
    """The least time of a step: its products, or its bytes, at what the machine reached in this run."""
    if not ceilings:
        return None
    least = json.loads((folder / f"{model}.{type_name}.json").read_text())
    return max(least["flops"] / ceilings[type_name], least["bytes"] / ceilings["bytes"]) * 1e3


def shown(value):
    return "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def table(lines, names):
    rows = [["least (median) ms a step", *[WORDS[name] for name in names], "ratio", "bound", "peak MiB"]]
    for line in lines:
        cells = [line["work"]]
        for name in names:
            result = line["sides"][name]
            cells.append("-" if "error" in result else f"{shown(result['least_ms'])} ({shown(result['median_ms'])})")
        peaks = " / ".join(shown(line["sides"][name].get("peak_mib")) for name in names)
        rows.append([*cells, shown(line["ratio"]), shown(line["bound_ms"]), peaks])
    head = ["| " + " | ".join(rows[0]) + " |", "|" + " --- |" * len(rows[0])]
    return "\n".join(head + ["| " + " | ".join(row) + " |" for row in rows[1:]])


def compare_losses(sides, model, type_name, steps):
    """A line of JSON: the largest difference of each side from TensorFlow."""
    expected = sides.losses("tensorflow", model, type_name, steps)
    line = {"bench": f"losses_{model}_{type_name}", "steps": steps, "first": expected[0], "last": expected[-1]}
    # Near zero, a loss differs by as much as one that has been one.
    scale = [max(abs(value), 0.1 * abs(expected[0])) for value in expected]
    for side in sides.names():
        if side in ("tensorflow", "compiled") or (model == "wide_deep" and side == "eager"):
            continue  # PyTorch has no Ftrl
        losses = sides.losses(side, model, type_name, steps)
        line[side] = max(abs(a - b) / s for a, b, s in zip(losses, expected, scale))
    line["ok"] = line["weir"] <= TOLERANCE[type_name]
    return line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--tensorflow", required=True, metavar="PYTHON")
    parser.add_argument("--pytorch", metavar="PYTHON")
    parser.add_argument("--small", action="store_true", help="small sizes, to show that all of it runs")
    parser.add_argument("--values", type=int, metavar="STEPS", help="compare losses over so many steps")
    parser.add_argument("--types", nargs="+", default=["f32", "bf16"], choices=["f32", "bf16"])
    parser.add_argument("--sides", nargs="+", default=SIDES, choices=SIDES)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", type=Path, help="keep the graphs and values here")
    parser.add_argument("models", nargs="*", metavar="model")
    options = parser.parse_args()
    if unknown := set(options.models) - set(sizes.NAMES):
        sys.exit(f"bench: no model {', '.join(sorted(unknown))}; models are: {' '.join(sizes.NAMES)}")
    models = options.models or sizes.NAMES

    lines, same = [], True
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as temporary:
        folder = options.folder or Path(temporary)
        sides = Sides(options, folder)
        sides.write(CEILING)
        ceilings = {}
        for model in models:
            sides.write(model)
            if not options.values:  # before each model: other programs may take the processors for a while
                for name, most in sides.ceilings(CEILING).items():
                    ceilings[name] = max(most, ceilings.get(name, 0))
            for type_name in options.types:
                if options.values:
                    line = compare_losses(sides, model, type_name, options.values)
                    same = same and line["ok"]
                else:
                    results = measure(sides, model, type_name, options.rounds)
                    line = line_of(model, type_name, results, bound(folder, model, type_name, ceilings))
                    lines.append(line)
                print(json.dumps(line, ensure_ascii=False), flush=True)
            if not options.folder:  # a large model's values take a gigabyte
                for file in folder.glob(f"{model}.*"):
                    file.unlink()
    if ceilings:
        print(json.dumps({"bench": "ceilings", "f32_gflops": ceilings["f32"] / 1e9, "bf16_gflops": ceilings["bf16"] / 1e9,
                          "gbytes": ceilings["bytes"] / 1e9}))
    if lines:
        print("\n" + table(lines, sides.names()))
    return 0 if same and all(line["weir"] is not None for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
