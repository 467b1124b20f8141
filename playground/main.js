// SPDX-License-Identifier: MIT
// The page: the session, its picture and its panels, and the frames in which they go on.

const FRAMES_KEPT = 4000;
const STILL_STEP = 700; // ms between two openings while playing without motion
const THEMES = ["auto", "light", "dark"];

const WELCOME = {
	title: "See it turn",
	text: "Timers come down from level to level until they are due. Watch:",
};
const ON_YOUR_OWN = {
	title: "Your own timers",
	text: "Step jumps to the next opening, Play lets time flow. Tap a dot to cancel it, or drag it to a later place to touch it.",
};
const EXAMPLE = { delay: 450n, count: 200, span: 2000, speed: 100 };

class App {
	constructor(wheel) {
		this.session = new Session(wheel);
		this.picture = new Picture(this.session, byId("rings"), byId("heap"));
		this.logPanel = new LogPanel(byId("log"));
		this.timerPanel = new TimerPanel(byId("timers"), (verb, id) => this.act(verb, id));
		this.checker = new Checker(wheel, (result) => this.#checked(result));
		this.playing = false;
		this.speed = Number(byId("speed").value);
		this.story = null;
		this.manual = false; // a test calls frame() itself
		this.frames = []; // what each frame took
		this.dark = matchMedia("(prefers-color-scheme: dark)");
		this.stillness = matchMedia("(prefers-reduced-motion: reduce)");
		this.#bind();
	}

	#bind() {
		bindForms(this);
		bindTransport(this);
		bindStories(this);
		bindKeys(this);
		this.pointer = new Pointer(this, byId("rings"), byId("handle"));
		const redraw = () => {
			this.picture.still = this.stillness.matches;
			this.picture.resize();
			this.wake();
		};
		new ResizeObserver(redraw).observe(byId("rings"));
		this.stillness.addEventListener("change", redraw);
		this.dark.addEventListener("change", () => this.setTheme(this.theme));
		this.redraw = redraw;
		this.setTheme("auto");
		this.changed({ smooth: false });
	}

	// After a change: update the picture and the panels.
	changed({ smooth = true } = {}) {
		const time = this.manual ? this.time : performance.now(); // the last frame may be long ago
		this.picture.sync(time, { jump: !this.playing, smooth });
		this.#panels();
		this.wake();
	}

	// Nothing waits, and no story is told: the page offers examples.
	get empty() {
		const { session } = this;
		return !this.story && !session.busy && session.wheel.numbers.pending === 0;
	}

