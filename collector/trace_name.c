/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that comes from outside loses the characters that mean something in names and shells.
 */
#define _GNU_SOURCE
#include "trace_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "small_file.h"

#define PART_BYTES 64 /* of job and host: names stay below the 255 bytes of file systems */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

static void copy_plain(char *to, size_t size, const char *from)
{
	size_t used = 0;

	for (; *from && used < size - 1; from++)
		to[used++] = is_plain(*from) ? *from : '_';
	to[used] = '\0';
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_python(const char *program)
{
	return strncmp(base_name(program), "python", 6) == 0;
}

/* The script or module of an interpreter's arguments: the first that is no option. */
static const char *python_script(const char *arguments, const char *end)
{
	const char *at = arguments;

	while (at < end) {
		const char *next = at + strlen(at) + 1;

		if (at[0] != '-')
			return at;
		if (strcmp(at, "-m") == 0)
			return next < end ? next : NULL;
		if (strcmp(at, "-c") == 0 || strcmp(at, "-") == 0)
			return NULL;
		/* -W and -X take a word of their own. */
		if (strcmp(at, "-W") == 0 || strcmp(at, "-X") == 0)
			next += next < end ? strlen(next) + 1 : 0;
		at = next;
	}
	return NULL;
}

void trace_name_job(pid_t pid, char *job, size_t size)
{
	char path[64], text[4096], plain[PART_BYTES];
	const char *name, *script = NULL;
	long length;

	if (pid == 0)
		snprintf(path, sizeof(path), "/proc/self/cmdline");
	else
		snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	length = small_file_read(path, text, sizeof(text));
	if (length <= 0 || text[0] == '\0') {
		snprintf(job, size, "job");
		return;
	}
	name = base_name(text);
	if (is_python(text))
		script = python_script(text + strlen(text) + 1, text + length);
	if (script)
		name = base_name(script);
	copy_plain(plain, sizeof(plain), name);
	if (script && strlen(plain) > 3 && strcmp(plain + strlen(plain) - 3, "_py") == 0)
		plain[strlen(plain) - 3] = '\0';
	snprintf(job, size, "%s", plain[0] ? plain : "job");
}

const char *trace_name_variable(const char *const *environment, const char *key)
{
	size_t length = strlen(key);

	for (; environment && *environment; environment++) {
		if (strncmp(*environment, key, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	}
	return NULL;
}

const char *trace_name_rank(const char *const *environment)
{
	/* What the launcher nearest to the job sets comes first. */
	static const char *const variables[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
						"PMI_RANK", "SLURM_PROCID"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = trace_name_variable(environment, variables[i]);
		size_t digits = value ? strspn(value, "0123456789") : 0;

		if (digits > 0 && digits < 10 && value[digits] == '\0')
			return value;
	}
	return NULL;
}

void trace_name_build(char *name, size_t size, const char *job, const char *rank, const char *host,
		      pid_t pid, uint64_t start_realtime_ns, unsigned int attempt)
{
	char job_part[PART_BYTES], host_part[PART_BYTES], rank_part[24] = "", again[16] = "";
	time_t seconds = (time_t)(start_realtime_ns / 1000000000u);
	char when[32] = "0";
	struct tm utc;

	copy_plain(job_part, sizeof(job_part), job);
	copy_plain(host_part, sizeof(host_part), host);
	if (rank)
		snprintf(rank_part, sizeof(rank_part), ".rank%s", rank);
	if (attempt > 0)
		snprintf(again, sizeof(again), "-%u", attempt + 1);
	if (gmtime_r(&seconds, &utc))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(name, size, "%s%s.%s.%d.%s%s.gtrace", job_part, rank_part, host_part, (int)pid,
		 when, again);
}
