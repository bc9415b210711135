#!/usr/bin/env python3
"""Runs every op of kernels/**/differential.py in TensorFlow and on a Weir server, through the same client, and compares the answers.

  harness.py compare WEIR [OP...]     values, types, shapes and error codes; static shapes. WEIR is the weir program
  harness.py coverage WEIR            ops in Weir's registry without a row, and those that no case of any row gets a result of
                                      on both sides
  harness.py gradients WEIR [OP...]   gradients of the ops that TensorFlow has one for
  harness.py hostile WEIR [OP...]     hostile shapes, ranks, indices, values and types at every op: the server must live

Exit code 1 when anything differs. TensorFlow runs in processes of its own, for some inputs end it; what it answered is
remembered (--answers), so that a second run asks Weir alone.
"""
import argparse
import collections
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))
import weir_cluster

SILENT_SECONDS = 240  # a process that reports nothing for so long hangs
# Ops that never succeed, that need a handle from the step before or from an op that is no more, a device's full name, or
# Python in the process.
SHOWN = 8  # differences of one op


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["compare", "gradients", "hostile", "coverage"])
    parser.add_argument("weir")
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--table", help="only ops of kernels/TABLE/differential.py: softmax, array/slicing; array means all its rooms")
    parser.add_argument("--cases", type=int, default=60, help="at most so many of each op, spread over its rows; 0: all")
    parser.add_argument("--varied", type=int, default=0, help="compare: so many variations of each op's cases instead of them")
    parser.add_argument("--seed", type=int, default=0, help="of the values in cases")
    parser.add_argument("--seconds", type=float, help="begin no op after that time")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--answers", default=os.path.expanduser("~/.cache/weir_differential"),
                        help="where TensorFlow's answers are kept; '' keeps none")
    parser.add_argument("--shapes", action=argparse.BooleanOptionalAction, default=True, help="compare static shapes too")
    parser.add_argument("--messages", action="store_true", help="print errors whose text differs too")
    parser.add_argument("--verbose", action="store_true", help="print each op when it is done")
    parser.add_argument("--all", action="store_true", help="print all differences of an op")
    parser.add_argument("--sanitized", action="store_true", help="hostile: WEIR is built with sanitizers, and needs memory")
    parser.add_argument("--gpu", action="store_true", help="hostile: the ops run on a simulated GPU")
    parser.add_argument("--mutants", type=int, default=0, help="hostile: at most so many of each op, drawn by lot; 0: all")
    parser.add_argument("--hostile-limit", type=int, default=6, help="go on to the next op after so many defects of one")
    return parser.parse_intermixed_args()


def work(weir, options, connection):
    """In a process of its own: runs what arrives until None does. Whatever ops write goes to a folder that is dropped."""
    directory = tempfile.TemporaryDirectory(prefix="weir_differential_")
    os.chdir(directory.name)
    import gradients
    import hostile
    import runner
    kind = {"compare": runner.Runner, "coverage": runner.Runner, "gradients": gradients.Gradients, "hostile": hostile.Hostile}[options.mode]
    worker = kind(weir, options, lambda *what: connection.send(what))
    try:
        while (task := connection.recv()) is not None:
            op, deadly = task
            try:
                result = worker.compare_op(op, deadly)
            except Exception as error:  # pylint: disable=broad-except
                result = 0, ["%s: the row is wrong: %s: %s" % (op, type(error).__name__, str(error)[:300])], [], set()
            connection.send(("done", op, result))
    finally:
        worker.close()
        os.chdir("/")
        directory.cleanup()


