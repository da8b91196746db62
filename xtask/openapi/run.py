"""Imports OpenAPI documents of others, and calls the tools against a server that Prism makes of each document.

Prism checks each request against the document: path, parameters in their styles, bodies, credentials. A request that
it refuses is a fault of the import, or is listed in `exceptions.txt` with a reason. The log of Prism says whether a
request is valid. Its response does not say that: a document may describe only errors, or a response for invalid
requests. The documents are those of `@readme/oas-examples`, with the examples of the OpenAPI initiative, and of three
vendors. All come from npm at pinned versions. Checked 2026-11.
"""

import argparse
import base64
import json
import os
import re
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import kit

HERE = Path(__file__).resolve().parent
README = "@readme/oas-examples"
DOCUMENTS = {
    **{
        name: f"{README}/3.0/json/{name}.json"
        for name in (
            "callbacks", "circular", "complex-nesting", "form-data", "link-example", "parameters-common", "petstore",
            "petstore-expanded", "readme-legacy", "response-multiple-mediatypes", "security", "security-multiple",
            "star-trek", "uspto", "petstore-simple", "petstore-simple-no-tags", "readme-extensions",
            "response-examples", "response-http-behavior", "schema-deprecated", "server-variables",
            "parameters-style",
        )
    },
    **{
        f"{name} 3.1": f"{README}/3.1/yaml/{name}.yaml"
        for name in ("petstore", "petstore-simple", "readme-extensions", "security", "train-travel")
    },
    "blockfrost": "@blockfrost/openapi/openapi.yaml",
    "directus": "@directus/specs/dist/openapi.json",
    "ideal-postcodes": "@ideal-postcodes/openapi/dist/openapi.json",
}  # fmt: skip
# The tools of a document that are called, spread over all of them.
MOST_TOOLS = 24
# The lines in the log of Prism that begin a request, and that say what it thinks of it.
BEGIN, VALID, INVALID, NO_OPERATION = (
    "Request received", "The request passed the validation rules", "Request did not pass the validation rules",
    "Request terminated with error",
)  # fmt: skip
FILE = "picture.png"
# What Prism says of the wrong request.
MISSING = "Request query must have required property 'status'"


class Unknown(Exception):
    """No value of a schema is known."""


def sample(schema, depth=0):
    """Returns a value that fits a schema."""
    if not isinstance(schema, dict) or depth > 8:
        return "text"
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    for key in ("anyOf", "oneOf"):
        if key in schema and "properties" not in schema:
            # In a path or a query a number is also a text: only a text fits one choice of a `oneOf`.
            choices = [one for one in schema[key] if one.get("type") == "string"] or schema[key]
            return sample(choices[0], depth + 1)
    kind = schema.get("type")
    kind = next((one for one in kind if one != "null"), "null") if isinstance(kind, list) else kind
    if kind is None:
        kind = "object" if "properties" in schema or "allOf" in schema else "string"
    return MAKERS[kind](schema, depth)


def an_object(schema, depth):
    choices = [one for key in ("anyOf", "oneOf") if (one := schema.get(key))]
    parts, merged = [*schema.get("allOf", []), *[one[0] for one in choices], schema], {}
    for part in parts:
        merged.update(part.get("properties", {}))
    required = {name for part in parts for name in part.get("required", [])}
    # A value with what only another choice requires would fit two choices of a `oneOf`.
    others = {name for one in choices for other in one[1:] for name in other.get("required", [])} - required
    names = [name for name in merged if name in required or depth < 2 and name not in others]
    return {name: sample(merged[name], depth + 1) for name in names}


def a_list(schema, depth):
    items = schema.get("items", {})
    count = max(schema.get("minItems", 1), 1)
    return [sample(items, depth + 1) for _ in range(count)]


