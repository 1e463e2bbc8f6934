/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for gputrace-collector: drains the rings of one process as ring.h says and, when the
 * session or the process has ended, writes every record as a line of text. So the shim's tests see
 * exactly what was in the rings, and need neither the trace format nor the viewer.
 *
 *   ring_dump --memfd FD --pid PID --out DIR [--name NAME]  ->  DIR/ring.PID.N.txt
 *
 * Environment: GPUTRACE_TEST_RING_DUMP holds words: slow (drains only at the end), silent (never
 * becomes READY), refuse (becomes FAILED), paused (switches
 * capture off at once), old (of ring version 1.0).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../collector/format/record.h"
#include "../../collector/format/ring.h"
#include "ring_dump_memory.h"
#include "ring_print_conv.h"

struct kept {
	uint32_t thread_id;
	uint32_t size_bytes;
	unsigned char *bytes;
};

static struct ring_control *control;
static unsigned char *session;
static struct kept *kept;
static size_t kept_count, kept_capacity;
static uint64_t tails[RING_SLOT_COUNT], dropped_seen[RING_SLOT_COUNT][RING_DROP_KINDS];
static uint64_t dropped[RING_DROP_KINDS];
static uint32_t owners[RING_SLOT_COUNT], generations[RING_SLOT_COUNT]; /* of slots */
static size_t bad_records, pads;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void keep(uint32_t thread_id, const struct record_head *record)
{
	if (kept_count == kept_capacity) {
		kept_capacity = kept_capacity ? kept_capacity * 2 : 1024;
		kept = realloc(kept, kept_capacity * sizeof(*kept));
	}
	struct kept *entry = &kept[kept_count++];
	entry->thread_id = thread_id;
	entry->size_bytes = record->size_bytes;
	entry->bytes = malloc(record->size_bytes);
	memcpy(entry->bytes, record, record->size_bytes);
}

static void drain_slot(struct ring_slot *slot, uint32_t index)
{
	struct ring_header *header = (struct ring_header *)(void *)(session + slot->offset);
	const unsigned char *data = (const unsigned char *)header + RING_HEADER_BYTES;
	uint64_t head = atomic_load_explicit(&header->head, memory_order_acquire);
	while (tails[index] < head) {
		uint64_t offset = tails[index] & (slot->data_bytes - 1);
		const struct record_head *record = (const void *)(data + offset);
		if (record->size_bytes < 8 || record->size_bytes % 8 ||
		    record->size_bytes > head - tails[index] ||
		    offset + record->size_bytes > slot->data_bytes) {
			bad_records++;
			tails[index] = head;
			break;
		}
		if (record->kind != RECORD_PAD)
			keep(owners[index], record);
		else if (record->reserved == RING_PAD_OWNER)
			owners[index] =
				((const struct ring_owner *)(const void *)record)->thread_id;
		else
			pads++;
		tails[index] += record->size_bytes;
	}
	atomic_store_explicit(&header->tail, tails[index], memory_order_release);
	for (unsigned int kind = 0; kind < RING_DROP_KINDS; kind++) {
		uint64_t seen = atomic_load(&header->dropped[kind]);
		dropped[kind] += seen - dropped_seen[index][kind];
		dropped_seen[index][kind] = seen;
	}
}

static void visit_slot(struct ring_slot *slot, uint32_t index)
{
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	if (state != RING_SLOT_LIVE && state != RING_SLOT_RETIRED)
		return;
	if (slot->generation != generations[index]) {
		generations[index] = slot->generation;
		owners[index] = slot->thread_id;
	}
	drain_slot(slot, index);
	if (state != RING_SLOT_RETIRED ||
	    !atomic_compare_exchange_strong(&slot->state, &state, RING_SLOT_CLAIMED))
		return;
	drain_slot(slot, index);
	atomic_store_explicit(&slot->state, RING_SLOT_FREE, memory_order_release);
}

