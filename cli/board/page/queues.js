// SPDX-License-Identifier: MIT
// The known queues, their numbers, and their groups of shards: jobs:{0}, jobs:{1}, …
import { mapOf } from "./bridge.js";

export const STATES = ["waiting", "due", "leased", "dead"];
const MOST = 1000; // queues that are shown
const REST = 10000; // ms between two searches, at most
const KEEP = 30000; // ms that a deleted queue stays in the list: an empty one is deleted

const queues = new Map(); // by key: { key, info, seen }; info is undefined before the first reply, null if there is no such key
// `left`: this search has found a queue for which there is no room. `tooMany`: this one has, or the one before.
const search = { cursor: "0", steps: 0, again: 0, found: false, left: false, tooMany: false, wrong: "" };

export const searched = search;
export const allKeys = () => [...queues.keys()];
export const unasked = () => [...queues.values()].some(({ info }) => info === undefined);

// The queues whose numbers are known.
export const allQueues = () =>
	[...queues.values()].filter(({ info }) => info !== undefined).sort((a, b) => byName(a.key, b.key));
export const queueOf = (key) => queues.get(key) ?? { key, info: null };

function byName(a, b) {
	return a.localeCompare(b, "en", { numeric: true }) || (a < b ? -1 : 1);
}

// The group of a shard: jobs:{*} for jobs:{3}; null for any other key.
export function groupName(key) {
	const parts = /^([^{]*)\{\d+\}(.*)$/s.exec(key);
	return parts && `${parts[1]}{*}${parts[2]}`;
}

export function shardsOf(name) {
	return allQueues().filter(({ key }) => groupName(key) === name);
}

// The entries of the list: { name, queues }, a group if it has several queues.
export function entries() {
	const groups = new Map();
	for (const queue of allQueues()) {
		const name = groupName(queue.key) ?? queue.key;
		groups.set(name, [...(groups.get(name) ?? []), queue]);
	}
	return [...groups].map(([name, members]) =>
		members.length > 1 ? { name, group: true, queues: members } : { name: members[0].key, queues: members },
	);
}

export function know(key, now) {
	if (!queues.has(key)) queues.set(key, { key, info: undefined, seen: now });
}

// The next step of the search, or null if it pauses.
export function searchStep(now) {
	return search.cursor === "0" && now < search.again ? null : ["queues", search.cursor];
}

// Returns whether the search continues at once.
export function searchReply(reply, now) {
	search.wrong = reply.error ?? "";
	if (reply.error) {
		search.cursor = "0";
		search.steps = 0;
		search.left = false;
		search.again = now + REST;
		return false;
	}
	for (const key of reply[1]) {
		if (queues.size < MOST || queues.has(key)) know(key, now);
		else search.left = search.tooMany = true;
	}
	search.cursor = reply[0];
	search.steps++;
	if (search.cursor !== "0") return true;
	search.found = true;
	search.tooMany = search.left;
	search.left = false;
	search.again = now + Math.min(search.steps * 1000, REST); // with few keys a search is one step
	search.steps = 0;
	return false;
}

export function infoReply(key, reply, now) {
	const queue = queues.get(key);
	if (!queue || reply?.error) return;
	queue.info = reply && mapOf(reply);
	if (reply) queue.seen = now;
	else if (now - queue.seen > KEEP) queues.delete(key);
}

const most = (list) => (list.length > 0 ? Math.max(...list) : null);
const least = (list) => (list.length > 0 ? Math.min(...list) : null);

// The numbers of several queues as those of one. Percentiles are those of the worst queue, an upper bound.
export function total(list) {
	const infos = list.map((queue) => queue.info).filter(Boolean);
	const of = (name) => infos.map((info) => info[name]).filter((value) => value !== null && value !== undefined);
	const sum = (name) => of(name).reduce((a, b) => a + b, 0);
	const numbers = { tasks: sum("tasks"), memory: sum("memory-bytes"), deliveries: sum("deliveries") };
	for (const state of STATES) numbers[state] = sum(state);
	numbers.oldest = least(of("oldest-due-ms"));
	for (const name of ["p50", "p90", "p99", "max"]) numbers[name] = most(of(`lateness-${name}-ms`));
	numbers.paused = of("paused").filter((value) => Number(value) > 0).length;
	numbers.maxdead = most(of("maxdead"));
	numbers.backoff = most(of("backoff-ms"));
	numbers.backoffMax = most(of("backoff-max-ms"));
	return numbers;
}
