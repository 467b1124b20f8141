// SPDX-License-Identifier: MIT
// The operations so far, and the wheel on which they were carried out.
//
// Everything is an operation on a list: arm, touch, cancel, fill, advance, ahead. Going back is starting again and
// repeating the first of them. Another tick or wheel size repeats the same operations on another wheel.
//
// Operations are carried out by drain(), which stops when it has done enough for one frame and goes on in the next:
// a million timers take many frames, and no frame is long.

const WORK_PER_FRAME = 10000; // timers armed, moved or popped
const WORK_OF_AN_OPENING = 16; // besides its timers...
const WORK_OF_TELLING = 60; // ...and more if it is told of and checked
const TOLD_PER_OPENING = 6; // timers of which the log tells; the others are counted
const DOTS_MAX = 2048; // timers that are drawn and told of one by one; beyond, slots are coloured by their number
const FLOWS_MAX = 40; // how many of the others are shown on their way in a frame
const CHECKED_AT_ONCE = 10000; // timers up to which each operation is followed by a check; beyond, a worker does it

const DEFAULTS = { tick: 1n, wheelSize: 20, chains: 1, capacity: DOTS_MAX, heap: false, ahead: false };

function nameOf(id) {
	if (id >= 26 * 27) return grouped(id);
	const last = String.fromCharCode(65 + (id % 26));
	return id < 26 ? last : String.fromCharCode(64 + Math.floor(id / 26)) + last;
}

class Session {
	constructor(wheel) {
		this.wheel = wheel;
		this.restart(DEFAULTS);
	}

	// Forget everything, and begin with a wheel of these options.
	restart(options) {
		this.ops = [];
		this.options = { ...DEFAULTS, ...options };
		this.replay(0);
	}

	// Carry out the first `position` operations on a new wheel.
	replay(position) {
		this.wheel.begin(this.options);
		this.position = 0; // operations done
		this.target = position; // operations to do
		this.progress = null; // of the operation at hand
		this.ahead = 0; // moves ahead in each tick
		this.log = [];
		this.tally = new Map(); // by id: calls that changed lists, calls that were a store, moves by advance
		this.broken = null;
		this.checks = 0;
		this.cancelled = new Set();
		this.flows = [];
		this.trails = new Map(); // by id: the places of a timer that has moved, the first one first
		this.gone = []; // timers that became due at the latest opening: their trails stay until something is done
		this.generation = (this.generation ?? 0) + 1;
		this.drain();
	}

	// The same operations with other options. If there is no memory for them, all stays as it was.
	reconfigure(options) {
		const before = this.options;
		this.options = { ...before, ...options };
		try {
			this.replay(this.target);
		} catch (error) {
			this.options = before;
			this.replay(this.target);
			throw error;
		}
	}

	scrub(position) {
		if (position > this.target) {
			this.target = position;
			this.drain();
		} else if (position < this.target) {
			this.replay(position);
		}
	}

	get busy() {
		return this.position < this.target;
	}

	get crowded() {
		return this.options.capacity > DOTS_MAX;
	}

	// A new operation comes after those carried out; operations that were undone are forgotten.
	perform(op) {
		this.ops.length = this.target;
		this.ops.push(op);
		this.target++;
		this.drain();
	}

	// The next free timers. If more memory is needed, start again in a larger one.
	takeIds(count) {
		const first = this.ops
			.slice(0, this.target)
			.reduce((ids, op) => ids + (op.count ?? (op.op === "arm" && !op.again ? 1 : 0)), 0);
		if (first + count > TIMERS_MAX)
			throw new Refused(
				`${counted(first, "timer")} ${first === 1 ? "was" : "were"} armed since the beginning, and there is room for ${grouped(TIMERS_MAX)}: clear first`,
			);
		if (first + count > this.options.capacity) {
			const capacity = 2 ** Math.ceil(Math.log2(first + count));
			this.reconfigure({ capacity });
		}
		return first;
	}

	// The time at which a new operation happens: the wheel's, once all operations are carried out.
	get now() {
		const advances = this.ops.slice(this.position, this.target).filter((op) => op.op === "advance");
		return advances.length ? advances[advances.length - 1].to : this.wheel.now;
	}

