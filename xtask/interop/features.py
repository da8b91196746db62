"""Every feature of the server `everything`, used with the official client: what comes through the gateway must be what
comes from the server itself. What may differ is in `features.txt`, with a reason; what no longer differs is named."""

import json
import time

import clients
import kit
from places import LIMIT, Site
from visits import last_json, scripts, table

WAYS = ("stdio", "http")


def exceptions(text):
    """Reads lines of `FEATURE | REASON`; a way before the feature, as in `http FEATURE`, excuses that way only."""
    found = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        feature, bar, reason = map(str.strip, line.partition("|"))
        if not bar or not reason:
            raise kit.Failed(f"an exception is `FEATURE | REASON`, and not `{line}`")
        way, _, rest = feature.partition(" ")
        ways, feature = ((way,), rest) if way in WAYS else (WAYS, feature)
        found |= {(one, feature): reason for one in ways}
    return found


def plain(value):
    """Returns a result without the prefix that the gateway puts before names."""
    return json.dumps(value, sort_keys=True).replace("everything__", "")


def compare(direct, served, way, excused):
    """Returns (feature, verdict, what is wrong) for each feature."""
    found = []
    for feature, wanted in direct.items():
        is_same, reason = plain(wanted) == plain(served.get(feature)), excused.get((way, feature))
        if is_same and reason:
            found.append((feature, "passes now", ""))
        elif is_same or reason:
            found.append((feature, "ok" if is_same else "excused", ""))
        else:
            found.append((feature, "failed", f"expected: {plain(wanted)[:600]}\n  found: {plain(served.get(feature))[:600]}"))
    return found


def drive(binary, kits):
    began, site = time.monotonic(), Site(binary)
    program, script = kits["clients"].program("node"), scripts(kits, "clients") / "features.mjs"
    upstream = [str(kits["npm"].program("mcp-server-everything")), "stdio"]
    # What the server may ask of its client.
    grants = f"sampling = true\nroots = [{json.dumps(str(site.work))}]\n"
    ensembles = site.describe("ensembles", "everything", command=upstream, grants=grants)
    gateway = [binary, "serve", "--ensembles", ensembles, "--ensemble", "everything", "--allow", "everything.*"]
    env = {"PATH": kit.PATH, "HOME": str(site.home)}

    def ask(asked):
        ran = kit.run([program, script, json.dumps({**asked, "root": site.work.as_uri()})], 3 * LIMIT, cwd=site.work, env=env)
        if not (seen := last_json(ran)):
            raise kit.Failed(f"the client of the features said nothing\n{ran.report()}")
        return seen

    direct = ask({"command": upstream})
    served = {"stdio": ask({"command": [str(word) for word in gateway]})}
    tokens = site.root / "tokens"
    tokens.write_text(f"{clients.TOKEN}\n")
    tokens.chmod(0o600)
    with kit.Remote([*gateway, "--http", "127.0.0.1:{port}", "--token-file", tokens], cwd=site.work) as remote:
        served["http"] = ask({"url": f"http://127.0.0.1:{remote.port}/mcp", "token": clients.TOKEN})
    failed = [feature for feature, seen in direct.items() if isinstance(seen, dict) and "failed" in seen]
    failures = [f"{feature}: the server itself fails: {direct[feature]}" for feature in failed]
    excused = exceptions((kit.ROOT / "xtask/interop/features.txt").read_text())
    failures += [f"`{feature}` is listed and no feature" for _, feature in excused if feature not in direct]
    rows = [["feature", *WAYS]]
    verdicts = {}
    for way in WAYS:
        for feature, verdict, wrong in compare(direct, served[way], way, excused):
            verdicts.setdefault(feature, []).append(verdict)
            failures += [f"{feature} over {way}: {wrong}"] if wrong else []
    print(table(rows + [[feature, *both] for feature, both in verdicts.items()]))
    if idle := [feature for feature, both in verdicts.items() if "passes now" in both]:
        print("to be removed from xtask/interop/features.txt:", *idle, sep="\n  ")
    print(f"{len(direct)} feature(s) in {time.monotonic() - began:.0f} s")
    return failures
