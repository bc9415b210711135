#!/usr/bin/env python3
"""Prints every message of one training step on a cluster of two tasks; docs/life_of_a_step.md explains the output.

    PYTHON docs/tools/message_log.py build/release/bin/weir

PYTHON has TensorFlow, which is the client, and grpcio; protoc, on the path, tells how to decode messages. A relay
stands in front of each task, and the cluster gives the relays' addresses, so that all calls between processes pass one.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import grpc
import tensorflow.compat.v1 as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PROTOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "protos")
TASKS = ("/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0")
START = time.monotonic()
lock = threading.Lock()


def log(line):
    with lock:
        print(f"{(time.monotonic() - START) * 1e3:9.2f} {line}", flush=True)


def short(text):
    text = text.replace("/replica:0", "").replace("/device:", "/")
    return re.sub(r";[0-9a-f]{16};", lambda m: m.group()[:7] + "…;", text)


def tensor(value):
    shape = ",".join(str(d.size) for d in value.tensor_shape.dim)
    return f"{tf.as_dtype(value.dtype).name}[{shape}]"


def named(pairs):
    return " ".join(f"{short(p.name)}={tensor(p.tensor)}" for p in pairs)


def describe(message):
    """What a reader needs of a message."""
    name = type(message).__name__
    words = []
    for field in ("graph_handle", "step_id", "rendezvous_key"):
        value = getattr(message, field, None)
        if value:
            cut = {"step_id": lambda v: str(v)[-8:], "graph_handle": lambda v: f"{v[:6]}…{v[-2:]}"}.get(field, str)
            words.append(f"{field}={short(cut(value))}")
    graph = getattr(message, "graph_def", None) or getattr(message, "graph", None)
    if graph is not None and graph.node:
        words.append(f"{len(graph.node)} nodes")
        if name == "RegisterGraphRequest":
            words += [f"\n{'':14}{n.name} = {n.op}({', '.join(n.input)})" for n in graph.node]
    for field in ("feed", "send", "recv"):
        if getattr(message, field, None):
            words.append(f"{field}: {named(getattr(message, field))}")
    for field in ("fetch", "target", "recv_key"):
        if name != "CreateSessionRequest" and getattr(message, field, None):
            words.append(f"{field}: {' '.join(short(v) for v in getattr(message, field))}")
    if name == "RunStepResponse" and message.tensor:
        words.append(f"tensor: {named(message.tensor)}")
    if name == "RecvTensorResponse":
        words.append(tensor(message.tensor))
    return " ".join(words)


def message_pool():
    """Weir's message types, in a pool of their own beside TensorFlow's."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["protoc", "-I", PROTOS, "--include_imports", "-o", file.name,
                        *(f"{PROTOS}/{name}.proto" for name in ("tensorflow/core/protobuf/master",
                                                                "tensorflow/core/protobuf/worker", "weir/peer"))], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


POOL = message_pool()


def decode(method, kind, data):
    service, name = method.lstrip("/").split("/")
    name = f"{service.rsplit('.', 1)[0]}.{name}{kind}"
    message = message_factory.GetMessageClass(POOL.FindMessageTypeByName(name))()
    message.ParseFromString(data)
    return describe(message)


class Relay(grpc.GenericRpcHandler):
    def __init__(self, task):
        self.task = short(task)
        self.server = grpc.server(futures.ThreadPoolExecutor(32), options=[("grpc.so_reuseport", 0)])
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.add_generic_rpc_handlers((self,))
        self.server.start()

    def connect(self, address):
        self.channel = grpc.insecure_channel(address)

    def service(self, details):
        method = details.method
        name = method.rsplit("/", 1)[1]

        def relay(request, context):
            log(f"-> {self.task:14} {name} ({len(request)} B) {decode(method, 'Request', request)}")
            try:
                reply = self.channel.unary_unary(method)(request, timeout=min(context.time_remaining() or 600, 600))
            except grpc.RpcError as error:
                log(f"<- {self.task:14} {name} {error.code().name}: {error.details()}")
                context.abort(error.code(), error.details())
            log(f"<- {self.task:14} {name} ({len(reply)} B) {decode(method, 'Response', reply)}")
            return reply

        return grpc.unary_unary_rpc_method_handler(relay)


def start_task(weir, task, cluster, folder):
    """The process and the address that it serves on."""
    job, index = re.match(r"/job:(\w+)/replica:0/task:(\d+)", task).groups()
    ready = os.path.join(folder, job)
    process = subprocess.Popen([weir, "server", "--job", job, "--index", index, "--cluster", cluster, "--port", "0",
                                "--no-shared-memory", "--no-streams", "--ready-file", ready], stderr=subprocess.DEVNULL)
    while not os.path.exists(ready):
        if process.poll() is not None:
            sys.exit(f"{task} ended with {process.returncode}")
        time.sleep(0.01)
    with open(ready, encoding="utf-8") as file:
        return process, file.read().strip()


def train(target):
    """y = x w, w on the parameter server, the loss and its gradient on the worker."""
    with tf.device("/job:worker/task:0"):
        x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", [3, 1], use_resource=True, initializer=tf.zeros_initializer())
    with tf.device("/job:worker/task:0"):
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0), name="loss")
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    feeds = {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}
    with tf.Session(target) as session:
        log("== initialise")
        session.run(w.initializer)
        log("== first step")
        session.run([loss, step], feeds)
        time.sleep(0.2)
        log("== second step")
        session.run([loss, step], feeds)
        time.sleep(0.2)
        log("== close")


def main():
    tf.disable_v2_behavior()
    relays = [Relay(task) for task in TASKS]
    cluster = '{"ps": ["127.0.0.1:%d"], "worker": ["127.0.0.1:%d"]}' % tuple(relay.port for relay in relays)
    tasks = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for task, relay in zip(TASKS, relays):
                process, address = start_task(sys.argv[1], task, cluster, folder)
                tasks.append(process)
                relay.connect(address)
            train(f"grpc://127.0.0.1:{relays[1].port}")
        finally:
            for process in tasks:
                process.terminate()
            for process in tasks:
                process.wait()
            for relay in relays:
                relay.server.stop(0)


if __name__ == "__main__":
    main()