	arm(delay) {
		const id = this.takeIds(1);
		this.perform({ op: "arm", id, deadline: this.now + delay });
		return id;
	}

	rearm(id, delay) {
		this.perform({ op: "arm", id, deadline: this.now + delay, again: true });
	}

	touch(id, delay) {
		this.perform({ op: "touch", id, deadline: this.now + delay });
	}

	cancel(id) {
		this.perform({ op: "cancel", id });
	}

	fill(count, span, seed = 1) {
		const first = this.takeIds(count);
		this.perform({ op: "fill", first, count, span, seed });
	}

	advance(to) {
		this.perform({ op: "advance", to });
	}

	// From now on, this many moves ahead in each tick. Not where the log names each timer: its words are about openings.
	moveAhead(movesATick) {
		if (!this.crowded) throw new Error("timers are moved ahead only on a crowded wheel");
		this.perform({ op: "ahead", movesATick });
	}

	// To the next opening. False if nothing waits.
	stepForward() {
		const next = this.wheel.next;
		if (next === NEVER) return false;
		this.advance(next);
		return true;
	}

	// Time goes on by itself: operations in which nothing happened become one.
	flow(to) {
		const last = this.ops[this.target - 1];
		const idle = this.wheel.next > to && !this.ahead;
		if (this.target === this.ops.length && last?.op === "advance" && last.idle && idle) {
			last.to = to;
			this.wheel.step(to, 0);
			return;
		}
		this.perform({ op: "advance", to, idle, flows: true });
	}

	drain() {
		let left = WORK_PER_FRAME;
		while (this.busy && left > 0) {
			const op = this.ops[this.position];
			if (!this.progress) this.#begin(op);
			left -= this[`do_${op.op}`](op, left);
			if (this.progress.finished) this.#finish();
		}
		if (this.crowded) {
			this.wheel.follow();
			this.#keepFlows();
		}
		this.work = WORK_PER_FRAME - left;
		return this.work;
	}

