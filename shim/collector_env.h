/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of the collector: a list of names that are allowed, never the program's own
 * environment, which holds secrets and preloads.
 */
#ifndef GPUTRACE_SHIM_COLLECTOR_ENV_H
#define GPUTRACE_SHIM_COLLECTOR_ENV_H

/* "NAME=value" texts and a NULL, in memory of ours that stays. */
const char *const *collector_env_build(void);

#endif
