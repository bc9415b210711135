"""The rows: what is run, and in which unit."""

import shutil
import statistics
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from side import Cluster

ROUND_SECONDS = 0.12
ROUNDS = 7


@dataclass
class Steps:
    """Whole steps of one graph, timed in rounds that alternate between the sides."""

    name: str
    work: str
    unit: str = "µs"
    graph: str = ""
    per: int = 1  # what a step does this many times
    jobs: dict = field(default_factory=dict)  # the cluster that it runs on; none: in process
    weir_flags: tuple = ()  # for Weir's servers
    peer_flags: tuple = ()  # for the peer's, where that is Weir too
    rounds: int = ROUNDS
    peer: str = "tensorflow"

    def beside(self, side, cluster):
        """Starts what runs beside the steps; returns a function that ends it."""
        return lambda: None

    def open(self, side, graphs):
        """Returns a function that times one round, in seconds a unit of work, and one that ends everything."""
        flags = self.weir_flags if side.name == "weir" else self.peer_flags
        cluster = Cluster(side, self.jobs, flags) if self.jobs else None
        try:
            graph = graphs / (self.graph or self.name)
            own = graphs / f"{graph.name}.{side.name}"  # where the sides run different graphs
            if own.with_name(own.name + ".pb").exists():
                graph = own
            runner = side.runner(graph, cluster.target() if cluster else None)
            end_beside = self.beside(side, cluster)
        except Exception:
            if cluster:
                cluster.close()
            raise

        def close():
            end_beside()
            runner.close()
            if cluster:
                cluster.close()

        steps = self.calibrate(runner)
        return lambda: runner.seconds(steps) / steps / self.per, close

    @staticmethod
    def calibrate(runner):
        """Warms up, and returns how many steps a round has."""
        steps = 1
        while True:
            took = runner.seconds(steps)
            if took > ROUND_SECONDS / 4:
                return max(1, round(steps * ROUND_SECONDS / took))
            steps = max(steps * 2, min(steps * 16, round(steps * ROUND_SECONDS / 3 / max(took, 1e-9))))


@dataclass
class Scraped(Steps):
    """Steps on a server whose metrics are scraped each second, beside steps on one that is not watched."""

    weir_flags: tuple = ("--http-port", "0", "--http-ready-file", "FOLDER/http")
    peer: str = "without"

    def beside(self, side, cluster):
        if side.name == self.peer:
            return lambda: None
        address = (Path(cluster.folder.name) / "http").read_text().strip()
        ended = threading.Event()

        def scrape():
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            while not ended.wait(1.0):
                opener.open(f"http://{address}/metrics", timeout=30).read()

        scraper = threading.Thread(target=scrape)
        scraper.start()

        def end():
            ended.set()
            scraper.join()

        return end


@dataclass
class ClusterStart:
    """A cluster of three tasks, from no process to the end of its first step."""

    name: str
    work: str
    unit: str = "s"
    rounds: int = 3
    peer: str = "tensorflow"

    def open(self, side, graphs):
        def one():
            start = time.monotonic()
            cluster = Cluster(side, {"ps": 1, "worker": 2})
            try:
                runner = side.runner(graphs / "workers_2", cluster.target())
                took = time.monotonic() - start
                runner.close()
            finally:
                cluster.close()
            return took

        return one, lambda: None


@dataclass
class IdleMemory:
    """Resident memory of a server that has run nothing."""

    name: str
    work: str
    unit: str = "MiB"
    rounds: int = 1
    peer: str = "tensorflow"

    def open(self, side, graphs):
        cluster = Cluster(side, {"worker": 1})
        return cluster.resident_mib, cluster.close


@dataclass
class AllReduce(Steps):
    """All-reduces of vectors of `size` bytes among processes of one machine; on Weir's side several are one step."""

    size: int = 0
    peer: str = "gloo"

    def open(self, side, graphs):
        if side.name == "weir":
            return super().open(side, graphs)
        runner = side.all_reduce(self.jobs["worker"], self.size)
        count = self.calibrate(runner)
        return lambda: runner.seconds(count) / count, runner.close


@dataclass
class Commit(Steps):
    """Steps whose updates are all or nothing, beside the same steps without that."""

    peer: str = "uncommitted"

    def open(self, side, graphs):
        if side.name == self.peer:
            for suffix, line in ((".pb", b""), (".spec", b"commit off\n")):
                own = graphs / f"{self.graph}.{side.name}{suffix}"
                own.write_bytes((graphs / f"{self.graph}{suffix}").read_bytes() + line)
        return super().open(side, graphs)


