#!/usr/bin/env python3
"""Runs the training of deploy/kubernetes/job.yaml and of deploy/systemd/weir-train@.service as processes.

    training_test.py DEPLOY WEIR ESTIMATOR DIGITS_CSV

Each task has the command and the environment of its pod or unit; only addresses and paths are those of this machine. One is
killed, and started again as the manifest says. Exit status 77: there is no PyYAML.
"""

import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

import kubernetes_cluster_test as pods
import manifests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop"))
from weir_cluster import end_with_parent  # noqa: E402

PATIENCE = 80  # seconds, for each of the three; ctest's limit is 300
STEPS = 400
ATTEMPTS = 3
CONTAINER = "Containerfile.train"


class LoopbackPorts:
    """A port of this machine for each address of a cluster, kept from others while the object lives."""

    def __init__(self):
        self.sockets, self.addresses = [], {}

    def of(self, address):
        if address not in self.addresses:
            reserved = socket.socket()
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # so that the server can bind it too
            reserved.bind(("127.0.0.1", 0))
            self.sockets.append(reserved)
            self.addresses[address] = f"127.0.0.1:{reserved.getsockname()[1]}"
        return self.addresses[address]

    def tf_config(self, config):
        cluster = {job: [self.of(address) for address in tasks] for job, tasks in config["cluster"].items()}
        return json.dumps({"cluster": cluster, "task": config["task"]})

    def close(self):
        for reserved in self.sockets:
            reserved.close()


class EndedBeforeKillError(Exception):
    """The machine paused for the whole training: it ended before there was a victim to kill."""


class Task:
    """A process that is started again when it fails."""

    def __init__(self, name, command, environment, log):
        self.name, self.command, self.log = name, command, log
        self.environment = {"PATH": os.environ["PATH"], **environment}
        self.process, self.starts = None, 0

    def start(self):
        self.starts += 1
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, stdout=log, stderr=log,
                                            preexec_fn=end_with_parent)

    def text(self):
        return pathlib.Path(self.log).read_text(encoding="utf-8", errors="replace")


def saved_step(model):
    steps = [int(path.stem.rsplit("-", 1)[1]) for path in pathlib.Path(model).glob("model.ckpt-*.index")]
    return max(steps, default=-1)


def run(tasks, model, victim, deadline):
    """Until all have succeeded. The victim is killed once there is a checkpoint of its training."""
    killed = False
    try:
        for task in tasks:
            task.start()
        while any(task.process.poll() != 0 for task in tasks):
            assert time.monotonic() < deadline, "the training does not end"
            if not killed and victim.process.poll() is None and saved_step(model) >= 50:
                victim.process.send_signal(signal.SIGKILL)
                victim.process.wait()
                killed = True
            for task in tasks:
                if task.process.poll() not in (None, 0):
                    expected = 2 if task is victim and killed else 1
                    assert task.starts < expected, f"{task.name} ended with {task.process.returncode}"
                    task.start()
            time.sleep(0.05)
        if not killed or victim.starts != 2:
            raise EndedBeforeKillError
        texts = {task.name: task.text() for task in tasks}
        assert any("expected accuracy reached" in text for text in texts.values()), "no accuracy"
    except AssertionError as error:
        raise AssertionError("\n".join([str(error), *(f"--- {task.name}\n{task.text()}" for task in tasks)])) from error
    finally:
        for task in tasks:
            if task.process is not None and task.process.poll() is None:
                task.process.kill()
                task.process.wait()


def local(command, paths):
    """The command with this machine's paths."""
    return [paths.get(word, word) for word in command]


