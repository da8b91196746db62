"""Kills one of several servers with one database every few seconds, while clients run turns through all of them in turn.

Every turn that was accepted must end with an answer or a recorded interruption, on the server that runs it or another one. Each
turn carries a number, and a tool notes it: no number may be noted twice. What clients see, at whatever server, must be
what the session has, without a gap and without anything twice.

With `--orderly` the servers are told to end instead, and started again, one after the other, as an administrator does it. Then
no turn may be interrupted either, and every request must be answered by a server.
"""

import collections
import contextlib
import http.client
import itertools
import json
import re
import signal
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import kit
from upstreams import Remote, describe

HERE = Path(__file__).resolve().parent
CLIENTS = 40
KILL_EVERY = 5
# A server that was killed is started again so soon.
AWAY = 1
# A lease and the heartbeat that finds it out take up to 14 seconds; the rest is for a machine with other work.
PATIENCE = 90
PAUSE = 0.2
WAITS = {"busy", "idempotency-key-in-use", "no-database", "overloaded", "too-many-turns", "stopping"}
# In an orderly restart: what the tool of a turn takes, so that some turns run whenever a server is told to end; the limit of
# the end, which is that of `--drain` and a little; and the time until the proxy uses a server again.
TOOL_TAKES = 0.5
ENDING = 45
BETWEEN = 2
# What nginx answers for a server that was killed with the request.
GATEWAY_ERRORS = {502, 504}


