"""Tests of what the suites judge by: `python3 -m unittest discover -s xtask`."""

import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "interop")]


def load(name):
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


canary, conformance, flags = map(load, ["canary/run", "conformance/run", "conformance/client"])
interop, replicas, screenshots = map(load, ["interop/run", "replicas/run", "screenshots/run"])
agentdojo, openai = map(load, ["agentdojo/run", "openai/run"])
clients, servers = interop.clients, interop.servers


class AgentDojo(unittest.TestCase):
    def test_figures_count_effects_attacks_and_tasks(self):
        settings = list(agentdojo.SETTINGS)
        attacks = [({name: number for name in settings}, 2) for number in (0, 1)]
        users = [{name: name == settings[0] for name in settings}, {name: False for name in settings}]
        row = agentdojo.table(users, attacks).splitlines()[2]
        self.assertEqual(row, f"| {settings[0]} | 3 of 4 (75 %) | 1 of 2 (50 %) | 1 of 2 (50 %) |")

    def test_a_tool_has_one_effect(self):
        self.assertEqual(len(agentdojo.ACTS), len(set(agentdojo.ACTS)))
        calls = [{"tool": "get_balance"}, {"tool": "send_money"}, {"tool": "update_password"}]
        self.assertEqual(agentdojo.acting(calls), ["send_money", "update_password"])

    def test_the_server_answers_with_what_was_recorded_and_notes_what_ran(self):
        import json
        import subprocess

        with tempfile.TemporaryDirectory() as folder:
            tools, calls, ran = (Path(folder) / name for name in ("tools", "calls", "ran"))
            tools.write_text(json.dumps({"look": {"type": "object"}}))
            calls.write_text(json.dumps([{"tool": "look", "result": text} for text in ("first", "second")]))
            asked = [("initialize", {"protocolVersion": "1"}), ("tools/list", {}), *[("tools/call", {"name": "look"})] * 3, ("x", {})]
            lines = [json.dumps({"id": id, "method": method, "params": more}) for id, (method, more) in enumerate(asked)]
            words = [sys.executable, HERE / "agentdojo/server.py", tools, calls, ran]
            told = subprocess.run(words, input="\n".join(lines), capture_output=True, text=True, check=True).stdout
            answers = [json.loads(line) for line in told.splitlines()]
            texts = [answer["result"]["content"][0]["text"] for answer in answers[2:5]]
            self.assertEqual((texts, ran.read_text().split()), (["first", "second", "second"], ["look"] * 3))
            self.assertEqual([tool["name"] for tool in answers[1]["result"]["tools"]], ["look"])
            self.assertEqual(answers[5]["error"]["code"], -32601)


class Canary(unittest.TestCase):
    def test_every_way_to_write_a_key_is_found(self):
        import base64

        key = f"sk-{canary.KEY}"
        for text in (
            key,
            key[::-1],
            key.upper(),
            key.encode().hex(),
            *(base64.b64encode((pad + key).encode()).decode() for pad in ("", "x", "xy")),
        ):
            self.assertTrue(canary.leak(text, canary.needles()), text)
        self.assertIsNone(canary.leak("canary-012345678", canary.needles()))

    def test_a_child_of_converse_is_told_from_one_of_a_test(self):
        key = '"A_KEY=sk-canary-0123456789abcdef"'
        started, leaks = canary.environments([
            f'1 execve("/b/converse", ["converse"], [{key}, "CONVERSE_TEST_RUN=1-0"]) = 0',
            '2 execve("/bin/cat", ["cat"], ["A=b"] <unfinished ...>',
            f'1 execve("/bin/bash", ["bash"], [{key}, "CONVERSE_TEST_RUN=1-1"]) = 0',
            f'1 execve("/b/converse", ["converse"], [{key}, "CONVERSE_TEST_RUN=1-1"]) = 0',
            '3 execve("/bin/cat", ["cat"], ["A=granted-canary-0123456789"]) = 0',
            '3 execve("/bin/vi", ["vi"], ["CONVERSE_TEST_RUN=1-0"]) = 0',
            "3 +++ exited with 0 +++",
            f'4 execve("/bin/one", ["one"], ["X=1", {key}] <unfinished ...>',
            '5 execve("/bin/two", ["two", "canary-0123456789"], []) = -1 ENOENT',
            f'6 execve("/bin/three", ["three"], [{key}, "CONVERSE_TEST_RUN=1-0"]) = 0',
        ])  # fmt: skip
        self.assertEqual(started, {"programs": 9, "children": 6, "granted": 1})
        self.assertEqual([around[:9] for _, _, around in leaks], ['"/bin/one', '"/bin/two', '"/bin/thr'])

    def test_files_are_searched_but_for_what_a_test_wrote_and_what_a_grant_keeps(self):
        import json

        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            tokens = root / "home/.local/share/converse/tokens"
            grant = {"access": canary.KEY, "refresh": None, "client": {"secret": canary.KEY}}
            for path, text in {
                root / "written/1": json.dumps({"path": str(root / "own"), "text": canary.KEY}),
                root / "own": canary.KEY,
                root / "log": f"key {canary.KEY}",
                tokens / ("0" * 64 + ".json"): json.dumps(grant),
                tokens / "other.json": json.dumps(grant),
            }.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                path.chmod(0o600)
            tokens.chmod(0o700)
            counts, leaks = canary.search(root, root / "started")
            self.assertEqual(sorted(path.name for path, *_ in leaks), ["log", "other.json"])
            self.assertEqual((counts["own"], counts["grants"], counts["files"]), (1, 1, 4))


