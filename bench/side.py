"""The two sides of a row: programs that hold sessions and time steps, and clusters of server processes."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
START_TIMEOUT = 120.0


class Failure(Exception):
    """What a side could not do, for the row's report."""


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Runner:
    """A process that answers as bench/runner.h says. `start` returns when its first step has run."""

    def __init__(self, command, env, followers=()):
        self.errors = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors)
        self.followers = [subprocess.Popen(one, env=env, stdout=subprocess.DEVNULL, stderr=self.errors) for one in followers]
        if self.process.stdout.readline().strip() != "ready":
            self.fail()

    def fail(self):
        self.close()
        self.errors.seek(0)
        lines = [line for line in self.errors.read().splitlines() if line.strip()]
        raise Failure(lines[-1] if lines else f"ended with status {self.process.returncode}")

    def seconds(self, steps):
        try:
            self.process.stdin.write(f"{steps}\n")
            self.process.stdin.flush()
            return float(self.process.stdout.readline())
        except (ValueError, BrokenPipeError):
            self.fail()

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for one in self.followers:
            one.kill()
            one.wait()


class Cluster:
    """One server process a task, each ready to serve."""

    def __init__(self, side, jobs, weir_flags=()):
        ports = iter(free_ports(sum(jobs.values())))
        self.tasks = {job: [f"127.0.0.1:{next(ports)}" for _ in range(count)] for job, count in jobs.items()}
        self.folder = tempfile.TemporaryDirectory(prefix="weir-bench-")
        self.processes, ready_files = [], []
        for job, addresses in self.tasks.items():
            for index in range(len(addresses)):
                ready_files.append(Path(self.folder.name) / f"{job}-{index}.ready")
                log = open(f"{ready_files[-1]}.log", "w")
                flags = [flag.replace("FOLDER", self.folder.name) for flag in weir_flags]
                command = side.server_command(json.dumps(self.tasks), job, index, str(ready_files[-1]), flags)
                self.processes.append(subprocess.Popen(command, env=side.env, stdout=log, stderr=log))
                log.close()
        try:
            self.await_files(ready_files)
        except Failure:
            self.close()
            raise

    def await_files(self, files):
        deadline = time.monotonic() + START_TIMEOUT
        for process, file in zip(self.processes, files):
            while not file.exists() or not file.read_text():
                if process.poll() is not None or time.monotonic() > deadline:
                    lines = Path(f"{file}.log").read_text().splitlines()
                    raise Failure(f"server {file.stem} is not ready: {lines[-1] if lines else 'no output'}")
                time.sleep(0.002)

    def target(self):
        return "grpc://" + self.tasks["worker"][0]

    def resident_mib(self):
        pages = int(Path(f"/proc/{self.processes[0].pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def close(self):
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
        for process in self.processes:
            process.wait()
        self.folder.cleanup()


class Weir:
    def __init__(self, programs, name="weir"):
        self.name = name  # another: the same programs run something else, which Weir is compared with
        self.programs = programs
        self.env = dict(os.environ)

    def weir(self, *arguments):
        """Runs a command of the weir program."""
        done = subprocess.run([str(self.programs / "weir"), *arguments], env=self.env, text=True, capture_output=True)
        if done.returncode != 0:
            raise Failure(f"weir {arguments[0]}: {done.stderr.strip()}")

    def runner(self, graph, target=None):
        return Runner([str(self.programs / "weir_bench"), str(graph)] + ([target] if target else []), self.env)

    def straggler(self, slowdown, backup_workers):
        return Runner([str(self.programs / "weir_straggler"), str(self.programs / "weir"), str(slowdown),
                       str(backup_workers)], self.env)

    def skew(self, mode):
        return Runner([str(self.programs / "weir_skew"), str(self.programs / "weir"), mode], self.env)

    def save_stall(self, mib, folder, mode, variables):
        return Runner([str(self.programs / "weir_save_stall"), str(mib), folder, mode, variables], self.env)

    def server_command(self, cluster, job, index, ready_file, weir_flags):
        return [str(self.programs / "weir"), "server", "--job", job, "--index", str(index), "--cluster", cluster,
                "--ready-file", ready_file, *weir_flags]


class TensorFlow:
    name = "tensorflow"

    def __init__(self, programs, python):
        self.programs = programs
        self.python = python
        self.env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="")

    def runner(self, graph, target=None):
        return Runner([str(self.programs / "tensorflow_peer"), str(graph)] + ([target] if target else []), self.env)

    def save_stall(self, mib, folder, mode, variables):
        return Runner([self.python, str(HERE / "peer" / "tensorflow_save_stall.py"), str(mib), folder, mode, variables],
                      self.env)

    def server_command(self, cluster, job, index, ready_file, weir_flags):
        return [self.python, str(HERE / "peer" / "tensorflow_server.py"), cluster, job, str(index), ready_file]


class Gloo:
    """Runs nothing but collectives: a program for each rank, of which the first one leads."""

    name = "gloo"

    def __init__(self, programs):
        self.program = programs / "gloo_peer"
        self.env = dict(os.environ)

    def all_reduce(self, processes, size):
        folder = tempfile.TemporaryDirectory(prefix="weir-bench-")
        first, *others = [[str(self.program), str(rank), str(processes), folder.name, str(size)] for rank in range(processes)]
        runner = Runner(first, self.env, others)
        runner.meeting_place = folder  # the others may still look for one another there
        return runner
