"""A model server for the benchmark of the HTTP front: `model.py PORT`. It answers OpenAI's chat completions at once.

The name of the model says how: `quick` answers with six words; `held` streams one word and then keeps the stream open.
A request has one answer, whatever it says. The program ends with its standard input.
"""

import asyncio
import json
import os
import re
import sys

WORDS = 6
COMMON = {"id": "chatcmpl-1", "created": 1, "model": "quick"}
USAGE = {"prompt_tokens": 3, "completion_tokens": WORDS, "total_tokens": 3 + WORDS}


def event(delta, **more):
    chunk = {**COMMON, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    chunk.update(more)
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def chunked(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


def whole():
    message = {"role": "assistant", "content": "quick " * WORDS}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = json.dumps({**COMMON, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
WORD = chunked(event({"role": "assistant", "content": "quick "}))
LAST = chunked(event({}, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])) + chunked(event({}, choices=[], usage=USAGE))
STREAM = HEAD + WORD * WORDS + LAST + chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n"
WHOLE = whole()
HELD = HEAD + WORD


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.data = transport, b""

    def data_received(self, data):
        self.data += data
        while (end := self.data.find(b"\r\n\r\n")) >= 0:
            length = re.search(rb"content-length: *(\d+)", self.data[:end], re.IGNORECASE)
            size = end + 4 + (int(length[1]) if length else 0)
            if len(self.data) < size:
                return
            body, self.data = self.data[end + 4 : size], self.data[size:]
            is_streamed = re.search(rb'"stream": *true', body)
            held = b'"held"' in body
            self.transport.write(HELD if held else STREAM if is_streamed else WHOLE)


async def serve(port):
    loop = asyncio.get_running_loop()
    await loop.create_server(Connection, "127.0.0.1", port, backlog=1024)
    await loop.run_in_executor(None, os.read, 0, 1)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
