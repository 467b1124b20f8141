/* SPDX-License-Identifier: MIT */
/*
 * How the threads of a service sleep and are woken, as a Promela model: workers, one of which leads, two user threads
 * that arm and read statistics, a clock, and tasks in one or two shards, whose functions may never return. Checked
 * by scripts/check-model.
 *
 * One step is a single read or write of a word that another thread reads or writes without a lock: visit_by, ready,
 * sleeps_until, has_leader, followers, stopping. Accesses to data that a lock or the mutex protects belong to the step
 * next to them. Memory is sequentially consistent, as the words above are in the source.
 *
 * The checks
 *
 *	- While one worker is not running a task, due tasks are run, and the others when their time has come, even if
 *	  all other workers run forever. So the leader never resigns and leaves all followers asleep, and no wake-up is
 *	  lost. Any state without a step in which that does not hold is an invalid end state: the process `clock` does
 *	  not come to its end.
 *	- At most one worker leads, and `followers` and `calls` agree with the workers that sleep.
 *	- With -DSTOP, at any time: every worker ends.
 *
 * Left out: the bound of a batch (a worker that stops at it looks again at once), settle, poll, and sleeps that end for
 * no reason (they would hide a lost wake-up).
 *
 *	-DWORKERS= -DSHARDS= -DTASKS= -DUSERS= -DOPS= -DT= -DAGAINS=    sizes
 *	-DSCHEDULE          no users: task 0 is armed for tick 1 and task 1 for tick 2
 *	-DLOOKS             the users read statistics as well: that opens slots, and wakes
 *	-DSTOP              a thread stops the service
 *	-DBROKEN_*          a mistake, which spin must find
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SHARDS
#define SHARDS 2
#endif
#ifndef TASKS
#define TASKS 2 /* task t is at home in shard t % SHARDS */
#endif
#ifndef USERS
#define USERS 2
#endif
#ifndef OPS
#define OPS 1 /* calls of each user, about the tasks in turn; user u begins with task u */
#endif
#ifndef T
#define T 1 /* the last tick */
#endif
#ifndef AGAINS
#define AGAINS 0 /* how often a task's function arms its own task */
#endif
#define NEVER (T + 1)

/* The tasks: `slot` is where the wheel has one, which may be a slot of a higher level, too early. */
bit on_wheel[TASKS], due[TASKS], running[TASKS];
byte deadline[TASKS], slot[TASKS];

/* The shards. */
bit lock[SHARDS], closed, ready[SHARDS];
byte wheel_now[SHARDS], visit_by[SHARDS] = NEVER;

/* The service. */
byte sleeps_until, followers, calls;
bit has_leader, stopping, mutex;
bit waits_called[WORKERS]; /* in pthread_cond_wait of `called` */
bit clock_wake;            /* the sleeper's flag: a wake() that no wait() has seen */
byte now;

/* The truth, for the checks: the service does not read it. */
byte leaders, stuck, ended, users_done;
byte agains = AGAINS;
bit has_stopped;

#ifdef STOP
#define STOPPING stopping
#else
#define STOPPING false
#endif

/* Used within one step only. */
hidden byte k, first;
hidden byte any;

#define DUE_IN(s) \
	((on_wheel[0] && due[0] && 0 % SHARDS == s) || \
	 (TASKS > 1 && on_wheel[TASKS > 1] && due[TASKS > 1] && 1 % SHARDS == s))

/* pawl_wheel_advance. A move that makes nothing due comes from a touch, or from a slot of a higher level. */
inline wheel_advance(s, tick)
{
	moved = 0;
	wheel_now[s] = (tick > wheel_now[s] -> tick : wheel_now[s]);
	for (k : 0 .. TASKS - 1) {
		if
		:: k % SHARDS == s && on_wheel[k] && !due[k] && slot[k] <= wheel_now[s] ->
			moved = 1;
			due[k] = deadline[k] <= wheel_now[s];
			slot[k] = (due[k] -> 0 : deadline[k])
		:: else
		fi
	}
	k = 0
}

/* pawl__wheel_next_opening: due tasks are not waited for. */
inline next_opening(s)
{
	first = NEVER;
	for (k : 0 .. TASKS - 1) {
		first = (k % SHARDS == s && on_wheel[k] && !due[k] && slot[k] < first -> slot[k] : first)
	}
	k = 0
}

