/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the description of a simulated machine and answers what follows from its shape. Every row
 * is a kind, a name, and key=value fields, separated by tabs.
 */
#include "sim_machine.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_gpu_table.h"

enum { FIELDS_MAX = 24 };

struct reader {
	struct sim_machine *machine;
	char *error;
	size_t error_size;
	const char *path;
	unsigned line;
	char *fields[FIELDS_MAX]; /* kind, name, key=value... */
	unsigned count;
};

static bool fail(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool fail(struct reader *reader, const char *format, ...)
{
	char what[256];
	va_list list;

	va_start(list, format);
	vsnprintf(what, sizeof(what), format, list);
	va_end(list);
	snprintf(reader->error, reader->error_size, "%s:%u: %s", reader->path, reader->line, what);
	return false;
}

/* The value of a key in this row, or NULL. */
static const char *value_of(const struct reader *reader, const char *key)
{
	size_t length = strlen(key);

	for (unsigned i = 2; i < reader->count; i++) {
		if (strncmp(reader->fields[i], key, length) == 0 &&
		    reader->fields[i][length] == '=')
			return reader->fields[i] + length + 1;
	}
	return NULL;
}

static double number_of(const struct reader *reader, const char *key, double otherwise)
{
	const char *text = value_of(reader, key);

	return text ? strtod(text, NULL) : otherwise;
}

static bool parse_address(const char *text, struct sim_pci_address *address)
{
	int used = 0;

	return sscanf(text, "%4x:%2x:%2x.%1x%n", &address->domain, &address->bus, &address->device,
		      &address->function, &used) == 4 &&
	       text[used] == '\0';
}

static bool is_same(const struct sim_pci_address *one, const struct sim_pci_address *two)
{
	return one->domain == two->domain && one->bus == two->bus && one->device == two->device &&
	       one->function == two->function;
}

static int find_port(const struct sim_machine *machine, const char *text)
{
	struct sim_pci_address address;

	if (!text || !parse_address(text, &address))
		return SIM_MACHINE_NONE;
	for (int i = 0; i < machine->port_count; i++) {
		if (is_same(&machine->ports[i].address, &address))
			return i;
	}
	return SIM_MACHINE_NONE;
}

static bool read_machine(struct reader *reader)
{
	static const char *const scopes[] = {"none", "switch", "node", "all"};
	struct sim_machine *machine = reader->machine;
	const char *driver = value_of(reader, "driver"), *peers = value_of(reader, "peers");

	snprintf(machine->name, sizeof(machine->name), "%s", reader->fields[1]);
	if (driver)
		snprintf(machine->driver, sizeof(machine->driver), "%s", driver);
	machine->has_acs = number_of(reader, "acs", 0) > 0;
	machine->remote_rate = number_of(reader, "remote_rate", machine->remote_rate);
	if (machine->remote_rate <= 0 || machine->remote_rate > 1)
		return fail(reader, "remote_rate must be above 0 and at most 1");
	for (unsigned i = 0; peers && i < 4; i++) {
		if (strcmp(peers, scopes[i]) == 0) {
			machine->peers = (enum sim_machine_peers)i;
			return true;
		}
	}
	return peers ? fail(reader, "peers is none of none, switch, node, all: %s", peers) : true;
}

static bool read_node(struct reader *reader)
{
	struct sim_machine *machine = reader->machine;
	const char *cpus = value_of(reader, "cpus"), *distances = value_of(reader, "distances");
	struct sim_machine_node *node;

	if (machine->node_count == SIM_MACHINE_NODES_MAX)
		return fail(reader, "more than %d nodes", SIM_MACHINE_NODES_MAX);
	if (atoi(reader->fields[1]) != machine->node_count)
		return fail(reader, "nodes are numbered from 0 in the order of their rows");
	if (!cpus || !distances)
		return fail(reader, "a node has cpus and distances");
	node = &machine->nodes[machine->node_count++];
	snprintf(node->cpus, sizeof(node->cpus), "%s", cpus);
	node->memory_gib = (unsigned)number_of(reader, "memory_gib", 64);
	for (int i = 0; *distances && i < SIM_MACHINE_NODES_MAX; i++) {
		char *end;

		node->distances[i] = (unsigned)strtoul(distances, &end, 10);
		distances = *end == ',' ? end + 1 : end;
	}
	return true;
}

static bool read_port(struct reader *reader)
{
	struct sim_machine *machine = reader->machine;
	const char *under = value_of(reader, "under");
	struct sim_machine_port port = {
		.parent = find_port(machine, under),
		.node = (int)number_of(reader, "node", 0),
		.generation = (int)number_of(reader, "gen", 0),
		.width = (int)number_of(reader, "width", 16),
	};

	if (machine->port_count == SIM_MACHINE_PORTS_MAX)
		return fail(reader, "more than %d ports", SIM_MACHINE_PORTS_MAX);
	if (!parse_address(reader->fields[1], &port.address))
		return fail(reader, "not a PCI address: %s", reader->fields[1]);
	if (under && port.parent == SIM_MACHINE_NONE)
		return fail(reader, "no port above is called %s", under);
	if (port.generation < 1 || port.generation > 6)
		return fail(reader, "gen must be 1 to 6");
	if (under)
		port.node = machine->ports[port.parent].node;
	if (port.node < 0 || port.node >= machine->node_count)
		return fail(reader, "there is no such node");
	machine->ports[machine->port_count++] = port;
	return true;
}

/* 16 bytes that look random and follow from where the GPU is, so that no two machines share one. */
static void make_uuid(const struct sim_machine *machine, struct sim_machine_gpu *gpu)
{
	uint64_t hash = 1469598103934665603U;
	char text[128];

	snprintf(text, sizeof(text), "%s %04x:%02x:%02x", machine->name, gpu->address.domain,
		 gpu->address.bus, gpu->address.device);
	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211U;
	for (int i = 0; i < 16; i++) {
		hash = (hash ^ (uint64_t)i) * 1099511628211U;
		gpu->uuid[i] = (unsigned char)(hash >> 40);
	}
}

static bool parse_uuid(const char *text, unsigned char *uuid)
{
	int digits = 0;

	if (strncmp(text, "GPU-", 4) != 0)
		return false;
	memset(uuid, 0, 16);
	for (text += 4; *text; text++) {
		int digit;

		if (*text == '-')
			continue;
		if (!isxdigit((unsigned char)*text) || digits == 32)
			return false;
		digit = isdigit((unsigned char)*text) ? *text - '0'
						      : tolower((unsigned char)*text) - 'a' + 10;
		uuid[digits / 2] = (unsigned char)(uuid[digits / 2] << 4 | digit);
		digits++;
	}
	return digits == 32;
}

static bool read_gpu(struct reader *reader)
{
	struct sim_machine *machine = reader->machine;
	const char *model = value_of(reader, "model"), *uuid = value_of(reader, "uuid");
	const char *device_id = value_of(reader, "device"), *reasons = value_of(reader, "throttle");
	struct sim_machine_gpu *gpu = &machine->gpus[machine->gpu_count];
	const struct sim_gpu *row;

	if (machine->gpu_count == SIM_MACHINE_GPUS_MAX)
		return fail(reader, "more than %d GPUs", SIM_MACHINE_GPUS_MAX);
	if (!parse_address(reader->fields[1], &gpu->address))
		return fail(reader, "not a PCI address: %s", reader->fields[1]);
	row = model ? sim_gpu_table_find(model) : NULL;
	if (!row)
		return fail(reader, "model is no row of gpus.tsv: %s", model ? model : "(none)");
	gpu->port = find_port(machine, value_of(reader, "under"));
	if (gpu->port == SIM_MACHINE_NONE)
		return fail(reader, "under must name a port that is above this row");
	gpu->node = machine->ports[gpu->port].node;
	snprintf(gpu->model, sizeof(gpu->model), "%s", model);
	gpu->pci_device_id = device_id ? (unsigned)strtoul(device_id, NULL, 16) : 0x20b2;
	gpu->memory_mib = (uint64_t)number_of(reader, "memory_mib", row->memory_gib * 1024);
	gpu->generation = (int)number_of(reader, "gen", row->pcie_generation);
	gpu->width = (int)number_of(reader, "width", row->pcie_width);
	gpu->runs_generation = (int)number_of(reader, "runs_gen", 0);
	gpu->runs_width = (int)number_of(reader, "runs_width", 0);
	gpu->sleeps_after_ns = (uint64_t)(1e6 * number_of(reader, "sleeps_after_ms", 100));
	gpu->power_limit_w = (unsigned)number_of(reader, "power_limit_w", row->tdp_w);
	gpu->temperature_c = (unsigned)number_of(reader, "temperature_c", 0);
	gpu->throttle_reasons = reasons ? strtoull(reasons, NULL, 0) : 0;
	gpu->ecc_errors = (uint64_t)number_of(reader, "ecc_errors", 0);
	gpu->pcie_replays = (uint64_t)number_of(reader, "pcie_replays", 0);
	gpu->clock_share = number_of(reader, "clock_share", 1);
	gpu->has_mig = number_of(reader, "mig", 0) > 0;
	gpu->is_headless = number_of(reader, "display", 0) <= 0;
	make_uuid(machine, gpu);
	if (uuid && !parse_uuid(uuid, gpu->uuid))
		return fail(reader, "not a UUID: %s", uuid);
	if (gpu->generation < 1 || gpu->width < 1)
		return fail(reader, "this model has no PCIe link: give gen and width");
	machine->gpu_count++;
	return true;
}

/* nvlink ALL links=N, or nvlink FIRST peer=SECOND links=N. */
static bool read_nvlink(struct reader *reader)
{
	struct sim_machine *machine = reader->machine;
	int links = (int)number_of(reader, "links", 1), first, second;

	if (strcmp(reader->fields[1], "all") == 0) {
		machine->has_nvlink_switch = true;
		for (first = 0; first < machine->gpu_count; first++) {
			for (second = 0; second < machine->gpu_count; second++)
				machine->gpus[first].nvlinks[second] = first == second ? 0 : links;
		}
		return true;
	}
	first = atoi(reader->fields[1]);
	second = (int)number_of(reader, "peer", -1);
	if (first < 0 || second < 0 || first == second || first >= machine->gpu_count ||
	    second >= machine->gpu_count)
		return fail(reader, "nvlink joins two GPUs of the rows above");
	machine->gpus[first].nvlinks[second] = machine->gpus[second].nvlinks[first] = links;
	return true;
}

static bool read_row(struct reader *reader)
{
	static const struct {
		const char *kind;
		bool (*read)(struct reader *reader);
	} kinds[] = {{"machine", read_machine},
		     {"node", read_node},
		     {"port", read_port},
		     {"gpu", read_gpu},
		     {"nvlink", read_nvlink}};

	if (reader->count < 2)
		return fail(reader, "a row has a kind and a name, separated by tabs");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(reader->fields[0], kinds[i].kind) == 0)
			return kinds[i].read(reader);
	}
	return fail(reader, "unknown kind of row: %s", reader->fields[0]);
}

