"""Points clients of others at the HTTP front: OpenAI's API, and turns over AG-UI, on a scripted model.

Before that it holds the recorded outputs of the OpenAI front against the types of OpenAI's own Python library. All
packages are pinned. A case that need not pass is in `exceptions.txt`, with a reason, and must fail.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import kit

HERE = Path(__file__).resolve().parent
RECORDED = kit.ROOT / "crates/openai/src/golden"
SETTINGS = HERE.parent / "panel/settings"
TOKEN = "openai-token-0123456789abcdef0123456789"


def exceptions(text):
    """Reads lines of `CLIENT / CASE: REASON`."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if any(" / " not in line or ": " not in line for line in lines):
        raise kit.Failed("an exception is `CLIENT / CASE: REASON`")
    return {tuple(line.partition(": ")[0].split(" / ")): line.partition(": ")[2] for line in lines}


def judge(results, excused):
    """Returns a line for each case, and how many are wrong; an exception that passes, or names no case, is wrong too."""
    lines, wrong, seen = [], 0, set()
    for one in results:
        key, failed = (one["client"], one["case"]), "wrong" in one
        seen.add(key)
        excuse, is_wrong = excused.get(key), failed != (key in excused)
        wrong += is_wrong
        more = f" (exception: {excuse})" if excuse else f" (shows: {one['shown']})" if one.get("shown") else ""
        lines.append(f"{'FAIL' if is_wrong else 'ok  '}  {key[0]}: {key[1]}{more}")
        if is_wrong:
            lines.append("      " + (one.get("wrong") or "it is an exception, and it passes").replace("\n", "\n      "))
    for key in excused.keys() - seen:
        wrong += 1
        lines.append(f"FAIL  {key[0]}: {key[1]} is an exception, and there is no such case")
    return lines, wrong


def promptfoo(program, base):
    """Runs the cases of promptfoo's configuration and yields what it shows of each."""
    with tempfile.TemporaryDirectory() as home:
        output = Path(home) / "results.json"
        words = [program, "eval", "--config", HERE / "promptfoo/cases.json", "--output", output]
        words += ["--no-cache", "--no-write", "--no-share", "--no-table", "--no-progress-bar"]
        # It reports even that its telemetry is disabled. No proxy listens there, so nothing leaves the machine.
        nowhere = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
        quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": home}
        env = {"PATH": kit.PATH, "HOME": home, "OPENAI_BASE_URL": base, "OPENAI_API_KEY": TOKEN, **nowhere, **quiet}
        ran = kit.run(words, 120, cwd=home, env=env)
        if not output.is_file():
            raise kit.Failed(f"promptfoo wrote no results\n{ran.report()}")
        evaluated = json.loads(output.read_text())["results"]["results"]
    for one in evaluated:
        case, is_chat = one["testCase"], one["provider"]["label"] == "chat"
        result = {"client": "promptfoo" if is_chat else "promptfoo, responses", "case": case["description"]}
        wanted, error = case["metadata"].get("error"), one.get("error") or ""
        if wanted not in error if wanted else not one["success"]:
            result["wrong"] = f"{error or 'no error'}\n{one.get('response', {}).get('output')}"
        yield {**result, "shown": case["metadata"].get("shown")}


def clients(binary, python, packages, evaluator):
    """Runs the cases and returns what each wrote."""
    results = []
    with tempfile.TemporaryDirectory() as home, kit.Remote(["node", HERE / "model.mjs", "{port}"]) as model:
        settings = Path(home) / ".config/converse"
        shutil.copytree(SETTINGS, settings)
        file = settings / "config.toml"
        file.write_text(file.read_text().replace("{model}", f"http://127.0.0.1:{model.port}/v1"))
        words = [binary, "serve", "--http", "127.0.0.1:{port}", "--openai", "--api"]
        environment = {"HOME": home, "CONVERSE_SERVE_TOKEN": TOKEN}
        with kit.Remote(words, environment) as server:
            base = f"http://127.0.0.1:{server.port}/v1"
            for program in ([python, HERE / "clients.py"], ["node", HERE / "clients.mjs"]):
                ran = kit.run([*program, base, TOKEN], 300, more={"OPENAI_PACKAGES": str(packages.dir)})
                if ran.code != 0:
                    raise kit.Failed(f"the cases did not end\n{ran.report()}\n{server.output()}")
                results += map(json.loads, ran.stdout.splitlines())
            results += promptfoo(evaluator, base)
    return results


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask openai")
    parser.add_argument("--binary", help="the converse to try; built if it is not given")
    binary = kit.converse(parser.parse_args().binary)
    directory = kit.place("openai")
    python = kit.Kit("openai/requirements.txt").install(directory, "python").program("python")
    ran = kit.run([python, HERE / "golden.py", RECORDED], 120)
    print(ran.stdout, end="")
    if ran.code != 0:
        print(ran.stderr, end="", file=sys.stderr)
    packages = kit.Kit("openai/npm").install(directory)
    evaluator = kit.Kit("openai/promptfoo", "--omit=optional").install(directory).program("promptfoo")
    results = clients(binary, python, packages, evaluator)
    lines, wrong = judge(results, exceptions((HERE / "exceptions.txt").read_text()))
    print("\n".join(lines))
    print(f"{len(results)} cases, {wrong} wrong")
    return ran.code == 0 and not wrong and bool(results)


if __name__ == "__main__":
    kit.main(suite)
