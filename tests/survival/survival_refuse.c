/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survival_refuse memfd|BYTES COMMAND...: runs a command whose memfd_create() is refused with
 * EPERM, as a strict seccomp profile does, or whose writes at BYTES and above of a file are refused
 * with EDQUOT, as a quota that is used up does. Exit code 77: seccomp filters are not permitted
 * here.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field)	     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define JUMP_IF(test, k, no) BPF_JUMP(BPF_JMP | (test) | BPF_K, k, 0, no)
#define RETURN(what)	     BPF_STMT(BPF_RET | BPF_K, what)

static int refuse(struct sock_filter *program, size_t count)
{
	const struct sock_fprog filter = {(unsigned short)count, program};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static int refuse_memfd(void)
{
	struct sock_filter program[] = {
		LOAD(nr),
		JUMP_IF(BPF_JEQ, SYS_memfd_create, 1),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};

	return refuse(program, sizeof(program) / sizeof(program[0]));
}

/* The low half of the offset: files here stay below 4 GiB. */
static int refuse_writes_from(uint32_t offset)
{
	struct sock_filter program[] = {
		LOAD(nr),
		JUMP_IF(BPF_JEQ, SYS_pwrite64, 3),
		LOAD(args[3]),
		JUMP_IF(BPF_JGE, offset, 1),
		RETURN(SECCOMP_RET_ERRNO | EDQUOT),
		RETURN(SECCOMP_RET_ALLOW),
	};

	return refuse(program, sizeof(program) / sizeof(program[0]));
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "memfd") ? refuse_writes_from((uint32_t)strtoul(argv[1], NULL, 10))
				     : refuse_memfd())
		return 77;
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
