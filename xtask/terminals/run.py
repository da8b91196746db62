"""Replays random sequences in the terminal on an emulator of others (pyte, PyPI): its history has each row of the answers once.

The sequences are those of the end-to-end test that holds them against the emulator of the tests (`scenes/sequences.rs`).
"""

import argparse
import os
import tempfile
from pathlib import Path

import kit

TEST = "scenes::sequences"
TEST_LIMIT = 1200


def suite():
    argparse.ArgumentParser(prog="cargo xtask terminals").parse_args()
    directory = kit.place("terminals")
    emulators = kit.Kit("terminals/requirements.txt").install(directory, "emulators")
    with tempfile.TemporaryDirectory(prefix="tapes", dir=directory) as tapes:
        cargo = [os.environ.get("CARGO", "cargo"), "test", "--locked", "-p", "converse", "--test", "it", "--", TEST]
        kit.done(cargo, TEST_LIMIT, cwd=kit.ROOT, more={"CONVERSE_TAPES": tapes})
        if not list(Path(tapes).iterdir()):
            raise kit.Failed("the test has written no tape")
        replayed = kit.run([emulators.program("python"), kit.ROOT / "xtask/terminals/replay.py", tapes], 600)
        print(replayed.stdout, end="")
        if replayed.code not in (0, 1) or replayed.stderr:
            raise kit.Failed(f"the tapes were not replayed\n{replayed.report()}")
        return replayed.code == 0


if __name__ == "__main__":
    kit.main(suite)
