/* SPDX-License-Identifier: MIT */
/*
 * A service whose tasks run in a pool of your own: here a queue, two threads, and jobs that are a function and its
 * argument. The service puts a job into the queue when a task is due. The job polls the service, which runs the task.
 */
#include <pawl/pawl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#define THREADS 2
#define TASKS   10

struct job {
	void (*run)(void *arg);
	void *arg;
};

/* A ring that never overflows: the service has at most THREADS jobs in it. */
static struct pool {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct job jobs[16];
	unsigned first, count;
	bool over;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void submit(void (*run)(void *arg), void *arg)
{
	pthread_mutex_lock(&pool.mutex);
	pool.jobs[(pool.first + pool.count++) % 16] = (struct job){run, arg};
	pthread_cond_signal(&pool.changed);
	pthread_mutex_unlock(&pool.mutex);
}

static bool next_job(struct job *job)
{
	bool found;

	pthread_mutex_lock(&pool.mutex);
	while (pool.count == 0 && !pool.over)
		pthread_cond_wait(&pool.changed, &pool.mutex);
	found = pool.count > 0;
	if (found) {
		*job = pool.jobs[pool.first++ % 16];
		pool.count--;
	}
	pthread_mutex_unlock(&pool.mutex);
	return found;
}

static void *pool_thread(void *unused)
{
	struct job job;

	while (next_job(&job))
		job.run(job.arg);
	return unused;
}

static void end_pool(pthread_t *threads)
{
	pthread_mutex_lock(&pool.mutex);
	pool.over = true;
	pthread_cond_broadcast(&pool.changed);
	pthread_mutex_unlock(&pool.mutex);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* A job of the pool: run one task that is due. If there are more, the service dispatches again. */
static void poll_service(void *service)
{
	pawl_service_poll(service, 1);
}

/* On the service's one thread, when a task is due. */
static void dispatch(struct pawl_service *service, void *unused)
{
	(void)unused;
	submit(poll_service, service);
}

static sem_t ran;

static void tell(struct pawl_task *task)
{
	(void)task;
	sem_post(&ran);
}

int main(void)
{
	const struct pawl_service_options options = {.workers = THREADS, .dispatch = dispatch};
	struct pawl_task tasks[TASKS];
	struct pawl_service *service;
	pthread_t threads[THREADS];
	unsigned cancelled = 0;

	sem_init(&ran, 0, 0);
	if (pawl_service_open(&service, &options) != 0)
		return 1;
	for (unsigned i = 0; i < TASKS; i++) {
		pawl_task_init(&tasks[i], tell);
		pawl_service_arm(service, &tasks[i], i * PAWL_MS);
	}
	/* The pool does not run yet. So all tasks are pending, also those that are due and for which a job is queued. */
	for (unsigned i = 0; i < TASKS; i += 2)
		cancelled += pawl_service_cancel(service, &tasks[i]) == PAWL_SERVICE_CANCELLED;
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, pool_thread, NULL) != 0)
			return 1;
	for (unsigned i = cancelled; i < TASKS; i++)
		sem_wait(&ran);
	pawl_service_stop(service, NULL); /* waits for the jobs that poll */
	end_pool(threads);
	pawl_service_close(service, NULL);
	printf("%u tasks ran in the pool, %u were cancelled\n", TASKS - cancelled, cancelled);
	return 0;
}
