// SPDX-License-Identifier: MIT
// Every story to its end: after each step the timers are where the native library has them.
import assert from "node:assert/strict";
import { test } from "node:test";

import { PHONE, STORIES, expectNative, explained, idle, natively, screenshot, stateOf, still, withPage } from "./browser.mjs";

const OTHER_NAMES_OF_LEVELS = /(first|second|third|three|overflow) wheel|wheel to wheel/i; // the log says level 2
const WORK_BOUND = 20000; // what a frame may do, whatever it is told to: see session.js

// Each dot is drawn in the slot in which its timer is.
async function expectDotsInTheirSlots(page) {
	const astray = await page.evaluate(() => {
		const { session, picture } = playground;
		if (session.crowded) return [];
		return picture.seen.filter(({ id, level, slot }) => {
			const { turn, depth } = picture.dots.dots.get(id).goal;
			return Math.floor(turn * session.options.wheelSize) !== slot || Math.floor(depth) !== level;
		});
	});
	assert.deepEqual(astray, []);
}

// Wherever the page has a number, its digits are in groups of three, and a time is in ms.
async function expectOneNumberFormat(page) {
	await still(page);
	const texts = await page.evaluate(() => [
		document.querySelector("main").innerText,
		...[...document.querySelectorAll("main input:not([type])")].map((field) => field.value),
	]);
	for (const text of texts) {
		assert.deepEqual(text.match(/\d{4,}|\d+,\d{1,2}(?!\d)|\d+,\d{4,}/g), null, text);
		assert.deepEqual(text.match(/\d (s|min|m|h|d|years)\b/g), null, text);
	}
}

async function tellToTheEnd(page, story, picture = () => {}) {
	const states = [];
	await page.click(`[data-story="${story}"]`);
	for (;;) {
		await idle(page);
		states.push(await stateOf(page));
		await expectDotsInTheirSlots(page);
		assert.notEqual(await page.textContent("#story-text"), "");
		assert.doesNotMatch(await page.innerText("main"), OTHER_NAMES_OF_LEVELS);
		await expectOneNumberFormat(page);
		if (await page.isDisabled("#story-next")) return states;
		if (states.length === 2) await picture();
		await page.click("#story-next");
	}
}

for (const story of STORIES)
	test(`the story ${story} is what the native library does`, () =>
		withPage(async (page) => {
			const states = await tellToTheEnd(page, story, () => screenshot(page, `story-${story}`));
			const last = states.at(-1);
			const native = natively(last);
			for (const state of states) if (state.target > 0) expectNative(state, native[state.target - 1]);
			assert.equal(last.numbers.pending, 0, "every story ends with an empty wheel");
			assert.equal(last.numbers.empty, 0, "no opening is empty");
			assert.equal(last.numbers.heapCount, 0);
			assert.deepEqual(
				states.map((state) => state.broken),
				states.map(() => null),
			);
			const frames = await page.evaluate(() => playground.frames);
			assert.ok(Math.max(...frames.map(({ work }) => work ?? 0)) <= WORK_BOUND);
		}));

test("the page without a story has one name for a level", () =>
	withPage(async (page) => assert.doesNotMatch(await page.innerText("main"), OTHER_NAMES_OF_LEVELS)));

test("there is a story for each button, and no other", () =>
	withPage(async (page) => {
		const ids = await page.$$eval("[data-story]", (buttons) => buttons.map((button) => button.dataset.story));
		assert.deepEqual(ids, STORIES);
	}));

test("a story can be gone back over, and ends the same", () =>
	withPage(async (page) => {
		const forth = await tellToTheEnd(page, "touch");
		for (let i = forth.length - 2; i >= 0; i--) {
			await page.click("#story-back");
			await idle(page);
			const { places, now } = await stateOf(page);
			assert.deepEqual({ places, now }, { places: forth[i].places, now: forth[i].now });
		}
		while (await page.isEnabled("#story-next")) await page.click("#story-next");
		await idle(page);
		assert.deepEqual(await stateOf(page), forth.at(-1));
	}));

test("within a tick timers are due in the order in which they were armed", () =>
	withPage(async (page) => {
		const states = await tellToTheEnd(page, "order");
		assert.deepEqual(natively(states.at(-1)).at(-1).popped, [0, 1, 2, 3]);
		const due = await page.evaluate(() =>
			playground.session.log.filter(({ text }) => text.includes("it is due")).map(({ id }) => id),
		);
		assert.deepEqual(due, [0, 1, 2, 3]);
	}));

test("touching changes lists less often than cancelling and arming", () =>
	withPage(async (page) => {
		await tellToTheEnd(page, "touch");
		const [touched, rearmed] = await page.evaluate(() =>
			[0, 1].map((id) => playground.session.tally.get(id)),
		);
		assert.deepEqual(touched, { changes: 1, stores: 8, moves: 3 });
		assert.deepEqual(rearmed, { changes: 17, stores: 0, moves: 1 });
	}));