static void drain_all(void)
{
	uint64_t request = atomic_load(&control->flush_request);
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++)
		visit_slot(&ring_slots(control)[i], i);
	atomic_store(&control->flush_done, request);
	atomic_store(&control->collector_heartbeat_ns, now_ns());
}

static const char *name_of(uint16_t space, uint64_t id)
{
	static char unknown[32];
	for (size_t i = 0; i < kept_count; i++) {
		const struct record_name *name = (const void *)kept[i].bytes;
		static char text[40000];
		if (name->head.kind != RECORD_KIND_name || name->space != space || name->id != id)
			continue;
		memcpy(text, name->text, name->text_bytes);
		text[name->text_bytes] = '\0';
		return text;
	}
	snprintf(unknown, sizeof(unknown), id ? "UNNAMED-%" PRIu64 : "-", id);
	return unknown;
}

static bool site_exists(uint64_t id)
{
	for (size_t i = 0; i < kept_count; i++) {
		const struct record_site *site = (const void *)kept[i].bytes;
		if (site->head.kind == RECORD_KIND_site && site->id == id)
			return true;
	}
	return false;
}

static const char *const memory_kinds[] = {"unknown",  "pageable", "pinned", "device",
					   "array",    "managed",  "pool",   "physical",
					   "reserved", "imported"};
static const char *const mark_types[] = {"?", "range", "span", "instant"};
static const char *const directions[] = {"unknown", "h2d", "d2h", "d2d", "h2h", "peer"};

static void print_call(FILE *out, const char *kind, const struct kept *entry)
{
	const struct call_part *call = (const void *)entry->bytes;
	fprintf(out,
		"%s\tapi=%s\tstatus=%d\tid=%u\tparent=%u\tcorrelation=%u\tdevice=%d\tflags=%u\t"
		"thread=%u\tsite=%s\tns=%s",
		kind, name_of(NAME_API, call->api), call->status, call->call_id, call->parent_id,
		call->correlation, (int)call->device, call->flags, entry->thread_id,
		site_exists(call->site) ? "known" : "UNKNOWN",
		call->end_ticks >= call->begin_ticks && call->begin_ticks >= control->start_ticks
			? "ok"
			: "BAD");
}

static void print_gpu(FILE *out, const char *kind, const struct gpu_part *gpu)
{
	fprintf(out, "%s\tcorrelation=%u\tdevice=%d\tstream=%u\tduration_ns=%" PRIu64, kind,
		gpu->correlation, (int)gpu->device, gpu->stream, gpu->end_ns - gpu->begin_ns);
}

