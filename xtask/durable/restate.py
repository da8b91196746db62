"""A Restate server of one node or three, the workers behind it, and a client that runs among kills."""

import asyncio
import collections
import contextlib
import http.client
import json
import random
import re
import subprocess
import threading
import time

import kit

JOBS = 64
# How long a worker is away, and how long a node: so long that the others find out and take over, or less.
AWAY = 0.7
NODE_AWAY = (1, 6)
# Between a node's return to the cluster and the next kill of one.
NODES_REST = (0.5, 4)

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

    def figures(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.fabric, timeout=10)
        try:
            connection.request("GET", "/metrics")
            return figures(connection.getresponse().read().decode())
        finally:
            connection.close()


def figures(text):
    """Returns a node's metrics by their names; of the nodes that it knows, only those that it takes to be alive."""
    found = re.findall(r'^restate_(\w+)\{(?![^}]*state="(?!alive))[^}]*\} (\d+)$', text, re.MULTILINE)
    return collections.defaultdict(int, {name: int(value) for name, value in found})


def is_whole(nodes):
    """Whether every node takes all of them to be alive and knows who leads the metadata, and each partition has a leader."""
    if not all(node.is_ready() for node in nodes):
        return False
    try:
        seen = [node.figures() for node in nodes]
    except (OSError, http.client.HTTPException):
        return False
    if any(one["failure_detector_nodes_total"] != len(nodes) or not one["metadata_server_replicated_leader_id"] for one in seen):
        return False
    return sum(one["num_active_partition_leaders"] for one in seen) == seen[0]["num_partitions"] > 0


class Deaths(threading.Thread):
    """Kills one node after the other, any of them, and starts it again. The next one is killed when the cluster is whole."""

    def __init__(self, nodes, chance):
        super().__init__(daemon=True)
        self.nodes, self.chance, self.over = nodes, chance, threading.Event()
        self.killed, self.back, self.wrong = [], [], []

    def run(self):
        try:
            while not self.over.wait(self.chance.uniform(*NODES_REST)):
                node = self.chance.choice(self.nodes)
                node.ran.kill()
                self.killed.append(node.number)
                time.sleep(self.chance.uniform(*NODE_AWAY))
                node.start()
                began = time.monotonic()
                kit.until(f"node {node.number} is back", 120, lambda: is_whole(self.nodes), every=0.3)
                self.back.append(time.monotonic() - began)
        except kit.Failed as failed:
            self.wrong.append(str(failed))

    def end(self):
        self.over.set()
        self.join(150)

    def said(self):
        times = collections.Counter(self.killed)
        each = ", ".join(f"{times[node.number]} × {node.number}" for node in self.nodes)
        return f", {len(self.killed)} nodes killed ({each}), back after at most {max(self.back, default=0):.0f} s"


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


class Servers:
    """The nodes of the server, the workers, and a client that runs among kills."""

    def __init__(self, options, directory, nodes, workers):
        self.options, self.directory, self.nodes, self.workers = options, directory, nodes, workers
        self.chance = random.Random(options.seed)

    def client(self, words):
        places = ",".join(f"127.0.0.1:{node.ingress}" for node in self.nodes)
        env = {"PATH": kit.PATH, "HOME": str(self.directory / "client")}
        return kit.Program([*words, "--jobs", JOBS, "--runner", f"restate://{places}"], cwd=self.directory, env=env)

    def driven(self, *words):
        """Runs `batch` or `eval` to its end. Returns what it wrote, what is wrong, the seconds that it took, and what was killed."""
        results, deaths = self.directory / "results.jsonl", Deaths(self.nodes, random.Random(self.chance.random()))
        results.unlink(missing_ok=True)
        words = [*words, "-o", results]
        if len(self.nodes) > 1 and not self.options.calm:
            deaths.start()
        try:
            ran, took, kills = self.among_kills(words, results)
        finally:
            if deaths.ident:
                deaths.end()
        found = [f"the client failed\n{ran.report()}"] if ran.code != 0 else []
        if results.with_name(f"{results.name}.run").exists():
            found.append("the file beside the results is left")
        killed = ", ".join(f"{count} {what} killed" for what, count in kills.items()) or "nothing killed"
        killed += deaths.said() if deaths.killed else ""
        return [json.loads(line) for line in results.read_text().splitlines()], found + deaths.wrong, took, killed

    def among_kills(self, words, results):
        """Returns the program at its end, the seconds that it took, and the kills of workers and of the program itself."""
        began, kills, program = time.monotonic(), collections.Counter(), self.client(words)
        if self.options.calm:
            return program.end(self.options.limit), time.monotonic() - began, kills
        while program.child.poll() is None:
            if time.monotonic() - began > self.options.limit:
                have = len(results.read_text().splitlines()) if results.is_file() else 0
                said = "\n".join(worker.said() for worker in self.workers)
                program.kill()
                raise kit.Failed(f"{have} results within {self.options.limit} s\n{said}")
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.child.wait(self.chance.uniform(0.5, 1.5) * self.options.every)
                break
            worker = self.chance.choice(self.workers)
            worker.ran.kill()
            kills["workers"] += 1
            time.sleep(AWAY)
            worker.start()
            if kills["workers"] == 1:
                program.kill()
                kills["clients"] += 1
                program = self.client(words)
        return program.end(1), time.monotonic() - began, kills
