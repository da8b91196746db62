"""What one session costs among a million in a database: `cargo xtask bench --only growth --database`.

A server runs some turns, and SQL copies one of their sessions: a few of the same owner, and the rest of others. Then the server
lists, searches, opens and continues sessions of its owner. The table has the times of requests over HTTP on one connection
after the other.
"""

import contextlib
import sys
import tempfile
import time
from pathlib import Path

import kit
from turns import Server, ask

OWN = 100
OWNERS = 10_000
# Milliseconds at p99.
GATE = 20
ROUNDS = 200
# Sessions that one statement copies.
STEP = 100_000

# Ids are in the order of time, as those of the program: `$1` to `$2`, some milliseconds apart.
COPY = """
CREATE TEMPORARY TABLE new AS SELECT number,
  (lpad(to_hex(1700000000000 + number), 12, '0') || '7000' || '8000' || lpad(to_hex(number), 12, '0'))::uuid AS id
  FROM generate_series({first}, {last}) AS number;
INSERT INTO converse.sessions (id, published, has_journal, length, modified, owner)
  SELECT new.id, true, true, s.length, s.modified, {owner}
  FROM new, converse.sessions AS s WHERE s.id = '{session}';
INSERT INTO converse.entries (session, start, epoch, line)
  SELECT new.id, 0, 1, (SELECT string_agg(line, '' ORDER BY start) FROM converse.entries WHERE session = '{session}') FROM new;
INSERT INTO converse.documents (session, name, bytes)
  SELECT new.id, d.name, d.bytes FROM new, converse.documents AS d WHERE d.session = '{session}';
"""

# What the program sends for a line of a journal and the sync after it, in any of the sessions.
APPEND = """
\\set number random(0, {last})
WITH grown AS (
  UPDATE converse.sessions SET length = length + 300, modified = clock_timestamp(), expires = clock_timestamp() + interval '10 s'
  WHERE id = (lpad(to_hex(1700000000000 + :number), 12, '0') || '7000' || '8000' || lpad(to_hex(:number), 12, '0'))::uuid
  RETURNING id, length)
INSERT INTO converse.entries (session, start, epoch, line)
  SELECT id, length - 300, 1, decode(repeat('61', 300), 'hex') FROM grown;
"""


def question(session, text):
    message = {"role": "user", "content": text}
    return {"threadId": session, "messages": [message], "forwardedProps": {"model": "understudy"}}


def turn(server, session, text):
    """Begins a turn; returns its session and the seconds until it was accepted. Returns when it has ended."""
    began = time.monotonic()
    status, answer = ask(server.port, "POST", "/api/runs", question(session, text))
    took = time.monotonic() - began
    if status != 202:
        raise kit.Failed(f"a turn was refused with {status}: {answer}")
    session = answer["session"]
    kit.until("the turn ends", 60, lambda: not shown(server, f"/api/sessions/{session}")["running"])
    return session, took


def shown(server, path):
    status, answer = ask(server.port, "GET", path)
    if status != 200:
        raise kit.Failed(f"{path} was answered with {status}: {answer}")
    return answer


def fill(database, session, count, own):
    """Copies a session so often: `own` times for the owner of the command line, and the rest for others."""
    for first in range(0, count, STEP):
        last = min(first + STEP, count) - 1
        owner = f"CASE WHEN number % {max(count // own, 1)} = 0 THEN '' ELSE 'owner' || number % {OWNERS} END"
        database.value("SET synchronous_commit = off;" + COPY.format(first=first, last=last, owner=owner, session=session))
        print(f"{last + 1:,} sessions", file=sys.stderr)
    database.value("VACUUM ANALYZE")


def measured(server, sessions, rounds):
    """Returns the seconds of each request, by what it does."""
    paths = {"list": "/api/sessions?limit=50", "search": "/api/sessions?text=2500&limit=50"}
    found = {name: [] for name in (*paths, "open", "a message is accepted")}
    for number in range(rounds):
        session = sessions[number % len(sessions)]
        for name, path in {**paths, "open": f"/api/sessions/{session}"}.items():
            if len(found[name]) > 2 and sum(found[name]) > 60:
                continue
            began = time.monotonic()
            shown(server, path)
            found[name].append(time.monotonic() - began)
        found["a message is accepted"].append(turn(server, session, "What is 3*4?")[1])
    return found


def appends(database, count, rounds):
    """Returns the seconds of durable appends, by PostgreSQL's own client for such things."""
    (database.directory / "append.sql").write_text(APPEND.format(last=count - 1))
    words = ["-n", "-c", 1, "-t", rounds, "-f", "append.sql", "-l", "--log-prefix=append", "-h", database.directory, "-U", "converse"]
    database.run("pgbench", *map(str, words), "postgres")
    (log,) = database.directory.glob("append.[0-9]*")
    return [int(line.split()[2]) / 1e6 for line in log.read_text().splitlines()]


def run(binary, count, own, rounds=ROUNDS):
    with tempfile.TemporaryDirectory(prefix="many", dir="/tmp") as work, contextlib.ExitStack() as held:
        directory = Path(work)
        directory.chmod(0o755)
        (directory / "database").mkdir(mode=0o700)
        database = kit.Database(directory / "database")
        database.start()
        held.callback(database.stop)
        server = Server(binary, directory, 0, database.url, ["-e", "essentials"])
        server.start()
        held.callback(lambda: server.program.kill())
        kit.until("the server is ready", 60, server.is_ready)
        sessions = [turn(server, "", "What is 15% of 2500?")[0] for _ in range(20)]
        fill(database, sessions[0], count, own)
        size = database.value("SELECT pg_size_pretty(pg_database_size('postgres'))")
        listed = shown(server, "/api/sessions?limit=1000")["items"]
        print(f"\n{count:,} sessions, {len(listed):,} or more of the owner, {size}\n")
        print("| request | p50 | p99 |\n| --- | ---: | ---: |")
        slow = []
        found = {**measured(server, sessions, rounds), "append, durable": appends(database, count, 10 * rounds)}
        for name, times in found.items():
            times.sort()
            p50, p99 = (times[int(len(times) * share)] * 1000 for share in (0.5, 0.99))
            print(f"| {name} | {p50:.1f} ms | {p99:.1f} ms |")
            if p99 > GATE:
                slow.append(f"{name}: {p99:.0f} ms at p99, and {GATE} ms are wanted")
        print(*(f"error: {one}" for one in slow), sep="\n", file=sys.stderr)
        return not slow
