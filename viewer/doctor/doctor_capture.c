/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the files that doctor and collector read of a machine: small texts and the links of the
 * PCI tree. Files that are not there are left out; the copy is as good as the original for --root.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array_len.h"
#include "doctor.h"
#include "error.h"
#include "machine_file.h"
#include "small_file.h"

#define PATH_BYTES 1200

static const char *const single[] = {
	"sys/module/nvidia/version",
	"proc/driver/nvidia/version",
	"sys/devices/system/node/online",
	"sys/devices/system/cpu/online",
	"sys/hypervisor/type",
	"sys/class/dmi/id/sys_vendor",
	"proc/meminfo",
	"proc/cpuinfo",
};

static const char *const of_node[] = {"cpulist", "distance", "meminfo"};

static const char *const of_device[] = {
	"vendor",
	"device",
	"class",
	"numa_node",
	"local_cpulist",
	"current_link_speed",
	"current_link_width",
	"max_link_speed",
	"max_link_width",
};

struct capture {
	const char *root, *folder;
	unsigned int files;
	struct error *err;
};

static int make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int rc;

		*slash = '\0';
		rc = mkdir(path, 0755);
		*slash = '/';
		if (rc < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int target_path(const struct capture *capture, const char *name, char *path)
{
	int length = snprintf(path, PATH_BYTES, "%s/%s", capture->folder, name);
	int rc = length > 0 && length < PATH_BYTES ? make_folders(path) : -ENAMETOOLONG;

	if (rc < 0)
		return error_set(capture->err, rc, "cannot make the folders of %s: %s", path,
				 strerror(-rc));
	return 0;
}

/* 0 also when the machine does not have the file. */
static int copy_file(struct capture *capture, const char *name)
{
	static char text[1 << 18];
	long bytes = machine_file_read(capture->root, text, sizeof(text), "%s", name);
	char path[PATH_BYTES];
	FILE *file;
	int rc;

	if (bytes < 0)
		return 0;
	rc = target_path(capture, name, path);
	if (rc < 0)
		return rc;
	file = fopen(path, "we");
	if (!file)
		return error_set(capture->err, -errno, "cannot write %s: %s", path,
				 strerror(errno));
	if (fwrite(text, 1, (size_t)bytes, file) != (size_t)bytes)
		rc = -EIO;
	if (fclose(file) != 0)
		rc = -EIO;
	if (rc < 0)
		return error_set(capture->err, rc, "cannot write %s", path);
	capture->files++;
	return 0;
}

static int copy_link(struct capture *capture, const char *name, const char *target)
{
	char path[PATH_BYTES];
	int rc = target_path(capture, name, path);

	if (rc < 0)
		return rc;
	if (symlink(target, path) < 0 && errno != EEXIST)
		return error_set(capture->err, -errno, "cannot make the link %s: %s", path,
				 strerror(errno));
	capture->files++;
	return 0;
}

static int copy_nodes(struct capture *capture)
{
	struct numa_nodes *nodes = calloc(1, sizeof(*nodes));
	char name[256];
	int rc = nodes ? 0 : -ENOMEM;

	if (nodes)
		numa_nodes_read(capture->root, nodes);
	for (size_t i = 0; rc == 0 && i < nodes->count; i++) {
		for (size_t f = 0; rc == 0 && f < ARRAY_LEN(of_node); f++) {
			snprintf(name, sizeof(name), "sys/devices/system/node/node%d/%s",
				 nodes->nodes[i].id, of_node[f]);
			rc = copy_file(capture, name);
		}
	}
	free(nodes);
	return rc;
}

/* A device and the port above it, in their places in the tree. */
static int copy_device(struct capture *capture, const struct pci_device *device)
{
	char name[PATH_BYTES], target[700], path[512];
	char *slash;
	int rc;

	if (!device->path[0])
		return 0;
	snprintf(path, sizeof(path), "%s", device->path);
	for (int level = 0; level < 2; level++) {
		for (size_t f = 0; f < ARRAY_LEN(of_device); f++) {
			snprintf(name, sizeof(name), "sys/devices/%s/%s", path, of_device[f]);
			rc = copy_file(capture, name);
			if (rc < 0)
				return rc;
		}
		slash = strrchr(path, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	snprintf(name, sizeof(name), "sys/bus/pci/devices/%s", device->address);
	snprintf(target, sizeof(target), "../../../devices/%s", device->path);
	rc = copy_link(capture, name, target);
	if (rc == 0 && device->type == PCI_DEVICE_NET) {
		snprintf(name, sizeof(name), "sys/class/infiniband/%s/device", device->name);
		snprintf(target, sizeof(target), "../../../bus/pci/devices/%s", device->address);
		rc = copy_link(capture, name, target);
	}
	if (rc == 0) {
		snprintf(name, sizeof(name), "proc/driver/nvidia/gpus/%s/information",
			 device->address);
		rc = copy_file(capture, name);
	}
	return rc;
}

int doctor_capture(const char *root, const char *folder, struct error *err)
{
	struct pci_devices *devices = calloc(1, sizeof(*devices));
	struct capture capture = {.root = root, .folder = folder, .err = err};
	int rc = devices ? 0 : error_set(err, -ENOMEM, "out of memory");

	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		rc = error_set(err, -errno, "cannot make %s: %s", folder, strerror(errno));
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(single); i++)
		rc = copy_file(&capture, single[i]);
	if (rc == 0)
		rc = copy_nodes(&capture);
	if (rc == 0)
		pci_devices_read(root, devices);
	for (size_t i = 0; rc == 0 && i < devices->count; i++)
		rc = copy_device(&capture, &devices->items[i]);
	free(devices);
	return rc < 0 ? rc : (int)capture.files;
}
