/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks, executes and kills in many rounds, and says how each child ended. A child makes a call, or
 * becomes another program, or makes calls until it is killed; the parent makes one in between.
 *
 *   prog_rounds ROUNDS
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int cudaMalloc(void **pointer, size_t size_bytes);

static void run_child(int round)
{
	void *memory = NULL;
	switch (round % 5) {
	case 0:
		_exit(10 + cudaMalloc(&memory, 100));
	case 1:
		execl("/bin/true", "true", (char *)NULL);
		_exit(20);
	case 2:
		for (;;)
			cudaMalloc(&memory, 100);
	case 3:
		exit(30);
	default:
		cudaMalloc(&memory, 100);
		execl("/bin/false", "false", (char *)NULL);
		_exit(40);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0, ended[128] = {0}, killed = 0;
	void *memory = NULL;
	for (int i = 0; i < rounds; i++) {
		int status = 0;
		pid_t child = fork();
		if (child == 0)
			run_child(i);
		if (child < 0) {
			perror("fork");
			return 1;
		}
		if (i % 5 == 2) {
			/* Anywhere between its first instruction and its hundredth call. */
			nanosleep(&(struct timespec){.tv_nsec = (i * 7919) % 20000000}, NULL);
			kill(child, SIGKILL);
		}
		cudaMalloc(&memory, 200);
		if (waitpid(child, &status, 0) != child)
			return 1;
		if (WIFSIGNALED(status))
			killed++;
		else
			ended[WEXITSTATUS(status) % 128]++;
	}
	printf("killed %d\n", killed);
	for (int i = 0; i < 128; i++) {
		if (ended[i])
			printf("exit %d: %d\n", i, ended[i]);
	}
	return 0;
}
