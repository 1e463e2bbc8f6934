/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of this very program, by a trace that says where it is mapped.
 */
#define _GNU_SOURCE
#include "unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demangle.h"
#include "error.h"
#include "model_script.h"
#include "site_text.h"
#include "stack_frames.h"
#include "symbols.h"
#include "trace_file.h"
#include "trace_reader.h"
#include "trace_writer.h"

static char path[64];
static uint64_t return_address;
static int line_of_leaf, line_of_middle;

__attribute__((noinline)) static void remember_where(void)
{
	return_address = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* The instruction after the call belongs to these, not to a tail call's target. */
__attribute__((always_inline)) static inline void inlined_leaf(void)
{
	line_of_leaf = __LINE__ + 1;
	remember_where();
	__asm__ volatile("" ::: "memory");
}

__attribute__((always_inline)) static inline void inlined_middle(void)
{
	line_of_middle = __LINE__ + 1;
	inlined_leaf();
}

__attribute__((noinline)) static void outermost_function(void)
{
	inlined_middle();
	__asm__ volatile("" ::: "memory");
}

/* One library record per executable mapping of this program. */
static void add_mappings(struct trace_writer *writer, const uint8_t *build_id)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[1024], self[600];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_non_null(maps);
	assert_true(length > 0);
	self[length] = '\0';
	while (fgets(line, sizeof(line), maps)) {
		_Alignas(8) uint8_t bytes[sizeof(struct record_library) + 608] = {0};
		struct record_library *record = (struct record_library *)bytes;
		unsigned long long begin, end, offset;

		if (!strstr(line, self) || !strstr(line, " r-xp ") ||
		    sscanf(line, "%llx-%llx %*s %llx", &begin, &end, &offset) != 3)
			continue;
		record->head.kind = RECORD_KIND_library;
		record->head.size_bytes =
			(uint16_t)((sizeof(*record) + (size_t)length + 7) / 8 * 8);
		record->address = begin;
		record->size_bytes = end - begin;
		record->file_offset = offset;
		memcpy(record->build_id, build_id, sizeof(record->build_id));
		record->path_bytes = (uint32_t)length;
		memcpy(record->path, self, (size_t)length);
		assert_int_equal(trace_writer_add(writer, 0, bytes, record->head.size_bytes, NULL),
				 0);
	}
	fclose(maps);
}

static struct trace *make_trace(uint8_t build_id_byte)
{
	const struct trace_writer_options options = {.compression_level = 1};
	struct trace_writer *writer;
	struct error err = {0, ""};
	struct trace *trace;
	uint8_t build_id[20];

	memset(build_id, build_id_byte, sizeof(build_id));
	snprintf(path, sizeof(path), "test_symbols.%d.gtrace", (int)getpid());
	unlink(path);
	if (trace_writer_create(AT_FDCWD, path, &options, &writer, &err))
		fail_msg("%s", err.text);
	add_mappings(writer, build_id);
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	if (trace_open(path, &trace, &err))
		fail_msg("%s", err.text);
	unlink(path);
	outermost_function();
	return trace;
}

static const char *file_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

static void inlined_functions_come_with_their_callers(void **state)
{
	struct trace *trace = make_trace(0);
	struct symbols *symbols = symbols_new(trace);
	const struct symbol *symbol = symbols_find(symbols, return_address);

	(void)state;
	assert_non_null(symbol);
	assert_string_equal(symbol->function, "inlined_leaf");
	assert_string_equal(file_name(symbol->file), "test_symbols.c");
	assert_int_equal(symbol->line, line_of_leaf);
	symbol = symbol->caller;
	assert_non_null(symbol);
	assert_string_equal(symbol->function, "inlined_middle");
	assert_string_equal(file_name(symbol->file), "test_symbols.c");
	assert_int_equal(symbol->line, line_of_middle);
	symbol = symbol->caller;
	assert_non_null(symbol);
	assert_string_equal(symbol->function, "outermost_function");
	assert_null(symbol->caller);
	symbols_free(symbols);
	trace_close(trace);
}

static void an_address_is_looked_up_once(void **state)
{
	struct trace *trace = make_trace(0);
	struct symbols *symbols = symbols_new(trace);
	const struct symbol *symbol = symbols_find(symbols, return_address);

	(void)state;
	assert_non_null(symbol);
	assert_ptr_equal(symbols_find(symbols, return_address), symbol);
	assert_null(symbols_find(symbols, 16));
	assert_null(symbols_find(symbols, 16));
	symbols_free(symbols);
	trace_close(trace);
}

static void another_build_gives_module_and_offset_only(void **state)
{
	struct trace *trace = make_trace(0x5a);
	struct symbols *symbols = symbols_new(trace);
	const struct symbol *symbol = symbols_find(symbols, return_address);

	(void)state;
	assert_non_null(symbol);
	assert_string_equal(file_name(symbol->module), "test_symbols");
	assert_true(symbol->offset > 0);
	assert_null(symbol->function);
	assert_null(symbol->file);
	symbols_free(symbols);
	trace_close(trace);
}

static void no_server_is_asked_unless_it_is_allowed(void **state)
{
	(void)state;
	setenv("DEBUGINFOD_URLS", "http://192.0.2.1/", 1);
	symbols_allow_debuginfod(true);
	symbols_free(symbols_new(NULL));
	assert_non_null(getenv("DEBUGINFOD_URLS"));
	symbols_allow_debuginfod(false);
	symbols_free(symbols_new(NULL));
	assert_null(getenv("DEBUGINFOD_URLS"));
}

