"""Kills the servers behind one gateway again and again, under load, and starts one of them late.

Every call carries a number, and a server notes a number before it answers. A call must be answered: with the number that
it carried, or, while its server is away, with an error. No number may be noted twice or be answered without being noted.
"""

import collections
import contextlib
import http.client
import json
import os
import signal
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import kit

HERE = Path(__file__).resolve().parent
CLIENTS = 50
# Between two calls of a client: the load is there to meet each moment, not to fill the machine.
PAUSE = 0.1
# A call that takes longer counts as lost.
PATIENCE = 60
# A server must be in use again so soon after it is back, also on a machine with other work: a gateway that has given up, or
# waits longer after each death, is seen all the same.
RECOVERY = 10
# So long after a server is back, or until it was used again if that is longer, its calls may still fail.
SETTLING = 2
# How long the server over HTTP is away.
AWAY = 1
# The gateway once gave up after four deaths of a server. The load goes on until there were so many, up to so many times as
# long as it should.
DEATHS = 5
LONGER = 4
SHARES = {"piped": 25, "remote": 20, "late": 5}


@dataclass
class Called:
    server: str
    number: int
    began: float
    ended: float
    # Nothing if the call was answered with its number.
    wrong: str
    # Whether the gateway gave no answer at all.
    lost: bool = False


@dataclass
class Absence:
    """A server is away from `gone` to `back`, both taken so that the time between holds all of its death."""

    server: str
    gone: float
    back: float


class Client(threading.Thread):
    """Calls a server until `over` is set."""

    def __init__(self, port, server, first, over=None):
        super().__init__(daemon=True)
        self.port, self.server, self.number, self.over = port, server, first, over
        self.called, self.kept = [], None

    def run(self):
        while not self.over.wait(PAUSE):
            self.number += 1
            began, wrong, lost = time.monotonic(), "", False
            try:
                wrong = self.call()
            except (OSError, http.client.HTTPException, ValueError) as error:
                wrong, lost, self.kept = f"{type(error).__name__}: {error}", True, None
            self.called.append(Called(self.server, self.number, began, time.monotonic(), wrong, lost))

    def is_answered(self):
        """Makes one call, which does not count."""
        self.number += 1
        try:
            return not self.call()
        except (OSError, http.client.HTTPException, ValueError):
            self.kept = None
            return False

    def call(self):
        """Returns what is wrong with the answer."""
        name, version = f"{self.server}__note", "2026-07-28"
        prefix = "io.modelcontextprotocol/"
        meta = {f"{prefix}protocolVersion": version, f"{prefix}clientCapabilities": {}}
        params = {"name": name, "arguments": {"number": self.number}, "_meta": meta}
        body = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params})
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        headers |= {"mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": name}
        self.kept = self.kept or http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self.kept.request("POST", "/mcp", body, headers)
        text = self.kept.getresponse().read().decode()
        # The answer is the last event where it is a stream.
        data = [line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
        said = json.loads(data[-1] if data else text)
        is_right = f"heard {self.number}." in json.dumps(said.get("result") or {})
        return "" if is_right else json.dumps(said.get("result") or said.get("error") or said)[:300]


def problems(called, noted, absences):
    """Returns every way in which a call was lost or doubled, or a server was not used again."""
    found, times = [], collections.Counter(noted)
    doubled = [number for number, count in times.items() if count > 1]
    answered = [one for one in called if not one.wrong]
    if doubled:
        found.append(f"{len(doubled)} calls were done twice, as {doubled[:5]}")
    if missing := [one.number for one in answered if one.number not in times]:
        found.append(f"{len(missing)} calls were answered and not done, as {missing[:5]}")
    if lost := [one for one in called if one.lost]:
        found.append(f"{len(lost)} calls were not answered, as {lost[0]}")

    took = [recovery(answered, absence) for absence in absences]

    def is_excused(one):
        return any(
            one.server == absence.server and one.began < absence.back + max(SETTLING, again or 0) and one.ended > absence.gone
            for absence, again in zip(absences, took)
        )

    failed = [one for one in called if one.wrong and not one.lost and not is_excused(one)]
    if failed:
        found.append(f"{len(failed)} calls failed while their server was there, as {failed[0]}")
    for absence, again in zip(absences, took):
        if again is None or again > RECOVERY:
            again = "never" if again is None else f"after {again:.1f} s"
            found.append(f"`{absence.server}`, back at {absence.back:.1f} s, was used again {again}")
    deaths = collections.Counter(absence.server for absence in absences)
    found += [f"`{server}` died {deaths[server]} times, and {DEATHS} are wanted" for server in ("piped", "remote") if deaths[server] < DEATHS]
    return found


def recovery(answered, absence):
    """Returns the seconds from a server's return to the first answer to a call that began after it was gone."""
    first = [one.ended for one in answered if one.server == absence.server and one.began > absence.gone and one.ended > absence.back]
    return min(first) - absence.back if first else None


def describe(directory, name, connection):
    head = f'[ensemble]\nname = "{name}"\ndescription = "Notes numbers"\n\n[connection]\n'
    (directory / f"{name}.toml").write_text(head + connection)


class Remote:
    """A server over HTTP at a port that it keeps. `more`: the seconds that its tool takes."""

    def __init__(self, log, *more):
        self.log, self.port, self.more, self.program = log, kit.free_port(), more, None

    def start(self):
        """Returns when the server listened."""
        self.program = kit.Program([sys.executable, HERE / "upstream.py", self.log, self.port, *self.more])
        kit.until("a server listens", 60, lambda: kit.listens(self.port))
        return time.monotonic()

    def kill(self):
        if self.program:
            self.program.kill()


def kill_piped(pid):
    """Kills the server that the gateway started last."""
    gone = time.monotonic()
    # A gateway that gave up has started no new one: that it is never used again is told later.
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(pid.read_text()), signal.SIGKILL)
    return Absence("piped", gone, time.monotonic())


