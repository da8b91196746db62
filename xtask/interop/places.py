"""Where the runs of one server or client happen, and what of them is still there afterwards."""

import json
import os
import signal
import tempfile
import time
from pathlib import Path

import kit
from servers import CANARY

# Seconds for one run, also on a machine with other work.
LIMIT = 120


class Site:
    """The directory of one server's runs: an unused home, a place to work in, descriptors."""

    def __init__(self, binary):
        self.scratch = tempfile.TemporaryDirectory(prefix="converse-interop-")
        self.binary, self.root = binary, Path(self.scratch.name)
        self.work, self.home = self.root / "work", self.root / "home"
        self.work.mkdir()
        self.home.mkdir()

    def describe(self, directory, server, command=None, url=None, environment={}, grants=""):
        """Writes the descriptor of a server and returns its directory."""
        # A JSON text of such words is a TOML text as well.
        if url:
            connection = f'transport = "http"\nurl = {json.dumps(url)}\n'
        else:
            variables = ", ".join(f"{name} = {json.dumps(value)}" for name, value in environment.items())
            words = json.dumps([str(word) for word in command])
            connection = f'transport = "stdio"\ncommand = {words}\nenvironment = {{ {variables} }}\n{grants}'
        (self.root / directory).mkdir(exist_ok=True)
        head = f'[ensemble]\nname = "{server}"\ndescription = "A server of others"\n\n[connection]\n'
        (self.root / directory / f"{server}.toml").write_text(head + connection)
        return str(self.root / directory)

    def start(self, words):
        env = {"PATH": kit.PATH, "HOME": str(self.home), CANARY: "a-secret-of-the-parent"}
        return kit.Program([self.binary, *words], cwd=self.work, env=env)

    def traces(self, program, *but):
        return Traces([str(self.root), str(program), str(self.binary)], but)


class Traces:
    """The processes that have one of these paths in their command, environment, directory or program."""

    def __init__(self, paths, but=()):
        self.paths, self.but = [path.encode() for path in paths], {os.getpid(), *but}

    def find(self):
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) in self.but:
                continue
            said = []
            for name in ("cmdline", "environ", "cwd", "exe"):
                try:
                    is_link = name in ("cwd", "exe")
                    said.append(os.readlink(entry / name).encode() if is_link else (entry / name).read_bytes())
                except OSError:
                    said.append(b"")
            if any(path in text for path in self.paths for text in said):
                found[int(entry.name)] = said[0].replace(b"\0", b" ").decode(errors="replace").strip()
        return found

    def left(self, within=15):
        """Returns what is still there after a time, and kills it: the next run starts clean."""
        end = time.monotonic() + within
        while (found := self.find()) and time.monotonic() < end:
            time.sleep(0.02)
        for process in found:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return [f"left behind: {process} `{command}`" for process, command in found.items()]

    def appear(self):
        try:
            return bool(kit.until("the server", LIMIT, self.find))
        except kit.Failed:
            return False
