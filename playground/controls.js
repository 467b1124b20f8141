// SPDX-License-Identifier: MIT
// Input of the user: forms, buttons, keys, the pointer.

const DRAG_FROM = 6; // px that a press must move to be a drag

// The value of a field, by one of the functions of input.js. An error names the field.
function read(id, parse) {
	try {
		return parse(byId(id).value);
	} catch (error) {
		error.field = byId(id);
		throw error;
	}
}

// Carry it out. If it is refused, show why; nothing has changed.
function attempt(act) {
	byId("message").textContent = "";
	for (const marked of document.querySelectorAll("[aria-invalid]")) marked.removeAttribute("aria-invalid");
	try {
		act();
	} catch (error) {
		if (!(error instanceof Refused)) throw error;
		byId("message").textContent = error.message;
		error.field?.setAttribute("aria-invalid", "true");
		error.field?.focus();
	}
}

function onSubmit(form, act) {
	byId(form).addEventListener("submit", (event) => {
		event.preventDefault();
		attempt(act);
	});
}

function bindForms(app) {
	const { session } = app;
	onSubmit("arm", () => {
		session.arm(app.delay());
		app.changed();
	});
	onSubmit("many", () => {
		const count = read("count", (text) => parseWhole("Number of timers", text, 1, TIMERS_MAX));
		const span = read("within", (text) => parseWhole("Within", text, 1, 2 ** 31));
		session.fill(Number(count), Number(span), session.target + 1);
		app.changed();
	});
	onSubmit("wheel", () => {
		const tick = read("tick", (text) => parseWhole("Tick", text, 1, 2n ** 62n));
		const wheelSize = Number(read("size", (text) => parseWhole("Wheel size", text, 2, 4096)));
		session.reconfigure({ tick, wheelSize, chains: Number(byId("chains").value) });
		app.changed();
	});
	byId("heap-on").addEventListener("change", () =>
		attempt(() => {
			session.reconfigure({ heap: byId("heap-on").checked });
			app.changed();
		}),
	);
	byId("clear").addEventListener("click", () => {
		app.leaveStory();
		const { tick, wheelSize, chains, heap } = session.options;
		session.restart({ tick, wheelSize, chains, heap });
		app.changed();
	});
}

function bindTransport(app) {
	const { session } = app;
	byId("play").addEventListener("click", () => app.setPlaying(!app.playing));
	byId("step").addEventListener("click", () => app.step());
	byId("back").addEventListener("click", () => app.scrub(session.target - 1));
	byId("scrub").addEventListener("input", () => app.scrub(Number(byId("scrub").value)));
	byId("speed").addEventListener("change", () => (app.speed = Number(byId("speed").value)));
	byId("story-next").addEventListener("click", () => app.nextStep());
	byId("story-back").addEventListener("click", () => app.previousStep());
	byId("watch-one").addEventListener("click", () => app.watch((s) => s.arm(EXAMPLE.delay)));
	byId("watch-many").addEventListener("click", () =>
		app.watch((s) => s.fill(EXAMPLE.count, EXAMPLE.span, s.target + 1)),
	);
	byId("theme").addEventListener("click", () => app.nextTheme());
}

function bindStories(app) {
	byId("stories").replaceChildren(
		...STORIES.map((story) => {
			const button = element(
				"button",
				{ type: "button", "data-story": story.id },
				element("b", {}, story.title),
				element("span", {}, story.summary),
			);
			button.addEventListener("click", () => app.startStory(story));
			return element("li", {}, button);
		}),
	);
}

// Keys that work unless a control uses them.
function bindKeys(app) {
	const keys = {
		" ": () => app.setPlaying(!app.playing),
		ArrowRight: () => app.step(),
		ArrowLeft: () => app.scrub(app.session.target - 1),
		ArrowDown: () => app.select(1),
		ArrowUp: () => app.select(-1),
		Delete: () => app.act("cancel", app.picture.selected),
		Backspace: () => app.act("cancel", app.picture.selected),
		t: () => app.act("touch", app.picture.selected),
		n: () => app.nextStep(),
		a: () => byId("delay").focus(),
	};
	document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const typing = event.target.closest("input, select, textarea");
		const onButton = event.target.closest("button, summary") && event.key === " ";
		if (event.key === "Escape") document.activeElement?.blur();
		if (typing || onButton || !keys[event.key]) return;
		event.preventDefault();
		keys[event.key]();
	});
}

