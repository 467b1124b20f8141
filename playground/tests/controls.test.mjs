// SPDX-License-Identifier: MIT
// Users type, drag, click, press keys and go back; and make mistakes.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { PHONE, contrast, expectNative, idle, natively, stateOf, still, withPage } from "./browser.mjs";

async function expectAsNatively(page) {
	const state = await stateOf(page);
	expectNative(state, natively({ ...state, ops: state.ops.slice(0, state.target) }).at(-1));
	return state;
}

async function arm(page, delay) {
	await page.fill("#delay", delay);
	await page.press("#delay", "Enter");
}

// A point of the picture: `turn` of the way round, in the middle of a level's ring.
async function pointOn(page, level, turn) {
	const box = await page.locator("#rings").boundingBox();
	const [x, y] = await page.evaluate(
		([l, t]) => playground.picture.geometry.point(t, l + 0.5),
		[level, turn],
	);
	return [box.x + x, box.y + y];
}

async function pointOf(page, id) {
	await still(page);
	const box = await page.locator("#rings").boundingBox();
	const [x, y] = await page.evaluate((i) => {
		const { picture } = playground;
		const { turn, depth } = picture.dots.dots.get(i).goal;
		return picture.geometry.point(turn, depth);
	}, id);
	return [box.x + x, box.y + y];
}

async function drag(page, from, to) {
	await page.mouse.move(...from);
	await page.mouse.down();
	await page.mouse.move((from[0] + to[0]) / 2, (from[1] + to[1]) / 2);
	await page.mouse.move(...to);
	// The rings make room for one more while a timer is dragged: wait for that before aiming.
	await page.waitForFunction(() => !playground.picture.moving(performance.now()));
}

