#!/usr/bin/env python3
"""Tests of check_blocks.py."""

import stat
import tempfile
import unittest
from pathlib import Path

import check_blocks

HELP = """#!/bin/sh
case "$*" in
"server --help") echo "  --port PORT   Listen" ;;
"model --help") printf 'Inspect models.\\n\\nCommands:\\n  show\\n' ;;
"model show --help") echo "  --tags TAGS" ;;
*) exit 2 ;;
esac
"""


class CheckBlocksTest(unittest.TestCase):
    def problems(self, page, files=None):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in {"docs/page.md": page, "bin/weir": HELP, **(files or {})}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            for program in (root / "bin").iterdir():
                program.chmod(program.stat().st_mode | stat.S_IXUSR)
            return [problem.partition(": ")[2] for problem in check_blocks.problems(check_blocks.Tools(root, root / "bin"))]

    def block(self, language, text, mark=""):
        return f"Words.\n\n{mark}```{language}\n{text}\n```\n"

    def test_a_block_names_its_language(self):
        self.assertIn("name the block's language", self.problems(self.block("", "x"))[0])
        self.assertEqual(self.problems(self.block("text", "x")), [])

    def test_blocks_are_fenced(self):
        self.assertEqual(self.problems("Words.\n\n    code\n"), ["fence the block, and name its language"])
        self.assertEqual(self.problems("- Words.\n\n    More.\n"), [])

    def test_cpp_is_shown_from_a_file(self):
        self.assertIn("nothing compiles it", self.problems(self.block("cpp", "int x;"))[0])
        self.assertIn("nothing compiles it", self.problems(self.block("cpp", "int x;", "<!-- from a.md -->\n"))[0])
        self.assertEqual(self.problems(self.block("cpp", "int x;", "<!-- from a.cc -->\n")), [])

    def test_flags_of_weir_exist(self):
        self.assertEqual(self.problems(self.block("sh", "A=1 weir server --port 0 > log 2>&1 &")), [])
        self.assertEqual(self.problems(self.block("sh", "weir server --ports 0")), ["weir server has no flag --ports"])
        self.assertEqual(self.problems(self.block("sh", "weir serve")), ["there is no command `weir serve`"])
        self.assertEqual(self.problems(self.block("sh", "weir model show DIR --tag x")), ["weir model show has no flag --tag"])

    def test_flags_after_two_dashes_are_another_programs(self):
        self.assertEqual(self.problems(self.block("sh", "weir server -- program --its-flag")), [])

    def test_commands_in_running_text_are_checked(self):
        self.assertEqual(self.problems("Run `weir server --prot 1`.\n"), ["weir server has no flag --prot"])

    def test_scripts_and_their_flags_exist(self):
        self.assertEqual(self.problems(self.block("sh", "scripts/run")), ["there is no scripts/run"])
        found = self.problems(self.block("sh", "scripts/run --fast --slow"), {"scripts/run": "# --fast"})
        self.assertEqual(found, ["scripts/run has no flag --slow"])

    def test_programs_of_the_build_may_stand_without_their_folder(self):
        files = {"bin/program": "#!/bin/sh\necho --data FILE\n"}
        found = self.problems(self.block("sh", "A=1 program --data x --more"), files)
        self.assertEqual(found, ["program has no flag --more"])

    def test_other_commands_need_a_mark(self):
        self.assertIn("nothing checks `kubectl`", self.problems(self.block("sh", "cd x && kubectl apply"))[0])
        self.assertEqual(self.problems(self.block("sh", "kubectl apply", "<!-- not run: no cluster -->\n")), [])

    def test_a_mark_spares_no_command_of_weir(self):
        found = self.problems(self.block("sh", "kubectl x\nweir server --no", "<!-- not run: no cluster -->\n"))
        self.assertEqual(found, ["weir server has no flag --no"])

    def test_a_test_that_runs_a_block_names_the_document(self):
        block = self.block("sh", "make", "<!-- run by tests/run.py -->\n")
        self.assertEqual(self.problems(block), ["there is no tests/run.py"])
        self.assertEqual(self.problems(block, {"tests/run.py": ""}), ["tests/run.py does not name docs/page.md"])
        self.assertEqual(self.problems(block, {"tests/run.py": "docs/page.md"}), [])

    def test_a_page_may_mark_all_its_commands(self):
        page = "<!-- commands run by tests/run.py -->\n" + self.block("sh", "make")
        self.assertEqual(self.problems(page), ["there is no tests/run.py"])
        self.assertEqual(self.problems(page, {"tests/run.py": "docs/page.md"}), [])

    def test_shell_syntax(self):
        self.assertIn("not shell syntax", self.problems(self.block("sh", "if true; then"))[0])

    def test_here_documents_are_no_commands(self):
        self.assertEqual(self.problems(self.block("sh", "cat > file << 'END'\nkubectl x\nEND\ncd x")), [])

    def test_texts_can_be_parsed(self):
        for language, good, bad in (("python", "x = 1", "x = "), ("json", "[1]", "[1"), ("yaml", "a: 1", "a: [")):
            self.assertEqual(self.problems(self.block(language, good)), [])
            self.assertIn(f"not {language}", self.problems(self.block(language, bad))[0])

    def test_a_textproto_names_its_message(self):
        self.assertIn("name its message", self.problems(self.block("textproto", "a: 1"))[0])


if __name__ == "__main__":
    unittest.main()