@dataclass
class Standby(Steps):
    """Steps on a parameter server with a standby, beside the same steps on one without."""

    peer: str = "without"

    def open(self, side, graphs):
        for suffix in (".pb", ".spec"):
            own = graphs / f"{self.graph}.weir{suffix}"  # where TensorFlow runs another graph
            if side.name == self.peer and own.exists():
                shutil.copy(own, graphs / f"{self.graph}.{side.name}{suffix}")
        return super().open(side, graphs)

    def beside(self, side, cluster):
        if side.name != self.peer:
            side.weir("standby", "--task", "/job:ps/task:0", "--on", "/job:ps/task:1", cluster.target())
        return lambda: None


@dataclass
class Straggler:
    """Updates of synchronous training while one of four workers takes ten times as long, beside those while none does."""

    name: str
    work: str
    backup_workers: int
    unit: str = "ms"
    rounds: int = 3
    peer: str = "no_straggler"
    steps: int = 40

    def open(self, side, graphs):
        runner = side.straggler(10 if side.name == "weir" else 1, self.backup_workers)
        return lambda: runner.seconds(self.steps) / self.steps, runner.close


@dataclass
class Skew:
    """Steps while one of four parameter servers gets eight times the load of each other, where the registrar moves variables,
    beside those where it does not."""

    name: str
    work: str
    unit: str = "ms"
    rounds: int = 3
    peer: str = "unbalanced"
    steps: int = 400

    def open(self, side, graphs):
        runner = side.skew("balanced" if side.name == "weir" else "unbalanced")
        return lambda: runner.seconds(self.steps) / self.steps, runner.close


@dataclass
class SaveStall:
    """By how much the longest step exceeds the median while checkpoints are written, beside saves within steps."""

    name: str
    work: str
    mib: int
    variables: str = "dense"
    unit: str = "ms"
    rounds: int = 3
    peer: str = "in_steps"
    steps: int = 50
    saves: bool = True  # False: the steps alone

    def open(self, side, graphs):
        folder = tempfile.TemporaryDirectory(prefix="weir-bench-", dir=graphs)
        mode = "none" if not self.saves else "background" if side.name == "weir" else "in_steps"
        runner = side.save_stall(self.mib, folder.name, mode, self.variables)

        def close():
            runner.close()
            folder.cleanup()

        return lambda: runner.seconds(self.steps), close


SCALE = {"s": 1, "ms": 1e3, "µs": 1e6, "MiB": 1}
PS = {"ps": 1, "worker": 1}
TCP = ("--no-shared-memory",)


def all_reduces():
    sizes = (("1k", "1 KiB", 1 << 10, 50), ("64k", "64 KiB", 64 << 10, 50), ("1m", "1 MiB", 1 << 20, 20),
             ("16m", "16 MiB", 16 << 20, 4), ("64m", "64 MiB", 64 << 20, 2))
    return [AllReduce(f"all_reduce_{tasks}_{name}", f"all-reduce of {words} among {tasks} processes", per=per,
                      jobs={"worker": tasks}, size=size) for tasks in (2, 4) for name, words, size, per in sizes]


def on_workers(graph, work, **options):
    """A row for each number of workers, beside one parameter server."""
    return [Steps(f"{graph}_{count}", f"{work}, {count} worker{'s' if count > 1 else ''}", "ms",
                  jobs={"ps": 1, "worker": count}, **options) for count in (1, 2, 4, 8)]


def streams():
    """What streams between hosts carry, beside a call for each, both over TCP."""
    options = {"weir_flags": TCP, "peer": "calls", "peer_flags": TCP + ("--no-streams",)}
    pulls = (("4k", "4 KiB", ROUNDS), ("1m", "1 MiB", ROUNDS), ("64m", "64 MiB", 5))
    all_reduces = (("1k", "1 KiB", 50), ("64k", "64 KiB", 50), ("1m", "1 MiB", 20))
    return [Steps("stream_workers_2", "null step on 2 worker processes, stream", graph="workers_2", jobs={"worker": 2},
                  **options),
            *[Steps(f"stream_pull_{name}", f"pull {words} from a ps process, stream", "ms", graph=f"pull_{name}", jobs=PS,
                    rounds=rounds, **options) for name, words, rounds in pulls],
            *[Steps(f"stream_all_reduce_{name}", f"all-reduce of {words} among 2 processes, stream",
                    graph=f"all_reduce_2_{name}", jobs={"worker": 2}, per=per, **options)
              for name, words, per in all_reduces]]


