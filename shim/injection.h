/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second way in: the driver loads this library because CUDA_INJECTION64_PATH names it, and
 * CUPTI's callbacks of driver functions take the place of wrappers. For programs that cannot be
 * preloaded. Where the library is preloaded as well, this way stays closed.
 */
#ifndef GPUTRACE_SHIM_INJECTION_H
#define GPUTRACE_SHIM_INJECTION_H

#include <stdbool.h>
#include <stdint.h>

struct cupti;

/* Whether a function of the driver, by its exact name, is recorded; remembers its number. */
bool injection_wants(const char *name, uint32_t id);
/* CUPTI is about to call: what it is asked for the device of a context. */
void injection_use(const struct cupti *cupti);
/* One callback of the driver's domain. */
void injection_callback(uint32_t id, const void *data);
/* Our own thread's turn, outside of callbacks: describes the devices once CUDA is initialised. */
void injection_turn(void);

#endif
