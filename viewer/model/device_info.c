/* SPDX-License-Identifier: Apache-2.0 */
/* Devices without a record have no address, so nothing is known of them. */
#include "device_info.h"

#include <stdio.h>
#include <stdlib.h>

#include "model.h"

const char *device_info_text(const struct model *model, size_t device, const char *name)
{
	const struct record_device *record = model->devices[device].record;
	char key[96];

	if (!record)
		return NULL;
	snprintf(key, sizeof(key), "gpu.%04x:%02x:%02x.0.%s", record->pci_domain, record->pci_bus,
		 record->pci_device, name);
	return model->source.info(model->source.context, key);
}

int64_t device_info_number(const struct model *model, size_t device, const char *name)
{
	const char *text = device_info_text(model, device, name);
	char *end;
	long long value;

	if (!text)
		return -1;
	value = strtoll(text, &end, 10);
	return end == text ? -1 : value;
}
