// SPDX-License-Identifier: MIT
// Each section of the page, filled from snapshots. All texts of the program enter the page by put(), as text.
import { bound, lasting, percentiles, rate } from "./figures.js";
import { $, count, facts, make, number, put, show, sync } from "./show.js";
import { plain } from "./text.js";

const ROWS = 12; // functions that are shown unless all are asked for
const SLOWEST = 5;

let sortedBy = "pending";
let all = false;

const nameOf = (snapshot, address) => (address === "" ? "(others)" : plain(snapshot.names[address] ?? address));
const perSecond = (n) => (n === null ? "–" : number(n < 10 ? Math.round(n * 10) / 10 : Math.round(n)));

// A row whose first cell is the name of something, and as many cells with numbers.
function newRow(numbers, wide = []) {
	const row = make("tr", {}, make("th", { className: "name", scope: "row" }));
	for (let i = 0; i < numbers; i++) row.append(make("td", { className: wide.includes(i) ? "number wide" : "number" }));
	return row;
}

function fillRow(row, texts) {
	texts.forEach((text, i) => put(row.children[i], text));
}

export function fillTiles({ now, before, since }) {
	const each = (name) => (before ? perSecond(rate(now[name], before[name], since)) : "–");
	const tiles = [
		["pending", "pending", number(now.pending), ""],
		["ran", "ran a second", each("ran"), `${number(now.ran)} in all`],
		["armed", "armed a second", each("armed"), `${number(now.armed)} in all`],
		["cancelled", "cancelled a second", each("cancelled"), `${number(now.cancelled)} in all`],
	];
	sync(
		$("tiles"),
		tiles,
		([key]) => key,
		([key, label]) => {
			const tile = make("div", { className: "card tile" }, make("b"), make("span", { textContent: label }), make("small"));
			tile.dataset.tile = key;
			return tile;
		},
		(tile, [, , value, note]) => {
			put(tile.children[0], value);
			put(tile.children[2], note);
		},
	);
}

const dueLabel = (due, i) =>
	due[i][0] === null ? `beyond ${bound(due[i - 1][0])}` : due[i][0] === 0 ? "due, not run yet" : `within ${bound(due[i][0])}`;

// A number of tasks and, if it is estimated, how far it may be from the truth.
const estimate = (now, tasks, margin) => (now.sampled < now.pending ? `${number(tasks)} \u00b1 ${number(margin)}` : number(tasks));

export function fillDue({ now }) {
	const most = Math.max(...now.due.map(([, tasks]) => tasks), 1);
	sync(
		$("due-table").tBodies[0],
		now.due.map((cell, i) => [dueLabel(now.due, i), ...cell]),
		([label]) => label,
		([label]) =>
			make("tr", {}, make("th", { scope: "row", textContent: label }), make("td", { className: "number" }), make("td", {}, make("div", { className: "fill" }))),
		(row, [, within, tasks, margin]) => {
			put(row.children[1], estimate(now, tasks, margin)).classList.toggle("zero", tasks === 0);
			row.classList.toggle("overdue", within === 0 && tasks > 0);
			const width = `${(tasks / most) * 100}%`;
			const fill = row.children[2].firstChild;
			if (fill.style.width !== width) fill.style.width = width;
		},
	);
	put($("due-note"), now.sampled < now.pending ? `estimated from ${number(now.sampled)} of ${count(now.pending, "task")}` : count(now.pending, "task"));
}

function fillTimes(table, now, before, minute, span) {
	const whole = Math.round(span / 1000) * 1e9; // seconds, in ns
	sync(
		table.tBodies[0],
		[
			["now", "now", before ? percentiles(now, before, [50, 99, 100]) : [null, null, null]],
			["minute", before ? `the last ${bound(whole)}` : "the last minute", before ? percentiles(now, minute, [50, 99, 100]) : [null, null, null]],
			["ever", "in all", percentiles(now, null, [50, 99, 100])],
		],
		([key]) => key,
		() => newRow(3),
		(row, [, label, values]) => fillRow(row, [label, ...values.map(lasting)]),
	);
}

export function fillLateness({ now, before, minute, span }) {
	fillTimes($("lateness-table"), now.lateness, before?.lateness, minute?.lateness, span);
	fillTimes($("took-table"), now.run_time, before?.run_time, minute?.run_time, span);
}

// Functions with what is derived from two snapshots.
function functionsOf({ now, before, since }) {
	const earlier = new Map(before?.functions.map((f) => [f.function, f]));
	return now.functions.map((f) => ({
		...f,
		name: nameOf(now, f.function),
		rate: before ? rate(f.runs, earlier.get(f.function)?.runs ?? 0, since) : null,
		mean: f.runs > 0 ? f.total_ns / f.runs : null,
		longest: f.runs > 0 ? f.longest_ns : null,
	}));
}

