"""Drives a browser through the web panel: a server of converse, a model on the loopback interface that follows a script.

The scenarios are in `scenarios/*.mjs`. A scenario fails if the page loads anything from elsewhere, violates its policy,
opens a dialog or has an error in a script, whatever else it checks.
"""

import argparse
import os
import shutil
import subprocess
from pathlib import Path

import kit

HERE = Path(__file__).resolve().parent


def browser():
    """Returns Debian's Chromium, installed if it is missing."""
    found = shutil.which("chromium")
    if not found:
        kit.done(["apt-get", "update", "--quiet"], limit=300)
        kit.done(["apt-get", "install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"], limit=600)
        found = shutil.which("chromium")
    if not found:
        raise kit.Failed("there is no Chromium: install Debian's package `chromium`")
    return found


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask panel")
    parser.add_argument("--binary", help="the converse to try; built if neither it nor a command is given")
    parser.add_argument(
        "--start", metavar="COMMAND", help="serves the panel; {port}, {token}, {model}, {project} and {home} are filled in"
    )
    parser.add_argument("--only", action="append", default=[], metavar="WORDS", help="scenarios whose names contain them")
    parser.add_argument("--shots", metavar="DIR", help="save pictures of the views and of failures")
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    options = parser.parse_args()
    if not options.start and not options.list:
        options.start = f"{kit.converse(options.binary)} serve --http 127.0.0.1:{{port}} --panel --openai"
    packages = kit.Kit("panel/npm").install(kit.place("panel"))
    words = ["node", HERE / "run.mjs", *(["--list"] if options.list else ["--start", options.start])]
    for one in options.only:
        words += ["--only", one]
    if options.shots:
        Path(options.shots).mkdir(parents=True, exist_ok=True)
        words += ["--shots", options.shots]
    more = {"PANEL_PACKAGES": str(packages.dir), "CHROMIUM": "" if options.list else browser()}
    return subprocess.run(list(map(str, words)), env={**os.environ, **more}).returncode == 0


if __name__ == "__main__":
    kit.main(suite)
