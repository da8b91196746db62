"""Kills converse at every system call that writes: nothing that it had promised to keep may be lost.

With `--store postgres`, sessions are in a database: at a statement the program is killed, the server crashes and starts
again, or the connection is cut.

The loop is a test target of the program's package (`crates/cli/tests/crash`), because it shares the strict providers of
the tests; here it is built, and given strace and a program. Other options are the loop's own.
"""

import argparse
import os
import subprocess
import sys

import kit


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask crash")
    parser.add_argument("--binary", help="the converse to kill; that of the tests if it is not given")
    parser.add_argument("--store", choices=["postgres"], help="keep sessions in a database, and hit statements")
    for option in ("--seconds", "--points", "--seed", "--scenario"):
        parser.add_argument(option)
    options = vars(parser.parse_args())
    binary = options.pop("binary")
    loop = kit.build("--locked", "--package", "converse", "--test", "crash", name="crash")
    command = [loop]
    if options["store"] is None:
        strace = kit.debian("usr/bin/strace", "strace", "libunwind8")
        command += ["--strace", strace]
        if libraries := kit.libraries(strace):
            command += ["--libraries", libraries]
    for option, value in options.items():
        command += [f"--{option}", value] if value else []
    env = {**os.environ, **({"CONVERSE_BINARY": str(kit.converse(binary))} if binary else {})}
    code = subprocess.run(command, env=env).returncode
    if code not in (0, 1):
        sys.exit(2)
    return code == 0


if __name__ == "__main__":
    kit.main(suite)
