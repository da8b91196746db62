"""What the suites share: programs with a time limit, packages of others, builds, servers that are started and ended."""

import contextlib
import fcntl
import json
import os
import pwd
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

if sys.version_info < (3, 11):
    sys.exit("error: Python 3.11 or newer is needed")
ROOT = Path(__file__).resolve().parent.parent
PATH = os.environ.get("PATH", "")


class Failed(Exception):
    """A suite cannot tell whether all is well: exit 2."""


def main(suite):
    """Runs a suite, which returns whether all is well: exit 0 or 1."""
    # A program that a suite holds is ended by its `finally` also where the suite is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(0 if suite() else 1)
    except Failed as error:
        sys.exit(print(f"error: {error}", file=sys.stderr) or 2)


def place(name):
    """Returns the directory of a suite below `target`; only one run of the suite may use it."""
    directory = ROOT / "target" / name
    directory.mkdir(parents=True, exist_ok=True)
    lock = open(directory / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Failed(f"another `cargo xtask {name}` is running here") from None
    place.locks.append(lock)
    return directory


place.locks = []


# --- programs


class Program:
    """A program in a process group of its own. Its output goes to files, so nothing that it leaves behind blocks us."""

    def __init__(self, words, cwd=None, env=None, more={}, stdin=subprocess.DEVNULL):
        self.command = shlex.join(map(str, words))
        self.outputs = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
        env = {**(os.environ if env is None else env), **more}
        self.began = time.monotonic()
        try:
            self.child = subprocess.Popen(
                list(map(str, words)), cwd=cwd, env=env, stdin=stdin, stdout=self.outputs[0],
                stderr=self.outputs[1], process_group=0,
            )  # fmt: skip
        except OSError as error:
            raise Failed(f"`{self.command}` does not start: {error}") from error

    def signal(self, number):
        """Signals the program alone, not its group."""
        if self.child.poll() is None:
            self.child.send_signal(number)

    def kill(self):
        """Kills the group."""
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()

    def end(self, limit):
        """Waits for the end, and kills the program if it does not come in time."""
        self.late = False
        try:
            self.child.wait(limit)
        except subprocess.TimeoutExpired:
            self.late = True
        self.took = time.monotonic() - self.began
        if self.late:
            self.kill()
        code = self.child.returncode
        self.code = None if self.late or code < 0 else code
        self.stdout, self.stderr = map(self.text, self.outputs)
        return self

    @staticmethod
    def text(output):
        output.seek(0)
        return output.read(4 << 20).decode(errors="replace")

    @property
    def json(self):
        """Returns stdout as JSON, or an empty object."""
        try:
            return json.loads(self.stdout)
        except ValueError:
            return {}

    def report(self):
        """Returns all that is needed to repeat a failed run."""
        ended = f"exit {self.code}" if self.code is not None else "no end in time" if self.late else "ended by a signal"
        outputs = [
            f"  {name}:\n    " + tail(getattr(self, name)).replace("\n", "\n    ") for name in ("stdout", "stderr")
        ]
        return "\n".join([f"  {self.command}", f"  {ended} after {self.took * 1000:.0f} ms", *outputs])


def run(words, limit=60, **options):
    return Program(words, **options).end(limit)


def done(words, limit=240, **options):
    """Runs a program that must succeed."""
    ran = run(words, limit, **options)
    if ran.code != 0:
        raise Failed(f"a command failed\n{ran.report()}")
    return ran


def shown(words, **options):
    """Runs a program that must succeed, with its output shown and without a limit."""
    words = list(map(str, words))
    if subprocess.run(words, cwd=ROOT, **options).returncode != 0:
        raise Failed(f"`{shlex.join(words)}` failed")


def tail(text, most=2000):
    text = text.strip()
    return text if len(text) <= most else "…" + text[-most:]


def until(what, limit, is_so, every=0.02):
    """Waits until it is so. Raises after the limit."""
    end = time.monotonic() + limit
    while not (result := is_so()):
        if time.monotonic() > end:
            raise Failed(f"not within {limit} s: {what() if callable(what) else what}")
        time.sleep(every)
    return result


# --- servers


def free_port():
    """Returns a port that nobody has now. It is below those that the kernel gives to outgoing connections: while a server is
    away, none of them takes its port."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as listener:
            # A connection that has just ended does not count, as for the servers.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def listens(port):
    with socket.socket() as client:
        client.settimeout(5)
        return client.connect_ex(("127.0.0.1", port)) == 0


class Remote:
    """A server that is reached over HTTP. Its words get the port for `{port}`, and `PORT`. It has a home of its own, and
    runs there or in `cwd`."""

    def __init__(self, words, environment={}, cwd=None):
        self.port, self.home = free_port(), tempfile.TemporaryDirectory()
        env = {"PATH": PATH, "HOME": self.home.name, "PORT": str(self.port), **environment}
        words = [str(word).replace("{port}", str(self.port)) for word in words]
        self.program = Program(words, cwd=cwd or self.home.name, env=env)
        try:
            until(self.output, 60, lambda: self.program.child.poll() is not None or listens(self.port), every=0.05)
            if self.program.child.poll() is not None:
                raise Failed(f"`{words[0]}` does not listen: {self.output()}")
        except Failed:
            self.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def output(self):
        return tail("".join(map(Program.text, self.program.outputs)))

    def kill(self):
        self.program.kill()
        self.home.cleanup()

    def end(self):
        """Asks the server to end, and returns what is wrong with how it does."""
        self.program.signal(signal.SIGTERM)
        ran = self.program.end(60)
        if ran.late:
            return ["expected: told to end, it ends"]
        return [] if ran.code == 0 else [f"expected: told to end, it ends well, and not with {ran.code}"]


# --- packages of others


class Kit:
    """Packages at the versions of a lock file: a directory with `package.json`, or a file of `name==version` for pip.

    Nothing of theirs runs while they are installed: npm runs no scripts, pip builds nothing. `options` are of `npm ci` or `pip`.
    """

    def __init__(self, source, *options):
        self.source, self.is_npm, self.options = ROOT / "xtask" / source, not source.endswith(".txt"), options

    def install(self, directory, name=None):
        """Installs the packages below the directory, unless they are there. Half an installation counts as none."""
        self.dir = directory / (name or self.source.stem)
        lock = self.source / "package-lock.json" if self.is_npm else self.source
        interpreter = done(["node" if self.is_npm else "python3", "--version"]).stdout
        wanted, stamp = f"{self.dir}\n{interpreter}{lock.read_text()}", self.dir.with_suffix(".stamp")
        if stamp.is_file() and stamp.read_text() == wanted:
            return self
        began = time.monotonic()
        stamp.unlink(missing_ok=True)
        shutil.rmtree(self.dir, ignore_errors=True)
        self.dir.mkdir(parents=True)
        if self.is_npm:
            for file in ("package.json", "package-lock.json"):
                shutil.copy(self.source / file, self.dir)
            npm = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            done([*npm, *self.options], cwd=self.dir)
        else:
            # The machine's own pip fills the environment: to put a pip into each takes longer than the rest.
            done(["python3", "-m", "venv", "--without-pip", self.dir])
            pip = ["python3", "-m", "pip", "--python", self.dir, "install", "--quiet", "--no-input"]
            done([*pip, "--disable-pip-version-check", "--only-binary=:all:", *self.options, "--requirement", self.source])
        stamp.write_text(wanted)
        print(f"installed {self.source.name} in {time.monotonic() - began:.0f} s", file=sys.stderr)
        return self

    def program(self, name):
        return self.dir / ("node_modules/.bin" if self.is_npm else "bin") / name

    def file(self, path):
        return self.dir / "node_modules" / path


def debian(program, *packages):
    """Returns a program: installed, or from Debian packages that are only unpacked below `target`."""
    unpacked = ROOT / "target" / packages[0]
    for found in (Path("/") / program, unpacked / program):
        if found.is_file():
            return found
    unpacked.mkdir(parents=True, exist_ok=True)
    for package in packages:
        done(["apt-get", "download", package], cwd=unpacked)
    for package in unpacked.glob("*.deb"):
        done(["dpkg", "-x", package, unpacked])
    if not (unpacked / program).is_file():
        raise Failed(f"Debian's {packages[0]} holds no {program}")
    return unpacked / program


def libraries(program):
    """Returns the libraries beside a program that was unpacked; None if it is installed."""
    found = list(program.parent.parent.glob("lib/*-linux-gnu"))
    return found[0] if found and ROOT in program.parents else None


# --- a database


class Database:
    """PostgreSQL in a directory, reached by a socket in it."""

    def __init__(self, directory):
        self.directory = directory
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if not programs:
            raise Failed("PostgreSQL's server is missing: apt-get install postgresql")
        self.programs, self.user = programs[-1], {}
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            self.user = {"user": owner.pw_uid, "group": owner.pw_gid}
            os.chown(directory, owner.pw_uid, owner.pw_gid)
        self.url = f"postgres://converse@/postgres?host={directory}"

    def run(self, program, *words):
        words = [self.programs / program, *words]
        done = subprocess.run(words, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False, **self.user)
        if done.returncode:
            raise Failed(f"{program} failed")

    def start(self):
        data = self.directory / "data"
        self.run("initdb", "--auth=trust", "--no-sync", "--encoding=UTF8", "-U", "converse", "-D", data)
        options = f"-c listen_addresses= -c unix_socket_directories={self.directory} -c autovacuum=off"
        self.run("pg_ctl", "-D", data, "-l", self.directory / "log", "-w", "-o", options, "start")

    def stop(self):
        with contextlib.suppress(Failed):
            self.run("pg_ctl", "-D", self.directory / "data", "-m", "immediate", "-w", "stop")

    def value(self, sql):
        words = [self.programs / "psql", "-XAtq", "-h", self.directory, "-U", "converse", "-d", "postgres", "-c", sql]
        return subprocess.run(words, capture_output=True, text=True, check=True, cwd=self.directory, **self.user).stdout.strip()


# --- builds


def build(*options, name="converse", manifest=None):
    """Builds with `cargo build` and returns the executable that cargo names."""
    # Build scripts that look at what `cargo run` told us of xtask would run again.
    env = {key: value for key, value in os.environ.items() if not re.match("CARGO_(PKG|MANIFEST)_", key)}
    words = [os.environ.get("CARGO", "cargo"), "build", "--message-format=json", *options]
    ran = subprocess.run(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        raise Failed(f"`{shlex.join(words)}` failed")
    messages = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    for message in reversed(messages):
        is_meant = message.get("target", {}).get("name") == name and message.get("executable")
        if is_meant and (manifest is None or message["manifest_path"].endswith(manifest)):
            return Path(message["executable"])
    raise Failed(f"cargo named no executable `{name}`")


def converse(binary, *options):
    """Returns the binary that was named, or builds one."""
    if binary:
        if not Path(binary).is_file():
            raise Failed(f"`{binary}` is not a file")
        return Path(binary).resolve()
    return build(*options, "--package", "converse", "--bin", "converse")


def beside(binary, directory):
    """Returns the binary by a name that only this run uses: its processes are known by it, a build changes nothing."""
    own = directory / "converse"
    own.unlink(missing_ok=True)
    try:
        os.link(binary, own)
    except OSError:
        shutil.copy(binary, own)
    return own
