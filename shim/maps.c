/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the text of /proc/self/maps in pieces of a page. Lines of the same file that follow
 * each other belong together: the first one holds the ELF header.
 */
#include "maps.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct line {
	uint64_t begin, end, offset;
	bool is_executable;
	const char *path;
};

static uint64_t parse_hex(const char **text)
{
	uint64_t value = 0;
	for (;; (*text)++) {
		char c = **text;
		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return value;
	}
}

/* "begin-end rwxp offset dev inode   path"; false on anything else. */
static bool parse_line(const char *text, struct line *line)
{
	line->begin = parse_hex(&text);
	if (*text++ != '-')
		return false;
	line->end = parse_hex(&text);
	if (*text++ != ' ' || strlen(text) < 5)
		return false;
	line->is_executable = text[2] == 'x';
	text += 5;
	line->offset = parse_hex(&text);
	const char *slash = strchr(text, '/');
	line->path = slash ? slash : "";
	return true;
}

/* True when the line holds the address; mapping describes it then. */
static bool consider(const struct line *line, uint64_t address, struct mapping *mapping)
{
	if (strncmp(mapping->path, line->path, MAPS_PATH_BYTES - 1) || !*line->path) {
		mapping->begin = line->begin;
		strncpy(mapping->path, line->path, MAPS_PATH_BYTES - 1);
		mapping->path[MAPS_PATH_BYTES - 1] = '\0';
	}
	mapping->end = line->end;
	if (address < line->begin || address >= line->end)
		return false;
	mapping->code_begin = line->begin;
	mapping->code_end = line->end;
	mapping->code_offset = line->offset;
	return line->is_executable;
}

bool maps_find(uint64_t address, struct mapping *mapping)
{
	char buffer[8192];
	size_t used = 0;
	bool found = false;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	memset(mapping, 0, sizeof(*mapping));
	while (!found) {
		ssize_t count = read(fd, buffer + used, sizeof(buffer) - 1 - used);
		if (count <= 0)
			break;
		used += (size_t)count;
		buffer[used] = '\0';
		char *begin = buffer, *newline;
		while (!found && (newline = strchr(begin, '\n'))) {
			struct line line;
			*newline = '\0';
			found = parse_line(begin, &line) && consider(&line, address, mapping);
			begin = newline + 1;
		}
		used = (size_t)(buffer + used - begin);
		memmove(buffer, begin, used);
		if (used >= sizeof(buffer) - 1)
			break; /* a line that long is not one of the kernel's */
	}
	close(fd);
	return found;
}
