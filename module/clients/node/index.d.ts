// SPDX-License-Identifier: MIT
// Times are milliseconds.

/** A client of `redis` (createClient, createCluster) or of `ioredis` (Redis, Cluster). */
export interface Client {
	duplicate(...args: any[]): any;
}

export interface QueueOptions {
	/** 1 to 1024: the queue is the keys name:{0} to name:{shards-1}. Without it, the queue is the key name. */
	shards?: number;
	/** A task is dead after this many failed deliveries; 0: never. Default 25. */
	maxTries?: number;
	/** Payloads are bytes, passed unchanged; otherwise they are JSON. */
	raw?: boolean;
}

export interface PutOptions {
	/** How long from now it is due. Default 0. */
	delay?: number;
	/** When it is due, instead of delay: a Date, or Unix time. */
	at?: number | Date;
	/** By default the server makes one. */
	id?: string;
	/** Tasks with the same value are in one shard. Default: the id; tasks with neither are spread round robin. */
	about?: string;
	/** If a task with this id exists, it stays, and the result is null. */
	nx?: boolean;
	/** If a task with this id exists, it is replaced. */
	replace?: boolean;
	maxTries?: number;
}

export type State = 'waiting' | 'due' | 'leased' | 'dead';

export interface Found<Payload = any> {
	id: string;
	state: State;
	payload: Payload;
	/** Due time. Leased: the end of the lease. Dead: when it died. */
	due: number;
	tries: number;
	/** 0: no limit. */
	maxTries: number;
	/** 0: not periodic. */
	period: number;
	/** The error of the last failure, or null. */
	reason: string | null;
}

/** Payload: a JSON value; in a raw queue, bytes: Queue<Buffer>. */
export class Queue<Payload = any> {
	constructor(client: Client, name: string, options?: QueueOptions);
	readonly client: Client;
	readonly keys: string[];
	/** Returns the id; null with nx if the id exists. */
	put(payload: Payload, options?: PutOptions): Promise<string | null>;
	/** A task that is due every period, until it is cancelled. True: it is new; false: it existed, and is changed. */
	every(id: string, period: number, payload: Payload, options?: { at?: number | Date; about?: string }): Promise<boolean>;
	/** Whether the task existed. Without about, all shards are asked. A leased task is an error, unless force. */
	cancel(id: string, options?: { about?: string; force?: boolean }): Promise<boolean>;
	get(id: string, options?: { about?: string }): Promise<Found<Payload> | null>;
	count(state?: State): Promise<number>;
	/** Nothing is delivered until resume(). */
	pause(): Promise<void>;
	resume(): Promise<void>;
	/** Makes dead tasks due again, with 0 tries: these, or all. Returns how many. */
	requeue(ids?: string[]): Promise<number>;
	/** The key of the shard. */
	keyOf(about?: string): string;
}

export interface Task<Payload = any> {
	readonly id: string;
	readonly key: string;
	readonly payload: Payload;
	/** 1 is the first delivery. */
	readonly tries: number;
	/** When it was due, as Unix time. */
	readonly due: number;
	/** Grows with every delivery: a store can refuse a write whose fence is smaller than one that it has seen. */
	readonly fence: number;
	/** Aborted when the lease is lost, or when the worker gives the task back after `grace`. */
	readonly signal: AbortSignal;
}

/** retry: it is due again later; dead: that was its last try; lost: the lease is lost, so the task is delivered again. */
export type Outcome = 'retry' | 'dead' | 'lost';

export interface WorkerOptions<Payload = any> {
	/** How many handlers run at once, in a cluster for each shard. 1 to 10000, default 10. */
	concurrency?: number;
	/** If the worker dies, its tasks come back after this time. Default 30000. */
	lease?: number;
	/** How often leases are extended. Default: a third of lease. */
	extendEvery?: number;
	/** A failed task is due again after half to all of this, which doubles with each try. Default 1000. */
	backoff?: number;
	/** The limit of that. Default 3600000. */
	backoffMax?: number;
	/** How long one PAWL.MTAKE waits for tasks. Default 2000. */
	block?: number;
	/** How long a reply may take, beyond `block`; then the connection counts as cut and is opened again. Default 5000. The time
	 *  in which a handler computes hardly counts. */
	timeout?: number;
	/** How long run() waits for its handlers after stop(). Default 25000: less than the 30 seconds that Kubernetes gives. */
	grace?: number;
	/** Called when a handler fails: with its task and the outcome; when a connection fails: with null and null, and the worker
	 *  continues; when the failed connection keeps a task from being acknowledged: with the task and null. Default: writes to
	 *  stderr. */
	onError?(error: unknown, task: Task<Payload> | null, outcome: Outcome | null): void;
}

export class Worker<Payload = any> {
	constructor(queue: Queue<Payload>, handler: (task: Task<Payload>) => unknown, options?: WorkerOptions<Payload>);
	/** Takes tasks and handles them until stop(). Once. Rejected if the server has not loaded the module. */
	run(): Promise<void>;
	/** Asks run() to end. */
	stop(): void;
}
