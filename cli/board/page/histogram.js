// SPDX-License-Identifier: MIT
// The next hour: a bar for each minute of the clock, so that a bar stays where it is until its minute is over.
import { $, count, make, minute, number, put, show } from "./show.js";

export const MINUTES = 60;
const MINUTE = 60000;
const WIDTH = 600;
const HEIGHT = 120;
const SVG = "http://www.w3.org/2000/svg";

let bars = [];
let top;
let begin = 0;

function svg(tag, attributes) {
	const element = document.createElementNS(SVG, tag);
	for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
	return element;
}

// A click on a bar calls choose(from, to) with its minute.
export function drawChart(choose) {
	const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", id: "bars" });
	const pitch = WIDTH / MINUTES;
	for (let i = 0; i < MINUTES; i++) {
		const column = svg("g", { class: "minute" });
		const bar = svg("rect", { class: "bar", x: i * pitch + 1, width: pitch - 2, y: HEIGHT, height: 0 });
		const title = svg("title", {});
		// The whole column can be touched, not only the bar.
		column.append(title, svg("rect", { class: "column", x: i * pitch, width: pitch, y: 0, height: HEIGHT }), bar);
		column.addEventListener("click", () => choose(begin + i * MINUTE, begin + (i + 1) * MINUTE - 1));
		chart.append(column);
		bars.push({ bar, title });
	}
	top = make("span", { className: "top" });
	const axis = make("div", { className: "axis" });
	for (let i = 0; i <= 4; i++) axis.append(make("span"));
	$("hour-chart").append(top, chart, axis);
}

export const firstMinute = (now) => Math.floor(now / MINUTE) * MINUTE;

// The bounds of each bar.
export function minutes(now) {
	const from = firstMinute(now);
	return Array.from({ length: MINUTES }, (_, i) => [from + i * MINUTE, from + (i + 1) * MINUTE - 1]);
}

// A round number not much larger than this.
function round(n) {
	if (n < 5) return n;
	const power = 10 ** Math.floor(Math.log10(n));
	return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((m) => m * power).find((m) => m >= n);
}

export function fillChart(from, values, note) {
	const highest = Math.max(...values);
	const scale = round(Math.max(highest, 1));
	begin = from;
	values.forEach((value, i) => {
		const { bar, title } = bars[i];
		const height = value > 0 ? Math.max((value / scale) * HEIGHT, 2) : 0;
		if (bar.getAttribute("height") !== String(height)) {
			bar.setAttribute("height", height);
			bar.setAttribute("y", HEIGHT - height);
		}
		put(title, `${minute(from + i * MINUTE)}: ${count(value, "task")}`);
	});
	put(top, number(scale));
	[...document.querySelectorAll("#hour-chart .axis span")].forEach((label, i) =>
		put(label, minute(from + i * 15 * MINUTE)),
	);
	const sum = values.reduce((a, b) => a + b, 0);
	put($("hour-sum"), `${count(sum, "task")} ${sum === 1 ? "falls" : "fall"} due`);
	const peak = from + values.indexOf(highest) * MINUTE;
	$("bars").setAttribute(
		"aria-label",
		highest > 0 ? `${count(sum, "task")}, most of them, ${number(highest)}, at ${minute(peak)}` : "no task",
	);
	show($("hour-note"), note !== "");
	put($("hour-note"), note);
}
