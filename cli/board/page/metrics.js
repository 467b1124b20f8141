// SPDX-License-Identifier: MIT
// The counters of INFO pawl: their totals since the server started, and their rates.
import { decode, headOf } from "./bridge.js";
import { $, facts, number, put, show } from "./show.js";

const COUNTERS = ["put", "delivered", "acknowledged", "nacked", "lapsed", "died", "cancelled"];
const SPAN = 10000; // ms over which the rate is computed

let samples = []; // { at, counters } of the last SPAN ms, of one scope
let of = "";

// "a=1,b=2" as an object
const pairsOf = (text) => Object.fromEntries(text.split(",").map((pair) => pair.split("=")));

const countersOf = (pairs) => Object.fromEntries(COUNTERS.map((name) => [name, Number(pairs[`${name}_total`])]));

// { server, queues }: the counters of the server, and by key those of the queues of this database that have a line.
function parse(text, database) {
	const server = {};
	const queues = new Map();
	for (const line of text.split("\r\n")) {
		const [, name, value] = /^pawl_([^:]+):(.*)$/.exec(line) ?? [];
		if (/_total$/.test(name)) server[name] = value;
		if (!/^queue_/.test(name)) continue;
		const pairs = pairsOf(value);
		if (Number(pairs.db) === database) queues.set(decode(pairs.key), countersOf(pairs));
	}
	return { server: "put_total" in server ? countersOf(server) : null, queues };
}

// null if INFO has no line for one of the queues: then their sum is not known.
function countersIn({ server, queues }, scope, members) {
	if (scope.kind === "all") return server;
	const found = members.map(({ key }) => queues.get(key));
	if (found.length === 0 || found.includes(undefined)) return null;
	return Object.fromEntries(COUNTERS.map((name) => [name, found.reduce((sum, one) => sum + one[name], 0)]));
}

function remember(counters, scope, now) {
	const scopeName = `${scope.kind}\n${scope.name}`;
	const last = samples.at(-1);
	// A smaller counter than before means that the server was restarted.
	if (scopeName !== of || (last && COUNTERS.some((name) => counters[name] < last.counters[name]))) samples = [];
	of = scopeName;
	samples.push({ at: now, counters });
	samples = samples.filter(({ at }, i) => now - at <= SPAN || i >= samples.length - 2);
}

function rate(name, now) {
	const first = samples[0];
	const ms = now - first.at;
	const more = samples.at(-1).counters[name] - first.counters[name];
	if (ms <= 0 || more === 0) return "";
	const perSecond = (more * 1000) / ms;
	return ` (${perSecond < 10 ? perSecond.toFixed(1) : number(Math.round(perSecond))}/s)`;
}

export function fillMetrics(reply, scope, members, database, now) {
	const counters = reply?.error ? null : countersIn(parse(headOf(reply), database), scope, members);
	show($("metrics"), counters !== null);
	if (!counters) return;
	remember(counters, scope, now);
	facts(
		$("metrics-values"),
		COUNTERS.map((name) => [name, number(counters[name]) + rate(name, now)]),
	);
	put($("metrics-note"), scope.kind === "all" ? "all queues of all databases" : "");
}
