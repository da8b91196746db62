#!/usr/bin/env python3
"""Chooses the external suites of the gate: `.ci/run --plan` prints the choice.

A suite runs if a path that matches its pattern changed since the suite last passed here (`passed SUITE` notes that in
`target/gate`). On a machine without such notes the previous landing counts: the commits of the last hours, or those
that `origin/main` does not have. One of the other suites runs in turn, chosen by the number of commits. Without any
history all run. `.ci/run` skips what no longer fits into its time, and says so.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTES = ROOT / "target/gate"
# Commits that follow each other within so many seconds are one landing.
LANDING = 6 * 3600
# Changes of these concern every suite.
EVERY = r"^\.ci/|^Cargo\.|^rust-toolchain|^\.cargo/|^xtask/(gate|kit)|^xtask/src/main"
# Minutes from nothing on two cores, and the paths that the suite tests. Most valuable first.
SUITES = {
    "validators": (
        2,
        r"config/|foreign|diagnos|sarif|junit|format|^ensembles/|action|pre-commit|^xtask/(ci|validators)",
    ),
    "terminals": (1, r"terminal|editor|screen|^xtask/terminals"),
    "wire": (2, r"provider|canister|^xtask/wire"),
    "instructions": (3, r"^crates/|^xtask/(instructions|floor|src/)"),
    "crash": (6, r"session|journal|audit|process|child|atomic|trust|crash|approv|postgres"),
    "conformance": (6, r"mcp|gateway|server|serve|auth|sampl|elicit|^xtask/conformance"),
    "openai": (2, r"server|serve|api/|openai|^xtask/(openai|panel/(model|settings|waiting))"),
    "panel": (6, r"server/src/(front|panel)|screen/src/(html|highlight)|approvals|^xtask/panel"),
    "openapi": (3, r"foreign|request|template|style|^xtask/openapi"),
    "real": (2, r"provider|canister|http|route|wire|model|^xtask/real"),
    "replicas": (8, r"gateway|server|serve|mcp|postgres|^xtask/(replicas|floor)"),
    "durable": (5, r"worker|batch|eval/src|session|journal|engine/src/(driver|ports|conversation)|^xtask/(durable|replicas)"),
    "interop": (7, r"mcp|gateway|server|serve|ensemble|process|child|sandbox|understudy|^xtask/interop"),
}


def git(*words):
    """Returns the output of git, or None if it failed."""
    ran = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return ran.stdout.strip() if ran.returncode == 0 else None


def previous_landing():
    """Returns the commit before the newest landing, or None if the history does not reach so far."""
    upstream = git("merge-base", "HEAD", "origin/main")
    if upstream and upstream != git("rev-parse", "HEAD"):
        return upstream
    newest, base = None, None
    for line in (git("log", "--first-parent", "--format=%ct %H") or "").splitlines():
        seconds, commit = line.split()
        newest = newest or int(seconds)
        if newest - int(seconds) > LANDING:
            base = commit
            break
    return base


def changed_since(commit):
    """Returns the paths that differ from the commit, or None if that cannot be known."""
    if not commit or git("merge-base", "--is-ancestor", commit, "HEAD") is None:
        return None
    tracked, new = git("diff", "--name-only", commit), git("ls-files", "--others", "--exclude-standard")
    return None if tracked is None or new is None else [*tracked.splitlines(), *new.splitlines()]


def choose(changed, commits, everything=False):
    """Returns (suite, runs, reason) for each suite.

    `changed` maps each suite to the paths that changed since it passed, or to None; `commits` drives the rotation.
    """
    chosen = {}
    for suite, (_, pattern) in SUITES.items():
        paths = changed[suite]
        found = [path for path in paths or [] if re.search(f"{EVERY}|{pattern}", path)]
        if everything:
            chosen[suite] = (True, "all are asked for")
        elif paths is None:
            chosen[suite] = (True, "what changed is not known")
        elif found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            chosen[suite] = (True, f"{found[0]}{more} changed")
        else:
            chosen[suite] = (False, "nothing that it tests changed since it passed or since the previous landing")
    others = [suite for suite, (runs, _) in chosen.items() if not runs]
    if others:
        chosen[others[commits % len(others)]] = (True, "its turn")
    return [(suite, *chosen[suite]) for suite in SUITES]


def main(words):
    if words[:1] == ["passed"] and len(words) == 2 and words[1] in SUITES:
        NOTES.mkdir(parents=True, exist_ok=True)
        # A tree with local changes is not the commit.
        if git("status", "--porcelain") == "":
            (NOTES / words[1]).write_text(git("rev-parse", "HEAD") or "")
        return
    if words not in ([], ["--all"]):
        sys.exit("usage: gate.py [--all] | gate.py passed SUITE")
    landing = previous_landing()
    changed = {}
    for suite in SUITES:
        note = NOTES / suite
        paths = changed_since(note.read_text()) if note.is_file() else None
        changed[suite] = changed_since(landing) if paths is None else paths
    commits = int(git("rev-list", "--count", "HEAD") or 0)
    for suite, runs, reason in choose(changed, commits, words == ["--all"]):
        print("run" if runs else "skip", suite, SUITES[suite][0], reason)


if __name__ == "__main__":
    main(sys.argv[1:])
