// SPDX-License-Identifier: MIT
// The pictures of `pawl explain --svg`, as a browser lays them out: no arrow crosses a label, no label is on another, and
// everything can be read on a light page and on a dark one.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { HANG, contrast, withSvg } from "./browser.mjs";

const SEED = Number(process.env.PLAYGROUND_SEED ?? 20);
const PICTURES = 40;

const draw = (...arguments_) =>
	execFileSync(process.env.PAGE_COMMAND, ["explain", ...arguments_, "--svg", "-"], {
		encoding: "utf8",
		timeout: HANG,
	});

// Labels that an arrow or a hand runs through, and labels that are on each other; by real paths and real letters.
function crossings(page) {
	return page.evaluate(() => {
		const STEP = 1; // px along a path
		const box = (text) => {
			const { x, y, width, height } = text.getBBox();
			return { says: text.textContent, left: x, top: y, right: x + width, bottom: y + height };
		};
		const labels = [...document.querySelectorAll("text")].map(box);
		const paths = [...document.querySelectorAll("path[marker-end], line.hand")];
		const crossed = new Set();
		for (const path of paths) {
			const length = path.getTotalLength();
			for (let at = 0; at <= length; at += STEP) {
				const { x, y } = path.getPointAtLength(at);
				for (const { says, left, top, right, bottom } of labels)
					if (x > left && x < right && y > top && y < bottom) crossed.add(says);
			}
		}
		const others = labels.filter(({ says }) => !/^\d+$/.test(says));
		const overlap = (a, b) =>
			a.left < b.right && b.left < a.right && a.top + 2 < b.bottom - 2 && b.top + 2 < a.bottom - 2;
		const { width, height } = document.documentElement.viewBox.baseVal;
		return {
			paths: paths.length,
			labels: labels.length,
			crossed: [...crossed],
			overlapping: others.flatMap((a, i) =>
				others.slice(i + 1).flatMap((b) => (overlap(a, b) ? [`${a.says} | ${b.says}`] : [])),
			),
			outside: labels
				.filter(({ left, top, right, bottom }) => left < 0 || top < 0 || right > width || bottom > height)
				.map(({ says }) => says),
		};
	});
}

async function expectClear(page, svg, what) {
	await page.goto(`data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`);
	const { paths, labels, ...wrong } = await crossings(page);
	assert.ok(paths > 0 && labels > 0, what);
	assert.deepEqual(wrong, { crossed: [], overlapping: [], outside: [] }, what);
	return paths;
}

test("in the picture of the documents no arrow crosses a label", () =>
	withSvg({}, async (page) => {
		const paths = await expectClear(page, draw("350ms", "450ms"), "350ms 450ms");
		assert.equal(paths, 3 + 3 + 1, "three moves, a hand for each level and one in the legend");
	}));

test(`in ${PICTURES} random pictures no arrow crosses a label (PLAYGROUND_SEED=${SEED})`, () =>
	withSvg({}, async (page) => {
		let state = SEED;
		const random = (below) => {
			state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
			return Math.floor((state / 2 ** 32) * below);
		};
		for (let i = 0; i < PICTURES; i++) {
			const size = [2, 3, 5, 8, 20, 24, 64][random(7)];
			const delays = Array.from({ length: 1 + random(8) }, () => `${random(10 ** (1 + random(6)))}ms`);
			const start = `${random(2) * random(100000)}ms`;
			const drawn = ["--wheel-size", String(size), "--start", start, ...delays];
			await expectClear(page, draw(...drawn), `pawl explain ${drawn.join(" ")}`);
		}
	}));

for (const colorScheme of ["light", "dark"])
	test(`everything in the picture can be read on a ${colorScheme} page`, () =>
		withSvg({ colorScheme }, async (page) => {
			const delays = ["350ms", "450ms", "7s", "60ms", "90ms", "7900ms"];
			await expectClear(page, draw(...delays), delays.join(" "));
			const { paper, inks } = await page.evaluate(() => {
				const hex = (rgb) =>
					`#${rgb
						.match(/\d+/g)
						.map((part) => Number(part).toString(16).padStart(2, "0"))
						.join("")}`;
				const of = (element, what) => hex(getComputedStyle(element)[what]);
				return {
					paper: of(document.querySelector("rect"), "fill"),
					inks: [
						...[...document.querySelectorAll("text, circle[r='5']")].map((e) => [e.outerHTML, of(e, "fill")]),
						...[...document.querySelectorAll("path[marker-end], .rim, .hand")].map((e) => [
							e.outerHTML,
							of(e, "stroke"),
						]),
					],
				};
			});
			assert.equal(parseInt(paper.slice(1, 3), 16) > 128, colorScheme === "light", paper);
			assert.equal(new Set(inks.filter(([html]) => html.includes('r="5"')).map(([, ink]) => ink)).size, 6);
			for (const [html, ink] of inks)
				assert.ok(contrast(ink, paper) >= 4.5, `${contrast(ink, paper)}: ${ink} on ${paper}: ${html}`);
		}));
