// SPDX-License-Identifier: MIT
// Shared by the tests of pawl board and pawl top, beyond chromium.mjs: a command that serves a page, and that page.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

import { HANG, PHONE, screenshot, TABLET, withAddress } from "./chromium.mjs";

export { HANG, PHONE, screenshot, TABLET };
export const DESKTOP = { width: 1280, height: 800 };

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
		site.process = await start(process.env.PAGE_COMMAND, words, { ...process.env, ...env });
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

// Run `use` with the page of a site. `expected`: what the browser may complain of.
export function withPage(site, options, use) {
	if (!use) return withPage(site, {}, options);
	const { path = "", ...others } = options;
	return withAddress(site.url + path, { viewport: DESKTOP, allowed: (url) => url.startsWith(site.url), ...others }, use);
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

// A page that is `off` asks for nothing.
export async function expectSilence(page, off) {
	await polled(page);
	await off();
	await page.waitForFunction(() => document.body.dataset.asking === "no"); // what was on its way may come
	let asked = 0;
	page.on("request", () => asked++);
	await sleep(3000);
	assert.equal(asked, 0);
}

// A wrong token is refused; the right one is taken and remembered, and is not in the address. `expectShown` waits for the page's
// numbers, which are in `content`.
export async function expectToken(site, content, expectShown) {
	assert.match(site.token, /^[0-9a-f]{32}$/);
	await withPage(site, { expected: /401/ }, async (page) => {
		await page.waitForSelector("#login");
		assert.equal(await page.locator(content).isVisible(), false);
		await screenshot(page, "token");
		await page.fill("#token", "0123456789abcdef0123456789abcdef");
		await page.press("#token", "Enter");
		await expectText(page, "#login-wrong", "That token is not right.");
		await page.fill("#token", site.token);
		await page.click("#login button");
		await expectShown(page);
		await page.reload();
		await expectShown(page);
	});
	await withPage(site, { path: `#token=${site.token}` }, async (page) => {
		await expectShown(page);
		assert.equal(await page.evaluate(() => location.href.includes("token")), false);
	});
}