/*
 * sleep.c: pawl__sleep_wake_worker and call_follower. The call makes `followers` one less; if other threads have called
 * all of them since, the leader is woken.
 */
inline work(wanted)
{
	if
	:: !wanted
	:: wanted ->
		if
		:: atomic { followers > 0 -> wanted = 0; calling = 1 }
			atomic {
				!mutex;
				if
				:: followers > 0 ->
					calling = 0;
#ifndef BROKEN_STAYS_FOLLOWER
					followers--;
#endif
					calls++;
					signal_called()
				:: else
#ifdef BROKEN_CALL_MISSED
					-> calling = 0
#endif
				fi
			}
		:: atomic { followers == 0 -> wanted = 0; calling = 1 }
		fi;
		if
		:: !calling
		:: calling ->
			if
			:: atomic { sleeps_until > 0 -> calling = 0 }
				clock_wake = 1
			:: atomic { sleeps_until == 0 -> calling = 0 }
			fi
		fi
	fi
}

/* pthread_cond_signal: wakes any one of the waiting threads. */
inline signal_called()
{
	any = waits_called[0] || (WORKERS > 1 && waits_called[WORKERS > 1]) ||
	      (WORKERS > 2 && waits_called[(WORKERS > 2) * 2]);
	if
	:: any ->
		if
		:: waits_called[0] -> waits_called[0] = 0
		:: WORKERS > 1 && waits_called[WORKERS > 1] -> waits_called[WORKERS > 1] = 0
		:: WORKERS > 2 && waits_called[(WORKERS > 2) * 2] -> waits_called[(WORKERS > 2) * 2] = 0
		fi
	:: else
	fi;
	any = 0
}

/* sleep.h: wake */
inline wake()
{
	work(wake_worker);
	if
	:: !wake_leader
	:: wake_leader -> atomic { clock_wake = 1; wake_leader = 0 }
	fi
}

/* advance.c: pawl__shard_advance. The wheel, ready, visit_by and the read of sleeps_until, in this order. */
inline shard_advance(s)
{
	atomic {
		!lock[s] -> lock[s] = 1;
		wheel_advance(s, tick);
		if
		:: moved && DUE_IN(s) ->
			ready[s] = 1;
			wake_worker = 1
		:: else
		fi
	}
	atomic { next_opening(s); visit_by[s] = first; until = first; first = 0 }
	atomic { visit_read(); lock[s] = 0 }
}

/* sleep.h: set_visit, after its write */
inline visit_read()
{
	wake_leader = wake_leader || until < sleeps_until;
	until = 0
}

/*
 * shard.h: put_on_wheel, under the lock, with schedule_visit() up to its write: then `until` is not 0, and the read is
 * to come. `at` is the clock as the caller has read it.
 */
inline put_on_wheel(task, s)
{
	wheel_advance(s, at);
	if
	:: moved && DUE_IN(s) -> ready[s] = 1; wake_worker = 1
	:: else
	fi;
	moved = 0;
	on_wheel[task] = 1;
	deadline[task] = until;
	due[task] = until <= wheel_now[s];
	if
	:: due[task] -> slot[task] = 0; mark_ready(s)
	:: !due[task] -> slot[task] = until
	:: !due[task] && until > wheel_now[s] + 1 -> slot[task] = wheel_now[s] + 1
	fi;
	if
	:: !due[task] && until < visit_by[s] -> visit_by[s] = until
	:: else -> until = 0
	fi
}

/* sleep.h: mark_ready. Broken: whom to wake is asked before `ready` is written. */
inline mark_ready(s)
{
#ifdef BROKEN_WAKE_FIRST
	wake_worker = followers > 0 || sleeps_until > 0;
	late = 1
#else
	ready[s] = 1;
	wake_worker = 1
#endif
}

/* run.c: begin_next, under the lock; others_needed reads `has_leader`. Leaves the task, from 1, in `job`. */
inline begin_next(s)
{
	job = 0;
	if
	:: closed || !DUE_IN(s)
	:: !closed && on_wheel[0] && due[0] && 0 % SHARDS == s -> job = 1
	:: TASKS > 1 && !closed && on_wheel[TASKS > 1] && due[TASKS > 1] && 1 % SHARDS == s -> job = 2
	fi;
	if
	:: job ->
		on_wheel[job - 1] = 0;
		due[job - 1] = 0;
		deadline[job - 1] = 0;
		assert(!running[job - 1]);
		running[job - 1] = 1;
#ifdef BROKEN_NO_CALL
		more = DUE_IN(s);
#else
		more = WORKERS > 1 && (!has_leader || DUE_IN(s));
#endif
		ran = 1
	:: else -> ready[s] = 0
	fi
}

