// SPDX-License-Identifier: MIT
// The wheel itself: libpawl's, behind the functions of glue.h. Times are BigInt.

const NEVER = 2n ** 64n - 1n;
const NO_TIMER = 0xffffffff;
const NUMBERS = [
	"pending",
	"puts",
	"moves",
	"openings",
	"empty",
	"popped",
	"heapCount",
	"heapComparisons",
	"heapMoves",
	"movesAhead",
	"mostMoves",
	"mostWithAhead",
];

// Calls of glue.h that are the same here.
const PASSED_ON = ["arm", "touch", "cancel", "fill", "step", "ahead", "follow", "heapExpire", "forgetMoved"];

const unsigned = (number) => BigInt.asUintN(64, number);

class Wheel {
	static async compile(base64) {
		const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
		const module = await WebAssembly.compile(bytes);
		return new Wheel(module, await WebAssembly.instantiate(module, {}));
	}

	constructor(module, instance) {
		this.module = module;
		this.calls = instance.exports;
		for (const name of PASSED_ON) this[name] = this.calls[name];
	}

	// A view of the memory, made each time: it becomes invalid when the memory grows.
	#words(address, count) {
		return new Uint32Array(this.calls.memory.buffer, address, count);
	}

	#text(address) {
		const bytes = new Uint8Array(this.calls.memory.buffer, address);
		return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
	}

	begin(options) {
		const { tick, wheelSize, chains, capacity, heap } = options;
		this.wheelSize = wheelSize;
		if (!this.calls.init(tick, wheelSize, chains, capacity, heap))
			throw new Refused(
				`There is no memory for a wheel of ${wheelSize} slots and ${grouped(capacity)} timers`,
			);
	}

	pop() {
		const id = this.calls.pop() >>> 0;
		return id === NO_TIMER ? null : id;
	}

	get now() {
		return unsigned(this.calls.now());
	}

	get next() {
		return unsigned(this.calls.next());
	}

	deadline(id) {
		return unsigned(this.calls.deadline(id));
	}

	// The levels that have been needed so far.
	get levels() {
		const bits = unsigned(this.calls.levels());
		return Array.from({ length: bits.toString(2).length }, (_, level) =>
			Boolean((bits >> BigInt(level)) & 1n),
		);
	}

	place(id) {
		const [waits, level, slot, low, high] = this.#words(this.calls.place(id), 5);
		return waits ? { level, slot, opens: (BigInt(high) << 32n) | BigInt(low) } : null;
	}

	get numbers() {
		const words = this.#words(this.calls.numbers(), NUMBERS.length);
		return Object.fromEntries(NUMBERS.map((name, i) => [name, words[i]]));
	}

	check() {
		const broken = this.calls.check();
		return broken ? this.#text(broken) : null;
	}

	// How many timers are in each slot of a level.
	counts(level) {
		return this.#words(this.calls.counts() + level * this.wheelSize * 4, this.wheelSize);
	}

	// The first timers as pawl_wheel_each() meets them.
	each(max) {
		const count = this.calls.each(max);
		const words = this.#words(this.calls.seen(), count * 3);
		return Array.from({ length: count }, (_, i) => ({
			id: words[3 * i],
			level: words[3 * i + 1],
			slot: words[3 * i + 2],
		}));
	}

	// The timers that moved or were popped since forgetMoved(), at most `max`.
	moved(max) {
		const count = Math.min(max, this.calls.movedCount());
		const words = this.#words(this.calls.moved(), count * 6);
		return Array.from({ length: count }, (_, i) => {
			const [id, due, fromLevel, fromSlot, level, slot] = words.subarray(6 * i, 6 * i + 6);
			return { id, due: Boolean(due), fromLevel, fromSlot, level, slot };
		});
	}

	words() {
		return groupedIn(this.#text(this.calls.words()));
	}

	// The words of `pawl explain` for the moved timer with this index.
	tell(index) {
		return this.calls.tell(index) ? this.words() : "";
	}

	// The first indexes in the heap's array written to since the last call.
	heapTrace() {
		const trace = Array.from(this.#words(this.calls.trace(), this.calls.traceCount()));
		this.calls.forgetTrace();
		return trace;
	}

	copyMemory() {
		return this.calls.memory.buffer.slice(0);
	}
}
