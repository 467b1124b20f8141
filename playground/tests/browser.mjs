// SPDX-License-Identifier: MIT
// Shared by the tests in the browser, beyond chromium.mjs: the page, and what the native library says. In the environment:
//
//	PLAYGROUND_PAGE       the page that is tested
//	PLAYGROUND_REPLAY     replay.c, built
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";

import { HANG, PHONE, TABLET, screenshot as shot, withAddress } from "../../cli/tests/chromium.mjs";

const { PLAYGROUND_PAGE, PLAYGROUND_REPLAY, PAGE_COMMAND } = process.env;

export { HANG, PHONE, TABLET };
export const DESKTOP = { width: 1440, height: 900 };
export const STORIES = ["first-wheel", "overflow", "demotions", "order", "touch", "thousand", "heap", "ahead", "million"];

// Run `use` with an empty page of its own, for pictures.
export const withSvg = (options, use) => withAddress("about:blank", { allowed: () => true, ...options }, use);

// Run `use` with the page. It may request nothing.
export function withPage(options, use) {
	if (!use) return withPage({}, options);
	const { file = PLAYGROUND_PAGE, ...others } = options;
	return withAddress(pathToFileURL(file).href, { viewport: DESKTOP, allowed: (url) => /^(file|blob|data):/.test(url), ...others }, async (page) => {
		await page.waitForFunction(() => window.playground);
		await use(page);
	});
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
	await shot(page, name, options);
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
	const text = execFileSync(PAGE_COMMAND, ["explain", ...delays], { encoding: "utf8", timeout: HANG });
	return text
		.split("\n")
		.filter((line) => !/^\s+level \d+ /.test(line))
		.join(" ")
		.replace(/\s+/g, " ");
}
