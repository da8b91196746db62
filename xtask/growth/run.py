"""Measures how the cost of one command grows: `cargo xtask bench --only growth`.

One table for each command, with one row for each size: messages of a session, tools of a server, servers, descriptors,
sessions. CPU is user plus system time of the process and of the descendants that it waited for. The least of some runs
counts, because other programs on the machine only add to it. The cost at the smallest size is subtracted. The suite fails
if one unit at the largest size costs more than 1.3 times one unit at a tenth of it, unless the whole command costs less
than 1.5 times what it costs at the smallest size. `content.py` writes the sessions and descriptors.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import content
import kit

GATE = 1.3
# The whole at the largest size, compared with the smallest: up to here it does not depend on the size.
SAME = 1.5
# Stored sessions up to this size are checked before anything is measured.
SOUND = 1000
# Seconds that the runs of one size take at most, after the first.
SPENT = 10
# Seconds after which a run is ended.
LIMIT = 300


class Model(BaseHTTPRequestHandler):
    """Answers each request with one word, and counts the tools that were offered."""

    protocol_version = "HTTP/1.1"
    tools = 0
    CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stub"}

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        Model.tools = body.count(b'"type":"function"')
        choice = {"index": 0, "delta": {"role": "assistant", "content": "done"}, "finish_reason": None}
        events = [{"choices": [choice]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
        lines = [f"data: {json.dumps({**self.CHUNK, **event})}\n\n" for event in events]
        answer = "".join([*lines, "data: [DONE]\n\n"]).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Place:
    """A home of its own, in which the measured commands run."""

    def __init__(self, binary, stub, port, work):
        self.binary, self.stub, self.work = binary, stub, Path(work)
        self.home = self.work / "home"
        # Every tool of a server is offered, however many there are.
        (self.home / ".config/converse").mkdir(parents=True)
        (self.home / ".config/converse/config.toml").write_text("[context]\nlazy_tools = 0\n")
        url = f"http://127.0.0.1:{port}/v1"
        self.env = {"PATH": kit.PATH, "HOME": str(self.home), "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "x"}

    @property
    def sessions(self):
        return self.home / ".local/share/converse/sessions"

    def fresh(self, name):
        """Returns an empty directory."""
        directory = self.work / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        return directory

    def run(self, words):
        """Runs the program once and returns its CPU time in ms and the end of its output."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            words = [str(word) for word in [self.binary, *words]]
            child = subprocess.Popen(
                words, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, process_group=0
            )
            timer = threading.Timer(LIMIT, os.killpg, (child.pid, signal.SIGKILL))
            timer.start()
            try:
                _, status, used = os.wait4(child.pid, 0)
            except BaseException:
                child.kill()
                raise
            finally:
                timer.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode != 0:
                errors.seek(0)
                said = kit.tail(errors.read(1 << 20).decode(errors="replace"))
                raise kit.Failed(f"`{' '.join(words)[:300]}` ended with {child.returncode}: {said}")
            out.seek(max(0, out.seek(0, os.SEEK_END) - 4096))
            return (used.ru_utime + used.ru_stime) * 1000, out.read().decode(errors="replace")


class Command:
    """A command whose cost is measured. `check` finds what is wrong with its output, `before` runs before each run."""

    def __init__(self, name, words, check=None, before=None):
        self.name, self.words, self.check, self.before = name, words, check, before

    def once(self, place, size):
        if self.before:
            self.before(place)
        cpu, said = place.run(self.words(place, size))
        problem = self.check and self.check(size, said)
        if problem:
            raise kit.Failed(f"{self.name}, {size:,}: {problem}")
        return cpu

    def cost(self, place, size, runs):
        """Returns the least CPU time of some runs in ms, after a run that does not count."""
        self.once(place, size)
        began, samples = time.monotonic(), []
        while len(samples) < runs and not (len(samples) > 1 and time.monotonic() - began > SPENT):
            samples.append(self.once(place, size))
        return min(samples)


class Growth:
    """What there is more of, in which sizes, and which commands are measured beside it."""

    def __init__(self, unit, sizes, prepare, *commands):
        self.unit, self.sizes, self.prepare, self.commands = unit, sizes, prepare, commands

    def costs(self, place, most, runs):
        """Returns (size, CPU in ms) in the order of sizes, for each command by name."""
        found = {command.name: [] for command in self.commands}
        for size in self.sizes:
            if size > most:
                break
            self.prepare(place, size)
            for command in self.commands:
                found[command.name].append((size, command.cost(place, size, runs)))
                print(f"{self.unit} {size:,}, {command.name}: {found[command.name][-1][1]:,.1f} ms", file=sys.stderr)
        return found


def rows(costs):
    """Returns (size, CPU, CPU of one unit in µs, ratio to the size before) for each size but the smallest, whose cost is
    subtracted from the others."""
    (none, base), *rest = costs
    found, last = [], None
    for size, cpu in rest:
        one = max(cpu - base, 0) / (size - none) * 1000
        found.append((size, cpu, one, one / last if last else None))
        last = one
    return found


def table(name, unit, costs):
    none, base = costs[0]
    lines = [
        f"| {name}: {unit} | CPU | CPU of one | ÷ size before |",
        "| ---: | ---: | ---: | ---: |",
        f"| {none:,} | {base:,.1f} ms | | |",
    ]
    for size, cpu, one, ratio in rows(costs):
        shown = "" if ratio is None else f"{ratio:.2f}"
        lines.append(f"| {size:,} | {cpu:,.1f} ms | {one:,.2f} µs | {shown} |")
    return "\n".join(lines)


