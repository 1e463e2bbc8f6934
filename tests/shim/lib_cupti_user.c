/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool that uses CUPTI. With COPY it has CUPTI's functions in itself, as one linked with the
 * static library has, and shows them. Else it is linked against libcupti, or with all of that in
 * it, of which nothing is shown.
 */
#include <stdint.h>

typedef void tool_callback(void *user, int domain, uint32_t id, const void *data);

int cuptiSubscribe(void **handle, tool_callback *callback, void *user);
int tool_subscribe(void);

#ifdef COPY
int cuptiSubscribe(void **handle, tool_callback *callback, void *user)
{
	(void)callback, (void)user;
	*handle = handle;
	return 0;
}
#endif

static void hear(void *user, int domain, uint32_t id, const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
}

int tool_subscribe(void)
{
	static void *handle;
	return cuptiSubscribe(&handle, hear, &handle);
}
