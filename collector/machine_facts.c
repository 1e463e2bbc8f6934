/* SPDX-License-Identifier: Apache-2.0 */
/* Keys are in FORMAT.md. A fact that cannot be had has no record. */
#include "machine_facts.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "machine_file.h"
#include "numa_nodes.h"
#include "pci_devices.h"
#include "trace_writer.h"

struct facts {
	struct numa_nodes nodes;
	struct pci_devices devices;
};

__attribute__((format(printf, 4, 5))) static void fact(struct trace_writer *writer, const char *of,
						       const char *name, const char *format, ...)
{
	char key[96], value[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(value, sizeof(value), format, arguments);
	va_end(arguments);
	snprintf(key, sizeof(key), "%s.%s", of, name);
	if (value[0])
		trace_writer_info(writer, key, value, NULL);
}

static void add_nodes(struct trace_writer *writer, const struct numa_nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++) {
		const struct numa_node *node = &nodes->nodes[i];
		char of[24];

		snprintf(of, sizeof(of), "numa.%d", node->id);
		fact(writer, of, "cpus", "%s", node->cpus);
		fact(writer, of, "distances", "%s", node->distances);
		if (node->memory_bytes)
			fact(writer, of, "memory_bytes", "%llu",
			     (unsigned long long)node->memory_bytes);
	}
}

static void add_paths(struct trace_writer *writer, const struct pci_devices *devices, size_t index,
		      const char *of)
{
	char paths[2048];
	size_t used = 0;

	for (size_t i = 0; i < devices->count && used + 96 < sizeof(paths); i++) {
		const struct pci_device *other = &devices->items[i];

		if (i != index)
			used += (size_t)snprintf(
				paths + used, sizeof(paths) - used, "%s%s=%s", used ? " " : "",
				other->type == PCI_DEVICE_NET ? other->name : other->address,
				pci_path_name(pci_devices_path(&devices->items[index], other)));
	}
	paths[used] = '\0';
	fact(writer, of, "paths", "%s", paths);
}

static void add_device(struct trace_writer *writer, const struct pci_devices *devices, size_t index)
{
	const struct pci_device *device = &devices->items[index];
	bool is_net = device->type == PCI_DEVICE_NET;
	char of[80];

	snprintf(of, sizeof(of), "%s.%s", is_net ? "net" : "gpu",
		 is_net ? device->name : device->address);
	if (device->numa_node >= 0)
		fact(writer, of, "numa_node", "%d", device->numa_node);
	if (is_net) {
		fact(writer, of, "address", "%s", device->address);
		return;
	}
	fact(writer, of, "name", "%s", device->name);
	fact(writer, of, "cpus", "%s", device->cpus);
	if (device->link.device_max.gen)
		fact(writer, of, "link_device", "gen %u x%u", device->link.device_max.gen,
		     device->link.device_max.width);
	if (device->link.port_max.gen)
		fact(writer, of, "link_slot", "gen %u x%u", device->link.port_max.gen,
		     device->link.port_max.width);
	add_paths(writer, devices, index, of);
}

void machine_facts_add(struct trace_writer *writer, const char *root)
{
	struct facts *facts = calloc(1, sizeof(*facts));

	if (!facts)
		return;
	numa_nodes_read(root, &facts->nodes);
	pci_devices_read(root, &facts->devices);
	add_nodes(writer, &facts->nodes);
	for (size_t i = 0; i < facts->devices.count; i++)
		add_device(writer, &facts->devices, i);
	free(facts);
}
