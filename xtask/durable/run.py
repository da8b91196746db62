"""Runs conversations on workers of a Restate server, and kills workers, the client and nodes of the server with SIGKILL.

Each conversation looks and then notes its number with a tool that has effects. The tool's own file says how often: no number
twice, and each that an answer says was noted, once. One conversation waits for an approval while its worker is killed. The
conversations are those of `converse batch`, and then those of a suite of `converse eval`. With `--tau2`, they are the tasks of
a benchmark (`retail.py`). With `--calm` nothing is killed: what conversations of two steps cost, with workers and without, with
sessions in files and in PostgreSQL.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
import uuid
from pathlib import Path

import kit
from restate import JOBS, Front, Node, Servers, Worker, ask, identity, is_whole
from retail import Retail

HERE = Path(__file__).resolve().parent
WORKERS = 3
# What a batch or a suite may take. A session whose worker was killed is taken up in seconds; the rest is for a busy machine.
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
command = {{ argv = {argv} }}
arguments.type = "object"
arguments.required = ["number"]
arguments.properties.number = {{ type = "integer", description = "The number" }}
"""

CONFIG = """limits.max_iterations = 100

[providers.local]
base_url = "http://127.0.0.1:{port}/v1"
dialect = "openai-chat"
"""

def problems(lines, numbers, noted, calls=("ledger__look", "ledger__note")):
    """Returns what is wrong with the results, by the file that the tool wrote. A conversation has these calls."""
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
        if [call["tool"] for call in line["invocations"]] != list(calls):
            found.append(f"{number}: {[call['tool'] for call in line['invocations']]}")
        if line["usage"].get("output") != OF_A_REPLY * (len(calls) + 1):
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


# Tokens of each reply of the model.
OF_A_REPLY = 5
# The numbers of the cases of the suite, which are not those of the batch, and how many there are at most.
CASES, MOST_CASES = 2_000_000, 500
# The tool writes the number to a file, so that what was done is known from elsewhere. It takes a while before and after, so that a
# kill meets it in both states.
TOOL = '{wait}echo "$1" >> "$0" && {wait}echo "heard $1."'
WAIT = "sleep 0.07 && "
# In a calm run, which measures, the tool waits for nothing, and each reply of the model takes so many seconds.
REPLY_TAKES = 0.05

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


def embedded(binary, directory, words, count, limit):
    """Runs the same conversations without workers. Returns the results, and the seconds that it took."""
    home = directory / "alone"
    shutil.copytree(directory / "client", home)
    env = {"PATH": kit.PATH, "HOME": str(home), "LOCAL_API_KEY": "none"}
    words = [binary, "batch", "lines.jsonl", "-o", "alone.jsonl", "--jobs", min(count, JOBS), "--save-sessions", *words]
    words += ["-m", "local/model", "-e", "ledger", "--ensembles", directory / "ensembles"]
    took = kit.done(words, limit, cwd=directory, env=env).took
    return [json.loads(line) for line in (directory / "alone.jsonl").read_text().splitlines()], took


