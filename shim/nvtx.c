/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVTX injection. Each library that contains NVTX opens the file named by NVTX_INJECTION64_PATH
 * at its first NVTX call and hands its function table to InitializeInjectionNvtx2; nvtx_env.c names
 * our own file there. Strings belong to the caller and are copied in the call. Levels of nested
 * ranges are answered as without a tool.
 */
#include "nvtx.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "../collector/format/record.h"
#include "lifecycle.h"
#include "mark.h"
#include "nvtx_payload.h"
#include "wrap.h"

#define TEXT_MAX	1024u
#define EVENT_MIN_BYTES 48u

WRAP_EXPORT int InitializeInjectionNvtx2(nvtx_get_table get_table);
WRAP_EXPORT int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);

static _Atomic uint32_t v2_is_injected;

bool nvtx_v2_is_injected(void)
{
	return atomic_load_explicit(&v2_is_injected, memory_order_relaxed);
}

/* ---- texts ---- */

static size_t put_utf8(char *at, uint32_t c)
{
	if (c < 0x80) {
		at[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		at[0] = (char)(0xc0 | c >> 6);
		at[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		at[0] = (char)(0xe0 | c >> 12);
		at[1] = (char)(0x80 | (c >> 6 & 63));
		at[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	at[0] = (char)(0xf0 | (c >> 18 & 7));
	at[1] = (char)(0x80 | (c >> 12 & 63));
	at[2] = (char)(0x80 | (c >> 6 & 63));
	at[3] = (char)(0x80 | (c & 63));
	return 4;
}

static size_t narrow(const wchar_t *wide, char text[TEXT_MAX])
{
	size_t length = 0;
	for (; *wide && length + 4 <= TEXT_MAX; wide++)
		length += put_utf8(text + length, (uint32_t)*wide);
	return length;
}

static struct mark mark_of_a(const char *message)
{
	return mark_of_text(message, message ? strnlen(message, TEXT_MAX) : 0, MARK_NVTX);
}

static const struct mark_name *name_of_handle(const void *handle)
{
	return mark_name_is_ours(handle) ? handle : NULL;
}

/* buffer: for a wide text, which the mark then points to. */
static struct mark mark_of_event(const void *domain, const struct nvtx_event *event,
				 char buffer[TEXT_MAX])
{
	struct mark mark = {.peer = MARK_NO_PEER, .source = MARK_NVTX};
	if (event && event->size_bytes >= EVENT_MIN_BYTES) {
		if (event->message_type == NVTX_ABI_MESSAGE_ASCII)
			mark = mark_of_a(event->message.ascii);
		else if (event->message_type == NVTX_ABI_MESSAGE_WIDE && event->message.wide)
			mark = mark_of_text(buffer, narrow(event->message.wide, buffer), MARK_NVTX);
		else if (event->message_type == NVTX_ABI_MESSAGE_REGISTERED)
			mark.name = name_of_handle(event->message.registered);
		mark.category = event->category;
		nvtx_payload_of_event(event, &mark);
	}
	mark.domain = name_of_handle(domain);
	return mark;
}

/* ---- events ---- */

void nvtx_domain_mark_ex(const void *domain, const struct nvtx_event *event)
{
	char buffer[TEXT_MAX];
	struct mark mark = mark_of_event(domain, event, buffer);
	mark_instant(&mark);
}

void nvtx_mark_ex(const struct nvtx_event *event)
{
	nvtx_domain_mark_ex(NULL, event);
}

void nvtx_mark_a(const char *message)
{
	struct mark mark = mark_of_a(message);
	mark_instant(&mark);
}

void nvtx_mark_w(const wchar_t *message)
{
	char buffer[TEXT_MAX];
	struct mark mark = mark_of_text(buffer, message ? narrow(message, buffer) : 0, MARK_NVTX);
	mark_instant(&mark);
}

int nvtx_domain_push_ex(const void *domain, const struct nvtx_event *event)
{
	char buffer[TEXT_MAX];
	struct mark mark = mark_of_event(domain, event, buffer);
	mark_push(&mark);
	return NVTX_ABI_NO_LEVEL;
}

int nvtx_push_ex(const struct nvtx_event *event)
{
	return nvtx_domain_push_ex(NULL, event);
}

int nvtx_push_a(const char *message)
{
	struct mark mark = mark_of_a(message);
	mark_push(&mark);
	return NVTX_ABI_NO_LEVEL;
}

int nvtx_push_w(const wchar_t *message)
{
	char buffer[TEXT_MAX];
	struct mark mark = mark_of_text(buffer, message ? narrow(message, buffer) : 0, MARK_NVTX);
	mark_push(&mark);
	return NVTX_ABI_NO_LEVEL;
}

int nvtx_domain_pop(const void *domain)
{
	mark_pop(name_of_handle(domain));
	return NVTX_ABI_NO_LEVEL;
}

int nvtx_pop(void)
{
	return nvtx_domain_pop(NULL);
}

uint64_t nvtx_start_ex(const void *domain, const struct nvtx_event *event, uint64_t id)
{
	char buffer[TEXT_MAX];
	struct mark mark = mark_of_event(domain, event, buffer);
	return mark_start(&mark, id);
}

uint64_t nvtx_start_a(const char *message, uint64_t id)
{
	struct mark mark = mark_of_a(message);
	return mark_start(&mark, id);
}

uint64_t nvtx_start_w(const wchar_t *message, uint64_t id)
{
	char buffer[TEXT_MAX];
	struct mark mark = mark_of_text(buffer, message ? narrow(message, buffer) : 0, MARK_NVTX);
	return mark_start(&mark, id);
}

void nvtx_end(uint64_t id)
{
	mark_end(id);
}

const void *nvtx_register_a(const void *domain, const char *text)
{
	(void)domain;
	return text ? mark_name_intern(text, strnlen(text, TEXT_MAX)) : NULL;
}

const void *nvtx_register_w(const void *domain, const wchar_t *text)
{
	char buffer[TEXT_MAX];
	(void)domain;
	return text ? mark_name_intern(buffer, narrow(text, buffer)) : NULL;
}

const void *nvtx_domain_a(const char *name)
{
	return nvtx_register_a(NULL, name);
}

const void *nvtx_domain_w(const wchar_t *name)
{
	return nvtx_register_w(NULL, name);
}

/* ---- what is put into the tables ---- */

static uint64_t table_start_ex(const struct nvtx_event *event)
{
	return nvtx_start_ex(NULL, event, 0);
}
static uint64_t table_start_a(const char *message)
{
	return nvtx_start_a(message, 0);
}
static uint64_t table_start_w(const wchar_t *message)
{
	return nvtx_start_w(message, 0);
}
static uint64_t table_domain_start_ex(const void *domain, const struct nvtx_event *event)
{
	return nvtx_start_ex(domain, event, 0);
}
static void table_domain_end(const void *domain, uint64_t id)
{
	(void)domain;
	mark_end(id);
}

static const struct {
	uint32_t place;
	nvtx_function function;
} core[] =
	{
		{NVTX_ABI_MarkEx, (nvtx_function)nvtx_mark_ex},
		{NVTX_ABI_MarkA, (nvtx_function)nvtx_mark_a},
		{NVTX_ABI_MarkW, (nvtx_function)nvtx_mark_w},
		{NVTX_ABI_RangeStartEx, (nvtx_function)table_start_ex},
		{NVTX_ABI_RangeStartA, (nvtx_function)table_start_a},
		{NVTX_ABI_RangeStartW, (nvtx_function)table_start_w},
		{NVTX_ABI_RangeEnd, (nvtx_function)nvtx_end},
		{NVTX_ABI_RangePushEx, (nvtx_function)nvtx_push_ex},
		{NVTX_ABI_RangePushA, (nvtx_function)nvtx_push_a},
		{NVTX_ABI_RangePushW, (nvtx_function)nvtx_push_w},
		{NVTX_ABI_RangePop, (nvtx_function)nvtx_pop},
},
  core2[] = {
	  {NVTX_ABI_DomainMarkEx, (nvtx_function)nvtx_domain_mark_ex},
	  {NVTX_ABI_DomainRangeStartEx, (nvtx_function)table_domain_start_ex},
	  {NVTX_ABI_DomainRangeEnd, (nvtx_function)table_domain_end},
	  {NVTX_ABI_DomainRangePushEx, (nvtx_function)nvtx_domain_push_ex},
	  {NVTX_ABI_DomainRangePop, (nvtx_function)nvtx_domain_pop},
	  {NVTX_ABI_DomainRegisterStringA, (nvtx_function)nvtx_register_a},
	  {NVTX_ABI_DomainRegisterStringW, (nvtx_function)nvtx_register_w},
	  {NVTX_ABI_DomainCreateA, (nvtx_function)nvtx_domain_a},
	  {NVTX_ABI_DomainCreateW, (nvtx_function)nvtx_domain_w},
};
#define LEN(array) (sizeof(array) / sizeof((array)[0]))

/* Which library calls: its table's code lies in it. */
static bool is_v2(nvtx_get_table get_table)
{
	union {
		nvtx_get_table function;
		void *object;
	} convert = {get_table};
	Dl_info info;
	if (!dladdr(convert.object, &info) || !info.dli_fname)
		return false;
	const char *slash = strrchr(info.dli_fname, '/');
	return !strncmp(slash ? slash + 1 : info.dli_fname, "libnvToolsExt.so", 16);
}

int InitializeInjectionNvtx2(nvtx_get_table get_table)
{
	int saved_errno = errno;
	nvtx_function **table;
	unsigned int count;
	if (!get_table || !lifecycle_is_in_charge())
		return 0;
	const struct nvtx_callbacks *callbacks = get_table(NVTX_ABI_TABLE_CALLBACKS);
	if (!callbacks || callbacks->size_bytes < sizeof(*callbacks) ||
	    !callbacks->function_table(NVTX_ABI_MODULE_CORE, &table, &count))
		return 0;
	for (size_t i = 0; i < LEN(core); i++) {
		if (core[i].place < count && table[core[i].place])
			*table[core[i].place] = core[i].function;
	}
	if (callbacks->function_table(NVTX_ABI_MODULE_CORE2, &table, &count)) {
		for (size_t i = 0; i < LEN(core2); i++) {
			if (core2[i].place < count && table[core2[i].place])
				*table[core2[i].place] = core2[i].function;
		}
	}
	if (is_v2(get_table))
		atomic_store(&v2_is_injected, 1);
	errno = saved_errno;
	return 1;
}

/* ---- the payload extension ---- */

static uint64_t extension_schema(const void *domain, const struct nvtx_schema *schema)
{
	(void)domain;
	return nvtx_payload_register(schema);
}

static struct mark mark_of_payload(const void *domain, const struct nvtx_payload *payloads,
				   size_t count)
{
	struct mark mark = {.peer = MARK_NO_PEER, .source = MARK_NVTX};
	mark.domain = name_of_handle(domain);
	nvtx_payload_read(payloads, count, &mark);
	return mark;
}

static void extension_mark(const void *domain, const struct nvtx_payload *payloads, size_t count)
{
	struct mark mark = mark_of_payload(domain, payloads, count);
	mark_instant(&mark);
}

static int extension_push(const void *domain, const struct nvtx_payload *payloads, size_t count)
{
	struct mark mark = mark_of_payload(domain, payloads, count);
	mark_push(&mark);
	return NVTX_ABI_NO_LEVEL;
}

static int extension_pop(const void *domain, const struct nvtx_payload *payloads, size_t count)
{
	(void)payloads;
	(void)count;
	return nvtx_domain_pop(domain);
}

static uint64_t extension_start(const void *domain, const struct nvtx_payload *payloads,
				size_t count)
{
	struct mark mark = mark_of_payload(domain, payloads, count);
	return mark_start(&mark, 0);
}

static void extension_end(const void *domain, uint64_t id, const struct nvtx_payload *payloads,
			  size_t count)
{
	(void)payloads;
	(void)count;
	table_domain_end(domain, id);
}

static uint8_t extension_is_enabled(const void *domain)
{
	(void)domain;
	return 1;
}

int InitializeInjectionNvtxExtension(struct nvtx_extension *extension)
{
	static const struct {
		size_t slot;
		nvtx_function function;
	} slots[] = {
		{NVTX_ABI_SLOT_SCHEMA_REGISTER, (nvtx_function)extension_schema},
		{NVTX_ABI_SLOT_MARK, (nvtx_function)extension_mark},
		{NVTX_ABI_SLOT_RANGE_PUSH, (nvtx_function)extension_push},
		{NVTX_ABI_SLOT_RANGE_POP, (nvtx_function)extension_pop},
		{NVTX_ABI_SLOT_RANGE_START, (nvtx_function)extension_start},
		{NVTX_ABI_SLOT_RANGE_END, (nvtx_function)extension_end},
		/* Left alone, this means "disabled" to NVTX 3.2.0 and 3.2.1. */
		{NVTX_ABI_SLOT_DOMAIN_IS_ENABLED, (nvtx_function)extension_is_enabled},
	};
	if (!extension || extension->size_bytes < sizeof(*extension) ||
	    extension->module != NVTX_ABI_EXTENSION_PAYLOAD || !extension->segment_count ||
	    !extension->segments || !lifecycle_is_in_charge())
		return 0;
	for (size_t i = 0; i < LEN(slots); i++) {
		if (slots[i].slot < extension->segments[0].slot_count)
			extension->segments[0].slots[slots[i].slot] = (intptr_t)slots[i].function;
	}
	return 1;
}
