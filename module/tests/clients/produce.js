// SPDX-License-Identifier: MIT
// produce.js KEYS PORT...: puts tasks into a cluster by ioredis, as fast as it goes, until its input ends. A line of
// output for each task that WAIT 1 has confirmed to be also on a replica: its payload.
'use strict';
const Redis = require('ioredis');

const keys = Number(process.argv[2]);
const ports = process.argv.slice(3).map(Number);
const cluster = new Redis.Cluster(ports.map((port) => ({ host: '127.0.0.1', port })), {
	clusterRetryStrategy: () => 50,
	slotsRefreshInterval: 500,
	redisOptions: { commandTimeout: 3000 },
});
cluster.on('error', () => {});
let over = false;
process.stdin.on('end', () => (over = true)).resume();

const owner = new Map(); // of a key: the address that the last redirection named

// WAIT speaks of what was written on its own connection: so both go to one node, redirections are followed here, and a task
// that is there already is put once more.
async function put(key, payload) {
	const masters = cluster.nodes('master');
	const node = masters.find((n) => `${n.options.host}:${n.options.port}` === owner.get(key)) || masters[0];
	if (!node)
		return false;
	const [[error], [, replicas]] = await node
		.pipeline([['call', 'PAWL.PUT', key, 5, payload, 'ID', payload, 'REPLACE'], ['call', 'WAIT', 1, 1000]])
		.exec();
	const moved = error && /^MOVED \d+ (\S+)/.exec(error.message);
	if (moved)
		owner.set(key, moved[1]);
	return !error && replicas >= 1;
}

async function produceFor(n) {
	const key = `q{${n}}`;
	for (let i = 0; !over; i++) {
		const payload = `${key}:${i}`;
		let confirmed = false;
		while (!confirmed && !over) {
			confirmed = await put(key, payload).catch(() => false);
			if (!confirmed)
				await new Promise((resolve) => setTimeout(resolve, 10));
		}
		if (confirmed)
			console.log(payload);
	}
}

Promise.all(Array.from({ length: keys }, (_, n) => produceFor(n))).then(() => process.exit(0));