class Conformance(unittest.TestCase):
    def outcome(self, *wrong):
        return conformance.Outcome("server", conformance.REVISIONS[0], "a", wrong=list(wrong))

    def test_warnings_and_empty_scenarios_are_wrong(self):
        judged = self.outcome().judge(
            [{"status": "SUCCESS", "id": "x"}, {"status": "WARNING", "id": "y", "description": "d"}]
        )
        self.assertEqual((judged.passed, judged.wrong), (1, ["WARNING y: d"]))
        self.assertEqual(self.outcome().judge([{"status": "SKIPPED"}]).wrong, ["nothing of it was checked"])

    def test_exceptions_are_held_both_ways(self):
        whole, one = conformance.exceptions("# why\nboth a no reason\n"), conformance.exceptions("both a:c no reason")
        self.assertEqual(self.outcome("FAILURE c: x").excuse(whole).excused, "no reason")
        self.assertEqual(self.outcome("FAILURE c: x").excuse(one).excused, "no reason")
        self.assertEqual(self.outcome("FAILURE d: x", "FAILURE c: x").excuse(one).wrong, ["FAILURE d: x"])
        self.assertEqual(self.outcome().excuse(whole).wrong, ["`a` is listed as an exception, and it passes"])
        self.assertEqual(self.outcome("FAILURE c: x").excuse([]).excused, "")
        self.assertRaises(conformance.kit.Failed, conformance.exceptions, "2020-01-01 a reason")

    def test_the_client_is_told_by_flags(self):
        words = flags.flags(
            "http://x",
            "",
            {"client_id": "i", "client_secret": "s", "toolCalls": [{"name": "t", "arguments": {"a": 1, "b": None}}]},
        )
        self.assertIn("auto", words)
        self.assertEqual(
            words[-7:], ["--client-id", "i", "--client-secret-env", flags.SECRET, "--call", "t", '{"a": 1}']
        )
        self.assertEqual(flags.flags("http://x", "2025-11-25", {})[-1], "--call-all")


