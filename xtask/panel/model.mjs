// A model on the loopback interface that speaks OpenAI Chat over SSE and answers what a scenario tells it.
import http from "node:http";
import { until } from "./waiting.mjs";

const WORDS = 4;

export class Model {
  #scripts = new Map();
  #gates = new Map();
  /// The requests that arrived, oldest first: `{model, messages, tools, …}`.
  requests = [];

  /// Answers questions that contain `words` with `replies`: the nth reply answers the nth request of the turn.
  /// A reply is a list of steps: `{text}`, `{reasoning}`, `{call: [name, arguments]}`, `{hold: name}`, `{status, message}`.
  on(words, ...replies) {
    this.#scripts.set(words, replies);
  }

  #gate(name) {
    if (!this.#gates.has(name)) {
      const gate = { waiting: 0 };
      gate.opened = new Promise((resolve) => { gate.open = resolve; });
      this.#gates.set(name, gate);
    }
    return this.#gates.get(name);
  }

  /// Lets the replies go on that wait at `{hold: name}`, and those that come later.
  release(name) {
    this.#gate(name).open();
  }

  /// Resolves when `count` replies wait at `{hold: name}`.
  reached(name, count = 1) {
    return until(`${count} replies wait at ${name}`, () => this.#gate(name).waiting >= count);
  }

  async listen(port = 0) {
    this.server = http.createServer((request, response) => this.#answer(request, response).catch(() => response.destroy()));
    await new Promise((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}/v1`;
    return this;
  }

  close() {
    for (const gate of this.#gates.values()) gate.open();
    this.server.closeAllConnections();
    this.server.close();
  }

  async #answer(request, response) {
    let text = "";
    for await (const piece of request) text += piece;
    if (request.method === "GET") {
      const data = ["model-a", "model-b", "model-c", "model-d"].map((id) => ({ id, object: "model", owned_by: "loopback" }));
      response.setHeader("content-type", "application/json");
      return response.end(JSON.stringify({ object: "list", data }));
    }
    const body = JSON.parse(text);
    this.requests.push(body);
    const asked = body.messages.findLastIndex((message) => message.role === "user");
    const question = asked < 0 ? "" : plain(body.messages[asked].content);
    const words = [...this.#scripts.keys()].filter((key) => question.includes(key)).sort((a, b) => b.length - a.length)[0];
    const nth = body.messages.slice(asked + 1).filter((message) => message.role === "assistant").length;
    const replies = this.#scripts.get(words) ?? [];
    const reply = replies[Math.min(nth, replies.length - 1)] ?? [{ text: `The model has no script for: ${question}` }];
    const steps = typeof reply === "function" ? reply(body) : reply;
    const failure = steps.find((step) => step.status);
    if (failure) {
      response.writeHead(failure.status, { "content-type": "application/json" });
      return response.end(JSON.stringify({ error: { message: failure.message ?? "scripted failure", type: "server_error" } }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta, more = {}) => response.write(`data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: body.model, choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`);
    send({ role: "assistant", content: "" });
    let calls = 0;
    for (const step of steps) {
      if (step.hold) {
        const gate = this.#gate(step.hold);
        gate.waiting += 1;
        await gate.opened;
      }
      if (step.reasoning) send({ reasoning_content: step.reasoning });
      for (const piece of pieces(step.text ?? "")) send({ content: piece });
      if (step.call) {
        const [name, values] = step.call;
        send({ tool_calls: [{ index: calls, id: `call_${this.requests.length}_${calls}`, type: "function", function: { name: name.replace(".", "__"), arguments: JSON.stringify(values) } }] });
        calls += 1;
      }
    }
    send({}, { finish_reason: calls ? "tool_calls" : "stop" });
    response.write(`data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: body.model, choices: [], usage: { prompt_tokens: 1200, completion_tokens: 80, total_tokens: 1280 } })}\n\n`);
    response.end("data: [DONE]\n\n");
  }
}

const plain = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n"));

/// Splits a text into pieces of some words, or of 64 KiB where it has no blanks.
function pieces(text) {
  if (text.length > 100_000) return text.match(/[^]{1,65536}/g) ?? [];
  return text.match(new RegExp(`(?:\\S+\\s*){1,${WORDS}}|\\s+`, "g")) ?? [];
}
