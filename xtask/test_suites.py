"""Tests of what the suites judge by: `python3 -m unittest discover -s xtask`."""

import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "interop"), str(HERE / "replicas"), str(HERE / "growth"), str(HERE / "durable")]


def load(name):
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


canary, conformance, flags = map(load, ["canary/run", "conformance/run", "conformance/client"])
gold, restate = map(load, ["durable/gold", "durable/restate"])
interop, replicas, screenshots, durable = map(load, ["interop/run", "replicas/run", "screenshots/run", "durable/run"])
agentdojo, gateways, openai = map(load, ["agentdojo/run", "gateways/run", "openai/run"])
growth, openapi = map(load, ["growth/run", "openapi/run"])
agents, clients, servers = interop.agents, interop.clients, interop.servers


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


class Gateways(unittest.TestCase):
    def test_figures_are_medians_and_ours_lose_no_call_and_are_the_most(self):
        load = {"answered": 10, "failed": 0, "seconds": 2, "p50_us": 1000, "p99_us": 2000, "resident_kib": 2048}
        ours = gateways.row([load, {**load, "answered": 90, "failed": 1}, {**load, "answered": 20}])
        self.assertEqual(ours, {"calls": 10, "p50": 1, "p99": 2, "memory": 2, "failed": 1})
        good, fast = {**ours, "calls": 9000, "failed": 0}, {**ours, "calls": 9001}
        for count, converse, other in [(0, good, ours), (1, good, fast), (1, {**good, "failed": 1}, ours)]:
            figures = {("stdio", "converse"): converse, ("stdio", "other"): other, ("stdio", "direct"): fast}
            self.assertEqual(len(gateways.problems(figures)), count)
        self.assertIn("| stdio | other | 9,001 | 1.00 |", gateways.table({("stdio", "converse"): good, ("stdio", "other"): fast}))


class Growth(unittest.TestCase):
    def test_the_cost_of_one_is_above_the_smallest_size_and_compared_with_the_size_before(self):
        costs = [(1, 5), (101, 7), (1001, 35)]
        self.assertEqual(growth.rows(costs), [(101, 7, 20, None), (1001, 35, 30, 1.5)])
        self.assertEqual(growth.table("`x`", "tools", costs).splitlines()[-1], "| 1,001 | 35.0 ms | 30.00 µs | 1.50 |")

    def test_what_grows_faster_than_its_size_fails_unless_it_hardly_grows(self):
        for last, is_flat in [(31, True), (32, False)]:
            self.assertEqual(growth.is_flat([(0, 5), (100, 7), (1000, last)]), is_flat)
        for last, is_flat in [(7, True), (8, False)]:
            self.assertEqual(growth.is_flat([(0, 5), (100, 5), (1000, last)]), is_flat)
        self.assertTrue(growth.is_flat([(0, 5), (100, 50)]))

    def test_a_session_has_lines_with_numbers_and_checksums(self):
        import json
        import zlib

        with tempfile.TemporaryDirectory() as folder:
            growth.content.session(Path(folder), 3, 5)
            (journal,) = Path(folder).glob("*/journal.jsonl")
            lines = journal.read_bytes().splitlines()
        entries = [json.loads(line) for line in lines]
        self.assertEqual([entry["seq"] for entry in entries], list(range(1, 16)))
        roles = [entry["canister"]["role"] for entry in entries if entry["type"] == "canister"]
        self.assertEqual(roles, ["user", "assistant", "invocation", "result"] * 2)
        self.assertEqual([entry["id"] for entry in entries if entry["type"] == "started"], ["inv_1_0", "inv_2_0"])
        for line, entry in zip(lines, entries):
            self.assertEqual(entry["sum"], f"{zlib.crc32(line[: line.rindex(b',')]):08x}")


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
        framework, brief = clients.MORE[0], {**seen, "bad": {"text": "Invalid resourceId"}, "invalid": {"text": "at /a"}}
        self.assertEqual(clients.problems(brief, framework, True), [])
        for key in ("tools", "good", "bad", "invalid", "many"):
            self.assertEqual(len(clients.problems({**brief, key: {}}, framework, True)), 1, key)

    def test_what_an_agent_told_its_model_is_judged(self):
        offered = [f"mcp__gateway__everything__{tool}".replace("-", "_") for tool in servers.EVERYTHING]
        for count, tools, results in [(0, offered, [f"it said {agents.HEARD}"]), (1, offered[1:], [agents.HEARD]), (1, offered, [])]:
            self.assertEqual(len(agents.problems({"tools": tools, "results": results}, agents.ALL[0], True)), count)

    def test_features_are_compared_without_the_gateways_prefix(self):
        features = interop.features
        excused = features.exceptions("# why\nhttp b | no reason\nc | none\n")
        direct = {"a": ["echo"], "b": 1, "c": 1, "d": 1}
        served = {"a": ["everything__echo"], "b": 2, "c": 1, "d": 2}
        verdicts = lambda way: [verdict for _, verdict, _ in features.compare(direct, served, way, excused)]  # noqa: E731
        self.assertEqual(verdicts("http"), ["ok", "excused", "passes now", "failed"])
        self.assertEqual(verdicts("stdio"), ["ok", "failed", "passes now", "failed"])
        self.assertRaises(features.kit.Failed, features.exceptions, "a feature without a reason")

    def test_there_are_forty_servers_and_fourteen_clients(self):
        programs = {server.program for server in [*servers.ALL, *interop.catalogue.ALL]}
        self.assertGreaterEqual(len(programs), 40)
        names = [one.name for one in [*servers.ALL, *interop.catalogue.ALL, *clients.ALL, *clients.MORE, *agents.ALL]]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len([*clients.ALL, *clients.MORE, *agents.ALL]), 14)


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


