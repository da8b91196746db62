"""Holds the recorded outputs of the OpenAI front against the types of OpenAI's own Python library, at a pinned version."""

import sys
from pathlib import Path

import kit

HERE = Path(__file__).resolve().parent
RECORDED = kit.ROOT / "crates/server/src/openai/golden"


def suite():
    python = kit.Kit("openai/requirements.txt").install(kit.place("openai"), "python").program("python")
    ran = kit.run([python, HERE / "golden.py", RECORDED], 120)
    print(ran.stdout, end="")
    if ran.code != 0:
        print(ran.stderr, end="", file=sys.stderr)
    return ran.code == 0


if __name__ == "__main__":
    kit.main(suite)