def commits():
    rows = (("scalar_1", "a scalar", 1, 21), ("dense_1", "a dense 100 MB variable", 1, 7), ("rows_1", "4,096 rows of 64", 1, 21),
            ("scaling_1", "MLP 784-512-512-10, batch 100, SGD on a parameter server", 1, 21),
            ("scaling_2", "the same on 2 workers", 2, 21))
    return [Commit(f"commit_{graph}", f"price of the commit: {work}", "ms", graph=graph, jobs={"ps": 1, "worker": workers},
                   rounds=rounds) for graph, work, workers, rounds in rows]


def safeguards():
    """What a safeguard of servers costs: one alone, beside servers without it."""
    prices = (("leases", "leases of sessions and masters", (), ("--session-lease", "inf", "--master-lease", "inf")),
              ("journal", "the journal and its log of requests", ("--journal", "FOLDER/journal"), ()),
              ("determinism", "deterministic servers", ("--deterministic",), ()))
    works = (("null", "null step on 1 worker process", "workers_1", {"worker": 1}, "µs", 31),
             ("rows", "pull and push 4,096 rows of 64", "rows_1", PS, "ms", 21),
             ("dense", "pull and push a dense 100 MB variable", "dense_1", PS, "ms", 7),
             ("mlp", "MLP 784-512-512-10, batch 100, SGD on a parameter server", "scaling_1", PS, "ms", 21))
    watched = [Scraped("price_watching_null", f"price of metrics, scraped each second: {works[0][1]}", graph="workers_1",
                       jobs={"worker": 1}, rounds=31)]
    return watched + [Steps(f"price_{price}_{name}", f"price of {words}: {work}", unit, graph=graph, jobs=jobs, rounds=rounds,
                            weir_flags=with_it, peer_flags=without, peer="without")
                      for price, words, with_it, without in prices for name, work, graph, jobs, unit, rounds in works]


def standbys():
    rows = (("scalar", "a scalar", 21), ("rows", "4,096 rows of 64", 21), ("embedding", "4,096 rows of 64 of an embedding table", 21),
            ("dense", "a dense 100 MB variable", 7), ("scaling", "MLP 784-512-512-10, batch 100, SGD on a parameter server", 21))
    return [Standby(f"price_standby_{graph}", f"price of a standby: pull and push {work}" if graph != "scaling" else
                    f"price of a standby: {work}", "ms", graph=f"{graph}_1", jobs={"ps": 2, "worker": 1}, rounds=rounds)
            for graph, work, rounds in rows]


def save_stalls():
    work = "longest step over the median"
    sizes = (("384m", "384 MiB", 384, "dense", 50, 3), ("4g_dense", "4 GiB", 4096, "dense", 45, 1),
             ("4g_rows", "4 GiB of tables", 4096, "rows", 1000, 1))
    return [*[SaveStall("save_stall" if name == "384m" else f"save_stall_{name}", f"{work} while {words} are saved", mib,
                        variables, rounds=rounds, steps=steps, peer="in_steps" if name == "384m" else "tensorflow")
              for name, words, mib, variables, steps, rounds in sizes],
            *[SaveStall(f"save_noise_{name}", f"{work} without saves, {words}", mib, variables, rounds=rounds, steps=steps,
                        peer="tensorflow", saves=False) for name, words, mib, variables, steps, rounds in sizes]]


