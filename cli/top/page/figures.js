// SPDX-License-Identifier: MIT
// Figures from several snapshots of a service: rates, percentiles, and how long a duration is in words.
import { duration } from "./show.js";

const MINUTE = 60000;
const GAP = 15000; // ms without a snapshot after which the earlier ones are of no use

// Snapshots of the last minute, the oldest first: { snapshot, taken }, in ms.
let history = [];

const follows = ({ snapshot: before, taken: then }, { snapshot, taken }) =>
	before.process === snapshot.process && before.name === snapshot.name && before.armed <= snapshot.armed && taken - then < GAP;

// Returns false if it was added before.
export function addSnapshot(snapshot, taken) {
	const last = history.at(-1);
	if (last?.taken === taken) return false;
	if (last && !follows(last, { snapshot, taken })) history = [];
	history.push({ snapshot, taken });
	while (history.length > 1 && taken - history[1].taken >= MINUTE) history.shift();
	return true;
}

// { now, before, minute, since, span }: before and minute are null with one snapshot only; since and span are in ms.
export function latest() {
	const [now, before, oldest] = [history.at(-1), history.at(-2), history[0]];
	return {
		now: now.snapshot,
		before: before?.snapshot ?? null,
		minute: before ? oldest.snapshot : null,
		since: before ? now.taken - before.taken : 0,
		span: now.taken - oldest.taken,
	};
}

export const rate = (now, before, ms) => (ms > 0 && now >= before ? ((now - before) * 1000) / ms : 0);

// How many were counted in each cell since `before`.
function countedSince(cells, before) {
	const earlier = new Map(before?.cells);
	return cells.cells.map(([end, count]) => [end, count - Math.min(earlier.get(end) ?? 0, count)]);
}

// The durations that these shares of the runs since `before` do not exceed, rounded up by less than 1/64; null: there were none.
export function percentiles(cells, before, percents) {
	const counted = countedSince(cells, before);
	const all = counted.reduce((sum, [, count]) => sum + count, 0);
	return percents.map((percent) => {
		let seen = 0;
		let last = null;
		for (const [end, count] of counted) {
			seen += count;
			if (count > 0) last = end;
			if (seen > 0 && seen >= (all * percent) / 100) break;
		}
		return last === null ? null : Math.min(last, cells.max_ns);
	});
}

const UNITS = [
	["ns", 1],
	["µs", 1e3],
	["ms", 1e6],
	["s", 1e9],
	["min", 60e9],
	["h", 3600e9],
	["day", 86400e9],
];

// Three digits: 500 ns, 1.25 µs, 31.2 ms, 4.00 s; from a minute on as clocks have it.
export function lasting(ns) {
	if (ns === null) return "–";
	if (ns >= 60e9) return duration(ns / 1e6);
	const [unit, size] = UNITS.slice(0, 4).findLast(([, n]) => ns >= n) ?? UNITS[0];
	return size === 1 ? `${ns} ns` : `${Math.min(ns / size, 999).toPrecision(3)} ${unit}`;
}

// A bound, which is a whole number of some unit: 10 ms, 1 h.
export function bound(ns) {
	const [unit, size] = UNITS.findLast(([, n]) => ns >= n && ns % n === 0) ?? UNITS[0];
	return `${ns / size} ${unit}`;
}