static void stacks_and_places_show_what_was_inlined(void **state)
{
	static const char *const names[] = {"outermost_function", "inlined_middle", "inlined_leaf",
					    "unknown call"};
	struct trace *trace = make_trace(0);
	struct symbols *symbols = symbols_new(trace);
	struct script *script = script_new(NULL, 0, 0, 0);
	struct script_call call = {.begin_ns = 10, .end_ns = 20, .thread = 1, .site = 5};
	struct stack_frames *frames = stack_frames_new();
	struct stack_costs costs;
	struct text place;
	struct model *model;
	const uint32_t *stack;
	size_t depth;

	(void)state;
	script_add_native(script, 5, &return_address, 1);
	script_add_plain(script, &call);
	model = script_model(script);
	stack_costs_build(model, STACK_WHOLE_RUN, &costs);
	assert_int_equal(costs.count, 1);
	stack_frames_use(frames, model, symbols);
	for (int again = 0; again < 2; again++) {
		stack = stack_frames_of(frames, &costs.items[0], &depth);
		assert_int_equal(depth, 4);
		for (size_t i = 0; i < depth; i++)
			assert_string_equal(stack_frames_get(frames, stack[i])->name, names[i]);
		assert_int_equal(stack_frames_count(frames), 4);
	}
	text_init(&place);
	assert_true(site_text_add_native(&place, symbols, model->sites[1].record));
	assert_non_null(strstr(text_string(&place), "test_symbols.c:"));
	assert_non_null(strstr(text_string(&place), " in inlined_leaf"));
	text_fini(&place);
	stack_costs_free(&costs);
	stack_frames_free(frames);
	model_free(model);
	script_free(script);
	symbols_free(symbols);
	trace_close(trace);
}

/* As nvcc puts a function of CUDA's headers around every launch: which addresses they return to. */
static uint64_t helper_address, launch_address[2];

__attribute__((noinline)) static void __cudaLaunchKernel_helper_of_this(uint64_t *caller)
{
	remember_where();
	helper_address = return_address;
	*caller = (uint64_t)(uintptr_t)__builtin_return_address(0);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void first_kernel(void)
{
	__cudaLaunchKernel_helper_of_this(&launch_address[0]);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void second_kernel(void)
{
	__cudaLaunchKernel_helper_of_this(&launch_address[1]);
	__asm__ volatile("" ::: "memory");
}

/* The place of a launch of which only the return address was recorded, beside whole stacks. */
static char *place_of_bare_launch(struct symbols *symbols, int whole_stacks)
{
	struct script *script = script_new(NULL, 0, 0, 0);
	struct model *model;
	struct text place;

	for (int i = 0; i <= whole_stacks; i++) {
		const uint64_t frames[] = {helper_address, i ? launch_address[i - 1] : 0,
					   return_address};
		struct script_call call = {.begin_ns = 10 + 100 * i,
					   .end_ns = 20 + 100 * i,
					   .thread = 1,
					   .site = 5 + (uint64_t)i};

		script_add_native(script, call.site, frames, i ? 3 : 1);
		script_add_plain(script, &call);
	}
	model = script_model(script);
	text_init(&place);
	for (size_t i = 1; i < model->site_count; i++) {
		if (model->sites[i].record->frame_count == 1)
			site_text_add_frames(&place, model, symbols, model->sites[i].record);
	}
	model_free(model);
	script_free(script);
	return text_take(&place);
}

static void a_bare_library_call_is_told_by_the_only_caller_seen(void **state)
{
	struct trace *trace = make_trace(0);
	struct symbols *symbols = symbols_new(trace);
	char *place;

	(void)state;
	first_kernel();
	second_kernel();
	place = place_of_bare_launch(symbols, 0);
	assert_non_null(strstr(place, " in __cudaLaunchKernel_helper_of_this"));
	free(place);
	place = place_of_bare_launch(symbols, 1);
	assert_non_null(strstr(place, " in first_kernel"));
	free(place);
	/* Two callers: which of them it was is not known, and not guessed. */
	place = place_of_bare_launch(symbols, 2);
	assert_non_null(strstr(place, " in __cudaLaunchKernel_helper_of_this"));
	free(place);
	symbols_free(symbols);
	trace_close(trace);
}

static void names_become_readable_or_stay(void **state)
{
	static const char *const plain[] = {"main", "_Znonsense", "", "_Z"};
	char *name = demangle_name("_ZN2at6native5copy_ERNS_6TensorEb");

	(void)state;
	assert_string_equal(name, "at::native::copy_(at::Tensor&, bool)");
	free(name);
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		name = demangle_name(plain[i]);
		assert_string_equal(name, plain[i]);
		free(name);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_come_with_their_callers),
		cmocka_unit_test(an_address_is_looked_up_once),
		cmocka_unit_test(another_build_gives_module_and_offset_only),
		cmocka_unit_test(stacks_and_places_show_what_was_inlined),
		cmocka_unit_test(a_bare_library_call_is_told_by_the_only_caller_seen),
		cmocka_unit_test(no_server_is_asked_unless_it_is_allowed),
		cmocka_unit_test(names_become_readable_or_stay),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
