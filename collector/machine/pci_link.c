/* SPDX-License-Identifier: Apache-2.0 */
/* Speeds are texts, "16.0 GT/s PCIe"; the generation is what people and NVML call them. */
#include "pci_link.h"

#include <string.h>

#include "machine_file.h"
#include "small_file.h"

static uint16_t speed_to_gen(const char *text)
{
	static const struct {
		const char *speed;
		uint16_t gen;
	} speeds[] = {{"2.5 ", 1}, {"5.0 ", 2},	 {"5 ", 2},  {"8.0 ", 3},  {"8 ", 3}, {"16.0 ", 4},
		      {"16 ", 4},  {"32.0 ", 5}, {"32 ", 5}, {"64.0 ", 6}, {"64 ", 6}};

	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		if (strncmp(text, speeds[i].speed, strlen(speeds[i].speed)) == 0)
			return speeds[i].gen;
	}
	return 0;
}

static struct pci_link_end read_end(const char *root, const char *address, const char *above,
				    const char *which)
{
	struct pci_link_end end = {0};
	char text[64];
	uint64_t width;

	if (machine_file_line(root, text, sizeof(text), "sys/bus/pci/devices/%s%s/%s_link_speed",
			      address, above, which))
		end.gen = speed_to_gen(text);
	/* A function without a link says 255. */
	if (machine_file_number(root, &width, "sys/bus/pci/devices/%s%s/%s_link_width", address,
				above, which) &&
	    width <= 32)
		end.width = (uint16_t)width;
	return end;
}

static uint16_t smaller_known(uint16_t one, uint16_t two)
{
	if (one == 0 || two == 0)
		return one ? one : two;
	return one < two ? one : two;
}

struct pci_link_end pci_link_now(const char *root, const char *address)
{
	return read_end(root, address, "", "current");
}

void pci_link_read(const char *root, const char *address, struct pci_link *link)
{
	link->now = pci_link_now(root, address);
	link->device_max = read_end(root, address, "", "max");
	link->port_max = read_end(root, address, "/..", "max");
	link->able.gen = smaller_known(link->device_max.gen, link->port_max.gen);
	link->able.width = smaller_known(link->device_max.width, link->port_max.width);
}
