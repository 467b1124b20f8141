// SPDX-License-Identifier: MIT
// Queues and workers on the module pawl.so, through a client of `redis` or `ioredis`. ../README.md has a complete
// worker, index.d.ts describes each option. The library for Python is built the same way.
'use strict';
const { setTimeout: sleep } = require('node:timers/promises');
const { inspect } = require('node:util');

const BUFFERS = { typeMapping: { 36: Buffer } }; // redis: for bulk strings, whose type in the protocol is $

const TIMER_MAX = 2 ** 30; // ms: twice this is the longest time of a timer in Node.js

const isCluster = (client) => Boolean(client.isCluster || client.nodeClient); // of ioredis, of redis

// An error that the server would also reply on another connection. With any other, the connection is broken, or the
// server cannot serve the queue now, as a primary that became a replica: the address may lead to another one by then.
const LASTING = /^(?!READONLY|LOADING|MASTERDOWN|CLUSTERDOWN)[A-Z]+ /;

// Otherwise an id that is null would be the id 'null'.
function textOf(name, value) {
	must(Buffer.isBuffer(value) || ['string', 'number', 'bigint'].includes(typeof value), name, value, 'text or a number');
	return String(value);
}

function call(client, key, command, ...args) {
	const words = [command, ...args].map((word) => (Buffer.isBuffer(word) ? word : textOf(`an argument of ${command}`, word)));
	if (client.callBuffer) return client.callBuffer(...words);
	return client.nodeClient ? client.sendCommand(key, false, words, BUFFERS) : client.sendCommand(words, BUFFERS);
}

// No reply is read while a handler computes: however long it does, that counts as one part of the timeout.
async function waitInParts(block, timeout, signal) {
	const part = timeout / 10;
	for (let left = block + timeout; left > 0; left -= part) await sleep(part, null, { signal, ref: false });
}

// A connection like the client's, used only by the worker. When a command fails because of it, a new one replaces it:
// the client's may have given up reconnecting, and one that does not reply in time may have been cut silently. The
// worker decides whether to send the command again.
class Connection {
	constructor(client, timeout, onError) {
		Object.assign(this, { client, timeout, onError });
		this.open();
	}

	open() {
		const own = this.client.duplicate(this.client.isCluster ? undefined : { autoResendUnfulfilledCommands: false });
		const line = (this.line = { own, calls: 0, connecting: !own.callBuffer }); // connecting: redis opens a socket
		own.on('error', this.onError);
		if (own.callBuffer) return; // ioredis connects by itself
		own.on('connect', () => (line.connecting = false)).on('reconnecting', () => (line.connecting = true));
		line.opened = own.connect().catch(this.onError);
	}

	close() {
		hangUp(this.line);
		this.line = null;
	}

	// A command on a connection that is not ready would wait until it is.
	get isReady() {
		const { own } = this.line;
		return own.isReady ?? (own.status === undefined || own.status === 'ready'); // of redis, of ioredis
	}

	// Fails if there is no reply after `block`, the time that the server may wait, and `timeout`.
	async call(block, key, ...words) {
		const { line } = this;
		line.calls++;
		const over = new AbortController();
		const late = waitInParts(block, this.timeout, over.signal).then(() => {
			throw new Error(`no reply to ${words[0]} within ${block + this.timeout} ms: the connection is opened again`);
		});
		try {
			await Promise.race([line.opened, late]); // a cluster client does not keep commands until it is open
			return await Promise.race([call(line.own, key, ...words), late]);
		} catch (error) {
			if (line === this.line && !LASTING.test(error.message)) this.open();
			throw error;
		} finally {
			over.abort();
			if (--line.calls === 0 && line !== this.line) hangUp(line); // replaced; other nodes of a cluster may reply until now
		}
	}
}

// destroy() of redis does not reach a socket that is being opened: that would stay open forever.
function hangUp({ own, connecting }) {
	const end = () => {
		try {
			own.destroy ? own.destroy() : own.disconnect();
		} catch {} // it was not open
	};
	if (connecting) own.once('connect', end).once('error', end);
	else end();
}