function pointIn(canvas, event) {
	const box = canvas.getBoundingClientRect();
	return [event.clientX - box.left, event.clientY - box.top];
}

// Dragging the + arms, dragging a dot touches it, and a click on a dot cancels it.
class Pointer {
	constructor(app, canvas, handle) {
		this.app = app;
		this.canvas = canvas;
		handle.addEventListener("pointerdown", (event) => this.#press(event, handle, null));
		handle.addEventListener("click", (event) => event.detail === 0 && byId("delay").focus());
		canvas.addEventListener("pointerdown", (event) => this.#pressOnDot(event));
		canvas.addEventListener("pointerleave", () => {
			if (!this.drag) this.#tip(null);
			this.#pointAt(null);
		});
		// A finger on a dot drags the dot, not the page.
		canvas.addEventListener(
			"touchstart",
			(event) => this.#dotAt(event.touches[0]) !== null && event.preventDefault(),
			{ passive: false },
		);
		for (const target of [canvas, handle]) {
			target.addEventListener("pointermove", (event) => this.#move(event));
			target.addEventListener("pointerup", (event) => this.#release(event));
			target.addEventListener("pointercancel", () => this.#end());
		}
	}

	#dotAt(event) {
		const { picture } = this.app;
		return picture.dots.hit(picture.geometry, ...pointIn(this.canvas, event), performance.now());
	}

	#pressOnDot(event) {
		const id = this.#dotAt(event);
		if (id !== null) this.#press(event, this.canvas, id);
	}

	#press(event, target, id) {
		if (event.button !== 0) return;
		target.setPointerCapture(event.pointerId);
		this.drag = { id, x: event.clientX, y: event.clientY, far: false };
	}

	#move(event) {
		if (!this.drag) {
			this.#hover(event);
			return;
		}
		const { drag, app } = this;
		drag.far ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > DRAG_FROM;
		if (!drag.far) return;
		const [x, y] = pointIn(this.canvas, event);
		const place = app.picture.geometry.placeAt(x, y);
		const level = Math.floor(place.depth);
		const valid = level >= 0 && level <= app.session.wheel.levels.length;
		const deadline = valid ? deadlineAt(place, level, app.session) : null;
		drag.deadline = deadline !== null && deadline <= LAST_MOMENT ? deadline : null;
		const from = pointIn(this.canvas, { clientX: drag.x, clientY: drag.y });
		app.picture.ghost = { from, x, y, level, valid: drag.deadline !== null };
		this.#tip(drag.deadline === null ? "drop it on a ring" : `due at ${milliseconds(drag.deadline)}`, x, y);
		app.wake();
	}

	#hover(event) {
		const id = event.target === this.canvas ? this.#dotAt(event) : null;
		this.canvas.style.cursor = id === null ? "" : "pointer";
		this.#pointAt(id);
		if (id === null) this.#tip(null);
		else
			this.#tip(
				`${nameOf(id)}, due at ${milliseconds(this.app.session.wheel.deadline(id))}: click to cancel, drag to touch`,
				...pointIn(this.canvas, event),
			);
	}

	// Its trail is shown.
	#pointAt(id) {
		if (this.app.picture.pointedAt === id) return;
		this.app.picture.pointedAt = id;
		this.app.wake();
	}

	#release() {
		const { drag, app } = this;
		this.#end();
		if (!drag) return;
		if (!drag.far && drag.id !== null) app.act("cancel", drag.id);
		else if (drag.far && drag.deadline !== null) attempt(() => app.drop(drag.id, drag.deadline));
	}

	#end() {
		this.drag = null;
		this.app.picture.ghost = null;
		this.#tip(null);
		this.app.wake();
	}

	#tip(text, x, y) {
		const tip = byId("tip");
		tip.hidden = text === null;
		if (text === null) return;
		setText("tip", text);
		const room = this.canvas.clientWidth;
		tip.style.left = `${Math.min(Math.max(x, 90), room - 90)}px`;
		tip.style.top = `${y < 60 ? y + 46 : y - 22}px`;
	}
}
