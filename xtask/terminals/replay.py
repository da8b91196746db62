"""Feeds tapes to pyte and compares the rows in its history: `replay.py DIRECTORY`. Exit 1 if a row is lost or doubled.

A tape has one JSON object a line: `{"columns": N, "rows": N}` is a size, `{"hex": "…"}` what was written then, and
`{"expected": N}` at the end the number of rows.
"""

import json
import re
import sys
from pathlib import Path

import pyte

ROW = re.compile(r"^[\s•*-]*row (\d+)\s*$")


def rows(screen):
    """Returns the numbers of the rows that have left the screen and of those on it."""
    above = ["".join(line[column].data for column in range(screen.columns)) for line in screen.history.top]
    return [int(found[1]) for line in [*above, *screen.display] if (found := ROW.match(line))]


def replay(tape):
    """Returns what is wrong with the history of a tape, or None."""
    screen = stream = None
    for line in tape.read_text().splitlines():
        event = json.loads(line)
        if "hex" in event:
            stream.feed(bytes.fromhex(event["hex"]))
        elif "expected" in event:
            found, expected = rows(screen), list(range(1, event["expected"] + 1))
            if found != expected:
                lost, doubled = sorted(set(expected) - set(found)), sorted({n for n in found if found.count(n) > 1})
                return f"lost {lost}, doubled {doubled}, {len(found)} of {len(expected)} rows"
            return None
        elif screen is None:
            screen = pyte.HistoryScreen(event["columns"], event["rows"], history=100_000)
            stream = pyte.ByteStream(screen)
        else:
            screen.resize(event["rows"], event["columns"])
    return "the tape has no end"


def main(directory):
    wrong = 0
    for tape in sorted(Path(directory).iterdir()):
        problem = replay(tape)
        print(f"{tape.name}: {problem or 'whole'}")
        wrong += problem is not None
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
