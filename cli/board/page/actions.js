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

export async function pause(keys, name) {
	const text = "Nothing is delivered from it until it is resumed. Workers that hold a lease may still acknowledge.";
	if (await confirm("Pause?", text, names(keys, name), "Pause", false))
		await run(
			keys.map((key) => ["pause", key]),
			(n) => (n > 0 ? "Paused." : "It was paused already."),
		);
}

export async function resume(keys, name) {
	const text = "What has fallen due in the meantime is delivered at once.";
	if (await confirm("Resume?", text, names(keys, name), "Resume", false))
		await run(
			keys.map((key) => ["resume", key]),
			(n) => (n > 0 ? "Resumed." : "It was not paused."),
		);
}

export async function requeueAll(keys, name, dead) {
	const text = `${count(dead, "dead task")} will be due at once, with no tries.`;
	if (await confirm("Requeue all dead tasks?", text, names(keys, name), "Requeue all", false))
		await run(
			keys.map((key) => ["requeue-all", key]),
			(n) => `${count(n, "task")} requeued.`,
		);
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
