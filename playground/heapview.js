// SPDX-License-Identifier: MIT
// The heap as rows: the first timer at the top, below it its two children, and so on. Entries that were written to glow.

const GLOW = 900; // ms
const GLOWS_MAX = 400;

class HeapView {
	constructor(canvas) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.glows = [];
	}

	note(trace, time) {
		for (const index of trace) this.glows.push({ index, began: time });
		this.glows.splice(0, this.glows.length - GLOWS_MAX);
	}

	moving(time) {
		this.glows = this.glows.filter((glow) => time < glow.began + GLOW);
		return this.glows.length > 0;
	}

	draw(count, time, still) {
		const c = this.context;
		const width = Math.round(this.canvas.clientWidth);
		const height = Math.round(this.canvas.clientHeight);
		const style = getComputedStyle(this.canvas);
		this.canvas.width = width * devicePixelRatio;
		this.canvas.height = height * devicePixelRatio;
		c.scale(devicePixelRatio, devicePixelRatio);
		const rows = Math.max(4, Math.ceil(Math.log2(count + 1)));
		const row = height / rows;
		c.fillStyle = style.getPropertyValue("--heap-cell");
		for (let depth = 0; depth < rows; depth++) this.#row(depth, count, width, row);
		c.fillStyle = style.getPropertyValue("--now");
		for (const glow of this.glows) this.#glow(glow, width, row, still ? 0.5 : 1 - (time - glow.began) / GLOW);
	}

	// Cells narrower than a pixel are drawn as one bar.
	#row(depth, count, width, row) {
		const cells = 2 ** depth;
		const filled = Math.min(cells, Math.max(0, count - (cells - 1)));
		const cell = width / cells;
		if (cell < 3) {
			this.context.fillRect(0, depth * row, filled * cell, row - 2);
			return;
		}
		for (let i = 0; i < filled; i++) this.context.fillRect(i * cell, depth * row, cell - 1, row - 2);
	}

	#glow({ index }, width, row, alpha) {
		const depth = Math.floor(Math.log2(index + 1));
		const cell = width / 2 ** depth;
		this.context.globalAlpha = Math.max(0, Math.min(1, alpha));
		this.context.fillRect((index + 1 - 2 ** depth) * cell, depth * row, Math.max(1.5, cell - 1), row - 2);
		this.context.globalAlpha = 1;
	}
}