class Ledger:
    """Conversations that note a number."""

    name = "ledger"

    def __init__(self, options, directory):
        self.options, self.directory, self.rows = options, directory, []
        self.logs = {"looked": directory / "looked", "noted": directory / "noted"}
        self.model = [sys.executable, HERE / "model.py", "{port}", *([REPLY_TAKES] if options.calm else [])]
        self.words = ["/bin/sh", "-c", TOOL.format(wait="" if options.calm else WAIT)]

    def ensemble(self):
        text = ENSEMBLE
        for name, effects, permission, log in (
            ("look", "read", "allow", "looked"), ("note", "write", "allow", "noted"), ("sign", "write", "ask", "noted"),
        ):  # fmt: skip
            argv = json.dumps([*self.words, str(self.logs[log]), "{number}"])
            text += INVOKER.format(name=name, effects=effects, permission=permission, argv=argv)
        return text

    def noted(self, numbers):
        """Returns the numbers of this range that were noted."""
        return [number for number in map(int, self.logs["noted"].read_text().split()) if number in numbers]

    def batch(self, word):
        """Writes the lines of a batch. Returns their numbers."""
        batch = range(self.options.sessions)
        lines = [{"id": str(number), "prompt": f"{word} {number}"} for number in batch]
        (self.directory / "lines.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return batch

    def run(self, binary, servers, words):
        """Runs a batch, and a suite of half its size, up to a limit. Returns what is wrong."""
        if self.options.calm:
            return self.measured(binary, servers, words)
        found = waits(servers.nodes[0], servers.workers)
        found += self.driven(servers, "conversations", self.batch("note"), [binary, "batch", "lines.jsonl"])
        cases = range(CASES, CASES + min(MOST_CASES, max(1, self.options.sessions // 2)))
        (self.directory / "suite.toml").write_text(SUITE + "".join(CASE.format(number=number) for number in cases))
        found += self.driven(servers, "cases", cases, [binary, "eval", "suite.toml"])
        if (signed := len(self.noted([1_000_000]))) != 1:
            found.append(f"the approved call ran {signed} times")
        return found

    def measured(self, binary, servers, words):
        """Runs a batch with the workers, and then without. Returns what is wrong."""
        batch, store, found = self.batch("write"), "PostgreSQL" if words else "files", []
        for runner in ("Restate", "embedded"):
            load = os.getloadavg()[0]
            if runner == "Restate":
                lines, wrong, took, _ = servers.driven(binary, "batch", "lines.jsonl")
            else:
                self.logs["noted"].unlink()
                (lines, took), wrong = embedded(binary, self.directory, words, len(batch), self.options.limit), []
            self.rows.append((runner, store, took, load))
            found += wrong + problems(lines, batch, self.noted(batch), ["ledger__note"])
        return found

    def driven(self, servers, what, numbers, words):
        results, found, took, killed = servers.driven(*words)
        # A result of `eval` is that of the conversation, with its verdict.
        lines = [{**line["result"], "id": line["case"]} if "case" in line else line for line in results]
        found += problems(lines, numbers, self.noted(numbers))
        found += [f"{line['case']}: {line['misses']}" for line in results if line.get("status", "passed") != "passed"]
        unknown = sum("unknown" in line["answer"] for line in lines)
        print(f"{len(numbers)} {what}: {took:.1f} s, {killed}; {len(lines) - unknown} noted, {unknown} with an unknown outcome")
        return found


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask durable")
    parser.add_argument("--binary", help="the converse to try; it is built if it is not given")
    parser.add_argument("--worker", help="the converse-worker to try; it is built if it is not given")
    parser.add_argument("--sessions", type=int, default=120, metavar="N", help="conversations")
    parser.add_argument("--nodes", type=int, default=1, choices=[1, 3], help="nodes of the server; of three, one after the other is killed")
    parser.add_argument("--store", choices=["files", "postgres"], help="where the workers keep sessions; in files by default")
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="time between kills of workers, about")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), metavar="N", help="for the choice of what is killed, and when")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="what the batch and the suite may take, each")
    parser.add_argument("--calm", action="store_true", help="kill nothing, and measure: both stores, with workers and without")
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
    is_well, rows = True, []
    for store in [options.store] if options.store else ["files", "postgres"] if options.calm and not options.tau2 else ["files"]:
        with tempfile.TemporaryDirectory(prefix="durable", dir="/tmp") as work, contextlib.ExitStack() as held:
            scenario = Retail(place, held) if options.tau2 else Ledger(options, Path(work))
            is_well &= tried(options, Path(work), held, program, (binary, worker), scenario, store)
            rows += scenario.rows
    if rows:
        print("| runner | sessions in | seconds | conversations a second | load before |", "| --- | --- | ---: | ---: | ---: |", sep="\n")
        for runner, store, took, load in sorted(rows, key=lambda row: row[0] == "Restate"):
            print(f"| {runner} | {store} | {took:.1f} | {options.sessions / took:.1f} | {load:.1f} |")
    return is_well


def tried(options, directory, held, program, binaries, scenario, store):
    directory.chmod(0o755)
    (directory / "ensembles").mkdir()
    (directory / f"ensembles/{scenario.name}.toml").write_text(scenario.ensemble())
    model = kit.Remote(scenario.model)
    held.callback(model.kill)
    words = []
    if store == "postgres":
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
    kit.until("the server is ready", 120, lambda: is_whole(nodes), every=0.2)
    front = Front(workers)
    deployment = {"uri": f"http://127.0.0.1:{front.port}"}
    kit.until("the workers are registered", 60, lambda: ask(nodes[0].admin, "POST", "/deployments", deployment)[0] in (200, 201), every=0.5)
    print(f"{options.nodes} nodes, {WORKERS} workers, sessions in {store}, seed {options.seed}")
    found = unsigned(workers[0]) + scenario.run(binaries[0], Servers(options, directory, nodes, workers), words)
    if found:
        print(*(f"error: {problem}" for problem in found[:20]), *(worker.said() for worker in workers), sep="\n", file=sys.stderr)
    return not found


if __name__ == "__main__":
    kit.main(suite)
