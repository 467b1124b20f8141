// SPDX-License-Identifier: MIT
// Next to the picture: numbers, the list of timers, the legend, the log.

const LOG_SHOWN = 120;
const TIMERS_SHOWN = 12;

const byId = (id) => document.getElementById(id);

function setText(id, text) {
	const element = byId(id);
	if (element.textContent !== String(text)) element.textContent = text;
}

function element(tag, attributes = {}, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
	made.append(...children);
	return made;
}

const chip = (id) => element("span", { class: "chip", style: `--hue: var(--dot-${id % HUES})` }, nameOf(id));

function showNumbers(session, checking) {
	const n = session.wheel.numbers;
	for (const name of ["pending", "popped", "moves", "puts", "openings", "empty"])
		setText(`n-${name}`, grouped(n[name]));
	byId("n-empty").parentElement.classList.toggle("bad", n.empty > 0);
	const check = byId("n-check");
	check.className = session.broken ? "bad" : "good";
	setText(
		"n-check",
		session.broken
			? `broken: ${session.broken}`
			: checking
				? "checking…"
				: `all is well · ${counted(session.checks, "check")}`,
	);
	showHeapNumbers(n);
	showAheadNumbers(n);
}

// Numbers by the id of their cell, with bars that are to scale.
function showBars(rows) {
	const most = Math.max(1, ...Object.values(rows));
	for (const [id, value] of Object.entries(rows)) {
		setText(id, grouped(value));
		byId(id).style.setProperty("--part", `${(100 * value) / most}%`);
	}
}

function showAheadNumbers(n) {
	showBars({ "most-moves": n.mostMoves, "most-with-ahead": n.mostWithAhead });
	setText("moves-ahead", grouped(n.movesAhead));
}

function showHeapNumbers(n) {
	showBars({
		"wheel-comparisons": 0,
		"heap-comparisons": n.heapComparisons,
		"wheel-moves": n.puts + n.moves,
		"heap-moves": n.heapMoves,
	});
}

// Each level's slots and turn.
function showLegend(session) {
	const { tick, wheelSize } = session.options;
	const list = byId("legend");
	const shown = `${tick} ${wheelSize} ${session.wheel.levels}`;
	if (list.dataset.shown === shown) return;
	list.dataset.shown = shown;
	const { levels } = session.wheel;
	const rows = levels.flatMap((ready, level) =>
		ready ? [legendRow(level, levels.length, tick, BigInt(wheelSize))] : [],
	);
	const missing = levels.length - rows.length;
	if (missing) rows.push(element("li", {}, `${missing} in between, not needed yet`));
	list.replaceChildren(...rows);
}

// A small drawing shows which ring it is.
function legendRow(level, levels, tick, wheelSize) {
	const slot = tick * wheelSize ** BigInt(level);
	const edge = (depth) => `${100 * (HUB + ((1 - HUB) * depth) / Math.max(levels, ROOM_FOR))}%`;
	return element(
		"li",
		{},
		element("i", { style: `--from: ${edge(level)}; --to: ${edge(level + 1)}; --all: ${edge(levels)}` }),
		element("b", {}, `level ${level}`),
		` slot ${milliseconds(slot)}, turn ${milliseconds(slot * wheelSize)}`,
	);
}

const isEarlier = (a, b) => (a.deadline === b.deadline ? a.id < b.id : a.deadline < b.deadline);

// The first of the timers by their deadlines. One pass: there may be 2,048 of them, in every frame.
function soonest(session, seen, count) {
	const first = [];
	for (const { id, level, slot } of seen) {
		const timer = { id, level, slot, deadline: session.wheel.deadline(id) };
		let at = first.length;
		while (at > 0 && isEarlier(timer, first[at - 1])) at--;
		if (at < count) first.splice(at, 0, timer);
		if (first.length > count) first.pop();
	}
	return first;
}

// The list of timers. A row stays as long as its timer is in the list, so that an update costs little: it is made in every frame in
// which something happened, as in the picture and the log.
class TimerPanel {
	constructor(list, act) {
		this.list = list;
		this.act = act;
		this.rows = new Map(); // by id
	}

	show(session, seen, selected) {
		const { puts, moves, popped, pending } = session.wheel.numbers;
		const shown = [session.generation, session.position, puts, moves, popped, pending, selected].join(" ");
		if (this.shown === shown) return;
		this.shown = shown;
		this.#place(soonest(session, seen, TIMERS_SHOWN).map((timer) => [timer.id, this.#row(timer, selected)]));
		const more = pending - this.rows.size;
		setText(
			"timers-more",
			session.crowded && pending
				? `${counted(pending, "timer")}: too many for a list`
				: more > 0
					? `and ${grouped(more)} more`
					: pending
						? ""
						: "None. Arm one.",
		);
	}

	// A row that is put elsewhere would lose the focus.
	#place(rows) {
		const focused = document.activeElement?.dataset?.key;
		this.rows = new Map(rows);
		for (const row of [...this.list.children]) if (!this.rows.has(Number(row.dataset.id))) row.remove();
		rows.forEach(([, row], index) => {
			if (this.list.children[index] !== row) this.list.insertBefore(row, this.list.children[index] ?? null);
		});
		if (focused && document.activeElement?.dataset?.key !== focused)
			this.list.querySelector(`[data-key="${focused}"]`)?.focus();
	}

	#row({ id, level, slot, deadline }, selected) {
		const row = this.rows.get(id) ?? this.#newRow(id);
		const [due, place] = [`due at ${milliseconds(deadline)}`, `level ${level}, slot ${grouped(slot)}`];
		const [dueText, , placeText] = row.querySelector(".where").childNodes;
		if (dueText.textContent !== due) dueText.textContent = due;
		if (placeText.textContent !== place) placeText.textContent = place;
		row.classList.toggle("selected", id === selected);
		return row;
	}

	#newRow(id) {
		const where = element("span", { class: "where" }, element("b"), element("br"), "…");
		const buttons = [this.#button("touch", "Touch", id), this.#button("cancel", "Cancel", id)];
		return element("li", { "data-id": id }, chip(id), where, ...buttons);
	}

	#button(verb, label, id) {
		const attributes = {
			type: "button",
			class: "small",
			"data-key": `${verb}-${id}`,
			"aria-label": `${label} ${nameOf(id)}`,
		};
		const made = element("button", attributes, label);
		made.addEventListener("click", () => this.act(verb, id));
		return made;
	}
}

// The newest line comes first. Only new lines are added, unless time went back.
class LogPanel {
	constructor(list) {
		this.list = list;
	}

	show(session) {
		if (this.generation !== session.generation) {
			this.list.replaceChildren();
			this.generation = session.generation;
			this.shown = 0;
		}
		const fresh = session.log.slice(Math.max(this.shown, session.log.length - LOG_SHOWN));
		this.shown = session.log.length;
		if (fresh.length) this.list.prepend(...fresh.reverse().map((entry) => this.#entry(entry)));
		else if (this.shown) this.#update(session.log.at(-1));
		while (this.list.children.length > LOG_SHOWN) this.list.lastChild.remove();
	}

	// The last line may have grown.
	#update({ text }) {
		const line = this.list.firstChild.lastChild;
		if (line.textContent !== text) line.textContent = text;
	}

	#entry({ id, text }) {
		return element(
			"li",
			{},
			id === null ? element("span", { class: "chip many" }, "∗") : chip(id),
			element("span", {}, text),
		);
	}
}
