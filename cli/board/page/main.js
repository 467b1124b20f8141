// SPDX-License-Identifier: MIT
// Chooses the view, and asks the server for it once a second, as a rule in one POST. None is sent while the tab is hidden.
import * as actions from "./actions.js";
import { ask, Away, bytesOf, decode, encode, Refused } from "./bridge.js";
import { drawChart, fillChart, firstMinute, MINUTES, minutes } from "./histogram.js";
import { fillMetrics } from "./metrics.js";
import * as known from "./queues.js";
import { $, bytes, clock, duration, facts, make, minute, number, put, relative, show, sync } from "./show.js";
import * as tasks from "./tasks.js";
import { textOf } from "./text.js";
import { prepareLogin, takeTokenFromAddress } from "./token.js";

const PERIOD = 1000; // ms from one poll to the next
const STEPS = 20; // steps of the search for queues in a period
const CHARTED = 32; // queues whose next hour is added up
const SLOWLY = 5; // periods between two requests for the next hour, if it is that of several queues

let offset = null; // of the server's clock from ours, in ms
let write = false;
let database = 0;
let awaySince = 0;
let timer = 0;
let asking = false;
let again = false;
let round = 0;
let chart = null; // { from, values, queues, wrong } that is drawn
let scope = { kind: "all", name: "" };
const opened = new Set(); // groups whose shards are shown in the list

const now = () => Date.now() + (offset ?? 0);

function readAddress() {
	takeTokenFromAddress();
	const parts = /^#\/(queue|group)\/(.*)$/.exec(location.hash);
	scope = parts ? { kind: parts[1], name: decode(parts[2]) } : { kind: "all", name: "" };
	if (scope.kind === "queue") known.know(scope.name, now());
	tasks.resetTasks();
	if ($("task").open) $("task").close();
	chart = null;
	soon();
}

function scopeQueues() {
	if (scope.kind === "all") return known.allQueues();
	return scope.kind === "group" ? known.shardsOf(scope.name) : [known.queueOf(scope.name)];
}

// Each request with the function that handles its reply.
function questions() {
	const list = [];
	const want = (words, use) => list.push({ words, use });
	const queues = scopeQueues();
	const step = known.searchStep(now());

	want(["time"], takeTime);
	if (step) want(step, (reply) => known.searchReply(reply, now()));
	for (const key of known.allKeys()) want(["info", key], (reply) => known.infoReply(key, reply, now()));
	// After PAWL.INFO, which counts what has died: so both show the same.
	want(["metrics"], (reply) => fillMetrics(reply, scope, queues, database, now()));
	if (known.allKeys().length === 0) want(["info", ""], takeProbe);
	if (offset === null) return list;
	wantHour(want, queues.slice(0, CHARTED));
	if (scope.kind !== "all") wantTasks(want, queues);
	if (tasks.openTask.id !== null) {
		const { key, id } = tasks.openTask;
		want(["task", key, id], (reply) => tasks.openTask.id === id && tasks.fillTask(reply, now(), write));
	}
	return list;
}

let unfit = ""; // why this server cannot be shown

function takeTime(reply) {
	unfit = reply.error ? textOf(reply.error) : "";
	if (!reply.error) offset = Number(reply[0]) * 1000 + Math.floor(Number(reply[1]) / 1000) - Date.now();
}

function takeProbe(reply) {
	if (/unknown command/.test(reply?.error)) unfit = "This server has not loaded the module pawl.so.";
	else if (reply?.error && unfit === "") unfit = textOf(reply.error);
}

// Sixty requests a queue: each second for one queue, every few seconds for several.
function wantHour(want, queues) {
	const from = firstMinute(now());
	const stale = !chart || chart.from !== from || chart.queues !== queues.length;
	if (queues.length > 1 && !stale && round % SLOWLY !== 0) return;
	const values = new Array(MINUTES).fill(0);
	chart = { from, values, queues: queues.length, wrong: "" };
	const drawn = chart;
	for (const { key } of queues)
		minutes(now()).forEach(([first, last], i) =>
			want(["len", key, first, last], (reply) => {
				if (reply.error) drawn.wrong = textOf(reply.error);
				else values[i] += reply;
			}),
		);
}

function wantTasks(want, queues) {
	const { asked, requests } = tasks.taskRequests(queues);
	const replies = [];
	for (const words of requests)
		want(words, (reply) => {
			replies.push(reply);
			if (replies.length === requests.length) tasks.fillTasks(asked, queues, replies, known.total(queues), now());
		});
}

// The search for queues makes a few steps a second, to limit the load on a server with many keys.
async function searchOn() {
	for (let i = 0; i < STEPS; i++) {
		const step = known.searchStep(now());
		if (!step) return;
		const { replies } = await ask([step]);
		if (!known.searchReply(replies[0], now())) return;
	}
}

