"""Clusters of real `weir server` processes for tests in Python, and the ways of a test that needs TensorFlow."""
import atexit
import concurrent.futures
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SKIPPED = 77
START_SECONDS = 20
STOP_SECONDS = 10


def run_with_tensorflow():
    """Goes on in an interpreter that can import TensorFlow (WEIR_TF_PYTHON, else this one), or skips the test."""
    wanted = os.environ.get("WEIR_TF_PYTHON")
    if wanted and os.environ.get("WEIR_TF_PYTHON_RUNS") != wanted:
        os.environ["WEIR_TF_PYTHON_RUNS"] = wanted
        os.execvp(wanted, [wanted] + sys.argv)
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        import tensorflow  # pylint: disable=unused-import
    except ImportError as error:
        print("skipped: %s cannot import TensorFlow (%s); WEIR_TF_PYTHON names an interpreter that can"
              % (sys.executable, error))
        sys.exit(SKIPPED)


_libc = ctypes.CDLL(None)  # loaded before a fork


def end_with_parent():
    """In a child: it is killed when the thread that started it ends, however it ends."""
    _libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for held in sockets:
        held.bind(("127.0.0.1", 0))
    ports = [held.getsockname()[1] for held in sockets]
    for held in sockets:
        held.close()
    return ports


class Cluster:
    """Tasks /job:worker/task:0..n-1, or of the jobs {name: number of tasks}, one process each. They end with stop(), or with
    this process, however it ends."""

    start_seconds = START_SECONDS

    def __init__(self, program, tasks, address_space=None, arguments=()):
        jobs = tasks if isinstance(tasks, dict) else {"worker": tasks}
        self._program, self._address_space, self._arguments = program, address_space, list(arguments)
        self._tasks = [(job, index) for job in jobs for index in range(jobs[job])]
        self._directory = tempfile.TemporaryDirectory(prefix="weir_cluster_")
        self._processes, self._restarts, self._joined, self._starter = [], 0, 0, None
        atexit.register(self.stop)
        for attempt in range(3):  # another program may take a port between its choice and its use
            self.addresses = ["127.0.0.1:%d" % port for port in free_ports(len(self._tasks))]
            if self._start(attempt):
                return
            self.stop()
        raise RuntimeError("the cluster did not start:\n" + self.logs())

    def target(self, task=0, job="worker"):
        return "grpc://" + self.addresses[self._tasks.index((job, task))]

    def spec(self):
        """{job: addresses}, as a ClusterSpec takes it."""
        jobs = {}
        for (job, _), address in zip(self._tasks, self.addresses):
            jobs.setdefault(job, []).append(address)
        return jobs

    def alive(self, seconds=0.0):
        """Whether all tasks run, and go on doing so for that long."""
        deadline = time.monotonic() + seconds
        while all(process.poll() is None for process in self._processes):
            if time.monotonic() >= deadline:
                return True
            time.sleep(0.01)
        return False

    def peak_memory(self):
        """Bytes resident at most in any task so far."""
        peaks = [0]
        for process in self._processes:
            try:
                with open("/proc/%d/status" % process.pid) as status:
                    peaks += [int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM")]
            except OSError:
                pass  # it has ended
        return max(peaks)

    def logs(self, last=4000):
        """The last so many characters of each task's."""
        text = []
        for name in sorted(os.listdir(self._directory.name)):
            if name.endswith(".log"):
                with open(os.path.join(self._directory.name, name), errors="replace") as log:
                    text.append("%s:\n%s" % (name, log.read()[-last:]))
        return "\n".join(text)

    def command(self, job, index, ready_file):
        """What starts a task; the file is there as soon as it serves."""
        limit = ["prlimit", "--as=%d" % self._address_space] if self._address_space else []
        return limit + [self._program, "server", "--parent", str(os.getpid()), "--job", job, "--index", str(index),
                        "--cluster", json.dumps(self.spec()), "--ready-file", ready_file] + self._arguments

    def kill(self, task=0, job="worker"):
        at = self._tasks.index((job, task))
        self._processes[at].kill()
        self._processes[at].wait()
        return at

    def restart(self, task=0, job="worker"):
        """Kills a task and starts it anew at its address. From any thread."""
        at = self.kill(task, job)
        self._restarts += 1
        self._processes[at], ready = self._on_lasting_thread(self._start_task, at, "again%d" % self._restarts)
        if not self._serve([ready], [self._processes[at]]):
            raise RuntimeError("the task did not start again:\n" + self.logs())

    def join(self, job="worker"):
        """A new task of the running cluster: its process, and the target of its master. From any thread."""
        self._joined += 1
        prefix = os.path.join(self._directory.name, "joined%d" % self._joined)
        command = [self._program, "server", "--parent", str(os.getpid()), "--job", job, "--join", self.addresses[0],
                   "--ready-file", prefix + ".ready"] + self._arguments
        process = self._on_lasting_thread(self._open, command, prefix)
        self._processes.append(process)
        if not self._serve([prefix + ".ready"], [process]):
            raise RuntimeError("the task did not join:\n" + self.logs())
        with open(prefix + ".ready") as ready:
            return process, "grpc://" + ready.read().strip()

    def _on_lasting_thread(self, function, *arguments):
        """A process ends with the thread that started it, hence one that lives as long as this program."""
        self._starter = self._starter or concurrent.futures.ThreadPoolExecutor(1)
        return self._starter.submit(function, *arguments).result()

    def _start(self, attempt):
        started = [self._start_task(at, attempt) for at in range(len(self._tasks))]
        self._processes = [process for process, _ in started]
        return self._serve([ready for _, ready in started], self._processes)

    def _start_task(self, at, attempt):
        """Its process, and the file that will say that it serves."""
        job, index = self._tasks[at]
        prefix = os.path.join(self._directory.name, "task%d_%s" % (at, attempt))
        ready = prefix + ".ready"
        return self._open(self.command(job, index, ready), prefix), ready

    @staticmethod
    def _open(command, prefix):
        # It quiets TensorFlow in this process; what a failed test prints are the servers' logs.
        environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
        # Without a preexec_fn, Popen starts it by vfork: in a forked child of a process that uses gRPC, as TensorFlow does,
        # gRPC's own handlers may hang.
        with open(prefix + ".log", "wb") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)

    def _serve(self, ready, processes):
        """Whether these files appear before one of the processes ends."""
        deadline = time.monotonic() + self.start_seconds
        while not all(os.path.exists(path) for path in ready):
            if time.monotonic() > deadline or any(process.poll() is not None for process in processes):
                return False
            time.sleep(0.01)
        return True

    def stop(self):
        processes, self._processes = self._processes, []
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def end_after(seconds, cluster):
    """A step that hangs must not hang the test: says so, kills the cluster and ends this process."""

    def end():
        print("not done after %d s; the servers' logs:\n%s" % (seconds, cluster.logs()), flush=True)
        cluster.stop()
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
