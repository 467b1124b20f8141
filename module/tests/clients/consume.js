// SPDX-License-Identifier: MIT
// consume.js KEYS PORT...: takes tasks from a cluster by redis, waiting for them, until its input ends. A line of output
// for each delivery: its payload.
'use strict';
const { createCluster } = require('redis');

const keys = Number(process.argv[2]);
const rootNodes = process.argv.slice(3).map((port) => ({ url: `redis://127.0.0.1:${port}` }));
let over = false;
process.stdin.on('end', () => (over = true)).resume();

// A command for a dead node is kept until the node comes back, which does not happen here: start a new client instead.
function inTime(promise) {
	let timer;
	const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error('no reply')), 5000)));
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// A connection that waits can do nothing else: each key has its own.
async function consume(n) {
	const key = `q{${n}}`;
	let cluster;
	while (!over) {
		try {
			if (!cluster) {
				cluster = createCluster({ rootNodes, defaults: { socket: { connectTimeout: 1000 } } });
				cluster.on('error', () => {});
				await inTime(cluster.connect());
			}
			const call = (...args) => inTime(cluster.sendCommand(key, false, args.map(String)));
			const tasks = (await call('PAWL.TAKE', key, 'COUNT', 10, 'LEASE', 2000, 'BLOCK', 200)) || [];
			for (const [id, payload, , , token] of tasks) {
				console.log(payload);
				await call('PAWL.ACK', key, id, token);
			}
		} catch {
			const broken = cluster;
			cluster = undefined;
			await new Promise((resolve) => setTimeout(resolve, 50));
			try {
				broken.destroy();
			} catch {
				/* it was not open */
			}
		}
	}
}

Promise.all(Array.from({ length: keys }, (_, n) => consume(n))).then(() => process.exit(0));
