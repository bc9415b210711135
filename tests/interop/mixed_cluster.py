"""Clusters in which some tasks are `weir server` processes and others TensorFlow's own servers."""
import os
import sys

import weir_cluster

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorflow_server.py")


class MixedCluster(weir_cluster.Cluster):
    """The tasks of the jobs {name: number of tasks}; those of `tensorflow_tasks`, {(job, index)}, are TensorFlow's."""

    start_seconds = 120  # importing TensorFlow takes long on a busy machine

    def __init__(self, program, tasks, tensorflow_tasks):
        self._tensorflow_tasks = tensorflow_tasks
        super().__init__(program, tasks)

    def command(self, job, index, ready_file):
        command = super().command(job, index, ready_file)
        return [sys.executable, SERVER] + command[2:] if (job, index) in self._tensorflow_tasks else command
