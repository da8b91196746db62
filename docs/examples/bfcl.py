"""Converts three categories of the Berkeley Function Calling Leaderboard (BFCL) to suites for `converse eval`.

    pip install --no-deps --target bfcl bfcl-eval==2026.3.23
    python3 docs/examples/bfcl.py bfcl/bfcl_eval/data --into suites
    converse eval suites/multiple.toml --ensembles suites/multiple -m PROVIDER/MODEL -j 8 -o multiple.jsonl
    python3 docs/examples/bfcl.py bfcl/bfcl_eval/data --figures multiple.jsonl

Each entry becomes a case with an ensemble of its own, whose tools answer "done". What is expected of the arguments becomes
a JSON Schema. Texts are compared as BFCL does: without case, blanks and `,./-_*^`. Unlike there, 5.0 is the integer 5, and
a model may make the right call more than once.

`--figures` counts the calls with a wrong value: the right function is called, and an argument has a value that BFCL does not
accept. Arguments that are missing, and calls of another function, are counted by themselves.
"""

import argparse
import json
import re
import sys
from pathlib import Path

CATEGORIES = ["simple_python", "multiple", "irrelevance"]
# Types of BFCL, which are not those of JSON Schema.
TYPES = {"dict": "object", "float": "number", "tuple": "array", "HashMap": "object", "ArrayList": "array"}
IGNORED = r"[ ,./\-_*^]*"
# Of the name of a tool.
LONGEST_NAME = 50


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the directory `bfcl_eval/data` of the package `bfcl-eval`")
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--into", type=Path, help="the directory for the suites and their ensembles")
    task.add_argument("--figures", type=Path, nargs="+", help="reports of `converse eval -o` to count wrong values in")
    options = parser.parse_args()
    if options.figures:
        for path in options.figures:
            print(f"{path}: {figures(options.data, lines(path))}")
        return
    for category in CATEGORIES:
        entries = lines(options.data / f"BFCL_v4_{category}.json")
        answers = answers_of(options.data, category)
        ensembles = options.into / category
        ensembles.mkdir(parents=True, exist_ok=True)
        cases = []
        for number, entry in enumerate(entries):
            name = f"b{number}"
            (ensembles / f"{name}.toml").write_text(ensemble(name, entry["function"]))
            cases.append(case(name, entry, answers.get(entry["id"])))
        suite = options.into / f"{category}.toml"
        suite.write_text(f"[suite]\nname = {text(category)}\n" + "".join(cases))
        print(f"{suite}: {len(cases)} cases")


def answers_of(data, category):
    path = data / "possible_answer" / f"BFCL_v4_{category}.json"
    return {line["id"]: line["ground_truth"] for line in lines(path)} if path.exists() else {}


def figures(data, runs):
    """Returns what the calls of one report are, in words."""
    answers = {name: right for category in CATEGORIES for name, right in answers_of(data, category).items()}
    made = wrong = other = values = wrong_values = 0
    for run in runs:
        right = {tool_name(name): arguments for answer in answers.get(run["case"], []) for name, arguments in answer.items()}
        for call in (run["result"] or {}).get("invocations", []):
            accepted = right.get(call["tool"].split("__", 1)[1])
            unfit = [] if accepted is None else [
                value for name, value in call["arguments"].items() if not accepts(accepted.get(name, []), value)
            ]
            made += 1
            other += accepted is None
            wrong += bool(unfit)
            values += len(call["arguments"])
            wrong_values += len(unfit)
    passed = sum(run["status"] == "passed" for run in runs)
    return (
        f"{len(runs)} runs, {passed} passed ({share(passed, len(runs))}); {made} calls, {other} of another function, "
        f"{wrong} with a wrong value ({share(wrong, made)}); {values} values, {wrong_values} wrong"
    )


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "none"


def accepts(values, value):
    """Returns whether `value` is one of `values` for the schema that `any_of` makes of them."""
    return any(equals(one, value) for one in values)