test("the log has the words of pawl explain", () =>
	withPage(async (page) => {
		const words = explained("350ms", "450ms");
		for (const story of ["overflow", "demotions"]) {
			await tellToTheEnd(page, story);
			const log = await page.$$eval("#log li > span:last-child", (lines) =>
				lines.map((line) => line.textContent),
			);
			assert.ok(log.length >= 3);
			for (const line of log) assert.ok(words.includes(line), line);
		}
	}));

test("the heap beside it counts comparisons and moves, and more of them than the wheel", () =>
	withPage(async (page) => {
		const states = await tellToTheEnd(page, "heap");
		for (const { numbers } of states)
			assert.equal(numbers.heapCount, numbers.pending, "both hold the same timers");
		const { numbers } = states.at(-1);
		assert.ok(numbers.heapComparisons > 5 * 1000 && numbers.heapMoves > numbers.puts + numbers.moves);
		assert.equal(await page.textContent("#wheel-comparisons"), "0");
		assert.equal(
			(await page.textContent("#heap-comparisons")).replace(/,/g, ""),
			String(numbers.heapComparisons),
		);
	}));

test("moved ahead, the same load has no tick with many moves, and every timer is due when it was", () =>
	withPage(async (page) => {
		await page.evaluate(() => {
			const { wheel } = playground.session;
			const pop = wheel.pop.bind(wheel);
			window.due = []; // by id: when
			wheel.pop = () => {
				const id = pop();
				if (id !== null) due[id] = Number(wheel.now);
				return id;
			};
		});
		const states = await tellToTheEnd(page, "ahead");
		const [, without, armedAgain, withAhead] = states.map(({ numbers }) => numbers);
		assert.equal(without.movesAhead, 0);
		assert.equal(without.mostWithAhead, 0);
		assert.equal(without.mostMoves, 5061);
		assert.equal(armedAgain.pending, 100000);
		assert.equal(withAhead.mostMoves, without.mostMoves);
		assert.equal(withAhead.mostWithAhead, 65, "64 ahead, and a slot that is due as a whole");
		assert.equal(withAhead.movesAhead + withAhead.moves, 2 * without.moves, "moved as often in all");
		const misses = await page.evaluate(
			() => due.slice(0, 100000).filter((time, id) => due[100000 + id] !== time + 20480).length,
		);
		assert.equal(misses, 0);
		assert.equal(await page.textContent("#most-moves"), without.mostMoves.toLocaleString("en"));
		assert.equal(await page.textContent("#most-with-ahead"), "65");
		const parts = await page.$$eval(".ahead-card .bar", (bars) =>
			bars.map((bar) => parseFloat(bar.style.getPropertyValue("--part"))),
		);
		assert.equal(parts[0], 100);
		assert.ok(Math.abs(parts[1] - 6500 / without.mostMoves) < 0.01, "to scale");
		assert.ok(await page.isVisible(".ahead-card"));
	}));

test("moved ahead, it is the same where time flows", () =>
	withPage(async (page) => {
		await page.click('[data-story="ahead"]');
		for (let step = 1; step <= 2; step++) {
			await idle(page);
			await page.click("#story-next");
		}
		await idle(page);
		await page.selectOption("#speed", "10000");
		await page.click("#play");
		await page.waitForFunction(() => playground.session.wheel.numbers.pending < 30000);
		await page.click("#play");
		await idle(page);
		const state = await stateOf(page);
		assert.ok(state.ops.length > 5, "an operation a frame");
		expectNative(state, natively(state).at(-1));
		assert.equal(state.numbers.mostWithAhead, 65);
	}));

test("after that story the log does not say what holds only without moving ahead", () =>
	withPage(async (page) => {
		await tellToTheEnd(page, "ahead");
		await page.fill("#delay", "450");
		await page.click("#arm button");
		const last = () => page.textContent("#log li:first-child > span:last-child");
		assert.match(await last(), /^At 40,960 ms it is armed, due at 41,410 ms\. It waits on level 1, slot 161\.$/);
		for (const pending of [1, 0]) {
			await page.click("#step"); // to where its slot would have opened, and to its deadline
			await idle(page);
			assert.equal(await page.evaluate(() => playground.session.wheel.numbers.pending), pending);
		}
		await page.click('[data-story="heap"]');
		assert.ok(!(await page.isVisible(".ahead-card")));
	}));

// The trails that are drawn: by the timer's name, its places as level/slot, and "hub" where it fell due. Of each line, how
// many of nine points between its ends have the timer's colour: in a pixel there or beside it, since a line is thin.
async function trails(page) {
	await still(page);
	return page.evaluate(() => {
		const { picture, session } = playground;
		const { rings } = picture;
		let scene;
		const draw = rings.draw;
		rings.draw = (drawn) => (scene = { ...drawn, trails: [...drawn.trails] });
		picture.draw(performance.now(), 0);
		rings.draw = draw;
		picture.draw(performance.now(), 0);
		const name = ({ turn, depth }) =>
			depth < 0 ? "hub" : `${Math.floor(depth)}/${Math.floor(turn * session.options.wheelSize)}`;
		const scale = rings.canvas.width / scene.geometry.size;
		// Timer A is blue, everything else on the rings is not.
		const blueAt = (x, y) => {
			const { data } = rings.context.getImageData(Math.floor(x * scale) - 1, Math.floor(y * scale) - 1, 3, 3);
			return Array.from({ length: 9 }, (_, i) => data[4 * i + 2] - data[4 * i]).some((blue) => blue > 30);
		};
		const coloured = (from, to) =>
			[1, 2, 3, 4, 5, 6, 7, 8, 9].filter((part) => {
				const t = part / 10;
				const way = ((to.turn - from.turn + 1.5) % 1) - 0.5;
				return blueAt(...scene.geometry.point(from.turn + way * t, from.depth + (to.depth - from.depth) * t));
			}).length;
		return scene.trails.map(({ id, points }) => ({
			id,
			places: points.map(name),
			coloured: points.slice(1).map((to, i) => coloured(points[i], to)),
		}));
	});
}

