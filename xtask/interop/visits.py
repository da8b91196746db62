"""Clients and agents of others, pointed at the gateway, and the servers of the catalogue: each is met once."""

import functools
import json
import time
from concurrent.futures import ThreadPoolExecutor

import agents
import clients
import kit
from places import LIMIT, Site, Traces

# None of them is to look for something on the network.
QUIET = {"MCP_USE_ANONYMIZED_TELEMETRY": "false", "PYTHONDONTWRITEBYTECODE": "1"}


def table(rows):
    """Aligns columns; the first row is the head."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def scripts(kits, name):
    """Returns the directory of the scripts beside the libraries of a kit, where Node looks for them."""
    copied = kits[name].dir / "scripts"
    copied.mkdir(exist_ok=True)
    for script in (kit.ROOT / "xtask/interop/scripts").iterdir():
        if script.is_file():
            (copied / script.name).write_bytes(script.read_bytes())
    return copied


# --- the catalogue


def list_servers(chosen, binary, kits):
    """Two at a time: each mostly waits for the start of a server."""
    began, failures = time.monotonic(), []
    lister = [kits["clients"].program("node"), scripts(kits, "clients") / "list.mjs"]
    rows = [["server", "era", "tools", "sdk ms", "list ms", "verdict"]]
    with ThreadPoolExecutor(2) as pool:
        for row, problems in pool.map(lambda server: listed(server, binary, kits, lister), chosen):
            failures += problems
            rows.append([*row, "failed" if problems else "ok"])
    print(table(rows))
    print(f"{len(chosen)} server(s) of the catalogue in {time.monotonic() - began:.0f} s")
    return failures


def listed(server, binary, kits, lister):
    """Lists the tools of a server with the official client and with converse, and calls one with converse."""
    site = Site(binary)
    fill = lambda words: [str(word).replace("{work}", str(site.work)) for word in words]  # noqa: E731
    command = [str(kits[server.kit].program(server.program)), *fill(server.arguments)]
    asked = json.dumps({"command": command, "environment": {"PATH": kit.PATH, "HOME": str(site.home), **server.environment}})
    env = {"PATH": kit.PATH, "HOME": str(site.home)}
    sdk = kit.run([*lister, asked], LIMIT, cwd=site.work, env=env)
    wanted = sorted((last_json(sdk)).get("tools") or [])
    ensembles = site.describe("ensembles", server.name, command=command, environment=server.environment)
    ours = site.start(["ensembles", "show", server.name, "--connect", "--json", "--ensembles", ensembles]).end(LIMIT)
    names = sorted(tool["invoker"] for tool in ours.json.get("tools") or [])
    problems, ran = [], ours
    if not wanted:
        problems, ran = ["expected: the official client lists tools"], sdk
    elif names != wanted:
        problems.append(f"expected: the tools that the official client lists, and not {sorted(set(names) ^ set(wanted))}")
    elif server.call:
        (tool, *arguments), check = server.call
        words = ["ensembles", "call", "--ensembles", ensembles, "--allow", f"{server.name}.*", f"{server.name}.{tool}"]
        ran = site.start([*words, *fill(arguments)]).end(LIMIT)
        wrong = check(ran) if ran.code == 0 else "expected: exit 0"
        problems += [wrong] if wrong else []
    # Another server is listed at the same time with the same program.
    problems += Traces([str(site.root)]).left()
    era = (ours.json.get("server") or {}).get("era") or "-"
    row = [server.name, era, str(len(names)), f"{sdk.took * 1000:.0f}", f"{ours.took * 1000:.0f}"]
    return row, [f"{server.name}: {'; '.join(problems)}\n{ran.report()}"] if problems else []


def last_json(ran):
    """Returns the last line of what a script said."""
    try:
        return json.loads(ran.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return {}


# --- clients


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
    if isinstance(client, agents.Agent):
        # An agent takes the tools that are there at once: those of the last run.
        site.start(["ensembles", "check", "--connect", ensembles]).end(LIMIT)
    start = functools.partial(start_client, client, site, kits)
    if is_http:
        tokens = site.root / "tokens"
        tokens.write_text(f"{clients.TOKEN}\n")
        tokens.chmod(0o600)
        with kit.Remote([*gateway, "--http", "127.0.0.1:{port}", "--token-file", tokens]) as remote:
            seen, ran = start({"url": f"http://127.0.0.1:{remote.port}/mcp", "token": clients.TOKEN})
            problems = remote.end()
    else:
        (seen, ran), problems = start({"command": [str(word) for word in gateway]}), []
    problems += site.traces(upstream).left()
    judge = agents.problems if isinstance(client, agents.Agent) else clients.problems
    return seen, problems + judge(seen, client, is_http), ran


def start_client(client, site, kits, asked):
    """Returns what a client saw, and its run."""
    env = {"PATH": kit.PATH, "HOME": str(site.home), **QUIET}
    if isinstance(client, agents.Agent):
        with agents.Model() as model:
            words, more = client.words(kits[client.kit], site, asked, model.address)
            ran = kit.run(words, 120, cwd=site.work, env={**env, **more})
            return {"tools": sorted(model.offered), "results": model.results}, ran
    # The one Node is that of the clients.
    is_node = client.interpreter == "node"
    interpreter = kits["clients" if is_node else client.kit].program(client.interpreter)
    script = scripts(kits, client.kit if is_node else "clients") / client.script
    library = [client.library] if client.library else []
    ran = kit.run([interpreter, script, json.dumps(asked), *library], 120, cwd=site.work, env=env)
    return last_json(ran), ran
