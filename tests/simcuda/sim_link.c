/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of a described machine. A link sleeps at Gen1 and, once its GPU works, climbs one
 * generation at a time; after a pause it falls back, and its file in the tree follows. A copy goes
 * through the ports between its ends; where copies of other GPUs (of any process) go through the
 * same port at the same time they share its rate. Rates of 16 lanes are measured ones: 12.5, 25.7
 * and 55.2 GB/s for Gen3, 4 and 5.
 *
 * A copy's end is fixed when it is enqueued, so one that comes later cannot slow it down any more.
 * Loops repeat, though: whoever shared a port with this GPU's last copy of the same size is
 * expected again at the same distance in time, and counted like a copy that is known.
 */
#include "sim_link.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim_shared.h"

#define CLIMB_NS       300000U	  /* how long it stays at each generation on its way up */
#define MEMORY_NS      200000000U /* how long a pattern of sharing is expected to go on */
#define STAGED_SHARE   0.47	  /* 12 of 25.7 GB/s between two GPUs without peer access */
#define COPY_ON_GPU_NS 1500U

enum { OTHERS_MAX = 2 * SIM_MACHINE_GPUS_MAX };

static const double rate_of_16_lanes[] = {0, 2.9e9, 5.8e9, 12.5e9, 25.7e9, 55.2e9, 106e9};
static const char *const speeds[] = {"Unknown",	      "2.5 GT/s PCIe",	"5.0 GT/s PCIe",
				     "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe",
				     "64.0 GT/s PCIe"};

static const struct sim_machine *machine;
static struct sim_shared *shared;
static char folder[PATH_MAX];

bool sim_link_open(const struct sim_machine *described, const char *path)
{
	shared = sim_shared_open(path);
	if (!shared) {
		fprintf(stderr, "simcuda: SIMCUDA_MACHINE: cannot make %s/state\n", path);
		return false;
	}
	machine = described;
	/* The program may change its working directory later. */
	if (!realpath(path, folder))
		snprintf(folder, sizeof(folder), "%s", path);
	sim_shared_self(shared);
	return true;
}

bool sim_link_is_described(void)
{
	return machine != NULL;
}

static double rate_of(int generation, int width)
{
	return rate_of_16_lanes[generation] * width / 16;
}

double sim_link_rate(int gpu)
{
	int generation, width;

	sim_machine_link(machine, gpu, true, &generation, &width);
	return rate_of(generation, width);
}

/* The link's rate at an instant, and until when it stays so. */
static double rate_at(int gpu, uint64_t ns, uint64_t *until_ns)
{
	uint64_t woke = atomic_load(&shared->gpus[gpu].woke_ns);
	uint64_t step = ns > woke ? (ns - woke) / CLIMB_NS : 0;
	int generation, width;

	sim_machine_link(machine, gpu, true, &generation, &width);
	if (step + 1 >= (uint64_t)generation) {
		*until_ns = UINT64_MAX;
		return rate_of(generation, width);
	}
	*until_ns = woke + (step + 1) * CLIMB_NS;
	return rate_of((int)step + 1, width);
}

/* Copies of other GPUs through a port, those that are known and those that a loop will bring. */
struct others {
	struct sim_shared_copy copies[OTHERS_MAX];
	unsigned count;
};

static void add_other(struct others *others, const struct sim_shared_copy *copy)
{
	if (others->count < OTHERS_MAX)
		others->copies[others->count++] = *copy;
}

static const struct sim_shared_copy *newest_of(const struct sim_shared_lane *lane, int gpu,
					       uint64_t bytes)
{
	const struct sim_shared_copy *newest = NULL;

	for (int i = 0; i < SIM_SHARED_COPIES; i++) {
		const struct sim_shared_copy *copy = &lane->copies[i];

		if (copy->end_ns > 0 && copy->gpu == gpu && copy->bytes == bytes &&
		    (!newest || copy->begin_ns > newest->begin_ns))
			newest = copy;
	}
	return newest;
}

static void find_others(const struct sim_shared_lane *lane, int gpu, uint64_t bytes,
			uint64_t begin_ns, struct others *others)
{
	const struct sim_shared_copy *last = newest_of(lane, gpu, bytes);
	uint32_t is_known = 0;

	for (int i = 0; i < SIM_SHARED_COPIES; i++) {
		const struct sim_shared_copy *copy = &lane->copies[i];

		if (copy->gpu == gpu || copy->end_ns <= begin_ns)
			continue;
		add_other(others, copy);
		is_known |= 1U << copy->gpu;
	}
	if (!last || last->end_ns + MEMORY_NS < begin_ns)
		return;
	for (int i = 0; i < SIM_SHARED_COPIES; i++) {
		struct sim_shared_copy expected = lane->copies[i];

		if (expected.gpu == gpu || (is_known >> expected.gpu & 1) ||
		    expected.end_ns <= last->begin_ns || expected.begin_ns >= last->end_ns)
			continue;
		expected.begin_ns += begin_ns - last->begin_ns;
		expected.end_ns += begin_ns - last->begin_ns;
		add_other(others, &expected);
	}
}