def equals(wanted, value):
    match wanted:
        case str():
            return isinstance(value, str) and re.search(pattern(wanted), value) is not None
        case list():
            return isinstance(value, list) and len(wanted) == len(value) and all(map(equals, wanted, value))
        case dict():
            members = {name: one if isinstance(one, list) else [one] for name, one in wanted.items()}
            missing = [name for name, some in members.items() if "" not in some and name not in value]
            accepted = isinstance(value, dict) and all(accepts(members.get(name, []), one) for name, one in value.items())
            return accepted and not missing
        case _:
            return wanted == value and isinstance(wanted, bool) == isinstance(value, bool)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def text(value):
    """Returns a TOML string. JSON escapes are TOML escapes, but for pairs of surrogates and DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml(value):
    """Returns a value of JSON as an inline value of TOML, which has no null."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{text(key)} = {toml(one)}" for key, one in value.items() if one is not None) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return text(value) if isinstance(value, str) else json.dumps(value)


def tool_name(function):
    return re.sub(r"[^a-zA-Z0-9_-]", "_", function)[:LONGEST_NAME]


def ensemble(name, functions):
    parts = [f'[ensemble]\nname = "{name}"\ndescription = "Functions of one entry of BFCL"\n']
    for function in functions:
        parts.append(
            f"\n[[invokers]]\nname = {text(tool_name(function['name']))}\ndescription = {text(function['description'])}\n"
            'effects = "read"\npermission = "allow"\n'
            f'command = {{ argv = ["echo", "done"], stdin = {text(unused(function["parameters"]))} }}\n'
            f"arguments = {toml(schema(function['parameters']))}\n"
        )
    return "".join(parts)


def unused(parameters):
    """Returns a template with all arguments: one that is nowhere in a command is warned of."""
    return " ".join(f"{{{name}}}" for name in parameters["properties"])


def schema(bfcl):
    """Returns a schema of BFCL as JSON Schema."""
    found = {}
    for key, value in bfcl.items():
        match key, value:
            case "type", "any":
                pass
            case "type", str():
                found[key] = TYPES.get(value, value)
            case "properties", dict():
                found[key] = {name: schema(one) for name, one in value.items()}
            case ("items" | "additionalProperties"), dict():
                found[key] = schema(value)
            # A default is in the description, and would be filled in here.
            case ("description" | "enum" | "required"), _:
                found[key] = value
    return found


def case(ensemble_name, entry, answers):
    (messages,) = entry["question"]
    parts = [
        f"\n[[cases]]\nname = {text(entry['id'])}\nensembles = [{text(ensemble_name)}]\n"
        f"messages = {toml([{key: message[key] for key in ('role', 'content')} for message in messages])}\ntools.may = []\n"
    ]
    for answer in answers or []:
        for function, arguments in answer.items():
            details = next(one for one in entry["function"] if one["name"] == function)["parameters"]
            tool = f"{ensemble_name}.{tool_name(function)}"
            parts.append(f"\n[[cases.calls]]\ntool = {text(tool)}\nschema = {toml(expected(arguments, details['required']))}\n")
    return "".join(parts)


def expected(arguments, required=()):
    """Returns the schema of an object. `arguments` has the values that each member may have; `""` means that it may be missing."""
    needed = [name for name, values in arguments.items() if "" not in values or name in required]
    members = {name: any_of(values) for name, values in arguments.items()}
    return {"type": "object", "properties": members, "required": needed, "additionalProperties": False}


def any_of(values):
    return {"anyOf": [exactly(value) for value in values]} if values else {"not": {}}


def exactly(value):
    match value:
        case str():
            return {"type": "string", "pattern": pattern(value)}
        case list():
            items = {"prefixItems": [exactly(one) for one in value]} if value else {}
            return {"type": "array", **items, "minItems": len(value), "maxItems": len(value)}
        case dict():
            return expected({name: one if isinstance(one, list) else [one] for name, one in value.items()})
        case None:
            return {"type": "null"}
        case _:
            return {"const": value}


def pattern(value):
    """Returns an expression for texts that are this one but for case, blanks and some marks."""
    signs = [sign for sign in value if not re.fullmatch(IGNORED[:-1], sign)]
    return "^" + IGNORED + "".join(one(sign) + IGNORED for sign in signs) + "$"


def one(sign):
    if sign in "'\"":
        return "['\"]"
    both = sorted({sign, sign.lower(), sign.upper()})
    if len(both) > 1 and all(len(case) == 1 for case in both):
        return "[" + "".join(both) + "]"
    return "\\" + sign if sign in r"\.+*?()|[]{}^$#&-~/" else sign


if __name__ == "__main__":
    sys.exit(main())
