// SPDX-License-Identifier: MIT
// pawl_wheel_check() looks at every timer. With many of them a worker does so, on a copy of the memory.

const CHECK_EVERY = 2000; // ms, while time flows

const workerSource = `
	onmessage = async ({ data: { module, memory, number } }) => {
		const { exports } = await WebAssembly.instantiate(module, {});
		const missing = memory.byteLength - exports.memory.buffer.byteLength;
		if (missing > 0) exports.memory.grow(missing / 65536);
		const bytes = new Uint8Array(exports.memory.buffer);
		bytes.set(new Uint8Array(memory));
		const broken = exports.check();
		const text = broken ? new TextDecoder().decode(bytes.slice(broken, bytes.indexOf(0, broken))) : null;
		postMessage({ number, broken: text });
	};
`;

class Checker {
	constructor(wheel, onResult) {
		this.wheel = wheel;
		this.last = -Infinity;
		this.waiting = false;
		this.onResult = onResult;
	}

	#start() {
		this.worker = new Worker(URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" })));
		this.worker.onmessage = ({ data }) => {
			this.waiting = false;
			this.onResult(data);
		};
	}

	// Check the wheel as it is, unless a check is under way or has just ended. Returns whether it is under way now.
	ask(number, time, urgent) {
		if (this.waiting || (!urgent && time - this.last < CHECK_EVERY)) return false;
		if (!this.worker) this.#start();
		const memory = this.wheel.copyMemory();
		this.worker.postMessage({ module: this.wheel.module, memory, number }, [memory]);
		this.waiting = true;
		this.last = time;
		return true;
	}
}