def a_number(schema, depth):
    least = schema.get("minimum", schema.get("exclusiveMinimum", 1) + ("exclusiveMinimum" in schema))
    most = schema.get("maximum", schema.get("exclusiveMaximum", least + 2) - ("exclusiveMaximum" in schema))
    value = min(max(least, 1), most)
    step = schema.get("multipleOf", 1)
    return -(-value // step) * step if step >= 1 else value


TEXTS = {
    "date": "2026-11-20", "date-time": "2026-11-20T10:00:00Z", "time": "10:00:00Z", "email": "a@b.example",
    "uuid": "2b1fd0a5-6f0c-4a54-9c35-0d3e4b7f7a10", "uri": "https://a.example/b", "url": "https://a.example/b",
    "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "hostname": "a.example", "byte": "YQ==", "duration": "P1D",
    "uri-reference": "/b", "regex": "a",
}  # fmt: skip


def a_text(schema, depth):
    candidates = ["text", "a b&c", "1", "1.0", "AB", "en", "#aabbcc", "a1", *TEXTS.values()]
    least, most = schema.get("minLength", 0), schema.get("maxLength", 1000)
    for text in filter(None, [TEXTS.get(schema.get("format")), *candidates]):
        text = (text * (least // len(text) + 1))[:most] if len(text) < least else text[:most]
        if re.search(schema.get("pattern", ""), text):
            return text
    raise Unknown(schema["pattern"])


MAKERS = {
    "object": an_object, "array": a_list, "string": a_text, "null": lambda *_: None, "boolean": lambda *_: True,
    "integer": a_number, "number": a_number,
}  # fmt: skip


def arguments(name, tool):
    """Returns the calls of a tool by their names, with the arguments that it requires, and with all."""
    schema = tool["arguments"]
    parts = tool["http"].get("multipart", {}).values()
    files = {tool["http"].get("file"), *[part.get("file") for part in parts if isinstance(part, dict)]}
    whole = {}
    for key, one in schema.get("properties", {}).items():
        try:
            whole[key] = FILE if f"{{{key}}}" in files else sample(one)
        except Unknown:
            if key in schema["required"]:
                raise
    required = {key: value for key, value in whole.items() if key in schema["required"]}
    return {name: required} | ({f"{name} with all": whole} if whole != required else {})


def verdict(log):
    """Returns what the log says of the first request in it; nothing if that is not said yet."""
    said = log.partition(BEGIN)[2]
    first = min((mark for mark in (VALID, INVALID, NO_OPERATION) if mark in said), key=said.index, default=None)
    if first in (VALID, None):
        return first
    # The line may not be whole yet, and of a refused request the reasons are in lines of their own.
    lines = re.findall(r"\[VALIDATOR\].* error +(.*)\n" if first == INVALID else rf"({NO_OPERATION}.*)\n", said)
    return lines and f"{first}: {lines[0]}"


def errors(text):
    """Returns what a Node that ended says was the error."""
    return next((line for line in text.splitlines() if re.match(r"\w*Error: ", line)), kit.tail(text, 200))


def exceptions(text):
    """Reads lines of `DOCUMENT / TOOL: REASON`."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if any(not re.fullmatch(r"[^/:]+ / [^:]+: .+", line) for line in lines):
        raise kit.Failed("an exception is `DOCUMENT / TOOL: REASON`")
    return {line.partition(": ")[0]: line.partition(": ")[2] for line in lines}


def unexcused(wrong, excused):
    """Returns the problems, each `DOCUMENT / TOOL: …`, that no exception names, and the exceptions that name none."""
    named = {problem.partition(": ")[0] for problem in wrong}
    left = [problem for problem in wrong if problem.partition(": ")[0] not in excused]
    return left + [f"{name}: listed as an exception, and it passes" for name in excused if name not in named]


class Document:
    """A document that is imported below a directory, and the server that Prism makes of it."""

    def __init__(self, name, kits, directory, binary):
        self.name, self.kits, self.dir, self.binary = name, kits, directory, binary
        self.file = kits.file(DOCUMENTS[name])
        (directory / FILE).write_bytes(b"\x89PNG\r\n\x1a\n")
        self.port, self.environment = kit.free_port(), {"HOME": str(directory), "PATH": kit.PATH}

    def converse(self, *words):
        return kit.run([self.binary, *words], cwd=self.dir, env=self.environment)

    def bring_in(self):
        """Imports the document, and returns what is wrong."""
        server = f"http://127.0.0.1:{self.port}"
        words = ["--name", "api", "--into", "tools", "--server", server, "--json"]
        ran = self.converse("ensembles", "import", "openapi", self.file, *words)
        if ran.code != 0:
            return [f"not imported\n{ran.report()}"]
        for one in ran.json["variables"]:
            is_basic = one["holds"].startswith("base64")
            self.environment[one["name"]] = base64.b64encode(b"me:pass").decode() if is_basic else "value-1"
        files = [self.dir / one["file"] for one in ran.json["files"][1:]]
        self.tools = {file.stem: tomllib.loads(file.read_text()) for file in files}
        check = self.converse("ensembles", "check", "tools")
        return [] if check.code == 0 and "0 errors" in check.stdout + check.stderr else [f"check\n{check.report()}"]

    def serve(self):
        """Starts Prism, which needs some seconds for large documents."""
        self.server = kit.Program([self.kits.program("prism"), "mock", "-p", self.port, self.file], cwd=self.dir)
        kit.until("Prism", 60, lambda: self.has_ended() or kit.listens(self.port), every=0.1)
        if self.has_ended():
            raise kit.Failed(f"Prism does not serve {self.name}\n{self.server.end(1).report()}")

    def has_ended(self):
        return self.server.child.poll() is not None

    def log(self, start=0):
        """Returns what Prism logged, without moving the position at which it writes."""
        return os.pread(self.server.outputs[0].fileno(), 4 << 20, start)

    def call(self, tool, name, given):
        """Returns what is wrong with a call, which begins with its name."""
        if self.has_ended():
            self.serve()
        start = len(self.log())
        words = ["ensembles", "call", f"api.{tool}", json.dumps(given), "--ensembles", "tools", "--allow", "api"]
        ran = self.converse(*words, "--json")
        is_answered = ran.json.get("outcome") == "success" or re.search(r"\bstatus \d\d\d\b", ran.stdout)

        def found():
            ended = self.has_ended() and f"Prism ended: {errors(kit.Program.text(self.server.outputs[1]))}"
            return ended or verdict(self.log(start).decode(errors="replace"))

        is_sent = is_answered or ran.json.get("outcome") == "unreachable"
        said = kit.until(f"what Prism thinks of {tool}", 20, found) if is_sent else "not sent"
        return [] if said == VALID and is_answered else [f"{name}: {said}\n{ran.report()}"]

    def judge(self):
        """Returns the number of calls, and what is wrong."""
        wrong = self.bring_in()
        if wrong:
            return 0, wrong
        names, calls = sorted(self.tools), 0
        step = max(1, -(-len(names) // MOST_TOOLS))
        self.serve()
        try:
            for name in names[::step]:
                try:
                    made = arguments(name, self.tools[name])
                except Unknown as pattern:
                    wrong.append(f"{name}: no value for the pattern {pattern}")
                    continue
                calls += len(made)
                for label, given in made.items():
                    wrong += self.call(name, label, given)
        finally:
            self.server.kill()
        return calls, wrong


def refuses(document):
    """A request that is not what the document describes is refused, so the others were checked."""
    wrong, tool = document.bring_in(), document.dir / "tools/api/invokers/findPetsByStatus.toml"
    if wrong:
        return wrong
    text = tool.read_text()
    tool.write_text(text.replace('status = "{status}"', 'state = "{status}"'))
    document.serve()
    try:
        wrong = document.call("findPetsByStatus", "findPetsByStatus", {"status": ["sold"]})
    finally:
        document.server.kill()
    return [] if wrong and MISSING in wrong[0] else [f"a request without its parameter is not seen: {wrong}"]


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask openapi")
    parser.add_argument("--binary", help="the converse that imports; built if it is not given")
    parser.add_argument("--only", action="append", choices=DOCUMENTS)
    options = parser.parse_args()
    directory, binary = kit.place("openapi"), kit.converse(options.binary)
    kits = kit.Kit("openapi/npm").install(directory)
    names, excused = options.only or DOCUMENTS, exceptions((HERE / "exceptions.txt").read_text())
    problems, calls = [], 0
    for name in names:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(dir=directory) as work:
            made, wrong = Document(name, kits, Path(work), binary).judge()
        calls += made
        print(f"{name}: {made} calls, {len(wrong)} refused, {time.monotonic() - began:.1f} s", flush=True)
        problems += [f"{name} / {problem}" for problem in wrong]
    is_meant = {one: why for one, why in excused.items() if not options.only or one.partition(" / ")[0] in names}
    failures = unexcused(problems, is_meant)
    with tempfile.TemporaryDirectory(dir=directory) as work:
        failures += refuses(Document("petstore", kits, Path(work), binary))
    print(f"{len(names)} documents, {calls} calls, {len(is_meant)} exceptions, {len(failures)} wrong")
    for failure in failures:
        print(f"\n{failure}", file=sys.stderr)
    return not failures


if __name__ == "__main__":
    kit.main(suite)
