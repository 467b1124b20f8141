// SPDX-License-Identifier: MIT
// talk.js PORT: the whole life of tasks through each client library, in RESP2 and in RESP3.
'use strict';
const assert = require('node:assert/strict');
const { createClient } = require('redis');
const Redis = require('ioredis');

const port = Number(process.argv[2]);

async function nodeRedis(version) {
	const options = { socket: { host: '127.0.0.1', port }, RESP: version };
	const client = await createClient(options).connect();
	const blocked = await createClient(options).connect();
	return {
		name: `redis, RESP${version}`,
		call: (...args) => client.sendCommand(args.map(String)),
		wait: (...args) => blocked.sendCommand(args.map(String)),
		end: () => Promise.all([client.close(), blocked.close()]),
	};
}

async function ioredis() {
	const client = new Redis(port, '127.0.0.1');
	const blocked = new Redis(port, '127.0.0.1');
	return {
		name: 'ioredis',
		call: (command, ...args) => client.call(command, ...args),
		wait: (command, ...args) => blocked.call(command, ...args),
		end: () => Promise.all([client.quit(), blocked.quit()]),
	};
}

// A map is an object in RESP3 and a list of pairs in RESP2.
function asMap(reply) {
	if (!Array.isArray(reply))
		return reply instanceof Map ? Object.fromEntries(reply) : { ...reply };
	return Object.fromEntries(reply.flatMap((item, i) => (i % 2 ? [] : [[item, reply[i + 1]]])));
}

async function blockedClients(call, count) {
	while (!(await call('INFO', 'clients')).includes(`blocked_clients:${count}\r`))
		await new Promise((resolve) => setTimeout(resolve, 5));
}

async function talk({ name, call, wait, end }) {
	await call('FLUSHALL');
	assert.equal(await call('PAWL.PUT', 'q', 0, 'päyload', 'ID', 'a', 'MAXTRIES', 2), 'a');
	await assert.rejects(call('PAWL.PUT', 'q', 0, 'x', 'ID', 'a'), /^\w*Error: EXISTS/);
	assert.equal(await call('PAWL.PUT', 'q', 0, 'x', 'ID', 'a', 'NX'), null);
	const made = await call('PAWL.PUT', 'q', 3600000, 'later');
	assert.match(made, /^\d+-\d+-[0-9a-f]{8}$/);
	assert.equal(await call('PAWL.LEN', 'q', 'STATE', 'waiting'), 1);
	const [[id, payload, tries, due, token]] = await call('PAWL.TAKE', 'q', 'LEASE', 3600000);
	assert.deepEqual([id, payload, tries, typeof due], ['a', 'päyload', 1, 'number']);
	assert.equal(await call('PAWL.TAKE', 'q'), null);
	await assert.rejects(call('PAWL.CANCEL', 'q', 'a'), /LEASED/);
	assert.equal(asMap(await call('PAWL.GET', 'q', 'a')).state, 'leased');
	assert.equal(await call('PAWL.NACK', 'q', 'a', token), 1);
	const [[, , again, , second]] = await call('PAWL.TAKE', 'q', 'LEASE', 3600000);
	assert.equal(again, 2);
	assert.equal(await call('PAWL.ACK', 'q', 'a', token), 0);
	assert.equal(await call('PAWL.EXTEND', 'q', 'a', second, 3600000), 1);
	assert.equal(await call('PAWL.NACK', 'q', 'a', second), 2);
	assert.equal(asMap(await call('PAWL.INFO', 'q')).dead, 1);
	assert.equal(await call('PAWL.DEAD', 'q', 'REQUEUE', 'ALL'), 1);
	const ids = (await call('PAWL.SCAN', 'q', 0, 'COUNT', 100))[1];
	assert.deepEqual(ids.sort(), ['a', made].sort());
	assert.equal((await call('PAWL.TAKE', 'q'))[0][0], 'a');
	const waiting = wait('PAWL.TAKE', 'q', 'BLOCK', 0);
	await blockedClients(call, 1);
	assert.equal(await call('PAWL.MOVE', 'q', made, 0), 1);
	assert.deepEqual((await waiting)[0].slice(0, 2), [made, 'later']);
	assert.equal(await wait('PAWL.TAKE', 'q', 'BLOCK', 1), null);
	assert.equal((await call('PAWL.MPUT', 'q', 0, 'a', 0, 'b')).length, 2);
	await end();
	console.log(`${name}: ok`);
}

(async () => {
	for (const client of [await nodeRedis(2), await nodeRedis(3), await ioredis()])
		await talk(client);
})().catch((error) => {
	console.error(error);
	process.exit(1);
});
