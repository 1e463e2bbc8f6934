/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Xid lines in kernel messages: "NVRM: Xid (PCI:0000:3b:00): 79, pid=1896, GPU has fallen off the
 * bus.", in older drivers without "PCI:". Lines about the same number and GPU are one.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "doctor.h"
#include "error.h"

#define LINE_BYTES 2048

enum xid_kind { FAULT, PROGRAM, NOTE };

static const struct {
	unsigned int number;
	enum xid_kind kind;
	const char *meaning, *action;
} xids[] = {
#define XID(number, kind, meaning, action) {number, kind, meaning, action},
#include "xid.def"
#undef XID
};

static int find(unsigned int number)
{
	for (size_t i = 0; i < ARRAY_LEN(xids); i++) {
		if (xids[i].number == number)
			return (int)i;
	}
	return -1;
}

const char *doctor_xid_meaning(unsigned int number)
{
	int at = find(number);

	return at < 0 ? NULL : xids[at].meaning;
}

const char *doctor_xid_action(unsigned int number)
{
	int at = find(number);

	return at < 0 ? NULL : xids[at].action;
}

bool doctor_xid_is_fault(unsigned int number)
{
	int at = find(number);

	return at >= 0 && xids[at].kind == FAULT;
}

static void take_line(struct doctor *doctor, const char *line)
{
	const char *at = strstr(line, "NVRM: Xid (");
	struct doctor_xid xid = {.times = 1};
	size_t length;
	char *end;

	if (!at)
		return;
	at += strlen("NVRM: Xid (");
	if (!strncmp(at, "PCI:", 4))
		at += 4;
	length = strcspn(at, ")");
	if (at[length] != ')' || length >= sizeof(xid.address))
		return;
	memcpy(xid.address, at, length);
	at += length + 1;
	at += strspn(at, ": ");
	if (!isdigit((unsigned char)*at))
		return;
	xid.number = (unsigned int)strtoul(at, &end, 10);
	snprintf(xid.line, sizeof(xid.line), "%.199s", end + strspn(end, ", "));
	for (size_t i = 0; i < doctor->xid_count; i++) {
		if (doctor->xids[i].number == xid.number &&
		    !strcmp(doctor->xids[i].address, xid.address)) {
			doctor->xids[i].times++;
			return;
		}
	}
	if (doctor->xid_count < ARRAY_LEN(doctor->xids))
		doctor->xids[doctor->xid_count++] = xid;
}

int doctor_read_dmesg(struct doctor *doctor, struct error *err)
{
	const char *path = doctor->options->dmesg;
	bool is_stdin = !strcmp(path, "-");
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	char line[LINE_BYTES];
	int rc = 0;

	if (!file)
		return error_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		take_line(doctor, line);
	}
	if (ferror(file))
		rc = error_set(err, -EIO, "cannot read %s", path);
	if (!is_stdin)
		fclose(file);
	return rc;
}
