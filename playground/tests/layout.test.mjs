// SPDX-License-Identifier: MIT
// The layout on the three screens that the page is made for: boxes are measured, and pixels compared.
import assert from "node:assert/strict";
import { test } from "node:test";

import { PHONE, STORIES, TABLET, idle, still, withPage } from "./browser.mjs";

const SCREENS = {
	laptop: { width: 1280, height: 800 },
	tablet: TABLET,
	phone: PHONE,
};
const touching = (viewport) => ({ viewport, hasTouch: true, isMobile: true });

// The boxes of the picture and the transport, and which of the transport's controls cannot be reached where they are.
function measure(page) {
	return page.evaluate(() => {
		const box = (element) => {
			const { left, top, right, bottom } = element.getBoundingClientRect();
			return { left, top, right, bottom };
		};
		const controls = [...document.querySelectorAll(".transport button, .transport select, .transport input")];
		return {
			picture: box(document.querySelector(".picture")),
			transport: box(document.querySelector(".transport")),
			legend: box(document.querySelector("#legend")),
			controls: controls.length,
			unreachable: controls
				.filter((control) => {
					const { left, top, right, bottom } = box(control);
					const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
					const inside = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
					return !inside || !control.contains(hit);
				})
				.map((control) => control.id),
			sideways: document.documentElement.scrollWidth - innerWidth,
		};
	});
}

async function scrollTo(page, part) {
	await page.evaluate((p) => window.scrollTo(0, p * document.documentElement.scrollHeight), part);
}

// On this screen, at the top of the page and further down. Returns how large the picture is.
async function expectTransportOnScreen(page, screen) {
	await page.setViewportSize(SCREENS[screen]);
	for (const part of [1, 0.5, 0]) {
		await scrollTo(page, part);
		const { controls, unreachable, sideways } = await measure(page);
		assert.equal(controls, 5);
		assert.deepEqual(unreachable, [], `${screen}, scrolled by ${part}`);
		assert.equal(sideways, 0, `${screen} does not scroll sideways`);
	}
	const { picture, legend, transport } = await measure(page);
	assert.ok(picture.top >= 0 && picture.bottom <= transport.top, `${screen}: the picture is whole`);
	assert.ok(legend.bottom <= transport.top, `${screen}: the legend is whole`);
	return picture.right - picture.left;
}

async function expectOnEveryScreen(page, sizes) {
	for (const screen of Object.keys(SCREENS)) {
		const size = await expectTransportOnScreen(page, screen);
		assert.ok(size >= (screen === "phone" ? 320 : 400), `${screen}: the picture has ${size} px`);
		assert.equal(size, (sizes[screen] ??= size), `${screen}: the picture keeps its size`);
	}
}

for (const story of STORIES)
	test(`the transport is on screen beside the whole picture, all through the story ${story}`, () =>
		withPage(async (page) => {
			const sizes = {};
			await page.click(`[data-story="${story}"]`);
			for (;;) {
				await idle(page);
				await expectOnEveryScreen(page, sizes);
				if (await page.isDisabled("#story-next")) return;
				await page.click("#story-next");
			}
		}));

test("the transport is on screen on the empty page, and with a message and a long list", () =>
	withPage(async (page) => {
		const sizes = {};
		await expectOnEveryScreen(page, sizes);
		await page.fill("#delay", "x");
		await page.press("#delay", "Enter");
		await expectOnEveryScreen(page, sizes);
		await page.click("#many button");
		await expectOnEveryScreen(page, sizes);
	}));

test("in a low window the transport is also on screen", () =>
	withPage({ viewport: { width: 1280, height: 400 } }, async (page) => {
		await page.click('[data-story="demotions"]');
		await idle(page);
		assert.deepEqual((await measure(page)).unreachable, []);
	}));