def kubernetes_tasks(deploy, weir, paths, ports, folder, jobs=None):
    """The pods of job.yaml, of which each is a process; `jobs` replaces those of WEIR_JOBS."""
    documents = [document for name, document in manifests.read(deploy) if name == "job.yaml"]
    (job,) = pods.kind(documents, "Job")
    template = job["spec"]["template"]["spec"]
    assert template["restartPolicy"] == "OnFailure"  # what `run` plays
    (container,) = template["containers"]
    # All tasks write to a volume that several nodes can mount.
    claims = {volume["name"]: volume["persistentVolumeClaim"]["claimName"] for volume in template["volumes"]
              if "persistentVolumeClaim" in volume}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    (claim,) = pods.kind(documents, "PersistentVolumeClaim")
    assert claims[mounts["/model"]] == claim["metadata"]["name"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    image = (pathlib.Path(deploy) / "container" / CONTAINER).read_text(encoding="utf-8")
    assert f"/usr/local/bin/{container['command'][0]}" in image and "/usr/local/share/train/digits.csv" in image

    tasks = []
    for pod in pods.pods_of(job):
        variables = {**pods.variables_of(container, {}), **pod}
        if jobs:
            variables["WEIR_JOBS"] = jobs
        config = pods.resolve(weir, variables)
        task = config["task"]
        own = ports.of(config["cluster"][task["type"]][task["index"]])
        command = local(container["command"], {**paths, "0.0.0.0:2222": own})
        assert own in command, "the program listens at its pod's port"
        name = pod["HOSTNAME"]
        tasks.append(Task(name, command, {"TF_CONFIG": ports.tf_config(config)}, os.path.join(folder, f"{name}.log")))
    return tasks


def unit_settings(path):
    settings = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"(\w+)=(.*)", line):
            settings[match[1]] = match[2]
    return settings


def systemd_tasks(deploy, paths, ports, folder):
    """Two instances of weir-train@.service, with environment files as its comment describes them."""
    settings = unit_settings(pathlib.Path(deploy) / "systemd" / "weir-train@.service")
    assert settings["Restart"] == "on-failure"  # what `run` plays
    assert settings["EnvironmentFile"] == "/etc/weir/%i.env"
    cluster = {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}
    tasks = []
    for index in range(2):
        config = ports.tf_config({"cluster": cluster, "task": {"type": "worker", "index": index}})
        variables = {"TF_CONFIG": config,
                     "TRAIN_FLAGS": f"--data {paths['/usr/local/share/train/digits.csv']} --model-dir {paths['/model']} "
                                    f"--steps {STEPS} --checkpoint-steps 50"}
        command = []
        for word in shlex.split(settings["ExecStart"]):
            # systemd splits the value of $NAME, a word of its own.
            command += variables[word[1:]].split() if word.startswith("$") else [paths.get(word, word)]
        name = f"worker-{index}"
        tasks.append(Task(name, command, variables, os.path.join(folder, f"{name}.log")))
    return tasks


def attempt(what, paths, deadline):
    """Runs the training of `what` once, in a directory of its own."""
    ports = LoopbackPorts()
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model")
        local_paths = {"train": paths["estimator"], "/usr/local/bin/train": paths["estimator"], "/model": model,
                       "/usr/local/share/train/digits.csv": paths["data"]}
        if what == "weir-train@.service":
            tasks = systemd_tasks(paths["deploy"], local_paths, ports, folder)
        else:
            jobs = "chief=1,ps=1,worker=2" if "server" in what else None
            tasks = kubernetes_tasks(paths["deploy"], paths["weir"], local_paths, ports, folder, jobs)
            for task in tasks:
                task.command += ["--steps", str(STEPS), "--checkpoint-steps", "50"]
        start = time.monotonic()
        try:
            run(tasks, model, tasks[-1], deadline)
        finally:
            ports.close()
        print(f"{what}: {len(tasks)} tasks train, though {tasks[-1].name} was killed ({time.monotonic() - start:.1f} s)")


def main(deploy, weir, estimator, data):
    manifests.need("yaml", "Debian's python3-yaml")
    paths = {"deploy": deploy, "weir": weir, "estimator": estimator, "data": data}
    for what in ("job.yaml", "job.yaml with a parameter server", "weir-train@.service"):
        deadline = time.monotonic() + PATIENCE
        for left in reversed(range(ATTEMPTS)):
            try:
                attempt(what, paths, deadline)
                break
            except EndedBeforeKillError:
                assert left, f"{what}: the training ended before the kill, {ATTEMPTS} times"
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
