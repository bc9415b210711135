"""Starts clusters of Weir servers on this machine, for TensorFlow's graph sessions, and serves a client's Python functions.

    with weir.launch(workers=2, ps=1) as cluster:
        session = tf.compat.v1.Session(cluster.target, config=weir.enable_py_func(cluster.target))
"""

import contextlib
import json
import os
import queue
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence

from .py_func import disconnect, enable_py_func

__all__ = ["Cluster", "JoinedTask", "LaunchError", "enable_py_func", "launch", "program"]

_QUOTED_LOG_LINES = 20
_ATTEMPTS = 3


class LaunchError(RuntimeError):
    """A server did not start; the message has the end of its log."""


class _PortTaken(LaunchError):
    """Another process took a port between its choice and its use."""


def program() -> str:
    """The path of the program weir: WEIR_PROGRAM, or the wheel's, or the one on PATH."""
    bundled = Path(__file__).parent / "bin" / "weir"
    for candidate in (os.environ.get("WEIR_PROGRAM"), str(bundled) if bundled.exists() else None, shutil.which("weir")):
        if candidate:
            return candidate
    raise LaunchError("there is no program weir: set WEIR_PROGRAM to its path")


def main() -> None:
    """The command weir of the wheel."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


class _Starter:
    """Starts processes on a thread that lasts as long as this process: the system ends them with that thread, so none
    outlives a Python that is killed."""

    def __init__(self):
        self._requests: queue.Queue = queue.Queue()
        threading.Thread(target=self._serve, name="weir-launch", daemon=True).start()

    def _serve(self):
        while True:
            arguments, options, answer = self._requests.get()
            try:
                answer.put((subprocess.Popen(arguments, **options), None))
            except Exception as error:  # pylint: disable=broad-except  # raised again in start()
                answer.put((None, error))

    def start(self, arguments: Sequence[str], **options) -> subprocess.Popen:
        answer: queue.Queue = queue.Queue()
        self._requests.put((arguments, options, answer))
        process, error = answer.get()
        if error is not None:
            raise error
        return process


_starter: Optional[_Starter] = None
_starter_lock = threading.Lock()


def _forget_starter() -> None:
    """In a forked child, which has no thread but its own."""
    global _starter, _starter_lock  # pylint: disable=global-statement
    _starter, _starter_lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_starter)


def _start(arguments: Sequence[str], **options) -> subprocess.Popen:
    global _starter  # pylint: disable=global-statement  # one thread for all clusters
    with _starter_lock:
        if _starter is None:
            _starter = _Starter()
    # A signal from the terminal is for the Python program, which then stops its servers. There is no preexec_fn, so that
    # Popen starts them by vfork: in a forked child of a process that uses gRPC, as TensorFlow does, gRPC's own handlers may
    # hang.
    return _starter.start(arguments, stdin=subprocess.DEVNULL, start_new_session=True, **options)


def _free_ports(count: int) -> List[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for bound in sockets:
            bound.bind(("127.0.0.1", 0))
        return [bound.getsockname()[1] for bound in sockets]


class JoinedTask(NamedTuple):
    """A task that has joined a running cluster."""

    target: str  # of its master
    name: str  # "/job:worker/task:2", for tf.device()
    process: subprocess.Popen  # with SIGTERM it leaves the cluster


class Cluster:
    """Servers of this machine. A context manager; close() stops them, and so does the end of the process."""

    def __init__(self, jobs: Dict[str, int], flags: Sequence[str], log_dir: Optional[str], timeout: float):
        self._processes: Dict[str, subprocess.Popen] = {}
        self._flags = list(flags)
        self._joined = 0
        self._temporary = tempfile.TemporaryDirectory(prefix="weir-")
        self.log_dir = Path(log_dir or self._temporary.name)
        self.log_dir.mkdir(parents=True, exist_ok=True)
        ports = iter(_free_ports(sum(jobs.values())))
        self.spec = {job: [f"127.0.0.1:{next(ports)}" for _ in range(count)] for job, count in jobs.items()}
        self._stop = weakref.finalize(self, Cluster._stop_all, os.getpid(), self._processes, self._temporary)
        try:
            for job, addresses in self.spec.items():
                for index in range(len(addresses)):
                    self._start(f"{job}-{index}", ["--job", job, "--index", str(index), "--cluster", json.dumps(self.spec)])
            self._await_ready(self._processes, timeout)
        except BaseException:
            self.close()
            raise

    @property
    def target(self) -> str:
        """The target of sessions: the master of the first chief or worker, or else of the first task."""
        for job in ("chief", "worker", *self.spec):
            if job in self.spec:
                return f"grpc://{self.spec[job][0]}"
        raise AssertionError("a cluster has tasks")

    def targets(self, job: str) -> List[str]:
        """The targets of all tasks of a job."""
        return [f"grpc://{address}" for address in self.spec[job]]

    def join(self, job: str = "worker", timeout: float = 60) -> JoinedTask:
        """Starts one more server, with the same flags, and returns once the whole cluster knows it. It is the next free
        index of its job, and ends with the others."""
        self._joined += 1
        name = f"joined-{self._joined}"
        self._start(name, ["--job", job, "--join", self.target[len("grpc://"):]])
        self._await_ready([name], timeout)
        address = self._ready_file(name).read_text().strip()
        members = subprocess.run([program(), "members", self.target], check=True, capture_output=True, text=True).stdout
        for line in members.splitlines():
            task, _, rest = line.partition(" ")
            if rest.split(" ")[0] == address:
                return JoinedTask(f"grpc://{address}", task.replace("/replica:0", ""), self._processes[name])
        raise LaunchError(f"the task at {address} has left the cluster again; its tasks are:\n{members}")

    def process(self, job: str, index: int = 0) -> subprocess.Popen:
        """A task's process."""
        return self._processes[f"{job}-{index}"]

    def log(self, job: str, index: int = 0) -> str:
        """The text of a task's log."""
        return self._log_file(f"{job}-{index}").read_text(errors="replace")

    def close(self) -> None:
        """Stops the servers: SIGTERM, then SIGKILL to those that have not ended after ten seconds."""
        disconnect(f"grpc://{address}" for addresses in self.spec.values() for address in addresses)
        self._stop()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _log_file(self, name: str) -> Path:
        return self.log_dir / f"{name}.log"

    def _ready_file(self, name: str) -> Path:
        return Path(self._temporary.name) / f"{name}.ready"

    def _start(self, name: str, arguments: Sequence[str]) -> None:
        with open(self._log_file(name), "w", encoding="utf-8") as log:
            self._processes[name] = _start(
                [program(), "server", "--parent", str(os.getpid()), *arguments, "--ready-file", str(self._ready_file(name)),
                 *self._flags], stdout=log, stderr=subprocess.STDOUT)

    def _await_ready(self, names: Iterable[str], timeout: float) -> None:
        deadline = time.monotonic() + timeout
        for name in names:
            process = self._processes[name]
            while not self._ready_file(name).exists():
                if process.poll() is not None:
                    log = self._end_of_log(name)
                    kind = _PortTaken if re.search("ALREADY_EXISTS.* choose another port", log) else LaunchError
                    raise kind(f"{name} ended with {process.returncode}:\n{log}")
                if time.monotonic() > deadline:
                    raise LaunchError(f"{name} was not ready after {timeout:g} s:\n{self._end_of_log(name)}")
                time.sleep(0.005)

    def _end_of_log(self, name: str) -> str:
        return "\n".join(self._log_file(name).read_text(errors="replace").splitlines()[-_QUOTED_LOG_LINES:])

    @staticmethod
    def _stop_all(owner: int, processes: Dict[str, subprocess.Popen], temporary: tempfile.TemporaryDirectory) -> None:
        if os.getpid() != owner:  # a forked child: the servers are its parent's
            return
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        temporary.cleanup()


def launch(workers: int = 1, ps: int = 0, *, chief: bool = False, flags: Sequence[str] = (),
           log_dir: Optional[str] = None, timeout: float = 60) -> Cluster:
    """Starts a cluster of Weir servers on loopback addresses of this machine, and waits until all serve.

    Args:
      workers, ps: the numbers of tasks of the jobs "worker" and "ps".
      chief: adds one task of job "chief".
      flags: further flags of `weir server`, for all tasks.
      log_dir: where the tasks' logs go, JOB-INDEX.log; by default they are removed when the cluster is closed.
      timeout: seconds until all tasks must serve.

    Raises:
      LaunchError: a server did not start.
      ValueError: there is no task.
    """
    jobs = {job: count for job, count in (("chief", int(chief)), ("ps", ps), ("worker", workers)) if count}
    if not jobs or min(jobs.values()) < 0:
        raise ValueError(f"a cluster needs at least one task, but got workers={workers}, ps={ps}, chief={chief}")
    for attempt in range(_ATTEMPTS):
        try:
            return Cluster(jobs, flags, log_dir, timeout)
        except _PortTaken:
            if attempt + 1 == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")
