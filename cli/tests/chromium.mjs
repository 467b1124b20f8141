// SPDX-License-Identifier: MIT
// A page in a real browser, for the tests of all of pawl's pages. If the browser or its driver is missing, the error says how to
// install it.
//
//	node --test FILE, with these in the environment:
//	PAGE_COMMAND    the pawl command
//	PAGE_ARTEFACTS  a directory for screenshots
//	PAGE_MODULES    the directory that has playwright-core
//	PAGE_HANG       ms after which something counts as hung, 120000 unless told
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after } from "node:test";

const CHROMIUM = "/usr/bin/chromium";
const { PAGE_ARTEFACTS, PAGE_MODULES } = process.env;

export const HANG = Number(process.env.PAGE_HANG ?? 120000); // however slow the machine is
export const TABLET = { width: 1024, height: 768 };
export const PHONE = { width: 390, height: 844 };

function driver() {
	try {
		return createRequire(join(PAGE_MODULES, "node_modules", "x.js"))("playwright-core").chromium;
	} catch (error) {
		if (error.code !== "MODULE_NOT_FOUND") throw error;
		throw new Error(`playwright-core is missing in ${PAGE_MODULES}; scripts/bootstrap installs it into build/node`);
	}
}

async function launch() {
	const chromium = driver();
	if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is missing; scripts/bootstrap installs it, as does apt-get install chromium`);
	return chromium.launch({
		executablePath: CHROMIUM,
		args: ["--disable-lcd-text", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
		timeout: HANG,
	});
}

const browser = await launch();
after(() => browser.close());
mkdirSync(PAGE_ARTEFACTS, { recursive: true });

// Run `use` with a page of its own at this address. An error in the page, or a request to an address that is not `allowed`,
// fails the test; what the browser says of answers that `expected` matches does not.
export async function withAddress(url, { allowed, expected = /^$/, ...options }, use) {
	const context = await browser.newContext(options);
	const page = await context.newPage();
	const wrong = [];
	page.setDefaultTimeout(HANG);
	page.on("pageerror", (error) => wrong.push(error.stack));
	page.on("console", (message) => message.type() === "error" && !expected.test(message.text()) && wrong.push(message.text()));
	page.on("dialog", (dialog) => wrong.push(`a dialog: ${dialog.message()}`));
	page.on("request", (request) => allowed(request.url()) || wrong.push(`requested ${request.url()}`));
	await page.goto(url);
	try {
		await use(page);
	} finally {
		await context.close();
	}
	assert.deepEqual(wrong, []);
}

export async function screenshot(page, name, options = {}) {
	await page.screenshot({ path: join(PAGE_ARTEFACTS, `${name}.png`), ...options });
}
