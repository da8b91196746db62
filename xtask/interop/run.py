"""Drives MCP servers of others through converse, and clients of others against `converse serve`.

The servers are real: installed from the public registries at pinned versions and started by converse itself (those over
HTTP are started here). No model and no key is needed: the understudy finds their tools. After each run /proc is
searched for processes that the run left behind.
"""

import argparse
import signal
import socket
import socketserver
import statistics
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import agents
import cases
import catalogue
import clients
import features
import kit
import servers
import visits
from places import LIMIT, Site, Traces
from visits import table

# A server that is silent for so long is taken for a legacy one: on a busy machine a modern one may be, too.
PROBE = 3


class Pages(BaseHTTPRequestHandler):
    """The page that the server `fetch` reads. Plain text: for HTML the server would install a tool."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        found = self.path == servers.PAGE
        words = (servers.WORDS if found else "there is no such page").encode()
        self.send_response(200 if found else 404)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(words)))
        self.end_headers()
        self.wfile.write(words)

    do_POST = do_GET

    def log_message(self, *_):
        pass


class PipeEar:
    """Listens to what goes to a server over stdio: `tee` writes down what it hands on."""

    def __init__(self, command, log):
        self.log = log
        self.command = ["/bin/sh", "-c", 'tee -a "$0" | "$@"', log, *command]

    def take(self):
        said = self.log.read_text(errors="replace") if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        return said


class SocketEar(socketserver.ThreadingTCPServer):
    """Listens to what goes to a server over HTTP: hands on connections."""

    daemon_threads = True

    def __init__(self, port):
        self.upstream, self.heard = port, bytearray()
        super().__init__(("127.0.0.1", 0), None)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, client, _):
        with socket.create_connection(("127.0.0.1", self.upstream)) as server:
            threading.Thread(target=self.answer, args=(server, client), daemon=True).start()
            while data := self.read(client):
                self.heard += data
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def answer(self, server, client):
        try:
            while data := self.read(server):
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    @staticmethod
    def read(connection):
        try:
            return connection.recv(65536)
        except OSError:
            return b""

    def handle_error(self, *_):
        pass

    def take(self):
        said, self.heard = self.heard.decode(errors="replace"), bytearray()
        return said


class Tour:
    """All runs against one server: converse meets it twice with an ear at the wire, uses its tools, and is ended while
    it starts the server."""

    def __init__(self, server, binary, kits, pages):
        self.server, self.name, self.site = server, server.name, Site(binary)
        self.plan = server.plan(self.site, pages)
        self.program = kits[server.kit].program(server.program)
        self.row = {"server": self.name, "era": "-", "tools": None, "list": [], "call": [], "ask": []}
        self.failures, self.remote = [], None
        command = [self.program, *self.plan.arguments]
        if server.http:
            self.remote = kit.Remote(command, self.plan.environment)
            self.ear = SocketEar(self.remote.port)
            self.way, self.heard = (
                {"url": f"http://127.0.0.1:{port}/mcp"} for port in (self.remote.port, self.ear.server_address[1])
            )
        else:
            self.ear = PipeEar(command, self.site.root / "heard")
            options = {"environment": self.plan.environment, "grants": self.plan.grants}
            self.way, self.heard = ({"command": words, **options} for words in (command, self.ear.command))
        but = [self.remote.program.child.pid] if self.remote else []
        self.traces = self.site.traces(self.program, *but)

    def run(self):
        try:
            if self.meet():
                self.probe()
                ensembles = self.site.describe("ensembles", self.name, **self.way)
                for step in self.plan.steps:
                    self.step(step, ensembles)
                if not self.server.http:
                    self.broken()
                    # After the second signal nothing of converse can act any more.
                    self.ended(signal.SIGTERM, 143, ensembles)
                    self.ended(signal.SIGKILL, None, ensembles)
        finally:
            if self.remote:
                self.remote.kill()
        return self

    def era(self, ran, is_legacy):
        """Returns the era in which converse met the server. A modern server that was slow may be met as a legacy one:
        those here speak both."""
        return "legacy" if self.server.era == "legacy" or ran.took >= PROBE and is_legacy else "modern"

    def meet(self):
        """Twice: the first time its era is not known. Returns whether it is worth going on."""
        ensembles = self.site.describe("heard-ensembles", self.name, **self.heard)
        first = self.converse("ensembles", "check", "--connect", ensembles)
        era = self.era(first, "(legacy)" in first.stdout)
        checks = [servers.says(text) for text in (f"{self.name}: ", f"({era})", f"{len(self.server.tools)} tool")]
        wire = self.opened(True, era == "legacy")
        self.judge(first, 0, checks, wire)

        second = self.converse("ensembles", "show", self.name, "--connect", "--json", "--ensembles", ensembles)
        again = self.opened(era == "modern", era == "legacy")
        tools = second.json.get("tools") or []
        self.row["tools"] = len(tools)
        known = ", known" if not wire and not again else ""
        self.row["era"] = ((second.json.get("server") or {}).get("era") or "-") + known
        self.row["list"].append(second.took)
        problems = [f"{problem} (the second time: its era was known)" for problem in again]
        names = sorted(tool["invoker"] for tool in tools)
        if names != self.server.tools:
            problems.append(f"expected: the tools {self.server.tools}, and not {names}")
        self.judge(second, 0, [servers.is_("/server/era", era)], problems)
        return first.code == 0 and second.code == 0

    def opened(self, discovers, initializes):
        """Returns what is wrong with how converse opened. A session over HTTP must be ended as well."""
        said = self.ear.take()
        found, wanted = ('"server/discover"' in said, '"initialize"' in said), (discovers, initializes)
        if found != wanted:
            return [f"expected on the wire: (discovers, initializes) is {wanted}, and not {found}"]
        is_open = self.server.http and initializes and "DELETE /mcp" not in said
        return ["expected on the wire: the session is deleted"] if is_open else []

    def probe(self):
        """Looks at the server by its command or its address alone, without a descriptor."""
        where = [self.way["url"]] if "url" in self.way else ["--", *self.way["command"]]
        ran = self.converse("mcp", "probe", "--json", *where)
        era = self.era(ran, ran.json.get("era") == "legacy")
        offered = servers.is_("/tools_offered", len(self.server.tools))
        self.judge(ran, 0, [servers.is_("/era", era), offered])

    def step(self, step, ensembles):
        ran = self.converse(*step.words(self.name, ensembles))
        self.judge(ran, step.exits, step.checks)
        # What fails may fail early: no measure of a call.
        if step.exits == 0 and step.kind in self.row:
            self.row[step.kind].append(ran.took)

    def broken(self):
        """A server that does not start: its last words are shown."""
        if self.plan.broken:
            arguments, last_words = self.plan.broken
            ensembles = self.site.describe("broken-ensembles", self.name, command=[self.program, *arguments])
            self.step(servers.call(self.server.tools[0], exits=10, then=[servers.complains(last_words)]), ensembles)

    def ended(self, number, code, ensembles):
        """Ends converse by a signal as soon as the server is there."""
        running = self.site.start(["ensembles", "check", "--connect", ensembles])
        problems = [] if Traces([str(self.program)]).appear() else ["expected: the server is started"]
        running.signal(number)
        ran = running.end(LIMIT)
        if ran.late:
            problems.append(f"expected: signal {number} ends it")
        self.judge(ran, code, [], problems)

    def converse(self, *words):
        ran = self.site.start(words).end(LIMIT)
        ran.server = self.name
        return ran

    def judge(self, ran, code, checks, others=()):
        """Notes what is wrong. With another exit code all else is as expected."""
        if ran.code == code:
            problems = [problem for check in checks if (problem := check(ran))] + list(others)
        else:
            problems = ["expected: " + (f"exit {code}" if code is not None else "ended by a signal")]
        problems += self.traces.left()
        if problems:
            self.failures.append(f"{self.name}: {'; '.join(problems)}\n{ran.report()}")


def drive_servers(chosen, binary, kits):
    began = time.monotonic()
    pages = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    rows, failures = [["server", "era", "tools", "list ms", "call ms", "ask ms", "verdict"]], []
    for server in chosen:
        visited = time.monotonic()
        tour = Tour(server, binary, kits, f"http://127.0.0.1:{pages.server_address[1]}").run()
        failures += tour.failures
        verdict = f"{len(tour.failures)} failed" if tour.failures else "ok"
        times = [
            f"{statistics.median(tour.row[kind]) * 1000:.0f}" if tour.row[kind] else "-"
            for kind in ("list", "call", "ask")
        ]
        rows.append([server.name, tour.row["era"], str(tour.row["tools"] or "-"), *times, verdict])
        print(f"{server.name}: {time.monotonic() - visited:.1f} s, {verdict}", file=sys.stderr)
    print(table(rows))
    for name, reason in servers.SKIPPED.items():
        print(f"{name}: not tried, {reason}")
    print(f"{len(chosen)} server(s) in {time.monotonic() - began:.0f} s")
    return failures


def suite():
    everyone = [servers.ALL, catalogue.ALL, [*clients.ALL, *clients.MORE, *agents.ALL]]
    parser = argparse.ArgumentParser(prog="cargo xtask interop")
    parser.add_argument("--binary", help="the converse to drive; built if it is not given")
    names = ["features", "cases", *(one.name for ones in everyone for one in ones)]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help="a server or a client")
    parser.add_argument("--all", action="store_true", help="also servers in Python, frameworks, and agents")
    options = parser.parse_args()
    directory = kit.place("interop")
    binary = kit.beside(kit.converse(options.binary), directory)

    def is_chosen(one):
        return one.name in options.only if options.only else options.all or one.kit not in servers.DEAR

    chosen = [[one for one in ones if is_chosen(one)] for ones in everyone]
    needed = {one.kit for ones in chosen for one in ones}
    compares, tries = (not options.only or name in options.only for name in ("features", "cases"))
    needed |= {"npm", "clients"} if chosen[1] or chosen[2] or compares or tries else set()
    kits = {name: kit.Kit(servers.KITS[name]).install(directory) for name in sorted(needed)}
    failures = drive_servers(chosen[0], binary, kits) if chosen[0] else []
    failures += visits.list_servers(chosen[1], binary, kits) if chosen[1] else []
    failures += visits.drive_clients(chosen[2], binary, kits) if chosen[2] else []
    failures += features.drive(binary, kits) if compares else []
    failures += cases.drive(binary, kits) if tries else []
    for failure in failures:
        print(f"\n{failure}", file=sys.stderr)
    return not failures


if __name__ == "__main__":
    kit.main(suite)