test("a phone has no help for a keyboard, and a finger reaches what it taps", () =>
	withPage(touching(PHONE), async (page) => {
		assert.equal(await page.isVisible(".keys"), false);
		assert.doesNotMatch(await page.innerText("body"), /Space|Del\b|Keys/);
		const small = await page.$$eval("button, select, input:not([type])", (controls) =>
			controls
				.filter((control) => control.checkVisibility() && control.getBoundingClientRect().height < 36)
				.map((control) => control.id),
		);
		assert.deepEqual(small, []);
		assert.deepEqual((await measure(page)).unreachable, []);
	}));

test("a tablet without a keyboard has no help for one, a laptop has", async () => {
	await withPage(touching(TABLET), async (page) => assert.equal(await page.isVisible(".keys"), false));
	await withPage({ viewport: SCREENS.laptop }, async (page) => assert.equal(await page.isVisible(".keys"), true));
});

// The numbers of slots whose pixels are not the same when `change` has altered what else is drawn.
function numbersChangedBy(page, change) {
	return page.evaluate((source) => {
		const { picture } = playground;
		const { rings } = picture;
		const draw = rings.draw;
		let scene;
		rings.draw = (drawn) => (scene = { ...drawn, dots: [...drawn.dots], trails: [...drawn.trails], sparks: [] });
		picture.draw(performance.now(), 0);
		rings.draw = draw;
		const { geometry } = scene;
		const scale = rings.canvas.width / geometry.size;
		const boxes = !geometry.numbered
			? []
			: scene.levels
					.filter((level) => level.ready)
					.flatMap((level) => [...level.segments.keys()].map((slot) => [level.number, slot]));
		const pixels = (drawn) => {
			rings.draw(drawn);
			return boxes.map(([level, slot]) => {
				const [x, y] = geometry.numberAt(level, slot);
				const half = slot > 9 ? 7 : 4; // its digits, and some of the patch
				const [left, top, right, bottom] = [
					Math.ceil((x - half) * scale),
					Math.ceil((y - 5) * scale),
					Math.floor((x + half) * scale),
					Math.floor((y + 5) * scale),
				];
				return rings.context.getImageData(left, top, right - left, bottom - top).data.join();
			});
		};
		const changed = new Function("scene", `return ${source}`)(scene);
		const [before, after] = [pixels(changed), pixels(scene)];
		picture.draw(performance.now(), 0);
		const wrong = boxes.filter((_, i) => before[i] !== after[i]).map((place) => place.join("/"));
		return { looked: boxes.length, wrong };
	}, change);
}

const WITHOUT_OTHERS = "({ ...scene, dots: [], trails: [] })";
// The hand in the middle of each slot in turn, where the number is; not the slot that is marked as current.
const handIn = (slot) =>
	`({ ...scene, levels: scene.levels.map((level) => ({ ...level, hand: (${slot} + 0.5) / level.segments?.length })) })`;

for (const [screen, viewport] of Object.entries(SCREENS))
	test(`nothing covers the number of a slot on a ${screen}`, () =>
		// what is compared stands still: this way it does so at once
		withPage({ viewport, reducedMotion: "reduce" }, async (page) => {
			for (const story of ["first-wheel", "demotions", "order", "touch", "thousand"]) {
				await page.click(`[data-story="${story}"]`);
				for (;;) {
					await still(page);
					const { looked, wrong } = await numbersChangedBy(page, WITHOUT_OTHERS);
					assert.ok(looked >= 20, `${story} has numbers`);
					assert.deepEqual(wrong, [], `${story}: covered by a dot or a trail`);
					if (await page.isDisabled("#story-next")) break;
					await page.click("#story-next");
				}
			}
			for (let slot = 0; slot < 20; slot++) {
				const { looked, wrong } = await numbersChangedBy(page, handIn(slot));
				assert.equal(looked, 60);
				assert.deepEqual(wrong, [], `covered by the hand in slot ${slot}`);
			}
		}));

