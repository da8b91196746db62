"""Runs the tests of converse with keys that can be recognised, and looks for the keys in everything that is left behind.

The tests run at trace level and under strace. Searched are homes, logs, stdout, stderr, terminals and what the tests
themselves printed, and the environment and words of every program that was started. The tests keep it all below the
directory that `CONVERSE_CANARY` names (`crates/cli/tests/it/canary.rs`).
"""

import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import kit

# What every key of the tests has in it.
KEY = "canary-0123456789"
# What a descriptor hands on to a child on purpose.
GRANTED = f"granted-{KEY}"
# A suite that runs in full has more, of runs and of programs that they start.
FEWEST_RUNS, FEWEST_CHILDREN = 2_000, 1_000
# Seconds for the tests, and for what is left when they have ended.
LIMIT, LAST_WORK = 40 * 60, 20
RESULT = re.compile(r"^test result: .*?(\d+) passed; (\d+) failed", re.M)
# What may stand between a test and converse: it hands on everything.
BETWEEN = {"bash", "sh", "setsid", "without-landlock"}


def needles():
    """Returns the ways in which a key may have been written, each with what is searched for."""
    raw = KEY.encode()
    found = {
        KEY: "as it is",
        KEY[::-1]: "backwards",
        KEY.replace("-", "%2D"): "URL-encoded",
        KEY.replace("-", "%2d"): "URL-encoded in small letters",
        "".join(f"%{byte:02X}" for byte in raw): "wholly URL-encoded",
        KEY.replace("-", "\\u002d"): "escaped as JSON may be",
        KEY.replace("-", "\\u002D"): "escaped as JSON may be, in capitals",
        KEY.replace("-", "&#45;"): "as an entity",
        raw.hex(): "in hexadecimal",
        raw.hex().upper(): "in hexadecimal capitals",
        ", ".join(map(str, raw)): "as a list of bytes",
        KEY.upper(): "in capitals",
    }
    # What a text with the key behind `before` more bytes (of three) surely has in it: the groups of three bytes that are
    # wholly the key's. The key is of letters, digits and `-`, which both alphabets of base64 write alike.
    for before in range(3):
        whole = raw[(3 - before) % 3 :]
        found[base64.b64encode(whole[: len(whole) // 3 * 3]).decode()] = "in base64"
    return found


def files(below):
    """Returns regular files. Links are not followed."""
    for directory, _, names in os.walk(below):
        for name in names:
            path = Path(directory, name)
            if path.is_file() and not path.is_symlink():
                yield path


def without_tokens(path, text):
    """Returns the text of a file of grants without its secrets, None for other files. It is the one place that has to
    hold secrets: in its directory, with its name and modes, and nothing but a grant."""
    is_meant = re.fullmatch(r"[0-9a-fA-F]{64}\.json", path.name)
    if not is_meant or not str(path.parent).endswith("/home/.local/share/converse/tokens"):
        return None
    if any(place.stat().st_mode & 0o077 for place in (path, path.parent)):
        return None
    try:
        grant = json.loads(text)
        for holder, field in ((grant, "access"), (grant, "refresh"), (grant["client"], "secret")):
            holder[field]
            holder[field] = None
    except (ValueError, KeyError, TypeError):
        return None
    return json.dumps(grant)


def leak(text, forms):
    """Returns the first key in a text: how it is written, and what stands around it."""
    for needle, how in forms.items():
        if (at := text.find(needle)) >= 0:
            return how, text[max(0, at - 100) : at + len(needle) + 50]
    return None


def search(directory, trace):
    """Searches all files but the record of what the tests wrote themselves."""
    forms, counts, leaks, written = needles(), {"files": 0, "bytes": 0, "own": 0, "grants": 0}, [], {}
    for record in files(directory / "written"):
        record = json.loads(record.read_text())
        written.setdefault(record["path"], []).append(record["text"].encode())
    for path in files(directory):
        if path == trace or directory / "written" in path.parents:
            continue
        try:
            raw = path.read_bytes()
        except OSError:
            continue
        counts["files"] += 1
        counts["bytes"] += len(raw)
        text = raw.decode(errors="replace")
        if (rest := without_tokens(path, text)) is not None:
            counts["grants"] += 1
            text = rest
        if found := leak(f"{path}\n{text}", forms):
            # A file that is still as a test wrote it is the test's own.
            if raw in written.get(str(path), []):
                counts["own"] += 1
            else:
                leaks.append((path, *found))
    return counts, leaks


def environments(lines):
    """Searches the environments and words of all programs that were started, as strace saw them.

    A test hands its secrets to converse, and tells each run from all others by a variable. What else has a secret was
    handed it by converse, also if it was handed the variable too.
    """
    forms, runs, leaks = needles(), {}, []
    counts = {"programs": 0, "children": 0, "granted": 0}
    for line in lines:
        _, is_call, call = line.partition(" execve(")
        if not is_call:
            continue
        counts["programs"] += 1
        if run := re.search(r'"CONVERSE_TEST_RUN=([^"]*)"', call):
            words = call.partition("], [")[0]
            program = (re.findall(r'"([^"]*)"', words) or [""])[0].rpartition("/")[2]
            # Of a run the first one is the test's, and what is behind a shell.
            is_of_test = runs.get(run[1], True)
            runs.setdefault(run[1], program in BETWEEN or any(f'"{name}"' in words for name in BETWEEN))
            if is_of_test:
                continue
        counts["children"] += 1
        text = call.replace(GRANTED, "granted")
        counts["granted"] += text != call
        if found := leak(text, forms):
            leaks.append((Path("started"), found[0], call[:200]))
    return counts, leaks


def test(suite, only, directory, trace):
    """Runs the tests under strace and returns how many passed and failed."""
    strace = kit.debian("usr/bin/strace", "strace", "libunwind8")
    env = {**os.environ, "CONVERSE_CANARY": str(directory), "RUST_BACKTRACE": "full"}
    command = [strace]
    if libraries := kit.libraries(strace):
        env["LD_LIBRARY_PATH"] = str(libraries)
        command += ["-E", "LD_LIBRARY_PATH"]
    # Only where a program is started does anything wait for strace; whole environments, however long they are.
    command += ["-f", "--seccomp-bpf", "-qq", "-v", "--trace=execve", "--signal=none", "--string-limit=1000000"]
    command += ["-o", trace, suite, "--skip", "under_strace", *([only] if only else [])]
    said, end, is_over = directory / "suite", time.monotonic() + LIMIT, False
    with said.open("wb") as output:
        child = subprocess.Popen(
            command, cwd=kit.ROOT / "crates/cli", env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    # strace stays for as long as anything does that it has seen begin, also what a failed test has left behind.
    while child.poll() is None:
        if time.monotonic() > end:
            child.kill()
            child.wait()
            if not is_over:
                raise kit.Failed("the tests do not end")
        time.sleep(0.5)
        if not is_over and RESULT.search(said.read_text(errors="replace")):
            is_over, end = True, time.monotonic() + LAST_WORK
    if not (result := RESULT.search(said.read_text(errors="replace"))):
        raise kit.Failed(f"the tests were not run: see {said}")
    return int(result[1]), int(result[2])


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask canary")
    parser.add_argument("--suite", help="the tests as a program; built if it is not given")
    parser.add_argument("--only", help="a filter of tests")
    parser.add_argument("--keep", action="store_true", help="keep what was searched")
    options = parser.parse_args()
    # With the options of the command that runs all tests, what that has built is used.
    manifest = {"name": "it", "manifest": "crates/cli/Cargo.toml"}
    tests = (
        Path(options.suite).resolve()
        if options.suite
        else kit.build("--workspace", "--locked", "--test", "it", **manifest)
    )
    # Tests look for the word `canary`, and paths are shown: so this is not its name.
    directory, began = kit.ROOT / "target/leaks", time.monotonic()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    trace = directory / "started"
    passed, failed = test(tests, options.only, directory, trace)
    seconds = time.monotonic() - began
    found, leaks = search(directory, trace)
    with trace.open(errors="replace") as lines:
        started, more = environments(lines)
    leaks += more
    for path, how, around in leaks[:50]:
        print(f"{path}: a key {how}: {around!r}")
    print(f"{len(leaks)} places with a key")
    runs, terminals, logs = (sum(1 for _ in files(directory / kind)) for kind in ("stdout", "screens", "logs"))
    print(
        f"{runs} runs, {terminals} terminals, {logs} logs at trace level: {found['files']} files of "
        f"{found['bytes'] // 1_000_000} MB and {started['children']} environments of {started['programs']} programs were "
        f"searched; not {found['own']} files that are as a test wrote them, the secret fields of {found['grants']} grants, "
        f"{started['granted']} environments with what a descriptor hands on; {passed} tests passed and {failed} did not, "
        f"in {seconds:.0f} s"
    )
    # A test that fails has not shown all that it would. Limits of time and memory are not for a log of everything, and
    # one program is not traced twice: some have to fail.
    is_whole = runs >= FEWEST_RUNS and started["children"] >= FEWEST_CHILDREN and failed * 10 <= passed
    if not (is_enough := bool(options.only) or is_whole):
        print(
            f"too little: at least {FEWEST_RUNS} runs, {FEWEST_CHILDREN} environments and nine of ten tests are expected"
        )
    if is_enough and not leaks and not options.keep:
        shutil.rmtree(directory)
    return is_enough and not leaks


if __name__ == "__main__":
    kit.main(suite)