	#panels() {
		const { session } = this;
		this.picture.invites = this.empty && session.wheel.levels.length < ROOM_FOR;
		document.body.classList.toggle("empty", this.empty);
		document.body.classList.toggle("beckons", this.picture.invites);
		showNumbers(session, this.checker.waiting);
		showLegend(session);
		this.timerPanel.show(session, this.picture.seen, this.picture.selected);
		this.logPanel.show(session);
		this.#transport();
		this.#tellStory();
		document.body.classList.toggle("with-heap", session.options.heap);
		document.body.classList.toggle("with-ahead", session.options.ahead);
		document.body.classList.toggle("crowded", session.crowded);
	}

	#transport() {
		const { session } = this;
		const scrub = byId("scrub");
		scrub.max = session.ops.length;
		scrub.value = session.busy ? session.position : session.target;
		setText("scrub-label", `${grouped(session.target)} of ${grouped(session.ops.length)}`);
		byId("back").disabled = session.target === 0;
		byId("step").disabled = session.busy || session.wheel.next === NEVER;
		byId("play").disabled = !this.playing && !session.busy && session.wheel.next === NEVER;
		byId("play").setAttribute("aria-pressed", this.playing);
		setText("play-label", this.playing ? "Pause" : "Play");
		byId("play").classList.toggle("on", this.playing);
	}

	wake() {
		if (this.manual || this.scheduled) return;
		this.scheduled = requestAnimationFrame((time) => {
			this.scheduled = 0;
			this.frame(time);
			if (this.playing || this.session.busy || this.picture.moving(time)) this.wake();
		});
	}

	// One frame: time goes on, work is done up to its bound, and the picture is drawn.
	frame(time) {
		const began = performance.now();
		const elapsed = Math.min(100, time - (this.time ?? time));
		this.time = time;
		const busy = this.session.busy;
		this.session.work = 0;
		if (busy) this.session.drain();
		else if (this.playing) this.#flow(time, elapsed);
		if (busy || this.playing) this.changed({ smooth: true });
		this.picture.draw(time, elapsed);
		this.#askForCheck(time);
		this.frames.push({ script: performance.now() - began, work: this.session.work });
		if (this.frames.length > FRAMES_KEPT) this.frames.shift();
	}

	#flow(time, elapsed) {
		const { session, picture } = this;
		if (session.wheel.next === NEVER) {
			this.setPlaying(false);
			return;
		}
		if (picture.still) {
			if (time - (this.stepped ?? 0) < STILL_STEP) return;
			this.stepped = time;
			session.stepForward();
			return;
		}
		const passed = picture.fraction + (elapsed * this.speed) / 1000;
		picture.fraction = passed % 1;
		const to = session.wheel.now + BigInt(Math.floor(passed));
		if (to > session.wheel.now) session.flow(to < LAST_MOMENT ? to : LAST_MOMENT);
	}

	// With many timers a worker checks: whenever all is done, and now and then while time flows.
	#askForCheck(time) {
		const { session } = this;
		const unchecked = this.checkedAt !== session.position || this.checkedGeneration !== session.generation;
		if (session.busy || !unchecked || session.wheel.numbers.pending <= CHECKED_AT_ONCE) return;
		if (!this.checker.ask(session.generation, time, !this.playing)) return;
		this.checkedAt = session.position;
		this.checkedGeneration = session.generation;
		showNumbers(session, true);
	}

	#checked({ number, broken }) {
		if (number === this.session.generation) {
			this.session.checks++;
			this.session.broken ??= broken;
		}
		showNumbers(this.session, false);
		this.wake();
	}

	setPlaying(playing) {
		this.playing = playing;
		if (playing && !this.manual) this.time = performance.now(); // time did not flow until now
		if (!playing) this.picture.fraction = 0;
		this.#transport();
		this.wake();
	}

	step() {
		this.setPlaying(false);
		if (!this.session.busy && this.session.stepForward()) this.changed();
	}

	scrub(position) {
		this.setPlaying(false);
		if (position < 0 || position > this.session.ops.length) return;
		this.session.scrub(position);
		this.changed({ smooth: !this.session.busy });
	}

	// As typed.
	delay() {
		return read("delay", (text) => parseDelay(text, this.session.now));
	}

	// Touch or cancel a timer that is chosen in the list, by a key or by the pointer.
	act(verb, id) {
		if (id === null) return;
		attempt(() => {
			if (verb === "cancel") this.session.cancel(id);
			else this.session.touch(id, this.delay());
			this.changed();
		});
	}

	// A timer was dragged onto a ring: a new one is armed, an armed one is touched.
	drop(id, deadline) {
		const delay = deadline - this.session.now;
		if (id === null) this.session.arm(delay);
		else this.session.touch(id, delay);
		this.changed();
	}

	// The next timer by its deadline, or the one before.
	select(direction) {
		const ids = this.picture.seen
			.map(({ id }) => ({ id, deadline: this.session.wheel.deadline(id) }))
			.sort((a, b) => (a.deadline < b.deadline ? -1 : a.deadline > b.deadline ? 1 : a.id - b.id))
			.map(({ id }) => id);
		if (ids.length === 0) return;
		const at = ids.indexOf(this.picture.selected);
		const next = at < 0 ? (direction > 0 ? 0 : ids.length - 1) : (at + direction + ids.length) % ids.length;
		this.picture.selected = ids[next];
		this.#panels();
		this.wake();
	}

	startStory(story) {
		this.setPlaying(false);
		byId("message").textContent = "";
		this.session.restart(story.options);
		this.picture.dots.clear();
		this.story = { story, index: -1, marks: [] };
		this.#showOptions();
		document
			.querySelector(`[data-story="${story.id}"]`)
			.scrollIntoView({ block: "nearest", inline: "center" });
		if (story.speed) byId("speed").value = this.speed = story.speed;
		this.changed({ smooth: false });
		this.nextStep();
	}

	// One of the examples of the empty page.
	watch(arm) {
		arm(this.session);
		byId("speed").value = this.speed = EXAMPLE.speed;
		this.changed();
		this.setPlaying(true);
	}

	leaveStory() {
		this.story = null;
	}

	#showOptions() {
		const { tick, wheelSize, chains, heap } = this.session.options;
		byId("tick").value = grouped(tick);
		byId("size").value = grouped(wheelSize);
		byId("chains").value = chains;
		byId("heap-on").checked = heap;
	}

	nextStep() {
		const { story } = this;
		if (!story) {
			this.startStory(STORIES[0]);
			return;
		}
		if (this.session.busy || story.index + 1 >= story.story.steps.length) return;
		this.setPlaying(false);
		story.marks.length = ++story.index;
		story.marks.push(this.session.target);
		story.story.steps[story.index].run(this.session);
		this.changed();
	}

	previousStep() {
		const { story } = this;
		if (!story || story.index <= 0) return;
		this.scrub(story.marks[story.index--]);
	}

	#tellStory() {
		const told = this.story;
		for (const button of document.querySelectorAll("[data-story]"))
			button.setAttribute("aria-current", button.dataset.story === told?.story.id ? "true" : "false");
		byId("story-back").hidden = !told;
		setText("story-next", told ? "Next" : "First story");
		if (!told) {
			const { title, text } = this.empty ? WELCOME : ON_YOUR_OWN;
			setText("story-title", title);
			setText("story-text", text);
			setText("story-progress", "");
			byId("story-next").disabled = false;
			return;
		}
		const { story, index } = told;
		const { text } = story.steps[Math.max(0, index)];
		setText("story-title", story.title);
		setText("story-progress", `${index + 1} of ${story.steps.length}`);
		setText(
			"story-text",
			this.session.busy ? "One moment…" : typeof text === "string" ? text : text(this.session),
		);
		byId("story-next").disabled = this.session.busy || index + 1 === story.steps.length;
		byId("story-back").disabled = index <= 0;
	}

	nextTheme() {
		this.setTheme(THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length]);
	}

	setTheme(theme) {
		this.theme = theme;
		document.documentElement.dataset.theme =
			theme === "auto" ? (this.dark.matches ? "dark" : "light") : theme;
		setText("theme-label", theme);
		this.redraw();
	}
}

Wheel.compile(document.getElementById("wasm").textContent.trim())
	.then((wheel) => {
		window.playground = new App(wheel);
	})
	.catch((error) => {
		byId("message").textContent = `This browser cannot run the playground: ${error.message}`;
		throw error;
	});
