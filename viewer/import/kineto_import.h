/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of one import of a PyTorch profiler recording. Private to the kineto_*.c files:
 * kineto_import.c walks the document, kineto_host.c and kineto_gpu.c turn events into records.
 */
#ifndef GPUTRACE_KINETO_IMPORT_H
#define GPUTRACE_KINETO_IMPORT_H

#include "data_tree.h"
#include "import_api.h"
#include "import_formats.h"
#include "import_join.h"
#include "import_sink.h"
#include "import_sites.h"
#include "kineto_event.h"
#include "map.h"
#include "text.h"

#define KINETO_FLIGHT_MEMBERS 8u

/* What the last record_param_comms said; the annotation of the collective is inside it. */
struct kineto_collective {
	uint32_t thread;
	int64_t end_ns;
	uint64_t bytes, communicator;
};

struct kineto {
	struct import_job *job;
	struct import_sink *sink;
	struct import_sites *sites;
	struct import_join *join;
	struct kineto_event event;
	struct text scratch; /* an unescaped name */
	struct map api_map;  /* NAME_API number -> packed api_class */
	/* the last thread asked for: most events follow others of their thread */
	int64_t last_process, last_thread;
	uint32_t last_number;

	struct kineto_collective collective;

	uint64_t events, known_events;
	uint64_t launches, operators, profiler_ranges, gemms;
	uint64_t odd_escapes;
	bool has_amd, has_base_time, has_epoch_time;
	/* what the outermost object turned out to hold besides events */
	bool has_nodes;
	struct data_tree *tree; /* members of a flight recorder dump */
	struct data_value *flight;
	struct text flight_text[KINETO_FLIGHT_MEMBERS]; /* their text, which the tree points into */
	size_t flight_count;
	int64_t rank, world_size;
};

/* The text of a slice with its escapes resolved; valid until the next call. */
struct json_slice kineto_text(struct kineto *k, const struct json_slice *slice);
/* Begin and end of the event; false when it was counted as lost under `kind`. */
bool kineto_times(struct kineto *k, uint16_t kind, int64_t *begin_ns, int64_t *end_ns);
uint32_t kineto_thread(struct kineto *k);

/* Remembers what an operator record_param_comms says of the collective inside it. */
void kineto_note_collective(struct kineto *k, uint32_t thread, int64_t end_ns);
/* Bytes and communicator of an annotation "nccl:...", 0 where the recording does not say. */
void kineto_collective_of(const struct kineto *k, uint32_t thread, int64_t begin_ns,
			  struct record_mark *mark);

void kineto_host_event(struct kineto *k);
void kineto_gpu_event(struct kineto *k);
/* deviceProperties */
void kineto_devices(struct kineto *k, const struct json_slice *value);

#endif
