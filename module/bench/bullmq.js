// SPDX-License-Identifier: MIT
// bullmq.js DIRECTORY PORT PAYLOAD add COUNT LEAST MOST: adds COUNT jobs to the server on PORT that are due LEAST to
// MOST ms
//     from now, 500 at a time without waiting for each
// bullmq.js DIRECTORY PORT PAYLOAD work COUNT: takes and completes COUNT jobs with a worker of concurrency 100
// For server.py. DIRECTORY is where npm has put the package bullmq.
'use strict';
const [directory, port, payload, act, ...numbers] = process.argv.slice(2);
const { Queue, Worker } = require(`${directory}/node_modules/bullmq`);

const BATCH = 500;
const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null };
const [count, least, most] = numbers.map(Number);

async function add() {
	const queue = new Queue('bench', { connection });
	for (let left = count; left > 0; left -= BATCH) {
		const delay = () => least + Math.floor(Math.random() * (most - least));
		await Promise.all(
			Array.from({ length: Math.min(BATCH, left) }, () =>
				queue.add('work', { payload }, { delay: delay(), removeOnComplete: true }),
			),
		);
	}
	await queue.close();
}

async function work() {
	let done = 0;
	await new Promise((resolve) => {
		const worker = new Worker('bench', async () => {}, { connection, concurrency: 100 });
		worker.on('completed', () => {
			if (++done === count) resolve(worker.close());
		});
	});
}

(act === 'add' ? add() : work()).catch((error) => {
	console.error(error);
	process.exit(1);
});
