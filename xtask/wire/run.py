"""Holds the requests of converse against the types of the vendors' own clients (PyPI, at pinned versions).

The requests are those of the end-to-end tests that speak every wire, recordings included where `CONVERSE_CASSETTES`
names them, and those that the corpus of the provider crate prescribes.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

import kit

# The tests that speak every wire: their requests are what is checked. They may have to be built first.
TESTS = ["cassettes", "matrix", "loops", "sessions", "structured", "attach"]
TEST_LIMIT = 1200
DIALECTS = {
    "anthropic-messages": "anthropic",
    "openai-chat": "chat",
    "openai-responses": "responses",
    "gemini": "gemini",
    "ollama": "ollama",
}


def corpus(folder):
    """Writes the bodies of the corpus that are for the vendor itself: compatible servers take and want other keys, and
    so do users who write them. Blocks of an unknown kind go back as they came."""
    for label, dialect in DIALECTS.items():
        for case in (kit.ROOT / "crates/provider/tests/corpus" / label).iterdir():
            prompt, request = (
                json.loads(path.read_text()) if (path := case / name).exists() else {}
                for name in ("prompt.json", "request.json")
            )
            is_of_another = prompt.get("endpoint", label) not in (label, "openai")
            is_extended = {"extra", "fallbacks"} & prompt.get("controls", {}).keys() or "novel_" in json.dumps(request)
            if "body" in request and not is_of_another and not is_extended:
                (folder / f"{dialect}-corpus-{case.name}.json").write_text(json.dumps(request["body"]))


def suite():
    argparse.ArgumentParser(prog="cargo xtask wire").parse_args()
    directory = kit.place("wire")
    clients = kit.Kit("wire/requirements.txt").install(directory, "clients")
    with tempfile.TemporaryDirectory(prefix="requests", dir=directory) as work:
        corpus(Path(work))
        cargo = [os.environ.get("CARGO", "cargo"), "test", "--locked", "-p", "converse", "--test", "it", "--", *TESTS]
        kit.done(cargo, TEST_LIMIT, cwd=kit.ROOT, more={"CONVERSE_WIRE_DUMP": work})
        checked = kit.run([clients.program("python"), kit.ROOT / "xtask/wire/check.py", work], 300)
        print(checked.stdout, end="")
        if checked.code not in (0, 1) or checked.stderr:
            raise kit.Failed(f"the requests were not checked\n{checked.report()}")
        return checked.code == 0


if __name__ == "__main__":
    kit.main(suite)