class Server:
    """`converse serve` at a port that it keeps, on a machine of its own: another home. Without a URL its sessions are files."""

    def __init__(self, binary, directory, number, url, tools):
        self.port, self.program, self.directory = kit.free_port(), None, directory
        self.words = [binary, "serve", "--http", f"127.0.0.1:{self.port}", "--no-auth", "--api", *tools]
        self.words += ["--store", url] if url else []
        self.env = {"PATH": kit.PATH, "HOME": str(directory / f"home{number}")}

    def start(self):
        self.program = kit.Program(self.words, cwd=self.directory, env=self.env)

    def restart(self):
        """Returns the seconds from the signal until the server had ended."""
        told = time.monotonic()
        self.program.signal(signal.SIGTERM)
        ran = self.program.end(ENDING)
        if ran.code != 0:
            raise kit.Failed(f"a server ended badly\n{ran.report()}")
        took = time.monotonic() - told
        self.start()
        kit.until("the server is ready again", 60, self.is_ready)
        return took

    def is_ready(self):
        try:
            return ask(self.port, "GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False


def ask(port, method, path, body=None, headers={}):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        more = {"content-type": "application/json", "accept": "application/json", **headers}
        connection.request(method, path, json.dumps(body) if body is not None else None, more)
        answer = connection.getresponse()
        text = answer.read().decode()
        return answer.status, json.loads(text) if text.startswith("{") else {}
    finally:
        connection.close()


@dataclass
class Turn:
    number: int
    run: str
    # Nothing while it runs.
    outcome: str = ""
    # Seconds from the first request until the client has read the end.
    took: float = 0


@dataclass
class Seen:
    """What a client has seen of its session."""

    position: str = "0.0.0"
    users: list = field(default_factory=list)
    calls: list = field(default_factory=list)
    results: list = field(default_factory=list)
    texts: dict = field(default_factory=lambda: collections.defaultdict(str))
    ends: list = field(default_factory=list)
    # The run that the next events belong to: an end by an error does not name its own.
    run: str = ""

    def take(self, event):
        match event["type"]:
            case "RUN_STARTED":
                self.run = event["runId"]
            case "CUSTOM" if event["name"] == "converse.user":
                self.users.append(event["value"]["index"])
            case "TOOL_CALL_START":
                self.calls.append(event["toolCallId"])
            case "TOOL_CALL_RESULT":
                self.results.append(event["toolCallId"])
            case "TEXT_MESSAGE_CONTENT":
                self.texts[event["messageId"]] += event["delta"]
            case "RUN_FINISHED" | "RUN_ERROR":
                self.ends.append(event)


class Client(threading.Thread):
    """Runs turns in one session, each request at the next server, until `over` is set."""

    SAID = "@noted.note number={}"

    def __init__(self, ports, number, over):
        super().__init__(daemon=True)
        self.ports = itertools.cycle(ports[number % len(ports) :] + ports[: number % len(ports)])
        self.first, self.over = number * 1_000_000, over
        self.session, self.turns, self.seen, self.wrong = None, [], Seen(), []
        self.cut, self.failed, self.refused = 0, collections.Counter(), collections.Counter()

    def run(self):
        for number in itertools.count(self.first + 1):
            if self.over.is_set() or self.wrong:
                return
            try:
                began = time.monotonic()
                if turn := self.accepted(number):
                    self.turns.append(turn)
                    self.follow(turn)
                    turn.took = time.monotonic() - began
            except kit.Failed as failed:
                self.wrong.append(str(failed))

    def tries(self, what):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            yield next(self.ports)
            time.sleep(PAUSE)
        raise kit.Failed(f"{what}: not within {PATIENCE} s")

    def accepted(self, number):
        """Begins a turn; returns nothing if it was cut before it was accepted."""
        said = self.SAID.format(number)
        run = f"r{number}"
        body = {"threadId": self.session or "", "runId": run, "messages": [{"role": "user", "content": said}]}
        body["forwardedProps"] = {"model": "understudy"}
        last = None
        for port in self.tries(f"turn {number} is accepted"):
            try:
                status, last = ask(port, "POST", "/api/runs", body, {"idempotency-key": run})
            except (OSError, http.client.HTTPException) as error:
                last = error
                self.failed[type(error).__name__] += 1
                continue
            if status in GATEWAY_ERRORS:
                self.failed[status] += 1
                continue
            if status == 202:
                self.session = last["session"]
                return Turn(number, run)
            code = last.get("error", {}).get("code")
            if code == "idempotency-key-interrupted":
                self.cut += 1
                return None
            self.refused[code] += 1
            if code not in WAITS:
                raise kit.Failed(f"turn {number} was refused with {status}: {last}")
        return None

    def follow(self, turn):
        """Reads events until the end of the turn, each time at the next server from the last position on."""
        for port in self.tries(f"turn {turn.number} of session {self.session} ends"):
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.followed(port, turn):
                    return

    def followed(self, port, turn):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request("GET", f"/api/sessions/{self.session}/events", headers={"last-event-id": self.seen.position})
            answer = connection.getresponse()
            if answer.status != 200:
                return False
            position, events, end = None, [], time.monotonic() + PATIENCE
            while line := answer.readline().decode():
                # Comments keep the connection open.
                if time.monotonic() > end:
                    raise kit.Failed(f"the end of turn {turn.number} of session {self.session} was not seen within {PATIENCE} s")
                line = line.rstrip("\n")
                if line.startswith("id: "):
                    position = line[4:]
                elif line.startswith("data: "):
                    events.append(json.loads(line[6:]))
                elif not line and position:
                    # What came without a position is sent again after the connection.
                    for event in events:
                        self.seen.take(event)
                        if event["type"] in ("RUN_FINISHED", "RUN_ERROR") and self.seen.run == turn.run:
                            turn.outcome = event.get("outcome", {}).get("type") or event.get("code")
                    self.seen.position, position, events = position, None, []
                    if turn.outcome:
                        return True
            return False
        finally:
            connection.close()


def number(message):
    return int(re.search(r"number=(\d+)", json.dumps(message)).group(1))


def problems(client, shown, noted, is_orderly=False):
    """Returns what is wrong with a client's session, by what the session has. After orderly restarts nothing was interrupted."""
    found, times, where = list(client.wrong), collections.Counter(noted), f"session {client.session}"
    if shown.get("running", True):
        return [*found, f"{where}: {json.dumps(shown)[:300]}"]
    messages, seen = shown["messages"], client.seen
    accepted = [turn.number for turn in client.turns]
    # Nobody follows what was cut before it was accepted, if no turn came after it.
    numbered = [(number(message), at) for at, message in enumerate(messages) if message["role"] == "user"]
    later = [at for one, at in numbered if not accepted or one > accepted[-1]]
    messages = messages[: min(later, default=len(messages))]
    numbers = [one for one, at in numbered if at < len(messages)]
    if missing := set(accepted) - set(numbers):
        found.append(f"{where}: accepted and not saved: {sorted(missing)[:5]}")
    if len(set(numbers)) != len(numbers):
        found.append(f"{where}: a turn is there twice")
    if len(set(seen.users)) != len(seen.users) or len(seen.users) < len(accepted):
        found.append(f"{where}: {len(accepted)} turns, and {len(seen.users)} questions were seen, {len(set(seen.users))} different")
    results = [message["id"] for message in messages if message["role"] == "tool"]
    for kind, had in (("calls", seen.calls), ("results", seen.results)):
        doubled = [one for one, count in collections.Counter(had).items() if count > 1]
        gone = set(results) - set(had)
        if doubled or gone:
            found.append(f"{where}: {kind} seen twice: {doubled[:5]}, not seen: {sorted(gone)[:5]}")
    # By the results: the understudy may answer an earlier question that was interrupted.
    told = json.dumps([message for message in messages if message["role"] == "tool"])
    for one in map(int, re.findall(r"heard (\d+)\.", told)):
        if times[one] != 1:
            found.append(f"{where}: {one} has a result, and was noted {times[one]} times")
    for turn in client.turns:
        if turn.outcome not in (("success",) if is_orderly else ("success", "interrupted")):
            found.append(f"{where}: turn {turn.number} ended as {turn.outcome!r}")
    if is_orderly and (client.cut or client.failed):
        found.append(f"{where}: {client.cut} requests were cut, and others failed: {dict(client.failed)}")
    interrupted = sum(turn.outcome == "interrupted" for turn in client.turns)
    ends = [end.get("runId") for end in seen.ends if end.get("runId")]
    if doubled := [run for run, count in collections.Counter(ends).items() if count > 1]:
        found.append(f"{where}: ends seen twice: {doubled[:5]}")
    texts = ["".join(part.get("text", "") for part in one["parts"] if part["type"] == "text") for one in messages if one["role"] == "assistant"]
    wrong = [text for text in texts if text and text not in seen.texts.values()]
    if len(wrong) > interrupted:
        found.append(f"{where}: {len(wrong)} answers were seen otherwise, as {wrong[0]!r}")
    return found


def killed(servers, end):
    """Kills one server after the other until `end`. Returns how many times."""
    kills = 0
    while time.monotonic() + KILL_EVERY < end:
        time.sleep(KILL_EVERY - AWAY)
        server = servers[kills % len(servers)]
        server.program.kill()
        time.sleep(AWAY)
        server.start()
        kills += 1
    time.sleep(max(0, end - time.monotonic()))
    return f"{kills} kills"


def restarted(servers, end, database):
    """Restarts one server after the other until `end`. Returns how many times, and what was seen."""
    running, took = [], []
    while time.monotonic() < end:
        time.sleep(BETWEEN)
        running.append(int(database.value("SELECT count(*) FROM converse.turns WHERE process IS NOT NULL")))
        took.append(servers[len(took) % len(servers)].restart())
    return f"{len(took)} restarts of {min(took):.1f} to {max(took):.1f} s, each with {min(running)} to {max(running)} turns running"


def proxied(nginx, directory, servers):
    """Starts nginx in front of the servers; returns the program and its port."""
    configuration, port = (HERE / "nginx.conf").read_text(), kit.free_port()
    members = "".join(f"        server 127.0.0.1:{server.port} max_fails=0;\n" for server in servers)
    configuration = re.sub(r"(?:        server .*;\n)+", members, configuration, count=1)
    configuration = configuration.replace("{dir}", str(directory)).replace("{port}", str(port))
    (directory / "nginx.conf").write_text(configuration)
    front = kit.Program([nginx, "-c", directory / "nginx.conf", "-p", directory])
    kit.until(lambda: f"nginx starts: {front.text(front.outputs[1])}", 60, lambda: kit.listens(port))
    return front, port


def run(binary, count, seconds, clients=CLIENTS, nginx=None, is_orderly=False):
    """With `nginx`, that program is in front of the servers, and clients know it alone."""
    with tempfile.TemporaryDirectory(prefix="turns", dir="/tmp") as work, contextlib.ExitStack() as held:
        directory = Path(work)
        directory.chmod(0o755)
        (directory / "database").mkdir(mode=0o700)
        (directory / "ensembles").mkdir()
        database, log = kit.Database(directory / "database"), directory / "noted.log"
        database.start()
        held.callback(database.stop)
        tool = Remote(log, *([TOOL_TAKES] if is_orderly else []))
        tool.start()
        held.callback(tool.kill)
        describe(directory / "ensembles", "noted", f'transport = "http"\nurl = "http://127.0.0.1:{tool.port}/mcp"\n')
        tools = ["--ensembles", directory / "ensembles", "-e", "noted", "--allow", "noted.*"]
        servers = [Server(binary, directory, number, database.url, tools) for number in range(count)]
        for server in servers:
            server.start()
            held.callback(lambda server=server: server.program.kill())
        kit.until("the servers are ready", 60, lambda: all(server.is_ready() for server in servers))
        idle = statements(database, count)
        ports = [server.port for server in servers]
        if nginx:
            front, port = proxied(nginx, directory, servers)
            held.callback(front.kill)
            ports = [port]
        began, over = time.monotonic(), threading.Event()
        clients = [Client(ports, number, over) for number in range(clients)]
        for client in clients:
            client.start()
        losses = restarted(servers, began + seconds, database) if is_orderly else killed(servers, began + seconds)
        over.set()
        for client in clients:
            client.join(3 * PATIENCE)
        kit.until("the servers are ready again", 60, lambda: all(server.is_ready() for server in servers))
        noted = [int(line) for line in log.read_text().split()]
        turns = [turn for client in clients for turn in client.turns]
        found = []
        for client in clients:
            path = f"/api/sessions/{client.session}?from=0&limit=1000"
            found += problems(client, ask(servers[0].port, "GET", path)[1], noted, is_orderly)
        if doubled := [number for number, times in collections.Counter(noted).items() if times > 1]:
            found.append(f"{len(doubled)} numbers were noted twice, as {doubled[:5]}")
        outcomes = collections.Counter(turn.outcome for turn in turns)
        print(
            f"{count} servers{' behind nginx' if nginx else ''}, {len(clients)} clients, {seconds:.0f} s, {losses}: "
            f"{len(turns)} turns accepted, "
            f"{outcomes['success']} answered, {outcomes['interrupted']} interrupted, "
            f"{sum(client.cut for client in clients)} cut before they were accepted, "
            f"asked to try again: {dict(sum((client.refused for client in clients), collections.Counter()))}; "
            f"an idle server sends {idle:.2f} statements a second"
        )
        if found:
            reports = [kit.tail(server.program.text(server.program.outputs[1])) for server in servers]
            print(*(f"error: {problem}" for problem in found[:20]), *reports, sep="\n", file=sys.stderr)
        return not found


def statements(database, count):
    """Returns how many transactions a second one idle server makes."""
    sql = "SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database WHERE datname = 'postgres'"
    seconds = 20
    # A connection reports what it did at the beginning when it has been idle for ten seconds.
    time.sleep(12)
    before = int(database.value(sql))
    time.sleep(seconds)
    # The question itself is one.
    return max(0, int(database.value(sql)) - before - 1) / seconds / count
