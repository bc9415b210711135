#!/usr/bin/env python3
"""Installs a build, then builds and runs programs with the installed files alone, by CMake and by pkg-config."""

import argparse
import os
import re
import shutil
import subprocess
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
QUICKSTART = HERE.parent.parent / "examples/quickstart/quickstart_main.cc"
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
        self.succeeds(self.configure(self.consumer, f"-DQUICKSTART={QUICKSTART}"))
        self.succeeds(run("cmake", "--build", self.consumer / "build"))
        self.assertIn(LINE, self.succeeds(run(self.consumer / "build/quickstart")))
        self.assertEqual(self.succeeds(run(self.consumer / "build/task")),
                         "/job:worker/replica:0/task:0/device:CPU:0: 42, traced: yes\n")

    def test_pkg_config(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("pkg-config is not installed")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.library.parent / "pkgconfig")}
        flags = self.succeeds(run("pkg-config", "--cflags", "--libs", "weir", env=environment)).split()
        program = self.consumer / "by_pkg_config"
        depends = self.consumer / "by_pkg_config.d"
        self.succeeds(run(self.arguments.compiler, "-std=c++20", "-MD", "-MF", depends, QUICKSTART, *flags,
                          f"-Wl,-rpath,{self.library.parent}", "-o", program))
        self.assertIn(LINE, self.succeeds(run(program)))
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

    def test_a_plugin(self):
        source = self.consumer.parent / "plugin"
        shutil.copytree(HERE.parent.parent / "examples/plugin", source)
        self.succeeds(self.configure(source))
        self.succeeds(run("cmake", "--build", source / "build"))
        program, plugin = source / "build/cube_main", source / "build/cube.so"
        expected = "float[3] [2 16 54]\nfloat[3] [6 24 54]\n"
        self.assertEqual(self.succeeds(run(program, plugin)), expected)
        ready = source / "ready"
        server = subprocess.Popen([self.prefix / "bin/weir", "server", "--job", "worker", "--cluster",
                                   '{"worker": ["127.0.0.1:2222"]}', "--port", "0", "--ready-file", ready, "--plugin", plugin,
                                   "--plugin-dir", plugin.parent])
        try:
            deadline = time.monotonic() + 60
            while not ready.exists():
                self.assertIsNone(server.poll())
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            self.assertEqual(self.succeeds(run(program, plugin, f"grpc://{ready.read_text().strip()}")), expected)
        finally:
            server.terminate()
            self.assertEqual(server.wait(timeout=60), 0)

    def rejected(self, name: str, request: str) -> str:
        source = self.consumer.parent / name
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject({name} LANGUAGES CXX)\nfind_package(Weir {request})\n")
        done = self.configure(source)
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