/* Calls of the host; false: another kind of record. */
static bool print_host(FILE *out, const struct kept *entry)
{
	const struct record_head *head = (const void *)entry->bytes;
	switch (head->kind) {
	case RECORD_KIND_call: {
		const struct record_call *r = (const void *)entry->bytes;
		print_call(out, "call", entry);
		fprintf(out, "\tobject=0x%" PRIx64, r->object);
		break;
	}
	case RECORD_KIND_sync: {
		const struct record_sync *r = (const void *)entry->bytes;
		print_call(out, "sync", entry);
		fprintf(out, "\tscope=%u\tobject=0x%" PRIx64, r->scope, r->object);
		break;
	}
	case RECORD_KIND_copy: {
		const struct record_copy *r = (const void *)entry->bytes;
		print_call(out, "copy", entry);
		fprintf(out,
			"\tbytes=%" PRIu64 "\tdirection=%s\tsource=%s\tdestination=%s"
			"\tdst=0x%" PRIx64 "\tsrc=0x%" PRIx64 "\tstream=0x%" PRIx64 "\tpeer=%d",
			r->size_bytes, directions[r->direction % 6],
			memory_kinds[r->source_kind % 10], memory_kinds[r->destination_kind % 10],
			r->destination, r->source, r->stream, (int)r->peer_device);
		break;
	}
	case RECORD_KIND_set: {
		const struct record_set *r = (const void *)entry->bytes;
		print_call(out, "set", entry);
		fprintf(out, "\tbytes=%" PRIu64 "\tdst=0x%" PRIx64 "\tstream=0x%" PRIx64,
			r->size_bytes, r->destination, r->stream);
		break;
	}
	case RECORD_KIND_launch: {
		const struct record_launch *r = (const void *)entry->bytes;
		print_call(out, "launch", entry);
		fprintf(out,
			"\tkernel=%s\tgrid=%u,%u,%u\tblock=%u,%u,%u\tshared=%u\tstream=0x%" PRIx64
			"\tlaunch_flags=%u",
			name_of(NAME_KERNEL, r->kernel), r->grid[0], r->grid[1], r->grid[2],
			r->block[0], r->block[1], r->block[2], r->shared_bytes, r->stream,
			r->launch_flags);
		break;
	}
	case RECORD_KIND_memory: {
		const struct record_memory *r = (const void *)entry->bytes;
		print_call(out, "memory", entry);
		fprintf(out, "\top=%s\tkind=%s\tbytes=%" PRIu64 "\taddress=0x%" PRIx64,
			r->op == MEMORY_ALLOC ? "alloc" : "free", memory_kinds[r->memory_kind % 10],
			r->size_bytes, r->address);
		break;
	}
	case RECORD_KIND_gemm: {
		const struct record_gemm *r = (const void *)entry->bytes;
		print_call(out, "gemm", entry);
		fprintf(out,
			"\tm=%u\tn=%u\tk=%u\tlda=%u\tldb=%u\tldc=%u\tbatch=%u\top=%c%c\t"
			"types=%u,%u,%u\tcompute=%u\tmath=%u\tstream=0x%" PRIx64,
			r->m, r->n, r->k, r->lda, r->ldb, r->ldc, r->batch, r->op_a, r->op_b,
			r->type_a, r->type_b, r->type_c, r->type_compute, r->math_flags, r->stream);
		break;
	}
	case RECORD_KIND_conv:
		print_call(out, "conv", entry);
		ring_print_conv(out, (const void *)entry->bytes);
		break;
	case RECORD_KIND_graph: {
		const struct record_graph *r = (const void *)entry->bytes;
		print_call(out, "graph", entry);
		fprintf(out, "\top=%u\tnodes=%u\tcaptured=%s", r->op, r->node_count,
			!r->capture_site	       ? "unknown"
			: site_exists(r->capture_site) ? "known"
						       : "UNKNOWN");
		break;
	}
	default:
		return false;
	}
	return true;
}

/* Calls of NCCL; false: another kind of record. */
static bool print_communication(FILE *out, const struct kept *entry)
{
	const struct record_head *head = (const void *)entry->bytes;
	bool is_collective = head->kind == RECORD_KIND_collective;
	if (!is_collective && head->kind != RECORD_KIND_communicator)
		return false;
	print_call(out, is_collective ? "collective" : "communicator", entry);
	return true;
}

/* Work of the gpu; false: another kind of record. */
static bool print_gpu_work(FILE *out, const struct kept *entry)
{
	const struct record_head *head = (const void *)entry->bytes;
	switch (head->kind) {
	case RECORD_KIND_gpu_kernel: {
		const struct record_gpu_kernel *r = (const void *)entry->bytes;
		print_gpu(out, "gpu_kernel", &r->gpu);
		fprintf(out, "\tkernel=%s\tgrid=%u,%u,%u\tblock=%u,%u,%u",
			name_of(NAME_KERNEL, r->kernel), r->grid[0], r->grid[1], r->grid[2],
			r->block[0], r->block[1], r->block[2]);
		break;
	}
	case RECORD_KIND_gpu_copy: {
		const struct record_gpu_copy *r = (const void *)entry->bytes;
		print_gpu(out, "gpu_copy", &r->gpu);
		fprintf(out, "\tbytes=%" PRIu64 "\tdirection=%s\tsource=%s\tdestination=%s",
			r->size_bytes, directions[r->direction % 6],
			memory_kinds[r->source_kind % 10], memory_kinds[r->destination_kind % 10]);
		break;
	}
	case RECORD_KIND_gpu_set: {
		const struct record_gpu_set *r = (const void *)entry->bytes;
		print_gpu(out, "gpu_set", &r->gpu);
		fprintf(out, "\tbytes=%" PRIu64, r->size_bytes);
		break;
	}
	case RECORD_KIND_gpu_sync: {
		const struct record_gpu_sync *r = (const void *)entry->bytes;
		print_gpu(out, "gpu_sync", &r->gpu);
		fprintf(out, "\tscope=%u", r->scope);
		break;
	}
	case RECORD_KIND_gpu_graph:
	case RECORD_KIND_gpu_memory:
	case RECORD_KIND_gpu_pool:
		print_gpu(out, ring_dump_memory_kind(head), (const void *)entry->bytes);
		ring_dump_memory(out, head);
		break;
	default:
		return false;
	}
	return true;
}

