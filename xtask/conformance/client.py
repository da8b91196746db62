"""What the conformance suite starts as "the client": `client.py PROGRAM URL`.

The suite says what it wants in variables and gives the address as the last word
(<https://github.com/modelcontextprotocol/conformance>, checked 2026-11); converse is told by flags. All scenarios get
the same flags: none of them is known here by its name.
"""

import json
import os
import subprocess
import sys
import tempfile

# Shorter than the suite's own limit, so that it is known here what hung.
LIMIT = 28
# Where converse reads a client's secret.
SECRET = "CONFORMANCE_CLIENT_SECRET"
# The document that the suite's authorization server knows.
METADATA = "https://conformance-test.local/client-metadata.json"


def flags(url, revision, context):
    words = ["mcp", "probe", url, "--protocol", revision or "auto", "--elicit", "defaults", "--oauth", "headless"]
    words += ["--client-metadata-url", METADATA]
    if isinstance(context.get("client_id"), str):
        words += ["--client-id", context["client_id"]]
    if isinstance(context.get("client_secret"), str):
        words += ["--client-secret-env", SECRET]
    if not isinstance(context.get("toolCalls"), list):
        return [*words, "--call-all"]
    for call in context["toolCalls"]:
        # By null the suite means what is not given; a schema that says `boolean` would refuse null.
        given = {name: value for name, value in (call.get("arguments") or {}).items() if value is not None}
        words += ["--call", call["name"], json.dumps(given)]
    return words


def main(binary, url):
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "PATH": os.environ["PATH"]}
        if isinstance(context.get("client_secret"), str):
            env[SECRET] = context["client_secret"]
        command = [binary, *flags(url, os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION"), context)]
        try:
            code = subprocess.run(command, cwd=home, env=env, stdin=subprocess.DEVNULL, timeout=LIMIT).returncode
        except subprocess.TimeoutExpired:
            print(f"{command} did not end", file=sys.stderr)
            code = 128
    code = 128 if code < 0 else code
    if exits := os.environ.get("CONFORMANCE_EXITS"):
        # One write for one line: others write at the same time.
        with open(exits, "a") as file:
            file.write(f"{os.environ.get('MCP_CONFORMANCE_SCENARIO')} {code}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
