"""The shop of τ²-bench's retail domain: one database for each task, on which the functions of `inspect_evals` work.

`shop.py PORT`. `GET /tasks` are the gold actions, `POST /call` carries one out, and `GET /end` compares each database with one to
which its gold actions were applied here. Of the framework around the benchmark, nothing is needed but some names.
"""

import asyncio
import importlib.util
import json
import sys
import threading
import types
from pathlib import Path

from model import Page, serve
from pydantic import BaseModel


class ToolError(Exception):
    """What a tool refuses."""


def framework():
    """Puts the names of `inspect_ai` in place that the tools use, and the package without what it imports at its start."""
    names = {
        "inspect_ai.tool": {"ToolError": ToolError, "Tool": object, "tool": lambda function: function},
        "inspect_ai.util": {"StoreModel": BaseModel},
        "inspect_ai.model": {"Content": object, "ContentText": object},
    }
    sys.modules["inspect_ai"] = types.ModuleType("inspect_ai")
    for name, values in names.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(values)
    package = types.ModuleType("inspect_evals.tau2")
    package.__path__ = [str(Path(importlib.util.find_spec("inspect_evals").submodule_search_locations[0]) / "tau2")]
    sys.modules["inspect_evals.tau2"] = package


framework()
from inspect_evals.tau2.common import tools as common  # noqa: E402
from inspect_evals.tau2.retail.data_model import RetailDB  # noqa: E402
from inspect_evals.tau2.retail.RetailAgentTools import RetailAgentTools  # noqa: E402
from inspect_evals.tau2.utils import TAU2_DATA_DIR  # noqa: E402

RETAIL = TAU2_DATA_DIR / "domains/retail"
BASE = RetailDB.load(str(RETAIL / "db.json.gz"))
TASKS = {task["id"]: task["evaluation_criteria"]["actions"] for task in json.loads((RETAIL / "tasks.json").read_text())}
ACTIONS = {task: [{"name": one["name"], "arguments": one["arguments"]} for one in actions] for task, actions in TASKS.items()}
WRITES = ("cancel_", "exchange_", "modify_", "return_", "transfer_")


WRITTEN = {one["name"] for actions in ACTIONS.values() for one in actions if one["name"].startswith(WRITES)}


class Own(dict):
    """The entries of a task, which are copied when they are looked up, so that a change stays in the task."""

    def __init__(self, entries):
        super().__init__(entries)
        self.copied = set()

    def __getitem__(self, key):
        if key not in self.copied:
            self[key] = super().__getitem__(key).model_copy(deep=True)
            self.copied.add(key)
        return super().__getitem__(key)


class Shop:
    """The database of a task, and the writes that it has seen."""

    def __init__(self):
        # Products do not change.
        database = RetailDB.model_construct(products=BASE.products, users=Own(BASE.users), orders=Own(BASE.orders))
        self.tools, self.done, self.lock = RetailAgentTools(db=database, initialized=True), [], threading.Lock()

    def call(self, name, arguments):
        with self.lock:
            if name == "performed":
                return f"performed: {len(self.done)}"
            if name in WRITTEN:
                self.done.append({"name": name, "arguments": arguments})
            try:
                if hasattr(common, name):
                    return asyncio.run(getattr(common, name)()(**arguments))
                return getattr(self.tools, name)(**arguments)
            except ToolError as error:
                return f"refused: {error}"

    def hash(self):
        database = self.tools.db
        return RetailDB.model_construct(products=database.products, users=dict(database.users), orders=dict(database.orders)).get_hash()


SHOPS = {task: Shop() for task in ACTIONS}


def end():
    differ, wrong = [], []
    for task, actions in ACTIONS.items():
        alone = Shop()
        for action in actions:
            alone.call(**action)
        if alone.hash() != SHOPS[task].hash():
            differ.append(task)
        if alone.done != SHOPS[task].done:
            wrong.append((task, SHOPS[task].done, alone.done))
    done = sum(len(shop.done) for shop in SHOPS.values())
    return {"differ": differ, "wrong": wrong, "same": len(ACTIONS) - len(differ), "writes": done}


class Counter(Page):
    def do_GET(self):
        self.answer(json.dumps(end() if self.path == "/end" else {"actions": ACTIONS, "writes": sorted(WRITTEN)}))

    def do_POST(self):
        asked = self.asked()
        self.answer(str(SHOPS[asked["task"]].call(asked["name"], asked["arguments"])))


if __name__ == "__main__":
    serve(sys.argv[1], Counter)
