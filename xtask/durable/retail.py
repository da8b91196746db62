"""The retail domain of τ²-bench (PyPI `inspect-evals`): each task is a conversation whose model asks for the gold actions in order.

A shop (`shop.py`) has a database for each task, and the package's own functions work on them. Its databases must end as those to
which the gold actions are applied in one process, without converse; and no action may be carried out twice.
"""

import http.client
import json
import sys
from pathlib import Path

import kit

HERE = Path(__file__).resolve().parent
LISTS = ("item_ids", "new_item_ids")

INVOKER = """
[[invokers]]
name = "{name}"
description = "A tool of the benchmark"
effects = "{effects}"
permission = "allow"
command = {{ argv = {argv} }}
arguments = {arguments}
"""


class Retail:
    """The tasks with their gold actions."""

    name = "retail"

    def __init__(self, place, held):
        python = kit.Kit("durable/retail.txt", "--no-deps").install(place, "retail").program("python")
        self.rows = []
        self.shop = held.enter_context(kit.Remote([python, HERE / "shop.py", "{port}"]))
        self.tasks = self.asked("/tasks")
        self.model = [sys.executable, HERE / "gold.py", "{port}", self.shop.port]

    def asked(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.shop.port, timeout=300)
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())

    def ensemble(self):
        """Returns tools with the arguments that gold actions have, and one that says how many writes of a task were done."""
        known = {"performed": set()}
        for actions in self.tasks["actions"].values():
            for action in actions:
                known.setdefault(action["name"], set()).update(action["arguments"])
        text = '[ensemble]\nname = "retail"\ndescription = "Serves the customers of a shop"\n'
        for name, given in known.items():
            names = ["task", *sorted(given)]
            argv = [sys.executable, str(HERE / "call.py"), str(self.shop.port), name, *(f"{one}={{{one}}}" for one in names)]
            types = {one: 'type = "array", items = { type = "string" }' if one in LISTS else 'type = "string"' for one in names}
            properties = ", ".join(f'{one} = {{ {kind}, description = "As in the benchmark" }}' for one, kind in types.items())
            arguments = f'{{ type = "object", required = ["task"], properties = {{ {properties} }} }}'
            effects = "write" if name in self.tasks["writes"] else "read"
            text += INVOKER.format(name=name, effects=effects, argv=json.dumps(argv), arguments=arguments)
        return text

    def run(self, binary, servers, _):
        """Runs a batch of all tasks. Returns what is wrong."""
        lines = [{"id": task, "prompt": f"task {task}"} for task in self.tasks["actions"]]
        (servers.directory / "lines.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        results, found, took, killed = servers.driven(binary, "batch", "lines.jsonl")
        if sorted(line["id"] for line in results) != sorted(self.tasks["actions"]):
            found.append(f"{len(results)} results of {len(lines)} tasks")
        for line in results:
            # What was lost and what asked about it may be between the gold actions.
            called = [call["tool"].removeprefix("retail__") for call in line["invocations"]]
            gold = [action["name"] for action in self.tasks["actions"][line["id"]]]
            if line["exit"] or line["answer"].strip() != f"done {line['id']}" or not is_within(gold, called):
                found.append(f"task {line['id']}: {line['reason']}, {line['answer']!r}, {called}")
        end = self.asked("/end")
        found += [f"the database of task {task} differs" for task in end["differ"]]
        found += [f"task {task}: done {done}, expected {wanted}" for task, done, wanted in end["wrong"]]
        actions = sum(map(len, self.tasks["actions"].values()))
        unknown = sum(call["tool"] == "retail__performed" for line in results for call in line["invocations"])
        print(
            f"{len(lines)} tasks with {actions} gold actions: {took:.1f} s, {killed}; {end['same']} databases as without converse, "
            f"{end['writes']} writes, {unknown} calls with an unknown outcome"
        )
        return found


def is_within(gold, called):
    """Whether the calls contain the gold actions in their order."""
    rest = iter(called)
    return all(name in rest for name in gold)
