#!/usr/bin/env python3
"""Checks deploy/grafana/weir.json and docs/watching.md against the metrics of a real server.

    grafana_test.py ROOT WEIR

Every metric in the dashboard's expressions is exported. Every exported metric is in the document's table, and the reverse.
With promtool, the metrics have no problem that it knows; with Prometheus, a real one scrapes the server and evaluates
every expression.
"""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

PATIENCE = 60
NAME = re.compile(r"\b(?:weir|process)_[a-z0-9_]+")
SUFFIX = re.compile(r"_(?:bucket|sum|count)$")


def get(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=PATIENCE) as answer:
        return answer.read().decode()


def until(what, condition):
    """Waits for the first true result."""
    end = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(OSError):
            if result := condition():
                return result
        if time.monotonic() > end:
            sys.exit(f"grafana_test: no {what} within {PATIENCE} s")
        time.sleep(0.1)


@contextlib.contextmanager
def running(arguments, **options):
    process = subprocess.Popen(arguments, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def metrics_with_peers(address):
    """The server's metrics; "" until it has asked its peer."""
    metrics = get(f"http://{address}/metrics")
    return metrics if "weir_peer_up{" in metrics else ""


def families(metrics):
    return set(re.findall(r"^# TYPE (\S+) ", metrics, re.M))


def expressions(dashboard):
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


def dashboard_problems(dashboard, exported):
    for title, expression in expressions(dashboard):
        names = NAME.findall(expression)
        if not names:
            yield f"panel '{title}' uses no metric: {expression}"
        for name in names:
            if name not in exported and SUFFIX.sub("", name) not in exported:
                yield f"panel '{title}' uses {name}, which no server exports"


def document_problems(text, exported):
    documented = set(re.findall(r"^\| `([a-z_]+)", text, re.M))
    for name in sorted(exported - documented):
        yield f"docs/watching.md lacks {name}"
    for name in sorted(documented - exported):
        if NAME.fullmatch(name):
            yield f"docs/watching.md lists {name}, which no server exports"


def promtool_problems(metrics):
    checked = subprocess.run(["promtool", "check", "metrics"], input=metrics, capture_output=True, text=True, timeout=PATIENCE)
    if checked.returncode != 0:
        yield "promtool check metrics:\n" + checked.stdout + checked.stderr


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def prometheus_problems(dashboard, address, folder):
    """What a real Prometheus that scrapes `address` cannot evaluate."""
    config = folder / "prometheus.yml"
    config.write_text(json.dumps({
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [{"job_name": "weir", "static_configs": [{"targets": [address]}]}]}))
    listen = f"127.0.0.1:{free_port()}"
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
               f"--web.listen-address={listen}", "--log.level=error"]

    def query(expression):
        return json.loads(get(f"http://{listen}/api/v1/query?" + urllib.parse.urlencode({"query": expression})))

    with running(command, stderr=subprocess.DEVNULL):
        # A rate needs two scrapes.
        until("scrapes by Prometheus", lambda: query("count_over_time(weir_task_serving[1m]) > 2")["data"]["result"])
        for title, expression in expressions(dashboard):
            expression = expression.replace("$__rate_interval", "1m").replace("$task", ".*")
            try:
                result = query(expression)["data"]["result"]
            except OSError as error:
                yield f"panel '{title}': Prometheus rejects {expression}: {error}"
                continue
            if not result:
                yield f"panel '{title}': {expression} gives nothing"


def main():
    root, weir = Path(sys.argv[1]), sys.argv[2]
    dashboard = json.loads((root / "deploy/grafana/weir.json").read_text())
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # A peer that is not there, and a GPU, for their metrics.
        command = [weir, "server", "--job", "worker", "--cluster", '{"worker": ["127.0.0.1:1", "127.0.0.1:2"]}', "--port", "0",
                   "--http-port", "0", "--http-ready-file", str(folder / "http"), "--simulated-gpus", "1"]
        with running(command, stderr=subprocess.DEVNULL):
            until("server", (folder / "http").exists)
            address = (folder / "http").read_text().strip()
            metrics = until("metrics of peers", lambda: metrics_with_peers(address))
            exported = families(metrics)
            found += dashboard_problems(dashboard, exported)
            found += document_problems((root / "docs/watching.md").read_text(), exported)
            for tool, problems in (("promtool", lambda: promtool_problems(metrics)),
                                   ("prometheus", lambda: prometheus_problems(dashboard, address, folder))):
                if shutil.which(tool):
                    found += problems()
                else:
                    print(f"grafana_test: {tool} is not installed; not checked with it")
    print("\n".join(found) or f"grafana_test: {len(exported)} metrics, {len(list(expressions(dashboard)))} expressions")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
