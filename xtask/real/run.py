"""Speaks to a real server: llama.cpp's own (PyPI's `xllamacpp`, pinned), with a model of random weights made on the spot.

The model says nothing sensible; the server's grammar makes calls of it that fit their schema. So this proves the wire
and nothing about models: a call that is streamed, its result, a structured answer, a prompt that is too long.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import kit

HERE = Path(__file__).resolve().parent
TOOLS = """
[ensemble]
name = "paint"
description = "Colours"

[[invokers]]
name = "mix"
description = "Mixes a colour"
effects = "read"
arguments = { type = "object", additionalProperties = false, required = ["colour", "dark"], properties = { colour = { type = "string", enum = ["red", "green", "blue"] }, dark = { type = "boolean" } } }

[invokers.command]
argv = ["printf", "mixed %s %s", "{colour}", "{dark}"]
"""
# A call in each reply: one that is only possible has a grammar that begins with a token which this vocabulary cannot
# name. The server takes any name of a model.
SETTINGS = """
[[providers.llamacpp.patch]]
models = "caller"
set = { "/tool_choice" = "required" }
"""
SCHEMA = '{"type":"object","required":["sure"],"additionalProperties":false,"properties":{"sure":{"type":"boolean"}}}'


def calls(ask, *options):
    """The model calls in every reply, so the limit ends the run; by then it was asked twice."""
    words = ["--ensembles", "tools", "-e", "paint", "--allow", "paint.*", "--max-iterations", "2", "--temperature", "0"]
    ran = ask("llamacpp/caller", "Mix a colour.", *words, "-o", "json", *options)
    invocations, wrong = ran.json.get("invocations") or [], []
    if ran.code != 7 or len(invocations) < 2:
        wrong.append(f"{len(invocations)} invocations\n{ran.report()}")
    for one in invocations:
        arguments = one.get("arguments") or {}
        mixed = f"mixed {arguments.get('colour')} {json.dumps(arguments.get('dark'))}"
        if one["outcome"] != "success" or one["result"] != mixed:
            wrong.append(str(one))
    usage = ran.json.get("usage") or {}
    return wrong if usage.get("input") else [*wrong, f"no usage: {usage}"]


def structured(ask):
    ran = ask("llamacpp/random", "Are you sure?", "--no-tools", "--schema", "schema.json")
    return [] if ran.code == 0 and isinstance(ran.json.get("sure"), bool) else [ran.report()]


def too_long(ask):
    ran = ask("llamacpp/random", "word " * 2000, "--no-tools")
    return [] if ran.code == 6 and "context" in ran.stderr else [ran.report()]


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask real")
    parser.add_argument("--binary", help="the converse to try; built if it is not given")
    binary = kit.converse(parser.parse_args().binary)
    directory = kit.place("real")
    python = kit.Kit("real/requirements.txt").install(directory, "llamacpp").program("python")
    with tempfile.TemporaryDirectory(dir=directory) as work:
        place = Path(work)
        for name, text in [
            ("config/converse/config.toml", SETTINGS),
            ("tools/paint.toml", TOOLS),
            ("schema.json", SCHEMA),
        ]:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        kit.done([python, HERE / "model.py", place / "random.gguf"])
        command = [python, HERE / "server.py", place / "random.gguf"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, text=True, **pipes) as server:
            try:
                address = server.stdout.readline().strip()
                if not address.startswith("http://"):
                    raise kit.Failed(f"the server did not begin: `{address}`")
                env = {"PATH": kit.PATH, "HOME": work, "XDG_CONFIG_HOME": f"{work}/config"}
                env["LLAMACPP_BASE_URL"] = f"{address}/v1"

                def ask(model, *words):
                    return kit.run([binary, "ask", "-m", model, "--ephemeral", *words], 120, cwd=work, env=env)

                found = {
                    "a call, streamed": calls(ask),
                    "a call, whole": calls(ask, "--no-stream"),
                    "a structured answer": structured(ask),
                    "too long a prompt": too_long(ask),
                }
            finally:
                server.kill()
    for name, wrong in found.items():
        print(f"{name}: {len(wrong)} wrong")
        for one in wrong:
            print(f"{name}: {one}", file=sys.stderr)
    return not any(found.values())


if __name__ == "__main__":
    kit.main(suite)