/* run.c: the end of finish, and begin_next in the same critical section */
inline finish_and_begin(s)
{
	begin_next(s);
	wake_worker = wake_worker && !job;
	lock[s] = 0
}

/* run.c: run_shard. The task's function returns, or never does; it may arm its task again. */
inline run_shard(s)
{
	atomic { !lock[s]; begin_next(s) }
	do
	:: job ->
		work(more);
		if
#ifndef STOP
		:: atomic { true -> stuck++ }
end_stuck:
			false
#endif
		:: atomic {
			!lock[s] -> lock[s] = 1;
			running[job - 1] = 0;
			at = now;
			if
			:: agains > 0 -> agains--; until = at; put_on_wheel(job - 1, s)
			:: agains > 0 && at < T -> agains--; until = at + 1; put_on_wheel(job - 1, s)
			:: true
			fi;
			at = 0;
			if
			:: !until -> finish_and_begin(s)
			:: else
			fi
		}
		fi;
		if
		:: !until
		:: until -> atomic { visit_read(); finish_and_begin(s) }
		fi;
		wake()
	:: else -> break
	od
}

/* sleep.c: pawl__sleep_follow and has_work, which reads `ready` of each shard and then `has_leader` */
inline sleep_follow()
{
	atomic { !mutex; mutex = 1; followers++ }
	do
	:: atomic { i < SHARDS && ready[i] -> i = 0; followers--; mutex = 0 }
		goto next
	:: atomic { i < SHARDS && !ready[i] -> i++ }
	:: atomic { i == SHARDS -> i = 0 }
		break
	od;
	if
	:: atomic { !has_leader -> followers--; mutex = 0 }
		goto next
	:: else
	fi;
	do
	:: calls > 0 || STOPPING -> break
	:: else ->
		atomic { waits_called[_pid] = 1; mutex = 0 }
end_following:
		atomic { !waits_called[_pid] && !mutex -> mutex = 1 }
	od;
	atomic {
		calls = (calls > 0 -> calls - 1 : 0);
#ifdef BROKEN_STAYS_FOLLOWER
		followers--;
#endif
		mutex = 0
	}
}

/* sleep.c: earliest_visit, each visit_by a step */
inline earliest_visit()
{
#if T > 0
	do
	:: atomic { i < SHARDS -> first_seen = (visit_by[i] < first_seen -> visit_by[i] : first_seen); i++ }
	:: atomic { i == SHARDS -> i = 0 }
		break
	od
#else
	skip
#endif
}

/* sleep.c: sleep_until_visit and must_stay_awake */
inline sleep_until_visit()
{
	earliest_visit();
	if
	:: first_seen <= tick && first_seen != NEVER -> goto leave
	:: atomic { else -> until = first_seen; first_seen = NEVER; sleeps_until = until }
	fi;
#ifndef BROKEN_NO_RECHECK
	earliest_visit();
	if
	:: atomic { first_seen < until -> first_seen = NEVER; goto awake }
	:: atomic { else -> first_seen = NEVER }
	fi;
#endif
#ifdef STOP
	if
	:: stopping -> goto awake
	:: else
	fi;
#endif
#ifndef BROKEN_READY_RECHECK
	do
	:: atomic { i < SHARDS && ready[i] -> i = 0; goto awake }
	:: atomic { i < SHARDS && !ready[i] -> i++ }
	:: atomic { i == SHARDS -> i = 0 }
		break
	od;
#endif
end_leading: /* clock.c: wait */
	atomic { clock_wake || (until != NEVER && now >= until) -> clock_wake = 0 }
awake:
	sleeps_until = 0
}

