/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that want to name their steps and ranges in a gputrace recording. Nothing to link:
 * without the preloaded shim these calls do nothing, for the price of one look at a pointer.
 *
 *	gputrace_step(i);                 a step begins (and the one before it ends)
 *	gputrace_mark("checkpoint");      something happened
 *	gputrace_push("forward"); ... gputrace_pop();     a range of this thread
 */
#ifndef GPUTRACE_H
#define GPUTRACE_H

#ifdef __cplusplus
extern "C" {
#endif

/* noplt: looked up through the global offset table also where code is not position independent;
 * else the static linker would settle "not there" before the shim has a say. clang has no such
 * attribute: build with it as position-independent code, which is its default. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define GPUTRACE_WEAK __attribute__((weak, noplt, visibility("default")))
#endif
#endif
#ifndef GPUTRACE_WEAK
#define GPUTRACE_WEAK __attribute__((weak, visibility("default")))
#endif
void gputrace_shim_step(unsigned long long number) GPUTRACE_WEAK;
void gputrace_shim_mark(const char *text) GPUTRACE_WEAK;
void gputrace_shim_push(const char *text) GPUTRACE_WEAK;
void gputrace_shim_pop(void) GPUTRACE_WEAK;
#undef GPUTRACE_WEAK

static inline void gputrace_step(unsigned long long number)
{
	if (gputrace_shim_step)
		gputrace_shim_step(number);
}

static inline void gputrace_mark(const char *text)
{
	if (gputrace_shim_mark)
		gputrace_shim_mark(text);
}

static inline void gputrace_push(const char *text)
{
	if (gputrace_shim_push)
		gputrace_shim_push(text);
}

static inline void gputrace_pop(void)
{
	if (gputrace_shim_pop)
		gputrace_shim_pop();
}

#ifdef __cplusplus
}
#endif

#endif
