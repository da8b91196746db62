"""What turns cost with sessions in PostgreSQL, beside sessions in files: `cargo xtask replicas --stores`.

One server for each store, the same clients and the same turns, in turn, round after round. A turn calls one built-in tool and
answers; it counts from the request until the client has read its end. The clients are of this machine, so they and the
server share its cores: the ratio counts.
"""

import contextlib
import statistics
import tempfile
import threading
import time
from pathlib import Path

import kit
from turns import Client, Server

ROUNDS = 3


class Asking(Client):
    SAID = "@essentials.calculator expression={}*3"


def load(server, clients, seconds):
    """Returns the times of all turns in so many seconds, and what was wrong."""
    over = threading.Event()
    threads = [Asking([server.port], number, over) for number in range(clients)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    over.set()
    for thread in threads:
        thread.join(3 * 90)
    wrong = [problem for thread in threads for problem in thread.wrong]
    turns = [turn for thread in threads for turn in thread.turns]
    wrong += [f"turn {turn.number} ended as {turn.outcome!r}" for turn in turns if turn.outcome != "success"]
    return sorted(turn.took for turn in turns), wrong


def run(binary, clients, seconds):
    with tempfile.TemporaryDirectory(prefix="stores", dir="/tmp") as work, contextlib.ExitStack() as held:
        directory = Path(work)
        directory.chmod(0o755)
        (directory / "database").mkdir(mode=0o700)
        database = kit.Database(directory / "database")
        # As an administrator leaves it: it waits for the disk.
        database.start()
        held.callback(database.stop)
        tools, found, wrong = ["-e", "essentials", "--allow", "essentials.*"], {}, []
        for _ in range(ROUNDS):
            for number, (name, url) in enumerate({"files": None, "PostgreSQL": database.url}.items()):
                server = Server(binary, directory, number, url, tools)
                server.start()
                held.callback(server.program.kill)
                kit.until("the server is ready", 60, server.is_ready)
                times, problems = load(server, clients, seconds)
                wrong += problems
                server.program.kill()
                if times:
                    found.setdefault(name, []).append((len(times) / seconds, *(times[int(len(times) * share)] for share in (0.5, 0.99))))
        for name, rounds in found.items():
            rate, middle, late = (statistics.median(column) for column in zip(*rounds))
            print(f"{name}: {rate:.0f} turns a second by {clients} clients, p50 {middle * 1000:.0f} ms, p99 {late * 1000:.0f} ms")
        print(*(f"error: {problem}" for problem in wrong[:10]), sep="\n")
        return not wrong
