#!/usr/bin/env python3
"""Checks the crates that changed since the main branch: format, lints, unit tests. `cargo xtask check [BASE]`."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def changed_files(base):
    """Returns the paths that differ from the base, committed or not."""
    if not base:
        names = git("for-each-ref", "--format=%(refname:short)", "refs/heads/main", "refs/remotes/origin/main")
        base = git("merge-base", "HEAD", (names.split() or ["HEAD"])[0]).strip()
    return [*git("diff", "--name-only", base).split("\n"), *git("ls-files", "-o", "--exclude-standard").split("\n")]


def cargo(*words):
    print("==", "cargo", *words, flush=True)
    if code := subprocess.run([CARGO, *words], cwd=ROOT).returncode:
        sys.exit(code)


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] and sys.argv[1].startswith("-"):
        sys.exit("usage: cargo xtask check [BASE]")
    changed = [path for path in changed_files("".join(sys.argv[1:])) if path]
    metadata = subprocess.run(
        [CARGO, "metadata", "--no-deps", "--format-version=1"], cwd=ROOT, check=True, capture_output=True
    )
    packages, kinds = [], set()
    for package in json.loads(metadata.stdout)["packages"]:
        folder = Path(package["manifest_path"]).parent.relative_to(ROOT)
        if any(folder in Path(path).parents for path in changed):
            packages += ["-p", package["name"]]
            kinds.update(kind for target in package["targets"] for kind in target["kind"])
    cargo("fmt", "--all", "--check")
    if any(Path(path).name in ("Cargo.toml", "Cargo.lock") for path in changed):
        for manifest in sorted(ROOT.glob("xtask/*/Cargo.toml")):  # their own workspaces, with lockfiles of their own
            cargo("fetch", "--locked", "--manifest-path", str(manifest.relative_to(ROOT)))
    if not packages:
        print("no crate changed")
        return
    cargo("clippy", *packages, "--all-targets", "--locked", "--", "-D", "warnings")
    units = [option for kind, option in (("lib", "--lib"), ("bin", "--bins")) if kind in kinds]
    cargo("test", *packages, *units, "--locked")


main()
