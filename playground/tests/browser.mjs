// SPDX-License-Identifier: MIT
// Shared by the tests in the browser: a page in a real browser, and what the native library says.
//
//	node --test FILE, with these in the environment:
//	PLAYGROUND_PAGE       the page that is tested
//	PLAYGROUND_REPLAY     replay.c, built
//	PLAYGROUND_COMMAND    the pawl command
//	PLAYGROUND_ARTEFACTS  a directory for screenshots
//	PLAYGROUND_MODULES    the directory that has playwright-core
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { pathToFileURL } from "node:url";

import { launchChromium } from "../../cli/tests/http/chromium.mjs";

const { PLAYGROUND_PAGE, PLAYGROUND_REPLAY, PLAYGROUND_COMMAND, PLAYGROUND_ARTEFACTS, PLAYGROUND_MODULES } =
	process.env;

export const HANG = 120000; // ms after which something counts as hung, however slow the machine is
export const DESKTOP = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };
export const STORIES = ["first-wheel", "overflow", "demotions", "order", "touch", "thousand", "heap", "ahead", "million"];

const browser = await launchChromium(PLAYGROUND_MODULES, HANG);
after(() => browser.close());

mkdirSync(PLAYGROUND_ARTEFACTS, { recursive: true });

// Run `use` with an empty page of its own, for pictures.
export async function withSvg(use, options = {}) {
	const context = await browser.newContext(options);
	try {
		const page = await context.newPage();
		page.setDefaultTimeout(HANG);
		await use(page);
	} finally {
		await context.close();
	}
}

// Run `use` with a page of its own. An error in the page, or a request to anywhere, fails the test.
export async function withPage(use, { file = PLAYGROUND_PAGE, viewport = DESKTOP, ...options } = {}) {
	const context = await browser.newContext({ viewport, ...options });
	const page = await context.newPage();
	const wrong = [];
	page.setDefaultTimeout(HANG);
	page.on("pageerror", (error) => wrong.push(error.stack));
	page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
	page.on(
		"request",
		(request) => /^(file|blob|data):/.test(request.url()) || wrong.push(`requested ${request.url()}`),
	);
	await page.goto(pathToFileURL(file).href);
	await page.waitForFunction(() => window.playground);
	try {
		await use(page);
	} finally {
		await context.close();
	}
	assert.deepEqual(wrong, []);
}

// The contrast of two colours, as WCAG has it.
function luminance(hex) {
	const [r, g, b] = [1, 3, 5]
		.map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
		.map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a, b) {
	const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
	return (high + 0.05) / (low + 0.05);
}

// Wait until the page has carried out all operations.
export async function idle(page) {
	await page.waitForFunction(() => !playground.session.busy);
}

// Wait until the dots also stand still.
export async function still(page) {
	await idle(page);
	await page.waitForFunction(() => !playground.picture.moving(performance.now()));
}

export async function screenshot(page, name, options = {}) {
	await still(page);
	await page.screenshot({ path: join(PLAYGROUND_ARTEFACTS, `${name}.png`), ...options });
}

// The whole state, as far as it can be compared: places, numbers, operations.
export function stateOf(page) {
	return page.evaluate(() => {
		const { session } = playground;
		const { wheel } = session;
		const waiting = session.crowded ? [] : wheel.each(2048);
		const places = Object.fromEntries(
			waiting
				.map(({ id }) => [id, wheel.place(id)])
				.map(([id, p]) => [id, [p.level, p.slot, String(p.opens)]]),
		);
		const slots = {};
		wheel.levels.forEach((_, level) =>
			wheel.counts(level).forEach((count, slot) => count && (slots[`${level}/${slot}`] = count)),
		);
		return {
			now: String(wheel.now),
			next: String(wheel.next),
			places,
			slots,
			numbers: wheel.numbers,
			broken: session.broken,
			target: session.target,
			options: { ...session.options, tick: String(session.options.tick) },
			ops: session.ops.map((op) =>
				Object.fromEntries(Object.entries(op).map(([k, v]) => [k, typeof v === "bigint" ? String(v) : v])),
			),
		};
	});
}

function lineOf(op) {
	switch (op.op) {
		case "arm":
		case "touch":
			return `${op.op} ${op.id} ${op.deadline}`;
		case "cancel":
			return `cancel ${op.id}`;
		case "fill":
			return `fill ${op.first} ${op.count} ${op.span} ${op.seed}`;
		case "advance":
			return `advance ${op.to}`;
		case "ahead":
			return `ahead ${op.movesATick}`;
	}
	throw new Error(`unknown operation ${op.op}`);
}

// The native library's state after each of the operations.
export function natively({ options, ops }) {
	const wheel = `wheel ${options.tick} ${options.wheelSize} ${options.chains} ${options.capacity}`;
	const input = [wheel, ...ops.map(lineOf), ""].join("\n");
	return JSON.parse(execFileSync(PLAYGROUND_REPLAY, { input, maxBuffer: 1 << 28, timeout: HANG }));
}

// The page's state is the native library's after the same operations.
export function expectNative(state, native) {
	assert.equal(state.now, native.now);
	assert.equal(state.next, native.next);
	assert.equal(state.numbers.pending, native.pending);
	if (native.places) assert.deepEqual(state.places, native.places);
	const slots = native.slots ?? countBySlot(native.places);
	assert.deepEqual(state.slots, slots);
}

function countBySlot(places) {
	const slots = {};
	for (const [level, slot] of Object.values(places))
		slots[`${level}/${slot}`] = (slots[`${level}/${slot}`] ?? 0) + 1;
	return slots;
}

// The words of `pawl explain` on these delays: its sentences without the drawings, in one line.
export function explained(...delays) {
	const text = execFileSync(PLAYGROUND_COMMAND, ["explain", ...delays], { encoding: "utf8", timeout: HANG });
	return text
		.split("\n")
		.filter((line) => !/^\s+level \d+ /.test(line))
		.join(" ")
		.replace(/\s+/g, " ");
}