/* run.c: pawl__worker_thread. Each begins to look for work at a shard of its own: worker->shard. */
active [WORKERS] proctype worker()
{
	byte tick, until, first_seen = NEVER, at, i, opened, job, seen;
	bit moved, wake_worker, wake_leader, calling, more, ran, late;

	do
	:: STOPPING -> break
	:: atomic { !STOPPING -> tick = now }
#if T > 0
		do /* advance.c: pawl__service_visit_shards */
		:: atomic { i < SHARDS && visit_by[i] > tick -> i++ }
		:: i < SHARDS && visit_by[i] <= tick ->
			shard_advance(i);
			atomic { opened = opened + moved; moved = 0; i++ }
		:: atomic { i == SHARDS -> wake_worker = opened > 1; opened = 0; i = 0 }
			break
		od;
		wake();
#endif
		i = _pid % SHARDS; /* run.c: pawl__worker_run_due */
		do
		:: atomic { seen < SHARDS && !ready[i] -> seen++; i = (i + 1) % SHARDS }
		:: seen < SHARDS && ready[i] ->
			run_shard(i);
			atomic { seen++; i = (i + 1) % SHARDS }
		:: atomic { seen == SHARDS -> seen = 0; i = 0 }
			break
		od;
		if
		:: ran -> goto next
		:: else
		fi;
#ifdef BROKEN_TWO_LEADERS /* it looks, and then leads */
		if
		:: !has_leader -> atomic { has_leader = 1; leaders++ }
#else
		if
		:: atomic { !has_leader -> has_leader = 1; leaders++; assert(leaders == 1) }
#endif
			sleep_until_visit();
leave: /* sleep.c: pawl__sleep_lead */
			atomic { until = 0; first_seen = NEVER; leaders--; has_leader = 0 }
		:: else -> sleep_follow()
		fi;
next:
		atomic { tick = 0; ran = 0 }
	od;
	ended++
}

/* arm.c: arm; stats.c: add_shard. The users do not arm a running task: that waits for the end of the run. */
proctype user(byte task)
{
	byte tick, until, at, ops = OPS;
	bit moved, wake_worker, wake_leader, calling, late;

	do
	:: atomic { ops > 0 -> at = now; ops-- }
		if
		:: atomic {
			!lock[task % SHARDS] ->
			if
			:: until = at
			:: at < T -> until = at + 1
			fi;
			if
			:: closed || running[task] -> until = 0
			:: else -> put_on_wheel(task, task % SHARDS); lock[task % SHARDS] = until > 0 || late
			fi;
			at = 0
		}
#ifdef LOOKS
		:: tick = at; at = 0; shard_advance(task % SHARDS); moved = 0; tick = 0
#endif
		fi;
		if
		:: !until
		:: until -> atomic { visit_read(); lock[task % SHARDS] = 0 }
		fi;
#ifdef BROKEN_WAKE_FIRST
		if
		:: atomic { late -> ready[task % SHARDS] = 1; lock[task % SHARDS] = 0; late = 0 }
		:: else
		fi;
#endif
		wake();
		task = (task + 1) % TASKS
	:: atomic { ops == 0 -> users_done++ }
		break
	od
}

#ifdef STOP
/* stop.c: close_shards and pawl__service_end_threads */
active proctype stop()
{
	atomic { !lock[0] && !lock[SHARDS - 1] -> closed = 1 }
	stopping = 1;
#ifndef BROKEN_STOP_WAKE
	!mutex;
#endif
	atomic { for (k : 0 .. WORKERS - 1) { waits_called[k] = 0 }; k = 0 }
	clock_wake = 1;
	ended == WORKERS;
	has_stopped = 1
}
#endif

/* Time passes. At the end nothing waits for a worker, unless every one of them runs forever. */
active proctype clock()
{
#ifdef SCHEDULE
	atomic {
		for (k : 0 .. TASKS - 1) {
			on_wheel[k] = 1;
			deadline[k] = k + 1;
			slot[k] = k + 1;
			visit_by[k % SHARDS] = (k + 1 < visit_by[k % SHARDS] -> k + 1 : visit_by[k % SHARDS])
		}
		k = 0;
		users_done = USERS;
		clock_wake = 1
	}
#else
	atomic { for (k : 1 .. USERS) { run user((k - 1) % TASKS) }; k = 0 }
#endif
	do
	:: now < T -> now++
	:: else -> break
	od;
	users_done == USERS;
#ifdef STOP
	has_stopped
#else
	stuck == WORKERS || !(on_wheel[0] || on_wheel[TASKS - 1])
#endif
}
