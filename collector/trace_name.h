/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a trace file: JOB[.rankR].HOST.PID.STARTTIME.gtrace */
#ifndef GPUTRACE_TRACE_NAME_H
#define GPUTRACE_TRACE_NAME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the job is called, from its command line: "train" for "python -u dir/train.py --lr 1". Falls
 * back to "job". Writes at most `size` bytes with NUL. */
void trace_name_job(pid_t pid, char *job, size_t size);
/* The rank's digits in the variables of the common launchers, NULL when there is none. */
const char *trace_name_rank(const char *const *environment);
/* `attempt` 0 gives the plain name; later ones differ, for names that exist already. */
void trace_name_build(char *name, size_t size, const char *job, const char *rank, const char *host,
		      pid_t pid, uint64_t start_realtime_ns, unsigned int attempt);
/* Value of a variable in "KEY=VALUE" texts, NULL when it is not there. */
const char *trace_name_variable(const char *const *environment, const char *key);

#endif
