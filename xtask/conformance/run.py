"""Runs MCP's own conformance suite against converse as a client and as a server.

The suite and a Node that is new enough for it come from npm at pinned versions. What a revision requires is the suite's
word, frozen at its release. The client has to pass all of it; what the gateway need not pass is in
`server-exceptions.txt`, with a reason.
"""

import argparse
import json
import re
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import kit

HERE = Path(__file__).resolve().parent
REVISIONS = ["2025-11-25", "2026-07-28"]
# How many scenarios each revision requires: a suite that asks for fewer proves less.
REQUIRED = {"client": [18, 32], "server": [30, 37]}
# Scenarios that the suite runs with a revision and does not score: they count here.
UNSCORED = [
    ["json-schema-2020-12", "server-session-lifecycle"],
    ["json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"],
]
# One run of the suite. Each scenario has its own, shorter limit.
LIMIT = 300


@dataclass
class Outcome:
    """What became of a scenario: the checks that passed, what is wrong, and why it need not pass."""

    side: str
    revision: str
    scenario: str
    passed: int = 0
    wrong: list = field(default_factory=list)
    excused: str = ""

    def read(self, directory):
        """Reads the newest result of the suite: `SCENARIO-TIMESTAMP/checks.json`, with `server-` before a server's."""
        place = directory / ("server-" * (self.side == "server") + self.scenario)
        # Another scenario's name may begin with this one's.
        is_result = re.compile(re.escape(place.name) + r"-\d.*T").match
        found = sorted(path for path in place.parent.glob("*") if is_result(path.name))
        if not found:
            self.wrong.append("the suite wrote no result of it")
            return self
        return self.judge(json.loads((found[-1] / "checks.json").read_text()))

    def judge(self, checks):
        """A warning counts like a failure, as the suite scores it; so does a scenario in which nothing was checked."""
        for check in checks:
            if check["status"] == "SUCCESS":
                self.passed += 1
            elif check["status"] in ("FAILURE", "WARNING"):
                details = check.get("details")
                message = details.get("message") if isinstance(details, dict) else None
                why = check.get("errorMessage") or message or check.get("description")
                more = f" {json.dumps(details)[:600]}" if details else ""
                self.wrong.append(f"{check['status']} {check['id']}: {why}{more}")
        if not self.passed and not self.wrong:
            self.wrong.append("nothing of it was checked")
        return self

    def excuse(self, exceptions):
        """Excuses what is listed, and finds fault with what is listed and passes."""
        listed = [one for one in exceptions if one[0] in (self.revision, "both") and one[1] == self.scenario]

        def covers(one, line):
            return not one[2] or line.split(" ", 1)[1].partition(":")[0] == one[2]

        idle = [one for one in listed if not any(covers(one, line) for line in self.wrong)]
        left = [line for line in self.wrong if not any(covers(one, line) for one in listed)]
        if listed and not idle and not left:
            self.excused = listed[0][3]
        else:
            # What is excused would only hide what is not.
            names = (one[1] + ":" * bool(one[2]) + one[2] for one in idle)
            self.wrong = left + [f"`{name}` is listed as an exception, and it passes" for name in names]
        return self


def exceptions(text):
    """Reads lines of `REVISION SCENARIO[:CHECK] REASON`."""
    found = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 2)
        if len(words) < 3 or words[0] not in ("both", *REVISIONS):
            raise kit.Failed(f"an exception is `REVISION SCENARIO REASON`, and not `{line}`")
        scenario, _, check = words[1].partition(":")
        found.append((words[0], scenario, check, words[2]))
    return found


class Suite:
    def __init__(self, directory, only):
        self.dir = directory
        packages = kit.Kit("conformance/npm").install(directory)
        self.node, self.script = (
            packages.program("node"),
            packages.file("@modelcontextprotocol/conformance/dist/index.js"),
        )
        if not self.node.exists():
            raise kit.Failed("there is no Node 22 for this machine among its packages")
        self.revisions = [one for one in REVISIONS if one in only] or REVISIONS
        self.named = [one for one in only if one not in ("client", "server", *REVISIONS)]

    def run(self, *words, **more):
        ran = kit.run([self.node, self.script, *words], LIMIT, more={"NO_COLOR": "1", **more})
        if ran.late:
            raise kit.Failed(f"`{ran.command}` did not end within {LIMIT} s")
        return ran

    def required(self, side, revision):
        """Returns the scenarios: `  - NAME` lines below the heading of the side, up to the next heading."""
        ran = self.run("list", "--requirements", revision)
        if ran.code != 0:
            raise kit.Failed(f"the suite does not list its scenarios\n{ran.report()}")
        heading = re.search(rf"^{side} scenarios.*\n((?:\s*- .*\n?)*)", ran.stdout, re.I | re.M)
        names = re.findall(r"^\s*- (\S+)", heading[1], re.M) if heading else []
        at = REVISIONS.index(revision)
        if len(names) != REQUIRED[side][at]:
            raise kit.Failed(
                f"the suite requires {len(names)} scenarios of {revision}, and {REQUIRED[side][at]} are known"
            )
        return names + (UNSCORED[at] if side == "server" else [])

    def drive(self, side, revision, names, target, **more):
        """Runs the scenarios and returns the directory of the results, and the outcomes."""
        results = self.dir / f"{side}-{revision}"
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir()
        meant = [name for name in names if not self.named or name in self.named]
        if not self.named:
            self.run(side, *target, "--requirements", revision, "-o", results, **more)
        for scenario in meant if self.named else []:
            self.run(side, *target, "--scenario", scenario, "--spec-version", revision, "-o", results, **more)
        return results, [Outcome(side, revision, name).read(results) for name in meant]


