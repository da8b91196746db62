"""Measures `converse serve` beside other gateways, each in front of the same server: `cargo xtask bench --only gateways`.

One load generator and one server, which does nothing, for all of them (`xtask/floor`). Not every gateway has every
combination of transports, so the server is behind HTTP where the clients are on stdio, and behind stdio where they come
over HTTP. The gateways take turns, round by round; the figures are medians. Machines are noisy: what counts is the ratio
to the others of the same run.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import kit

CLIENTS = 50
KITS = {name: f"gateways/{name}.txt" for name in ("fastmcp", "mcp-proxy")}
# Measured by hand in 2026-11: too many packages, and too slow to tell anything new.
SKIPPED = {"LiteLLM": "about 30 calls/s by hand", "ContextForge": "about 20 calls/s by hand"}
# What is expected of converse on two quiet cores: calls a second, p99 in ms, memory in MB.
EXPECTED = {"stdio": (8000, 30, 60), "http": (5000, 30, 60)}


class Places:
    """The programs, and a directory for what they read."""

    def __init__(self, binary, load, stub, kits, work):
        self.binary, self.load, self.stub, self.kits, self.work = binary, load, stub, kits, Path(work)
        (self.work / "home").mkdir()

    def ensembles(self, connection):
        """Writes the descriptor of the server for converse."""
        directory = self.work / "ensembles"
        directory.mkdir(exist_ok=True)
        head = '[ensemble]\nname = "noted"\ndescription = "Notes numbers"\n\n[connection]\n'
        (directory / "noted.toml").write_text(head + connection)
        return directory

    def env(self):
        return {"PATH": kit.PATH, "HOME": str(self.work / "home")}


def converse(places, url, *options):
    if url:
        connection = f'transport = "http"\nurl = "{url}"\n'
    else:
        connection = f'transport = "stdio"\ncommand = {json.dumps([str(places.stub), "--stdio"])}\n'
    return [places.binary, "serve", "--ensembles", places.ensembles(connection), "-e", "noted", "--allow", "noted.note", *options]


def fastmcp(places, url, *options):
    program = places.kits["fastmcp"].program("fastmcp")
    if url:
        return [program, "run", url, "--no-banner", *options]
    servers = places.work / "mcp.json"
    servers.write_text(json.dumps({"mcpServers": {"noted": {"command": str(places.stub), "args": ["--stdio"]}}}))
    return [program, "run", servers, "--no-banner", *options]


def mcp_proxy(places, url, *options):
    program = places.kits["mcp-proxy"].program("mcp-proxy")
    return [program, "--transport", "streamablehttp", url] if url else [program, *options, "--", places.stub, "--stdio"]


# How each is started over stdio and over HTTP, and by which name it has the tool.
GATEWAYS = {
    "direct": (None, (), "note"),
    "converse": (converse, ("--http", "127.0.0.1:{port}", "--no-auth"), "noted__note"),
    "mcp-proxy": (mcp_proxy, ("--port", "{port}", "--stateless"), "note"),
    "FastMCP": (fastmcp, ("--transport", "http", "--port", "{port}"), "note"),
}


def loaded(words, seconds):
    ran = kit.run(words, seconds + 90)
    if not ran.json:
        raise kit.Failed(f"the load said nothing\n{ran.report()}")
    return ran.json


def resident(program):
    """Returns the resident memory of a program in KiB."""
    status = Path(f"/proc/{program.child.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def over_stdio(places, name, address, seconds):
    start, _, tool = GATEWAYS[name]
    command = start(places, f"http://{address}/mcp") if start else [places.stub, "--stdio"]
    options = [tool, "--clients", CLIENTS, "--seconds", seconds]
    return loaded(["env", f"HOME={places.work / 'home'}", places.load, "stdio", *options, "--", *command], seconds)


def over_http(places, name, address, seconds):
    start, options, tool = GATEWAYS[name]
    words = ["--clients", CLIENTS, "--seconds", seconds, "--era", "sessions"]
    if not start:
        return loaded([places.load, address, tool, *words], seconds)
    with kit.Remote(start(places, None, *options), {"HOME": str(places.work / "home")}) as remote:
        said = loaded([places.load, f"127.0.0.1:{remote.port}", tool, *words], seconds)
        return {**said, "resident_kib": resident(remote.program)}


def row(rounds):
    """Returns the medians of the rounds: calls a second, p50 and p99 in ms, memory in MB, calls that failed."""
    middle = lambda value: statistics.median(value(one) for one in rounds)  # noqa: E731
    return {
        "calls": middle(lambda one: one["answered"] / max(one["seconds"], 0.001)),
        "p50": middle(lambda one: one["p50_us"] / 1000), "p99": middle(lambda one: one["p99_us"] / 1000),
        "memory": middle(lambda one: one["resident_kib"] / 1024), "failed": sum(one["failed"] for one in rounds),
    }  # fmt: skip


def table(figures):
    lines = [
        "| clients over | gateway | calls/s | ÷ converse | p50 | p99 | memory | failed |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (way, name), one in figures.items():
        ratio = one["calls"] / max(figures[way, "converse"]["calls"], 0.001)
        memory = f"{one['memory']:.0f} MB" if one["memory"] and name != "direct" else "–"
        lines.append(
            f"| {way} | {name} | {one['calls']:,.0f} | {ratio:.2f} | {one['p50']:.1f} ms | {one['p99']:.1f} ms | {memory} | {one['failed']} |"
        )
    return "\n".join(lines)


def problems(figures):
    """A gateway of others that loses calls is told in the table. Ours may lose none, and is to be the fastest."""
    found = []
    for way, expected in EXPECTED.items():
        ours = figures.get((way, "converse"))
        if not ours:
            continue
        if ours["failed"]:
            found.append(f"{way}: {ours['failed']} calls of converse failed")
        found += [
            f"{way}: {name} does more calls a second"
            for (other, name), one in figures.items()
            if other == way and name != "direct" and one["calls"] > ours["calls"]
        ]
        calls, p99, memory = expected
        if ours["calls"] < calls or ours["p99"] > p99 or ours["memory"] > memory:
            print(f"{way}: below what two quiet cores are expected to do: {calls} calls/s, p99 {p99} ms, {memory} MB")
    return found


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask bench --only gateways")
    parser.add_argument("--binary", help="the converse to measure; a release is built if it is not given")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="how long each load lasts")
    options = parser.parse_args()
    directory = kit.place("gateways")
    floor = ["--release", "--locked", "--manifest-path", "xtask/floor/Cargo.toml", "--target-dir", "target/floor"]
    load, stub = (kit.build(*floor, "--bin", name, name=name) for name in ("load", "stub-http"))
    binary = kit.converse(options.binary, "--release")
    kits = {name: kit.Kit(source).install(directory) for name, source in KITS.items()}
    seen = {}
    with tempfile.TemporaryDirectory() as work:
        places = Places(binary, load, stub, kits, work)
        upstream = subprocess.Popen([stub], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            address = upstream.stdout.readline().strip()
            for at in range(options.rounds + 1):
                for way, measure in (("stdio", over_stdio), ("http", over_http)):
                    for name in GATEWAYS:
                        said = measure(places, name, address, options.seconds)
                        # The first round warms up.
                        if at or not options.rounds:
                            seen.setdefault((way, name), []).append(said)
                        if said["failed"]:
                            print(f"{way}, {name}: {said['reasons'][:1]}", file=sys.stderr)
        finally:
            upstream.kill()
    figures = {key: row(rounds) for key, rounds in sorted(seen.items(), key=lambda one: one[0][0] == "http")}
    print(table(figures))
    for name, reason in SKIPPED.items():
        print(f"{name}: not measured, {reason}")
    found = problems(figures)
    print(*(f"error: {problem}" for problem in found), sep="\n", file=sys.stderr)
    return not found


if __name__ == "__main__":
    kit.main(suite)
