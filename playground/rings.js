// SPDX-License-Identifier: MIT
// The wheels as rings: slots, hands, trails, dots. It knows nothing of the session.

const SEGMENTS_MAX = 720; // beyond so many slots, neighbours are drawn as one
const HEAT_STEPS = 24;
const LEG_POINTS = 24; // by which the bent way from one place to the next is drawn
const LETTERED = 13; // px: dots as large as this have their letters

class Rings {
	constructor(canvas) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.recolour();
	}

	recolour() {
		const style = getComputedStyle(this.canvas);
		const colour = (name) => style.getPropertyValue(`--${name}`).trim();
		this.colours = Object.fromEntries(
			["track", "lit", "now", "now-soft", "ink", "muted", "card", "spark", "on-dot"].map((name) => [
				name,
				colour(name),
			]),
		);
		this.hues = Array.from({ length: HUES }, (_, i) => colour(`dot-${i}`));
		this.heat = ramp(
			[0, 1, 2, 3].map((i) => colour(`heat-${i}`)),
			HEAT_STEPS,
		);
		this.font = style.fontFamily;
	}

	// The picture is square, and as sharp as the screen. Returns its side in CSS pixels.
	fit() {
		const side = Math.round(this.canvas.clientWidth);
		const pixels = Math.round(side * devicePixelRatio);
		if (this.canvas.width !== pixels) this.canvas.width = this.canvas.height = pixels;
		return side;
	}

	draw(scene) {
		const c = this.context;
		const scale = this.canvas.width / scene.geometry.size;
		c.setTransform(scale, 0, 0, scale, 0, 0);
		c.clearRect(0, 0, scene.geometry.size, scene.geometry.size);
		for (const level of scene.levels) this.#level(scene, level);
		for (const trail of scene.trails) this.#trail(scene, trail);
		if (scene.geometry.numbered) for (const level of scene.levels) this.#numbers(scene, level);
		for (const spark of scene.sparks) this.#spark(scene, spark);
		for (const dot of scene.dots) this.#dot(scene, dot);
		if (scene.ghost) this.#ghost(scene);
		c.globalAlpha = 1;
	}

	#level(scene, level) {
		this.context.globalAlpha = level.alpha;
		if (!level.ready) {
			this.#outline(scene.geometry, level.number);
			return;
		}
		if (scene.crowded) this.#hotSlots(scene, level);
		else this.#slots(scene, level);
		this.#hand(scene.geometry, level);
	}

	#outline(geometry, number) {
		const c = this.context;
		c.beginPath();
		c.arc(geometry.centre, geometry.centre, geometry.radiusAt(number + 0.5), 0, 2 * Math.PI);
		c.setLineDash([3, 6]);
		c.strokeStyle = this.colours.muted;
		c.lineWidth = 1;
		c.stroke();
		c.setLineDash([]);
	}

	// One path for all slots of a kind.
	#slots({ geometry }, level) {
		const paths = { track: [], lit: [], now: [] };
		level.segments.forEach((count, i) => {
			paths[i === level.current ? "now" : count > 0 ? "lit" : "track"].push(i);
		});
		this.#wedges(geometry, level, paths.track, this.colours.track);
		this.#wedges(geometry, level, paths.lit, this.colours.lit);
		this.#wedges(geometry, level, paths.now, this.colours["now-soft"]);
		if (level.segments[level.current] > 0) this.#wedges(geometry, level, paths.now, this.colours.lit);
	}

	#hotSlots({ geometry, hottest }, level) {
		const paths = Array.from({ length: HEAT_STEPS }, () => []);
		level.segments.forEach((count, i) => paths[heatOf(count, hottest)].push(i));
		paths.forEach((path, i) => this.#wedges(geometry, level, path, this.heat[i]));
	}

	#wedges(geometry, level, indices, colour) {
		if (indices.length === 0) return;
		const c = this.context;
		const [inner, outer] = geometry.edges(level.number);
		const total = level.segments.length;
		const length = (2 * Math.PI * inner) / total;
		const gap = length > 8 ? 1.25 : length > 3 ? 0.5 : -0.2; // half of it; where slots are narrow they just meet
		c.beginPath();
		for (const i of indices) {
			const from = geometry.angleAt(i / total);
			const to = geometry.angleAt((i + 1) / total);
			c.moveTo(
				geometry.centre + outer * Math.cos(from + gap / outer),
				geometry.centre + outer * Math.sin(from + gap / outer),
			);
			c.arc(geometry.centre, geometry.centre, outer, from + gap / outer, to - gap / outer);
			c.arc(geometry.centre, geometry.centre, inner, to - gap / inner, from + gap / inner, true);
			c.closePath();
		}
		c.fillStyle = colour;
		c.fill();
	}

	// Each on a patch of its slot's colour: hands and trails pass below, and a number can always be read.
	#numbers({ geometry, crowded }, level) {
		if (!level.ready) return;
		const c = this.context;
		c.globalAlpha = level.alpha;
		c.font = `500 ${NUMBER}px ${this.font}`;
		c.textAlign = "center";
		c.textBaseline = "middle";
		level.segments.forEach((count, slot) => {
			const [x, y] = geometry.numberAt(level.number, slot);
			const width = c.measureText(slot).width + 4;
			const now = slot === level.current;
			c.fillStyle = this.colours[crowded ? "card" : count > 0 ? "lit" : now ? "now-soft" : "track"];
			c.beginPath();
			c.roundRect(x - width / 2, y - NUMBER / 2 - 1, width, NUMBER + 2, 2);
			c.fill();
			c.fillStyle = this.colours[now || count > 0 ? "ink" : "muted"];
			c.fillText(slot, x, y);
		});
	}

	// Now, to scale: a line across the ring, with a tip at its outer edge.
	#hand(geometry, level) {
		const c = this.context;
		const [inner, outer] = geometry.edges(level.number);
		c.save();
		c.translate(geometry.centre, geometry.centre);
		c.rotate(geometry.angleAt(level.hand));
		c.fillStyle = this.colours.now;
		c.fillRect(inner - 3, -1, outer - inner + 5, 2);
		c.beginPath();
		c.moveTo(outer - 2, 0);
		c.lineTo(outer + 6, -4.5);
		c.lineTo(outer + 6, 4.5);
		c.closePath();
		c.fill();
		c.restore();
	}

	// The way that a timer took: a small ring at each place that it has left, and lines between, the later the stronger.
	#trail({ geometry }, { id, points }) {
		const c = this.context;
		c.strokeStyle = this.hues[id % HUES];
		c.lineWidth = 2;
		points.slice(0, -1).forEach((from, i) => {
			c.globalAlpha = 0.35 + (0.45 * (i + 1)) / (points.length - 1);
			c.beginPath();
			for (let k = 0; k <= LEG_POINTS; k++) c.lineTo(...geometry.point(...onTheWay(from, points[i + 1], k / LEG_POINTS)));
			c.stroke();
			c.beginPath();
			c.arc(...geometry.point(from.turn, from.depth), 4, 0, 2 * Math.PI);
			c.fillStyle = this.colours.card;
			c.fill();
			c.stroke();
		});
	}

	#spark({ geometry }, spark) {
		const c = this.context;
		const [x, y] = geometry.point(spark.turn, spark.depth);
		c.globalAlpha = spark.alpha;
		c.fillStyle = this.colours.spark;
		c.beginPath();
		c.arc(x, y, 1.8, 0, 2 * Math.PI);
		c.fill();
	}

	#dot({ geometry, selected, lettered, nameOf: name }, dot) {
		const c = this.context;
		const [x, y] = geometry.point(dot.turn, dot.depth);
		const radius = Math.max(1.25, dot.diameter / 2 - (dot.diameter > 6 ? 1 : 0.25));
		c.globalAlpha = dot.alpha;
		c.fillStyle = this.hues[dot.id % HUES];
		c.beginPath();
		c.arc(x, y, radius, 0, 2 * Math.PI);
		c.fill();
		if (dot.id === selected) this.#ring(x, y, radius + 3);
		if (lettered && dot.diameter >= LETTERED) this.#letter(name(dot.id), x, y, radius);
	}

	#ring(x, y, radius) {
		const c = this.context;
		c.beginPath();
		c.arc(x, y, radius, 0, 2 * Math.PI);
		c.strokeStyle = this.colours.ink;
		c.lineWidth = 2;
		c.stroke();
	}

	#letter(text, x, y, radius) {
		const c = this.context;
		c.fillStyle = this.colours["on-dot"];
		c.font = `600 ${Math.round(radius * (text.length > 1 ? 0.95 : 1.2))}px ${this.font}`;
		c.textAlign = "center";
		c.textBaseline = "middle";
		c.fillText(text, x, y + 0.5);
	}

	// A timer that is being dragged, and the ring that would come into being.
	#ghost({ ghost }) {
		const c = this.context;
		c.globalAlpha = 0.9;
		c.beginPath();
		c.arc(ghost.x, ghost.y, 10, 0, 2 * Math.PI);
		c.fillStyle = ghost.valid ? this.colours.now : this.colours.muted;
		c.fill();
		c.beginPath();
		c.moveTo(...ghost.from);
		c.lineTo(ghost.x, ghost.y);
		c.setLineDash([2, 5]);
		c.strokeStyle = c.fillStyle;
		c.lineWidth = 1.5;
		c.stroke();
		c.setLineDash([]);
	}
}

// How many timers each segment of a ring stands for: a slot, or several neighbours.
function segmentsOf(counts) {
	if (counts.length <= SEGMENTS_MAX) return counts;
	const segments = new Uint32Array(SEGMENTS_MAX);
	counts.forEach((count, slot) => (segments[Math.floor((slot * SEGMENTS_MAX) / counts.length)] += count));
	return segments;
}

// No timer is cold; otherwise by the logarithm: one timer must be visible next to ten thousand.
function heatOf(count, hottest) {
	if (count === 0) return 0;
	const heat = Math.log(1 + count) / Math.log(1 + Math.max(hottest, 8));
	return Math.min(HEAT_STEPS - 1, 1 + Math.floor(heat * (HEAT_STEPS - 2)));
}

function ramp(colours, steps) {
	const channels = colours.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
	return Array.from({ length: steps }, (_, i) => {
		const at = (i / (steps - 1)) * (channels.length - 1);
		const low = Math.min(Math.floor(at), channels.length - 2);
		const mixed = channels[low].map((value, k) => Math.round(between(value, channels[low + 1][k], at - low)));
		return `rgb(${mixed.join(" ")})`;
	});
}
