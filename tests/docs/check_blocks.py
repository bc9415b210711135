#!/usr/bin/env python3
"""Fails for a code block of a document that nothing checks.

    check_blocks.py ROOT [--programs BIN] [--protoc PROTOC]

The documents are the *.md below ROOT. Blocks are fenced, not indented, and name their language:

| language | the block |
| --- | --- |
| cpp, cmake | is text of a file that is built, or run by a test: a mark says which |
| sh | is shell syntax, and its commands are Weir's: programs, scripts and flags that exist; or it is run by a test |
| python | is Python syntax |
| json, yaml | can be parsed |
| textproto | can be parsed as the message that its mark names |
| text | is output or a picture: not checked |

A mark is a comment on the line before the block:

    <!-- from PATH -->              the text is in that file (check_snippets.py compares)
    <!-- run by PATH -->            that script, which names the document, runs the block
    <!-- message NAME in FILE -->   of a textproto; FILE is below ROOT/protos
    <!-- not run: REASON -->        nothing else can check it

The line `<!-- commands run by PATH -->` anywhere marks all shell blocks of a document that have no other mark.

BIN holds the programs that were built, weir among them: in a command they may stand without their folder. Without BIN
their flags are not checked. PROTOC is protobuf's
compiler; without it textprotos are not parsed.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = {".git", ".venv", "build"}
FENCE = re.compile(r"^(?P<mark><!-- (?P<kind>from|run by|message|not run:) (?P<what>.*?) -->\n)?"
                   r"(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```", re.M | re.S)
PAGE_MARK = re.compile(r"^<!-- commands run by (\S+) -->$", re.M)
LANGUAGES = {"cpp", "cmake", "sh", "python", "json", "yaml", "textproto", "text"}
INDENTED = re.compile(r"^(?![ *-]|\d+\.)\S[^\n]*\n\n    (?=\S)", re.M)
SPAN = re.compile(r"`(weir [a-z]+[^`\n]*)`")
FLAG = re.compile(r"^--?[a-zA-Z][\w-]*")
ASSIGNMENT = re.compile(r"^\w+=")
# Commands that need no check: they do nothing to Weir.
PLAIN = {"cd", "mkdir", "cat", "echo", "export", "kill", "wait", "sleep", "grep", "tail", "rm", "cp", "ls", "true", "[",
         "until", "while", "if", "then", "else", "do", "done", "fi", "!", "{", "}"}
# Programs that start another one: what follows their own flags is looked at too.
STARTERS = {"sudo", "srun", "mpirun", "torchrun", "nice", "timeout"}
BUILT = (".cc", ".h", ".inc", ".cu", "CMakeLists.txt")
EXECUTABLES = ("scripts/", "tests/", "docs/tools/", ".ci/", "deploy/")
PROGRAMS = "build/release/bin/"


@dataclass
class Block:
    document: str
    line: int
    language: str
    text: str
    kind: str  # of the mark; "" without one
    what: str

    def at(self):
        return f"{self.document}:{self.line}"


@dataclass
class Tools:
    root: Path
    programs: Path | None = None
    protoc: str = ""
    helps: dict = field(default_factory=dict)

    def help_of(self, *command):
        """The help of a program, or of weir's command; None if there is no such command."""
        if command not in self.helps:
            arguments = [str(self.programs / command[0]), *command[1:], "--help"]
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
            self.helps[command] = None if command[0] == "weir" and done.returncode != 0 else done.stdout + done.stderr
        return self.helps[command]


def documents(root):
    for path in sorted(Path(root).rglob("*.md")):
        if not SKIPPED & set(path.relative_to(root).parts[:1]):
            yield path


def blocks_of(document, text):
    found = []
    page_mark = PAGE_MARK.search(text)
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + (2 if match["mark"] else 1)
        kind, what = match["kind"] or "", match["what"] or ""
        if page_mark and match["language"] == "sh" and not kind:
            kind, what = "run by", page_mark[1]
        found.append(Block(document, line, match["language"], match["text"], kind, what))
    return found


def spans_of(document, text):
    """The commands of weir in running text, `weir COMMAND …`, as blocks."""
    for match in SPAN.finditer(FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)):
        yield Block(document, text.count("\n", 0, match.start()) + 1, "span", match[1], "", "")


def commands_of(text):
    """The simple commands of a shell text, as lists of words. Here-documents and comments are left out."""
    text = re.sub(r"<< *'?(\w+)'?\n.*?^\1$", "\n", text, flags=re.M | re.S).replace("\\\n", " ")
    for line in text.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
        lexer.commenters = "#"
        lexer.whitespace_split = True
        words = []
        for word in list(lexer) + [";"]:
            if re.fullmatch(r"[();|&]+", word):
                if words:
                    yield words
                words = []
            else:
                words.append(word)


def flags_of(words):
    return [match[0] for word in words if (match := FLAG.match(word))]


def missing_flags(words, text):
    return [flag for flag in flags_of(words) if not re.search(re.escape(flag) + r"(?![\w-])", text)]


def weir_problems(words, tools):
    """Of `weir COMMAND ARGUMENT…`."""
    words = words[:words.index("--")] if "--" in words else words
    if tools.programs is None or len(words) < 2 or words[1].startswith("-") or words[1] == "help":
        return
    command, arguments = ["weir", words[1]], words[2:]
    text = tools.help_of(*command)
    if text is not None and "\nCommands:\n" in text and arguments and not arguments[0].startswith("-"):
        command, arguments = [*command, arguments[0]], arguments[1:]
        text = tools.help_of(*command)
    if text is None:
        yield f"there is no command `{' '.join(command)}`"
        return
    for flag in missing_flags(arguments, text):
        yield f"{' '.join(command)} has no flag {flag}"


