#!/usr/bin/env python3
"""Counts the lines of the workspace per crate and prints a Markdown table: `cargo xtask count [COMMIT]`.

Counted are the tracked files in Rust, Python, shell and JavaScript; `docs/size.md` defines the columns.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

COMMENTS = {".rs": "//", ".py": "#", ".sh": "#", ".mjs": "//"}
COLUMNS = ["files", "source", "code", "comments", "blank", "inline tests", "test files"]


def test_lines(lines):
    """Returns the indices of the lines of items behind `#[cfg(test)]`, and the names of modules that are files."""
    inside, modules, at = set(), set(), 0
    while at < len(lines):
        if lines[at].strip() == "#[cfg(test)]":
            start, indent = at, lines[at][: -len(lines[at].lstrip())]
            at += 1
            while lines[at].lstrip().startswith(("#[", "//")):
                at += 1
            if module := re.match(r"\s*(?:pub(?:\([a-z]+\))? )?mod (\w+);", lines[at]):
                modules.add(module[1])
            # rustfmt ends a block with a brace that is indented as its attribute.
            elif not lines[at].rstrip().endswith(";"):
                while at + 1 < len(lines) and not re.match(rf"{indent}[}})\]]", lines[at]):
                    at += 1
            inside.update(range(start, at + 1))
        at += 1
    return inside, modules


def count(root, files):
    """Returns the figures of one crate."""
    figures = dict.fromkeys(COLUMNS, 0)
    texts = {path: (root / path).read_text().splitlines() for path in files}
    parsed = {path: test_lines(lines) for path, lines in texts.items() if path.suffix == ".rs"}
    test_modules = set()
    for path, (_, modules) in parsed.items():
        parent = path.parent if path.stem in ("lib", "main", "mod") else path.with_suffix("")
        test_modules.update(parent / name for name in modules)
    for path, lines in texts.items():
        figures["files"] += 1
        is_test = "tests" in path.parent.parts or path.name == "tests.rs" or path.name.startswith("test_")
        is_test = is_test or any(part in test_modules for part in [path.with_suffix(""), *path.parents])
        inside = parsed.get(path, (set(), set()))[0]
        for number, line in enumerate(lines):
            if is_test or number in inside:
                figures["test files" if is_test else "inline tests"] += 1
                continue
            figures["source"] += 1
            line = line.strip()
            kind = "blank" if not line else "comments" if line.startswith(COMMENTS[path.suffix]) else "code"
            figures[kind] += 1
    return figures


def report(root):
    """Prints the table of the tree in this directory."""
    files = [path.relative_to(root) for path in sorted(root.rglob("*")) if path.suffix in COMMENTS]
    crates = {"xtask": [path for path in files if path.parts[0] == "xtask"]}
    for manifest in sorted(root.glob("crates/*/Cargo.toml")):
        crate = manifest.parent.relative_to(root)
        crates[crate.name] = [path for path in files if crate in path.parents]
    rows = {name: count(root, files) for name, files in sorted(crates.items())}
    rows["**total**"] = {column: sum(row[column] for row in rows.values()) for column in COLUMNS}
    packages = (root / "Cargo.lock").read_text().count("[[package]]")
    print("| crate | " + " | ".join(COLUMNS) + " |\n| --- |" + " ---: |" * len(COLUMNS))
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(f"{row[column]:,}" for column in COLUMNS) + " |")
    print(f"\n{len(crates)} crates; {packages} packages in `Cargo.lock`.")


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] and sys.argv[1].startswith("-"):
        sys.exit("usage: cargo xtask count [COMMIT]")
    # A commit is counted from its archive, so files that are not tracked never count.
    top = Path(__file__).resolve().parent.parent
    commit = (sys.argv[1:] or ["HEAD"])[0]
    with tempfile.TemporaryDirectory() as directory:
        archive = subprocess.run(["git", "-C", top, "archive", commit], check=True, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", directory], check=True, input=archive.stdout)
        report(Path(directory))


main()
