// SPDX-License-Identifier: MIT
// The picture of a session: what is to be drawn, and what is on its way.

const SWEEP = 450; // ms for the hands to follow a jump of the clock
const RING_GROWTH = 140; // ms in which most of the way to another number of rings is done
const SIDE_MIN = 60; // px
const TRAILS_MAX = 8; // up to so many timers each has its trail; among more, only the chosen one
const INTO_THE_HUB = -0.12; // depth at which the trail of a due timer ends
const MICRO = 1000n; // hands are drawn more finely than the wheel counts

class Picture {
	constructor(session, canvas, heapCanvas) {
		this.session = session;
		this.rings = new Rings(canvas);
		this.heapView = new HeapView(heapCanvas);
		this.dots = new Dots();
		this.shownLevels = 1;
		this.sweep = { from: 0n, to: 0n, began: -Infinity };
		this.fraction = 0; // of a millisecond, while time flows
		this.seen = [];
		this.side = this.rings.fit();
		this.selected = null;
		this.pointedAt = null;
		this.ghost = null;
		this.invites = false; // the ring that would come into being next is shown
		this.still = false;
	}

	// Rings to make room for: while a timer is dragged, one more than there are.
	get #goal() {
		return this.session.wheel.levels.length + (this.ghost ? 1 : 0);
	}

	get geometry() {
		return new Geometry(this.side, this.shownLevels, this.session.options.wheelSize);
	}

	resize() {
		this.side = this.rings.fit();
		this.rings.recolour();
		this.sync(performance.now(), { smooth: false });
	}

	// The session changed. `jump`: the clock jumps, and the dots set out when the hands have arrived.
	sync(time, { jump = false, smooth = true }) {
		const { session } = this;
		const still = this.still || !smooth;
		if (still) this.shownLevels = this.#goal;
		this.seen = session.crowded ? [] : session.wheel.each(DOTS_MAX);
		if (session.crowded) {
			this.dots.dots.clear();
			if (!still) this.dots.spark(session.flows, session.options.wheelSize, time);
		}
		this.#jumpTo(session.wheel.now, time, jump && !still);
		const delay = time < this.sweep.began + SWEEP ? this.sweep.began + SWEEP - time : 0;
		// Dots are packed for the rings as they will be, not as they are while one grows.
		const geometry = new Geometry(this.side, this.#goal, session.options.wheelSize);
		this.dots.sync(this.seen, geometry, { time, delay, cancelled: session.cancelled, still });
		session.cancelled = new Set();
		if (session.options.heap) this.heapView.note(session.wheel.heapTrace(), time);
		if (!this.seen.some(({ id }) => id === this.selected)) this.selected = null;
	}

	#jumpTo(now, time, smooth) {
		const from = smooth ? this.#shownTime(time) : now * MICRO;
		if (now * MICRO === this.sweep.to && smooth) return;
		this.sweep = { from, to: now * MICRO, began: smooth ? time : -Infinity };
	}

	// In millionths of a second.
	#shownTime(time) {
		const { from, to, began } = this.sweep;
		const t = Math.min(1, (time - began) / SWEEP);
		if (t < 1) return from + ((to - from) * BigInt(Math.round(ease(Math.max(0, t)) * 10000))) / 10000n;
		return to + BigInt(Math.floor(this.fraction * 1000));
	}

	moving(time) {
		const growing = this.shownLevels !== this.#goal;
		const hot = this.session.options.heap && this.heapView.moving(time);
		return growing || hot || time < this.sweep.began + SWEEP || this.dots.moving(time);
	}

	#grow(elapsed) {
		const goal = this.#goal;
		const way = goal - this.shownLevels;
		if (this.still || Math.abs(way) < 0.005) this.shownLevels = goal;
		else this.shownLevels += way * (1 - Math.exp(-elapsed / RING_GROWTH));
	}

	draw(time, elapsed) {
		this.#grow(elapsed);
		if (this.side < SIDE_MIN) return; // the page is not laid out yet, or too small to be seen
		const { session } = this;
		const shown = this.#shownTime(time);
		const levels = this.#levels(shown);
		const hottest = Math.max(...levels.map((level) => level.hottest));
		const extra = this.ghost || this.invites ? [{ number: levels.length, ready: false, alpha: 0.7 }] : [];
		this.rings.draw({
			geometry: this.geometry,
			levels: [...levels, ...extra],
			crowded: session.crowded,
			hottest,
			trails: this.#trails(time),
			dots: this.dots.visible(time),
			sparks: this.dots.sparks(time),
			selected: this.selected,
			ghost: this.ghost,
			lettered: this.seen.length <= FEW,
			nameOf,
		});
		this.#clock(shown / MICRO);
		setText("hottest", `${counted(hottest, "timer")} in a slot`);
		if (session.options.heap) this.heapView.draw(session.wheel.numbers.heapCount, time, this.still);
	}

	// From each place to the next, and to where the dot is now.
	#trails(time) {
		const { trails, gone } = this.session;
		const waiting = this.seen.map(({ id }) => id).filter((id) => trails.has(id));
		const chosen = (id) => id === this.selected || id === this.pointedAt;
		const some = (ids) => (ids.length <= TRAILS_MAX ? ids : ids.filter(chosen));
		const { geometry } = this;
		const trail = (id, places) => {
			const passed = places.map(({ level, slot }) => geometry.middleOf(level, slot));
			const now = this.dots.where(id, time) ?? { turn: passed.at(-1).turn, depth: INTO_THE_HUB };
			return { id, points: [...passed, now] };
		};
		return [
			...some(waiting).map((id) => trail(id, trails.get(id).slice(0, -1))),
			...some(gone).map((id) => trail(id, trails.get(id))),
		];
	}

	#levels(shown) {
		const { tick, wheelSize } = this.session.options;
		return this.session.wheel.levels.map((ready, number) => {
			const turn = tick * MICRO * BigInt(wheelSize) ** BigInt(number + 1);
			const hand = Number(shown % turn) / Number(turn);
			const segments = segmentsOf(this.session.wheel.counts(number));
			return {
				number,
				ready,
				alpha: Math.min(1, Math.max(0, this.shownLevels - number)),
				hand,
				current: Math.min(segments.length - 1, Math.floor(hand * segments.length)),
				segments,
				hottest: segments.reduce((most, count) => Math.max(most, count), 0),
			};
		});
	}

	// The middle: the time, and how long the wheel may sleep.
	#clock(now) {
		const next = this.session.wheel.next;
		setText("now", milliseconds(now));
		setText("next-label", next === NEVER ? "sleeps:" : "sleeps until");
		setText("next", next === NEVER ? "nothing waits" : milliseconds(next));
		for (const id of ["now", "next"])
			byId(id).style.setProperty("--digits", Math.max(8, byId(id).textContent.length));
	}
}