def program_problems(words, tools):
    name = words[0][len(PROGRAMS):]
    if tools.programs is None or name == "weir":
        return
    if not (tools.programs / name).exists():
        yield f"the build makes no program {name}"
        return
    flags = [flag for flag in flags_of(words[1:]) if not flag.startswith("--gtest_")]
    if flags:
        for flag in missing_flags(flags, tools.help_of(name)):
            yield f"{name} has no flag {flag}"


def command_problems(words, tools):
    """Problems of one simple command; None if it cannot be checked."""
    while words and ASSIGNMENT.match(words[0]):
        words = words[1:]
    words = [word for word in words if not re.fullmatch(r"\d*[<>]+&?\d*", word)]
    while words and words[0] in ("until", "while", "if", "!", "then", "do", "else"):
        words = words[1:]
    if not words or words[0] in PLAIN:
        return []
    if words[0] in STARTERS:
        inner = next((i for i, word in enumerate(words) if i and word in ("weir", *PLAIN)), None)
        return None if inner is None else command_problems(words[inner:], tools)
    name = words[0].removeprefix("./")
    if name == "weir" or name == PROGRAMS + "weir":
        return list(weir_problems(words, tools))
    if name.startswith(PROGRAMS):
        return list(program_problems([name, *words[1:]], tools))
    if re.fullmatch(r"\w+", name) and tools.programs is not None and (tools.programs / name).is_file():
        return list(program_problems([PROGRAMS + name, *words[1:]], tools))
    if name.startswith(EXECUTABLES):
        path = tools.root / name
        if not path.is_file():
            return [f"there is no {name}"]
        return [f"{name} has no flag {flag}" for flag in missing_flags(words[1:], path.read_text(encoding="utf-8"))
                if flag.startswith("--")]
    return None


def shell_problems(block, tools):
    if block.kind != "not run:":
        done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            yield f"not shell syntax: {done.stderr.strip()}"
            return
    for words in commands_of(block.text):
        found = command_problems(words, tools)
        if found is not None:
            yield from found
        elif not block.kind:
            yield (f"nothing checks `{words[0]}`: run the block by a test, or mark it "
                   "`<!-- not run: REASON -->`")


def parse_textproto(block, tools):
    match = re.fullmatch(r"(\S+) in (\S+)", block.what) if block.kind == "message" else None
    if match is None:
        return "name its message: <!-- message NAME in FILE -->"
    if not tools.protoc:
        return ""
    command = [tools.protoc, f"-I{tools.root / 'protos'}", f"--encode={match[1]}", match[2]]
    done = subprocess.run(command, input=block.text.encode(), capture_output=True, timeout=60, check=False)
    return done.stderr.decode().strip() if done.returncode != 0 else ""


def parse(block):
    if block.language == "python":
        compile(block.text, block.at(), "exec")
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "yaml":
        import yaml  # pylint: disable=import-outside-toplevel

        yaml.safe_load(block.text)


def text_problems(block, tools):
    """Of languages that are parsed here."""
    if block.language == "textproto":
        message = parse_textproto(block, tools)
        if message:
            yield message
        return
    try:
        parse(block)
    except Exception as error:  # pylint: disable=broad-except
        yield f"not {block.language}: {error}"


def mark_problems(block, tools):
    if block.kind == "run by":
        path = tools.root / block.what
        if not path.is_file():
            yield f"there is no {block.what}"
        elif block.document not in path.read_text(encoding="utf-8"):
            yield f"{block.what} does not name {block.document}"
    if block.kind == "not run:" and not block.what.strip():
        yield "say why it is not run"


def problems_of(block, tools):
    if block.language not in LANGUAGES:
        yield f"name the block's language: {', '.join(sorted(LANGUAGES))}"
        return
    yield from mark_problems(block, tools)
    if block.language == "sh":
        yield from shell_problems(block, tools)
    elif block.language in ("cpp", "cmake"):
        if block.kind not in ("from", "run by", "not run:") or (block.kind == "from" and not block.what.endswith(BUILT)):
            yield "nothing compiles it: show text of a file that is built, and mark it `<!-- from PATH -->`"
    elif block.language != "text" and block.kind != "not run:":
        yield from text_problems(block, tools)


def indented_problems(document, text):
    """Of blocks that are indented instead of fenced, outside of lists."""
    for match in INDENTED.finditer(FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)):
        yield f"{document}:{text.count(chr(10), 0, match.end())}: fence the block, and name its language"


def span_problems(block, tools):
    try:
        for words in commands_of(block.text):
            if words[0] == "weir":
                yield from weir_problems(words, tools)
    except ValueError:
        pass  # quotes that a line break or a table has cut


def problems(tools):
    for path in documents(tools.root):
        document, text = path.relative_to(tools.root).as_posix(), path.read_text(encoding="utf-8")
        for block in blocks_of(document, text):
            yield from (f"{block.at()}: {problem}" for problem in problems_of(block, tools))
        yield from indented_problems(document, text)
        for span in spans_of(document, text):
            yield from (f"{span.at()}: {problem}" for problem in span_problems(span, tools))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--protoc", default="")
    arguments = parser.parse_args()
    found = list(problems(Tools(arguments.root.resolve(), arguments.programs, arguments.protoc)))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