def run(binary, seconds):
    """`seconds` of load; the intervals are those of ten minutes, scaled, but none is below six seconds."""
    interval, absent = max(20 * seconds / 600, 6), max(60 * seconds / 600, 10)
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as held:
        directory = Path(work)
        logs = {name: directory / f"{name}.log" for name in SHARES}
        remote, late, pid = Remote(logs["remote"]), Remote(logs["late"]), directory / "pid"
        for one in (remote, late):
            held.callback(one.kill)
        remote.start()
        (directory / "ensembles").mkdir()
        shell = f'echo $$ > "{pid}.new" && mv "{pid}.new" "{pid}" && exec "$0" "$@"'
        words = json.dumps(["/bin/sh", "-c", shell, sys.executable, str(HERE / "upstream.py"), str(logs["piped"])])
        describe(directory / "ensembles", "piped", f'transport = "stdio"\ncommand = {words}\n')
        for name, one in (("remote", remote), ("late", late)):
            describe(directory / "ensembles", name, f'transport = "http"\nurl = "http://127.0.0.1:{one.port}/mcp"\n')
        port = kit.free_port()
        words = [binary, "serve", "--http", f"127.0.0.1:{port}", "--no-auth", "--ensembles", directory / "ensembles"]
        words += [word for name in SHARES for word in ("--allow", f"{name}.*")]
        began = time.monotonic()
        gateway = kit.Program(words, cwd=directory, env={"PATH": kit.PATH, "HOME": str(directory / "home")})
        held.callback(gateway.kill)
        kit.until("the gateway serves", 60, lambda: gateway.child.poll() is not None or kit.listens(port))
        if gateway.child.poll() is not None:
            raise kit.Failed(f"the gateway does not serve\n{gateway.end(1).report()}")
        # The first calls come once both servers that are there are in use.
        for first, server in enumerate(("piped", "remote")):
            kit.until(f"`{server}` is used", 60, Client(port, server, first * 1_000_000).is_answered)
        loaded, over, clients = time.monotonic(), threading.Event(), []
        end = loaded + seconds
        for server, count in SHARES.items():
            clients += [Client(port, server, (len(clients) + at + 1) * 10_000_000, over) for at in range(count)]
        for client in clients:
            client.start()
        absences = [Absence("late", 0, 0)]
        next_death = loaded + interval
        # The last death leaves time to recover.
        while (now := time.monotonic()) < end - 2 * SETTLING - AWAY or len(absences) <= 2 * DEATHS:
            if now > loaded + LONGER * seconds:
                break
            if not absences[0].back and now > loaded + absent:
                absences[0].back = late.start()
            if now > next_death:
                next_death += interval
                absences.append(kill_piped(pid))
                # Before the kill: a call that it cuts may end before the server is known to be gone.
                gone = time.monotonic()
                remote.kill()
                time.sleep(AWAY)
                absences.append(Absence("remote", gone, remote.start()))
            time.sleep(0.05)
        settled(clients, absences, end)
        over.set()
        for client in clients:
            client.join(PATIENCE + 5)
        called = [one for client in clients for one in client.called]
        noted = [int(line) for log in logs.values() if log.exists() for line in log.read_text().split()]
        found = problems(called, noted, absences)
        report(called, absences, began)
        if found:
            print(*(f"error: {problem}" for problem in found), kit.tail(gateway.text(gateway.outputs[1])), sep="\n", file=sys.stderr)
        return not found


def settled(clients, absences, end):
    """Waits for the end of the load, and until every server is used again or it is too late for that."""
    latest = max(end, max(absence.back for absence in absences) + RECOVERY)
    while (now := time.monotonic()) < latest:
        answered = [one for client in clients for one in list(client.called) if not one.wrong]
        if now >= end and all(recovery(answered, absence) is not None for absence in absences):
            return
        time.sleep(0.2)


def report(called, absences, began):
    for server in SHARES:
        calls = [one for one in called if one.server == server]
        answered = [one for one in calls if not one.wrong]
        took = [recovery(answered, absence) for absence in absences if absence.server == server]
        slowest = max((one for one in took if one is not None), default=0)
        print(
            f"{server}: {len(calls)} calls, {len(answered)} answered by the server, {len(calls) - len(answered)} with an "
            f"error; {len(took)} absences, used again after at most {slowest:.2f} s"
        )
    print(f"{len(called)} calls of {CLIENTS} clients in {time.monotonic() - began:.0f} s")
