#!/usr/bin/env python3
"""Plays what Kubernetes makes of deploy/kubernetes: do its pods find one cluster, and is each the task it should be?

    kubernetes_cluster_test.py DEPLOY WEIR

Gives `weir resolve` the environment of every pod, and starts the commands of pods that join a running cluster, on loopback
addresses. Exit status 77: there is no PyYAML.
"""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import manifests

READY_SECONDS = 60


def kind(documents, *kinds):
    return [document for document in documents if document["kind"] in kinds]


def variables_of(container, config_maps):
    variables = {}
    for source in container.get("envFrom", []):
        variables.update(config_maps[source["configMapRef"]["name"]])
    variables.update({entry["name"]: entry["value"] for entry in container.get("env", [])})
    return variables


def pods_of(workload):
    """What Kubernetes tells each pod by itself."""
    name, spec = workload["metadata"]["name"], workload["spec"]
    if workload["kind"] == "Job":
        assert spec["completionMode"] == "Indexed" and spec["parallelism"] == spec["completions"]
        return [{"HOSTNAME": f"{name}-{i}", "JOB_COMPLETION_INDEX": str(i)} for i in range(spec["completions"])]
    # Pods of which each waits for the one before it to be ready would never make a cluster quickly.
    assert spec["podManagementPolicy"] == "Parallel"
    return [{"HOSTNAME": f"{name}-{i}"} for i in range(spec["replicas"])]


def service_of(workload):
    spec = workload["spec"]
    return spec["serviceName"] if workload["kind"] == "StatefulSet" else spec["template"]["spec"]["subdomain"]


def check_service(service, labels, port):
    spec = service["spec"]
    # Without these a pod has no name of its own, or none while it starts.
    assert spec["clusterIP"] == "None" and spec["publishNotReadyAddresses"]
    assert spec["selector"].items() <= labels.items()
    assert spec["ports"][0]["port"] == port


def check_container(container, port):
    assert [entry["containerPort"] for entry in container["ports"]] == [port]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        if probe in container:
            assert container[probe]["grpc"]["port"] == port, probe
    # A node that is short of memory takes it from those who did not say what they need.
    assert container["resources"]["limits"]["memory"] == container["resources"]["requests"]["memory"]


def check_policies(documents, labels, port):
    policies = [policy for policy in kind(documents, "NetworkPolicy")
                if policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()]
    assert policies, f"anybody can reach pods with {labels}"
    for rule in policies[0]["spec"]["ingress"]:
        assert rule["from"] and [entry["port"] for entry in rule["ports"]] == [port]


def resolve(weir, variables):
    done = subprocess.run([weir, "resolve", "--from", "kubernetes"], env=variables, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, f"{variables}: {done.stderr}"
    return json.loads(done.stdout)


def check(weir, documents):
    """One file: its workloads are one cluster. The addresses of its tasks."""
    config_maps = {entry["metadata"]["name"]: entry["data"] for entry in kind(documents, "ConfigMap")}
    services = {entry["metadata"]["name"]: entry for entry in kind(documents, "Service")}
    clusters, tasks, names = [], set(), set()
    for workload in kind(documents, "StatefulSet", "Job"):
        template = workload["spec"]["template"]
        labels = template["metadata"]["labels"]
        container = template["spec"]["containers"][0]
        variables = variables_of(container, config_maps)
        port = int(variables["WEIR_PORT"])
        assert variables["WEIR_SERVICE"] == service_of(workload)
        check_service(services[service_of(workload)], labels, port)
        check_container(container, port)
        check_policies(documents, labels, port)
        for pod in pods_of(workload):
            config = resolve(weir, {**variables, **pod})
            task = config["task"]
            name = f"{pod['HOSTNAME']}.{service_of(workload)}:{port}"
            assert config["cluster"][task["type"]][task["index"]] == name, config
            clusters.append(config["cluster"])
            tasks.add((task["type"], task["index"]))
            names.add(name)
    if not clusters:
        return names
    assert all(cluster == clusters[0] for cluster in clusters), clusters
    assert names == {address for addresses in clusters[0].values() for address in addresses}
    assert len(tasks) == len(names)
    return names


def wait_for(path, process):
    deadline = time.monotonic() + READY_SECONDS
    while not path.exists():
        assert process.poll() is None, f"{process.args} ended with {process.returncode}"
        assert time.monotonic() < deadline, f"{process.args} does not serve"
        time.sleep(0.01)


def check_joining(weir, deployment, policies, names):
    """A pod of a Deployment has no lasting name: it joins the cluster of a file with names. Does its command do that?"""
    spec = deployment["spec"]["template"]["spec"]
    container = spec["containers"][0]
    command = container["command"]
    port = int(command[command.index("--port") + 1])
    check_container(container, port)
    check_policies(policies, deployment["spec"]["template"]["metadata"]["labels"], port)
    member = command[command.index("--join") + 1]
    assert member in names, f"{member} is none of {names}"
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def start(name, arguments):
            ready = directory / name
            process = subprocess.Popen([*arguments, "--parent", str(os.getpid()), "--ready-file", ready])
            stack.callback(process.kill)
            wait_for(ready, process)
            return process

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        start("first", [weir, "server", "--job", "worker", "--index", "0", "--cluster", json.dumps({"worker": [address]})])
        # As the kubelet replaces what stands for the pod's address; each pod has one of its own.
        values = {"weir": weir, member: address, "0.0.0.0": "127.0.0.2", str(port): "0", "$(POD_IP)": "127.0.0.2"}
        pod = start("pod", [values.get(word, word) for word in command])

        def members():
            return subprocess.run([weir, "members", f"grpc://{address}"], capture_output=True, text=True, check=True).stdout

        assert "/job:worker/replica:0/task:1 127.0.0.2:" in members(), members()
        pod.terminate()
        assert pod.wait() == 0
        assert "task:1" not in members(), members()


def main(deploy, weir):
    manifests.need("yaml", "Debian's python3-yaml")
    files = {}
    for name, document in manifests.read(deploy):
        files.setdefault(name, []).append(document)
    everything = [document for documents in files.values() for document in documents]
    names = set()
    for name, documents in files.items():
        found = check(weir, documents)
        names |= found
        print(f"{name}: {len(found)} tasks find each other")
    for deployment in kind(everything, "Deployment"):
        check_joining(weir, deployment, everything, names)
        print(f"{deployment['metadata']['name']}: its pods join and leave")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
