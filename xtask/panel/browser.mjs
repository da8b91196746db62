// Pages that fail a scenario if anything of another origin is loaded, a policy is violated, a dialog opens or a script fails.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { LIMIT } from "./waiting.mjs";

const packages = createRequire(path.join(process.env.PANEL_PACKAGES ?? ".", "package.json"));
const { chromium } = packages("playwright-core");
const axe = fs.readFileSync(packages.resolve("axe-core/axe.min.js"), "utf8");

export const launch = (executable) => chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });

/// Runs in every page before its own scripts.
function watch() {
  window.__violations = [];
  document.addEventListener("securitypolicyviolation", (event) => {
    window.__violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
  });
}

/// The pages of one scenario.
export class Visits {
  constructor(browser, server) {
    Object.assign(this, { browser, server, faults: [], tolerated: [], pages: [], contexts: [] });
  }

  /// Opens the panel at a hash such as `#/tools`, in a browser of its own unless `beside` is a page.
  async open(hash = "", { width = 1280, height = 800, theme = "light", locale = "en-US", beside, server = this.server } = {}) {
    const context = beside?.context() ?? await this.browser.newContext({ viewport: { width, height }, colorScheme: theme, locale, timezoneId: "UTC", reducedMotion: "reduce", acceptDownloads: true });
    if (!beside) this.contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(LIMIT);
    await page.addInitScript(watch);
    this.#guard(page, server);
    if (!beside) await page.goto(`${server.base}/?token=${encodeURIComponent(server.token)}`, { waitUntil: "commit" });
    await page.goto(`${server.base}/${hash}`);
    return page;
  }

  #guard(page, server) {
    const at = this.pages.push(page);
    const fault = (text) => this.faults.push(`page ${at}: ${text}`);
    page.on("request", (request) => {
      const url = request.url();
      if (!/^(blob|data|about):/.test(url) && !url.startsWith(`${server.base}/`)) fault(`a request to ${url}`);
    });
    page.on("dialog", (dialog) => {
      // A question before leaving the page is the browser's own.
      if (dialog.type() !== "beforeunload") fault(`a dialog: ${dialog.message()}`);
      dialog.accept().catch(() => {});
    });
    page.on("pageerror", (error) => fault(`an error: ${error.stack ?? error}`));
    page.on("popup", (popup) => fault(`a window: ${popup.url()}`));
    page.on("console", (message) => {
      // A refused request is the scenario's business; the network of a killed server too.
      if (message.type() === "error" && !/Failed to load resource|net::ERR_/.test(message.text())) fault(`console: ${message.text()}`);
    });
  }

  /// Closes all pages and returns what was wrong with them.
  async end() {
    for (const page of this.pages) {
      if (page.isClosed()) continue;
      const state = await page.evaluate(() => ({ violations: window.__violations, hacked: window.HACKED })).catch(() => ({}));
      for (const one of state.violations ?? []) this.faults.push(`a violation of the policy: ${one}`);
      if (state.hacked) this.faults.push("text of others was executed");
    }
    await Promise.all(this.contexts.map((context) => context.close()));
    return this.faults.filter((line) => !this.tolerated.some((pattern) => pattern.test(line)));
  }
}

/// Returns the violations of WCAG 2.2 AA on the page, one line each.
export async function accessibility(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
  return found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary.split("\n").slice(1).join(" ").trim()}`));
}

/// Returns the elements that reach beyond the right edge of the page, unless something around them scrolls.
export function overflowing(page) {
  return page.evaluate(() => {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    return [...document.querySelectorAll("body *")].filter((node) => node.getBoundingClientRect().right > root.clientWidth + 1)
      .slice(0, 5).map((node) => `${node.tagName}.${node.getAttribute("class")} ${Math.round(node.getBoundingClientRect().right)}`);
  });
}
