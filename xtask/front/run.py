"""Measures the HTTP front beside LiteLLM's proxy and aichat's server, all before the same model server: time that is added
to the first word, requests in a second, memory of a stream. The servers take turns, and medians are compared."""

import argparse
import contextlib
import os
import re
import resource
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import kit
from load import Client, open_streams, requests

HERE = Path(__file__).resolve().parent
# LiteLLM takes no key that looks weak.
KEY = "sk-" + secrets.token_hex(32)
CLIENTS, STREAMS, BLOCK = 100, 500, 50
CONVERSE = """
[providers.stub]
base_url = "http://127.0.0.1:{model}/v1"
dialect = "openai-chat"

[presets.quick]
model = "stub/quick"
ensembles = []

[presets.held]
model = "stub/held"
ensembles = []
"""
LITELLM = """
model_list:
  - model_name: "*"
    litellm_params: {{ model: "openai/*", api_base: "http://127.0.0.1:{model}/v1", api_key: x }}
"""
AICHAT = """
model: stub:quick
clients:
- type: openai-compatible
  name: stub
  api_base: http://127.0.0.1:{model}/v1
  api_key: x
  models: [{{ name: quick }}, {{ name: held }}]
"""


class Server:
    """A server of chat completions."""

    path, key, home = "/v1/chat/completions", KEY, None

    def __init__(self, name, port, prefix="", words=(), file=None, text=""):
        self.name, self.port, self.prefix, self.words, self.file, self.text = name, port, prefix, words, file, text

    def __enter__(self):
        if not self.words:
            return self
        # LiteLLM imports what lies two directories above the one it runs in.
        self.home = tempfile.TemporaryDirectory()
        place = Path(self.home.name) / "a/b/c"
        settings = place / self.file
        settings.parent.mkdir(parents=True)
        settings.write_text(self.text)
        env = {"PATH": kit.PATH, "HOME": str(place), "CONVERSE_SERVE_TOKEN": KEY}
        env |= {"AICHAT_CONFIG_DIR": str(place), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": KEY}
        self.program = kit.Program(self.words, cwd=place, env=env)
        said, child = lambda: kit.tail("".join(map(kit.Program.text, self.program.outputs))), self.program.child
        try:
            kit.until(said, 120, lambda: child.poll() is not None or kit.listens(self.port), every=0.1)
            if child.poll() is not None:
                raise kit.Failed(f"{self.name} does not serve: {said()}")
        except kit.Failed:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.home:
            self.program.kill()
            self.home.cleanup()

    def pids(self):
        """Returns the process and its descendants."""
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        found = {self.program.child.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found

    def memory(self):
        """Returns the bytes that are resident, with its share of what others map too."""
        pages = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in self.pids())
        return sum(1024 * int(re.search(r"^Pss: *(\d+)", text, re.MULTILINE)[1]) for text in pages)

    def cpu(self):
        fields = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in self.pids()]
        return sum(int(field[11]) + int(field[12]) for field in fields) / os.sysconf("SC_CLK_TCK")


def per_stream(server):
    """Returns what one of many open streams takes, in kB. The server was not asked much before."""
    with server:
        for stream in open_streams(server, 10):
            stream.close()
        time.sleep(1)
        before = server.memory()
        streams = open_streams(server, STREAMS)
        time.sleep(1)
        grown = server.memory() - before
        for stream in streams:
            stream.close()
    return grown / STREAMS / 1000


def first_words(server, count):
    client = Client(server)
    try:
        client.first_word()
        return [1000 * client.first_word() for _ in range(count)]
    finally:
        client.close()


