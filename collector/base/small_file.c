/* SPDX-License-Identifier: Apache-2.0 */
/* Reads until the end: files of /proc come in pieces. */
#define _GNU_SOURCE
#include "small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

long small_file_read(const char *path, char *text, size_t size)
{
	size_t used = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (used < size - 1) {
		ssize_t done = read(fd, text + used, size - 1 - used);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			break;
		used += (size_t)done;
	}
	text[used] = '\0';
	close(fd);
	return (long)used;
}

bool small_file_line(const char *path, char *text, size_t size)
{
	if (small_file_read(path, text, size) < 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return text[0] != '\0';
}

bool small_file_number(const char **at, unsigned int base, uint64_t *value)
{
	const char *from = *at;
	uint64_t result = 0;

	for (;; from++) {
		unsigned int digit;

		if (*from >= '0' && *from <= '9')
			digit = (unsigned int)(*from - '0');
		else if (*from >= 'a' && *from <= 'f')
			digit = (unsigned int)(*from - 'a') + 10;
		else
			break;
		if (digit >= base)
			break;
		result = result * base + digit;
	}
	if (from == *at)
		return false;
	*at = from;
	*value = result;
	return true;
}

int small_file_stat(int fd, struct stat *status)
{
	return (int)syscall(SYS_fstat, fd, status);
}
