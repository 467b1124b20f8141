// SPDX-License-Identifier: MIT
// What people type. Each function returns the value, or throws an error that says what is wrong with it.

const LAST_MOMENT = 2n ** 64n - 2n;
const TIMERS_MAX = 1 << 20;
const UNITS = { "": 1n, ms: 1n, s: 1000n, m: 60000n, h: 3600000n, d: 86400000n };

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const milliseconds = (time) => `${time} ms`;

class Refused extends Error {}

function refuse(what, text, allowed) {
	const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
	throw new Refused(text.trim() === "" ? `${what} is empty; ${allowed}` : `${what} “${shown}”: ${allowed}`);
}

function parseDelay(text, now) {
	const allowed =
		`expected a whole number of ms, as in 450, or with a unit, as in 2s, 5m, 1h, 1d; ` +
		`at most ${milliseconds(LAST_MOMENT - now)} from now`;
	const match = /^\s*(\d{1,30})\s*(ms|s|m|h|d)?\s*$/.exec(text);
	if (!match) refuse("Delay", text, allowed);
	const delay = BigInt(match[1]) * UNITS[match[2] ?? ""];
	if (delay > LAST_MOMENT - now) refuse("Delay", text, allowed);
	return delay;
}

function parseWhole(what, text, least, most) {
	const allowed = `expected a whole number from ${grouped(least)} to ${grouped(most)}`;
	if (!/^\s*\d{1,30}\s*$/.test(text)) refuse(what, text, allowed);
	const value = BigInt(text.trim());
	if (value < BigInt(least) || value > BigInt(most)) refuse(what, text, allowed);
	return value;
}