bool sim_machine_read(struct sim_machine *machine, const char *path, char *error, size_t error_size)
{
	struct reader reader = {
		.machine = machine, .error = error, .error_size = error_size, .path = path};
	FILE *file = fopen(path, "re");
	char line[1024];
	bool is_good = true;

	memset(machine, 0, sizeof(*machine));
	machine->peers = SIM_PEERS_ALL;
	machine->remote_rate = 0.7;
	snprintf(machine->driver, sizeof(machine->driver), "580.65.06");
	if (!file) {
		snprintf(error, error_size, "%s: cannot be opened", path);
		return false;
	}
	while (is_good && fgets(line, sizeof(line), file)) {
		char *rest = line;

		reader.line++;
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#' || line[0] == '\0')
			continue;
		reader.count = 0;
		while (rest && reader.count < FIELDS_MAX)
			reader.fields[reader.count++] = strsep(&rest, "\t");
		is_good = read_row(&reader);
	}
	fclose(file);
	if (is_good && (machine->gpu_count == 0 || machine->node_count == 0))
		is_good = fail(&reader, "a machine has at least one node and one GPU");
	return is_good;
}

void sim_machine_format_address(char *text, size_t size, const struct sim_pci_address *address)
{
	snprintf(text, size, "%04x:%02x:%02x.%x", address->domain, address->bus, address->device,
		 address->function);
}