test("a trail shows the way that a timer took, down to the hub, and back in time", () =>
	withPage(async (page) => {
		const ways = async () => (await trails(page)).map(({ places }) => places);
		const told = [
			[],
			[["2/1", "1/2"]],
			[["2/1", "1/2", "0/10"]],
			[["2/1", "1/2", "0/10", "hub"]],
		];
		await page.click('[data-story="demotions"]');
		for (const expected of told) {
			await idle(page);
			assert.deepEqual(await ways(), expected);
			if (await page.isEnabled("#story-next")) await page.click("#story-next");
		}
		const [{ coloured }] = await trails(page);
		assert.equal(coloured.length, 3);
		for (const points of coloured) assert.ok(points >= 6, `${coloured} of 9: numbers may be on the others`);
		for (const expected of told.slice(0, -1).reverse()) {
			await page.click("#back");
			assert.deepEqual(await ways(), expected);
		}
		for (let i = 0; i < 3; i++) await page.click("#step");
		assert.deepEqual(await ways(), told.at(-1));
		await page.click("#arm button");
		assert.deepEqual(await ways(), [], "what is gone is forgotten when something is done");
	}));

test("a trail has the places between which a touch moved a timer; armed again, it begins again", () =>
	withPage(async (page) => {
		const ways = async () => (await trails(page)).map(({ places }) => places);
		const press = async (delay) => {
			await page.fill("#delay", delay);
			await page.locator("#timers button", { hasText: "Touch" }).click();
		};
		await page.fill("#delay", "450");
		await page.press("#delay", "Enter");
		await press("7"); // earlier: it moves at once
		assert.deepEqual(await ways(), [["2/1", "0/7"]]);
		await press("9"); // later: it stays until its slot opens
		assert.deepEqual(await ways(), [["2/1", "0/7"]]);
		await page.click("#step");
		assert.deepEqual(await ways(), [["2/1", "0/7", "0/9"]]);
		await page.locator("#timers button", { hasText: "Cancel" }).click();
		assert.deepEqual(await ways(), []);
		await page.evaluate(() => {
			playground.session.rearm(0, 350n);
			playground.changed();
		});
		assert.deepEqual(await ways(), []);
	}));

test("among many timers only the timer that is chosen or pointed at has a trail", () =>
	withPage(async (page) => {
		await page.click('[data-story="thousand"]');
		await page.click("#story-next");
		assert.deepEqual(await trails(page), []);
		await page.evaluate(() => document.activeElement.blur());
		for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowDown"); // it came down at 400 ms
		const [chosen] = await trails(page);
		assert.equal(chosen.id, await page.evaluate(() => playground.picture.selected));
		assert.match(chosen.places.join(), /^2\/1,1\/\d+$/);
		const [id, x, y] = await page.evaluate(() => {
			const { picture, session } = playground;
			const { id } = picture.seen.find((timer) => session.trails.has(timer.id) && timer.id !== picture.selected);
			const box = document.querySelector("#rings").getBoundingClientRect();
			const { turn, depth } = picture.dots.dots.get(id).goal;
			const [x, y] = picture.geometry.point(turn, depth);
			return [id, box.left + x, box.top + y];
		});
		await page.mouse.move(x, y);
		assert.deepEqual((await trails(page)).map((trail) => trail.id).sort(), [chosen.id, id].sort());
		await page.mouse.move(1, 1);
		assert.equal((await trails(page)).length, 1);
	}));

test("the pictures, in light and dark, large and small", async () => {
	const views = {
		light: { colorScheme: "light" },
		dark: { colorScheme: "dark" },
		phone: { viewport: PHONE, colorScheme: "light" },
		"phone-dark": { viewport: PHONE, colorScheme: "dark" },
	};
	for (const [name, options] of Object.entries(views))
		await withPage(options, async (page) => {
			await page.click('[data-story="demotions"]');
			await page.click("#story-next");
			await screenshot(page, name, { fullPage: "viewport" in options });
		});
});

// docs/images/playground.png is a copy of this one.
test("the picture of the README", () =>
	withPage({ viewport: { width: 1240, height: 860 } }, async (page) => {
		await page.click('[data-story="thousand"]');
		await page.click("#story-next");
		await screenshot(page, "playground");
	}));