	#begin(op) {
		this.progress = { done: 0, began: this.wheel.now };
		if (op.op !== "advance") this.#forgetGone();
	}

	#forgetGone() {
		for (const id of this.gone) this.trails.delete(id);
		this.gone = [];
	}

	// A timer moved; with what it passed before, that is its trail.
	#passed(id, from, to) {
		if (!this.trails.has(id)) this.trails.set(id, [from]);
		if (to) this.trails.get(id).push(to);
	}

	#finish() {
		this.progress = null;
		this.position++;
		if (!this.busy) this.#checkNow();
	}

	#checkNow() {
		if (this.wheel.numbers.pending > CHECKED_AT_ONCE) return;
		this.checks++;
		this.broken ??= this.wheel.check();
	}

	#say(id, text) {
		this.log.push({ id, text });
	}

	#count(id, what) {
		if (!this.tally.has(id)) this.tally.set(id, { changes: 0, stores: 0, moves: 0 });
		this.tally.get(id)[what]++;
	}

	do_ahead(op) {
		this.ahead = op.movesATick;
		this.wheel.ahead(op.movesATick);
		this.progress.finished = true;
		this.#say(
			null,
			`From ${milliseconds(this.wheel.now)} on, ${counted(op.movesATick, "timer")} a tick ${op.movesATick === 1 ? "moves before its slot opens" : "move before their slots open"}.`,
		);
		return 1;
	}

	do_arm(op) {
		this.trails.delete(op.id); // that was for another deadline
		this.wheel.arm(op.id, op.deadline);
		return this.#done(op.id, "changes", this.#wordsOfPlace(op.id));
	}

	do_touch(op) {
		const before = this.wheel.numbers.puts;
		const from = this.wheel.place(op.id);
		this.wheel.touch(op.id, op.deadline);
		const what = this.wheel.numbers.puts > before ? "changes" : "stores";
		if (from && what === "changes") this.#passed(op.id, from, this.wheel.place(op.id));
		return this.#done(op.id, what, this.#wordsOfPlace(op.id));
	}

	do_cancel(op) {
		this.wheel.cancel(op.id);
		this.trails.delete(op.id);
		this.cancelled.add(op.id);
		return this.#done(op.id, "changes", this.wheel.words());
	}

	// The words of a journey hold for a wheel without moves ahead.
	#wordsOfPlace(id) {
		if (!this.ahead) return this.wheel.words();
		const place = this.wheel.place(id);
		const where = place ? `It waits on level ${place.level}, slot ${grouped(place.slot)}.` : "It is due at once.";
		return `At ${milliseconds(this.wheel.now)} it is armed, due at ${milliseconds(this.wheel.deadline(id))}. ${where}`;
	}

	#done(id, what, words) {
		this.#say(id, words);
		this.#count(id, what);
		this.#checkNow();
		this.progress.finished = this.#popAll(WORK_PER_FRAME).empty;
		this.wheel.forgetMoved(); // what was due at once, as the words say
		return 1;
	}

	do_fill(op, left) {
		const count = Math.min(op.count - this.progress.done, left);
		this.wheel.fill(op.first + this.progress.done, count, op.span, this.progress.done ? 0 : op.seed);
		this.progress.done += count;
		this.progress.finished = this.progress.done === op.count;
		if (this.progress.finished)
			this.#say(
				null,
				`At ${milliseconds(this.wheel.now)} ${counted(op.count, "timer")} ${op.count === 1 ? "is" : "are"} armed, due within ${milliseconds(op.span)}.`,
			);
		return count;
	}

	// As far as the bound allows: opening by opening, and due timers are popped after each, before time goes on.
	do_advance(op, left) {
		let work = 0;
		while (work < left && !this.progress.finished) {
			const moves = this.progress.popping ? 0 : this.wheel.step(op.to, left - work);
			const popped = this.#popAll(left - work);
			this.progress.popping = !popped.empty;
			this.wheel.heapExpire(left - work);
			work += moves + popped.count + WORK_OF_AN_OPENING;
			this.progress.finished = popped.empty && this.wheel.now >= op.to;
			if (moves > 0 && !this.crowded) work += this.#tellOpening();
		}
		if (this.progress.finished && this.crowded) this.#tellPassage(op);
		return work;
	}

	// While time flows, an operation a frame, it is one line that grows.
	#tellPassage(op) {
		const last = this.log.at(-1);
		const began = op.flows && last?.flows ? last.began : this.progress.began;
		const { pending } = this.wheel.numbers;
		const text = `From ${milliseconds(began)} to ${milliseconds(op.to)}: ${counted(pending, "timer")} ${pending === 1 ? "is" : "are"} pending.`;
		if (op.flows && last?.flows) last.text = text;
		else this.log.push({ id: null, text, flows: op.flows, began });
	}

	#popAll(max) {
		let count = 0;
		while (count < max && this.wheel.pop() !== null) count++;
		return { count, empty: count < max };
	}

	// Returns how much work that was.
	#tellOpening() {
		this.wheel.follow();
		this.#checkNow();
		const moved = this.wheel.moved(DOTS_MAX);
		this.#forgetGone();
		moved.forEach(({ id, due, fromLevel, fromSlot, level, slot }, index) => {
			this.#count(id, "moves");
			this.#passed(id, { level: fromLevel, slot: fromSlot }, due ? null : { level, slot });
			if (due) this.gone.push(id);
			if (index < TOLD_PER_OPENING) this.#say(id, this.wheel.tell(index));
		});
		const more = moved.length - TOLD_PER_OPENING;
		const what = more === 1 ? "timer moves down or is due" : "timers move down or are due";
		if (more > 0) this.#say(null, `At ${milliseconds(this.wheel.now)} ${grouped(more)} more ${what}.`);
		this.wheel.forgetMoved();
		return WORK_OF_TELLING + Math.floor(this.wheel.numbers.pending / 8);
	}

	// If there are too many to name, a few are shown on their way.
	#keepFlows() {
		this.flows = this.wheel.moved(FLOWS_MAX);
		this.wheel.forgetMoved();
	}
}
