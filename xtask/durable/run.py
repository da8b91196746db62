"""Runs conversations on workers of a Restate server, and kills workers, the client and a node of the server with SIGKILL.

Each conversation looks and then notes its number with a tool that has effects. The tool's own file says how often: no number
twice, and each that an answer says was noted, once. One conversation waits for an approval while its worker is killed. The
conversations are those of `converse batch`, and then those of a suite of `converse eval`. With `--tau2`, they are the tasks of
a benchmark (`retail.py`).
"""

import argparse
import asyncio
import collections
import contextlib
import http.client
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import kit
from retail import Retail

HERE = Path(__file__).resolve().parent
WORKERS = 3
AWAY = 0.7
# What a whole run may take. A session whose worker was killed is taken up in seconds; the rest is for a busy machine.
LIMIT = 600

ENSEMBLE = """[ensemble]
name = "ledger"
description = "Keeps numbers"
"""

INVOKER = """
[[invokers]]
name = "{name}"
description = "Writes a number down"
effects = "{effects}"
permission = "{permission}"
command = {{ argv = ["{python}", "{tool}", "{log}", "{{number}}"] }}
arguments.type = "object"
arguments.required = ["number"]
arguments.properties.number = {{ type = "integer", description = "The number" }}
"""

CONFIG = """limits.max_iterations = 100

[providers.local]
base_url = "http://127.0.0.1:{port}/v1"
dialect = "openai-chat"
"""