async function poll() {
	if (asking) {
		again = true;
		return;
	}
	asking = true;
	document.body.dataset.asking = "yes";
	again = false;
	clearTimeout(timer);
	const began = performance.now();
	const asked = scope;
	const first = offset === null; // nothing more can be asked without the server's time
	try {
		const list = questions();
		const answer = await ask(list.map(({ words }) => words));
		({ write, database } = answer);
		put($("server"), answer.server);
		if (asked === scope) list.forEach(({ use }, i) => use(answer.replies[i]));
		else again = true;
		await searchOn();
		if (known.unasked() || (first && offset !== null)) again = true;
		back();
		render();
		round++;
	} catch (error) {
		failed(error);
	}
	asking = false;
	document.body.dataset.asking = "no";
	if (document.hidden) return;
	timer = setTimeout(poll, again ? 0 : Math.max(PERIOD - (performance.now() - began), 100));
}

function soon() {
	clearTimeout(timer);
	poll();
}

function failed(error) {
	if (error instanceof Refused && error.status === 401) {
		const tried = $("token").dataset.tried === "1";
		show($("login"), true);
		show($("board"), false);
		show($("login-wrong"), tried);
		put($("live").lastChild, "");
		document.body.classList.add("locked");
		return;
	}
	if (!(error instanceof Away) && !(error instanceof Refused)) throw error;
	awaySince ||= Date.now();
	show($("board"), true);
	show($("login"), false);
	const known = offset === null ? "" : ` What you see is from ${clock(awaySince + offset)}.`;
	put($("banner"), `${error.message}.${known}`.replace(/([.?])\./, "$1"));
	show($("banner"), true);
	document.body.classList.add("stale");
	put($("live").lastChild, `away since ${clock(awaySince + (offset ?? 0))}`);
}

function back() {
	awaySince = 0;
	document.body.classList.remove("stale", "locked");
	show($("login"), false);
	show($("board"), true);
	show($("banner"), unfit !== "");
	put($("banner"), unfit);
	put($("live").lastChild, `live ${clock(now())}`);
	put($("mode"), write ? "may write" : "read-only");
	show($("mode"), true);
}

const address = (kind, name) => `#/${kind}/${encode(name)}`;

function renderTitle(queues, numbers) {
	const trail = [{ text: "All queues", href: "#/" }];
	const group = scope.kind === "queue" ? known.groupName(scope.name) : null;
	if (group && known.shardsOf(group).length > 1) trail.push({ text: textOf(group), href: address("group", group) });
	if (scope.kind !== "all") trail.push({ text: textOf(scope.name), href: location.hash });
	sync(
		$("crumbs"),
		trail,
		({ href }) => href,
		({ href }) => make("a", { href }),
		(link, { text }) => put(link, text),
	);
	[...$("crumbs").children].forEach((link, i) =>
		i === trail.length - 1 ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current"),
	);
	const one = scope.kind !== "all";
	show($("paused"), one && numbers.paused > 0);
	put($("paused"), numbers.paused > 0 && numbers.paused < queues.length ? `${numbers.paused} of ${queues.length} paused` : "paused");
	show($("pause"), write && one);
	put($("pause"), numbers.paused > 0 ? "Resume" : "Pause");
	show($("requeue-all"), write && one && numbers.dead > 0);
	document.body.classList.toggle("scoped", one);
	document.title = one ? `${textOf(scope.name)} – pawl board` : "pawl board";
}

function renderStates(numbers) {
	sync(
		$("states"),
		known.STATES,
		(state) => state,
		(state) => {
			const tile = make("div", { className: "card tile" }, make("b"), make("span", { textContent: state }));
			tile.dataset.state = state;
			return tile;
		},
		(tile, state) => put(tile.firstChild, number(numbers[state])),
	);
}

function renderLateness(queues, numbers) {
	const late = (ms) => (ms === null || numbers.deliveries === 0 ? "–" : duration(ms));
	put($("lateness-note"), queues.length > 1 ? "of the worst queue" : "");
	facts($("lateness-values"), [
		["p50", late(numbers.p50)],
		["p90", late(numbers.p90)],
		["p99", late(numbers.p99)],
		["max", late(numbers.max)],
	]);
	const backoff = numbers.backoff > 0 ? `${duration(numbers.backoff)} to ${duration(numbers.backoffMax)}` : null;
	facts($("facts"), [
		["Deliveries", number(numbers.deliveries)],
		["Oldest due", numbers.oldest === null ? "–" : relative(numbers.oldest, now())],
		["Memory", bytes(numbers.memory) + (numbers.tasks > 0 ? `, ${number(Math.round(numbers.memory / numbers.tasks))} bytes a task` : "")],
		...(scope.kind !== "all" && numbers.maxdead > 0 ? [["Dead kept", `${number(numbers.maxdead)} at most`]] : []),
		...(scope.kind !== "all" && backoff ? [["Backoff", backoff]] : []),
	]);
}

// The rows: one for each entry, followed by its shards if it is open.
function listRows(queues) {
	if (scope.kind === "group") return queues.map((queue) => ({ name: queue.key, queues: [queue] }));
	return known.entries().flatMap((entry) =>
		entry.group && opened.has(entry.name)
			? [entry, ...entry.queues.map((queue) => ({ name: queue.key, queues: [queue], shard: true }))]
			: [entry],
	);
}

