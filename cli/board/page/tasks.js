// SPDX-License-Identifier: MIT
// The tasks of a queue, or of its shards, in the order of time; and the life of one task.
import { headOf, mapOf, payloadOf, sizeOf } from "./bridge.js";
import { $, bytes, count, duration, facts, make, moment, notice, number, put, relative, show, sync } from "./show.js";
import { textOf } from "./text.js";

const STEP = 50;
const MOST = 1000;
const FOR_EVER = 2 ** 53 - 1;

const TABS = [
	{ name: "Due and waiting", states: ["due", "waiting"], none: "Nothing is due or waiting." },
	{ name: "Leased", states: ["leased"], none: "No task is leased." },
	{ name: "Dead", states: ["dead"], none: "No task is dead." },
];

// The list that is shown. It is replaced, never changed, so a reply to an earlier request is recognised.
let list = { tab: TABS[0], limit: STEP, from: 0, to: FOR_EVER, label: "" };
const startAt = (tab) => (list = { tab, limit: STEP, from: 0, to: FOR_EVER, label: "" });
const open = { key: null, id: null, task: null };

export const openTask = open;

export function prepareTasks(changed, requeue, cancel) {
	for (const tab of TABS) {
		const button = make("button", { type: "button", role: "tab" });
		button.append(tab.name, " ", make("b"));
		button.addEventListener("click", () => {
			startAt(tab);
			changed();
		});
		$("tabs").append(button);
	}
	$("more").addEventListener("click", () => {
		list = { ...list, limit: Math.min(list.limit * 4, MOST) };
		changed();
	});
	$("unfilter").addEventListener("click", () => {
		startAt(list.tab);
		changed();
	});
	$("task").querySelector(".close").addEventListener("click", () => $("task").close());
	$("task").addEventListener("click", (event) => event.target === $("task") && $("task").close());
	$("task").addEventListener("close", () => Object.assign(open, { key: null, id: null, task: null }));
	$("task-requeue").addEventListener("click", async () => {
		await requeue(open.key, open.id);
		changed();
	});
	$("task-cancel").addEventListener("click", async () => {
		await cancel(open.key, open.id, open.task?.state === "leased");
		changed();
	});
}

export function resetTasks() {
	startAt(TABS[0]);
	$("task-table").tBodies[0].replaceChildren();
}

export function showMinute(from, to, label) {
	list = { tab: TABS[0], limit: STEP, from, to, label };
	$("tasks").scrollIntoView({ block: "nearest" });
}

// The requests. Their replies go to fillTasks(), in this order, with `asked`.
export function taskRequests(queues) {
	const { tab, from, to, limit } = list;
	return {
		asked: list,
		requests: queues.flatMap(({ key }) => tab.states.map((state) => ["tasks", key, from, to, limit, state])),
	};
}

function taskOf(key, [id, payload, state, due, tries, reason]) {
	return { key, id, payload: payloadOf(payload), state, due, tries, reason };
}

const oneLine = (value) => textOf(headOf(value)).replace(/\s+/g, " ").slice(0, 300);

function newRow(task) {
	const row = make("tr", {});
	for (const name of ["id", "queue", "state", "when", "tries", "payload"]) row.append(make("td", { className: name }));
	const link = make("button", { type: "button", className: "link", textContent: textOf(task.id) });
	row.children[0].append(link);
	row.children[2].append(make("span", { className: "badge" }));
	row.children[5].append(make("span", { className: "text" }), make("span", { className: "reason" }));
	link.addEventListener("click", () => showTask(task.key, task.id));
	return row;
}

function updateRow(row, task, now) {
	const [, queue, state, when, tries, payload] = row.children;
	put(queue, textOf(task.key));
	put(state.firstChild, task.state).dataset.state = task.state;
	put(when, relative(task.due, now));
	when.title = moment(task.due, now, true);
	put(tries, number(task.tries));
	put(payload.children[0], oneLine(task.payload));
	put(payload.children[1], task.reason ? oneLine(task.reason) : "");
}