class Interop(unittest.TestCase):
    def test_each_server_is_called_and_asked_and_each_step_checks_something(self):
        with tempfile.TemporaryDirectory() as directory:
            for at, server in enumerate(servers.ALL):
                site = SimpleNamespace(work=Path(directory, str(at)))
                site.work.mkdir()
                steps = server.plan(site, "http://127.0.0.1:1").steps
                self.assertLessEqual({"call", "ask"}, {step.kind for step in steps}, server.name)
                self.assertTrue(all(step.exits or step.checks for step in steps), server.name)
                self.assertEqual(server.tools, sorted(set(server.tools)), server.name)

    def test_steps_become_command_lines(self):
        words = " ".join(servers.call("now", "zone=UTC", asked=True).words("time", "DIR"))
        self.assertEqual(words, "ensembles call --ensembles DIR time.now zone=UTC")
        words = " ".join(servers.ask("What time?", "now").words("time", "DIR"))
        self.assertEqual(words, "ask -m understudy -e time --ensembles DIR --allow time.* -o json What time?")

    def test_checks_find_what_is_wrong(self):
        ran = SimpleNamespace(stdout="noon noon", stderr="late", server="time")
        ran.json = {
            "a": {"b": 1},
            "content": [{"type": "x", "more": 1}],
            "invocations": [{"tool": "time__now", "outcome": "success"}],
        }
        for good in (
            servers.says("noon"),
            servers.lacks("night"),
            servers.complains("late"),
            servers.is_("/a/b", 1),
            servers.block(type="x"),
            servers.invoked("now"),
        ):
            self.assertIsNone(good(ran))
        for bad in (
            servers.says("x"),
            servers.once("noon"),
            servers.lacks("noon"),
            servers.complains("x"),
            servers.is_("/a/c", 1),
            servers.block(type="y"),
            servers.invoked("now", "now"),
            servers.record("x"),
        ):
            self.assertIn("expected", bad(ran) or "")

    def test_what_a_client_saw_is_judged(self):
        good = {"failed": False, "text": "Echo: cheese on the moon"}
        seen = {
            "tools": [f"everything__{tool}" for tool in servers.EVERYTHING], "good": good, "image": {"others": ["image"]},
            "structured": {"structured": {"temperature": 3}}, "bad": {"failed": True, "text": "Invalid resourceId"},
            "invalid": {"refused": "at /a"}, "unknown": {"failed": True, "text": "no-such-tool"},
            "long": {"failed": False, "text": "completed"}, "progress": 3, "many": 20, "many_ms": 1500,
            "protocol": "2025-11-25", "intruder": "kept out: 401",
        }  # fmt: skip
        client = clients.ALL[0]
        self.assertEqual(clients.problems(seen, client, True), [])
        for key in seen:
            wrong = {
                **seen,
                key: {}
                if isinstance(seen[key], dict)
                else "x"
                if isinstance(seen[key], str)
                else 0
                if key != "many_ms"
                else 10_000,
            }
            self.assertEqual(len(clients.problems(wrong, client, True)), 1, key)
        self.assertEqual(len(clients.problems({}, client, True)), 1)


class OpenAI(unittest.TestCase):
    def test_exceptions_are_held_both_ways(self):
        excused = openai.exceptions("# why\n@a/b / c: no reason\n")
        self.assertEqual(excused, {("@a/b", "c"): "no reason"})
        good, bad = {"client": "@a/b", "case": "c"}, {"client": "@a/b", "case": "c", "wrong": "x"}
        for results, listed, wrong in [
            ([good], {}, 0), ([bad], {}, 1), ([bad], excused, 0), ([good], excused, 1), ([], excused, 1),
        ]:  # fmt: skip
            self.assertEqual(openai.judge(results, listed)[1], wrong)
        self.assertRaises(openai.kit.Failed, openai.exceptions, "c: no client")


class Replicas(unittest.TestCase):
    def test_every_way_to_lose_a_call_is_seen(self):
        for count, loaded, calls, numbers, restarts in [
            (0, (9, 0), 9, 9, 4), (1, (9, 1), 9, 9, 4), (1, (9, 0), 10, 9, 4), (1, (9, 0), 8, 8, 4),
            (1, (8, 0), 9, 9, 4), (1, (9, 0), 9, 9, 3),
        ]:  # fmt: skip
            loaded = {"answered": loaded[0], "failed": loaded[1], "reasons": {}}
            self.assertEqual(len(replicas.problems(loaded, calls, numbers, restarts)), count)


class Screenshots(unittest.TestCase):
    def test_what_differs_is_replaced_and_the_rest_stays(self):
        for shown, expected in [
            ("⠼ io.read 17 s", "⠹ io.read 2 s"),
            ("✓ [1] io.read 3 ms → 5 lines", "✓ [1] io.read 420 ms → 5 lines"),
            ("gpt · 10 in · 151 ms", "gpt · 10 in · 2.9 s"),
            ("01a20267-4654-7652 2027-01-30 23:59 x", "01a1c0de0000000000 2026-11-22 09:41 x"),
            ("5 in, 7 out, 10:1", "5 in, 7 out, 10:1"),
        ]:
            row = screenshots.masked([(char, 1, ()) for char in shown])
            self.assertEqual("".join(text for text, *_ in row), expected)


if __name__ == "__main__":
    unittest.main()