function newQueueRow({ name, group, shard }) {
	const row = make("tr", { className: shard ? "shard" : group ? "group" : "" });
	const cell = make("td", { className: "name" });
	if (group) {
		const toggle = make("button", { type: "button", className: "toggle" });
		toggle.addEventListener("click", () => {
			if (!opened.delete(name)) opened.add(name);
			render();
		});
		cell.append(toggle);
	}
	cell.append(make("a", { href: address(group ? "group" : "queue", name), textContent: textOf(name) }), make("span", { className: "badge" }));
	row.append(cell);
	for (const state of known.STATES) {
		const number = make("td", { className: "number" });
		number.dataset.state = state;
		row.append(number);
	}
	for (let i = 0; i < 3; i++) row.append(make("td", { className: "number wide" }));
	return row;
}

function updateQueueRow(row, { name, group, queues }) {
	const numbers = known.total(queues);
	const [cell, ...cells] = row.children;
	if (group) {
		const open = opened.has(name);
		put(cell.firstChild, open ? "▾" : "▸").setAttribute("aria-expanded", open);
		cell.firstChild.setAttribute("aria-label", `The ${queues.length} shards of ${textOf(name)}`);
	}
	const badge = [group ? `${queues.length} shards` : "", numbers.paused > 0 ? (numbers.paused < queues.length ? `${numbers.paused} paused` : "paused") : ""];
	put(cell.lastChild, badge.filter(Boolean).join(", ")).classList.toggle("paused", numbers.paused > 0);
	known.STATES.forEach((state, i) => put(cells[i], number(numbers[state])).classList.toggle("zero", numbers[state] === 0));
	put(cells[4], numbers.oldest === null ? "–" : relative(numbers.oldest, now()));
	put(cells[5], numbers.deliveries > 0 ? duration(numbers.p99) : "–");
	put(cells[6], bytes(numbers.memory));
}

function renderList(queues) {
	const rows = scope.kind === "queue" ? [] : listRows(queues);
	show($("queues"), rows.length > 0);
	put($("queues-title"), scope.kind === "group" ? "Shards" : "Queues");
	sync($("queue-table").tBodies[0], rows, ({ name, shard }) => `${shard ? "shard" : ""}\n${name}`, newQueueRow, updateQueueRow);
	show($("queues-note"), known.searched.tooMany);
	put($("queues-note"), `There are more than ${number(known.allQueues().length)} queues; the others are not looked at.`);
}

function renderEmpty(queues) {
	const none = scope.kind === "all" ? known.allKeys().length === 0 : queues.every(({ info }) => info === null);
	const text =
		scope.kind !== "all"
			? "This queue is empty: a queue whose last task is gone is deleted."
			: known.searched.wrong
				? textOf(known.searched.wrong)
				: known.searched.found
					? "There is no queue in this database. PAWL.PUT jobs 5000 hello makes one."
					: "Looking for queues …";
	show($("empty"), none && unfit === "");
	put($("empty"), text);
}

function renderHour(queues) {
	if (!chart) return;
	const left = queues.length - CHARTED;
	fillChart(chart.from, chart.values, chart.wrong || (left > 0 ? `Of the first ${CHARTED} of ${queues.length} queues.` : ""));
}

function render() {
	const queues = scopeQueues();
	const numbers = known.total(queues);
	renderTitle(queues, numbers);
	renderEmpty(queues);
	renderStates(numbers);
	renderHour(queues);
	renderLateness(queues, numbers);
	renderList(queues);
	show($("tasks"), scope.kind !== "all");
}

function prepare() {
	drawChart((from, to) => {
		if (scope.kind === "all") return;
		tasks.showMinute(from, to, `at ${minute(from)}`);
		soon();
	});
	tasks.prepareTasks(soon, actions.requeue, actions.cancel);
	actions.prepareConfirm();
	$("task").addEventListener("opened", soon);
	$("pause").addEventListener("click", async () => {
		const queues = scopeQueues();
		const keys = queues.map(({ key }) => key);
		await (known.total(queues).paused > 0 ? actions.resume : actions.pause)(keys, textOf(scope.name));
		soon();
	});
	$("requeue-all").addEventListener("click", async () => {
		const queues = scopeQueues();
		await actions.requeueAll(queues.map(({ key }) => key), textOf(scope.name), known.total(queues).dead);
		soon();
	});
	$("find").addEventListener("submit", (event) => {
		event.preventDefault();
		const id = bytesOf($("find-id").value.trim());
		if (id) findTask(id);
	});
	prepareLogin(soon);
	addEventListener("hashchange", readAddress);
	document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : soon()));
	readAddress();
}

// Show the task with this id, from the shard that holds it.
async function findTask(id) {
	const queues = scopeQueues();
	try {
		const { replies } = await ask(queues.map(({ key }) => ["task", key, id]));
		const at = replies.findIndex((reply) => Array.isArray(reply));
		tasks.showTask(queues[Math.max(at, 0)].key, id);
	} catch (error) {
		failed(error);
	}
}

prepare();
