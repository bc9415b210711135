#!/usr/bin/env python3
"""Tests of docs/tools/reference.py."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "docs/tools"))
import reference  # noqa: E402 pylint: disable=import-error,wrong-import-position

SESSION = """// Runs graphs. More about it.
#pragma once

#include "weir/scope.h"

namespace WEIR_API weir {

namespace other {
class Other;
}

#ifndef LATER
#define LATER(a) \\
  do {           \\
  } while (a)
#endif
LATER(1)
constexpr char kName[] = "(";

// Names of `values`:
// - one
// - two
struct Values {
  int one = 0;  // a <b>
};

// Not thread-safe.
class Session {
 public:
  // Runs it.
  void Run(const Values& values) { values_ = values; }
  int Count() const {
    return values_.one;
  }

 private:
  void Hidden();
  Values values_;
};

// Makes one.
Session MakeSession(int count);
Session MakeSession(const Values& values);

}  // namespace weir
"""
OPS = """// Generated.
#pragma once
namespace weir {
namespace WEIR_API ops {

struct SumAttrs {
  bool keep_dims = false;
};
// Adds elements.
// Sum(input: T) -> (output: T)
//   T: float
Output Sum(const OpScope& scope, const Input& input, const SumAttrs& attrs = {});

}  // namespace ops
}  // namespace weir
"""


class ReferenceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            headers = [reference.parse("weir/session.h", SESSION), reference.parse("weir/ops.h", OPS)]
            reference.write(Path(folder) / "out", headers, {"Sum": "reduction"})
            cls.pages = {path.name: path.read_text(encoding="utf-8") for path in (Path(folder) / "out").iterdir()}

    def test_pages(self):
        self.assertEqual(set(self.pages), {"index.html", "session.html", "ops_reduction.html"})

    def test_comments_are_text(self):
        self.assertIn("<p>\nNot thread-safe.\n</p>", self.pages["session.html"])
        self.assertIn("<p>\nNames of <code>values</code>:\n</p>\n<ul>\n<li>one\n<li>two\n</ul>", self.pages["session.html"])

    def test_private_members_and_forward_declarations_are_left_out(self):
        self.assertIn("void Run(", self.pages["session.html"])
        for name in ("Hidden", "private", "values_;", "class Other"):
            self.assertNotIn(name, self.pages["session.html"])

    def test_bodies_of_several_lines_are_left_out(self):
        self.assertIn("int Count() const { … }\n", self.pages["session.html"])

    def test_macros_and_constants(self):
        for name in ("LATER", "kName"):
            self.assertIn(f'<h3 id="{name}">', self.pages["session.html"])
        self.assertNotIn("#endif", self.pages["session.html"])

    def test_names_lead_to_declarations(self):
        self.assertIn('<h3 id="Values">', self.pages["session.html"])
        self.assertIn('<a href="session.html#Values">Values</a>&amp; values', self.pages["session.html"])
        self.assertIn('["MakeSession", "session.html#MakeSession", "weir/session.h"]', self.pages["index.html"])

    def test_overloads_share_a_heading(self):
        self.assertEqual(self.pages["session.html"].count('id="MakeSession"'), 1)
        self.assertEqual(self.pages["session.html"].count("MakeSession</a>("), 2)

    def test_text_is_escaped(self):
        self.assertIn("a &lt;b&gt;", self.pages["session.html"])

    def test_an_op_has_description_types_and_declarations(self):
        page = self.pages["ops_reduction.html"]
        self.assertIn('<h3 id="Sum">Sum</h3>', page)
        self.assertIn("Adds elements.", page)
        for line in ("// Sum(input: T) -&gt; (output: T)", "bool keep_dims = false;", "const SumAttrs&amp; attrs = {}"):
            self.assertIn(line, page)
        self.assertIn('["Sum", "ops_reduction.html#Sum", "op, reduction"]', self.pages["index.html"])

    def test_the_index_has_each_headers_first_sentence(self):
        self.assertIn('<a href="session.html">weir/session.h</a></td><td>Runs graphs.</td>', self.pages["index.html"])


if __name__ == "__main__":
    unittest.main()
