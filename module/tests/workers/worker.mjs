// SPDX-License-Identifier: MIT
// worker.mjs redis|ioredis SETTINGS: a worker of module/clients/node for the tests. It reads orders and writes events as
// lines of JSON: see test_workers.py.
import { existsSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { mock } from 'node:test';
import { inspect } from 'node:util';
import { createClient, createCluster, createSentinel } from 'redis';
import Redis from 'ioredis';

const settings = JSON.parse(process.argv[3]);
const say = (what) => writeSync(1, `${JSON.stringify(what)}\n`); // also while a handler computes
if (settings.computes) mock.timers.enable({ apis: ['setTimeout'] });
const { Queue, Worker } = await import('pawl'); // with these timers

const strategies = settings.gives_up ? [{ socket: { reconnectStrategy: false } }, { retryStrategy: () => null }] : [{}, {}];
const makers = {
	redis: () => createClient({ url: process.env.REDIS_URL, RESP: 3, ...strategies[0] }), // ioredis speaks RESP2
	ioredis: () => new Redis(process.env.REDIS_URL, strategies[1]),
	'redis cluster': () => createCluster({ rootNodes: settings.ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) }),
	'ioredis cluster': () => new Redis.Cluster(settings.ports.map((port) => ({ host: '127.0.0.1', port }))),
	'redis sentinel': () => createSentinel({ name: 'watched', sentinelRootNodes: [{ host: '127.0.0.1', port: settings.sentinel }] }),
	'ioredis sentinel': () =>
		new Redis({ sentinels: [{ host: '127.0.0.1', port: settings.sentinel }], name: 'watched', lazyConnect: true }),
};
const client = makers[process.argv[2] + (settings.ports ? ' cluster' : settings.sentinel ? ' sentinel' : '')]();
client.on('error', () => {});
const connected = process.argv[2] === 'redis' ? client.connect() : null;
if (settings.ports) await connected; // otherwise commands wait for it: the server may be away
const queue = new Queue(client, settings.name, settings.queue);

const gates = new Map();
function gate(n) {
	if (!gates.has(n)) {
		let open;
		const opened = new Promise((resolve) => (open = resolve));
		gates.set(n, { open, opened });
	}
	return gates.get(n);
}

// Blocks the process until the tests have made the file, and then for the time that timers see.
function compute() {
	say({ event: 'computing' });
	while (!existsSync(settings.computes.until)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
	mock.timers.tick(settings.computes.ms);
}

const fail = () => {
	throw new Error('no text');
};
const textless = Object.assign(Object.create(null), { toString: fail, [inspect.custom]: fail });

async function handle(task) {
	const { id, key, tries, due, fence, signal } = task;
	const { n, act } = queue.raw ? { n: task.payload.toString('latin1') } : task.payload;
	say({ event: 'start', n, id, key, tries, due, fence });
	if (act === 'fail without text') throw textless;
	if (['wait', 'wait and fail', 'compute'].includes(act)) await gate(n).opened;
	if (['fail', 'fail twice', 'wait and fail'].includes(act)) throw new TypeError(`no luck with ${n}`);
	if (act === 'compute') compute();
	if (act === 'lost') {
		if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
		say({ event: 'lost', n });
	}
	say({ event: 'done', n });
}

function onError(error, task, outcome) {
	if (error !== textless) console.error(error);
	if (outcome) say({ event: 'outcome', n: task.payload.n, outcome, text: error.message });
	if (task?.payload?.act === 'fail twice') throw new Error('onError fails, too');
	if (error === textless) throw textless;
}

let worker;
const orders = {
	open: ({ n }) => gate(n).open(),
	stop: () => worker.stop(),
	call: async ({ method, args, options }) => {
		try {
			say({ event: 'reply', value: (await queue[method](...args, ...(options ? [options] : []))) ?? null });
		} catch (error) {
			say({ event: 'reply', error: error.message });
		}
	},
};
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
	const order = JSON.parse(line);
	orders[order.do](order);
});
lines.on('close', () => process.exit(1)); // the tests are gone

worker = new Worker(queue, handle, { ...settings.worker, onError });
if (settings.stopped) worker.stop();
say({ event: 'ready' });
let error;
if (settings.worker) await worker.run().catch((failed) => (error = failed.message));
else await gate('never').opened;
say({ event: 'ended', error });
lines.removeAllListeners('close');
process.stdin.destroy();
await connected; // a socket that redis is opening is not closed by destroy()
if (!settings.gives_up) client.destroy ? client.destroy() : client.disconnect();
