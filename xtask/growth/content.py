"""Writes what `xtask/growth/run.py` measures: sessions as they are on disk after real use, and descriptors."""

import json
import uuid
import zlib

WORDS = (
    "The quick brown fox jumps over the lazy dog, twice, and reads the weather of Saint Petersburg aloud; then it writes "
    "a short report about wind, rain and sunshine to the file that was named, and asks whether anything else is wanted today."
)
# Question, words before a call, the call, its result.
OF_A_TURN = 4
BEGAN = 1_790_000_000
# Of one directory of ensembles; converse reads 4,000 of each.
OF_A_ROOT = 2_500
MAKER = {"provider": "openai", "dialect": "openai-chat", "model": "stub", "endpoint": "https://api.openai.com/v1"}


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def bodies(turn):
    """Returns the bodies of the lines of one turn, without their braces."""
    id, text = f"inv_{turn}_0", {"type": "text", "text": "I look."}
    canisters = [
        {"role": "user", "content": [{"type": "text", "text": f"{turn}: {WORDS} {WORDS}"}]},
        {"role": "assistant", "turn": turn, "content": [text], "native": {"maker": MAKER, "items": []}, "stop": "end"},
        {
            "role": "invocation", "turn": turn, "id": id, "wire_id": f"call_{turn}", "tool": "weather__now",
            "arguments": {"object": {"city": "SPb", "days": 3}, "raw": '{"city": "SPb", "days": 3}'},
        },
        {"role": "result", "id": id, "content": [{"type": "text", "text": f"{WORDS} {turn}"}], "outcome": "success"},
    ]  # fmt: skip
    user, assistant, invocation, result = ({"type": "canister", "canister": one} for one in canisters)
    usage = {"input": 1200, "output": 80, "cache_read": 1000}
    used = {"type": "used", "usage": usage, "cost": 1234, "model": "stub", "provider": "openai"}
    decided = {"type": "decided", "id": id, "decision": {"decision": "allow", "rule": "default"}}
    return [compact(one)[1:-1] for one in (user, assistant, invocation, used, decided, {"type": "started", "id": id}, result)]


def session(sessions, number, messages):
    """Writes the journal of one session: as many messages as the next multiple of four."""
    began = BEGAN + number
    directory = sessions / str(uuid.UUID(int=(began * 1000 << 80) | 7 << 76 | 2 << 62 | number))
    directory.mkdir(parents=True, mode=0o700)
    at = f"2026-09-21T14:{number // 60 % 60:02}:{number % 60:02}.5Z"
    opened = f'"type":"opened","format":2,"program":"growth","created":"{at}","synced":0'
    # The words are made for one turn, and its number is put in for the others: a million messages are written in seconds.
    template = [body.replace("{", "{{").replace("}", "}}").replace("987654321", "{0}") for body in bodies(987654321)]
    with open(directory / "journal.jsonl", "wb", buffering=1 << 20) as journal:
        seq = 0
        for turn in range(-(-messages // OF_A_TURN) + 1):
            for body in [opened] if turn == 0 else [body.format(turn) for body in template]:
                seq += 1
                line = f'{{"seq":{seq},"at":"{at}",{body}'.encode()
                journal.write(b'%s,"sum":"%08x"}\n' % (line, zlib.crc32(line)))
    (directory / "lock").touch(mode=0o600)
    (directory / "metadata.toml").write_text(f'name = "session {number}"\nmodel = "stub"\n')


def server(directory, number, command):
    (directory / f"s{number}.toml").write_text(
        f'[ensemble]\nname = "s{number}"\ndescription = "A server that does nothing, quickly"\n\n'
        '[defaults]\npermission = "allow"\ntimeout = 60\n\n'
        f'[connection]\ntransport = "stdio"\ncommand = {json.dumps([str(word) for word in command])}\n'
    )


def descriptors(directory, count):
    """Writes ensembles of one invoker each, below directories of at most 2,500."""
    for number in range(count):
        root = directory / f"{number // OF_A_ROOT:03}"
        root.mkdir(exist_ok=True)
        (root / f"e{number}.toml").write_text(
            f'[ensemble]\nname = "e{number}"\ndescription = "Records of department {number}"\n\n'
            '[defaults]\ntimeout = 20\nresult_limit = "32 KiB"\n\n'
            f'[[invokers]]\nname = "read"\ndescription = "Reads the records of department {number}, those that pass the filter"\n'
            'builtin = "read_file"\npermission = "ask"\n\n'
            '[invokers.arguments]\ntype = "object"\nrequired = ["path"]\nadditionalProperties = false\n\n'
            '[invokers.arguments.properties.path]\ntype = "string"\ndescription = "The record, relative to those of the '
            'department"\nmaxLength = 200\n'
        )