NODE = """node-name = "n{number}"
cluster-name = "{cluster}"
base-dir = "{directory}"
bind-address = "127.0.0.1:{fabric}"
advertised-address = "http://127.0.0.1:{fabric}"
listen-mode = "tcp"
auto-provision = {first}
default-num-partitions = 8
default-replication = {replication}
rocksdb-total-memory-size = "256.0 MiB"
disable-telemetry = true

[metadata-client]
addresses = [{addresses}]

[ingress]
bind-address = "127.0.0.1:{ingress}"

[admin]
bind-address = "127.0.0.1:{admin}"
disable-web-ui = true

[worker.invoker]
http2-streams-per-connection-limit = 16
request-identity-private-key-pem-file = "{key}"
"""

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def ask(port, method, path, body=None, headers={}, limit=60):
    """Returns the status and the JSON of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=limit)
    try:
        more = {} if body is None else {"content-type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), {**more, **headers})
        answer = connection.getresponse()
        text = answer.read().decode()
        return answer.status, json.loads(text) if text else None
    finally:
        connection.close()


def identity(directory):
    """Makes a key that the server signs its requests with. Returns its public half as Restate writes it."""
    key = directory / "key.pem"
    kit.done(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key])
    words = ["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"]
    public = subprocess.run(words, capture_output=True, check=True).stdout[-32:]
    number, text = int.from_bytes(public), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    zeros = len(public) - len(public.lstrip(bytes(1)))
    return f"publickeyv1_{BASE58[0] * zeros}{text}"


class Node:
    """A node of the Restate server."""

    def __init__(self, program, directory, number, nodes):
        self.program, self.number, self.directory = program, number, directory / f"node{number}"
        self.fabric, self.ingress, self.admin = kit.free_port(), kit.free_port(), kit.free_port()
        self.nodes, self.ran = nodes, None
        self.directory.mkdir()

    def start(self):
        path, first = self.directory / "restate.toml", str(self.number == 1).lower()
        addresses = ", ".join(f'"http://127.0.0.1:{node.fabric}"' for node in self.nodes)
        path.write_text(
            NODE.format(
                number=self.number, cluster=self.directory.parent.name, directory=self.directory, fabric=self.fabric, first=first,
                replication=min(2, len(self.nodes)), addresses=addresses, ingress=self.ingress, admin=self.admin,
                key=self.directory.parent / "key.pem",
            )
        )  # fmt: skip
        env = {"PATH": kit.PATH, "HOME": str(self.directory), "DO_NOT_TRACK": "1"}
        self.ran = kit.Program([self.program, "--no-logo", "-c", path], env=env, cwd=self.directory)

    def is_ready(self):
        if self.ran.child.poll() is not None:
            raise kit.Failed(f"the server ended\n{kit.tail(self.ran.text(self.ran.outputs[0]))}")
        try:
            return ask(self.ingress, "GET", "/restate/health")[0] == 200 and ask(self.admin, "GET", "/health")[0] == 200
        except (OSError, ValueError, http.client.HTTPException):
            return False


class Worker:
    """A `converse-worker` that can be killed and started again."""

    def __init__(self, binary, directory, number, words):
        self.port, self.ran, self.directory = kit.free_port(), None, directory
        self.words = [binary, "--listen", f"127.0.0.1:{self.port}", "-m", "local/model", *words]
        self.words += ["--ensembles", directory / "ensembles"]
        self.home = directory / (f"home{number}" if "--store" in words else "home")

    def start(self):
        env = {"PATH": kit.PATH, "HOME": str(self.home), "LOCAL_API_KEY": "none"}
        self.ran = kit.Program(self.words, cwd=self.directory, env=env)

    def is_ready(self):
        if self.ran.child.poll() is not None:
            raise kit.Failed(f"a worker ended\n{self.ran.end(1).report()}")
        return kit.listens(self.port)

    def said(self):
        return kit.tail(self.ran.text(self.ran.outputs[1]))


class Front:
    """One address for all workers: each connection goes to a worker that listens, as a load balancer does it."""

    def __init__(self, workers):
        self.workers, self.port = workers, kit.free_port()
        threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True).start()
        kit.until("the front listens", 10, lambda: kit.listens(self.port))

    async def serve(self):
        server = await asyncio.start_server(self.connected, "127.0.0.1", self.port)
        await server.serve_forever()

    async def connected(self, reader, writer):
        for worker in random.sample(self.workers, len(self.workers)):
            with contextlib.suppress(OSError):
                there, back = await asyncio.open_connection("127.0.0.1", worker.port)
                await asyncio.gather(self.copied(reader, back), self.copied(there, writer))
                return
        writer.close()

    async def copied(self, reader, writer):
        with contextlib.suppress(OSError):
            while piece := await reader.read(65536):
                writer.write(piece)
                await writer.drain()
        writer.close()


def problems(lines, numbers, noted):
    """Returns what is wrong with the results, by the file that the tool wrote."""
    found, times = [], collections.Counter(noted)
    ids = collections.Counter(line["id"] for line in lines)
    if set(ids) != {str(number) for number in numbers} or max(ids.values(), default=0) > 1:
        found.append(f"{len(lines)} results of {len(numbers)} conversations, {len(ids)} different")
    if doubled := [number for number, one in times.items() if one > 1]:
        found.append(f"noted more than once: {doubled[:5]}")
    for line in lines:
        number, answer = int(line["id"]), line["answer"].strip().splitlines()[-1:]
        if line["exit"] or answer not in ([f"noted {number}"], [f"unknown {number}"]):
            found.append(f"{number}: exit {line['exit']}, {line['reason']}, {answer}")
        elif answer == [f"noted {number}"] and times[number] != 1:
            found.append(f"{number} was noted {times[number]} times, and the answer is {answer}")
        if [call["tool"] for call in line["invocations"]] != ["ledger__look", "ledger__note"]:
            found.append(f"{number}: {[call['tool'] for call in line['invocations']]}")
        if line["usage"].get("output") != 15:
            found.append(f"{number}: {line['usage']}")
    return found


def unsigned(worker):
    """Asks a worker as somebody else would. Returns what is wrong."""
    url = f"http://127.0.0.1:{worker.port}/discover"
    words = ["curl", "--silent", "--http2-prior-knowledge", "--max-time", "30", "--output", "/dev/null", "--write-out", "%{http_code}", url]
    status = kit.done(words).stdout
    return [] if status == "401" else [f"a request that nobody has signed was answered with {status}"]


def waits(node, workers):
    """Runs a conversation that waits for an approval while all workers are killed. Returns what is wrong."""
    key, number = str(uuid.uuid4()), 1_000_000
    request = {"line": {"id": "ask", "before": [], "question": f"ask {number}", "attachments": [], "schema": None}, "approvals": "wait"}
    headers = {"idempotency-key": key}
    status, sent = ask(node.ingress, "POST", f"/ConverseSession/{key}/run/send", request, headers)
    if status not in (200, 202):
        return [f"the conversation was not accepted: {status} {sent}"]
    asked = lambda: ask(node.ingress, "POST", f"/ConverseSession/{key}/waiting")[1]  # noqa: E731
    waiting = kit.until("the conversation waits", 60, asked, every=0.3)
    question = waiting["questions"][0]
    if (question["tool"], question["arguments"]) != ("ledger.sign", {"number": number}):
        return [f"the question is {question}"]
    for worker in workers:
        worker.ran.kill()
        worker.start()
    status, why = ask(node.ingress, "POST", f"/ConverseSession/{key}/answer", {})
    if status != 400:
        return [f"an answer without a decision was accepted: {status} {why}"]
    ask(node.ingress, "POST", f"/ConverseSession/{key}/answer", {question["id"]: {"decision": "allow"}})
    _, ended = ask(node.ingress, "POST", f"/ConverseSession/{key}/run", request, headers)
    answer = ended["line"]["answer"].strip().splitlines()[-1:]
    found = [] if answer == [f"noted {number}"] else [f"approved: {answer}"]
    other = {**request, "approvals": "refuse"}
    status, _ = ask(node.ingress, "POST", f"/ConverseSession/{key}/run", other)
    return found if status == 400 else [*found, f"another request of the same session: {status}"]


JOBS = 64
# The numbers of the cases of the suite, which are not those of the batch.
CASES = 2_000_000

SUITE = """[suite]
models = ["local/model"]
ensembles = ["ledger"]
"""

CASE = """
[[cases]]
name = "{number}"
prompt = "note {number}"
tools.order = ["ledger.look", "ledger.note"]
tools.may = []
calls = [{{ tool = "ledger.note", arguments = {{ number = {number} }} }}]
answer.matches = '^(noted|unknown) {number}$'
"""


def embedded(binary, directory, words, count):
    """Runs the same conversations without workers. Returns the seconds that it took."""
    home = directory / "alone"
    shutil.copytree(directory / "client", home)
    env = {"PATH": kit.PATH, "HOME": str(home), "LOCAL_API_KEY": "none"}
    words = [binary, "batch", "lines.jsonl", "-o", "alone.jsonl", "--jobs", min(count, JOBS), "--save-sessions", *words]
    words += ["-m", "local/model", "-e", "ledger", "--ensembles", directory / "ensembles"]
    return kit.done(words, LIMIT, cwd=directory, env=env).took


class Servers:
    """The nodes of the server, the workers, and a client that runs among kills."""

    def __init__(self, options, directory, nodes, workers):
        self.options, self.directory, self.nodes, self.workers = options, directory, nodes, workers
        self.kills = collections.Counter()

    def client(self, words):
        places = ",".join(f"127.0.0.1:{node.ingress}" for node in self.nodes)
        env = {"PATH": kit.PATH, "HOME": str(self.directory / "client")}
        return kit.Program([*words, "--jobs", JOBS, "--runner", f"restate://{places}"], cwd=self.directory, env=env)

    def driven(self, *words):
        """Runs `batch` or `eval` to its end. Returns what it wrote, what is wrong, and the seconds that it took."""
        began, kills, results = time.monotonic(), collections.Counter(), self.directory / "results.jsonl"
        results.unlink(missing_ok=True)
        words = [*words, "-o", results]
        program = self.client(words)
        while program.child.poll() is None:
            if time.monotonic() - began > LIMIT:
                have = len(results.read_text().splitlines()) if results.is_file() else 0
                raise kit.Failed(f"{have} results within {LIMIT} s\n" + "\n".join(worker.said() for worker in self.workers))
            time.sleep(random.uniform(0.5, 1.5) * self.options.every)
            if self.options.calm:
                continue
            worker = random.choice(self.workers)
            worker.ran.kill()
            kills["workers"] += 1
            time.sleep(AWAY)
            worker.start()
            if kills["workers"] == 1:
                program.kill()
                kills["clients"] += 1
                program = self.client(words)
            if kills["workers"] == 3 and len(self.nodes) > 1 and not self.kills["nodes"]:
                # Not the one that workers were registered at, which is as good as any other.
                self.nodes[-1].ran.kill()
                kills["nodes"] += 1
        ran, took, self.kills = program.end(1), time.monotonic() - began, self.kills + kills
        found = [f"the client failed\n{ran.report()}"] if ran.code != 0 else []
        if results.with_name(f"{results.name}.run").exists():
            found.append("the file beside the results is left")
        killed = ", ".join(f"{count} {what} killed" for what, count in kills.items()) or "nothing killed"
        return [json.loads(line) for line in results.read_text().splitlines()], found, f"{took:.1f} s, {killed}"


class Ledger:
    """Conversations that note a number."""

    name = "ledger"

    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.logs = {"looked": directory / "looked", "noted": directory / "noted"}
        self.model = [sys.executable, HERE / "model.py", "{port}"]

    def ensemble(self):
        tool = {"python": sys.executable, "tool": HERE / "tool.py"}
        text = ENSEMBLE + INVOKER.format(name="look", effects="read", permission="allow", log=self.logs["looked"], **tool)
        for name, permission in (("note", "allow"), ("sign", "ask")):
            text += INVOKER.format(name=name, effects="write", permission=permission, log=self.logs["noted"], **tool)
        return text

    def noted(self, numbers):
        """Returns the numbers of this range that were noted."""
        return [number for number in map(int, self.logs["noted"].read_text().split()) if number in numbers]

    def run(self, binary, servers, words):
        """Runs a batch, and a suite of half its size. Returns what is wrong."""
        found = waits(servers.nodes[0], servers.workers)
        batch, cases = range(self.options.sessions), range(CASES, CASES + max(1, self.options.sessions // 2))
        lines = [{"id": str(number), "prompt": f"note {number}"} for number in batch]
        (self.directory / "lines.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        found += self.driven(servers, "conversations", batch, [binary, "batch", "lines.jsonl"])
        if self.options.calm:
            self.logs["noted"].rename(self.directory / "noted.by.workers")
            print(f"the same without workers: {embedded(binary, self.directory, words, len(batch)):.1f} s")
            self.logs["noted"] = self.directory / "noted.by.workers"
        else:
            suite = SUITE + "".join(CASE.format(number=number) for number in cases)
            (self.directory / "suite.toml").write_text(suite)
            found += self.driven(servers, "cases", cases, [binary, "eval", "suite.toml"])
        if (signed := len(self.noted([1_000_000]))) != 1:
            found.append(f"the approved call ran {signed} times")
        return found

    def driven(self, servers, what, numbers, words):
        results, found, took = servers.driven(*words)
        # A result of `eval` is that of the conversation, with its verdict.
        lines = [{**line["result"], "id": line["case"]} if "case" in line else line for line in results]
        found += problems(lines, numbers, self.noted(numbers))
        found += [f"{line['case']}: {line['misses']}" for line in results if line.get("status", "passed") != "passed"]
        unknown = sum("unknown" in line["answer"] for line in lines)
        print(f"{len(numbers)} {what}: {took}; {len(lines) - unknown} noted, {unknown} with an unknown outcome")
        return found


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask durable")
    parser.add_argument("--binary", help="the converse to try; it is built if it is not given")
    parser.add_argument("--worker", help="the converse-worker to try; it is built if it is not given")
    parser.add_argument("--sessions", type=int, default=60, metavar="N", help="conversations")
    parser.add_argument("--nodes", type=int, default=1, choices=[1, 3], help="nodes of the server; one of three is killed")
    parser.add_argument("--store", choices=["files", "postgres"], default="files", help="where the workers keep sessions")
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="time between kills, about")
    parser.add_argument("--calm", action="store_true", help="kill nothing, to measure; also without workers, in the same run")
    parser.add_argument("--tau2", action="store_true", help="the gold actions of τ²-bench's retail domain instead, by their databases")
    options = parser.parse_args()
    binary = kit.converse(options.binary)
    worker = Path(options.worker).resolve() if options.worker else kit.build("--package", "converse-worker", name="converse-worker")
    place = kit.place("durable")
    server = kit.Kit("durable/npm").install(place, "server").file("@restatedev")
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine)
    program = server / f"restate-server-linux-{machine}/bin/restate-server"
    if not program.is_file():
        raise kit.Failed(f"npm's package has no server for this machine: {program}")
    with tempfile.TemporaryDirectory(prefix="durable", dir="/tmp") as work, contextlib.ExitStack() as held:
        scenario = Retail(place, held) if options.tau2 else Ledger(options, Path(work))
        return tried(options, Path(work), held, program, (binary, worker), scenario)


def tried(options, directory, held, program, binaries, scenario):
    directory.chmod(0o755)
    (directory / "ensembles").mkdir()
    (directory / f"ensembles/{scenario.name}.toml").write_text(scenario.ensemble())
    model = kit.Remote(scenario.model)
    held.callback(model.kill)
    words = []
    if options.store == "postgres":
        (directory / "database").mkdir(mode=0o700)
        database = kit.Database(directory / "database")
        database.start()
        held.callback(database.stop)
        words = ["--store", database.url]
    for home in ("home", "client", *(f"home{number}" for number in range(WORKERS))):
        (directory / home / ".config/converse").mkdir(parents=True)
        (directory / home / ".config/converse/config.toml").write_text(CONFIG.format(port=model.port))
    flags = [*words, "--identity-key", identity(directory), "-e", scenario.name]
    workers = [Worker(binaries[1], directory, number, flags) for number in range(WORKERS)]
    nodes = []
    nodes += [Node(program, directory, number + 1, nodes) for number in range(options.nodes)]
    for one in (*nodes, *workers):
        one.start()
        held.callback(lambda one=one: one.ran.kill())
    kit.until("the workers listen", 60, lambda: all(worker.is_ready() for worker in workers))
    kit.until("the server is ready", 120, lambda: all(node.is_ready() for node in nodes), every=0.2)
    front = Front(workers)
    deployment = {"uri": f"http://127.0.0.1:{front.port}"}
    kit.until("the workers are registered", 60, lambda: ask(nodes[0].admin, "POST", "/deployments", deployment)[0] in (200, 201), every=0.5)
    print(f"{options.nodes} nodes, {WORKERS} workers, sessions in {options.store}")
    found = unsigned(workers[0]) + scenario.run(binaries[0], Servers(options, directory, nodes, workers), words)
    if found:
        print(*(f"error: {problem}" for problem in found[:20]), *(worker.said() for worker in workers), sep="\n", file=sys.stderr)
    return not found


if __name__ == "__main__":
    kit.main(suite)
