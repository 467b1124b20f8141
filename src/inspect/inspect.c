/* SPDX-License-Identifier: MIT */
/*
 * The live view: a thread that serves snapshots on a Unix socket. It sleeps until a viewer asks. The workers note their
 * runs only while a viewer is connected.
 */
#define _GNU_SOURCE
#include "snapshot.h"

#include <errno.h>
#include <pawl/inspect.h>

struct inspector {
	struct pawl_service *service;
	struct local_server *server;
	struct snapshot snapshot; /* used by the thread */
};

/* The text of a snapshot with its newline; NULL: no memory. */
static char *answer(void *arg, size_t *size)
{
	struct inspector *inspector = arg;
	struct json json = {0};

	pawl__snapshot_gather(&inspector->snapshot, inspector->service);
	pawl__snapshot_write(&inspector->snapshot, &json);
	if (json.failed) {
		free(json.text);
		return NULL;
	}
	*size = json.size;
	return json.text;
}

static void viewers(void *arg, unsigned count)
{
	struct pawl_service *service = ((struct inspector *)arg)->service;

	for (unsigned i = 0; i < service->worker_count; i++)
		__atomic_store_n(&service->workers[i].journal, count ? &service->journals[i] : NULL,
		                 __ATOMIC_RELEASE);
}

void pawl__service_end_inspection(struct pawl_service *service)
{
	mutex_assert_held(&service->inspecting);
	if (!service->inspector)
		return;
	pawl__system_serve_close(service->inspector->server);
	free(service->inspector);
	service->inspector = NULL;
}

static bool is_open(struct pawl_service *service)
{
	bool open;

	mutex_lock(&service->mutex);
	open = service->state == OPEN;
	mutex_unlock(&service->mutex);
	return open;
}

/* Under `inspecting`. */
static int begin(struct pawl_service *service, const char *path)
{
	struct local_handler handler = {"pawl-inspect", answer, viewers, NULL};
	struct inspector *inspector;
	int error;

	mutex_assert_held(&service->inspecting);
	if (!is_open(service))
		return -ECANCELED;
	if (service->inspector)
		return -EBUSY;
	if (!service->journals)
		service->journals = calloc(service->worker_count, sizeof(*service->journals));
	inspector = calloc(1, sizeof(*inspector));
	if (!inspector || !service->journals || !pawl__samples_open(service)) {
		free(inspector);
		return -ENOMEM;
	}
	inspector->service = service;
	handler.arg = inspector;
	error = pawl__system_serve_open(&inspector->server, path, &handler);
	if (error) {
		free(inspector);
		return error;
	}
	service->inspector = inspector;
	return 0;
}

int pawl_service_inspect(struct pawl_service *service, const char *path)
{
	IN_SERVICE(service);
	int error = 0;

	mutex_lock(&service->inspecting);
	if (path)
		error = begin(service, path);
	else
		pawl__service_end_inspection(service);
	mutex_unlock(&service->inspecting);
	return error;
}
