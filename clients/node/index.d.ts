// SPDX-License-Identifier: MIT
// Times are milliseconds.

/** A client of `redis` (createClient, createCluster) or of `ioredis` (Redis, Cluster). */
export interface Client {
	duplicate(...args: any[]): any;
}

/** A JSON value; of a raw queue, text or bytes. */
export type Payload = any;

export interface QueueOptions {
	/** The queue is the keys name:{0} to name:{shards-1}; without, it is the key name. 1 to 1024. */
	shards?: number;
	/** After this many deliveries that came to nothing a task is dead; 0: never. 25 unless told. */
	maxTries?: number;
	/** Payloads are bytes, as they are; otherwise they are JSON. */
	raw?: boolean;
}

export interface PutOptions {
	/** How long from now it is due: 0 unless told. */
	delay?: number;
	/** When it is due, in place of delay: a Date, or Unix time. */
	at?: number | Date;
	/** The server makes one unless told. */
	id?: string;
	/** What the task is about: all that is about the same is in one shard. The id unless told; without either, each in turn. */
	about?: string;
	/** A task with this id that is there stays, and the reply is null. */
	nx?: boolean;
	/** A task with this id that is there is replaced. */
	replace?: boolean;
	maxTries?: number;
}

export type State = 'waiting' | 'due' | 'leased' | 'dead';

export interface Found {
	id: string;
	state: State;
	payload: Payload;
	/** Leased: the lease's end. Dead: when it died. */
	due: number;
	tries: number;
	/** 0: no limit. */
	maxTries: number;
	/** 0: it is not periodic. */
	period: number;
	/** Of the last failure, if there was one. */
	reason: string | null;
}

export class Queue {
	constructor(client: Client, name: string, options?: QueueOptions);
	readonly client: Client;
	readonly keys: string[];
	/** Its id, or null with nx if there was one. */
	put(payload: Payload, options?: PutOptions): Promise<string | null>;
	/** A task that is due every period, until it is cancelled. True: it is new; false: it was there, and is changed. */
	every(id: string, period: number, payload: Payload, options?: { at?: number | Date; about?: string }): Promise<boolean>;
	/** Whether there was such a task. Without about, all shards are asked. A leased one is an error, unless force. */
	cancel(id: string, options?: { about?: string; force?: boolean }): Promise<boolean>;
	get(id: string, options?: { about?: string }): Promise<Found | null>;
	count(state?: State): Promise<number>;
	/** Nothing is delivered until resume(). */
	pause(): Promise<void>;
	resume(): Promise<void>;
	/** Dead tasks are due again, with no tries: how many. All of them unless ids are told. */
	requeue(ids?: string[]): Promise<number>;
	/** The key of the shard. */
	keyOf(about?: string): string;
}

export interface Task {
	readonly id: string;
	readonly key: string;
	readonly payload: Payload;
	/** 1: it is the first delivery. */
	readonly tries: number;
	/** When it was due, as Unix time. */
	readonly due: number;
	/** Grows from delivery to delivery: a store can refuse what comes with a smaller one than it has seen. */
	readonly fence: number;
	/** Aborted when the lease is lost, or the worker gives up. */
	readonly signal: AbortSignal;
}

/** retry: it is due again later; dead: that was its last try; lost: the lease was lost, so another has it or will. */
export type Outcome = 'retry' | 'dead' | 'lost';

export interface WorkerOptions {
	/** How many handlers run at once, in a cluster for each shard. 1 to 10000, 10 unless told. */
	concurrency?: number;
	/** If the worker dies, its tasks come back after this time. 30000 unless told. */
	lease?: number;
	/** How often leases are extended. A third of lease unless told. */
	extendEvery?: number;
	/** What failed is due again after half to all of this, which doubles with each try: 1000, */
	backoff?: number;
	/** up to this: 3600000. */
	backoffMax?: number;
	/** How long the server is asked to wait for tasks, at a time. 2000 unless told. */
	block?: number;
	/** How long a reply may take, beyond what the server was asked to wait; then the connection is taken to be cut, and is
	 *  opened anew. 5000 unless told. */
	timeout?: number;
	/** How long run() waits for its handlers after stop(). 25000 unless told: less than the 30 seconds that Kubernetes gives. */
	grace?: number;
	/** Of a handler: with its task and what became of that. Of a connection: with null and null, and the worker goes on. Of a
	 *  task that cannot be settled for that: with the task and null. Writes to stderr unless told. */
	onError?(error: unknown, task: Task | null, outcome: Outcome | null): void;
}

export class Worker {
	constructor(queue: Queue, handler: (task: Task) => unknown, options?: WorkerOptions);
	/** Takes tasks and handles them until stop(). Once. Rejected if the server has not loaded the module. */
	run(): Promise<void>;
	/** Asks run() to end. */
	stop(): void;
}
