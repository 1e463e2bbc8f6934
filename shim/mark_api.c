/* SPDX-License-Identifier: Apache-2.0 */
/* What gputrace.h calls. Ranges lie in a domain of their own, so that NVTX's pops leave them alone.
 */
#include <string.h>

#include "../collector/format/record.h"
#include "mark.h"
#include "wrap.h"

#define TEXT_MAX 1024u

WRAP_EXPORT void gputrace_shim_step(unsigned long long number);
WRAP_EXPORT void gputrace_shim_mark(const char *text);
WRAP_EXPORT void gputrace_shim_push(const char *text);
WRAP_EXPORT void gputrace_shim_pop(void);

static const struct mark_name *own_domain(void)
{
	return mark_name_intern("gputrace", 8);
}

static struct mark own_mark(const char *text)
{
	return mark_of_text(text, text ? strnlen(text, TEXT_MAX) : 0, MARK_API);
}

void gputrace_shim_step(unsigned long long number)
{
	mark_step(number);
}

void gputrace_shim_mark(const char *text)
{
	struct mark mark = own_mark(text);
	mark_instant(&mark);
}

void gputrace_shim_push(const char *text)
{
	struct mark mark = own_mark(text);
	mark.domain = own_domain();
	mark_push(&mark);
}

void gputrace_shim_pop(void)
{
	mark_pop(own_domain());
}
