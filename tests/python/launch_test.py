#!/usr/bin/env python3
"""weir.launch(): start, failure and end of a cluster. Needs no TensorFlow.

    launch_test.py WEIR
"""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import weir  # noqa: E402

LIMIT = 60


def ended(pid: int) -> bool:
    """Whether a process ends within the limit; it is not a child of this one."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


class Launch(unittest.TestCase):
    def test_tasks_serve_until_the_end(self):
        with weir.launch(workers=2, ps=1) as cluster:
            self.assertEqual({job: len(addresses) for job, addresses in cluster.spec.items()}, {"ps": 1, "worker": 2})
            self.assertEqual(cluster.target, cluster.targets("worker")[0])
            targets = cluster.targets("ps") + cluster.targets("worker")
            subprocess.run([weir.program(), "probe", *targets], check=True, timeout=LIMIT)
            processes = [cluster.process("ps"), cluster.process("worker", 1)]
        self.assertEqual([process.returncode for process in processes], [0, 0])

    def test_tasks_join_and_leave(self):
        with weir.launch(workers=1, ps=1) as cluster:
            joined = [cluster.join(), cluster.join(), cluster.join("ps")]
            self.assertEqual([task.name for task in joined], ["/job:worker/task:1", "/job:worker/task:2", "/job:ps/task:1"])
            subprocess.run([weir.program(), "probe", *(task.target for task in joined)], check=True, timeout=LIMIT)
            joined[0].process.terminate()
            self.assertEqual(joined[0].process.wait(LIMIT), 0)
            self.assertEqual(cluster.join().name, "/job:worker/task:1")
            with self.assertRaisesRegex(weir.LaunchError, "joined-5 ended with [12]:\n(.|\n)*no job"):
                cluster.join("no job")
        self.assertEqual([task.process.returncode for task in joined], [0, 0, 0])

    def test_a_chief_is_the_target(self):
        with weir.launch(workers=1, chief=True) as cluster:
            self.assertEqual(cluster.target, cluster.targets("chief")[0])

    def test_a_server_that_fails_is_quoted(self):
        with self.assertRaisesRegex(weir.LaunchError, "worker-0 ended with 2:\n(.|\n)*--no-such-flag"):
            weir.launch(flags=["--no-such-flag"])

    def test_a_cluster_has_tasks(self):
        with self.assertRaisesRegex(ValueError, "at least one task"):
            weir.launch(workers=0)

    def test_logs_are_kept_where_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            with weir.launch(log_dir=folder):
                pass
            self.assertIn("stopping", Path(folder, "worker-0.log").read_text())

    def start_program(self, end: str) -> "tuple[subprocess.Popen, int]":
        """A program with a cluster, which then runs `end`; and the server's process id."""
        text = textwrap.dedent("""
            import os, sys, threading
            import weir
            clusters = []
            starter = threading.Thread(target=lambda: clusters.append(weir.launch()))
            starter.start()
            starter.join()
            print(clusters[0].process("worker").pid, flush=True)
            """) + end
        environment = {**os.environ, "PYTHONPATH": str(Path(weir.__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1"}
        program = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True,
                                   env=environment)
        return program, int(program.stdout.readline())

    def test_servers_end_with_the_program(self):
        program, server = self.start_program("sys.exit(3)")
        program.communicate(timeout=LIMIT)
        self.assertEqual(program.returncode, 3)
        self.assertTrue(ended(server))

    def test_servers_end_with_a_program_that_is_killed(self):
        program, server = self.start_program("sys.stdin.read()")
        os.kill(program.pid, signal.SIGKILL)
        program.communicate(timeout=LIMIT)
        self.assertTrue(ended(server))


if __name__ == "__main__":
    os.environ["WEIR_PROGRAM"] = sys.argv.pop(1)
    unittest.main()
