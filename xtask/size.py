#!/usr/bin/env python3
"""What the program is made of: `cargo xtask size [--binary PATH] [--top N]`. Prints Markdown.

Sizes are those of the symbol table, so the program must not be stripped (the release profile keeps names). A function counts
for the crate that its path begins with: a generic one for the crate that declares it, not the one whose types it is
compiled for. The second table adds up all copies of a function.
"""

import argparse
import collections
import re
import subprocess
from pathlib import Path

SECTIONS = [".text", ".rodata", ".data.rel.ro", ".eh_frame", ".eh_frame_hdr", ".gcc_except_table", ".rela.dyn"]


def crate(name):
    """Returns the crate of a demangled function: that of the type for a method of a trait."""
    path = re.match(r"[<&*(\[\s]*(?:(?:impl|dyn|mut|const) )*([A-Za-z_]\w*)::", name)
    return path[1] if path else "(not Rust)"


def functions(lines):
    """Returns names and sizes of functions from the lines of `nm`, each address once."""
    seen = set()
    for line in lines:
        address, size, kind, name = (line.rstrip("\n").split(" ", 3) + [""] * 4)[:4]
        # The thread-local symbols have no address of their own, undefined ones no size.
        if kind in {"t", "T", "w", "W"} and re.fullmatch("[0-9a-f]{8,}", size) and address not in seen:
            seen.add(address)
            yield re.sub(r"\.llvm\.\d+$", "", name), int(size, 16)


def sections(lines):
    """Returns the sizes of sections from the lines of `size --format=sysv`."""
    rows = (line.split() for line in lines)
    return {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[1].isdigit()}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def table(title, rows):
    print(f"\n| {title} | MB | copies |\n| --- | ---: | ---: |")
    for name, size, copies in rows:
        name = name if len(name) < 100 else name[:99] + "…"
        print(f"| `{name}` | {size / 1e6:.2f} | {copies:,} |")


def main():
    root = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=root / "target/release/converse")
    parser.add_argument("--top", type=int, default=25, help="rows of each table")
    options = parser.parse_args()

    sizes = sections(run("size", "--format=sysv", options.binary))
    print("| section | MB |\n| --- | ---: |")
    for name in SECTIONS:
        print(f"| `{name}` | {sizes.get(name, 0) / 1e6:.2f} |")

    crates, names = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0])
    for name, size in functions(run("nm", "--print-size", "--demangle", options.binary)):
        for figures in (crates[crate(name)], names[name]):
            figures[0] += size
            figures[1] += 1
    if not names:
        parser.error(f"{options.binary} has no symbols")
    for title, figures in [("crate", crates), ("function", names)]:
        rows = sorted(((name, *both) for name, both in figures.items()), key=lambda row: -row[1])
        table(title, rows[: options.top])


if __name__ == "__main__":
    main()
