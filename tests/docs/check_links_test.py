#!/usr/bin/env python3
"""Tests of check_links.py."""

import pathlib
import tempfile
import unittest

import check_links


class CheckLinksTest(unittest.TestCase):
    def problems(self, text):
        with tempfile.TemporaryDirectory() as root:
            for path in ("core/tensor/tensor.h", "docs/other.md", "docs/page.md"):
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("# A heading, in code\n", encoding="utf-8")
            pathlib.Path(root, "docs/page.md").write_text(text, encoding="utf-8")
            return list(check_links.problems(root))

    def test_accepts_what_is_there(self):
        self.assertEqual(self.problems("[a](other.md) [b](../core/tensor/tensor.h#L1) [c](other.md#a-heading-in-code) "
                                       "[d](https://example.org/x.md) `core/tensor/tensor.h` `core/` `core/tensor/*.h` `core/tensor/tensor`"), [])

    def test_names_document_line_and_target(self):
        self.assertEqual(self.problems("fine\n`core/tensors.h`"), ["docs/page.md:2: there is no core/tensors.h"])

    def test_finds_broken_links(self):
        for link in ("gone.md", "../gone.h", "other.md#no-heading"):
            self.assertEqual(self.problems(f"[a]({link})"), [f"docs/page.md:1: there is no {link}"])

    def test_resolves_parents_from_the_document(self):
        self.assertEqual(self.problems("`../core/tensor/tensor.h` `./other.md`"), [])
        self.assertEqual(self.problems("`../core/gone.h`"), ["docs/page.md:1: there is no ../core/gone.h"])

    def test_leaves_other_code_alone(self):
        self.assertEqual(self.problems("`a / b` `/job:ps/task:0` `x/y` `client/ops.h`\n```\n`core/gone.h`\n```"), [])


if __name__ == "__main__":
    unittest.main()