test("on a phone a timer alone in its slot has its letter, on three rings with numbers", () =>
	withPage(touching(PHONE), async (page) => {
		await page.click('[data-story="demotions"]');
		for (let step = 1; step <= 3; step++) {
			await still(page);
			const { levels, numbered, diameter } = await page.evaluate(() => {
				const { picture } = playground;
				return {
					levels: picture.shownLevels,
					numbered: picture.geometry.numbered,
					diameter: picture.dots.dots.get(0).goal.diameter,
				};
			});
			assert.deepEqual([levels, numbered], [3, true]);
			assert.ok(diameter >= 13, `${diameter} px, and letters need 13`);
			await page.click("#story-next");
		}
	}));

test("the + is on no number", () =>
	withPage(async (page) => {
		for (const viewport of [...Object.values(SCREENS), { width: 1920, height: 1200 }]) {
			await page.setViewportSize(viewport);
			for (const story of ["first-wheel", "demotions"]) {
				await page.click(`[data-story="${story}"]`);
				await still(page);
				const nearest = await page.evaluate(() => {
					const { geometry } = playground.picture;
					const canvas = document.querySelector("#rings").getBoundingClientRect();
					const handle = document.querySelector("#handle").getBoundingClientRect();
					const x = handle.left + handle.width / 2 - canvas.left;
					const y = handle.top + handle.height / 2 - canvas.top;
					const away = Math.hypot(x - geometry.centre, y - geometry.centre);
					const reach = handle.width / 2;
					const [inner] = geometry.edges(0);
					return Math.max(inner - (away + reach), away - reach - geometry.radius);
				});
				assert.ok(nearest >= 0, `${viewport.width}: ${nearest} px from the rings`);
			}
		}
	}));

for (const [screen, viewport] of Object.entries(SCREENS))
	test(`the empty page invites on a ${screen}, and one press makes a timer travel`, () =>
		withPage({ viewport }, async (page) => {
			const invites = ["#watch-one", "#watch-many", "#story-next", "#handle", "#beckon"];
			for (const selector of invites) {
				const { x, y, width, height } = await page.locator(selector).boundingBox();
				assert.ok(x >= 0 && x + width <= viewport.width, selector);
				assert.ok(y >= 0 && y + height <= viewport.height, selector);
			}
			const free = await page.evaluate(() => {
				const { geometry } = playground.picture;
				const canvas = document.querySelector("#rings").getBoundingClientRect();
				const words = document.querySelector("#beckon").getBoundingClientRect();
				const [, outer] = geometry.edges(0);
				return words.top - (canvas.top + geometry.centre + outer);
			});
			assert.ok(free > 0, "the words at the + are on no ring");
			await page.click("#watch-one");
			assert.equal(await page.isVisible("#invite"), false);
			assert.equal(await page.isVisible("#beckon"), false);
			await page.waitForFunction(() => playground.session.gone.length === 1);
			assert.deepEqual(
				await page.evaluate(() => playground.session.trails.get(0).map(({ level, slot }) => [level, slot])),
				[
					[2, 1],
					[1, 2],
					[0, 10],
				],
			);
			await page.waitForFunction(() => !playground.playing);
			assert.equal(await page.isVisible("#invite"), true, "and again");
			assert.equal(await page.isVisible("#beckon"), false, "three rings leave no room for words");
			await page.click("#watch-many");
			await page.waitForFunction(() => playground.session.wheel.numbers.popped > 10);
			await page.click("#clear");
			assert.equal(await page.isVisible("#beckon"), true);
			await page.click("#story-next");
			assert.equal(await page.textContent("#story-title"), "2, 8 and 19 ms");
			assert.equal(await page.isVisible("#invite"), false, "a story tells for itself");
		}));

test("a user who prefers no motion sees the examples without motion", () =>
	withPage({ reducedMotion: "reduce" }, async (page) => {
		const animation = await page.$eval("#handle", (handle) => getComputedStyle(handle).animationName);
		assert.equal(animation, "none");
	}));