ROWS = [
    Steps("noop_chain", "chain of 1,000 NoOps"),
    Steps("noop_chains_8", "8 chains of 1,000 NoOps"),
    Steps("noop_chains_1000", "1,000 chains of 10 NoOps"),
    Steps("add_chain", "chain of 1,000 scalar Adds"),
    Steps("null_step", "null step in process"),
    Steps("null_step_100", "null step in process, 100 feeds and fetches"),
    Steps("while_loop", "while loop, one counter, per iteration", per=10000),
    Steps("grpc_null_step", "null step through gRPC, 1 task", graph="null_step", jobs={"worker": 1}),
    Steps("grpc_null_step_100", "null step through gRPC, 1 task, 100 feeds and fetches", graph="null_step_100",
          jobs={"worker": 1}),
    Steps("workers_1", "null step on 1 worker process", jobs={"worker": 1}),
    Steps("workers_2", "null step on 2 worker processes", jobs={"worker": 2}),
    Steps("workers_4", "null step on 4 worker processes", jobs={"worker": 4}),
    Steps("workers_8", "null step on 8 worker processes", jobs={"worker": 8}),
    Steps("pull_4k", "pull 4 KiB from a ps process, TCP", "ms", jobs=PS, weir_flags=TCP),
    Steps("pull_1m", "pull 1 MiB from a ps process, TCP", "ms", jobs=PS, weir_flags=TCP),
    Steps("pull_64m", "pull 64 MiB from a ps process, TCP", "ms", jobs=PS, rounds=5, weir_flags=TCP),
    Steps("pull_1m_host", "pull 1 MiB from a ps process, best transport", "ms", graph="pull_1m", jobs=PS),
    Steps("pull_64m_host", "pull 64 MiB from a ps process, best transport", "ms", graph="pull_64m", jobs=PS, rounds=5),
    *on_workers("scalar", "pull and push a scalar"),
    *on_workers("dense", "pull and push a dense 100 MB variable", rounds=5),
    *on_workers("rows", "pull and push 4,096 rows of 64 of a variable, Zipf keys"),
    *on_workers("embedding", "pull and push 4,096 rows of 64 of an embedding table, Zipf keys"),
    *commits(),
    *safeguards(),
    *standbys(),
    *all_reduces(),
    *streams(),
    *on_workers("scaling", "weak scaling: MLP 784-512-512-10, batch 100 a worker, SGD on a parameter server"),
    Steps("mirrored", "MirroredStrategy on 2 devices, MLP 784-512-512-10, batch 100 each", "ms", peer="by_hand", rounds=15),
    Steps("mirrored_small", "MirroredStrategy on 2 devices, MLP 784-64-10, batch 100 each", "ms", peer="by_hand", rounds=15),
    Straggler("straggler", "synchronous ps, 1 of 4 workers 10 times as slow, 1 backup worker", backup_workers=1),
    Straggler("straggler_alone", "synchronous ps, 1 of 4 workers 10 times as slow, no backup worker", backup_workers=0),
    Skew("skew", "asynchronous ps, 1 of 4 servers with 8 times the load, balanced by the registrar"),
    Steps("model_linear", "SavedModel, 8-1, a call with one row"),
    Steps("model_mlp", "SavedModel, MLP 784-64-10, a call with one row"),
    Steps("model_wide", "SavedModel, 20 embeddings of 16, MLP 320-64-1, a call with one row"),
    Steps("mlp_sgd", "MLP 784-512-512-10, batch 100, SGD", "ms"),
    Steps("mlp_adam", "MLP 784-512-512-10, batch 100, Adam", "ms"),
    Steps("mlp_small", "MLP 784-64-10, batch 100, SGD", "ms"),
    Steps("convnet", "three-layer convnet 32x32x3, batch 32, SGD", "ms"),
    Steps("checkpoint_save", "save a checkpoint of 1 GiB", "s", rounds=3),
    Steps("checkpoint_restore", "restore a checkpoint of 1 GiB", "s", rounds=3),
    *save_stalls(),
    Steps("input_records", "input: TFRecords of 100 bytes, batch 512, per record", per=512),
    Steps("input_images", "input: images of 28x28 from TFRecords, parsed, shuffled, batch 128, per image", per=128),
    Steps("input_csv", "input: CSV of 11 columns, shuffled, batch 256, per record", per=256),
    ClusterStart("cluster_start", "three-task cluster from nothing to its first step"),
    IdleMemory("idle_memory", "resident memory of an idle server"),
]


def measure(row, sides, graphs):
    """{side name: median in the row's unit}; a side that fails has its reason instead of a number."""
    if isinstance(row, SaveStall) and len(sides) > 1:  # together they would need twice the memory
        return {name: result for side in sides for name, result in measure(row, [side], graphs).items()}
    rounds, closers, results = {}, [], {}
    try:
        for side in sides:
            try:
                rounds[side.name], close = row.open(side, graphs)
                closers.append(close)
            except Exception as failure:
                results[side.name] = str(failure)
        samples = {name: [] for name in rounds}
        for _ in range(row.rounds):
            for name in list(rounds):
                try:
                    samples[name].append(rounds[name]() * SCALE[row.unit])
                except Exception as failure:
                    results[name] = str(failure)
                    del rounds[name]
        for name in rounds:
            results[name] = statistics.median(samples[name])
    finally:
        for close in closers:
            close()
    return results
