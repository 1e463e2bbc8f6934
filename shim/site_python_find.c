// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the interpreter of this process: the program itself or a libpython it has loaded, whichever
 * exports the C API. RTLD_LOCAL copies are found too. Runs at session start.
 */
#include "site_elf.h"
#include "site_python_internal.h"

#include <string.h>

struct search {
	struct python_runtime *runtime;
	const char *reason;
	bool found;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What must be there, and what only some versions have. */
static const char *take_api(const struct site_elf_module *module, struct python_api *api)
{
#define TAKE(member, name) api->member = (__typeof__(api->member))site_elf_symbol(module, name)
	TAKE(this_thread, "PyGILState_GetThisThreadState");
	TAKE(holder, "PyThreadState_GetUnchecked");
	if (!api->holder)
		TAKE(holder, "_PyThreadState_UncheckedGet");
	TAKE(is_initialized, "Py_IsInitialized");
	TAKE(current_frame, "PyEval_GetFrame");
	TAKE(attribute, "PyObject_GetAttrString");
	TAKE(text, "PyUnicode_AsUTF8");
	TAKE(number, "PyLong_AsLong");
	TAKE(retain, "Py_IncRef");
	TAKE(release, "Py_DecRef");
	TAKE(error_fetch, "PyErr_Fetch");
	TAKE(error_restore, "PyErr_Restore");
	TAKE(collector_disable, "PyGC_Disable");
	TAKE(collector_enable, "PyGC_Enable");
#undef TAKE
	if (!api->this_thread || !api->holder || !api->is_initialized)
		return "the interpreter does not export its C API";
	if (!api->current_frame || !api->attribute || !api->text || !api->number || !api->retain ||
	    !api->release || !api->error_fetch || !api->error_restore)
		return "the interpreter lacks what the self-check needs";
	return NULL;
}

/* "3.11.2 (main, ...)" to 0x030b and "3.11"; 0: not a version. */
static uint16_t parse_version(const char *text, char short_form[8])
{
	unsigned part[2] = {0, 0};
	size_t length = 0;

	for (int i = 0; i < 2; i++) {
		if (*text < '0' || *text > '9')
			return 0;
		for (; *text >= '0' && *text <= '9' && length < 6; text++, length++) {
			part[i] = part[i] * 10 + (unsigned)(*text - '0');
			short_form[length] = *text;
		}
		if (i == 0) {
			if (*text++ != '.')
				return 0;
			short_form[length++] = '.';
		}
	}
	short_form[length] = '\0';
	return (uint16_t)(part[0] << 8 | (part[1] & 255));
}

/* Takes the row of the version that the interpreter says it is. */
static const char *take_version(const struct site_elf_module *module,
				struct python_runtime *runtime)
{
	const char *(*get)(void) = (const char *(*)(void))site_elf_symbol(module, "Py_GetVersion");
	const char *version = get ? get() : "";
	const struct python_layout *row =
		python_layout_find(parse_version(version, runtime->version));

	if (strstr(version, "PyPy"))
		return "PyPy is not supported";
	if (strstr(version, "free-threading"))
		return "free-threaded Python is not supported";
	if (!row)
		return "this version of Python is not supported (3.8 to 3.14 are)";
	runtime->layout = *row;
	return NULL;
}

static const char *take_interpreter(const struct site_elf_module *module,
				    struct python_runtime *runtime)
{
	const char *reason = take_version(module, runtime);

	if (!reason)
		reason = take_api(module, &runtime->api);
	if (reason)
		return reason;
#define TYPE(member, name) runtime->member = (const void *)site_elf_symbol(module, name)
	TYPE(code_type, "PyCode_Type");
	TYPE(frame_type, "PyFrame_Type");
	TYPE(text_type, "PyUnicode_Type");
	TYPE(bytes_type, "PyBytes_Type");
	TYPE(py_runtime, "_PyRuntime");
#undef TYPE
	if (!runtime->code_type || !runtime->frame_type || !runtime->text_type ||
	    !runtime->bytes_type)
		return "the interpreter does not export its types";
	reason = python_layout_adopt(&runtime->layout, runtime->py_runtime);
	if (reason)
		return reason;
	runtime->walk_direct = python_walk_pick(&runtime->layout);
	if (!site_elf_code_range(module, &runtime->code_begin, &runtime->code_end))
		return "the interpreter has no code";
	return NULL;
}

static bool visit(const struct site_elf_module *module, void *context)
{
	struct search *search = context;
	const char *name = base_name(module->path);
	bool is_program = module->path[0] == '\0';

	if (strncmp(name, "libpypy", 7) == 0) {
		search->found = true;
		search->reason = "PyPy is not supported";
		return true;
	}
	if (!is_program && strncmp(name, "libpython", 9) != 0)
		return false;
	if (!site_elf_symbol(module, "PyGILState_GetThisThreadState"))
		return false;
	search->found = true;
	search->reason = take_interpreter(module, search->runtime);
	return true;
}

const char *python_runtime_find(struct python_runtime *runtime, bool *found)
{
	struct search search = {runtime, NULL, false};

	memset(runtime, 0, sizeof(*runtime));
	site_elf_each_module(visit, &search);
	*found = search.found;
	return search.reason;
}

bool python_holds_gil(const struct python_runtime *runtime)
{
	const void *thread = runtime->api.this_thread();

	/* Up to 3.11 the holder is whoever holds the GIL, so only equality says that it is us.
	 * PyGILState_Check() answers yes without the GIL once a sub-interpreter was made. */
	return thread && runtime->api.holder() == thread;
}
