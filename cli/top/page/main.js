// SPDX-License-Identifier: MIT
// One snapshot a second, while the page is seen and not paused. Otherwise nothing is asked, and pawl top leaves the program alone.
import { addSnapshot, latest } from "./figures.js";
import { fillDue, fillFacts, fillFunctions, fillLateness, fillLatest, fillPurgatories, fillTiles, prepareFunctions } from "./sections.js";
import { $, clock, put, show } from "./show.js";
import { plain, textOf } from "./text.js";
import { authorization, prepareLogin, takeTokenFromAddress } from "./token.js";

const PERIOD = 1000; // ms between two snapshots
const HUNG = 15000; // ms to wait for an answer

let timer = 0;
let asking = false;
let paused = false;
let shownAt = 0; // when the last snapshot came; 0: none did

class Away extends Error {
	constructor(why, banner = why) {
		super(why);
		this.banner = banner;
	}
}
class Locked extends Error {}

// { snapshot, taken }
async function ask() {
	let response, answer;
	try {
		response = await fetch("snapshot.json", { headers: authorization(), signal: AbortSignal.timeout(HUNG) });
		answer = await response.json();
	} catch {
		throw new Away("pawl top itself does not answer; is it still running?");
	}
	if (response.status === 401) throw new Locked();
	if (!response.ok) {
		const why = textOf(answer.away ?? answer.wrong);
		throw new Away(why, `The program is gone: ${why}.`);
	}
	return { snapshot: answer, taken: Number(response.headers.get("X-Pawl-Taken")) };
}

function render() {
	if (!shownAt) return;
	const view = latest();
	fillTiles(view);
	fillDue(view);
	fillLateness(view);
	fillFunctions(view);
	fillLatest(view);
	fillPurgatories(view);
	fillFacts(view);
	const name = plain(view.now.name);
	put($("program"), `${name}, process ${view.now.process}`);
	document.title = name ? `${name} – pawl top` : "pawl top";
}

// Which of the parts is seen: "top", "waiting" or "login".
function showPart(part) {
	for (const id of ["top", "waiting", "login"]) show($(id), id === part);
	show($("pause"), part === "top");
	document.body.classList.toggle("locked", part === "login");
}

function answered({ snapshot, taken }) {
	const fresh = addSnapshot(snapshot, taken);
	shownAt = Date.now();
	document.body.classList.remove("stale");
	show($("banner"), false);
	showPart("top");
	put($("state"), "live");
	put($("clock"), clock(shownAt));
	if (fresh) render();
}

function failed(error) {
	if (error instanceof Locked) {
		showPart("login");
		show($("login-wrong"), $("token").dataset.tried === "1");
		put($("state"), "");
		put($("clock"), "");
		return;
	}
	if (!(error instanceof Away)) {
		console.error(error);
		error = new Away("The snapshot cannot be shown: it is not as this page expects.");
	}
	showPart(shownAt ? "top" : "waiting");
	put($("waiting-why"), error.message);
	put($("banner"), `${error.banner} What you see is from ${clock(shownAt)}.`);
	show($("banner"), shownAt > 0);
	document.body.classList.add("stale");
	put($("state"), shownAt ? "gone" : "waiting");
	put($("clock"), "");
}

async function poll() {
	clearTimeout(timer);
	if (asking) return;
	asking = true;
	document.body.dataset.asking = "yes";
	const began = performance.now();
	try {
		answered(await ask());
	} catch (error) {
		failed(error);
	}
	asking = false;
	document.body.dataset.asking = "no";
	if (document.hidden || paused) return;
	timer = setTimeout(poll, Math.max(PERIOD - (performance.now() - began), 100));
}

function pause() {
	paused = !paused;
	$("pause").setAttribute("aria-pressed", paused);
	put($("pause"), paused ? "Go on" : "Pause");
	document.body.classList.toggle("paused", paused);
	if (paused) put($("state"), "paused");
	if (paused) clearTimeout(timer);
	else poll();
}

prepareFunctions(render);
takeTokenFromAddress();
$("pause").addEventListener("click", pause);
prepareLogin(poll);
document.addEventListener("visibilitychange", () => {
	clearTimeout(timer);
	if (!document.hidden && !paused) poll();
});
poll();
