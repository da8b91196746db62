"""What once went wrong with servers of others, each with the server that showed it."""

import http.client
import json
import time

import kit
from places import LIMIT, Site
from visits import last_json, scripts, table

SECRET = "a-secret-on-the-command-line"


def keeps_secrets(site, kits):
    """`mcp probe -- env KEY=…` printed the key."""
    server = [kits["npm"].program("mcp-server-everything"), "stdio"]
    for form in ([], ["--json"]):
        ran = site.start(["mcp", "probe", *form, "--", "env", f"API_KEY={SECRET}", *server]).end(LIMIT)
        yield ran, ran.code == 0, "exit 0"
        yield ran, SECRET not in ran.stdout + ran.stderr, "a report without the key"


def warns_of_what_needs_a_change(site, kits):
    """`check --connect --provider` told hundreds of warnings that needed nothing."""
    site.describe("ensembles", "everything", command=[kits["npm"].program("mcp-server-everything"), "stdio"])
    ensembles = site.describe("ensembles", "filesystem", command=[kits["npm"].program("mcp-server-filesystem"), site.work])
    providers = ["--provider", "anthropic,openai,gemini"]
    ran = site.start(["ensembles", "check", "--connect", *providers, ensembles]).end(LIMIT)
    yield ran, ran.code == 0, "exit 0"
    yield ran, "0 errors, 0 warnings" in ran.stdout, "no warning about tools that converse adapts"


def speaks_the_old_transport(site, kits):
    """A server of the old transport (HTTP+SSE) was a bare HTTP error."""
    server = [kits["npm"].program("mcp-server-everything"), "sse"]
    with kit.Remote(server, {}) as remote:
        ensembles = site.describe("ensembles", "old", url=f"http://127.0.0.1:{remote.port}/sse")
        ran = site.start(["ensembles", "call", "--ensembles", ensembles, "--allow", "old.*", "old.echo", "message=cheese"]).end(LIMIT)
    yield ran, ran.code == 0 and "Echo: cheese" in ran.stdout, "the tool's answer"


def answers_before_all_servers(site, kits):
    """`initialize` waited for all servers, so one that says nothing left an agent without tools."""
    site.describe("ensembles", "everything", command=[kits["npm"].program("mcp-server-everything"), "stdio"])
    ensembles = site.describe("ensembles", "silent", command=["sleep", "600"], grants='connect_timeout = "10m"\n')
    words = ["serve", "--ensembles", ensembles, "-e", "everything", "-e", "silent", "--allow", "everything.*"]
    lister = [kits["clients"].program("node"), scripts(kits, "clients") / "list.mjs"]
    env = {"PATH": kit.PATH, "HOME": str(site.home)}
    asked = {"command": [str(site.binary), *words], "environment": env}
    ran = kit.run([*lister, json.dumps(asked)], LIMIT, cwd=site.work, env=env)
    tools = last_json(ran).get("tools") or []
    yield ran, "everything__echo" in tools, "the tools of the server that answers"


def serves_others_beside_a_tool_that_hangs(site, kits):
    """600 calls of one tool took all places, and a call of another tool waited for them."""
    ensembles = site.describe("ensembles", "everything", command=[kits["npm"].program("mcp-server-everything"), "stdio"])
    words = ["serve", "--http", "127.0.0.1:{port}", "--no-auth", "--ensembles", ensembles, "-e", "everything"]
    long = {"duration": 300, "steps": 2}
    with kit.Remote([site.binary, *words, "--allow", "everything.*"]) as remote:
        # The first call comes when the server is connected.
        said = [post(remote.port, "echo", {"message": "first"})]
        answers = [answer(said[0])]
        said += [post(remote.port, "trigger-long-running-operation", long) for _ in range(600)]
        said.append(post(remote.port, "echo", {"message": "cheese"}))
        answers.append(answer(said[-1]))
        for connection in said:
            connection.close()
    ran = remote.program.end(1)
    yield ran, "Echo: first" in answers[0], f"an answer before all others, and not {answers[0]}"
    yield ran, "Echo: cheese" in answers[1], f"an answer while 600 calls of another tool hang, and not {answers[1]}"


def post(port, tool, arguments):
    """Sends a call of 2026-07-28 on a connection of its own."""
    name, version, prefix = f"everything__{tool}", "2026-07-28", "io.modelcontextprotocol/"
    meta = {f"{prefix}protocolVersion": version, f"{prefix}clientCapabilities": {}}
    params = {"name": name, "arguments": arguments, "_meta": meta}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    headers |= {"mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": name}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    connection.request("POST", "/mcp", body, headers)
    return connection


def answer(connection):
    try:
        return connection.getresponse().read().decode()
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"


CASES = [
    keeps_secrets, warns_of_what_needs_a_change, speaks_the_old_transport, answers_before_all_servers,
    serves_others_beside_a_tool_that_hangs,
]  # fmt: skip


def drive(binary, kits):
    failures, rows = [], [["case", "s", "verdict"]]
    for case in CASES:
        began, site, wrong = time.monotonic(), Site(binary), []
        for ran, is_so, wanted in case(site, kits):
            if not is_so:
                wrong.append(f"{case.__name__}: expected: {wanted}\n{ran.report()}")
        if left := site.traces(site.home).left():
            wrong.append(f"{case.__name__}: {'; '.join(left)}")
        failures += wrong
        name = case.__name__.replace("_", " ")
        rows.append([name, f"{time.monotonic() - began:.1f}", "failed" if wrong else "ok"])
    print(table(rows))
    return failures