def as_client(suite, binary):
    """`converse mcp probe` against the suite's servers."""
    words = ["python3", str(HERE / "client.py"), str(binary)]
    if any(re.search(r"\s", word) for word in words):
        raise kit.Failed(f"the suite takes no command with blanks in a word: {words}")
    command, found = ["--command", " ".join(words)], []
    for revision in suite.revisions:
        exits = suite.dir / f"client-{revision}/exits"
        names = suite.required("client", revision)
        results, outcomes = suite.drive("client", revision, names, command, CONFORMANCE_EXITS=str(exits))
        lines = exits.read_text().splitlines() if exits.exists() else []
        codes = dict(reversed([line.split() for line in lines]))
        for outcome in outcomes:
            code = codes.get(outcome.scenario)
            if code is None:
                outcome.wrong.append("the program was never started")
            elif code != "0":
                # The suite minds how its client ended only when it runs one scenario alone, and knows in which of them
                # a client may fail: it is asked again.
                alone = ["--scenario", outcome.scenario, "--spec-version", revision, "-o", results / "again"]
                if suite.run("client", *command, *alone, CONFORMANCE_EXITS=str(exits)).code != 0:
                    outcome.wrong.append(f"the program ended with exit {code}")
        found += outcomes
    return found


def as_server(suite, binary):
    """`converse serve` against the suite's client. Behind the gateway is `upstream.py`, which offers what the suite
    asks of a server: what the suite sees has been through all of the gateway."""
    known, found = exceptions((HERE / "server-exceptions.txt").read_text()), []
    python = kit.Kit("conformance/upstream.txt").install(suite.dir).program("python")
    ensembles = suite.dir / "ensembles"
    ensembles.mkdir(exist_ok=True)
    (ensembles / "suite.toml").write_text(
        '[ensemble]\nname = "suite"\ndescription = "What the suite asks of a server"\n\n[connection]\n'
        f'transport = "stdio"\ncommand = {json.dumps([str(python), str(HERE / "upstream.py")])}\n'
        # What the server may ask of its client.
        f"sampling = true\nroots = [{json.dumps(str(ensembles))}]\n"
    )
    # The suite's client says that it is a page of this very address; no page may call unless it is named.
    words = [binary, "serve", "--http", "127.0.0.1:{port}", "--no-auth", "--allowed-origin", "http://127.0.0.1:{port}"]
    words += ["--ensembles", ensembles, "--ensemble", "suite", "--allow", "suite.*", "--bare-names"]
    for revision in suite.revisions:
        names = suite.required("server", revision)
        for one in known:
            if one[0] in (revision, "both") and one[1] not in names:
                raise kit.Failed(f"`{one[1]}` is listed for {revision} and not required there")
        with kit.Remote(words) as gateway:
            target = ["--url", f"http://127.0.0.1:{gateway.port}/mcp"]
            _, outcomes = suite.drive("server", revision, names, target)
            found += [outcome.excuse(known) for outcome in outcomes]
            if problems := gateway.end():
                raise kit.Failed(f"the gateway, after {revision}: {problems[0]}")
    return found


def report(outcomes):
    for side, revision in dict.fromkeys((one.side, one.revision) for one in outcomes):
        ones = [one for one in outcomes if (one.side, one.revision) == (side, revision)]
        passed, checks = sum(not one.wrong for one in ones), sum(one.passed for one in ones)
        print(f"{side} {revision}: {passed}/{len(ones)} scenarios, {checks} checks")
        for one in ones:
            if one.wrong:
                print(f"  {one.scenario}: " + (f"not passed: {one.excused}" if one.excused else "FAILED"))


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask conformance")
    parser.add_argument("--binary", help="the converse to try; built if it is not given")
    parser.add_argument("--only", action="append", default=[], help="client, server, a revision, or a scenario")
    options = parser.parse_args()
    directory, began = kit.place("conformance"), time.monotonic()
    installed = Suite(directory, options.only)
    sides, outcomes = [side for side in ("client", "server") if side in options.only] or ["client", "server"], []
    if "client" in sides:
        outcomes += as_client(installed, kit.converse(options.binary))
    if "server" in sides:
        outcomes += as_server(installed, kit.beside(kit.converse(options.binary), directory))
    if not outcomes:
        raise kit.Failed(f"there is no scenario {installed.named}")
    report(outcomes)
    print(f"{len(outcomes)} scenario(s) in {time.monotonic() - began:.0f} s")
    failed = [one for one in outcomes if one.wrong and not one.excused]
    for one in failed:
        print(f"\n{one.side} {one.revision}: {one.scenario}", *one.wrong, sep="\n  ", file=sys.stderr)
    return not failed


if __name__ == "__main__":
    kit.main(suite)
