#!/usr/bin/env python3
"""Installs a build, then builds and runs programs with the installed files alone, by CMake and by pkg-config."""

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
QUICKSTART = ROOT / "examples/quickstart/quickstart_main.cc"
PAGE = ROOT / "docs/install.md"
LINE = "y = 2.00 x + 1.00"


def run(*command: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], text=True, capture_output=True, timeout=250, **options)


class Programs(unittest.TestCase):
    arguments: argparse.Namespace
    prefix: Path
    consumer: Path

    @classmethod
    def setUpClass(cls):
        scratch = cls.arguments.scratch
        shutil.rmtree(scratch, ignore_errors=True)
        cls.prefix, cls.consumer = scratch / "prefix", scratch / "consumer"
        for component in ("runtime", "development"):
            cls.succeeds(run("cmake", "--install", cls.arguments.build, "--prefix", cls.prefix, "--component", component))
        shutil.copytree(HERE / "consumer", cls.consumer)
        shutil.copy(QUICKSTART, cls.consumer / "my_program.cc")
        cls.library = next(cls.prefix.rglob("libweir.so"))

    @staticmethod
    def succeeds(done: subprocess.CompletedProcess) -> str:
        if done.returncode != 0:
            raise AssertionError(f"{done.args}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def configure(self, source: Path, *options: str) -> subprocess.CompletedProcess:
        return run("cmake", "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                   f"-DCMAKE_CXX_COMPILER={self.arguments.compiler}", "-DCMAKE_BUILD_TYPE=Debug", *options)

    def test_cmake(self):
        self.succeeds(self.configure(self.consumer))
        self.succeeds(run("cmake", "--build", self.consumer / "build"))
        self.assertIn(LINE, self.succeeds(run(self.consumer / "build/my_program")))
        self.assertEqual(self.succeeds(run(self.consumer / "build/task")),
                         "/job:worker/replica:0/task:0/device:CPU:0: 42, traced: yes\n")

    def test_pkg_config(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("pkg-config is not installed")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.library.parent / "pkgconfig")}
        depends = self.consumer / "by_pkg_config.d"
        # The page's command, with this build's compiler and the place of its library.
        line = re.search(r"^g\+\+ .*$", PAGE.read_text(), re.M)[0]
        compiler = f'g++() {{ {self.arguments.compiler} "$@" -MD -MF {depends} -Wl,-rpath,{self.library.parent}; }}'
        self.succeeds(run("bash", "-euc", f"{compiler}\n{line}", env=environment, cwd=self.consumer))
        self.assertIn(LINE, self.succeeds(run(self.consumer / "my_program")))
        foreign = re.findall(r"\S*/(?:google/protobuf|grpc\w*|Eigen)/\S*|\S*\.pb\.h", depends.read_text())
        self.assertEqual(foreign, [], "the program includes headers of Weir's own dependencies")

    def test_the_library_exports_nothing_else(self):
        symbols = self.succeeds(run("nm", "--dynamic", "--defined-only", self.library)).splitlines()
        names = [line.split(" ", 2)[2] for line in symbols]
        self.assertGreater(len(names), 1000)
        # Mangled: a function, or the table, type, guard or thunk of something, in namespace weir.
        own = re.compile(r"_Z(T[VIST]|GV|T[hv](n?\d+_)+)?N[KRO]*4weir|WEIR_")
        self.assertEqual([name for name in names if not own.match(name)], [])

    def test_the_program_runs(self):
        self.assertEqual(self.succeeds(run(self.prefix / "bin/weir", "--version")), f"weir {self.arguments.version}\n")
        for file in ("man/man1/weir.1.gz", "man/man1/weir-server.1.gz", "bash-completion/completions/weir",
                     "zsh/vendor-completions/_weir", "fish/vendor_completions.d/weir.fish"):
            self.assertTrue((self.prefix / "share" / file).is_file(), file)

    @contextlib.contextmanager
    def server(self, plugin: Path):
        """The target of a task that has loaded a plug-in."""
        ready = plugin.parent / "ready"
        server = subprocess.Popen([self.prefix / "bin/weir", "server", "--job", "worker", "--cluster",
                                   '{"worker": ["127.0.0.1:2222"]}', "--port", "0", "--ready-file", ready, "--plugin", plugin,
                                   "--plugin-dir", plugin.parent])
        try:
            deadline = time.monotonic() + 60
            while not ready.exists():
                self.assertIsNone(server.poll())
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            yield f"grpc://{ready.read_text().strip()}"
        finally:
            server.terminate()
            self.assertEqual(server.wait(timeout=60), 0)

    def test_a_plugin(self):
        source = self.consumer.parent / "plugin"
        shutil.copytree(HERE.parent.parent / "examples/plugin", source)
        self.succeeds(self.configure(source))
        self.succeeds(run("cmake", "--build", source / "build"))
        program, plugin = source / "build/cube_main", source / "build/cube.so"
        expected = "float[3] [2 16 54]\nfloat[3] [6 24 54]\n"
        self.assertEqual(self.succeeds(run(program, plugin)), expected)
        with self.server(plugin) as target:
            self.assertEqual(self.succeeds(run(program, plugin, target)), expected)

    def test_datasets_of_parquet_and_arrow_files(self):
        python = os.environ.get("WEIR_DATA_PYTHON")
        if not python:
            self.skipTest("WEIR_DATA_PYTHON does not name a Python interpreter that can import pyarrow")
        source = self.consumer.parent / "parquet"
        shutil.copytree(HERE.parent.parent / "examples/parquet", source)
        pyarrow = self.succeeds(run(python, HERE / "table_files.py", source)).strip()
        self.succeeds(self.configure(source, f"-DPYARROW={pyarrow}"))
        self.succeeds(run("cmake", "--build", source / "build", "--parallel", "2"))
        program, plugin = source / "build/parquet_main", source / "build/parquet.so"
        read = [program, plugin, source / "a.parquet"]

        def fails(*command: object) -> str:
            done = run(*command)
            self.assertEqual(done.returncode, 1, done.stdout)
            return done.stderr

        for name in ("a.parquet", "a.arrow"):
            expected = (source / f"{name}.expected").read_text()
            columns = (source / "columns").read_text()
            self.assertEqual(self.succeeds(run(program, plugin, source / name, columns, "4")), expected, name)
        with self.server(plugin) as target:
            expected = (source / "a.parquet.expected").read_text()
            self.assertEqual(self.succeeds(run(*read, columns, "4", target)), expected)
        self.assertIn("has no column absent", fails(*read, "absent:int64", "4"))
        self.assertIn("but output_types has int32", fails(*read, "i:int32", "4"))
        self.assertIn("it has nulls", fails(*read, "nulls:int64", "4"))
        self.assertIn("are no tensor", fails(*read, "lists:int64", "4"))
        self.assertIn("NOT_FOUND", fails(program, plugin, source / "absent.parquet", "i:int64", "4"))
        for name in ("cut.parquet", "cut.arrow", "damaged.parquet", "text.parquet", "text.arrow"):
            self.assertRegex(fails(program, plugin, source / name, columns, "4"), f"DATA_LOSS.*{name}")

    def requested(self, name: str, request: str) -> subprocess.CompletedProcess:
        source = self.consumer.parent / name
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject({name} LANGUAGES CXX)\nfind_package(Weir {request})\n")
        return self.configure(source)

    def test_the_archive_is_found_beside_the_library(self):
        archive = self.library.parent / "libweir.a"
        archive.touch()  # if the build has made none
        self.succeeds(self.requested("archive", "REQUIRED COMPONENTS static"))

    def rejected(self, name: str, request: str) -> str:
        done = self.requested(name, request)
        self.assertNotEqual(done.returncode, 0)
        return " ".join(done.stderr.split())

    def test_a_missing_component_is_named(self):
        self.assertIn("Weir has no component serving", self.rejected("component", "REQUIRED COMPONENTS serving"))

    def test_another_version_is_rejected(self):
        self.assertIn(f"version: {self.arguments.version}", self.rejected("version", "0.2 REQUIRED"))


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "scratch"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("version", "compiler"):
        parser.add_argument(f"--{name}", required=True)
    Programs.arguments, rest = parser.parse_known_args()
    unittest.main(argv=["programs.py", *rest])


if __name__ == "__main__":
    main()