/* How many GPUs have a copy at an instant, this one included, and until when that stays so. */
static unsigned sharers_at(const struct others *others, uint64_t ns, uint64_t *until_ns)
{
	uint32_t gpus = 0;
	unsigned count = 1;

	for (unsigned i = 0; i < others->count; i++) {
		const struct sim_shared_copy *copy = &others->copies[i];

		if (copy->begin_ns > ns) {
			if (copy->begin_ns < *until_ns)
				*until_ns = copy->begin_ns;
		} else if (copy->end_ns > ns) {
			if (!(gpus >> copy->gpu & 1))
				count++;
			gpus |= 1U << copy->gpu;
			if (copy->end_ns < *until_ns)
				*until_ns = copy->end_ns;
		}
	}
	return count;
}

static double lesser(double one, double two)
{
	return one < two ? one : two;
}

/* One copy on its way: the GPU's own link and the ports above its own, from there on shared. */
struct way {
	int gpu, direction;
	int last_port; /* the first port that it does not go through, or SIM_MACHINE_NONE */
	double factor, limit;
};

static uint64_t travel(const struct way *way, size_t bytes, uint64_t begin_ns)
{
	struct others others[SIM_MACHINE_PORTS_MAX];
	double capacity[SIM_MACHINE_PORTS_MAX], left = (double)bytes;
	uint64_t now = begin_ns + COPY_ON_GPU_NS;
	int ports[SIM_MACHINE_PORTS_MAX], count = 0;

	sim_shared_lock(shared);
	for (int port = machine->gpus[way->gpu].port;
	     port != SIM_MACHINE_NONE && port != way->last_port;
	     port = machine->ports[port].parent) {
		ports[count] = port;
		others[count].count = 0;
		capacity[count] =
			rate_of(machine->ports[port].generation, machine->ports[port].width);
		find_others(&shared->lanes[port][way->direction], way->gpu, bytes, begin_ns,
			    &others[count++]);
	}
	while (left >= 1) {
		uint64_t until;
		double rate = rate_at(way->gpu, now, &until), possible;

		for (int i = 0; i < count; i++) {
			unsigned sharers = sharers_at(&others[i], now, &until);

			rate = lesser(rate, capacity[i] / sharers);
		}
		rate = lesser(rate * way->factor, way->limit);
		possible = until == UINT64_MAX ? left : rate * (double)(until - now) / 1e9;
		if (possible >= left) {
			now += (uint64_t)(left / rate * 1e9);
			break;
		}
		left -= possible;
		now = until;
	}
	for (int i = 0; i < count; i++) {
		struct sim_shared_lane *lane = &shared->lanes[ports[i]][way->direction];

		lane->copies[lane->next++ % SIM_SHARED_COPIES] = (struct sim_shared_copy){
			.begin_ns = begin_ns, .end_ns = now, .bytes = bytes, .gpu = way->gpu};
	}
	sim_shared_unlock(shared);
	return now;
}

/* A link that slept begins to climb. */
static void wake(int gpu, uint64_t begin_ns)
{
	struct sim_shared_gpu *state = &shared->gpus[gpu];

	if (begin_ns > atomic_load(&state->busy_until_ns) + machine->gpus[gpu].sleeps_after_ns)
		atomic_store(&state->woke_ns, begin_ns);
}

uint64_t sim_link_copy(int gpu, bool is_from_device, size_t bytes, int host_node, double share,
		       double limit, uint64_t begin_ns)
{
	struct way way = {.gpu = gpu,
			  .direction = is_from_device,
			  .last_port = SIM_MACHINE_NONE,
			  .factor = share,
			  .limit = limit};

	if (host_node != SIM_MACHINE_NONE && host_node != machine->gpus[gpu].node)
		way.factor *= machine->remote_rate;
	wake(gpu, begin_ns);
	atomic_fetch_add(&shared->gpus[gpu].copied_bytes[is_from_device], bytes);
	return travel(&way, bytes, begin_ns);
}

