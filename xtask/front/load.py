"""Clients of a server of chat completions: raw sockets, so that they take little of the machine beside what they measure."""

import json
import selectors
import socket
import time

import kit

LIMIT = 60


class Broken(kit.Failed):
    """A server did not answer as it must."""


class Client:
    """One connection that is kept, with one request at a time."""

    def __init__(self, server, model="quick", stream=True):
        body = {"model": server.prefix + model, "stream": stream, "messages": [{"role": "user", "content": "hello"}]}
        body = json.dumps(body).encode()
        head = f"POST {server.path} HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\nauthorization: Bearer {server.key}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.request, self.port, self.socket = head.encode() + body, server.port, None
        self.is_stream, self.name = stream, server.name

    def ask(self):
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), LIMIT)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answer = b""
        self.socket.sendall(self.request)

    def read(self):
        """Reads what is there. Returns whether the answer is whole."""
        data = self.socket.recv(1 << 16)
        self.answer += data
        if not data:
            self.close()
        if not self.answer.startswith(b"HTTP/1.1 200"):
            raise Broken(f"{self.name}: {self.answer[:400].decode(errors='replace')}")
        if not data and not self.is_whole():
            raise Broken(f"{self.name}: the connection was closed in {self.answer[-400:]!r}")
        return self.is_whole()

    def is_whole(self):
        if self.is_stream or b"transfer-encoding: chunked" in self.answer[:2000].lower():
            return self.answer.endswith(b"\r\n0\r\n\r\n")
        head = self.answer.find(b"\r\n\r\n")
        if head < 0:
            return False
        at = self.answer.lower().find(b"content-length:", 0, head)
        return at >= 0 and len(self.answer) >= head + 4 + int(self.answer[at + 15 : self.answer.find(b"\r\n", at)])

    def check(self):
        """A wrong answer is worth nothing, however fast."""
        if self.answer.count(b"quick ") < 6:
            raise Broken(f"{self.name}: not the answer of the model: {self.answer[-600:].decode(errors='replace')}")

    def first_word(self):
        """Sends a request and returns the seconds until its first word; the rest of the answer is read."""
        began = time.perf_counter()
        self.ask()
        first, done = None, False
        while not done:
            done = self.read()
            if first is None and b"quick" in self.answer:
                first = time.perf_counter() - began
        self.check()
        return first

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None


def requests(server, clients, seconds, stream):
    """Returns the requests in a second that so many clients together had answered."""
    waiting, done = selectors.DefaultSelector(), 0
    held = [Client(server, stream=stream) for _ in range(clients)]
    try:
        for client in held:
            client.ask()
            waiting.register(client.socket, selectors.EVENT_READ, client)
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            ready = waiting.select(LIMIT)
            if not ready:
                raise Broken(f"{server.name}: no answer within {LIMIT} s")
            for key, _ in ready:
                client, used = key.data, key.fileobj
                if client.read():
                    client.check()
                    done += 1
                    client.ask()
                    if client.socket is not used:
                        waiting.unregister(used)
                        waiting.register(client.socket, selectors.EVENT_READ, client)
        return done / (time.perf_counter() - began)
    finally:
        waiting.close()
        for client in held:
            client.close()


def open_streams(server, count):
    """Opens streams that do not end, and returns them once each has its first word."""
    streams = [Client(server, "held") for _ in range(count)]
    for stream in streams:
        stream.ask()
    for stream in streams:
        while b"quick" not in stream.answer:
            stream.read()
    return streams
