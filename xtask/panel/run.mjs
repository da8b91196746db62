// Drives a browser through the panel.
//
//   node run.mjs --start 'PROGRAM … {port} {token} {model} {project} {home}' [--only NAME]... [--shots DIR]
//   node run.mjs --base URL --token TOKEN [--model-port N] [--only NAME]...
//
// PANEL_PACKAGES is a directory with playwright-core and axe-core; CHROMIUM the browser. Exit 1 if a scenario fails.
import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { launch, Visits } from "./browser.mjs";
import { Model } from "./model.mjs";
import { Line, Remote, Server } from "./server.mjs";

const HERE = path.dirname(new URL(import.meta.url).pathname);
const LIMIT = 180_000;

const { values } = parseArgs({ options: {
  start: { type: "string" }, base: { type: "string" }, token: { type: "string", default: "" }, "model-port": { type: "string", default: "0" },
  only: { type: "string", multiple: true, default: [] }, shots: { type: "string" }, list: { type: "boolean", default: false },
} });

async function scenarios() {
  const found = [];
  for (const file of fs.readdirSync(path.join(HERE, "scenarios")).sort()) {
    const module = await import(`./scenarios/${file}`);
    const group = file.replace(/\.mjs$/, "");
    for (const [name, run] of Object.entries(module.default)) found.push({ name: `${group}: ${name}`, run, needs: module.needs?.(name) ?? [] });
  }
  return found.filter(({ name }) => !values.only.length || values.only.some((word) => name.includes(word)));
}

const within = (limit, promise) => {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no end within ${limit} ms`)), limit); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

// A wait that a failed scenario left behind ends with its page.
process.on("unhandledRejection", () => {});

const all = await scenarios();
if (values.list) {
  for (const { name } of all) console.log(name);
  process.exit(0);
}
const model = await new Model().listen(Number(values["model-port"]));
const words = values.start?.split(" ");
const server = words ? new Server(words, model) : new Remote(values.base, values.token);
// `NAME | REASON` a line: what fails, and may for now.
const excused = new Map(fs.readFileSync(path.join(HERE, "exceptions.txt"), "utf8").split("\n").filter((line) => line && !line.startsWith("#")).map((line) => line.split(" | ")));
let passed = 0, skipped = 0, excusedCount = 0;
const failed = [];
const browser = await launch(process.env.CHROMIUM ?? "/usr/bin/chromium");
try {
  await server.start();
  // What the server says that it does not have is skipped.
  const { features } = await server.get("/api/status"), { items } = await server.get("/api/ensembles");
  features.calls = !items.some((one) => one.calls === false);
  for (const { name, run, needs } of all) {
    const missing = needs.find((one) => (one === "own server" ? server.isRemote : !features[one]));
    if (missing) {
      skipped += 1;
      console.log(`skip  ${name}: the server has no ${missing}`);
      continue;
    }
    const visits = new Visits(browser, server), others = [];
    const scene = {
      server, model, features, open: visits.open.bind(visits),
      /// Leaves out faults that match.
      tolerate: (pattern) => visits.tolerated.push(pattern),
      /// Starts another server with the same command, which the scenario may kill.
      another: async () => { const one = new Server(words, model); others.push(one); return one.start(); },
      /// Lays a line to the server that the scenario may cut; pages are opened at its `end`.
      line: async () => { const one = await new Line().lay(server); others.push(one); return one; },
      /// Saves a picture of the page if pictures are asked for.
      shot: async (page, label) => { if (values.shots) await page.screenshot({ path: path.join(values.shots, `${label}.png`) }); },
    };
    const began = Date.now();
    const wrong = [];
    try {
      await within(LIMIT, run(scene));
    } catch (error) {
      wrong.push(error.stack ?? String(error));
      if (values.shots) for (const [at, page] of visits.pages.entries()) await page.screenshot({ path: path.join(values.shots, `failed-${name.replace(/\W+/g, "-")}-${at}.png`) }).catch(() => {});
    }
    wrong.push(...await visits.end());
    for (const one of others) await one.stop();
    const excuse = excused.get(name);
    if (excuse && wrong.length) {
      excusedCount += 1;
      console.log(`known ${name}: ${excuse}`);
      continue;
    }
    if (excuse) wrong.push("it is listed in exceptions.txt, and it passes");
    console.log(`${wrong.length ? "FAIL" : "ok  "}  ${name} (${Date.now() - began} ms)`);
    for (const line of wrong) console.log(`      ${line.replaceAll("\n", "\n      ")}`);
    if (wrong.length) failed.push(name); else passed += 1;
  }
} finally {
  await browser.close();
  await server.stop();
  model.close();
}
console.log(`${passed} passed, ${failed.length} failed, ${excusedCount} failed as listed, ${skipped} skipped`);
for (const name of failed) console.log(`failed: ${name}`);
process.exit(failed.length ? 1 : 0);
