"""Drives MCP servers of others through converse, and clients of others against `converse serve`.

The servers are real: installed from the public registries at pinned versions and started by converse itself (those over
HTTP are started here). No model and no key is needed: the understudy finds their tools. After each run /proc is
searched for processes that the run left behind.
"""

import argparse
import functools
import json
import os
import signal
import socket
import socketserver
import statistics
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import clients
import kit
import servers
from servers import CANARY

LIMIT = 60
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


class Site:
    """The directory of one server's runs: an unused home, a place to work in, descriptors."""

    def __init__(self, binary):
        self.scratch = tempfile.TemporaryDirectory(prefix="converse-interop-")
        self.binary, self.root = binary, Path(self.scratch.name)
        self.work, self.home = self.root / "work", self.root / "home"
        self.work.mkdir()
        self.home.mkdir()

    def describe(self, directory, server, command=None, url=None, environment={}, grants=""):
        """Writes the descriptor of a server and returns its directory."""
        # A JSON text of such words is a TOML text as well.
        if url:
            connection = f'transport = "http"\nurl = {json.dumps(url)}\n'
        else:
            variables = ", ".join(f"{name} = {json.dumps(value)}" for name, value in environment.items())
            words = json.dumps([str(word) for word in command])
            connection = f'transport = "stdio"\ncommand = {words}\nenvironment = {{ {variables} }}\n{grants}'
        (self.root / directory).mkdir(exist_ok=True)
        head = f'[ensemble]\nname = "{server}"\ndescription = "A server of others"\n\n[connection]\n'
        (self.root / directory / f"{server}.toml").write_text(head + connection)
        return str(self.root / directory)

    def start(self, words):
        env = {"PATH": kit.PATH, "HOME": str(self.home), CANARY: "a-secret-of-the-parent"}
        return kit.Program([self.binary, *words], cwd=self.work, env=env)

    def traces(self, program, *but):
        return Traces([str(self.root), str(program), str(self.binary)], but)


class Traces:
    """The processes that have one of these paths in their command, environment, directory or program."""

    def __init__(self, paths, but=()):
        self.paths, self.but = [path.encode() for path in paths], {os.getpid(), *but}

    def find(self):
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) in self.but:
                continue
            said = []
            for name in ("cmdline", "environ", "cwd", "exe"):
                try:
                    is_link = name in ("cwd", "exe")
                    said.append(os.readlink(entry / name).encode() if is_link else (entry / name).read_bytes())
                except OSError:
                    said.append(b"")
            if any(path in text for path in self.paths for text in said):
                found[int(entry.name)] = said[0].replace(b"\0", b" ").decode(errors="replace").strip()
        return found

    def left(self, within=3):
        """Returns what is still there after a time, and kills it: the next run starts clean."""
        end = time.monotonic() + within
        while (found := self.find()) and time.monotonic() < end:
            time.sleep(0.02)
        for process in found:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return [f"left behind: {process} `{command}`" for process, command in found.items()]

    def appear(self):
        try:
            return bool(kit.until("the server", LIMIT, self.find))
        except kit.Failed:
            return False


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
        for _ in range(step.tries):
            ran = self.converse(*step.words(self.name, ensembles))
            if ran.code == step.exits and not any(check(ran) for check in step.checks):
                break
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


def table(rows):
    """Aligns columns; the first row is the head."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


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


def drive_clients(chosen, binary, kits):
    began = time.monotonic()
    rows = [["client", "way", "revision", "tools", "progress", "20 calls ms", "s", "verdict"]]
    failures = []
    for client in chosen:
        for is_http in (False, True):
            visited = time.monotonic()
            seen, problems, ran = visit(client, is_http, binary, kits)
            way = "http" if is_http else "stdio"
            if problems:
                failures.append(f"{client.name} over {way}: {'; '.join(problems)}\n{ran.report()}")
            figures = [
                seen.get("protocol") or "-",
                len(seen.get("tools") or []),
                seen.get("progress", "-"),
                seen.get("many_ms", "-"),
            ]
            verdict = "failed" if problems else "ok"
            rows.append([client.name, way, *map(str, figures), f"{time.monotonic() - visited:.1f}", verdict])
    print(table(rows))
    print(f"{len(chosen)} client(s) in {time.monotonic() - began:.0f} s")
    return failures


def visit(client, is_http, binary, kits):
    """Points a client at the gateway with `everything` behind it. Returns what it saw, what is wrong, and its run."""
    site = Site(binary)
    upstream = kits["npm"].program("mcp-server-everything")
    ensembles = site.describe("ensembles", "everything", command=[upstream, "stdio"])
    gateway = [binary, "serve", "--ensembles", ensembles, "--ensemble", "everything", "--allow", "everything.*"]
    # Beside the libraries, where Node looks for them.
    scripts = kits["clients"].dir / "scripts"
    scripts.mkdir(exist_ok=True)
    for script in (kit.ROOT / "xtask/interop/scripts").iterdir():
        if script.is_file():
            (scripts / script.name).write_bytes(script.read_bytes())
    env = {"PATH": kit.PATH, "HOME": str(site.home), "PYTHONDONTWRITEBYTECODE": "1"}
    start = functools.partial(kit.run, limit=120, cwd=site.work, env=env)
    command = [kits[client.kit].program(client.interpreter), scripts / client.script]
    if is_http:
        tokens = site.root / "tokens"
        tokens.write_text(f"{clients.TOKEN}\n")
        tokens.chmod(0o600)
        with kit.Remote([*gateway, "--http", "127.0.0.1:{port}", "--token-file", tokens]) as remote:
            asked = {"url": f"http://127.0.0.1:{remote.port}/mcp", "token": clients.TOKEN}
            ran = start([*command, json.dumps(asked)])
            problems = remote.end()
    else:
        ran, problems = start([*command, json.dumps({"command": [str(word) for word in gateway]})]), []
    problems += site.traces(upstream).left()
    try:
        seen = json.loads(ran.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        seen = {}
    return seen, problems + clients.problems(seen, client, is_http), ran


def suite():
    names = [one.name for one in (*servers.ALL, *clients.ALL)]
    parser = argparse.ArgumentParser(prog="cargo xtask interop")
    parser.add_argument("--binary", help="the converse to drive; built if it is not given")
    parser.add_argument("--only", action="append", choices=names, help="a server or a client")
    options = parser.parse_args()
    directory = kit.place("interop")
    binary = kit.beside(kit.converse(options.binary), directory)
    chosen = [
        [one for one in ones if not options.only or one.name in options.only] for ones in (servers.ALL, clients.ALL)
    ]
    needed = {one.kit for ones in chosen for one in ones} | ({"npm", "clients"} if chosen[1] else set())
    kits = {name: kit.Kit(servers.KITS[name]).install(directory) for name in sorted(needed)}
    failures = drive_servers(chosen[0], binary, kits) if chosen[0] else []
    failures += drive_clients(chosen[1], binary, kits) if chosen[1] else []
    for failure in failures:
        print(f"\n{failure}", file=sys.stderr)
    return not failures


if __name__ == "__main__":
    kit.main(suite)
