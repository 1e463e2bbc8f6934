/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a process out of what the collector inherits from a job: no terminal, no open files, no
 * binding to the job's CPUs, no limits that would end it.
 */
#ifndef GPUTRACE_COLLECTOR_PROCESS_H
#define GPUTRACE_COLLECTOR_PROCESS_H

/* Nothing here is worth failing for. Keeps the descriptors 0..2 (on /dev/null, except stderr when
 * `keep_stderr`) and the two given. */
void collector_process_detach(int memfd, int dir_fd, int keep_stderr);

#endif
