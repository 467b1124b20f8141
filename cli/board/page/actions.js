// SPDX-License-Identifier: MIT
// The actions that change something. Each asks for confirmation first, and shows its result.
import { ask } from "./bridge.js";
import { $, count, notice, put } from "./show.js";
import { textOf } from "./text.js";

let confirmed = null;

function close(answer) {
	$("confirm").close();
	confirmed?.(answer);
	confirmed = null;
}

export function prepareConfirm() {
	$("confirm-yes").addEventListener("click", () => close(true));
	$("confirm-no").addEventListener("click", () => close(false));
	$("confirm").addEventListener("cancel", () => close(false));
}

function confirm(title, text, what, yes, danger) {
	put($("confirm-title"), title);
	put($("confirm-text"), text);
	put($("confirm-what"), what);
	put($("confirm-yes"), yes).classList.toggle("danger", danger);
	$("confirm").showModal();
	$("confirm-no").focus();
	return new Promise((done) => (confirmed = done));
}

// Run the requests, and show how many tasks or queues they changed in total.
async function run(requests, told) {
	try {
		const { replies } = await ask(requests);
		const wrong = replies.find((reply) => reply?.error);
		if (wrong) notice(textOf(wrong.error), true);
		else notice(told(replies.reduce((sum, reply) => sum + reply, 0)));
	} catch (error) {
		notice(error.message, true);
	}
}

const names = (keys, name) => (keys.length > 1 ? `${name} (${count(keys.length, "queue")})` : textOf(keys[0]));

// The same for all of these queues.
async function runForAll(verb, keys, name, { title, text, yes }, told) {
	const requests = keys.map((key) => [verb, key]);
	if (await confirm(title, text, names(keys, name), yes, false)) await run(requests, told);
}

export function pause(keys, name) {
	const text = "Nothing is delivered from it until it is resumed. Workers that hold a lease may still acknowledge.";
	const told = (n) => (n > 0 ? "Paused." : "It was paused already.");
	return runForAll("pause", keys, name, { title: "Pause?", text, yes: "Pause" }, told);
}

export function resume(keys, name) {
	const text = "What has fallen due in the meantime is delivered at once.";
	const told = (n) => (n > 0 ? "Resumed." : "It was not paused.");
	return runForAll("resume", keys, name, { title: "Resume?", text, yes: "Resume" }, told);
}

export function requeueAll(keys, name, dead) {
	const text = `${count(dead, "dead task")} will be due at once, with no tries.`;
	const told = (n) => `${count(n, "task")} requeued.`;
	return runForAll("requeue-all", keys, name, { title: "Requeue all dead tasks?", text, yes: "Requeue all" }, told);
}

export async function requeue(key, id) {
	if (await confirm("Requeue this task?", "It will be due at once, with no tries.", textOf(id), "Requeue", false))
		await run([["requeue", key, id]], (n) => (n > 0 ? "Requeued." : "It is no longer dead; nothing was done."));
}

export async function cancel(key, id, leased) {
	const text = leased
		? "A worker holds it. It is deleted nevertheless: the worker's acknowledgement will have no effect."
		: "It is deleted, and cannot be brought back.";
	if (await confirm("Cancel this task?", text, textOf(id), "Cancel the task", true))
		await run([[leased ? "cancel-leased" : "cancel", key, id]], (n) =>
			n > 0 ? "Cancelled." : "It was gone already; nothing was done.",
		);
}
