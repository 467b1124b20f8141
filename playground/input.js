// SPDX-License-Identifier: MIT
// Numbers as the page writes them, and as people type them. Every number is grouped, 20,480, and every time is in ms.
// A function that parses a field returns its value, or throws an error that says what is wrong.

const LAST_MOMENT = 2n ** 64n - 2n;
const TIMERS_MAX = 1 << 20;
const UNITS = { "": 1n, ms: 1n, s: 1000n, m: 60000n, h: 3600000n, d: 86400000n };
const WHOLE = String.raw`\d{1,30}|\d{1,3}(?:,\d{3}){1,10}`; // 20480 or 20,480

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const counted = (number, word) => `${grouped(number)} ${word}${number === 1 ? "" : "s"}`; // 1 timer, 2,000 timers
const milliseconds = (time) => `${grouped(time)} ms`;
const groupedIn = (text) => text.replace(/\d{4,}/g, grouped);

class Refused extends Error {}

function refuse(what, text, allowed) {
	const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
	throw new Refused(text.trim() === "" ? `${what} is empty; ${allowed}` : `${what} “${shown}”: ${allowed}`);
}

const wholeOf = (digits) => BigInt(digits.replaceAll(",", ""));
const DELAY = new RegExp(`^\\s*(${WHOLE})(?:\\.(\\d{1,30}))?\\s*(ms|s|m|h|d)?\\s*$`);
const COUNT = new RegExp(`^\\s*(${WHOLE})\\s*$`);

function parseDelay(text, now) {
	const allowed =
		`expected a whole number of ms, as in 450, or a number with a unit, as in 1.5s, 5m, 1h, 1d; ` +
		`at most ${milliseconds(LAST_MOMENT - now)} from now`;
	const match = DELAY.exec(text);
	if (!match) refuse("Delay", text, allowed);
	const [, whole, decimals = "", unit = ""] = match;
	const scaled = wholeOf(whole + decimals) * UNITS[unit];
	const scale = 10n ** BigInt(decimals.length);
	if (scaled % scale !== 0n || scaled / scale > LAST_MOMENT - now) refuse("Delay", text, allowed);
	return scaled / scale;
}

function parseWhole(what, text, least, most) {
	const allowed = `expected a whole number from ${grouped(least)} to ${grouped(most)}`;
	const match = COUNT.exec(text);
	if (!match) refuse(what, text, allowed);
	const value = wholeOf(match[1]);
	if (value < BigInt(least) || value > BigInt(most)) refuse(what, text, allowed);
	return value;
}