def rounds(servers, count, seconds, samples):
    """Returns the first words, and for each kind of request the rates and CPU, of each server."""
    words, rates = {s.name: [] for s in servers}, {(s.name, kind): [] for s in servers for kind in (False, True)}
    for server in servers:
        requests(server, CLIENTS, 2, True)
    for _ in range(count):
        for _ in range(max(1, samples // BLOCK)):
            for server in servers:
                words[server.name] += first_words(server, BLOCK)
        for kind in (False, True):
            for server in servers:
                before = server.cpu() if server.words else 0
                rate = requests(server, CLIENTS, seconds, kind)
                used = server.cpu() - before if server.words else 0
                rates[server.name, kind].append((rate, 1000 * used / max(1, rate * seconds)))
    return words, rates


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask front")
    parser.add_argument("--binary", help="the converse to measure; a release is built if it is not given")
    parser.add_argument("--litellm", help="the program of LiteLLM; installed at the version of requirements.txt if not given")
    parser.add_argument("--aichat", help="the program of aichat; without it aichat is not measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="how long each load lasts")
    parser.add_argument("--samples", type=int, default=300, help="first words of each server in a round")
    options = parser.parse_args()
    binary = kit.converse(options.binary, "--release")
    litellm = options.litellm or kit.Kit("front/requirements.txt").install(kit.place("front"), "python").program("litellm")
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    ports = [kit.free_port() for _ in range(4)]
    model = subprocess.Popen([sys.executable, HERE / "model.py", str(ports[0])], stdin=subprocess.PIPE)
    try:
        kit.until("the model server listens", 10, lambda: kit.listens(ports[0]))
        text = {"model": ports[0]}
        at = f"127.0.0.1:{ports[1]}"
        servers = [
            Server("direct", ports[0]),
            Server("converse", ports[1], words=[binary, "serve", "--http", at, "--openai"], file=".config/converse/config.toml",
                   text=CONVERSE.format(**text)),
            Server("LiteLLM", ports[2], words=[litellm, "--config", "config.yaml", "--host", "127.0.0.1", "--port", ports[2],
                   "--telemetry", "False"], file="config.yaml", text=LITELLM.format(**text)),
        ]  # fmt: skip
        if options.aichat:
            words = [Path(options.aichat).resolve(), "--serve", f"127.0.0.1:{ports[3]}"]
            servers.append(Server("aichat", ports[3], "stub:", words, "config.yaml", AICHAT.format(**text)))
        with contextlib.ExitStack() as held:
            for server in servers:
                held.enter_context(server)
            words, rates = rounds(servers, options.rounds, options.seconds, options.samples)
        memory = {s.name: statistics.median(per_stream(s) for _ in range(options.rounds)) for s in servers[1:]}
    finally:
        model.stdin.close()
        model.wait()
    return report(words, rates, memory)


def report(words, rates, memory):
    direct = statistics.median(words["direct"])
    print("| | added to the first word, median | p99 | requests /s, whole | CPU of one | requests /s, streamed | CPU of one | kB a stream |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    best = {}
    for name, times in words.items():
        times = sorted(times)
        added = [times[len(times) * part // 100] - direct for part in (50, 99)]
        cells = [f"{time:.2f} ms" for time in added]
        for kind in (False, True):
            best[name, kind] = tuple(statistics.median(values) for values in zip(*rates[name, kind]))
            cells += ["{:,.0f}".format(best[name, kind][0]), "{:.2f} ms".format(best[name, kind][1])]
        print(f"| {name} | {' | '.join(cells)} | {memory.get(name, 0):.0f} |")
        if name == "converse":
            ours = added[0]
    load = os.getloadavg()[0]
    print(f"medians; the first word of the model itself takes {direct:.2f} ms; load {load:.1f}")
    ratio = min(best["converse", kind][0] / max(best["LiteLLM", kind][0], 0.1) for kind in (False, True))
    print(f"added {ours:.2f} ms (goal: below 1), {ratio:.0f} x LiteLLM (goal: 10), {memory['converse']:.0f} kB a stream (goal: below 50)")
    return ours < 1 and ratio >= 10 and memory["converse"] < 50


if __name__ == "__main__":
    kit.main(suite)
