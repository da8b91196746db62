"""Restarts two gateways behind nginx in turn, under load. No call may be lost or done twice: every call carries a number,
and the server behind the gateways counts what comes. With `--upstreams` the servers are killed instead (`upstreams.py`), and
with `--turns N` one of N servers that share a database (`turns.py`), which `--orderly` restarts instead."""

import argparse
import contextlib
import http.client
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import kit
import stores
import turns
import upstreams

HERE = Path(__file__).resolve().parent
CLIENTS = 64
# A call takes so many seconds that some run whenever a gateway is told to end.
DELAY = 0.02
# More than a gateway's own time to drain.
ENDING = 45
# A client that tried to connect to a gateway that was ending tries again after a second. It must have done so, and been
# refused or answered, before the other gateway ends.
BETWEEN = 3
# Fewer restarts prove little: the load goes on until there were so many.
RESTARTS = 4
MOST_LOADS = 5


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return answer.read()


def is_healthy(port):
    try:
        get(port, "/healthz")
    except (OSError, http.client.HTTPException):
        return False
    return True


class Gateway:
    """`converse serve` at an address that it keeps."""

    def __init__(self, binary, directory, name):
        self.port, self.name, self.program = kit.free_port(), name, None
        self.words = [binary, "serve", "--http", f"127.0.0.1:{self.port}", "--no-auth", "-e", "noted", "--allow", "noted.note"]
        self.words += ["--ensembles", directory / "ensembles"]
        self.options = {"cwd": directory, "env": {"HOME": str(directory / name)}}
        self.start()

    def start(self):
        self.program = program = kit.Program(self.words, **self.options)
        kit.until(f"gateway {self.name} serves", 60, lambda: program.child.poll() is not None or is_healthy(self.port))
        if program.child.poll() is not None:
            raise kit.Failed(f"gateway {self.name} does not serve\n{program.end(1).report()}")

    def restart(self):
        """As an orderly administrator does it: told to end, waited for, started, waited for."""
        self.program.signal(signal.SIGTERM)
        if self.program.end(ENDING).code != 0:
            raise kit.Failed(f"gateway {self.name} ended badly\n{self.program.report()}")
        self.start()
        time.sleep(BETWEEN)


def problems(loaded, calls, numbers, restarts):
    """Returns every way in which a call was lost."""
    found = []
    if loaded["failed"]:
        found.append(f"{loaded['failed']} calls failed: {loaded['reasons']}")
    if calls != numbers:
        found.append(f"{calls - numbers} calls were done twice")
    if numbers != loaded["answered"]:
        found.append(f"{loaded['answered']} calls were answered, and {numbers} were done")
    if restarts < RESTARTS:
        found.append(f"there were {restarts} restarts in that time, and {RESTARTS} are wanted")
    return found


def together(loads):
    """Returns what several loads have seen, one after the other. Times of calls are those of the worst."""
    sums = {key: sum(one[key] for one in loads) for key in ("answered", "failed", "seconds")}
    return {**sums, "reasons": [reason for one in loads for reason in one["reasons"]]} | {
        key: max(one[key] for one in loads) for key in ("p50_us", "p99_us")
    }


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask replicas")
    parser.add_argument("--binary", help="the converse to try; a release is built if it is not given")
    parser.add_argument("--seconds", type=float, default=30, help="how long the load lasts")
    parser.add_argument("--upstreams", action="store_true", help="kill the servers behind one gateway instead; 600 seconds are the full trial")
    parser.add_argument("--turns", type=int, default=0, metavar="N", help="kill one of N servers with one database every 5 seconds instead")
    parser.add_argument("--clients", type=int, default=turns.CLIENTS, help="with --turns and --stores: how many clients")
    parser.add_argument("--orderly", action="store_true", help="with --turns: tell the servers to end and start them again, instead of kills")
    parser.add_argument("--nginx", action="store_true", help="with --turns: behind nginx, as clients of a team are")
    parser.add_argument("--stores", action="store_true", help="measure turns with a database and with files instead")
    options = parser.parse_args()
    if options.stores:
        return stores.run(kit.converse(options.binary, "--release"), options.clients, options.seconds)
    if options.turns:
        nginx = kit.debian("usr/sbin/nginx", "nginx") if options.nginx else None
        return turns.run(kit.converse(options.binary, "--release"), options.turns, options.seconds, options.clients, nginx, options.orderly)
    if options.upstreams:
        return upstreams.run(kit.converse(options.binary, "--release"), max(options.seconds, 45))
    nginx = kit.debian("usr/sbin/nginx", "nginx")
    floor = ["--release", "--locked", "--manifest-path", "xtask/floor/Cargo.toml", "--target-dir", "target/floor"]
    load, stub = (kit.build(*floor, "--bin", name, name=name) for name in ("load", "stub-http"))
    binary = kit.converse(options.binary, "--release")
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as held:
        directory = Path(work)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        upstream = subprocess.Popen([stub, "--delay", str(DELAY)], **pipes)
        held.callback(upstream.kill)
        address = upstream.stdout.readline().strip()
        (directory / "ensembles").mkdir()
        (directory / "ensembles/noted.toml").write_text(
            '[ensemble]\nname = "noted"\ndescription = "Notes numbers"\n\n'
            f'[connection]\ntransport = "http"\nurl = "http://{address}/mcp"\n'
        )
        gateways = []
        for name in ("one", "two"):
            gateways.append(Gateway(binary, directory, name))
            held.callback(lambda gateway=gateways[-1]: gateway.program.kill())
        configuration, port = (HERE / "nginx.conf").read_text(), kit.free_port()
        for name, value in [("dir", work), ("port", port), ("one", gateways[0].port), ("two", gateways[1].port)]:
            configuration = configuration.replace(f"{{{name}}}", str(value))
        (directory / "nginx.conf").write_text(configuration)
        front = kit.Program([nginx, "-c", directory / "nginx.conf", "-p", directory])
        held.callback(front.kill)
        kit.until(lambda: f"nginx starts: {front.text(front.outputs[1])}", 60, lambda: kit.listens(port))
        words, loads, restarts = [f"127.0.0.1:{port}", "noted__note", "--clients", CLIENTS, "--seconds", options.seconds], [], 0
        while restarts < RESTARTS and len(loads) < MOST_LOADS:
            loader = kit.Program([load, *words, "--from", loads[-1]["next"] if loads else 0])
            held.callback(loader.kill)
            while loader.child.poll() is None:
                gateways[restarts % 2].restart()
                restarts += 1
            loads.append(loader.end(ENDING).json)
            if not loads[-1]:
                raise kit.Failed(f"the load said nothing\n{loader.report()}")
        loaded = together(loads)
        noted = json.loads(get(address.rpartition(":")[2], "/noted"))
        found = problems(loaded, noted["calls"], noted["numbers"], restarts)
        print(
            f"{loaded['answered']} calls in {loaded['seconds']:.1f} s by {CLIENTS} clients, {restarts} restarts: "
            f"{loaded['failed']} failed; p50 {loaded['p50_us'] / 1000:.1f} ms, p99 {loaded['p99_us'] / 1000:.1f} ms"
        )
        if found:
            complaints = front.text(front.outputs[1]).splitlines()[-10:]
            print(*(f"error: {problem}" for problem in found), *complaints, sep="\n", file=sys.stderr)
        return not found


if __name__ == "__main__":
    kit.main(suite)
