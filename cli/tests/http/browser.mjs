// SPDX-License-Identifier: MIT
// Shared by the tests of pawl's pages: a command that serves one, and the page in a real browser.
//
//	node --test FILE, with these in the environment:
//	PAGE_COMMAND    the pawl command
//	PAGE_ARTEFACTS  a directory for screenshots
//	PAGE_MODULES    the directory that has playwright-core
//	PAGE_HANG       ms after which something counts as hung, 120000 unless told
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { launchChromium } from "./chromium.mjs";

const { PAGE_COMMAND, PAGE_ARTEFACTS, PAGE_MODULES } = process.env;

export const HANG = Number(process.env.PAGE_HANG ?? 120000); // however slow the machine is
export const DESKTOP = { width: 1280, height: 800 };
export const TABLET = { width: 1024, height: 768 };
export const PHONE = { width: 390, height: 844 };

const browser = await launchChromium(PAGE_MODULES, HANG);
after(() => browser.close());
mkdirSync(PAGE_ARTEFACTS, { recursive: true });

export async function until(condition, what) {
	const end = Date.now() + HANG;
	while (!(await condition())) {
		assert.ok(Date.now() < end, `still not so: ${what}`);
		await sleep(20);
	}
}

const started = new Set();
process.once("exit", () => started.forEach((child) => child.kill("SIGKILL")));

// Start a command; resolves to what it says first. One that a failed test leaves behind does not keep node running, and
// is ended.
export async function start(command, words, env = process.env) {
	const child = spawn(command, words, { env, stdio: ["pipe", "pipe", "inherit"] });
	started.add(child);
	child.gone = new Promise((done) => child.once("exit", done));
	child.said = await new Promise((done) => child.stdout.once("data", (data) => done(String(data))));
	for (const handle of [child, child.stdin, child.stdout]) handle.unref();
	return child;
}

export async function end(child, signal) {
	child.ref();
	child.kill(signal);
	return child.gone;
}

// A command that serves a page: `pawl board ...` or `pawl top --page ...`.
export class Site {
	static async start(words, env = {}) {
		const site = new Site();
		site.process = await start(PAGE_COMMAND, words, { ...process.env, ...env });
		site.said = site.process.said;
		site.port = Number(/:(\d+)\//.exec(site.said)[1]);
		site.token = /#token=(\w+)/.exec(site.said)?.[1];
		site.url = `http://127.0.0.1:${site.port}/`;
		return site;
	}

	async stop() {
		assert.equal(await end(this.process, "SIGTERM"), 0);
	}
}

// Run `use` with a page of its own. An error in the page, or a request to anywhere else, fails the test; what the
// browser says of answers that `expected` matches does not.
export async function withPage(site, use, { path = "", viewport = DESKTOP, expected = /^$/, ...options } = {}) {
	const context = await browser.newContext({ viewport, ...options });
	const page = await context.newPage();
	const wrong = [];
	page.setDefaultTimeout(HANG);
	page.on("pageerror", (error) => wrong.push(error.stack));
	page.on("console", (message) => message.type() === "error" && !expected.test(message.text()) && wrong.push(message.text()));
	page.on("dialog", (dialog) => wrong.push(`a dialog: ${dialog.message()}`));
	page.on("request", (request) => request.url().startsWith(site.url) || wrong.push(`requested ${request.url()}`));
	await page.goto(site.url + path);
	try {
		await use(page);
	} finally {
		await context.close();
	}
	assert.deepEqual(wrong, []);
}

// Until the element has this text; a regular expression, or all of it.
export async function expectText(page, selector, text) {
	try {
		await page.waitForFunction(
			([where, wanted, flags]) => {
				const element = document.querySelector(where);
				const found = element?.checkVisibility() ? element.textContent.trim() : null;
				return found !== null && (flags === null ? found === wanted : new RegExp(wanted, flags).test(found));
			},
			text instanceof RegExp ? [selector, text.source, text.flags] : [selector, text, null],
		);
	} catch (error) {
		const found = await page.locator(selector).allTextContents();
		throw new Error(`${selector} is ${JSON.stringify(found)}; expected ${text}`, { cause: error });
	}
}

export const hidden = (page, selector) => page.waitForSelector(selector, { state: "hidden" });

// Until so many answers have come: what is shown is not older than the first of them.
export async function polled(page, times = 2) {
	for (let i = 0; i < times; i++) await page.waitForResponse((response) => /\/(api|snapshot\.json)$/.test(response.url()));
}

// No word is outside of what can be seen.
export async function expectNoSidewaysScrolling(page) {
	assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
}

// A tab goes into the background, as the browser does it.
export const setHidden = (page, value) =>
	page.evaluate((hidden) => {
		Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
		document.dispatchEvent(new Event("visibilitychange"));
	}, value);

export async function screenshot(page, name, options = {}) {
	await page.screenshot({ path: join(PAGE_ARTEFACTS, `${name}.png`), ...options });
}
