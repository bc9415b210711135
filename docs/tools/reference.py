#!/usr/bin/env python3
"""Writes the reference: HTML pages of the public headers, and of every op.

    reference.py OUTPUT --headers HEADERS --ops OPS

HEADERS is the folder that has weir/session.h and the others, as programs include them (build/release/public_headers). OPS
is the folder of the families, kernels/, whose ops.txt say which family an op belongs to. The pages need no network.

A header has a comment, then declarations; the pages show what they declare, with each comment as text, and without
private parts. A name leads to its declaration.
"""

import argparse
import html
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

ACCESS = re.compile(r"^( *)(public|protected|private):")
TYPE = re.compile(r"^(?:template <.*>\s+)?(?:class|struct|enum class|enum)\s+(?:\[\[\w+\]\]\s+)?(?:WEIR_API\s+)?(\w+)", re.S)
ALIAS = re.compile(r"^(?:template <.*>\s+)?using (\w+) =", re.S)
FUNCTION = re.compile(r"(\w+)\(")
CONSTANT = re.compile(r"(\w+)(?:\[\w*\])?(?: = .*)?;")
USED_MACRO = re.compile(r"^[A-Z_]+\(.*\)$")
CONDITION = re.compile(r"^#(if|else|elif|endif|undef|include|pragma)")
MACRO = re.compile(r"^#define (\w+)")
WORD = re.compile(r"[A-Za-z_]\w+")
OPS_HEADER = "weir/ops.h"
STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #777; --code: #8881; --link: #06c; }
@media (prefers-color-scheme: dark) { :root { --link: #6af; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
code, pre { font: 14px/1.45 ui-monospace, monospace; } code { background: var(--code); padding: 0 .2em; }
pre { background: var(--code); padding: .7em 1em; white-space: pre-wrap; border-radius: 4px; }
pre code { background: none; padding: 0; } .comment { color: var(--dim); }
h2, h3 { border-bottom: 1px solid var(--line); scroll-margin-top: 1rem; } table { border-collapse: collapse; }
td { padding: .15rem .8rem .15rem 0; vertical-align: top; } input { box-sizing: border-box; font: inherit; width: 100%; padding: .3em .5em; }
nav { font-size: 14px; color: var(--dim); } .include { color: var(--dim); }
"""
SEARCH = """
const names = NAMES, field = document.querySelector("input"), list = document.querySelector("#found");
field.addEventListener("input", () => {
  const wanted = field.value.toLowerCase();
  const found = wanted ? names.filter(([name]) => name.toLowerCase().includes(wanted)) : [];
  found.sort((a, b) => a[0].toLowerCase().indexOf(wanted) - b[0].toLowerCase().indexOf(wanted) || a[0].length - b[0].length);
  list.replaceChildren(...found.slice(0, 40).map(([name, page, what]) => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = page; link.textContent = name; item.append(link, " " + what); return item;
  }));
});
"""


@dataclass
class Item:
    """A declaration with the comment above it."""
    comment: list
    code: list

    @property
    def name(self):
        text = "\n".join(self.code)
        is_function = "(" in text.partition("=")[0]
        for pattern in (TYPE, ALIAS, MACRO, FUNCTION if is_function else CONSTANT):
            match = pattern.search(text)
            if match:
                return match[1]
        return ""


@dataclass
class Header:
    path: str  # weir/session.h
    comment: list
    items: list

    @property
    def page(self):
        return self.path.removeprefix("weir/").removesuffix(".h").replace("/", "_") + ".html"


def uncommented(line):
    return re.sub(r"^\s*// ?", "", line)


def without_private(code):
    """The lines of a class without its private members."""
    kept, hidden = [], None
    for line in code:
        match = ACCESS.match(line)
        if match and (hidden is None or len(match[1]) <= hidden):
            hidden = len(match[1]) if match[2] == "private" else None
        elif hidden is not None and re.match(rf"^ {{0,{max(hidden - 1, 0)}}}\}}", line):
            hidden = None
        if hidden is None:
            kept.append(line)
    while len(kept) > 1 and not kept[-2].strip():
        del kept[-2]
    return kept


def without_bodies(code):
    """The lines of a declaration with `{ … }` for the bodies of functions that take several lines."""
    kept, depth, end = [], 0, None
    for line in code:
        change = depth_of(line)
        if end is not None:
            depth += change
            if depth == end:
                end = None
            continue
        text = line.rstrip()
        if change > 0 and text.endswith("{") and ")" in text and not TYPE.match(text.strip()):
            kept.append(text + " … }")
            end = depth
        else:
            kept.append(line)
        depth += change
    return kept


def depth_of(line):
    if line.startswith("#"):
        return 0
    line = re.sub(r'//.*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', "", line)
    return sum(line.count(each) for each in "({") - sum(line.count(each) for each in ")}")


def items_of(lines):
    """The declarations at namespace level."""
    items, comment, code, depth = [], [], [], 0
    for line in lines:
        if not code and (not line.strip() or line.startswith(("namespace ", "}")) or CONDITION.match(line)):
            if comment and not line.strip():
                items.append(Item(comment, []))  # a comment about what follows
            comment = []
        elif not code and line.startswith("//"):
            comment.append(uncommented(line))
        else:
            code.append(line)
            end = line.rstrip()
            if code[0].startswith("#"):
                ended = not end.endswith("\\")
            else:
                depth += depth_of(line)
                ended = depth == 0 and (end.endswith((";", "}")) or re.search(r";\s*//", end) or USED_MACRO.match(end))
            if ended:
                items.append(Item(comment, without_bodies(without_private(code))))
                comment, code = [], []
    return items


def parse(path, text):
    lines = text.splitlines()
    comment = []
    while lines and lines[0].startswith("//"):
        comment.append(uncommented(lines.pop(0)))
    items = [item for item in items_of(lines) if not is_forward(item)]
    return Header(path, comment, items)


def is_forward(item):
    return len(item.code) == 1 and re.match(r"^(class|struct|enum class) [\w:]+( : \w+)?;$", item.code[0]) is not None


def prose(lines):
    """HTML of a comment: paragraphs, lists, code that is indented."""
    out, kind = [], ""

    def begin(wanted):
        nonlocal kind
        if kind != wanted:
            out.append({"p": "</p>", "ul": "</ul>", "pre": "</code></pre>"}.get(kind, ""))
            out.append({"p": "<p>", "ul": "<ul>", "pre": "<pre><code>"}.get(wanted, ""))
            kind = wanted

    for line in lines:
        if not line.strip():
            begin("")
        elif line.startswith("- "):
            begin("ul")
            out.append(f"<li>{inline(line[2:])}")
        elif line.startswith("  ") and kind == "ul":
            out.append(inline(line.strip()))
        elif line.startswith("  "):
            begin("pre")
            out.append(html.escape(line[2:]))
        else:
            begin("p")
            out.append(inline(line))
    begin("")
    return "\n".join(out)


def inline(text):
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


class Site:
    """All pages and the names that lead to them."""

    def __init__(self, headers, families):
        self.headers = headers
        self.families = families  # {op: family}
        self.links = {}           # {name: page#anchor}
        self.names = []           # [name, page, what it is]
        for header in headers:
            if header.path != OPS_HEADER:
                for item in header.items:
                    self.add(item.name, f"{header.page}#{item.name}", header.path)

    def add(self, name, page, what):
        if name and name not in self.links:
            self.links[name] = page
            self.names.append([name, page, what])

    def code(self, lines):
        out = []
        for line in lines:
            text, mark, comment = line.partition("//")
            linked = WORD.sub(self.linked, html.escape(text, quote=False))
            out.append(linked + (f'<span class="comment">{html.escape(mark + comment, quote=False)}</span>' if mark else ""))
        return "<pre><code>" + "\n".join(out) + "</code></pre>"

    def linked(self, match):
        page = self.links.get(match[0])
        return f'<a href="{page}">{match[0]}</a>' if page and match[0] not in ("lt", "gt", "amp") else match[0]

    def header_page(self, header):
        body = [f"<h1>{html.escape(header.path)}</h1>", f'<p class="include"><code>#include "{header.path}"</code></p>',
                prose(header.comment)]
        last = ""
        for item in header.items:
            if item.name and item.name != last:  # overloads share a heading
                body.append(f'<h3 id="{item.name}">{item.name}</h3>')
            last = item.name
            body.append(prose(item.comment))
            if item.code:
                body.append(self.code(item.code))
        return page(header.path, body)

    def op_pages(self):
        """{file: HTML}: a page for each family."""
        ops = next((header for header in self.headers if header.path == OPS_HEADER), None)
        parts = {}
        for item in ops.items if ops else []:
            op = re.sub(r"(Attrs|Result)$", "", item.name) if item.name not in self.families else item.name
            parts.setdefault(op, []).append(item)
        by_family = {}
        for op, items in parts.items():
            family = self.families.get(op)
            if family:
                by_family.setdefault(family, []).append((op, items))
                self.add(op, f"ops_{family}.html#{op}", f"op, {family}")
        return {f"ops_{family}.html": self.family_page(family, ops) for family, ops in by_family.items()}

    def family_page(self, family, ops):
        body = [f"<h1>Ops: {family}</h1>", "<p>Wrappers of <code>weir/ops.h</code>. Types after a colon are those of inputs, outputs "
                "and attributes.</p>"]
        for op, items in sorted(ops, key=lambda each: each[0]):
            text = [line for item in items for line in item.comment]
            start = next((i for i, line in enumerate(text) if line.startswith(f"{op}(")), len(text))
            body += [f'<h3 id="{op}">{op}</h3>', prose(text[:start]), self.code([f"// {line}" for line in text[start:]] +
                     [line for item in items for line in item.code])]
        return page(f"Ops: {family}", body)

    def index(self, op_pages):
        body = ["<h1>Weir's C++ API</h1>", '<p><input placeholder="A name: Session, Dense, MatMul …" autofocus></p>',
                '<ul id="found"></ul>', "<h2>Headers</h2>"]
        folders = {}
        for header in self.headers:
            if header.path != OPS_HEADER:
                folders.setdefault(header.path.rpartition("/")[0], []).append(header)
        for folder, headers in sorted(folders.items(), key=lambda each: (each[0].count("/"), each[0])):
            rows = "".join(f'<tr><td><a href="{header.page}">{header.path}</a></td><td>{inline(first_sentence(header.comment))}'
                           "</td></tr>" for header in headers)
            body.append(f"<h3>{folder}</h3><table>{rows}</table>")
        body.append("<h2>Ops</h2><p>" + ", ".join(f'<a href="{name}">{name[4:-5]}</a>' for name in sorted(op_pages)) + "</p>")
        body.append(f"<script>{SEARCH.replace('NAMES', json.dumps(self.names))}</script>")
        return page("Weir's C++ API", body, home=False)


def first_sentence(lines):
    text = " ".join(lines)
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def page(title, body, home=True):
    nav = '<nav><a href="index.html">Weir\'s C++ API</a></nav>' if home else ""
    return (f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n'
            f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n{nav}\n" + "\n".join(body) + "\n</html>\n")


def families_of(folder):
    return {line: path.parent.name for path in sorted(folder.glob("*/ops.txt"))
            for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("  ")}


def write(output, headers, families):
    site = Site(headers, families)
    pages = site.op_pages()  # first: code links to ops' names only on the ops' own pages
    texts = {**pages, **{header.page: site.header_page(header) for header in headers if header.path != OPS_HEADER}}
    texts["index.html"] = site.index(pages)
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    for name, text in texts.items():
        (output / name).write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--headers", type=Path, required=True)
    parser.add_argument("--ops", type=Path, required=True)
    arguments = parser.parse_args()
    headers = [parse(path.relative_to(arguments.headers).as_posix(), path.read_text(encoding="utf-8"))
               for path in sorted(arguments.headers.rglob("*.h"))]
    write(arguments.output, headers, families_of(arguments.ops))


if __name__ == "__main__":
    main()