function whole(name, value, least, most = Number.MAX_SAFE_INTEGER) {
	if (Number.isInteger(value) && value >= least && value <= most) return value;
	throw new RangeError(`pawl: ${name} is ${show(value)}, and must be a whole number from ${least} to ${most}`);
}

// Only an object, such as a Date, becomes a number: Number(null) is 0, and the task would be due at once.
const unixTime = (at) => whole('at', typeof at === 'object' && at !== null ? Number(at) : at, 0);

// Object.create(null) has no text, for one.
function textIfAny(write) {
	try {
		return write();
	} catch {
		return 'a value without text';
	}
}

const show = (value) => (typeof value === 'string' ? `'${value}'` : textIfAny(() => String(value)));

function must(good, name, value, allowed) {
	if (!good) throw new TypeError(`pawl: ${name} is ${show(value)}, and must be ${allowed}`);
}

// Otherwise a misspelt option would have no effect.
function noOther(of, other, known) {
	for (const name in other) throw new TypeError(`pawl: ${of} has no option ${name}; its options are ${known}`);
}

function crc32(text) {
	let crc = -1;
	for (const byte of Buffer.from(text)) {
		crc ^= byte;
		for (let n = 0; n < 8; n++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc >>> 0;
}

// Doubles with each try, up to most. A random part of at most half is subtracted, so that tasks that failed together do
// not come back together.
const backOff = (first, most, tries) => Math.ceil(Math.min(most, first * 2 ** (tries - 1)) * (1 - Math.random() / 2));

// Waits until the promise is settled, or the time is over.
async function inTime(promise, ms) {
	const over = new AbortController();
	await Promise.race([promise, sleep(ms, null, { signal: over.signal }).catch(() => {})]);
	over.abort();
}

function mapOf(reply) {
	if (reply instanceof Map) return reply;
	if (!Array.isArray(reply)) return new Map(Object.entries(reply));
	return new Map(reply.flatMap((name, n) => (n % 2 ? [] : [[String(name), reply[n + 1]]])));
}

class Queue {
	#next = Math.floor(Math.random() * 1024); // shard for a task without `about`

	constructor(client, name, { shards, maxTries = 25, raw = false, ...other } = {}) {
		noOther('Queue', other, 'shards, maxTries, raw');
		must(typeof client?.duplicate === 'function', 'client', client, 'by ioredis, createClient or createCluster');
		must(typeof name === 'string' && name !== '', 'name', name, 'text that is not empty');
		this.client = client;
		this.keys = [name];
		if (shards !== undefined) this.keys = Array.from({ length: whole('shards', shards, 1, 1024) }, (_, n) => `${name}:{${n}}`);
		this.maxTries = whole('maxTries', maxTries, 0, 65535);
		this.raw = raw;
	}

	async put(payload, { delay, at, id, about, nx, replace, maxTries = this.maxTries, ...other } = {}) {
		noOther('put()', other, 'delay, at, id, about, nx, replace, maxTries');
		must(delay === undefined || at === undefined, 'delay', delay, 'left out where at is given');
		const key = about === undefined ? this.keyOf(id, 'id') : this.keyOf(about);
		const words = [whole('delay', delay ?? 0, 0), this.encode(payload)];
		if (at !== undefined) words.push('AT', unixTime(at));
		if (id !== undefined) words.push('ID', id);
		if (nx) words.push('NX');
		if (replace) words.push('REPLACE');
		if (whole('maxTries', maxTries, 0, 65535)) words.push('MAXTRIES', maxTries);
		const reply = await call(this.client, key, 'PAWL.PUT', key, ...words);
		return reply && String(reply);
	}

	async every(id, period, payload, { at, about = textOf('id', id), ...other } = {}) {
		noOther('every()', other, 'at, about');
		const key = this.keyOf(about);
		const words = at === undefined ? [] : ['AT', unixTime(at)];
		return (await call(this.client, key, 'PAWL.EVERY', key, id, period, this.encode(payload), ...words)) === 1;
	}

	async cancel(id, { about, force, ...other } = {}) {
		noOther('cancel()', other, 'about, force');
		return (await this.#sum(this.#keysOf(about), 'PAWL.CANCEL', id, ...(force ? ['FORCE'] : []))) > 0;
	}

	async get(id, { about, ...other } = {}) {
		noOther('get()', other, 'about');
		const replies = await this.#each(this.#keysOf(about), 'PAWL.GET', id);
		const found = replies.find((reply) => reply !== null);
		if (!found) return null;
		const map = mapOf(found);
		const reason = map.get('reason');
		return { id, state: String(map.get('state')), payload: this.decode(map.get('payload')), due: map.get('due-ms'),
			tries: map.get('tries'), maxTries: map.get('maxtries'), period: map.get('period-ms'),
			reason: reason ? String(reason) : null };
	}

	count(state) {
		return this.#sum(this.keys, 'PAWL.LEN', ...(state ? ['STATE', state] : []));
	}

	async pause() {
		await this.#each(this.keys, 'PAWL.PAUSE');
	}

	async resume() {
		await this.#each(this.keys, 'PAWL.RESUME');
	}

	// The first id is sent twice: a single id ALL would mean all tasks. DELAY is sent: an id DELAY would be read as
	// the option.
	async requeue(ids) {
		if (ids === undefined) return this.#sum(this.keys, 'PAWL.DEAD', 'REQUEUE', 'ALL');
		must(Array.isArray(ids), 'ids', ids, 'a list of ids');
		return ids.length && this.#sum(this.keys, 'PAWL.DEAD', 'REQUEUE', ids[0], ...ids, 'DELAY', 0);
	}

	// The shard for `about`, the same in every language; without it, the shards round robin.
	keyOf(about, name = 'about') {
		return this.keys[(about === undefined ? this.#next++ : crc32(textOf(name, about))) % this.keys.length];
	}

	encode(payload) {
		const data = this.raw ? payload : JSON.stringify(payload);
		if (typeof data === 'string') return data;
		if (data instanceof Uint8Array) return Buffer.from(data);
		throw new TypeError(`pawl: a payload must be ${this.raw ? 'text or bytes' : 'a JSON value'}, and is ${typeof payload}`);
	}

	decode(payload) {
		return this.raw ? payload : JSON.parse(payload);
	}

	#keysOf(about) {
		return about === undefined ? this.keys : [this.keyOf(about)];
	}

	// DEAD has its action after the key, where the other commands have their first argument.
	#each(keys, command, ...args) {
		return Promise.all(keys.map((key) => call(this.client, key, command, key, ...args)));
	}

	async #sum(keys, command, ...args) {
		return (await this.#each(keys, command, ...args)).reduce((sum, n) => sum + n, 0);
	}
}

class Worker {
	#leases = new Set(); // of running handlers
	#stop = new AbortController();
	#own; // the connection for ACK, NACK and EXTEND
	#extending;
	#closed = false;
	#failed = null;

	constructor(queue, handler, options = {}) {
		const { concurrency = 10, lease = 30000, extendEvery = lease / 3, backoff = 1000, ...more } = options;
		const { backoffMax = 3600000, block = 2000, timeout = 5000, grace = 25000, onError = report, ...other } = more;
		noOther('Worker', other, 'concurrency, lease, extendEvery, backoff, backoffMax, block, timeout, grace, onError');
		must(queue instanceof Queue, 'queue', queue, 'a Queue');
		must(typeof handler === 'function', 'handler', handler, 'a function');
		must(typeof onError === 'function', 'onError', onError, 'a function');
		this.queue = queue;
		this.handler = handler;
		this.onError = guarded(onError);
		this.concurrency = whole('concurrency', concurrency, 1, 10000);
		this.lease = whole('lease', lease, 1, TIMER_MAX);
		this.extendEvery = whole('extendEvery', Math.ceil(extendEvery), 1, this.lease);
		this.backoff = whole('backoff', backoff, 0);
		this.backoffMax = whole('backoffMax', backoffMax, 0);
		this.block = whole('block', block, 1, TIMER_MAX);
		this.timeout = whole('timeout', timeout, 1, TIMER_MAX);
		this.grace = whole('grace', grace, 0, TIMER_MAX);
	}

	stop() {
		this.#stop.abort();
	}

	async run() {
		const { client, keys } = this.queue;
		const onError = (error) => this.onError(error, null, null);
		this.#own = new Connection(client, this.timeout, onError);
		// One connection waits for all keys. A cluster refuses keys of several slots, so there each shard has
		// its own.
		const takers = (isCluster(client) ? keys.map((key) => [key]) : [keys]).map((some) => {
			return { keys: some, own: new Connection(client, this.timeout, onError), id: null, busy: new Set(), wake: null, ended: false };
		});
		const keeper = setInterval(() => this.#keep(), this.extendEvery);
		const taking = takers.map((taker) => this.#take(taker).then(() => (taker.ended = true)));
		if (!this.#stop.signal.aborted) await new Promise((resolve) => this.#stop.signal.addEventListener('abort', resolve));
		const ended = Promise.all(taking);
		const unblocker = setInterval(() => takers.forEach((taker) => this.#unblock(taker)), 100);
		takers.forEach((taker) => this.#unblock(taker));
		await inTime(ended.then(() => Promise.all(takers.flatMap((taker) => [...taker.busy]))), this.grace);
		await inTime(ended, this.block + this.timeout); // or it takes again what it gives back
		clearInterval(unblocker);
		await inTime(Promise.all([...this.#leases].map((lease) => this.#giveUp(lease))), this.lease);
		clearInterval(keeper);
		this.#closed = true;
		for (const own of [this.#own, ...takers.map((taker) => taker.own)]) own.close();
		if (this.#failed) throw this.#failed;
	}

	async #take(taker) {
		for (let failures = 0; ; ) {
			while (taker.busy.size === this.concurrency && !this.#stop.signal.aborted)
				await new Promise((resolve) => (taker.wake = resolve));
			if (this.#stop.signal.aborted) return;
			try {
				if (!isCluster(this.queue.client)) taker.id ??= await taker.own.call(0, null, 'CLIENT', 'ID');
				if (this.#stop.signal.aborted) return;
				const room = this.concurrency - taker.busy.size;
				const reply = await taker.own.call(this.block, taker.keys[0], 'PAWL.MTAKE', taker.keys.length, ...taker.keys,
					'COUNT', room, 'LEASE', this.lease, 'BLOCK', this.block);
				failures = 0;
				for (const delivery of reply ? reply[1] : []) this.#begin(taker, String(reply[0]), delivery);
			} catch (error) {
				taker.id = null;
				if (this.#stop.signal.aborted) return;
				if (/unknown command/i.test(error.message)) return this.#fail(error);
				this.onError(error, null, null);
				await sleep(backOff(100, 5000, ++failures), null, { signal: this.#stop.signal }).catch(() => {});
			}
		}
	}

	// Retrying does not help, so run() fails with it.
	#fail(cause) {
		this.#failed ??= new Error('unknown command PAWL.MTAKE: load the module pawl.so into the server; ' +
			'see Install in module/docs/running.md', { cause });
		this.stop();
	}

	// Ends the wait of MTAKE. If this comes too early, it is called again; if it fails, the wait ends after `block`.
	#unblock(taker) {
		taker.wake?.();
		if (taker.id !== null && !taker.ended) this.#own.call(0, null, 'CLIENT', 'UNBLOCK', taker.id).catch(() => {});
	}

	#begin(taker, key, [id, data, tries, due, token]) {
		const abort = new AbortController();
		const task = { id: String(id), key, payload: undefined, tries, due, fence: parseInt(token, 10), signal: abort.signal };
		const lease = { task, data, id, token, abort, end: performance.now() + this.lease };
		this.#leases.add(lease);
		const work = this.#handle(lease);
		taker.busy.add(work);
		work.finally(() => {
			taker.busy.delete(work);
			taker.wake?.();
		});
	}

	async #handle(lease) {
		const { task } = lease;
		let failed = null;
		try {
			task.payload = this.queue.decode(lease.data);
			await this.handler(task);
		} catch (error) {
			failed = { error };
		}
		if (!this.#leases.delete(lease)) return; // stop() has given it back
		if (failed) {
			await this.#giveBack(lease, backOff(this.backoff, this.backoffMax, task.tries), failed.error);
		} else if ((await this.#finish(lease, 'PAWL.ACK')) === 0) {
			this.onError(new Error('the lease was lost before the work was done'), task, 'lost');
		}
	}

	async #giveUp(lease) {
		this.#leases.delete(lease);
		const error = new Error('the worker stopped before the work was done');
		lease.abort.abort(error);
		lease.end = 0; // NACK is not retried
		if (this.#own.isReady) await this.#giveBack(lease, 0, error);
		else this.onError(error, lease.task, 'lost'); // it comes back when the lease ends
	}

	async #giveBack(lease, delay, error) {
		const reply = await this.#finish(lease, 'PAWL.NACK', 'DELAY', delay, 'REASON', reasonOf(error));
		this.onError(error, lease.task, ['lost', 'retry', 'dead'][reply]);
	}

	// Sends ACK or NACK, and retries until the lease ends if the connection is broken. 0: the lease is lost.
	async #finish({ task, id, token, end }, command, ...options) {
		for (let failures = 0; ; ) {
			try {
				return await this.#own.call(0, task.key, command, task.key, id, token, ...options);
			} catch (error) {
				if (this.#closed) return 0;
				this.onError(error, task, null);
				const pause = backOff(100, 5000, ++failures);
				if (performance.now() + pause >= end) return 0;
				await sleep(pause);
			}
		}
	}

	// Every `extendEvery`: aborts the tasks whose lease is over by the local clock, since the server may be
	// unreachable, and extends the other leases.
	#keep() {
		for (const lease of this.#leases) if (lease.end <= performance.now()) lose(lease);
		this.#extending ??= this.#extend().finally(() => (this.#extending = null));
	}

	async #extend() {
		const held = new Map(this.queue.keys.map((key) => [key, []]));
		for (const lease of this.#leases) if (!lease.abort.signal.aborted) held.get(lease.task.key).push(lease);
		await Promise.all([...held].map(([key, leases]) => leases.length && this.#extendAll(key, leases)))
			.catch((error) => this.onError(error, null, null));
	}

	async #extendAll(key, leases) {
		const end = performance.now() + this.lease;
		const words = leases.flatMap(({ id, token }) => [id, token, this.lease]);
		const replies = [].concat(await this.#own.call(0, key, 'PAWL.EXTEND', key, ...words));
		replies.forEach((reply, n) => {
			if (reply === 1) leases[n].end = end;
			else if (this.#leases.has(leases[n])) lose(leases[n]);
		});
	}
}

function lose(lease) {
	lease.abort.abort(new Error('the lease was lost'));
}

// At most 1,024 bytes, without a character cut in two.
function reasonOf(error) {
	const text = Buffer.from(textIfAny(() => (error instanceof Error ? `${error.name}: ${error.message}` : String(error))));
	let end = Math.min(text.length, 1024);
	while (end < text.length && (text[end] & 0xc0) === 0x80) end--;
	return text.subarray(0, end);
}

// The callback, but an error of its own is only reported: otherwise it would end the process.
function guarded(onError) {
	return async (...about) => {
		try {
			await onError(...about);
		} catch (error) {
			console.error('pawl: onError failed:', textIfAny(() => inspect(error)));
		}
	};
}

function report(error, task, outcome) {
	const what = task ? `task ${task.id}, try ${task.tries}, ${outcome ?? 'not acknowledged yet'}:` : 'trying again:';
	console.error('pawl:', what, task ? textIfAny(() => inspect(error)) : error.message || error); // its stack is of the client
}

module.exports = { Queue, Worker };
