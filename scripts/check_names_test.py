#!/usr/bin/env python3
"""Tests of check_names.py; scripts/check runs them before it trusts the rule."""

import unittest

from check_names import duplicates, types_of


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


if __name__ == "__main__":
    unittest.main()