export function fillFunctions(view) {
	const functions = functionsOf(view);
	functions.sort((a, b) => (b[sortedBy] ?? -1) - (a[sortedBy] ?? -1) || b.runs - a.runs || (a.name < b.name ? -1 : 1));
	sync(
		$("function-table").tBodies[0],
		all ? functions : functions.slice(0, ROWS),
		(f) => f.function,
		() => newRow(4, [2]),
		(row, f) => fillRow(row, [f.name, estimate(view.now, f.pending, f.margin), perSecond(f.rate), lasting(f.mean === null ? null : Math.round(f.mean)), lasting(f.longest)]),
	);
	show($("function-table"), functions.length > 0);
	show($("no-functions"), functions.length === 0);
	show($("all-functions"), functions.length > ROWS);
	put($("all-functions"), all ? `Show the first ${ROWS}` : `Show all ${number(functions.length)}`);
	put($("functions-note"), view.now.sampled < view.now.pending ? "pending is an estimate" : "");
	fillSlowest(view.now, functions);
}

function fillSlowest(now, functions) {
	const slowest = functions.filter((f) => f.longest !== null).sort((a, b) => b.longest - a.longest);
	sync(
		$("slowest-table").tBodies[0],
		slowest.slice(0, SLOWEST),
		(f) => f.function,
		() => newRow(1),
		(row, f) => fillRow(row, [f.name, lasting(f.longest)]),
	);
	show($("slowest-table"), slowest.length > 0);
	show($("no-slowest"), slowest.length === 0);
	show($("slowest-ever"), now.slowest.function !== "");
	put($("slowest-ever"), `Since it opened: ${nameOf(now, now.slowest.function)}, ${lasting(now.slowest.took_ns)}`);
}

export function fillLatest({ now }) {
	sync(
		$("latest-table").tBodies[0],
		now.latest.map((run, i) => [i, run]),
		([i]) => String(i),
		() => newRow(4, [3]),
		(row, [, run]) =>
			fillRow(row, [
				nameOf(now, run.function),
				lasting(Math.max(now.now_ns - run.start_ns, 0)),
				lasting(Math.max(run.start_ns - run.deadline_ns, 0)),
				lasting(run.took_ns),
				String(run.worker),
			]),
	);
	show($("latest-table"), now.latest.length > 0);
	show($("no-latest"), now.latest.length === 0);
}

function newPurgatory() {
	const head = make("tr");
	for (const [text, className] of [["Key", "name"], ["Waiting", ""], ["One of its operations", "operation"]]) head.append(make("th", { textContent: text, className }));
	const table = make("table", { className: "keys" }, make("thead", {}, head), make("tbody"));
	return make("section", { className: "card" }, make("h2", {}, "Purgatory ", make("small")), table, make("p", { className: "note" }));
}

function fillPurgatory(section, purgatory) {
	const completed = purgatory.completed_by_try + purgatory.completed_by_check + purgatory.completed_by_call;
	const [title, table, note] = section.children;
	put(
		title.lastChild,
		`${count(purgatory.delayed, "operation")}, watched ${count(purgatory.watched, "time")}; completed ${number(completed)}, expired ${number(purgatory.expired)}`,
	);
	sync(
		table.tBodies[0],
		purgatory.keys,
		(key) => key.hash,
		() => make("tr", {}, make("th", { className: "name", scope: "row" }), make("td", { className: "number" }), make("td", { className: "operation" })),
		(row, key) => fillRow(row, [plain(key.hash), number(key.waiting), plain(key.operation ?? "")]),
	);
	show(table, purgatory.keys.length > 0);
	show(note, purgatory.keys.length === 0);
	put(note, "No operation waits.");
}

export function fillPurgatories({ now }) {
	sync($("purgatories"), now.purgatories.map((purgatory, i) => [i, purgatory]), ([i]) => String(i), newPurgatory, (section, [, purgatory]) => fillPurgatory(section, purgatory));
}

export function fillFacts({ now, before, since }) {
	const each = (name) => (before ? ` (${perSecond(rate(now[name], before[name], since))}/s)` : "");
	facts($("facts"), [
		["Workers", now.workers > 0 ? number(now.workers) : "none: polled"],
		["Shards", number(now.shards)],
		["Tick", bound(now.tick_ns)],
		["Armed", number(now.armed)],
		["Ran", number(now.ran)],
		["Cancelled", number(now.cancelled)],
		["Dropped", number(now.dropped)],
		["Wake-ups", number(now.wakeups) + each("wakeups")],
		["Empty wake-ups", number(now.empty_wakeups) + each("empty_wakeups")],
		["pawl", plain(now.pawl)],
	]);
}

// `changed` is called when another order is chosen, or all are to be shown.
export function prepareFunctions(changed) {
	for (const button of document.querySelectorAll("[data-sort]"))
		button.addEventListener("click", () => {
			sortedBy = button.dataset.sort;
			for (const other of document.querySelectorAll("[data-sort]")) other.parentElement.removeAttribute("aria-sort");
			button.parentElement.setAttribute("aria-sort", "descending");
			changed();
		});
	$("all-functions").addEventListener("click", () => {
		all = !all;
		changed();
	});
}
