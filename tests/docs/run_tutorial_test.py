#!/usr/bin/env python3
"""Tests of run_tutorial.py."""

import tempfile
import unittest
from pathlib import Path

import check_blocks
import run_tutorial

PAGE = """# Title

<!-- from examples/a.cc -->
```cpp
int x;
```

```sh
cmake -B build
```

```sh
echo weir --port :2222 --http-port 9090
```

<!-- not run: no -->
```sh
echo left out
```
"""


class RunTutorialTest(unittest.TestCase):
    blocks = check_blocks.blocks_of("docs/page.md", PAGE)

    def test_commands_run_in_order_in_one_shell(self):
        script = run_tutorial.script_of(self.blocks, built=None)
        self.assertLess(script.index("cmake -B build"), script.index("echo weir --port :2222"))
        self.assertNotIn("left out", script)

    def test_a_build_that_is_there_needs_no_installation_and_gets_other_ports(self):
        script = run_tutorial.script_of(self.blocks, built=Path("bin"))
        self.assertNotIn("cmake", script)
        self.assertNotIn(":2222", script)
        self.assertNotIn("--http-port 9090", script)

    def test_programs_are_saved_and_packages_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder)
            for name in ("weir.deb", "old.log"):
                (directory / name).touch()
            run_tutorial.prepare(directory, self.blocks, built=None)
            self.assertEqual({path.name for path in directory.iterdir()}, {"weir.deb", "a.cc"})
            self.assertEqual((directory / "a.cc").read_text(encoding="utf-8"), "int x;\n")

    def test_a_failing_command_ends_the_script(self):
        with tempfile.TemporaryDirectory() as folder:
            status, output = run_tutorial.run("set -e\necho one\nfalse\necho two", Path(folder), None)
        self.assertEqual((status, output), (1, "one\n"))

    def test_what_is_missing_is_named(self):
        self.assertEqual(run_tutorial.missing("nothing"), run_tutorial.EXPECTED[0])
        lines = "step 10000   loss 0.1\nmodel: /x/one/models/12\n"
        self.assertEqual(run_tutorial.missing(lines), run_tutorial.EXPECTED[2])


if __name__ == "__main__":
    unittest.main()
