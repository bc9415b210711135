#!/usr/bin/env python3
"""TensorBoard shows what trainings write: a real one is started, and asked by HTTP.

    tensorboard_test.py WEIR BOARD_EVENTS ESTIMATOR DIGITS_CSV

WEIR_TENSORBOARD_PYTHON names an interpreter with TensorBoard and its profile plug-in. Exit status 77: there is none.
"""

import glob
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "interop"))
from weir_cluster import end_with_parent  # noqa: E402

SKIPPED = 77
PATIENCE = 90  # seconds, for all that TensorBoard shows together
REQUEST_SECONDS = 30
COMMAND_SECONDS = 60


def finish(command, **options):
    return subprocess.run(command, timeout=COMMAND_SECONDS, preexec_fn=end_with_parent, **options)


class TensorBoard:
    """A process that shows a directory. A context manager, which ends it."""

    def __init__(self, python, directory):
        self.log = open(os.path.join(directory, "tensorboard.log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [python, "-m", "tensorboard.main", "--logdir", os.path.join(directory, "logs"), "--host", "127.0.0.1",
             "--port", "0", "--reload_interval", "1"],
            stdout=self.log, stderr=subprocess.STDOUT, preexec_fn=end_with_parent)
        self.deadline = time.monotonic() + PATIENCE
        self.address = None

    def __enter__(self):
        try:
            self.address = self.await_value(self.find_address, "its address")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def find_address(self):
        if self.process.poll() is not None:
            raise AssertionError(f"TensorBoard ended with {self.process.returncode}: {self.text()}")
        found = re.search(r"http://127\.0\.0\.1:\d+", self.text())
        return found and found.group()

    def text(self):
        with open(self.log.name, encoding="utf-8") as log:
            return log.read()

    def get(self, route, **arguments):
        url = f"{self.address}/data/{route}"
        if arguments:
            url += "?" + urllib.parse.urlencode(arguments)
        with urllib.request.urlopen(url, timeout=REQUEST_SECONDS) as reply:
            content = reply.read()
            return gzip.decompress(content) if reply.headers["Content-Encoding"] == "gzip" else content

    def json(self, route, **arguments):
        return json.loads(self.get(route, **arguments))

    def post(self, route, body):
        request = urllib.request.Request(f"{self.address}/data/{route}", data=json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as reply:
            return json.loads(reply.read())

    def await_value(self, function, what):
        """It reads the directory in the background."""
        while time.monotonic() < self.deadline:
            value = function()
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError(f"TensorBoard does not show {what}: {self.text()}")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def check_scalars(board, run, tag, steps, below=None):
    def points():
        try:
            found = board.json("plugin/scalars/scalars", run=run, tag=tag)
        except urllib.error.HTTPError:
            return None
        return found if [point[1] for point in found] == steps else None

    values = [point[2] for point in board.await_value(points, f"{tag} of {run} at {steps}")]
    assert below is None or values[-1] < below, values


def check_line(board, run):
    """The run of board_events."""
    steps = [5, 10, 15, 20]
    check_scalars(board, run, "loss", steps, below=1.0)
    check_scalars(board, run, "bias", steps)
    assert len(board.json("plugin/scalars/scalars", run=run, tag="global_step/sec")) == 4

    histograms = board.json("plugin/histograms/histograms", run=run, tag="weights")
    assert [entry[1] for entry in histograms] == steps, histograms
    assert sum(bucket[2] for bucket in histograms[-1][2]) == 1, histograms  # one weight
    last = [bucket for bucket in histograms[-1][2] if bucket[2] > 0]
    assert last[0][0] - 1e-3 <= 2.0 <= last[0][1] + 1.0, last

    tag = next(tag for tag in board.json("plugin/images/tags")[run] if tag.startswith("inputs"))
    images = board.json("plugin/images/images", run=run, tag=tag, sample=0)
    assert [image["step"] for image in images] == steps, images
    picture = board.get(f"plugin/images/individualImage?{images[0]['query']}")
    assert picture.startswith(b"\x89PNG"), picture
    assert struct.unpack(">II", picture[16:24]) == (1, 2), picture  # width and height

    graph = board.get("plugin/graphs/graph", run=run).decode()
    assert 'name: "line/MatMul"' in graph or 'op: "MatMul"' in graph, graph[:2000]
    tags = board.json("plugin/graphs/info")[run]["tags"]
    assert {"step 10", "step 20"} <= set(tags), tags
    metadata = board.get("plugin/graphs/run_metadata", run=run, tag="step 10").decode()
    assert "node_stats" in metadata and "MatMul" in metadata, metadata[:2000]


def check_hyper_parameters(board, run):
    body = {"experimentName": "", "allowedStatuses": ["STATUS_SUCCESS"], "sliceSize": 10, "startIndex": 0,
            "colParams": [{"hparam": "rate"}]}
    groups = board.post("plugin/hparams/session_groups", body)["sessionGroups"]
    rates = {group["sessions"][0]["name"]: group["hparams"].get("rate") for group in groups}
    assert rates.get(run) == 0.1, (rates, groups)


def check_profile(board, run, hosts, least_ms):
    runs = board.await_value(lambda: board.json("plugin/profile/runs"), "profiles")
    assert run in runs, runs
    tools = board.json("plugin/profile/run_tools", run=run)
    assert "trace_viewer" in {tool.rstrip("@") for tool in tools}, tools
    found = {host["hostname"] for host in board.json("plugin/profile/hosts", run=run, tag="trace_viewer")}
    assert hosts <= found, found
    host = sorted(hosts)[0]
    trace = board.json("plugin/profile/data", run=run, tag="trace_viewer", host=host)
    names = {event.get("name", "") for event in trace["traceEvents"]}
    assert any("MatMul" in name for name in names), names
    operations = board.get("plugin/profile/data", run=run, tag="framework_op_stats", host=host, tqx="out:json").decode()
    assert "MatMul" in operations, operations[:2000]
    overview = board.get("plugin/profile/data", run=run, tag="overview_page", host=host, tqx="").decode()
    average = re.search(r'"steptime_ms_average":"([0-9.]+)"', overview)
    assert average and float(average.group(1)) >= least_ms, overview[:2000]


def has_profile_plugin(python):
    return finish([python, "-c", "import xprof"], capture_output=True, check=False).returncode == 0


def main(weir, board_events, estimator, data):
    python = os.environ.get("WEIR_TENSORBOARD_PYTHON")
    if not python or finish([python, "-c", "import tensorboard"], capture_output=True, check=False).returncode:
        print("skipped: WEIR_TENSORBOARD_PYTHON names no interpreter with TensorBoard (scripts/install_tensorboard)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as directory:
        logs = os.path.join(directory, "logs")
        for form in ("values", "tensors"):
            finish([board_events, os.path.join(logs, form), form], check=True)
        # Two workers and an evaluator; the chief alone writes.
        launched = os.path.join(logs, "launched")
        finish([weir, "launch", "-n", "2", "--evaluator", "--tensorboard-dir", launched, "--", estimator, "--data",
                data, "--model-dir", os.path.join(directory, "model"), "--steps", "300", "--checkpoint-steps", "100",
                "--profile-steps", "200"], check=True)
        assert len(glob.glob(f"{launched}/events.out.tfevents.*")) == 1, os.listdir(launched)
        with TensorBoard(python, directory) as board:
            for form in ("values", "tensors"):
                check_line(board, form)
                check_hyper_parameters(board, form)
            check_scalars(board, "launched", "loss", [100, 200, 300])
            assert board.json("plugin/histograms/histograms", run="launched", tag="logits")
            check_scalars(board, "launched/eval", "accuracy", board_steps(board))
            if has_profile_plugin(python):
                check_profile(board, "values/step-10", {"localhost-0"}, 0)
                check_profile(board, "launched/step-200", {"worker-0"}, 0.1)
            else:
                print("The profile plug-in is missing; profiles are not checked")
    print("TensorBoard shows scalars, histograms, images, graphs, run metadata, hyper-parameters and profiles")
    return 0


def board_steps(board):
    """Those of the checkpoints that the evaluator has found; the last one is among them."""
    def steps():
        try:
            found = [point[1] for point in board.json("plugin/scalars/scalars", run="launched/eval", tag="accuracy")]
        except urllib.error.HTTPError:
            return None
        return found if found and found[-1] == 300 else None

    return board.await_value(steps, "the evaluation of step 300")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
