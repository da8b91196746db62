"""An MCP server whose one tool `note` writes each number that it is given to a file, which survives its being killed.

`upstream.py LOG [PORT [SECONDS]]`: over stdio, or over HTTP at a port. A call takes so many seconds. The era of 2026-07-28 only.
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TAKES = float(sys.argv[3]) if len(sys.argv) > 3 else 0
LOG = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
TOOL = {
    "name": "note", "description": "Notes a number and says it",
    "inputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
}  # fmt: skip
WHOLE = {"resultType": "complete"}
KEPT = {**WHOLE, "ttlMs": 600_000, "cacheScope": "public"}


def answer(asked):
    """Returns the result of a request, or nothing if there is no such method."""
    match asked["method"]:
        case "server/discover":
            server = {"name": "upstream", "version": "1"}
            return {**KEPT, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            return {**KEPT, "tools": [TOOL]}
        case "tools/call":
            number = asked["params"]["arguments"]["number"]
            os.write(LOG, f"{number}\n".encode())
            time.sleep(TAKES)
            return {**WHOLE, "isError": False, "content": [{"type": "text", "text": f"heard {number}."}]}
        case "ping":
            return WHOLE
    return None


def reply(text):
    """Returns the reply to a message, or nothing if it wants none."""
    asked = json.loads(text)
    if "id" not in asked or "method" not in asked:
        return None
    result = answer(asked)
    error = {"error": {"code": -32601, "message": "Method not found"}}
    return {"jsonrpc": "2.0", "id": asked["id"], **({"result": result} if result else error)}


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without it an answer waits for the kernel to collect more.
    disable_nagle_algorithm = True

    def do_POST(self):
        said = reply(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(said).encode() if said else b""
        self.send_response(202 if not said else 404 if "error" in said else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(405)
        self.send_header("content-length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def log_message(self, *_):
        pass


if len(sys.argv) > 2:
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Page).serve_forever()
for line in sys.stdin:
    if said := reply(line):
        print(json.dumps(said), flush=True)