class Process:
    """One worker, started again when it ends."""

    def __init__(self, options):
        self._options = options
        self.connection = None
        self.start()

    def start(self):
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(self._options.weir, self._options, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.op, self.deadly, self.at, self.heard = None, set(), ("begin", -1), time.monotonic()

    def give(self, op, deadly=frozenset()):
        self.op, self.deadly, self.at, self.heard = op, set(deadly), ("begin", -1), time.monotonic()
        self.connection.send((op, self.deadly))

    def stop(self):
        try:
            self.connection.send(None)
        except OSError:
            pass
        self.process.join(15)
        self.kill()

    def kill(self):
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def compare_all(ops, options, show):
    """Gives ops to processes; calls show(op, result) for each."""
    waiting = collections.deque(ops)
    started = time.monotonic()
    processes = [Process(options) for _ in range(max(1, min(options.processes, len(ops))))]
    while True:
        late = options.seconds and time.monotonic() - started > options.seconds
        for process in processes:
            if process.op is None and waiting and not late:
                process.give(waiting.popleft())
        busy = [process for process in processes if process.op is not None]
        if not busy:
            break
        multiprocessing.connection.wait([process.connection for process in busy], timeout=1)
        for process in busy:
            serve(process, options, show)
    for process in processes:
        process.stop()
    return len(waiting)


def serve(process, options, show):
    """Takes what a process reports; one that ended or hangs is started again behind the case that it was at."""
    try:
        while process.connection.poll():
            what, op, detail = process.connection.recv()
            process.heard = time.monotonic()
            if what == "done":
                process.op = None
                show(op, detail)
                return
            process.at = (what, detail)
        if process.process.is_alive() and time.monotonic() - process.heard < SILENT_SECONDS:
            return
    except (EOFError, OSError):
        pass
    op, deadly, (phase, index) = process.op, process.deadly, process.at
    process.kill()
    process.start()
    if phase == "oracle" and index not in deadly:
        process.give(op, deadly | {index})
    else:
        show(op, (0, ["%s: the harness's process ended or hung (%s, case %d)" % (op, phase, index)], [], set()))


def registry(weir):
    listed = subprocess.run([weir, "ops"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [line.split("(")[0] for line in listed.split("\n") if line and not line.startswith(" ")]


def coverage(registered, rows, succeeded, table):
    """Prints what is not compared; says whether something is not."""
    known = [op for op in registered if not op.startswith("_") and table.is_comparable(op)]
    comparable = [op for op in known if op not in table.ELSEWHERE or op in succeeded]
    missing = [op for op in comparable if op not in rows and op not in succeeded]
    for op in missing:
        print("%s: no row" % op)
    vain = [op for op in comparable if op in rows and op not in succeeded]
    for op in vain:
        print("%s: no case succeeds on both sides" % op)
    print("%d ops in the registry, %d that TensorFlow's client makes and runs on a CPU: %d compared here, %d elsewhere, %d without a row, "
          "%d whose rows only fail" % (len(registered), len(known), len(comparable) - len(missing) - len(vain),
                                       len(known) - len(comparable), len(missing), len(vain)))
    return bool(missing or vain)


def alike(text):
    """What differences that have one cause have in common."""
    text = re.sub(r"\b(u?int\d+|float\d+|bfloat16|half|double|complex\d+|bool|string|qu?int\d+)\b", "T", text)
    return re.sub(r"-?[\d.]+(e[+-]\d+)?j?", "#", text)


def print_differences(texts, everything):
    groups = collections.OrderedDict()
    for text in texts:
        groups.setdefault(text if everything else alike(text), []).append(text)
    shown = list(groups.values()) if everything else list(groups.values())[:SHOWN]
    for group in shown:
        print(group[0] + ("  (+%d alike)" % (len(group) - 1) if len(group) > 1 else ""), flush=True)
    if len(groups) > len(shown):
        print("    and %d other kinds" % (len(groups) - len(shown)), flush=True)


def main():
    options = parse_arguments()
    options.weir = os.path.abspath(options.weir)
    weir_cluster.run_with_tensorflow()
    import table
    table.SEED = options.seed
    rows = table.load()
    registered = registry(options.weir)
    listed = set(registered)
    unknown = [op for op in options.ops if op not in rows]
    if unknown:
        sys.exit("no table has a row for " + " ".join(unknown))
    ops = options.ops or sorted(op for op in rows if op in listed and (rows[op].cases or rows[op].programs))
    if options.table:
        wanted = options.table.strip("/")
        ops = [op for op in ops if any((name + "/").startswith(wanted + "/") for name in rows[op].tables)]
        if not ops:
            sys.exit("no kernels/%s/differential.py" % wanted)
    ops = list(dict.fromkeys(op if rows[op].cases or rows[op].programs else rows[op].covered_by or op for op in ops))
    total, failed, accepted, succeeded = 0, [], 0, set()

    def show(op, result):
        nonlocal total, accepted
        compared, texts, messages, worked = result
        succeeded.update(worked)
        meant = [text for text in texts if any(op == name and part in text for name, part, _ in table.KNOWN)]
        accepted += len(meant)
        texts = [text for text in texts if text not in meant]
        total += compared
        if options.verbose:
            print("%s: %d cases" % (op, compared), flush=True)
        if compared == 0 and not texts and options.mode == "compare":
            texts = ["%s: nothing was compared" % op]
        if options.mode == "coverage":
            return
        if texts:
            failed.append(op)
        print_differences(texts, options.all)
        if options.messages:
            print_differences(messages, options.all)

    left = compare_all(ops, options, show)
    if options.mode == "coverage":
        sys.exit(coverage(registered, rows, succeeded, table))
    print("%d ops, %d cases, %d differences that are meant, %d ops differ: %s%s" % (
        len(ops) - left, total, accepted, len(failed), " ".join(sorted(failed)),
        "; %d ops left out for time" % left if left else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # TensorFlow with oneDNN ends the process at some of these cases
    main()
