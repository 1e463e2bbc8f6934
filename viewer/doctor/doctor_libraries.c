/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA libraries on disk, by the names of their files: links lead to a file whose name ends in
 * the version. Looked for where toolkits and distributions install them, for this machine also in
 * LD_LIBRARY_PATH and in the wheels of the active Python environment.
 */
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "array_len.h"
#include "doctor.h"
#include "small_file.h"

static const char *const names[] = {"libcudart", "libcublas", "libcudnn", "libnccl", "libcupti"};

static const char *const folders[] = {
	"/usr/local/cuda*/lib64",
	"/usr/local/cuda*/targets/*/lib",
	"/usr/local/cuda*/extras/CUPTI/lib64",
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/usr/lib64",
	"/opt/conda/lib",
};

static bool is_known(const struct doctor *doctor, const char *path)
{
	for (size_t i = 0; i < doctor->library_count; i++) {
		if (!strcmp(doctor->libraries[i].path, path))
			return true;
	}
	return false;
}

static void add(struct doctor *doctor, const char *name, const char *found)
{
	const char *root = doctor->options->root;
	size_t root_bytes = strlen(root);
	struct doctor_library *library;
	char real[PATH_MAX], *path;
	const char *version;

	/* Absolute links of another root lead out of it: there the name as it stands must do. */
	if (root_bytes || !realpath(found, real))
		snprintf(real, sizeof(real), "%s", found);
	path = real + (root_bytes && !strncmp(real, root, root_bytes) ? root_bytes : 0);
	version = strrchr(path, '/');
	version = version ? strstr(version, ".so.") : NULL;
	if (!version || is_known(doctor, path) || strlen(path) >= sizeof(library->path) ||
	    strspn(version + 4, "0123456789.") != strlen(version + 4))
		return;
	if (doctor->library_count == doctor->library_capacity)
		doctor->libraries = array_grow(doctor->libraries, &doctor->library_capacity,
					       sizeof(*doctor->libraries));
	library = &doctor->libraries[doctor->library_count++];
	snprintf(library->name, sizeof(library->name), "%s", name);
	snprintf(library->path, sizeof(library->path), "%s", path);
	snprintf(library->version, sizeof(library->version), "%.31s", version + 4);
}

static void look_in(struct doctor *doctor, const char *root, const char *folder)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char pattern[PATH_MAX];
		glob_t found;

		snprintf(pattern, sizeof(pattern), "%s%s/%s.so.*", root, folder, names[i]);
		if (glob(pattern, 0, NULL, &found) == 0) {
			for (size_t f = 0; f < found.gl_pathc; f++)
				add(doctor, names[i], found.gl_pathv[f]);
		}
		globfree(&found);
	}
}

/* The folders of a list with colons. */
static void look_in_list(struct doctor *doctor, const char *list)
{
	while (list && *list) {
		size_t length = strcspn(list, ":");
		char folder[1024];

		if (length && length < sizeof(folder)) {
			snprintf(folder, sizeof(folder), "%.*s", (int)length, list);
			look_in(doctor, "", folder);
		}
		list += length + (list[length] == ':');
	}
}

static void look_in_environment(struct doctor *doctor)
{
	static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};

	look_in_list(doctor, getenv("LD_LIBRARY_PATH"));
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		const char *prefix = getenv(variables[i]);
		char folder[1200];

		if (!prefix || strlen(prefix) > 1000)
			continue;
		snprintf(folder, sizeof(folder), "%s/lib", prefix);
		look_in(doctor, "", folder);
		snprintf(folder, sizeof(folder), "%s/lib/python*/site-packages/nvidia/*/lib",
			 prefix);
		look_in(doctor, "", folder);
	}
}

/* A toolkit's own word: {"cuda": {"name": "CUDA SDK", "version": "13.0.2"}, ...}. */
static void add_toolkit(struct doctor *doctor, const char *path)
{
	static const char key[] = "\"version\"";
	struct doctor_library *library;
	char text[4096], version[32];
	const char *at;
	size_t length;

	if (small_file_read(path, text, sizeof(text)) <= 0)
		return;
	at = strstr(text, "\"cuda\"");
	at = at ? strstr(at, key) : NULL;
	at = at ? at + strlen(key) + strcspn(at + strlen(key), "0123456789}") : "";
	length = strspn(at, "0123456789.");
	if (!length || length >= sizeof(version))
		return;
	snprintf(version, sizeof(version), "%.*s", (int)length, at);
	path += strlen(doctor->options->root);
	if (is_known(doctor, path) || strlen(path) >= sizeof(library->path))
		return;
	if (doctor->library_count == doctor->library_capacity)
		doctor->libraries = array_grow(doctor->libraries, &doctor->library_capacity,
					       sizeof(*doctor->libraries));
	library = &doctor->libraries[doctor->library_count++];
	snprintf(library->name, sizeof(library->name), "toolkit");
	snprintf(library->path, sizeof(library->path), "%s", path);
	snprintf(library->version, sizeof(library->version), "%s", version);
}

static void find_toolkits(struct doctor *doctor)
{
	char pattern[PATH_MAX];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/usr/local/cuda*/version.json",
		 doctor->options->root);
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t f = 0; f < found.gl_pathc; f++)
			add_toolkit(doctor, found.gl_pathv[f]);
	}
	globfree(&found);
}

static int compare(const void *left, const void *right)
{
	const struct doctor_library *one = left, *two = right;
	int order = strcmp(one->name, two->name);

	return order ? order : strcmp(one->path, two->path);
}

void doctor_find_libraries(struct doctor *doctor)
{
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		look_in(doctor, doctor->options->root, folders[i]);
	if (!doctor->options->root[0])
		look_in_environment(doctor);
	find_toolkits(doctor);
	if (doctor->library_count)
		qsort(doctor->libraries, doctor->library_count, sizeof(*doctor->libraries),
		      compare);
}