uint64_t sim_link_peer_copy(int from, int to, bool is_direct, size_t bytes, uint64_t begin_ns)
{
	struct way out = {.gpu = from, .direction = 1, .factor = 1, .limit = 1e15};
	struct way in = {.gpu = to, .direction = 0, .factor = 1, .limit = 1e15};
	int links = machine->gpus[from].nvlinks[to];
	uint64_t out_end, in_end;

	wake(from, begin_ns);
	wake(to, begin_ns);
	if (links > 0 && is_direct) {
		/* A link of NVLink carries some 20 GB/s each way from the third generation on. */
		return begin_ns + COPY_ON_GPU_NS + (uint64_t)((double)bytes / (links * 20.6));
	}
	out.last_port = in.last_port = is_direct && !machine->has_acs
					       ? sim_machine_common_port(machine, from, to)
					       : SIM_MACHINE_NONE;
	if (!is_direct)
		out.factor = in.factor = STAGED_SHARE;
	if (machine->gpus[from].node != machine->gpus[to].node)
		out.factor = in.factor = out.factor * machine->remote_rate;
	atomic_fetch_add(&shared->gpus[from].copied_bytes[1], bytes);
	atomic_fetch_add(&shared->gpus[to].copied_bytes[0], bytes);
	out_end = travel(&out, bytes, begin_ns);
	in_end = travel(&in, bytes, begin_ns);
	return out_end > in_end ? out_end : in_end;
}

/* The file is replaced, so that nobody reads half of a line. */
static void write_speed(const struct sim_pci_address *address, int generation)
{
	char name[16], path[PATH_MAX + 64], fresh[PATH_MAX + 64];
	FILE *file;

	sim_machine_format_address(name, sizeof(name), address);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/current_link_speed", folder, name);
	snprintf(fresh, sizeof(fresh), "%s/.speed-%s-%d", folder, name, (int)getpid());
	file = fopen(fresh, "we");
	if (!file)
		return;
	fprintf(file, "%s\n", speeds[generation]);
	if (fclose(file) || rename(fresh, path))
		unlink(fresh);
}

static bool show(int gpu, int generation)
{
	if (atomic_exchange(&shared->gpus[gpu].shown_generation, generation) == generation)
		return false;
	write_speed(&machine->gpus[gpu].address, generation);
	write_speed(&machine->ports[machine->gpus[gpu].port].address, generation);
	return true;
}

bool sim_link_work(int gpu, uint64_t begin_ns, uint64_t end_ns, bool is_kernel)
{
	struct sim_shared_gpu *state = &shared->gpus[gpu];
	uint64_t until = atomic_load(&state->busy_until_ns);
	int generation, width;

	wake(gpu, begin_ns);
	while (end_ns > until &&
	       !atomic_compare_exchange_weak(&state->busy_until_ns, &until, end_ns))
		;
	if (is_kernel)
		atomic_fetch_add(&state->kernel_ns, end_ns - begin_ns);
	sim_machine_link(machine, gpu, true, &generation, &width);
	return show(gpu, generation);
}

uint64_t sim_link_rest(uint64_t now_ns, bool is_exiting)
{
	uint64_t next = 0;

	for (int gpu = 0; gpu < machine->gpu_count; gpu++) {
		struct sim_shared_gpu *state = &shared->gpus[gpu];
		uint64_t wait = machine->gpus[gpu].sleeps_after_ns;
		uint64_t asleep = atomic_load(&state->busy_until_ns) + wait;

		if (atomic_load(&state->shown_generation) <= 1)
			continue;
		/* Nobody looks after the link of a process that ends, unless another one works. */
		if (asleep <= now_ns || (is_exiting && asleep <= now_ns + wait))
			show(gpu, 1);
		else if (next == 0 || asleep < next)
			next = asleep;
	}
	return next;
}

void sim_link_show_pages(uintptr_t address, size_t bytes, int node)
{
	char path[PATH_MAX + 64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/simcuda", folder);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/simcuda/pages.%d", folder, (int)getpid());
	file = fopen(path, "ae");
	if (!file)
		return;
	fprintf(file, "%lx %zu %d\n", (unsigned long)address, bytes, node);
	fclose(file);
}

int sim_link_node_of_caller(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? SIM_MACHINE_NONE : sim_machine_node_of_cpu(machine, cpu);
}

void sim_link_set_memory(int gpu, size_t bytes)
{
	struct sim_shared_process *self = sim_shared_self(shared);

	if (self)
		atomic_store(&self->memory_bytes[gpu], bytes);
}

size_t sim_link_others_bytes(int gpu)
{
	return sim_shared_others_bytes(shared, folder, gpu);
}