export function fillTasks(asked, queues, replies, numbers, now) {
	if (asked !== list) return;
	const wrong = replies.find((reply) => reply?.error);
	const states = list.tab.states.length;
	const tasks = replies
		.flatMap((reply, i) => (reply?.error ? [] : reply.map((item) => taskOf(queues[Math.floor(i / states)].key, item))))
		.sort((a, b) => a.due - b.due);
	const shown = tasks.slice(0, list.limit);

	sync($("task-table").tBodies[0], shown, (task) => `${task.key}\n${task.id}`, newRow, (row, task) => updateRow(row, task, now));
	$("task-table").classList.toggle("several", queues.length > 1);
	put($("task-table").tHead.rows[0].cells[3], { Leased: "Lease ends", Dead: "Died" }[list.tab.name] ?? "Due");
	show($("task-table"), shown.length > 0);
	show($("no-tasks"), shown.length === 0);
	put($("no-tasks"), wrong ? textOf(wrong.error) : list.label ? "No task falls due in that minute now." : list.tab.none);
	const cut = tasks.length >= list.limit;
	show($("more"), cut && list.limit < MOST);
	show($("filter"), list.label !== "");
	put($("filter").firstElementChild, `Due ${list.label}.`);
	TABS.forEach((tab, i) => {
		const button = $("tabs").children[i];
		put(button.lastChild, number(tab.states.reduce((sum, state) => sum + numbers[state], 0)));
		button.setAttribute("aria-selected", tab === list.tab);
	});
}

export function showTask(key, id) {
	Object.assign(open, { key, id, task: null });
	put($("task-id"), textOf(id));
	$("task-life").replaceChildren();
	$("task-facts").replaceChildren();
	put($("task-payload"), "");
	put($("task-size"), "");
	for (const name of ["task-gone", "task-requeue", "task-cancel"]) show($(name), false);
	$("task").showModal();
	$("task").dispatchEvent(new Event("opened"));
}

// An id that the server made begins with the time of the PUT.
function madeAt(id) {
	const parts = /^(\d{13})-\d+-[0-9a-f]{8}$/.exec(id);
	return parts && Number(parts[1]);
}

function life(id, task, now) {
	const at = (ms) => `${moment(ms, now)}, ${relative(ms, now)}`;
	const limit = task.maxtries > 0 ? ` of at most ${number(task.maxtries)}` : "";
	const last = task.maxtries > 0 && task.tries >= task.maxtries;
	const steps = [];
	if (madeAt(id)) steps.push(["done", `Put at ${at(madeAt(id))}.`]);
	if (task["period-ms"] > 0) steps.push(["done", `It is periodic: due again every ${duration(task["period-ms"])}.`]);
	if (task.tries > 0) steps.push(["done", `Delivered ${count(task.tries, "time")}${limit}.`]);
	if (task.reason) steps.push(["done", `The last worker gave it back: ${textOf(headOf(task.reason))}`]);
	switch (task.state) {
		case "waiting":
			steps.push(["now", `It waits, and is due at ${at(task["due-ms"])}.`]);
			break;
		case "due":
			steps.push(["now", `It has been due since ${at(task["due-ms"])}, and waits for a worker.`]);
			break;
		case "leased":
			steps.push(["now", `A worker holds it until ${at(task["due-ms"])}.`]);
			steps.push(["next", last ? "If it is not acknowledged by then, it is dead." : "If it is not acknowledged by then, it is due again."]);
			break;
		case "dead":
			steps.push(["now", `It died at ${at(task["due-ms"])}: its last try was not acknowledged.`]);
	}
	return steps;
}

export function fillTask(reply, now, write) {
	if (reply?.error) {
		notice(textOf(reply.error), true);
		return;
	}
	show($("task-gone"), reply === null);
	show($("task-requeue"), write && reply !== null && mapOf(reply).state === "dead");
	show($("task-cancel"), write && reply !== null);
	if (reply === null) return;
	const task = (open.task = mapOf(reply));
	sync(
		$("task-life"),
		life(open.id, task, now).map((step, i) => [i, ...step]),
		([i]) => String(i),
		() => make("li"),
		(item, [, when, text]) => (put(item, text).className = when),
	);
	facts($("task-facts"), [
		["Queue", textOf(open.key)],
		["State", task.state],
		[{ leased: "Lease ends", dead: "Died" }[task.state] ?? "Due", moment(task["due-ms"], now, true)],
		["Tries", task.maxtries > 0 ? `${number(task.tries)} of ${number(task.maxtries)}` : number(task.tries)],
		...(task["period-ms"] > 0 ? [["Period", duration(task["period-ms"])]] : []),
	]);
	const payload = payloadOf(task.payload);
	const size = sizeOf(payload);
	const head = headOf(payload);
	put($("task-payload"), textOf(head));
	put($("task-size"), bytes(size) + (head.length < size ? `, the first ${bytes(head.length)} shown` : ""));
}

