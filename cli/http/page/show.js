// SPDX-License-Identifier: MIT
// Formatting and updating. Elements are kept, and changed only where something differs: so nothing flickers, and a
// selection or the focus stays.

export const $ = (id) => document.getElementById(id);

// Everything from the server enters the page here, as text.
export function put(element, text) {
	const value = String(text);
	if (element.textContent !== value) element.textContent = value;
	return element;
}

export function make(tag, properties = {}, ...children) {
	const element = Object.assign(document.createElement(tag), properties);
	element.append(...children);
	return element;
}

export function show(element, visible) {
	if (element.hidden === visible) element.hidden = !visible;
}

// Give `parent` one child for each of the items, in that order. A child is made once, and then updated.
export function sync(parent, items, keyOf, create, update) {
	const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
	let next = parent.firstElementChild;
	for (const item of items) {
		const key = keyOf(item);
		let child = old.get(key);
		if (child) old.delete(key);
		else {
			child = create(item);
			child.dataset.key = key;
		}
		if (child === next) next = next.nextElementSibling;
		else parent.insertBefore(child, next);
		update(child, item);
	}
	for (const child of old.values()) child.remove();
}

// <dt>name</dt><dd>value</dd>, several of them.
export function facts(list, pairs) {
	sync(
		list,
		pairs,
		([name]) => name,
		([name]) => make("div", {}, make("dt", { textContent: name }), make("dd")),
		(row, [, value]) => put(row.lastChild, value),
	);
}

const whole = new Intl.NumberFormat("en");
const brief = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });

export const number = (n) => (n < 1e7 ? whole.format(n) : brief.format(n));
export const count = (n, word) => `${whole.format(n)} ${word}${n === 1 ? "" : "s"}`;

export function bytes(n) {
	if (n === 1) return "1 byte";
	const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
	let unit = 0;
	while (n >= 1024 && unit + 1 < units.length) (n /= 1024), unit++;
	return `${n < 10 && unit > 0 ? n.toFixed(1) : whole.format(Math.round(n))} ${units[unit]}`;
}

// 0 ms, 950 ms, 12 s, 3 min 5 s, 2 h 10 min, 5 d 3 h
export function duration(ms) {
	if (ms < 1000) return `${Math.round(ms)} ms`;
	const s = Math.floor(ms / 1000);
	if (s < 10) return `${(ms / 1000).toFixed(1)} s`;
	if (s < 60) return `${s} s`;
	const parts = [
		[Math.floor(s / 86400), "d"],
		[Math.floor(s / 3600) % 24, "h"],
		[Math.floor(s / 60) % 60, "min"],
		[s % 60, "s"],
	];
	const first = parts.findIndex(([n]) => n > 0);
	return parts
		.slice(first, first + 2)
		.filter(([n]) => n > 0)
		.map(([n, unit]) => `${whole.format(n)} ${unit}`)
		.join(" ");
}

// In whole seconds, since it is updated once a second.
export function relative(ms, now) {
	const apart = Math.abs(ms - now);
	if (apart < 1000) return "now";
	const text = duration(Math.floor(apart / 1000) * 1000).replace(".0 s", " s");
	return ms > now ? `in ${text}` : `${text} ago`;
}

const two = (n) => String(n).padStart(2, "0");

export function clock(ms) {
	const at = new Date(ms);
	return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function minute(ms) {
	return clock(ms).slice(0, 5);
}

// The time of day, with the date if it is not today; with milliseconds if `exactly`.
export function moment(ms, now, exactly = false) {
	const at = new Date(ms);
	if (Number.isNaN(at.getTime())) return `${whole.format(ms)} ms since 1970`;
	const time = clock(ms) + (exactly ? "." + String(at.getMilliseconds()).padStart(3, "0") : "");
	if (at.toDateString() === new Date(now).toDateString()) return time;
	return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

let hide;
export function notice(text, wrong = false) {
	const element = put($("notice"), text);
	element.classList.toggle("wrong", wrong);
	element.hidden = false;
	clearTimeout(hide);
	hide = setTimeout(() => (element.hidden = true), wrong ? 12000 : 6000);
}
