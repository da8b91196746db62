"""A model behind OpenAI's Chat Completions: it looks, notes the number of the question, and says what became of it.

`model.py PORT [SECONDS]`. The first reply calls `ledger__look`, the second `ledger__note`, the third is words: `noted 7`, or
`unknown 7` if the outcome of the call is not known. A question `ask 7` calls `ledger__sign` instead, which needs an approval,
and `write 7` begins with the note. Each reply takes a while, so that a kill meets some of them, or so many seconds.
"""

import json
import random
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def reply(messages):
    """Returns the message that follows these."""
    asked = next(one["content"] for one in reversed(messages) if one["role"] == "user")
    word, number = re.search(r"(note|ask|write) (\d+)", json.dumps(asked)).groups()
    results = [json.dumps(one["content"]) for one in messages if one["role"] == "tool"]
    name = {"note": ["look", "note"], "ask": ["look", "sign"], "write": ["note"]}[word][len(results) : len(results) + 1]
    if not name:
        told = "unknown" if "outcome is unknown" in results[-1] else "noted" if f"heard {number}" in results[-1] else "refused"
        return {"role": "assistant", "content": f"{told} {number}"}, "stop"
    call = {"name": f"ledger__{name[0]}", "arguments": json.dumps({"number": int(number)})}
    calls = [{"id": f"call_{number}_{len(results)}", "type": "function", "function": call}]
    return {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def asked(self):
        return json.loads(self.rfile.read(int(self.headers["content-length"])))

    def answer(self, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Model(Page):
    """Answers with the message that `reply` makes of those before. Each takes so many seconds."""

    reply, fastest, slowest = staticmethod(reply), 0.05, 0.4

    def do_POST(self):
        asked = self.asked()
        message, reason = self.reply(asked["messages"])
        time.sleep(random.uniform(self.fastest, self.slowest))
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        whole = {"id": "x", "object": "chat.completion", "created": 1, "model": asked["model"], "choices": [choice], "usage": usage}
        self.answer(json.dumps(whole))


def serve(port, page):
    ThreadingHTTPServer.request_queue_size = 256
    ThreadingHTTPServer(("127.0.0.1", int(port)), page).serve_forever()


if __name__ == "__main__":
    if sys.argv[2:]:
        Model.fastest = Model.slowest = float(sys.argv[2])
    serve(sys.argv[1], Model)
