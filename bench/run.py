#!/usr/bin/env python3
"""Runs the rows: run.py --programs FOLDER [--peer-python PYTHON] [row…]. scripts/bench builds and calls it."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rows import ROWS, measure
from side import Gloo, TensorFlow, Weir


def row_line(row, results, peer):
    weir, other = results.get("weir"), results.get(peer) if peer else None
    both = isinstance(weir, float) and isinstance(other, float)
    line = {"bench": row.name, "work": row.work, "unit": row.unit,
            "weir": weir if isinstance(weir, float) else None,
            "peer": other if isinstance(other, float) else None,
            "peer_name": peer, "ratio": other / weir if both else None}
    errors = {name: value for name, value in results.items() if not isinstance(value, float)}
    if errors:
        line["errors"] = errors
    return line


def shown(value, unit=""):
    return "-" if value is None else f"{value:.3g}{unit}" if value < 100 else f"{value:.0f}{unit}"


def table(lines):
    rows = [("work", "weir", "peer", "ratio", "peer is")]
    for line in lines:
        unit = " " + line["unit"]
        rows.append((line["work"], shown(line["weir"], unit), shown(line["peer"], unit), shown(line["ratio"], "x"),
                     line["peer_name"] or "-"))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join(row[0].ljust(widths[0]) + "".join("  " + row[i].rjust(widths[i]) for i in range(1, 4))
                     + "  " + row[4] for row in rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--peer-python")
    parser.add_argument("rows", nargs="*", metavar="row")
    options = parser.parse_args()
    unknown = set(options.rows) - {row.name for row in ROWS}
    if unknown:
        names = " ".join(row.name for row in ROWS)
        sys.exit(f"bench: no row {', '.join(sorted(unknown))}; rows are: {names}")

    weir, peers = Weir(options.programs), {name: Weir(options.programs, name) for name in
                                           ("by_hand", "no_straggler", "calls", "in_steps", "unbalanced", "uncommitted",
                                            "without")}
    if options.peer_python:
        peers["tensorflow"] = TensorFlow(options.programs, options.peer_python)
    if (options.programs / "gloo_peer").exists():
        peers["gloo"] = Gloo(options.programs)
    lines = []
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as graphs:
        subprocess.run([options.programs / "weir_bench_graphs", graphs], check=True)
        for row in ROWS:
            if options.rows and row.name not in options.rows:
                continue
            peer = peers.get(row.peer)
            sides = [weir] + ([peer] if peer else [])
            load = os.getloadavg()[0]
            lines.append({**row_line(row, measure(row, sides, Path(graphs)), peer and peer.name), "load": load})
            print(json.dumps(lines[-1], ensure_ascii=False), flush=True)
    print("\n" + table(lines))
    return 0 if all(line["weir"] is not None for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