/* Facts, names and the rest; false: another kind of record. */
static bool print_fact(FILE *out, const struct kept *entry)
{
	const struct record_head *head = (const void *)entry->bytes;
	switch (head->kind) {
	case RECORD_KIND_mark: {
		const struct record_mark *r = (const void *)entry->bytes;
		fprintf(out, "mark\ttype=%s\tsource=%u\tname=%s", mark_types[r->type & 3],
			r->source, name_of(NAME_MARK, r->name));
		fprintf(out,
			"\tdomain=%s\tvalue=%" PRId64 "\tcategory=%u\tcommunicator=0x%" PRIx64
			"\tpeer=%d\tthread=%u\tns=%s",
			name_of(NAME_MARK, r->domain), (int64_t)r->value, r->category,
			r->communicator, (int)r->peer, entry->thread_id,
			!r->end_ticks ? "open"
			: r->begin_ticks >= control->start_ticks && r->end_ticks >= r->begin_ticks
				? "ok"
				: "BAD");
		break;
	}
	case RECORD_KIND_block: {
		const struct record_block *r = (const void *)entry->bytes;
		fprintf(out,
			"block\top=%u\tbytes=%" PRIu64 "\taddress=0x%" PRIx64 "\tallocated=%" PRIu64
			"\treserved=%" PRIu64 "\tdevice=%d\tsite=%s",
			r->op, r->size_bytes, r->address, r->allocated_bytes, r->reserved_bytes,
			(int)r->device,
			!r->site	       ? "none"
			: site_exists(r->site) ? "known"
					       : "UNKNOWN");
		break;
	}
	case RECORD_KIND_info: {
		const struct record_info *r = (const void *)entry->bytes;
		fprintf(out, "info\t%.*s=%.*s", (int)r->key_bytes, r->text, (int)r->value_bytes,
			r->text + r->key_bytes);
		break;
	}
	case RECORD_KIND_device: {
		const struct record_device *r = (const void *)entry->bytes;
		fprintf(out,
			"device\tordinal=%u\tname=%.*s\tsimulated=%u\tmemory=%" PRIu64
			"\tsms=%u\tcc=%u.%u\tclock_khz=%u",
			r->ordinal, (int)r->name_bytes, r->name, r->flags & DEVICE_SIMULATED,
			r->memory_bytes, r->sm_count, r->cc_major, r->cc_minor, r->clock_khz);
		break;
	}
	case RECORD_KIND_library: {
		const struct record_library *r = (const void *)entry->bytes;
		fprintf(out, "library\taddress=0x%" PRIx64 "\tpath=%.*s\tbuild_id=%02x%02x",
			r->address, (int)r->path_bytes, r->path, r->build_id[0], r->build_id[1]);
		break;
	}
	case RECORD_KIND_loss: {
		const struct record_loss *r = (const void *)entry->bytes;
		fprintf(out, "loss\tkind=%u\treason=%u\tcount=%" PRIu64, r->lost_kind, r->reason,
			r->count);
		break;
	}
	case RECORD_KIND_clock: {
		const struct record_clock *r = (const void *)entry->bytes;
		fprintf(out, "clock\tgpu=%s", r->gpu_ns ? "yes" : "no");
		break;
	}
	default:
		return false;
	}
	return true;
}

