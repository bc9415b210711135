#!/usr/bin/env python3
"""Tests of check_names.py; scripts/check runs them before it trusts the rule."""

import unittest

from check_names import begins_with_fragment, duplicates, missing_paths, paths_and_folders, types_of


def names(text):
    return [name for _, name in types_of(text)]


def weir(text):
    return "namespace weir {\n" + text + "\n}  // namespace weir\n"


class TypesTest(unittest.TestCase):

    def test_definitions_of_all_kinds(self):
        self.assertEqual(names(weir("struct A { int x; };\nclass B final : public A {};\nenum class C { kOne };\n"
                                    "enum D : int { kTwo };\nunion E { int i; };\ntemplate <typename T>\nstruct F {};")),
                         ["A", "B", "C", "D", "E", "F"])

    def test_attributes_and_macros(self):
        self.assertEqual(names(weir("class ABSL_LOCKABLE A {};\nstruct alignas(64) B {};\nstruct [[nodiscard]] C {};")), ["A", "B", "C"])

    def test_lines(self):
        self.assertEqual(list(types_of(weir("\nstruct A {};"))), [(3, "A")])

    def test_other_scopes_do_not_count(self):
        self.assertEqual(names(weir("namespace {\nstruct A {};\n}\nnamespace inner {\nstruct B {};\n}\nstruct C { struct D {}; };\n"
                                    "void F() { struct E {}; }")), ["C"])
        self.assertEqual(names("namespace weir::inner {\nstruct A {};\n}\nstruct B {};"), [])

    def test_declarations_specialisations_and_uses_do_not_count(self):
        self.assertEqual(names(weir("class A;\nenum class B : int;\ntemplate <>\nstruct C<int> {};\nstruct D F() { return {}; }\n"
                                    "struct E e = {1};\nstruct G::H {};")), [])

    def test_text_is_no_code(self):
        self.assertEqual(names(weir('// struct A {\nconst char* s = "struct B {";\nconst char* r = R"(struct C {)";\n'
                                    "#define D struct E {\nchar c = '{';\nint n = 1'000;\nstruct F {};")), ["F"])


class DuplicatesTest(unittest.TestCase):

    def test_both_places(self):
        text = weir("struct Step {};")
        self.assertEqual(list(duplicates([("a.h", text), ("b.h", "\n" + text)])), [("Step", ["a.h:2", "b.h:3"])])

    def test_tests_do_not_count(self):
        text = weir("struct Step {};")
        self.assertEqual(list(duplicates([("a.h", text), ("a_test.cc", text), ("tests/b.h", text), ("b_testing.h", text)])), [])


class PathsTest(unittest.TestCase):

    KNOWN = paths_and_folders(["core/gpu/sort.h", "core/gpu/sort_cuda.cu", "docs/decisions/0012-readers.md"])

    def missing(self, text):
        return list(missing_paths(text, self.KNOWN))

    def test_paths_that_exist(self):
        self.assertEqual(self.missing("// core/gpu/sort.h, core/gpu/sort, (core/gpu/), core/gpu/*.cu; docs/decisions/0012.\n"), [])
        self.assertEqual(self.missing("// See core/gpu/sort.{h,cc}.\n"), [])

    def test_paths_that_do_not(self):
        self.assertEqual(self.missing("int i;  // core/cuda/sort.h\n/* See\n   core/gpu/*.inc. */ docs/decisions/0013\n"),
                         [(1, "core/cuda/sort.h"), (3, "core/gpu/*.inc")])
        self.assertEqual(self.missing("// docs/decisions/001\n"), [(1, "docs/decisions/001")])

    def test_code_literals_and_other_words_do_not_count(self):
        self.assertEqual(self.missing('#include "core/gone.h"\nconst char* s = "core/gone";  // gRPC/HTTP, tensorflow/core/x.h\n'
                                      "// https://core/gone, ../core/gone, and client/ops.h\n"), [])


class FirstCommentTest(unittest.TestCase):

    def test_fragments(self):
        for text in ("// What kernels share.\n", "// How tensors look.\n#pragma once\n", "// Which keys get a row.\n"):
            self.assertTrue(begins_with_fragment(text), text)

    def test_others(self):
        for text in ("// Whatever a session can be connected to.\n", "// Kernels.\n// What they share.\n",
                     "#pragma once\n// How long a rank may pause.\n"):
            self.assertFalse(begins_with_fragment(text), text)


if __name__ == "__main__":
    unittest.main()
