"""Coding agents, pointed at `converse serve`, and the model that they believe to talk to: it calls one tool that it was
offered, and repeats the result. What an agent told its model is what is judged."""

import json
import threading
from dataclasses import dataclass
from typing import Callable

import servers
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The question that the agents are given, and what the tool answers.
QUESTION, HEARD = "Say cheese on the moon with the tool echo.", "Echo: cheese on the moon"
TOOL, GIVEN = "everything__echo", {"message": "cheese on the moon"}


class Model(ThreadingHTTPServer):
    """Speaks the APIs of Anthropic (Messages) and OpenAI (Responses), streamed and whole."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        # Names of tools that were offered, and the texts of results.
        self.offered, self.results, self.asked = set(), [], []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.say({"data": [], "models": []})

    def do_HEAD(self):
        self.say({})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or "{}")
        path = self.path.partition("?")[0]
        self.server.asked.append(path)
        if path.endswith("/count_tokens"):
            self.say({"input_tokens": 10})
        elif path.endswith("/messages"):
            self.as_anthropic(body)
        elif path.endswith("/responses"):
            self.as_openai(body)
        else:
            self.say({"error": {"type": "not_found_error", "message": path}}, 404)

    def chosen(self, names, results):
        """Returns the tool to call, or nothing once a result of it came."""
        self.server.offered |= set(names)
        self.server.results += results
        return None if results else next((name for name in names if name.endswith(TOOL)), None)

    def as_anthropic(self, body):
        blocks = [
            block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
        ]
        results = [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]
        tool = self.chosen([tool["name"] for tool in body.get("tools") or []], results)
        usage = {"input_tokens": 1, "output_tokens": 1}
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}
        if tool:
            block, delta = {"type": "tool_use", "id": f"toolu_{len(blocks)}", "name": tool}, "input_json_delta"
            opened, more, full = {"input": {}}, {"partial_json": json.dumps(GIVEN)}, {"input": GIVEN}
        else:
            block, delta = {"type": "text"}, "text_delta"
            opened, more, full = {"text": ""}, {"text": self.last(results)}, {"text": self.last(results)}
        stop = "tool_use" if tool else "end_turn"
        if not body.get("stream"):
            return self.say({**head, "content": [{**block, **full}], "stop_reason": stop, "usage": usage})
        self.stream([
            {"type": "message_start", "message": {**head, "content": [], "stop_reason": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": {**block, **opened}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": delta, **more}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ])  # fmt: skip

    def as_openai(self, body):
        given = body["input"] if isinstance(body["input"], list) else []
        results = [json.dumps(one["output"]) for one in given if one.get("type", "").endswith("call_output")]
        # Tools of a server may stand in a namespace of it.
        tools = {}
        for tool in body.get("tools") or []:
            for one in tool.get("tools") or [tool]:
                tools[one.get("name") or ""] = tool["name"] if tool.get("type") == "namespace" else None
        tool = self.chosen(list(tools), results)
        if tool:
            item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool}
            item |= {"arguments": json.dumps(GIVEN), "status": "completed"}
            item |= {"namespace": tools[tool]} if tools[tool] else {}
        else:
            part = {"type": "output_text", "text": self.last(results), "annotations": []}
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        response = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
        if not body.get("stream"):
            return self.say(response)
        self.stream([
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ])  # fmt: skip

    @staticmethod
    def last(results):
        return f"It said: {results[-1]}" if results else "I have no such tool."

    def stream(self, events):
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.say(text.encode(), kind="text/event-stream")

    def say(self, body, status=200, kind="application/json"):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def claude(kit, site, asked, model):
    """Claude Code: its program is that of the package for this machine, since no installer runs."""
    (program,) = kit.dir.glob("node_modules/@anthropic-ai/claude-code-linux-*/claude")
    if "url" in asked:
        gateway = {"type": "http", "url": asked["url"], "headers": {"Authorization": f"Bearer {asked['token']}"}}
    else:
        gateway = {"command": asked["command"][0], "args": asked["command"][1:]}
    servers = site.root / "mcp.json"
    servers.write_text(json.dumps({"mcpServers": {"gateway": gateway}}))
    words = [program, "-p", QUESTION, "--mcp-config", servers, "--strict-mcp-config", "--allowedTools", "mcp__gateway"]
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "ENABLE_TOOL_SEARCH": "false"}
    return words, {"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "no-key", **quiet}


def codex(kit, site, asked, model):
    if "url" in asked:
        gateway = {"url": asked["url"], "bearer_token_env_var": "GATEWAY_TOKEN"}
    else:
        gateway = {"command": asked["command"][0], "args": asked["command"][1:]}
    # JSON texts and lists of texts are TOML as well.
    lines = ['model = "scripted"', 'model_provider = "stub"', 'approval_policy = "never"', "[model_providers.stub]"]
    lines += ['name = "stub"', f'base_url = "{model}/v1"', 'wire_api = "responses"', 'env_key = "MODEL_KEY"']
    lines += ["[mcp_servers.gateway]", *(f"{key} = {json.dumps(value)}" for key, value in gateway.items())]
    (site.home / ".codex").mkdir()
    (site.home / ".codex/config.toml").write_text("\n".join(lines))
    words = [kit.program("codex"), "exec", "--skip-git-repo-check", "--sandbox", "read-only", QUESTION]
    return words, {"MODEL_KEY": "no-key", "GATEWAY_TOKEN": asked.get("token", "")}


@dataclass
class Agent:
    name: str
    # `words(kit, site, asked, model)` returns a command and its environment.
    words: Callable
    kit: str = "agents"


ALL = [Agent("claude-code", claude), Agent("codex", codex)]


def problems(seen, agent, is_http):
    """Returns what is wrong with what an agent told its model."""
    # An agent writes names in its own way, with `_` for `-` or a server's name before them.
    offered = [name.replace("-", "_") for name in seen["tools"]]
    missing = [
        tool for tool in servers.EVERYTHING
        if not any(name.endswith(f"everything__{tool}".replace("-", "_")) for name in offered)
    ]  # fmt: skip
    checks = {
        f"the tools {missing} in the model's first request": not missing,
        f"the result in the model's second request, and not {seen['results']}": any(HEARD in one for one in seen["results"]),
    }
    return [f"expected: {what}" for what, is_so in checks.items() if not is_so]
