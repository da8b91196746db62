"""What turns cost with sessions in PostgreSQL, beside sessions in files: `cargo xtask replicas --stores`.

One server for each store, the same clients and the same turns, in turn, round after round. A turn calls one built-in tool and
answers; it counts from the request until the client has read the end of its stream. The clients are of this machine, so they and the
server share its cores: the ratio counts.
"""

import contextlib
import http.client
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path

import kit
from turns import PATIENCE, Server

ROUNDS = 3
# Turns of one session: longer ones cost more with any store.
OF_A_SESSION = 8


class Asking(threading.Thread):
    """Runs turns, with a stream for each, until `over` is set."""

    def __init__(self, port, over):
        super().__init__(daemon=True)
        self.port, self.over, self.session, self.took, self.wrong = port, over, "", [], []

    def run(self):
        while not self.over.is_set() and not self.wrong:
            began = time.monotonic()
            if len(self.took) % OF_A_SESSION == 0:
                self.session = ""
            try:
                last = self.turn()
            except (OSError, ValueError, http.client.HTTPException) as error:
                last = {"error": str(error)}
            if last.get("outcome", {}).get("type") != "success":
                self.wrong.append(f"a turn of session {self.session} ended with {last}")
            self.took.append(time.monotonic() - began)

    def turn(self):
        """Returns the last event."""
        message = {"role": "user", "content": "@essentials.calculator expression=3*4"}
        body = {"threadId": self.session, "messages": [message], "forwardedProps": {"model": "understudy"}}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("POST", "/api/runs", json.dumps(body), {"content-type": "application/json"})
            answer, event = connection.getresponse(), {}
            while event.get("type") not in ("RUN_FINISHED", "RUN_ERROR") and (line := answer.readline().decode()):
                if line.startswith("data: "):
                    event = json.loads(line[6:])
                    self.session = event.get("threadId", self.session)
            return event
        finally:
            connection.close()


def load(server, clients, seconds):
    """Returns the times of all turns in so many seconds, and what was wrong."""
    over = threading.Event()
    threads = [Asking(server.port, over) for _ in range(clients)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    over.set()
    for thread in threads:
        thread.join(2 * PATIENCE)
    return sorted(took for thread in threads for took in thread.took), [one for thread in threads for one in thread.wrong]


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
