// SPDX-License-Identifier: MIT
// Each story is a wheel and a few steps. A step changes the session, and says what there is to see.

const KAFKA = { tick: 1n, wheelSize: 20, chains: 1 };
const THOUSAND = { count: 1000, span: 8000, seed: 7 };
const MILLION = { count: 1000000, span: 120000, seed: 7 };
const LOAD = { count: 100000, span: 20000, seed: 7, lasts: 20480n }; // whole slots of level 1: 80 of 256 ms
const AHEAD = 64; // moves in a tick
const REFRESHES = 8;
const REFRESH_EVERY = 50n;
const IDLE_TIMEOUT = 300n;

function refreshBoth(s) {
	s.advance(s.now + REFRESH_EVERY);
	s.touch(0, IDLE_TIMEOUT);
	s.cancel(1);
	s.rearm(1, IDLE_TIMEOUT);
}

// Lists changed for a timer: by calls, and by advance.
function listChanges(s, id) {
	const { changes, moves } = s.tally.get(id);
	return changes + moves;
}

const share = (part, whole) => (part / whole).toFixed(1);

const STORIES = [
	{
		id: "first-wheel",
		title: "2, 8 and 19 ms",
		summary: "Level 0: 20 slots, and one that serves again",
		options: KAFKA,
		steps: [
			{ text: "Level 0 has 20 slots of 1 ms. The red hand is now: it stands in slot 0.", run: () => {} },
			{
				text: "A timer of 2 ms goes to slot 2, and its slot lights up. Arming looked at no other timer.",
				run: (s) => s.arm(2n),
			},
			{
				text: "The clock jumps straight to 2 ms, since nothing opens before. Slot 2 opens: the timer is due, and leaves.",
				run: (s) => s.stepForward(),
			},
			{ text: "From 2 ms, a timer of 8 ms is due at 10 ms: slot 10.", run: (s) => s.arm(8n) },
			{
				text: "A timer of 19 ms is due at 21 ms. Slot 1 has been passed and serves again, for 21 ms: the window slides.",
				run: (s) => s.arm(19n),
			},
			{ text: "10 ms: slot 10 opens.", run: (s) => s.stepForward() },
			{
				text: "21 ms: slot 1 opens. Three timers, three wake-ups, not one in vain.",
				run: (s) => s.stepForward(),
			},
		],
	},
	{
		id: "overflow",
		title: "350 ms",
		summary: "Too far for level 0: level 1 comes into being",
		options: KAFKA,
		steps: [
			{
				text: "350 ms are more than the 20 ms of level 0. Level 1 appears: 20 slots of 20 ms. The timer sits in its slot 17, from 340 ms on.",
				run: (s) => s.arm(350n),
			},
			{
				text: "At 340 ms that slot opens, with 10 ms to go. The timer moves down, to slot 10 of level 0.",
				run: (s) => s.stepForward(),
			},
			{
				text: "At 350 ms it is due. Two wake-ups in all; in between the wheel slept.",
				run: (s) => s.stepForward(),
			},
		],
	},
	{
		id: "demotions",
		title: "450 ms",
		summary: "Down from level 2 to level 1 to level 0",
		options: KAFKA,
		steps: [
			{
				text: "450 ms are more than the 400 ms of level 1. So level 2 appears: 20 slots of 400 ms, and the timer sits in its slot 1.",
				run: (s) => s.arm(450n),
			},
			{
				text: "400 ms: slot 1 of level 2 opens. 50 ms are left: down to level 1, slot 2.",
				run: (s) => s.stepForward(),
			},
			{ text: "440 ms: 10 ms are left. Down to level 0, slot 10.", run: (s) => s.stepForward() },
			{
				text: "450 ms: due, to the millisecond. It was moved down twice, once for each level.",
				run: (s) => s.stepForward(),
			},
		],
	},
	{
		id: "order",
		title: "Order within a tick",
		summary: "Armed A, B, C, D: due A, B, C, D, from three levels",
		options: KAFKA,
		steps: [
			{
				text: "A and then B are armed for 450 ms. Both wait on level 2.",
				run: (s) => (s.arm(450n), s.arm(450n)),
			},
			{
				text: "At 400 ms both move down. The slot is emptied from its tail, and each goes to the front of its new one: A is before B again.",
				run: (s) => s.stepForward(),
			},
			{
				text: "C is armed for 450 ms as well. From here that is level 1: behind A and B.",
				run: (s) => s.arm(50n),
			},
			{ text: "At 440 ms all three move down, and keep their order.", run: (s) => s.stepForward() },
			{
				text: "D is armed for the same tick, on level 0: behind the others.",
				run: (s) => s.arm(10n),
			},
			{
				text: "At 450 ms they are due: A, B, C, D, as they were armed. The log has them in this order.",
				run: (s) => s.stepForward(),
			},
		],
	},
	{
		id: "touch",
		title: "Touch, or cancel + arm",
		summary: "An idle timeout, refreshed at every request",
		options: KAFKA,
		steps: [
			{
				text: "Two connections with an idle timeout of 300 ms. A will be refreshed by touch, B by cancel and arm.",
				run: (s) => (s.arm(IDLE_TIMEOUT), s.arm(IDLE_TIMEOUT)),
			},
			{
				text: "At 50 ms both get a request. B leaves its slot for a later one. A's deadline is stored, and A stays where it is.",
				run: refreshBoth,
			},
			{
				text: "Seven more requests, every 50 ms. Meanwhile A's slot opened once, at 300 ms, and A was put right.",
				run: (s) => {
					for (let i = 1; i < REFRESHES; i++) refreshBoth(s);
				},
			},
			{ text: "No more requests: both run down.", run: (s) => s.advance(s.now + IDLE_TIMEOUT) },
			{
				text: (s) =>
					`${REFRESHES} refreshes each. By touch: ${s.tally.get(0).stores} stores, and a list was changed ${listChanges(s, 0)} times for A. By cancel + arm: ${listChanges(s, 1)} times for B. Both were due at the same moment.`,
				run: () => {},
			},
		],
	},
	{
		id: "thousand",
		title: "A thousand random timers",
		summary: "Delays of 1 to 8,000 ms on three levels",
		options: KAFKA,
		speed: 500,
		steps: [
			{
				text: "A thousand timers, due within 8,000 ms, most of them soon. They wait on three levels; a slot of level 2 is 400 ms.",
				run: (s) => s.fill(THOUSAND.count, THOUSAND.span, THOUSAND.seed),
			},
			{ text: "The first 400 ms. Press play at any time, and watch them fall.", run: (s) => s.advance(400n) },
			{ text: "Half of the time has passed, and most of them are gone.", run: (s) => s.advance(4000n) },
			{
				text: (s) =>
					`All are gone. ${grouped(s.wheel.numbers.moves)} moves for ${grouped(THOUSAND.count)} timers; ${grouped(s.wheel.numbers.openings)} wake-ups, of which ${grouped(s.wheel.numbers.empty)} found nothing.`,
				run: (s) => s.advance(8000n),
			},
		],
	},
	{
		id: "heap",
		title: "The same load on a heap",
		summary: "Counting comparisons and moves, side by side",
		options: { ...KAFKA, heap: true },
		speed: 500,
		steps: [
			{
				text: "The same thousand timers, and beside them a binary heap, as in most event loops and Java’s DelayQueue. Arming compared deadlines in the heap, and nothing in the wheel.",
				run: (s) => s.fill(THOUSAND.count, THOUSAND.span, THOUSAND.seed),
			},
			{
				text: "What is due leaves. Whenever the heap’s first leaves, another takes the long way down from the top.",
				run: (s) => s.advance(400n),
			},
			{ text: "Half of the time.", run: (s) => s.advance(4000n) },
			{
				text: (s) => {
					const n = s.wheel.numbers;
					return `For each timer the heap made ${share(n.heapComparisons, THOUSAND.count)} comparisons and ${share(n.heapMoves, THOUSAND.count)} moves, and that grows with their number. The wheel compared none with another, and made ${share(n.puts + n.moves, THOUSAND.count)} moves.`;
				},
				run: (s) => s.advance(8000n),
			},
		],
	},
	{
		id: "ahead",
		title: "No long stalls",
		summary: "The same load with and without moving ahead",
		options: { tick: 1n, wheelSize: 256, chains: 1, capacity: 2 ** 18, ahead: true },
		speed: 2000,
		steps: [
			{
				text: "A hundred thousand timers, due within 20,000 ms, most of them soon. The bars beside the picture are the most moves in one millisecond.",
				run: (s) => s.fill(LOAD.count, LOAD.span, LOAD.seed),
			},
			{
				text: (s) =>
					`All are gone. Each 256 ms a slot of level 1 opened, and all of its timers moved down in that one millisecond: up to ${grouped(s.wheel.numbers.mostMoves)}. A timer that was due just then had to wait for them.`,
				run: (s) => s.advance(LOAD.lasts),
			},
			{
				text: `The same timers once more. But now ${AHEAD} timers a millisecond move before their slot opens: pawl_wheel_ahead().`,
				run: (s) => {
					s.moveAhead(AHEAD);
					s.fill(LOAD.count, LOAD.span, LOAD.seed);
				},
			},
			{
				text: (s) => {
					const n = s.wheel.numbers;
					return `All are gone, each at the same millisecond as before. No millisecond had more than ${grouped(n.mostWithAhead)} moves; without moving ahead it was ${grouped(n.mostMoves)}. ${grouped(n.movesAhead)} moves were made ahead.`;
				},
				run: (s) => s.advance(s.now + LOAD.lasts),
			},
		],
	},
	{
		id: "million",
		title: "A million timers",
		summary: "A heat map of slots: the default wheel, 256 slots, 8 chains",
		options: { tick: 1n, wheelSize: 256, chains: 8, capacity: 2 ** 20 },
		speed: 2000,
		steps: [
			{
				text: "A million timers, due within two minutes, most of them soon. The warmer a slot, the more timers it holds. They are armed a few thousand in each frame.",
				run: (s) => s.fill(MILLION.count, MILLION.span, MILLION.seed),
			},
			{
				text: "2,000 ms have passed. Each 256 ms a slot of level 1 opens, and thousands of timers move down.",
				run: (s) => s.advance(2000n),
			},
			{
				text: "Half a minute. Press play, and see it turn: each frame makes a bounded number of moves, and goes on in the next.",
				run: (s) => s.advance(30000n),
			},
			{
				text: (s) =>
					`Two minutes: all ${grouped(s.wheel.numbers.popped)} were due on time. ${grouped(s.wheel.numbers.openings)} wake-ups, of which ${grouped(s.wheel.numbers.empty)} found nothing.`,
				run: (s) => s.advance(BigInt(MILLION.span)),
			},
		],
	},
];