class OpenAPI(unittest.TestCase):
    BEGIN = "[9:23:03 PM] [HTTP SERVER] get /pet info Request received\n"
    REFUSED = BEGIN + "[VALIDATOR] warning Request did not pass the validation rules\n"
    NO_PATH = BEGIN + "[HTTP SERVER] get /nope error Request terminated with error: #NO_PATH_MATCHED_ERROR\n"

    def test_a_request_is_judged_by_the_first_verdict_after_it(self):
        passed = self.BEGIN + "[VALIDATOR] success The request passed the validation rules. Looking for …\n"
        reason, why = "[VALIDATOR] error Request query must have 'status'\n", "Request query must have 'status'"
        refused = f"{openapi.INVALID}: {why}"
        for log, verdict in [
            (passed, openapi.VALID), (passed + self.NO_PATH, openapi.VALID), (reason + passed, openapi.VALID),
            (self.REFUSED + reason + passed, refused), (self.BEGIN, None), ("", None), (self.REFUSED, []),
            (self.REFUSED + reason[:-1], []), (self.NO_PATH[:-1], []),
        ]:  # fmt: skip
            self.assertEqual(openapi.verdict(log), verdict, log)
        self.assertIn("NO_PATH_MATCHED", openapi.verdict(self.NO_PATH))

    def test_exceptions_are_held_both_ways(self):
        excused = openapi.exceptions("# why\na 3.1 / b with all: no reason: none\n")
        self.assertEqual(excused, {"a 3.1 / b with all": "no reason: none"})
        bad, other = "a 3.1 / b with all: not sent\n…", "a 3.1 / b: not sent\n…"
        for wrong, listed, count in [
            ([], {}, 0), ([bad], {}, 1), ([bad], excused, 0), ([], excused, 1), ([other], excused, 2),
        ]:  # fmt: skip
            self.assertEqual(len(openapi.unexcused(wrong, listed)), count)
        self.assertRaises(openapi.kit.Failed, openapi.exceptions, "b: no document")

    def test_arguments_fit_their_schemas(self):
        of = {"oneOf": [{"type": "integer"}, {"type": "string"}]}
        self.assertEqual(openapi.sample(of), "text")
        self.assertEqual(openapi.sample({"type": "integer", "minimum": 7, "multipleOf": 5}), 10)
        pair = {"type": ["null", "array"], "items": {"enum": ["x"]}, "minItems": 2}
        self.assertEqual(openapi.sample(pair), ["x", "x"])
        choices = {"properties": {"a": {}, "b": {}, "c": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
        self.assertEqual(openapi.sample(choices), {"a": "text", "c": "text"})
        self.assertRaises(openapi.Unknown, openapi.sample, {"type": "string", "pattern": "^never$"})

    def test_there_are_twenty_documents_and_exceptions_of_these(self):
        self.assertGreaterEqual(len(openapi.DOCUMENTS), 20)
        names = openapi.exceptions((HERE / "openapi/exceptions.txt").read_text())
        self.assertLessEqual({name.partition(" / ")[0] for name in names}, openapi.DOCUMENTS.keys())


class Replicas(unittest.TestCase):
    def test_every_way_to_lose_a_call_is_seen(self):
        for count, loaded, calls, numbers, restarts in [
            (0, (9, 0), 9, 9, 4), (1, (9, 1), 9, 9, 4), (1, (9, 0), 10, 9, 4), (1, (9, 0), 8, 8, 4),
            (1, (8, 0), 9, 9, 4), (1, (9, 0), 9, 9, 3),
        ]:  # fmt: skip
            loaded = {"answered": loaded[0], "failed": loaded[1], "reasons": {}}
            self.assertEqual(len(replicas.problems(loaded, calls, numbers, restarts)), count)

    def test_a_call_may_fail_only_while_its_server_is_away(self):
        rig = replicas.upstreams
        absences = [rig.Absence(server, 10 * at, 10 * at + 1) for at in range(1, 6) for server in ("piped", "remote")]
        good = [
            rig.Called(server, 100 * at + place, 10 * at + 1.5, 10 * at + 1.6, "")
            for place, server in enumerate(("piped", "remote")) for at in range(1, 6)
        ]  # fmt: skip
        noted = [one.number for one in good]
        away, there = (rig.Called("piped", 1, began, began + 0.1, "not sent") for began in (10.5, 15))
        mute = rig.Called("piped", 1, 10.5, 10.6, "hung up", lost=True)
        late, slow = rig.Absence("piped", 60, 61), rig.Called("piped", 1, 65, 65.1, "not sent")
        for count, calls, numbers, away_too in [
            (0, good, noted, []), (0, [*good, away], noted, []), (1, [*good, there], noted, []),
            (1, [*good, mute], noted, []), (1, good, [*noted, noted[0]], []), (1, good, noted[1:], []),
            (1, good, noted, [late]), (1, [*good, rig.Called("piped", 7, 60.5, 72, "")], [*noted, 7], [late]),
            # On a slow machine: until it is used again, and no longer.
            (0, [*good, slow, rig.Called("piped", 7, 60.5, 66, "")], [*noted, 7], [late]),
            (1, [*good, slow, rig.Called("piped", 7, 60.5, 64, "")], [*noted, 7], [late]),
        ]:  # fmt: skip
            self.assertEqual(len(rig.problems(calls, numbers, absences + away_too)), count)
        self.assertEqual(len(rig.problems(good, noted, absences[:-1])), 1)

    def test_every_way_to_lose_a_turn_is_seen(self):
        rig = replicas.turns
        user, tool = {"role": "user", "parts": [{"text": "@noted.note number=1"}]}, {"role": "tool", "id": "inv_1_0", "content": "heard 1."}
        answer = {"role": "assistant", "parts": [{"type": "text", "text": "heard 1."}]}
        events = [
            {"type": "CUSTOM", "name": "converse.user", "value": {"index": 0}},
            {"type": "TOOL_CALL_START", "toolCallId": "inv_1_0"}, {"type": "TOOL_CALL_RESULT", "toolCallId": "inv_1_0"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m3", "delta": "heard 1."},
            {"type": "RUN_FINISHED", "runId": "r1", "outcome": {"type": "success"}},
        ]  # fmt: skip

        def found(outcome="success", events=events, messages=(user, tool, answer), noted=(1,), running=False, failed=(), is_orderly=False):
            client = rig.Client([1], 0, None)
            client.failed.update(failed)
            client.session, client.turns = "s", [rig.Turn(1, "r1", outcome)]
            for event in events:
                client.seen.take(event)
            return len(rig.problems(client, {"running": running, "messages": list(messages)}, noted, is_orderly))

        self.assertEqual((found(), found("interrupted", failed=[502]), found(is_orderly=True)), (0, 0, 0))
        for wrong in [
            found("interrupted", is_orderly=True), found(failed=[502], is_orderly=True), found(running=True), found(outcome=""), found(noted=[]), found(noted=[1, 1]), found(messages=[tool, answer]),
            found(messages=[user, user, tool, answer]), *(found(events=[*events, event]) for event in events),
            *(found(events=[one for one in events if one is not event]) for event in events[:-1]),
        ]:  # fmt: skip
            self.assertGreater(wrong, 0)


class Durable(unittest.TestCase):
    def test_every_way_to_lose_a_conversation_is_seen(self):
        calls = [{"tool": "ledger__look"}, {"tool": "ledger__note"}]

        def found(noted=(0,), ids=("0",), expected=("ledger__look", "ledger__note"), **more):
            line = {"answer": "noted 0", "exit": 0, "reason": "answered", "invocations": calls, "usage": {"output": 15}, **more}
            return len(durable.problems([{**line, "id": one} for one in ids], range(1), noted, expected))

        self.assertEqual((found(), found(answer="unknown 0", noted=()), found(answer="unknown 0")), (0, 0, 0))
        self.assertEqual(found(expected=("ledger__note",), invocations=calls[1:], usage={"output": 10}), 0)
        for wrong in [
            found(noted=()), found(noted=(0, 0)), found(ids=()), found(ids=("0", "0")), found(exit=7), found(answer="refused 0"),
            found(answer="noted 1"), found(invocations=calls[1:]), found(usage={"output": 10}), found(answer="unknown 0", noted=(0, 0)),
        ]:  # fmt: skip
            self.assertGreater(wrong, 0)

    def test_a_cluster_is_whole_if_all_know_all_and_each_partition_has_a_leader(self):
        whole = {"failure_detector_nodes_total": 3, "metadata_server_replicated_leader_id": 1, "num_partitions": 8}

        def is_whole(leaders=(4, 2, 2), **one):
            seen = [{**whole, "num_active_partition_leaders": count} for count in leaders]
            seen[1] |= one
            return restate.is_whole([SimpleNamespace(is_ready=lambda: True, figures=lambda one=one: one) for one in seen])

        self.assertTrue(is_whole())
        for wrong in [is_whole((4, 2, 1)), is_whole(failure_detector_nodes_total=2), is_whole(metadata_server_replicated_leader_id=0)]:
            self.assertFalse(wrong)

    def test_of_the_nodes_only_those_alive_are_counted(self):
        line = 'restate_failure_detector_nodes_total{{node_name="n1",state="{}"}} {}\n'
        text = line.format("dead", 1) + line.format("alive", 2) + line.format("suspect", 0) + 'restate_num_partitions{node_name="n1"} 8\n'
        self.assertEqual(restate.figures(text), {"failure_detector_nodes_total": 2, "num_partitions": 8})

    def test_an_action_is_asked_for_again_only_if_it_was_not_done(self):
        actions = [{"name": name, "arguments": {}} for name in ("get", "cancel", "get")]
        known = {"actions": {"7": actions}, "writes": ["cancel"]}

        def asked(*said):
            messages, names = [{"role": "user", "content": "task 7"}], []
            for text in [*said, None]:
                message, _ = gold.reply(messages, known)
                names.append(message["tool_calls"][0]["function"]["name"] if message["content"] is None else message["content"])
                calls = message.get("tool_calls") or [{}]
                messages += [message, {"role": "tool", "tool_call_id": calls[0].get("id"), "content": text}]
            return [name.removeprefix("retail__") for name in names]

        unknown = "its outcome is unknown"
        self.assertEqual(asked("x", "x", "x"), ["get", "cancel", "get", "done 7"])
        self.assertEqual(asked("x", unknown, "performed: 1", "x"), ["get", "cancel", "performed", "get", "done 7"])
        self.assertEqual(asked("x", unknown, "performed: 0", "x")[2:], ["performed", "cancel", "get"])


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
