"""One task of a cluster, served by TensorFlow: the options of `weir server` that tests use.

  tensorflow_server.py --parent PID --job NAME --index N --cluster JSON --ready-file FILE    ends with SIGTERM
"""
import argparse
import json
import os
import signal

import weir_cluster

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--job", required=True)
    parser.add_argument("--index", type=int, required=True)
    parser.add_argument("--cluster", type=json.loads, required=True)
    parser.add_argument("--ready-file", required=True)
    options = parser.parse_args()
    weir_cluster.end_with_parent()
    if os.getppid() != options.parent:
        raise SystemExit("the process that started this task has ended")
    server = tf.distribute.Server(tf.train.ClusterSpec(options.cluster), job_name=options.job,
                                  task_index=options.index)
    with open(options.ready_file, "w", encoding="utf-8") as ready:
        ready.write(server.target)
    signal.pause()


if __name__ == "__main__":
    main()