test("it opens from disk, alone in a directory, without a request", async () => {
	const directory = mkdtempSync(join(tmpdir(), "pawl-playground-"));
	copyFileSync(process.env.PLAYGROUND_PAGE, join(directory, "index.html"));
	try {
		await withPage({ file: join(directory, "index.html") }, async (page) => {
			await arm(page, "450");
			assert.deepEqual((await expectAsNatively(page)).places, { 0: [2, 1, "400"] });
		});
	} finally {
		rmSync(directory, { recursive: true });
	}
	const text = readFileSync(process.env.PLAYGROUND_PAGE, "utf8");
	assert.doesNotMatch(text, /(src|href)\s*=\s*["']?https?:|\bimport\s*\(|fetch\(/);
});

test("typing 450 arms a timer, and levels 1 and 2 appear", () =>
	withPage(async (page) => {
		assert.equal(await page.locator("#legend li").count(), 1);
		await arm(page, "450");
		await still(page);
		assert.deepEqual(await page.$$eval("#legend li", (rows) => rows.map((row) => row.textContent)), [
			"level 0 slot 1 ms, turn 20 ms",
			"level 2 slot 400 ms, turn 8,000 ms",
			"1 in between, not needed yet",
		]);
		assert.equal(await page.evaluate(() => playground.picture.shownLevels), 3);
		assert.equal(await page.textContent("#next"), "400 ms");
		await expectAsNatively(page);
	}));

const WRONG = [
	[
		"#arm",
		"#delay",
		[
			"",
			" ",
			"abc",
			"-5",
			"1.5",
			"1.5.5s",
			"1,5s",
			".5s",
			"1.s",
			"0.0001s",
			"1,50,000",
			"4e2",
			"450 ns",
			"0x10",
			"18446744073709551615",
			"99999999999999999999999999999",
			"1e999",
			"300000000000000d",
			"١٢",
		],
		/Delay.*expected a whole number of ms.*as in 1\.5s.*at most [\d,]+ ms/s,
	],
	["#many", "#count", ["", "0", "-1", "x", "1048577", "1.5", "1,04,8"], /Number of timers.*from 1 to 1,048,576/s],
	["#many", "#within", ["", "0", "x", "2147483649"], /Within.*from 1 to 2,147,483,648/s],
	["#wheel", "#tick", ["", "0", "-1", "x", "4611686018427387905"], /Tick.*from 1 to/s],
	["#wheel", "#size", ["", "1", "0", "4097", "20.5", "x"], /Wheel size.*from 2 to 4,096/s],
];

for (const [form, field, values, says] of WRONG)
	test(`an error in ${field} is refused with a clear message, and nothing changes`, () =>
		withPage(async (page) => {
			await arm(page, "450");
			await arm(page, "33");
			await page.click("#step");
			const before = await stateOf(page);
			const good = await page.inputValue(field);
			for (const value of values) {
				await page.fill(field, value);
				await page.locator(`${form} button`).click();
				const message = await page.textContent("#message");
				assert.match(message, says, value);
				if (value.trim()) assert.ok(message.includes(value.slice(0, 40)), `${message} names ${value}`);
				assert.equal(await page.getAttribute(field, "aria-invalid"), "true");
				assert.deepEqual(await stateOf(page), before, value);
			}
			await page.fill(field, good);
			await page.locator(`${form} button`).click();
			assert.equal(await page.textContent("#message"), "", "what is right clears the message");
		}));

test("delays may have units, up to the end of time", () =>
	withPage(async (page) => {
		for (const [text, deadline] of [
			["2s", "2000"],
			["1.5s", "1500"],
			["0.25 m", "15000"],
			["1.5h", "5400000"],
			["1.500s", "1500"],
			["1,500.0", "1500"],
			["20,480", "20480"],
			["5m", "300000"],
			[" 7 ms ", "7"],
			["0", "0"],
			["18446744073709551614", "18446744073709551614"],
		]) {
			await arm(page, text);
			assert.equal(await page.textContent("#message"), "");
			assert.equal((await stateOf(page)).ops.at(-1).deadline, deadline);
		}
		await expectAsNatively(page);
		for (let steps = 0; (await page.isEnabled("#step")) && steps < 100; steps++) await page.click("#step");
		const end = await expectAsNatively(page);
		assert.equal(end.now, "18446744073709551614");
		assert.equal(end.numbers.pending, 0);
	}));

test("a timer dragged from the hub onto a slot is armed for it", () =>
	withPage(async (page) => {
		const handle = await page.locator("#handle").boundingBox();
		const from = [handle.x + handle.width / 2, handle.y + handle.height / 2];
		await drag(page, from, await pointOn(page, 0, 0.52));
		const slot7 = await pointOn(page, 0, 7.5 / 20);
		await page.mouse.move(...slot7);
		assert.match(await page.textContent("#tip"), /due at 7 ms/);
		await page.mouse.up();
		assert.deepEqual((await expectAsNatively(page)).places, { 0: [0, 7, "7"] });

		await still(page);
		await drag(page, from, await pointOn(page, 0, 0.6));
		await page.mouse.move(...(await pointOn(page, 1, 10.5 / 20))); // the level that is not there yet
		await page.mouse.up();
		assert.deepEqual((await expectAsNatively(page)).places[1], [1, 10, "200"]);

		await drag(page, from, [from[0] + 10, from[1] + 10]); // let go in the hub: nothing
		await page.mouse.up();
		assert.equal((await stateOf(page)).ops.length, 2);
	}));

test("a click on a dot cancels it, and dragging it touches it", () =>
	withPage(async (page) => {
		await arm(page, "5");
		await arm(page, "12");
		await page.mouse.click(...(await pointOf(page, 0)));
		assert.deepEqual((await expectAsNatively(page)).places, { 1: [0, 12, "12"] });
		assert.match(
			await page.textContent("#log li:first-child"),
			/it is cancelled: it leaves slot 5 of level 0 at once/,
		);
		await drag(page, await pointOf(page, 1), await pointOn(page, 0, 0.7));
		await page.mouse.move(...(await pointOn(page, 0, 16.5 / 20)));
		await page.mouse.up();
		const state = await expectAsNatively(page);
		assert.deepEqual(state.ops.at(-1), { op: "touch", id: 1, deadline: "16" });
		assert.deepEqual(state.places, { 1: [0, 12, "12"] }, "it stays until its slot opens");
		await page.click("#step");
		assert.deepEqual((await expectAsNatively(page)).places, { 1: [0, 16, "16"] });
	}));

test("a finger arms, cancels and scrolls", () =>
	withPage({ viewport: PHONE, hasTouch: true, isMobile: true }, async (page) => {
		await page.tap("#arm button");
		const touch = page.locator("#timers button", { hasText: "Touch" });
		await page.fill("#delay", "700");
		await touch.tap();
		assert.deepEqual(
			(await stateOf(page)).ops.map(({ op }) => op),
			["arm", "touch"],
		);
		await page.locator("#rings").scrollIntoViewIfNeeded();
		await page.touchscreen.tap(...(await pointOf(page, 0)));
		assert.deepEqual(
			(await stateOf(page)).ops.map(({ op }) => op),
			["arm", "touch", "cancel"],
		);
	}));

test("step jumps to the next opening, and play, pause and speed move time", () =>
	withPage(async (page) => {
		await arm(page, "450");
		await page.click("#step");
		await still(page);
		assert.equal(await page.textContent("#now"), "400 ms");
		await page.selectOption("#speed", "500");
		await page.click("#play");
		await page.waitForFunction(() => playground.session.wheel.numbers.pending === 0);
		await page.waitForFunction(() => !playground.playing); // it stops by itself when nothing waits
		await arm(page, "1h");
		await page.click("#play");
		const began = BigInt((await stateOf(page)).now);
		await page.waitForFunction((t) => playground.session.wheel.now > BigInt(t) + 100n, String(began));
		await page.click("#play");
		const paused = await expectAsNatively(page);
		await page.evaluate(
			() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
		);
		assert.equal((await stateOf(page)).now, paused.now, "time stands still");
	}));

test("scrubbing goes back and forth over what was done", () =>
	withPage(async (page) => {
		const states = [await stateOf(page)];
		for (const act of [
			() => arm(page, "450"),
			() => arm(page, "33"),
			() => page.click("#step"),
			() => page.locator("#timers button", { hasText: "Cancel" }).first().click(),
			() => page.click("#step"),
		]) {
			await act();
			states.push(await stateOf(page));
		}
		const scrubTo = (position) =>
			page.locator("#scrub").evaluate((slider, value) => {
				slider.value = value;
				slider.dispatchEvent(new Event("input"));
			}, position);
		for (const position of [4, 2, 0, 1, 5, 3]) {
			await scrubTo(position);
			await idle(page);
			const { ops, ...state } = await stateOf(page);
			const { ops: _, ...expected } = states[position];
			assert.deepEqual(state, expected, `position ${position}`);
			assert.equal(ops.length, 5, "what was gone back over is kept");
		}
		await arm(page, "7");
		assert.equal((await stateOf(page)).ops.length, 4, "something new takes its place");
		await expectAsNatively(page);
	}));

test("another tick, wheel size or number of chains replays the same operations", () =>
	withPage(async (page) => {
		for (const delay of ["450", "2", "8", "19", "350", "9999"]) await arm(page, delay);
		await page.click("#step");
		for (const [tick, size, chains] of [
			["1", "256", "8"],
			["10", "20", "1"],
			["3", "2", "16"],
			["1", "4096", "2"],
			["1000", "7", "4"],
			["4611686018427387904", "2", "1"],
		]) {
			await page.fill("#tick", tick);
			await page.fill("#size", size);
			await page.selectOption("#chains", chains);
			await page.click("#wheel button");
			const state = await expectAsNatively(page);
			assert.deepEqual(
				[state.options.tick, String(state.options.wheelSize), String(state.options.chains)],
				[tick, size, chains],
			);
			assert.equal(state.broken, null);
		}
	}));

test("random timers on every kind of wheel are where the native library has them, to the end", () =>
	withPage(async (page) => {
		for (const [size, chains, heap] of [
			[20, "1", true],
			[64, "4", false],
			[3, "16", true],
		]) {
			await page.fill("#size", String(size));
			await page.selectOption("#chains", chains);
			await page.locator("#heap-on").setChecked(heap);
			await page.click("#clear");
			await page.click("#wheel button");
			await page.fill("#count", "500");
			await page.fill("#within", "3000");
			await page.click("#many button");
			await idle(page);
			await expectAsNatively(page);
			for (let i = 0; i < 20; i++) await page.click("#step");
			await expectAsNatively(page);
			await page.selectOption("#speed", "60000");
			await page.click("#play");
			await page.waitForFunction(() => playground.session.wheel.numbers.pending === 0);
			const { numbers, broken } = await expectAsNatively(page);
			assert.deepEqual([numbers.popped, numbers.empty, broken], [500, 0, null]);
		}
	}));

test("everything can be done by keyboard", () =>
	withPage(async (page) => {
		const press = async (...keys) => {
			for (const key of keys) await page.keyboard.press(key);
		};
		const ops = async () => (await stateOf(page)).ops.map(({ op }) => op);
		await press("a", "Control+a");
		await page.keyboard.type("450");
		await press("Enter", "Control+a");
		await page.keyboard.type("1h");
		await press("Enter", "Escape");
		assert.deepEqual(await ops(), ["arm", "arm"]);
		await press("ArrowDown", "t"); // the earlier one, by the delay that is typed
		assert.deepEqual((await stateOf(page)).ops.at(-1), { op: "touch", id: 0, deadline: "3600000" });
		await press("ArrowLeft");
		assert.equal((await stateOf(page)).target, 2);
		await press("Delete", "ArrowRight");
		assert.deepEqual((await stateOf(page)).ops[2], { op: "cancel", id: 0 });
		assert.deepEqual(await ops(), ["arm", "arm", "cancel", "advance"]);
		await press("Space");
		assert.equal(await page.getAttribute("#play", "aria-pressed"), "true");
		await press("Space");
		assert.equal(await page.getAttribute("#play", "aria-pressed"), "false");
		await expectAsNatively(page);
		await page.focus('[data-story="demotions"]');
		await press("Enter");
		await page.evaluate(() => document.activeElement.blur());
		await press("n", "n", "n");
		assert.equal((await stateOf(page)).now, "450");
	}));

test("Tab reaches every control, and what has the focus shows it", () =>
	withPage(async (page) => {
		await arm(page, "450");
		await page.evaluate(() => document.activeElement.blur());
		const expected = await page.evaluate(
			() =>
				[...document.querySelectorAll("button, input, select, canvas[tabindex]")].filter(
					(e) => !e.disabled && e.checkVisibility(),
				).length,
		);
		const reached = new Set();
		for (let i = 0; i <= expected; i++) {
			// once more: on its way round the focus leaves the page
			await page.keyboard.press("Tab");
			const [key, outlined] = await page.evaluate(() => {
				const e = document.activeElement;
				return e === document.body
					? [null, true]
					: [[...document.querySelectorAll("*")].indexOf(e), getComputedStyle(e).outlineStyle !== "none"];
			});
			assert.ok(outlined, `element ${key} shows that it has the focus`);
			if (key !== null) reached.add(key);
		}
		assert.equal(reached.size, expected);
	}));

test("with reduced motion nothing travels, and playing goes from opening to opening", () =>
	withPage({ reducedMotion: "reduce" }, async (page) => {
		await page.evaluate(() => {
			const { picture } = playground;
			const draw = picture.draw.bind(picture);
			window.moved = false;
			picture.draw = (time, elapsed) => {
				draw(time, elapsed);
				window.moved ||= picture.moving(time);
			};
		});
		await arm(page, "450");
		await arm(page, "12");
		await page.click("#step");
		await page.mouse.click(...(await pointOf(page, 0)));
		await arm(page, "300");
		await page.click("#play");
		await page.waitForFunction(() => playground.session.wheel.numbers.pending === 0);
		assert.equal(await page.evaluate(() => window.moved), false);
		const { ops } = await expectAsNatively(page);
		assert.deepEqual(
			ops.filter(({ op }) => op === "advance").map(({ to }) => to),
			["12", "300", "312"],
		);
	}));

test("without it, dots travel, also when nothing has moved for a while", () =>
	withPage(async (page) => {
		const armAndLook = () =>
			page.evaluate(() => {
				playground.session.arm(450n);
				playground.changed();
				return playground.picture.moving(performance.now());
			});
		assert.ok(await armAndLook());
		await still(page);
		await page.waitForFunction(() => performance.now() - playground.time > 2000);
		assert.ok(await armAndLook());
	}));

for (const width of [320, 390, 768, 1024, 1280, 1920])
	test(`at ${width} px nothing is cut off or in the way of something else`, () =>
		withPage({ viewport: { width, height: 900 } }, async (page) => {
			await page.click('[data-story="heap"]');
			await still(page);
			const { overflow, hub, handle } = await page.evaluate(() => {
				const box = (e) => {
					const { left, top, right, bottom } = e.getBoundingClientRect();
					return { left, top, right, bottom };
				};
				return {
					overflow: [...document.querySelectorAll(".card, form, form *, .transport *")].filter(
						(e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1,
					).length,
					hub: box(document.getElementById("next")),
					handle: box(document.getElementById("handle")),
				};
			});
			assert.equal(overflow, 0);
			assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
			assert.ok(handle.left >= hub.right || handle.top >= hub.bottom - 1, "the + is not on the time");
		}));

const TEXTS = [
	["ink", "card"],
	["ink", "paper"],
	["muted", "card"],
	["muted", "paper"],
	["muted", "track"],
	["ink", "lit"],
	["ink", "now-soft"],
	["now", "card"],
	["on-accent", "accent"],
	["good", "card"],
	["bad", "card"],
	...Array.from({ length: 8 }, (_, i) => ["on-dot", `dot-${i}`]),
];

for (const theme of ["light", "dark"])
	test(`text has contrast in ${theme}, by preference and by choice`, async () => {
		const check = async (page) => {
			const colours = await page.evaluate(
				(names) =>
					Object.fromEntries(
						names.map((name) => [
							name,
							getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(),
						]),
					),
				TEXTS.flat(),
			);
			for (const [text, ground] of TEXTS)
				assert.ok(
					contrast(colours[text], colours[ground]) >= 4.5,
					`${text} on ${ground}: ${contrast(colours[text], colours[ground])}`,
				);
			return colours;
		};
		let preferred, chosen;
		await withPage({ colorScheme: theme }, async (page) => (preferred = await check(page)));
		await withPage({ colorScheme: theme === "dark" ? "light" : "dark" }, async (page) => {
			while ((await page.textContent("#theme-label")) !== theme) await page.click("#theme");
			chosen = await check(page);
		});
		assert.deepEqual(chosen, preferred);
	});

// The list as the page has it, and as the wheel says that it should be.
function listOfTimers(page) {
	return page.evaluate(() => {
		const { wheel } = playground.session;
		const rows = [...document.querySelectorAll("#timers li")].map((row) => row.querySelector(".where").innerText);
		const waiting = wheel.each(2048).map(({ id, level, slot }) => ({ id, level, slot, deadline: Number(wheel.deadline(id)) }));
		waiting.sort((a, b) => a.deadline - b.deadline || a.id - b.id);
		const due = (n) => n.toLocaleString("en");
		const expected = waiting.slice(0, 12).map((t) => `due at ${due(t.deadline)} ms\nlevel ${t.level}, slot ${t.slot}`);
		const more = document.getElementById("timers-more").textContent;
		return { rows, expected, more, left: waiting.length };
	});
}

test("while time flows, the list of timers is right in every frame, and at the end", () =>
	withPage(async (page) => {
		await page.evaluate(() => {
			playground.manual = true;
			playground.time = 0;
			playground.session.fill(40, 500, 3);
			playground.changed({ smooth: false });
			playground.speed = 500;
			playground.setPlaying(true);
		});
		let frames = 0;
		do {
			await page.evaluate((time) => playground.frame(time), (frames += 1) * 16);
			const { rows, expected, more, left } = await listOfTimers(page);
			assert.deepEqual(rows, expected, `after frame ${frames}`);
			assert.equal(more, left > 12 ? `and ${left - 12} more` : left ? "" : "None. Arm one.");
		} while (await page.evaluate(() => playground.playing));
		assert.equal(await page.locator("#timers li").count(), 0);
		assert.ok(frames > 40, `${frames} frames`);
	}));

test("a row of the list keeps its button, and the focus on it, while others go", () =>
	withPage(async (page) => {
		for (const delay of ["450", "5", "900"]) await arm(page, delay);
		await page.focus("#timers [data-key='touch-0']");
		await page.evaluate(() => (window.kept = document.activeElement));
		await page.evaluate(() => playground.step());
		await page.evaluate(() => (playground.session.touch(2, 10n), playground.changed())); // C comes before A
		assert.deepEqual(await page.$$eval("#timers .chip", (chips) => chips.map((chip) => chip.textContent)), ["C", "A"]);
		assert.ok(await page.evaluate(() => document.activeElement === window.kept && window.kept.isConnected));
	}));

test("a count of one is singular", () =>
	withPage(async (page) => {
		await page.evaluate(() => (playground.session.fill(1, 1000, 1), playground.changed()));
		await still(page);
		assert.equal(await page.textContent("#n-check"), "all is well · 1 check");
		assert.equal(await page.textContent("#hottest"), "1 timer in a slot");
		await page.evaluate(() => {
			playground.session.restart({});
			for (let i = 0; i < 7; i++) playground.session.arm(30n);
			playground.session.fill(1, 1000, 1);
			playground.session.advance(20n);
			playground.changed();
		});
		await idle(page);
		const log = (await page.locator("#log li").allTextContents()).join("\n");
		assert.match(log, /At 20 ms 1 more timer moves down or is due\./);
		assert.match(log, /At 0 ms 1 timer is armed, due within 1,000 ms\./);
		await page.evaluate(() => {
			playground.session.restart({ capacity: 4096 });
			playground.session.fill(1, 1000, 1);
			playground.session.moveAhead(1);
			playground.session.advance(1n);
			playground.changed();
		});
		await idle(page);
		const crowded = (await page.locator("#log li").allTextContents()).join("\n");
		assert.match(crowded, /From 0 ms to 1 ms: 1 timer is pending\./);
		assert.match(crowded, /From 0 ms on, 1 timer a tick moves before its slot opens\./);
		assert.equal(await page.textContent("#timers-more"), "1 timer: too many for a list");
	}));