static void print_payload(FILE *out, const struct kept *entry)
{
	if (print_host(out, entry) || print_communication(out, entry) ||
	    print_gpu_work(out, entry) || print_fact(out, entry))
		fputc('\n', out);
}

static int write_dump(const char *directory, const char *end)
{
	char path[4096], final[4200];
	static int number;
	do {
		snprintf(path, sizeof(path), "%s/ring.%u.%d.txt", directory, control->process_id,
			 number++);
	} while (!access(path, F_OK));
	snprintf(final, sizeof(final), "%s", path);
	strcat(path, ".tmp");
	FILE *out = fopen(path, "w");
	if (!out)
		return 1;
	fprintf(out, "end\t%s\tparent=%d\tbad=%zu\tpads=%zu\tunrecorded=%" PRIu64 "\tcwd_uid=%u\n",
		end, (int)getppid(), bad_records, pads, atomic_load(&control->unrecorded),
		getuid());
	for (unsigned int kind = 0; kind < RING_DROP_KINDS; kind++) {
		if (dropped[kind])
			fprintf(out, "dropped\tkind=%u\tcount=%" PRIu64 "\n", kind, dropped[kind]);
	}
	for (size_t i = 0; i < kept_count; i++)
		print_payload(out, &kept[i]);
	if (fclose(out))
		return 1;
	return rename(path, final) ? 1 : 0;
}

/* A zombie is dead. */
static bool is_dead(pid_t pid)
{
	char path[64], text[512] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	ssize_t count = read(fd, text, sizeof(text) - 1);
	close(fd);
	const char *state = count > 0 ? strrchr(text, ')') : NULL;
	return !state || state[2] == 'Z' || state[2] == 'X';
}

/* The collector's own descriptors must be few: nothing of the job is kept open. */
static int count_descriptors(void)
{
	int count = 0;
	DIR *directory = opendir("/proc/self/fd");
	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count - 3; /* ".", ".." and the directory itself */
}

int main(int argc, char **argv)
{
	const char *directory = ".", *words = getenv("GPUTRACE_TEST_RING_DUMP");
	int memfd = -1;
	pid_t pid = 0;
	struct stat status;

	words = words ? words : "";
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--memfd"))
			memfd = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--pid"))
			pid = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--out"))
			directory = argv[i + 1];
	}
	if (fstat(memfd, &status))
		return 1;
	session = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (session == MAP_FAILED)
		return 1;
	control = (struct ring_control *)(void *)session;
	int descriptors = count_descriptors();
	if (strstr(words, "silent"))
		return 0;
	uint32_t expected = RING_COLLECTOR_NONE;
	atomic_store(&control->collector_minor, strstr(words, "old") ? 0 : RING_VERSION_MINOR);
	atomic_store(&control->collector_heartbeat_ns, now_ns());
	if (!atomic_compare_exchange_strong(&control->collector_state, &expected,
					    strstr(words, "refuse") ? RING_COLLECTOR_FAILED
								    : RING_COLLECTOR_READY) ||
	    strstr(words, "refuse"))
		return 1;
	if (strstr(words, "paused"))
		atomic_store(&control->capture_enabled, 0);
	const char *end = NULL;
	char note[64];
	while (!end) {
		if (atomic_load_explicit(&control->session_ended, memory_order_acquire))
			end = "ended";
		else if (is_dead(pid))
			end = "dead";
		if (!strstr(words, "slow") || end)
			drain_all();
		else
			atomic_store(&control->collector_heartbeat_ns, now_ns());
		struct timespec pause = {0, 1000000};
		nanosleep(&pause, NULL);
	}
	snprintf(note, sizeof(note), "%s\tdescriptors=%d\tflushes=%u", end, descriptors,
		 (unsigned int)control->flush_request);
	int rc = write_dump(directory, note);
	atomic_store_explicit(&control->collector_state, RING_COLLECTOR_DONE, memory_order_release);
	return rc;
}
