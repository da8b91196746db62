"""Measures the terminal as a person feels it: `cargo xtask bench --only typing`.

From the start to the first prompt while ten MCP servers take five seconds each, and from a key to its echo in a session of
10,000 messages while an answer streams. The times are those of this script at the other end of the terminal, so they
include the kernel. They are wall-clock times: measure on a machine that does nothing else.
"""

import argparse
import fcntl
import json
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import kit

sys.path.append(str(Path(__file__).resolve().parent.parent / "growth"))
import content  # noqa: E402

SERVERS = 10
# Seconds that a server takes before it answers anything.
SLOW = 5
MESSAGES = 10_000
# Milliseconds.
MOST_TO_PROMPT = 30
MOST_TO_ECHO = 5
# Seconds between two words of the stream, and between two keys.
WORD, KEY = 0.005, 0.02
# Words of a paragraph.
PARAGRAPH = 100
# Seconds to wait for anything.
LIMIT = 30
ROWS, COLUMNS = 40, 100
MODEL = "openai-chat/stub"
PROMPT = f"{MODEL} ❯"
# Letters that neither the stream nor the program writes: each is a key once.
LETTERS = [chr(code) for first, last in [(0x391, 0x3A1), (0x3B1, 0x3C9), (0x410, 0x44F), (0x531, 0x556), (0x10D0, 0x10F0)]
           for code in range(first, last + 1)]  # fmt: skip
# Sequences that move or colour, complete or at the end of what was read.
ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[ -/]*([@-~]|$)|\][^\x07\x1b]*(\x07|\x1b\\|$)|[^\[\]]|$)")


class Model(BaseHTTPRequestHandler):
    """Streams numbers until the client leaves."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stub"}
        for number in range(1_000_000):
            text = f"{number}{' ' if number % PARAGRAPH else chr(10) * 2}"
            choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
            try:
                self.wfile.write(f"data: {json.dumps({**head, 'choices': [choice]})}\n\n".encode())
                self.wfile.flush()
            except OSError:
                return
            time.sleep(WORD)

    def log_message(self, *_):
        pass


class Terminal:
    """The program at a terminal."""

    def __init__(self, words, cwd, env):
        self.end, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.text, self.began = "", time.perf_counter()
        self.child = subprocess.Popen(
            list(map(str, words)), cwd=cwd, env=env, stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(inner)

    def types(self, text):
        os.write(self.end, text.encode())

    def until(self, what):
        """Reads until the text is there, without sequences. Returns the time."""
        deadline = time.perf_counter() + LIMIT
        while what not in ESCAPES.sub("", self.text):
            left = deadline - time.perf_counter()
            if left <= 0 or not select.select([self.end], [], [], left)[0]:
                raise kit.Failed(f"no {what!r} within {LIMIT} s in {self.text[-500:]!r}")
            got = os.read(self.end, 65536).decode(errors="replace")
            # The program asks where the cursor is, and what the terminal is.
            for _ in range(got.count("\x1b[6n")):
                self.types("\x1b[1;1R")
            for _ in range(got.count("\x1b[c")):
                self.types("\x1b[?1;2c")
            self.text += got
        return time.perf_counter()

    def forget(self):
        """Reads what there is, and forgets it."""
        while select.select([self.end], [], [], 0)[0]:
            os.read(self.end, 65536)
        self.text = ""

    def close(self):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        os.close(self.end)


def home(work, name, port):
    """Returns a home of its own and the environment for it."""
    directory = Path(work) / name
    (directory / ".config/converse/ensembles").mkdir(parents=True)
    (directory / "work").mkdir()
    url = f"http://127.0.0.1:{port}/v1"
    env = {"PATH": kit.PATH, "HOME": str(directory), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    return directory, {**env, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "x"}


def to_prompt(binary, work, port, rounds):
    """Returns the times to the first prompt in ms."""
    directory, env = home(work, "servers", port)
    for number in range(SERVERS):
        content.server(directory / ".config/converse/ensembles", number, ["sleep", SLOW])
    times = []
    for _ in range(rounds + 1):
        terminal = Terminal([binary, "-m", MODEL], directory / "work", env)
        try:
            times.append((terminal.until(PROMPT) - terminal.began) * 1000)
        finally:
            terminal.close()
    return times[1:]


def to_echo(binary, work, port, keys):
    """Returns the times from a key to its echo in ms."""
    directory, env = home(work, "session", port)
    content.session(directory / ".local/share/converse/sessions", 0, MESSAGES)
    terminal = Terminal([binary, "-m", MODEL, "--no-tools", "-c", "--all"], directory / "work", env)
    try:
        terminal.until(PROMPT)
        terminal.forget()
        terminal.types("go\r")
        terminal.until("345")
        times = []
        for letter in LETTERS[:keys]:
            time.sleep(KEY)
            terminal.forget()
            began = time.perf_counter()
            terminal.types(letter)
            times.append((terminal.until(letter) - began) * 1000)
            terminal.types("\x7f")
        return times
    finally:
        terminal.close()


def at(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask bench --only typing")
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--keys", type=int, default=len(LETTERS))
    options = parser.parse_args()
    binary = options.binary.resolve() if options.binary else kit.build("--release", "--locked", "-p", "converse")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="typing-") as work:
        port = server.server_port
        prompts = to_prompt(binary, work, port, options.rounds)
        echoes = to_echo(binary, work, port, options.keys)
    rows = [
        (f"start to first prompt, {SERVERS} servers of {SLOW} s: median", statistics.median(prompts), MOST_TO_PROMPT),
        (f"key to echo, {MESSAGES:,} messages, a stream: median", statistics.median(echoes), None),
        ("the same: 99th percentile", at(echoes, 0.99), MOST_TO_ECHO),
    ]
    print("| | ms | gate |\n| --- | ---: | ---: |")
    for name, value, most in rows:
        print(f"| {name} | {value:.2f} | {'' if most is None else f'{most:.0f}'} |")
    return all(most is None or value <= most for _, value, most in rows)


if __name__ == "__main__":
    kit.main(suite)