void sim_machine_format_uuid(char *text, size_t size, const unsigned char *u)
{
	snprintf(text, size,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		 u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
		 u[14], u[15]);
}

static bool is_below(const struct sim_machine *machine, int port, int ancestor)
{
	while (port != SIM_MACHINE_NONE && port != ancestor)
		port = machine->ports[port].parent;
	return port == ancestor;
}

int sim_machine_common_port(const struct sim_machine *machine, int first, int second)
{
	int port = machine->gpus[first].port;

	while (port != SIM_MACHINE_NONE && !is_below(machine, machine->gpus[second].port, port))
		port = machine->ports[port].parent;
	return port;
}

int sim_machine_root_port(const struct sim_machine *machine, int gpu)
{
	int port = machine->gpus[gpu].port;

	while (machine->ports[port].parent != SIM_MACHINE_NONE)
		port = machine->ports[port].parent;
	return port;
}

bool sim_machine_can_access(const struct sim_machine *machine, int first, int second)
{
	if (first == second)
		return false;
	if (machine->gpus[first].nvlinks[second] > 0)
		return true;
	switch (machine->peers) {
	case SIM_PEERS_ALL:
		return true;
	case SIM_PEERS_NODE:
		return machine->gpus[first].node == machine->gpus[second].node;
	case SIM_PEERS_SWITCH:
		return sim_machine_common_port(machine, first, second) != SIM_MACHINE_NONE;
	case SIM_PEERS_NONE:
		break;
	}
	return false;
}

int sim_machine_node_of_cpu(const struct sim_machine *machine, int cpu)
{
	for (int node = 0; node < machine->node_count; node++) {
		const char *list = machine->nodes[node].cpus;

		while (*list) {
			char *end;
			long first = strtol(list, &end, 10), last = first;

			if (*end == '-')
				last = strtol(end + 1, &end, 10);
			if (cpu >= first && cpu <= last)
				return node;
			if (*end != ',')
				break;
			list = end + 1;
		}
	}
	return SIM_MACHINE_NONE;
}

static int lesser(int one, int two)
{
	return two > 0 && two < one ? two : one;
}

void sim_machine_link(const struct sim_machine *machine, int gpu, bool is_loaded, int *generation,
		      int *width)
{
	const struct sim_machine_gpu *self = &machine->gpus[gpu];
	const struct sim_machine_port *slot = &machine->ports[self->port];

	*generation = lesser(self->generation, slot->generation);
	*width = lesser(self->width, slot->width);
	/* Lanes that failed are missing always, the generation rises with the load. */
	*width = lesser(*width, self->runs_width);
	*generation = is_loaded ? lesser(*generation, self->runs_generation) : 1;
}