def is_flat(costs):
    """Returns whether the gate is passed. Two sizes are too few to judge."""
    if len(costs) < 3:
        return True
    *_, (_, cpu, _, ratio) = rows(costs)
    return cpu <= SAME * costs[0][1] or ratio is not None and ratio <= GATE


# --- what grows


def offered(size, _):
    return None if Model.tools == size else f"{Model.tools} tools were offered"


def has(text):
    return lambda _, said: None if text in said else f"`{text}` was expected in {said[-200:]!r}"


def asks(place, *words):
    return ["ask", "-m", "openai-chat/stub", "--ephemeral", *words, "hello"]


def session(place, size):
    write(place, size, [(0, size)])


def sessions(place, size):
    write(place, size, ((number, content.OF_A_TURN) for number in range(size)))


def write(place, size, written):
    shutil.rmtree(place.sessions, ignore_errors=True)
    for number, messages in written:
        content.session(place.sessions, number, messages)
    # Journals that have to be repaired would cost more. Larger ones have the same lines.
    if size <= SOUND:
        place.run(["sessions", "check"])


def forget(name):
    """Removes the indexes of this name, so that the next command makes them again."""
    return lambda place: [path.unlink() for path in place.sessions.glob(name)]


def servers(count, tools):
    def prepare(place, size):
        directory = place.fresh("servers")
        for number in range(count(size)):
            content.server(directory, number, [place.stub, "--tools", tools(size)])

    return prepare


def with_servers(count):
    def words(place, size):
        names = [word for number in range(count(size)) for word in ("-e", f"s{number}")]
        return asks(place, "--ensembles", place.work / "servers", *names)

    return words


def descriptors(place, size):
    directory = place.fresh("descriptors")
    content.descriptors(directory, size)


def directories(place):
    return sorted((place.work / "descriptors").iterdir())


def roots(place):
    return [word for one in directories(place) for word in ("--ensembles", one)]


def tens(first, last):
    return [10**power for power in range(first, last + 1)]


def checked(place, _):
    return ["ensembles", "check", *directories(place)]


def search(name, **options):
    return Command(name, lambda *_: ["sessions", "search", "sunshine", "wanted"], has("sunshine"), **options)


def saved(*words):
    return lambda *_: ["ask", "-m", "openai-chat/stub", "--no-tools", *words, "hello"]


GROWTHS = [
    Growth(
        "messages", [4, *tens(3, 6)], session,
        Command("`sessions show --json`", lambda *_: ["sessions", "show", "last", "--json"], has("}")),
        search("`sessions search`"),
        search("`sessions search` without an index", before=forget("*/index")),
        Command("`ask -c`", saved("-c"), has("done")),
    ),
    Growth(
        "tools", [4, *tens(1, 4)], servers(lambda _: 1, lambda size: size),
        Command("`ask`", with_servers(lambda _: 1), offered),
    ),
    Growth(
        "servers", [1, 2, 10, 100], servers(lambda size: size, lambda _: 4),
        Command("`ask`", with_servers(lambda size: size), lambda size, said: offered(4 * size, said)),
    ),
    Growth(
        "descriptors", [1, *tens(1, 4)], descriptors,
        Command("`ensembles check`", checked),
        Command("`ensembles list`", lambda place, _: ["ensembles", "list", *roots(place)]),
        Command("`ask --no-tools`", lambda place, _: asks(place, *roots(place), "--no-tools"), has("done")),
    ),
    Growth(
        "sessions", [1, *tens(2, 5)], sessions,
        Command("`sessions list`", lambda *_: ["sessions", "list"]),
        Command("`sessions list` without an index", lambda *_: ["sessions", "list"], before=forget("list-index")),
        search("`sessions search`"),
        Command("`ask`", saved(), has("done")),
        Command("`ask -c`", saved("-c"), has("done")),
    ),
]  # fmt: skip


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask bench --only growth")
    parser.add_argument("--binary", help="the converse to measure; a release is built if it is not given")
    parser.add_argument("--stub-mcp", help="the server of tools (`xtask/floor`); built if it is not given")
    parser.add_argument("--runs", type=int, default=5, help="the least CPU time of so many runs counts")
    parser.add_argument("--most", type=int, default=10**6, help="leave out larger sizes")
    parser.add_argument("--of", action="append", choices=[one.unit for one in GROWTHS], help="measure only this")
    parser.add_argument("--database", type=int, metavar="N", help="measure one session among N in PostgreSQL instead")
    parser.add_argument("--own", type=int, default=100, help="with --database: so many of them are of the measured owner")
    options = parser.parse_args()
    if options.database:
        sys.path.append(str(Path(__file__).resolve().parent.parent / "replicas"))
        import database

        return database.run(kit.converse(options.binary, "--release"), options.database, options.own)
    # Sessions that others can read count as damaged.
    os.umask(0o077)
    kit.place("growth")
    floor = ["--release", "--locked", "--manifest-path", "xtask/floor/Cargo.toml", "--target-dir", "target/floor"]
    stub = options.stub_mcp or kit.build(*floor, "--bin", "stub-mcp", name="stub-mcp")
    binary = kit.converse(options.binary, "--release")
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    steep = []
    with tempfile.TemporaryDirectory() as work:
        place = Place(binary, Path(stub).resolve(), model.server_port, work)
        for growth in GROWTHS:
            if options.of and growth.unit not in options.of:
                continue
            for name, costs in growth.costs(place, options.most, options.runs).items():
                print(table(name, growth.unit, costs), end="\n\n", flush=True)
                if not is_flat(costs):
                    steep.append(f"{name}: the cost of one of the {growth.unit} grew by more than {GATE}")
    print(*(f"error: {one}" for one in steep), sep="\n", file=sys.stderr)
    return not steep


if __name__ == "__main__":
    kit.main(suite)
