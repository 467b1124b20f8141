// SPDX-License-Identifier: MIT
// 100,000 timers, and no frame with more than 50 ms of script.
//
// The work of a frame is bounded by a count, and that holds for every frame. Its time is measured around the
// page's own frame function, by a clock that also runs while other programs have the CPU. So the test calls the
// frames itself, with times of its own: the same ones three times over, each doing the same work each time. The
// least of a frame's three times is what counts: to be wrong, a frame must be disturbed three times.
import assert from "node:assert/strict";
import { test } from "node:test";

import { screenshot, withPage } from "./browser.mjs";

const RUNS = 3;
const FRAME = 16; // ms
const SCRIPT_MAX = 50; // ms
const WORK_MAX = 20000;

// Arm them, play for a while, go back to the middle: every frame of it.
function framesOf100000(page) {
	return page.evaluate(async (frameLength) => {
		const app = playground;
		const { session } = app;
		let time = 0;
		const frames = () => app.frames.map(({ script, work }) => ({ script, work }));
		const run = (count) => {
			for (let i = 0; i < count; i++) app.frame((time += frameLength));
		};
		const runUntilIdle = () => {
			for (let i = 0; session.busy && i < 10000; i++) run(1);
		};
		app.manual = true;
		app.time = time;
		session.restart({ tick: 1n, wheelSize: 256, chains: 8 });
		app.changed({ smooth: false });
		app.frames.length = 0;
		session.fill(100000, 60000, 3);
		runUntilIdle();
		const armed = session.wheel.numbers.pending;
		app.speed = 10000;
		app.setPlaying(true);
		run(120);
		app.setPlaying(false);
		const playedTo = Number(session.wheel.now);
		app.scrub(Math.floor(session.ops.length / 2));
		runUntilIdle();
		session.advance(60000n);
		runUntilIdle();
		const { pending, popped, empty } = session.wheel.numbers;
		return { frames: frames(), armed, playedTo, pending, popped, empty, broken: session.broken };
	}, FRAME);
}

test("100,000 timers, and no frame above 50 ms of script", () =>
	withPage(async (page) => {
		const runs = [];
		for (let i = 0; i < RUNS; i++) runs.push(await framesOf100000(page));
		for (const run of runs) {
			assert.equal(run.armed, 100000);
			assert.ok(run.playedTo > 15000, `time went on to ${run.playedTo}`);
			assert.deepEqual([run.pending, run.popped, run.empty, run.broken], [0, 100000, 0, null]);
			assert.deepEqual(
				run.frames.map(({ work }) => work),
				runs[0].frames.map(({ work }) => work),
				"each run does the same",
			);
		}
		const least = runs[0].frames.map((_, i) => Math.min(...runs.map((run) => run.frames[i].script)));
		const worst = Math.max(...least);
		const median = [...least].sort((a, b) => a - b)[least.length >> 1];
		console.log(
			`${least.length} frames: median ${median.toFixed(1)} ms, longest ${worst.toFixed(1)} ms of script, number ${least.indexOf(worst)}`,
		);
		assert.ok(Math.max(...runs[0].frames.map(({ work }) => work)) <= WORK_MAX);
		assert.ok(worst <= SCRIPT_MAX, `the longest frame took ${worst} ms`);
	}));

test("a million timers play without more work in a frame than with a thousand", () =>
	withPage(async (page) => {
		await page.click('[data-story="million"]');
		await page.waitForFunction(() => !playground.session.busy);
		await page.click("#play");
		await page.waitForFunction(() => playground.session.wheel.now > 3000n);
		await screenshot(page, "million");
		const { work, script } = await page.evaluate(() => ({
			work: playground.frames.map((f) => f.work),
			script: playground.frames.map((f) => f.script),
		}));
		console.log(
			`${work.length} frames: longest ${Math.max(...script).toFixed(1)} ms, whatever else the machine did`,
		);
		assert.ok(Math.max(...work) <= WORK_MAX);
		await page.click("#play");
		await page.waitForFunction(() => !playground.checker.waiting && playground.session.checks > 0);
		assert.equal(await page.evaluate(() => playground.session.broken), null);
	}));
