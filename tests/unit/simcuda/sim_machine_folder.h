/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders of simulated machines for tests: made from a description, read, and removed again.
 */
#ifndef GPUTRACE_SIM_MACHINE_FOLDER_H
#define GPUTRACE_SIM_MACHINE_FOLDER_H

#include "sim_scenario.h"

static char folder[64];

/* A fresh machine of its own for each case; its processes share the state in it. */
static inline void make_machine(const char *name)
{
	char command[1024];

	snprintf(folder, sizeof(folder), "/tmp/sim_machine.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(command, sizeof(command), "'%s' '%s/%s.tsv' '%s'", SIM_MACHINE_PROGRAM,
		 SIM_MACHINE_FILES, name, folder);
	assert_int_equal(system(command), 0);
}

/* One that a test describes itself; it has no tree. */
static inline void write_machine(const char *text)
{
	char path[128];
	FILE *file;

	snprintf(folder, sizeof(folder), "/tmp/sim_machine.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/machine.tsv", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static inline void remove_machine(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
}

static inline void read_file(const char *name, char *text, size_t size)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	CHECK(file != NULL);
	CHECK(fgets(text, (int)size, file) != NULL);
	text[strcspn(text, "\n")] = '\0';
	fclose(file);
}

static inline void read_of_device(const char *address, const char *file, char *text, size_t size)
{
	char name[256];

	snprintf(name, sizeof(name), "sys/bus/pci/devices/%s/%s", address, file);
	read_file(name, text, size);
}

#endif
