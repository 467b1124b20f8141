// SPDX-License-Identifier: MIT
// Timers as dots that travel: each knows where it comes from, where it goes, and when it set out.

const TRAVEL = 700; // ms
const LEAVE = 500;
const HUES = 8;
const DOT_MAX = 22; // px across, for few timers...
const DOT_OF_MANY = 12; // ...and for many, which have no letters
const FEW = 40;

const ease = (t) => (t < 0.5 ? 4 * t * t * t : 1 - (-2 * t + 2) ** 3 / 2);
const between = (a, b, t) => a + (b - a) * t;

// The shorter way round.
function betweenTurns(a, b, t) {
	const way = ((b - a + 1.5) % 1) - 0.5;
	return a + way * t;
}

// Round and inwards at the same time.
const onTheWay = (from, to, t) => [betweenTurns(from.turn, to.turn, t), between(from.depth, to.depth, t)];

class Dots {
	constructor() {
		this.dots = new Map();
		this.leaving = [];
		this.flows = [];
	}

	clear() {
		this.dots.clear();
		this.leaving = [];
		this.flows = [];
	}

	// The timers are now as in `seen`, in the order of each slot's list. `delay`: they set out that much later.
	sync(seen, geometry, { time, delay, cancelled, still }) {
		const goals = this.#goals(seen, geometry);
		for (const [id, dot] of this.dots)
			if (!goals.has(id)) {
				this.dots.delete(id);
				if (!still)
					this.leaving.push({
						...dot,
						from: this.#at(dot, time),
						began: time + (cancelled.has(id) ? 0 : delay),
						cancelled: cancelled.has(id),
					});
			}
		for (const [id, goal] of goals) this.#send(id, goal, time, delay, still);
	}

	#goals(seen, geometry) {
		const slots = new Map();
		for (const { id, level, slot } of seen) {
			const key = level * 65536 + slot;
			if (!slots.has(key)) slots.set(key, { level, slot, ids: [] });
			slots.get(key).ids.push(id);
		}
		const goals = new Map();
		const largest = seen.length > FEW ? DOT_OF_MANY : DOT_MAX;
		for (const { level, slot, ids } of slots.values())
			geometry.pack(level, slot, ids.length, largest).forEach((goal, i) => goals.set(ids[i], goal));
		return goals;
	}

	#send(id, goal, time, delay, still) {
		const dot = this.dots.get(id);
		const hub = { turn: goal.turn, depth: -0.35, diameter: 4 };
		if (!dot) {
			this.dots.set(id, { id, goal, from: still ? goal : hub, began: still ? -Infinity : time });
			return;
		}
		if (dot.goal.turn === goal.turn && dot.goal.depth === goal.depth && dot.goal.diameter === goal.diameter)
			return;
		const far =
			Math.floor(dot.goal.depth) !== Math.floor(goal.depth) || Math.abs(dot.goal.turn - goal.turn) > 1e-3;
		dot.from = still ? goal : this.#at(dot, time);
		dot.goal = goal;
		dot.began = still ? -Infinity : far ? time + delay : time;
	}

	#at(dot, time) {
		const t = ease(Math.min(1, Math.max(0, (time - dot.began) / TRAVEL)));
		return {
			turn: betweenTurns(dot.from.turn, dot.goal.turn, t),
			depth: between(dot.from.depth, dot.goal.depth, t),
			diameter: between(dot.from.diameter, dot.goal.diameter, t),
		};
	}

	// A few of many timers on their way, as sparks.
	spark(moved, wheelSize, time) {
		for (const m of moved) {
			const from = { turn: (m.fromSlot + Math.random()) / wheelSize, depth: m.fromLevel + 0.5 };
			const goal = m.due
				? { turn: from.turn, depth: -0.4 }
				: { turn: (m.slot + 0.5) / wheelSize, depth: m.level + 0.5 };
			if (this.flows.length < 300) this.flows.push({ from, goal, began: time });
		}
	}

	// Whether any dot is still moving; dots that have arrived or left are forgotten.
	moving(time) {
		this.leaving = this.leaving.filter((dot) => time < dot.began + LEAVE);
		this.flows = this.flows.filter((flow) => time < flow.began + TRAVEL);
		if (this.leaving.length || this.flows.length) return true;
		for (const dot of this.dots.values()) if (time < dot.began + TRAVEL) return true;
		return false;
	}

	// Where a timer's dot is at this time, even while it leaves; null once it has left.
	where(id, time) {
		if (this.dots.has(id)) return this.#at(this.dots.get(id), time);
		const leaving = this.leaving.find((dot) => dot.id === id && !dot.cancelled);
		return leaving && time < leaving.began + LEAVE ? this.#departing(leaving, time) : null;
	}

	// Every dot as it is at this time: where, how large, how faint.
	*visible(time) {
		for (const dot of this.dots.values()) yield { id: dot.id, ...this.#at(dot, time), alpha: 1 };
		for (const dot of this.leaving) yield { id: dot.id, ...this.#departing(dot, time) };
	}

	// A due timer falls into the hub; a cancelled one vanishes where it was.
	#departing(dot, time) {
		const t = Math.min(1, Math.max(0, (time - dot.began) / LEAVE));
		if (dot.cancelled) return { ...dot.from, diameter: dot.from.diameter * (1 + t), alpha: 1 - t };
		return {
			turn: dot.from.turn,
			depth: between(dot.from.depth, -0.25, ease(t)),
			diameter: dot.from.diameter,
			alpha: 1 - t * t,
		};
	}

	*sparks(time) {
		for (const { from, goal, began } of this.flows) {
			const t = ease(Math.min(1, (time - began) / TRAVEL));
			yield {
				turn: betweenTurns(from.turn, goal.turn, t),
				depth: between(from.depth, goal.depth, t),
				alpha: 1 - t,
			};
		}
	}

	// The dot at a point of the picture, with some room for fingers.
	hit(geometry, x, y, time) {
		let best = null;
		let distance = Infinity;
		for (const dot of this.visible(time)) {
			if (!this.dots.has(dot.id)) continue;
			const [dx, dy] = geometry.point(dot.turn, dot.depth);
			const away = Math.hypot(dx - x, dy - y) - dot.diameter / 2;
			if (away < 6 && away < distance) [best, distance] = [dot.id, away];
		}
		return best;
	}
}
