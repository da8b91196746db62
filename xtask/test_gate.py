"""Tests of the choice of suites: `python3 -m unittest discover -s xtask`."""

import re
import unittest

import gate


def chosen(paths, commits=0, **options):
    rows = gate.choose(dict.fromkeys(gate.SUITES, paths), commits, **options)
    return {suite: reason for suite, runs, reason in rows if runs}


class Choice(unittest.TestCase):
    def test_a_change_runs_the_suites_that_test_it_and_one_other(self):
        runs = chosen(["crates/provider/src/gemini.rs", "README.md"])
        self.assertLessEqual({"wire", "real", "instructions"}, runs.keys())
        self.assertEqual(len(runs), 4)
        self.assertEqual(runs["wire"], "crates/provider/src/gemini.rs changed")
        self.assertIn("its turn", runs.values())

    def test_each_suite_has_its_turn(self):
        turns = [list(chosen(["README.md"], commits)) for commits in range(len(gate.SUITES))]
        self.assertEqual(sorted(turns), sorted([suite] for suite in gate.SUITES))

    def test_the_gate_and_the_lock_file_concern_all(self):
        for path in [".ci/run", "Cargo.lock", "xtask/gate.py"]:
            self.assertEqual(chosen([path]).keys(), gate.SUITES.keys(), path)

    def test_all_run_where_nothing_is_known_or_all_are_asked_for(self):
        self.assertEqual(chosen(None).keys(), gate.SUITES.keys())
        self.assertEqual(chosen([], everything=True).keys(), gate.SUITES.keys())

    def test_every_suite_is_chosen_by_its_own_files(self):
        for suite, (_, pattern) in gate.SUITES.items():
            own = "crates/cli/tests/crash/main.rs" if suite == "crash" else f"xtask/{suite}/x.py"
            self.assertTrue(re.search(pattern, own), suite)

    def test_a_commit_that_is_not_in_the_history_is_not_believed(self):
        self.assertIsNone(gate.changed_since("0" * 40))
        self.assertIsNone(gate.changed_since(""))


if __name__ == "__main__":
    unittest.main()
