#!/usr/bin/env python3
"""Tests scripts/public_headers.py."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import public_headers  # noqa: E402


class PublicHeaders(unittest.TestCase):
    def headers(self, **files: str) -> public_headers.Headers:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, text in files.items():
            path = Path(folder.name) / name.replace("__", "/").replace("_h", ".h")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        headers = public_headers.Headers([Path(folder.name)])
        headers.add("client/a.h")
        return headers

    def test_includes_become_installed_paths(self):
        headers = self.headers(client__a_h='#include <vector>\n#include "absl/time/time.h"\n#include "core/b.h"\n',
                               core__b_h='#include "client/a.h"\n')
        self.assertEqual(headers.errors(), [])
        self.assertEqual(headers.copies(), {
            "weir/a.h": '#include <vector>\n#include "absl/time/time.h"\n#include "weir/core/b.h"\n',
            "weir/core/b.h": '#include "weir/a.h"\n'})
        self.assertEqual(headers.forwarders()["weir/core/b.h"], '#pragma once\n#include "core/b.h"\n')

    def test_foreign_headers_are_rejected_also_behind_others(self):
        for include in ('"x.pb.h"', "<grpcpp/grpcpp.h>", "<google/protobuf/message.h>", "<Eigen/Core>"):
            headers = self.headers(client__a_h='#include "core/b.h"\n', core__b_h=f"#include {include}\n")
            self.assertRegex(headers.errors()[0], r"core/b\.h includes .*, but a public header must not")

    def test_namespaces_must_be_marked(self):
        self.assertRegex(self.headers(client__a_h="namespace weir {\n}\n").errors()[0], "client/a.h is public")
        self.assertEqual(self.headers(client__a_h="namespace WEIR_API weir {\n}\n").errors(), [])
        self.assertEqual(self.headers(client__a_h="namespace weir {\nnamespace WEIR_API ops {\n}\n}\n").errors(), [])

    def test_two_headers_cannot_have_one_place(self):
        headers = self.headers(client__a_h='#include "tools/a.h"\n', tools__a_h="\n")
        self.assertEqual(headers.errors(), ["tools/a.h and client/a.h would both be weir/a.h"])

    def test_headers_that_are_not_public_any_more_are_removed(self):
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder)
            public_headers.write(output, {"weir/a.h": "1", "weir/core/b.h": "2"})
            public_headers.write(output, {"weir/a.h": "3"})
            self.assertEqual([(p.name, p.read_text()) for p in output.rglob("*.h")], [("a.h", "3")])


if __name__ == "__main__":
    unittest.main()
