/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survival_slow MS COMMAND...: runs a command of which every pwrite() takes MS milliseconds longer,
 * as on a network file system that is busy: the kernel asks a process beside it before each of
 * them. Exit code 77: seccomp listeners are not permitted here.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The descriptor of the listener; -1: refused. */
static int listen_to_writes(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &filter);
}

static void send_descriptor(int by, int fd)
{
	char byte = 0;
	struct iovec part = {&byte, 1};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	sendmsg(by, &message, 0);
}

static int receive_descriptor(int by)
{
	char byte;
	struct iovec part = {&byte, 1};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	int fd = -1;

	if (recvmsg(by, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* Until nobody is left whose writes could be slow. */
static void delay_writes(int listener, long delay_ms)
{
	const struct timespec delay = {delay_ms / 1000, delay_ms % 1000 * 1000000};
	struct pollfd ready = {.fd = listener, .events = POLLIN};

	while (poll(&ready, 1, -1) > 0 && ready.revents & POLLIN) {
		struct seccomp_notif asked;
		struct seccomp_notif_resp answer = {0};

		memset(&asked, 0, sizeof(asked));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
			continue;
		nanosleep(&delay, NULL);
		answer.id = asked.id;
		answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

/* A grandchild, so that the command finds no child of its own that it has not made. */
static void start_delaying(int by, long delay_ms)
{
	pid_t child = fork();

	if (child > 0) {
		waitpid(child, NULL, 0);
		return;
	}
	if (child == 0 && fork() == 0) {
		int listener = receive_descriptor(by);

		/* Whoever reads the command's output waits for its end, not for ours. */
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		close(by);
		if (listener >= 0)
			delay_writes(listener, delay_ms);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int pair[2], listener;

	if (argc < 3 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return 2;
	start_delaying(pair[0], strtol(argv[1], NULL, 10));
	close(pair[0]);
	listener = listen_to_writes();
	if (listener < 0)
		return 77;
	send_descriptor(pair[1], listener);
	close(listener);
	close(pair[1]);
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
