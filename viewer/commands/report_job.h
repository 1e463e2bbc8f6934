/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which models a report needs: of the ranks of one job only those that are shown in detail, of
 * anything else all.
 */
#ifndef GPUTRACE_COMMANDS_REPORT_JOB_H
#define GPUTRACE_COMMANDS_REPORT_JOB_H

#include "job_ranks.h"
#include "load_traces.h"

/* Opens no file: `traces` are open already and have no models. Afterwards those that are shown have
 * one. `rank`: "all", a number, or NULL for the one that stands for the others. 0 or an exit
 * status, after one sentence on stderr. */
int report_job_load(const char *command, struct loaded_traces *traces, const char *rank,
		    struct job_ranks *job);

#endif
