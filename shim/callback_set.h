/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CUPTI's callbacks, by domain and id. Any thread reads and changes them, without a lock.
 */
#ifndef GPUTRACE_SHIM_CALLBACK_SET_H
#define GPUTRACE_SHIM_CALLBACK_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CALLBACK_DOMAINS 8
#define CALLBACK_IDS	 4096u

struct callback_set {
	_Atomic uint64_t ids[CALLBACK_DOMAINS][CALLBACK_IDS / 64];
};

static inline bool callback_set_has(const struct callback_set *set, int domain, uint32_t id)
{
	return (unsigned int)domain < CALLBACK_DOMAINS && id < CALLBACK_IDS &&
	       (atomic_load_explicit(&set->ids[domain][id / 64], memory_order_relaxed) >>
		(id % 64)) &
		       1;
}

static inline void callback_set_change(struct callback_set *set, int domain, uint32_t id,
				       bool is_in)
{
	if ((unsigned int)domain >= CALLBACK_DOMAINS || id >= CALLBACK_IDS)
		return;
	if (is_in)
		atomic_fetch_or(&set->ids[domain][id / 64], 1ull << (id % 64));
	else
		atomic_fetch_and(&set->ids[domain][id / 64], ~(1ull << (id % 64)));
}

static inline void callback_set_change_domain(struct callback_set *set, int domain, bool is_in)
{
	for (uint32_t i = 0; (unsigned int)domain < CALLBACK_DOMAINS && i < CALLBACK_IDS / 64; i++)
		atomic_store(&set->ids[domain][i], is_in ? UINT64_MAX : 0);
}

#endif
