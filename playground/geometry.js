// SPDX-License-Identifier: MIT
// Where things are on the rings. A place is (turn, depth): how far round from the top, 0 to 1, and how far out, where
// level L is between L and L + 1 and the hub between -1 and 0.

const HUB = 0.33; // of the radius
const RING_GAP = 5; // px
const NUMBER = 10; // px high: the number of a slot...
const BAND = 17; // ...and its room, from the outer edge: two digits side by side
const ROOM_FOR = 2; // rings at least
const DOT_MIN = 2.5; // px across...
const DOT_ALONE = 7; // ...and for one that is alone, even if its slot is narrower

class Geometry {
	constructor(size, shownLevels, wheelSize) {
		this.size = size;
		this.centre = size / 2;
		this.radius = size / 2 - 10;
		this.hub = this.radius * HUB;
		this.ring = (this.radius - this.hub) / Math.max(shownLevels, ROOM_FOR);
		this.gap = Math.min(RING_GAP, this.ring / 10);
		this.wheelSize = wheelSize;
	}

	radiusAt(depth) {
		return depth >= 0 ? this.hub + depth * this.ring : this.hub * (1 + depth);
	}

	angleAt(turn) {
		return (turn - 0.25) * 2 * Math.PI;
	}

	point(turn, depth) {
		const angle = this.angleAt(turn);
		const radius = this.radiusAt(depth);
		return [this.centre + radius * Math.cos(angle), this.centre + radius * Math.sin(angle)];
	}

	// Slots are numbered where there is room, in a band along the outer edge.
	get numbered() {
		return this.slotLength(0) >= 17 && this.ring >= 30;
	}

	get band() {
		return this.numbered ? BAND : 0;
	}

	// The middle of a slot's number.
	numberAt(level, slot) {
		const outer = this.edges(level)[1];
		const angle = this.angleAt((slot + 0.5) / this.wheelSize);
		const radius = outer - BAND / 2;
		return [this.centre + radius * Math.cos(angle), this.centre + radius * Math.sin(angle)];
	}

	// The middle of the room that dots have in a slot.
	middleOf(level, slot) {
		const width = this.ring - this.gap - this.band;
		return { turn: (slot + 0.5) / this.wheelSize, depth: level + (this.gap + width / 2) / this.ring };
	}

	// The inner and the outer edge of a level's ring.
	edges(level) {
		return [this.radiusAt(level) + this.gap, this.radiusAt(level + 1)];
	}

	// Length of a slot of this level, along the middle of its ring.
	slotLength(level) {
		return (2 * Math.PI * this.radiusAt(level + 0.5)) / this.wheelSize;
	}

	// The place at a point of the picture.
	placeAt(x, y) {
		const dx = x - this.centre;
		const dy = y - this.centre;
		const radius = Math.hypot(dx, dy);
		const turn = (Math.atan2(dy, dx) / (2 * Math.PI) + 1.25) % 1;
		const depth = radius < this.hub ? radius / this.hub - 1 : (radius - this.hub) / this.ring;
		return { turn, depth };
	}

	// Places for `count` dots in a slot, in the order of its list: outwards, then onwards.
	pack(level, slot, count, largest) {
		const length = this.slotLength(level);
		const width = this.ring - this.gap - this.band;
		const room = width - Math.min(6, width / 8);
		const diameter = this.#diameterFor(count, room, length - 3, largest);
		const across = Math.max(1, Math.floor(room / diameter));
		const rows = Math.ceil(count / across);
		const columns = Math.min(count, across);
		const middle = this.middleOf(level, slot).depth;
		return Array.from({ length: count }, (_, i) => ({
			turn:
				(slot +
					0.5 +
					((Math.floor(i / across) - (rows - 1) / 2) * Math.min(diameter, length / rows)) / length) /
				this.wheelSize,
			depth: middle + ((i % across) - (columns - 1) / 2) * (diameter / this.ring),
			diameter,
		}));
	}

	#diameterFor(count, width, length, largest) {
		for (let diameter = Math.min(largest, width, length); diameter > DOT_MIN; diameter -= 0.5)
			if (Math.floor(width / diameter) * Math.floor(length / diameter) >= count) return diameter;
		return count === 1 ? DOT_ALONE : DOT_MIN;
	}
}

// The deadline that a point of a ring stands for: the first time after now at which the level's hand is there.
function deadlineAt(place, level, session) {
	const { tick, wheelSize } = session.options;
	const turn = tick * BigInt(wheelSize) ** BigInt(level + 1);
	const offset = (BigInt(Math.round(place.turn * 1e6)) * turn) / 1000000n;
	const now = session.now;
	const begin = now - (now % turn) + offset;
	const deadline = begin > now ? begin : begin + turn;
	const exact = deadline - (deadline % tick);
	return exact > now ? exact : exact + tick;
}
