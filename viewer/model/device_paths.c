/* SPDX-License-Identifier: Apache-2.0 */
/* A list is "0000:5e:00.0=PIX mlx5_0=NODE"; what is not of that form is skipped. */
#include "device_paths.h"

#include <stdio.h>
#include <string.h>

#include "device_info.h"
#include "model.h"

bool device_path_next(const char **at, struct device_path *path)
{
	while (*at && **at) {
		size_t length = strcspn(*at, " ");
		const char *entry = *at, *mark = memchr(entry, '=', length);
		size_t name = mark ? (size_t)(mark - entry) : 0;

		*at += length;
		*at += strspn(*at, " ");
		if (!name || name >= sizeof(path->to) || length - name - 1 >= sizeof(path->way) ||
		    length == name + 1)
			continue;
		memcpy(path->to, entry, name);
		path->to[name] = '\0';
		memcpy(path->way, mark + 1, length - name - 1);
		path->way[length - name - 1] = '\0';
		path->is_gpu = strchr(path->to, ':') != NULL;
		return true;
	}
	return false;
}

bool device_path_between(const struct model *model, size_t one, size_t other,
			 struct device_path *path)
{
	const struct record_device *record = model->devices[other].record;
	static const char *const lists[] = {"nvlinks", "paths"};
	char address[32];

	if (!record)
		return false;
	snprintf(address, sizeof(address), "%04x:%02x:%02x.0", record->pci_domain, record->pci_bus,
		 record->pci_device);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const char *at = device_info_text(model, one, lists[i]);

		while (device_path_next(&at, path)) {
			if (!strcmp(path->to, address))
				return true;
		}
	}
	return false;
}

int device_path_distance(const struct device_path *path)
{
	static const char *const ways[] = {"?", "X", "PIX", "PXB", "PHB", "NODE", "SYS"};

	if (!strncmp(path->way, "NV", 2))
		return 1;
	for (int i = 0; i < (int)(sizeof(ways) / sizeof(ways[0])); i++) {
		if (!strcmp(path->way, ways[i]))
			return i;
	}
	return 0;
}
