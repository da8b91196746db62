// The server under test: started by a command line, or one that runs already.
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { until } from "./waiting.mjs";

const HERE = path.dirname(new URL(import.meta.url).pathname);

/// A port that nobody has now. It is below those that the kernel gives to outgoing connections: while a server is away,
/// none of them takes its port.
async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000), server = net.createServer();
    const isFree = await new Promise((resolve) => server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true)));
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/// An empty project directory, and a home with the settings of `settings/`, which name the model.
export function fixture(modelUrl) {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "converse-panel-"));
  const project = path.join(root, "project"), settings = path.join(root, "home/.config/converse");
  fs.mkdirSync(project, { recursive: true });
  fs.cpSync(path.join(HERE, "settings"), settings, { recursive: true });
  const file = path.join(settings, "config.toml");
  fs.writeFileSync(file, fs.readFileSync(file, "utf8").replaceAll("{model}", modelUrl));
  return { root, project, home: path.join(root, "home"), remove: () => fs.rmSync(root, { recursive: true, force: true }) };
}

/// A server that the scenarios may kill and start again at the same port, with the same files.
export class Server {
  /// `words` may contain `{port}`, `{token}`, `{model}`, `{project}` and `{home}`.
  constructor(words, model, place = fixture(model.url)) {
    Object.assign(this, { words, model, place, token: "panel-token-0123456789abcdef0123456789" });
  }

  async start() {
    this.port ??= await freePort();
    this.base = `http://127.0.0.1:${this.port}`;
    const values = { port: this.port, token: this.token, model: this.model.url, project: this.place.project, home: this.place.home };
    const [program, ...rest] = this.words.map((word) => word.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all));
    const env = { PATH: process.env.PATH, HOME: this.place.home, CONVERSE_SERVE_TOKEN: this.token };
    this.said = "";
    this.child = spawn(program, rest, { cwd: this.place.project, env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on("data", (piece) => { this.said = (this.said + piece).slice(-20_000); });
    this.ended = new Promise((resolve) => this.child.on("close", resolve));
    await until(`the server listens: ${this.said}`, async () => {
      if (this.child.exitCode !== null) throw new Error(`the server ended:\n${this.said}`);
      return (await this.status()) === 200;
    }, 60_000);
    return this;
  }

  async status() {
    try {
      return (await fetch(`${this.base}/api/status`, { headers: this.headers })).status;
    } catch {
      return 0;
    }
  }

  get headers() {
    return { Authorization: `Bearer ${this.token}` };
  }

  async kill(signal = "SIGKILL") {
    this.child?.kill(signal);
    await this.ended;
  }

  async stop() {
    if (this.child && this.child.exitCode === null) await this.kill();
    this.place.remove();
  }

  /// Opens the gate that the tool `lab.gate` waits for.
  openGate(name) {
    fs.writeFileSync(path.join(this.place.project, `${name}.open`), "");
  }

  async call(method, address, body) {
    const headers = { ...this.headers, Accept: "application/json", Origin: this.base, ...(method === "GET" ? {} : { "Content-Type": "application/json" }) };
    const response = await fetch(this.base + address, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${address}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  get = (address) => this.call("GET", address);
  post = (address, body) => this.call("POST", address, body ?? {});
  patch = (address, body) => this.call("PATCH", address, body);
  del = (address) => this.call("DELETE", address, {});
}

/// A server that somebody else started: it cannot be killed, and the gate cannot be opened.
export class Remote extends Server {
  constructor(base, token) {
    super([], { url: "" }, { remove() {} });
    Object.assign(this, { base: base.replace(/\/$/, ""), token, isRemote: true });
  }

  start = async () => this;
  kill = async () => { throw new Error("this server was not started here"); };
}

/// A line to a server that can be cut: connections end, and new ones are refused until it is mended.
export class Line {
  #open = new Set();

  async lay(server) {
    const { port } = new URL(server.base);
    this.relay = net.createServer((near) => {
      if (this.isCut) { near.destroy(); return; }
      const far = net.connect(Number(port), "127.0.0.1");
      for (const [one, other] of [[near, far], [far, near]]) {
        this.#open.add(one);
        one.pipe(other);
        one.on("error", () => {}).on("close", () => { this.#open.delete(one); other.destroy(); });
      }
    });
    await new Promise((resolve) => this.relay.listen(0, "127.0.0.1", resolve));
    this.end = { base: `http://127.0.0.1:${this.relay.address().port}`, token: server.token };
    return this;
  }

  cut() {
    this.isCut = true;
    for (const one of this.#open) one.destroy();
  }

  mend() {
    this.isCut = false;
  }

  stop() {
    this.cut();
    this.relay.close();
  }
}
