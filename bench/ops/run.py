#!/usr/bin/env python3
"""Times ops of a Weir server beside TensorFlow's, through the same client: run.py --programs FOLDER [family…].

A step runs an op K times, one after another, on variables of the server; what a step with none of them takes is taken
off. Both servers' steps alternate; the figure is the best of the rounds. One JSON line a case and size, then the ratio
per family (geometric mean) and the ten worst. Ratios above 1: Weir is faster.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tensorflow as tf  # noqa: E402

from ops.cases import CASES  # noqa: E402
from side import Cluster, TensorFlow, Weir  # noqa: E402

tf1 = tf.compat.v1
SIZES = {"4 KiB": 4 << 10, "4 MiB": 4 << 20}
ROUNDS = 7
STEP_SECONDS = 0.02  # what K is chosen for
MOST_COPIES = 2000


def config():
    """Nothing is folded or merged: every copy runs."""
    made = tf1.ConfigProto(isolate_session_state=True)
    made.graph_options.optimizer_options.opt_level = -1
    made.graph_options.rewrite_options.disable_meta_optimizer = True
    return made


class Step:
    """One side's session for one case: a null step, and one with `copies` of the op."""

    def __init__(self, target, case, size, copies):
        graph = tf.Graph()
        with graph.as_default():
            arrays = case.inputs(size)
            holders = [tf1.placeholder(tf.as_dtype(a.dtype if a.dtype != object else "string"), a.shape) for a in arrays]
            variables = [tf1.get_variable(f"v{i}", initializer=h, use_resource=True) for i, h in enumerate(holders)]
            inputs = [tf.identity(v) for v in variables]
            with tf.control_dependencies(inputs):
                self.null = last = tf.no_op()
            for _ in range(copies):
                with tf.control_dependencies([last]):
                    result = case.call(*inputs)
                last = result.op
            self.full = last
            initialise = tf1.global_variables_initializer()
        self.session = tf1.Session(target, graph=graph, config=config())
        self.session.run(initialise, dict(zip(holders, arrays)))
        self.copies = copies
        self.run_null = self.session.make_callable(self.null)
        self.run_full = self.session.make_callable(self.full)
        for run in (self.run_null, self.run_full):
            run()

    def seconds(self):
        start = time.perf_counter()
        self.run_null()
        middle = time.perf_counter()
        self.run_full()
        return middle - start, time.perf_counter() - middle

    def close(self):
        self.session.close()


def copies_for(target, case, size):
    step = Step(target, case, size, 10)
    null, full = map(min, zip(*(step.seconds() for _ in range(3))))
    step.close()
    return max(1, min(MOST_COPIES, int(STEP_SECONDS / max((full - null) / 10, 1e-7))))


def measure(targets, case, size):
    """{side: seconds of one op}."""
    copies = max(copies_for(target, case, size) for target in targets.values())
    steps = {name: Step(target, case, size, copies) for name, target in targets.items()}
    best = {name: [math.inf, math.inf] for name in steps}
    for _ in range(ROUNDS):
        for name, step in steps.items():
            best[name] = [min(pair) for pair in zip(best[name], step.seconds())]
    for step in steps.values():
        step.close()
    return {name: max(full - null, 1e-9) / copies for name, (null, full) in best.items()}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def report(lines):
    families = {}
    for line in lines:
        families.setdefault((line["family"], line["size"]), []).append(line["ratio"])
    print(f"\n{'family':14}" + "".join(f"{size:>9}" for size in SIZES) + "   TensorFlow's time / Weir's")
    for family in dict.fromkeys(line["family"] for line in lines):
        means = [families.get((family, size)) for size in SIZES]
        print(f"{family:14}" + "".join(f"{geometric_mean(m):9.2f}" if m else f"{'-':>9}" for m in means))
    print(f"{'all':14}" + "".join(
        f"{geometric_mean([line['ratio'] for line in lines if line['size'] == size]):9.2f}" for size in SIZES))
    print("\nworst:")
    for line in sorted(lines, key=lambda line: line["ratio"])[:10]:
        print(f"  {line['op']} at {line['size']}: {line['weir']:.3g} us, TensorFlow {line['tensorflow']:.3g} us,"
              f" {line['ratio']:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("families", nargs="*", metavar="family")
    options = parser.parse_args()
    unknown = set(options.families) - {case.family for case in CASES}
    if unknown:
        sys.exit(f"bench: no family {', '.join(sorted(unknown))}; there are " + ", ".join({c.family: 0 for c in CASES}))

    clusters = {side.name: Cluster(side, {"worker": 1})
                for side in (Weir(options.programs), TensorFlow(options.programs, sys.executable))}
    lines, failed = [], False
    try:
        targets = {name: cluster.target() for name, cluster in clusters.items()}
        for case in CASES:
            if options.families and case.family not in options.families:
                continue
            for size, count in SIZES.items():
                line = {"family": case.family, "op": case.name, "size": size}
                try:
                    seconds = measure(targets, case, count)
                except tf.errors.OpError as error:
                    failed = True
                    print(json.dumps(dict(line, error=error.message.splitlines()[0])), flush=True)
                    continue
                line.update({name: value * 1e6 for name, value in seconds.items()})
                line["ratio"] = line["tensorflow"] / line["weir"]
                lines.append(line)
                print(json.dumps(line), flush=True)
    finally:
        for cluster in clusters.values():
            cluster.close()
    if lines:
        report(lines)
    return 1 if failed or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
