/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders fields by their names in record_schema.c; a field that a newer version adds is printed as
 * a plain number.
 */
#include "dump_fields.h"

#include <inttypes.h>
#include <string.h>

#include "array_len.h"
#include "printable.h"
#include "record.h"

enum field_style {
	STYLE_NUMBER,
	STYLE_SIGNED,
	STYLE_HEX,
	STYLE_TICKS,
	STYLE_GPU_NS,
	STYLE_API,
	STYLE_KERNEL,
	STYLE_MARK,
	STYLE_WORD,
	STYLE_LETTER,
	STYLE_DEVICE,
	STYLE_METRIC,
	STYLE_KIND,
	STYLE_SPAN,  /* of a total: ticks or GPU ns, by what it is a total of */
	STYLE_DETAIL /* likewise: a kernel, or bits */
};

struct field_rule {
	const char *name; /* in the schema, without "call." and "gpu." */
	enum field_style style;
	const char *key;   /* to print, NULL: the name */
	const char *words; /* STYLE_WORD: for 0, 1, 2 ... separated by | */
};

#define MEMORY_WORDS	"unknown|pageable|pinned|device|array|managed|pool|physical|reserved|imported"
#define DIRECTION_WORDS "unknown|h2d|d2h|d2d|h2h|peer"
#define LAYOUT_WORDS	"unknown|channels_first|channels_last|strided|vectorized"
#define TYPE_WORDS	"unknown|f64|f32|tf32|f16|bf16|f8e4m3|f8e5m2|i8|i32|c64|c128|f4"

static const struct field_rule rules[] = {
	{"begin_ticks", STYLE_TICKS, "begin_ns", NULL},
	{"end_ticks", STYLE_TICKS, "end_ns", NULL},
	{"ticks", STYLE_TICKS, "time_ns", NULL},
	{"begin_ns", STYLE_GPU_NS, NULL, NULL},
	{"end_ns", STYLE_GPU_NS, NULL, NULL},
	{"site", STYLE_HEX, NULL, NULL},
	{"object", STYLE_HEX, NULL, NULL},
	{"destination", STYLE_HEX, NULL, NULL},
	{"source", STYLE_HEX, NULL, NULL},
	{"address", STYLE_HEX, NULL, NULL},
	{"a", STYLE_HEX, NULL, NULL},
	{"b", STYLE_HEX, NULL, NULL},
	{"c", STYLE_HEX, NULL, NULL},
	{"x", STYLE_HEX, NULL, NULL},
	{"w", STYLE_HEX, NULL, NULL},
	{"y", STYLE_HEX, NULL, NULL},
	{"status", STYLE_SIGNED, NULL, NULL},
	{"stride_a", STYLE_SIGNED, "stride_a_elements", NULL},
	{"stride_b", STYLE_SIGNED, "stride_b_elements", NULL},
	{"stride_c", STYLE_SIGNED, "stride_c_elements", NULL},
	{"executable", STYLE_HEX, NULL, NULL},
	{"capture_site", STYLE_HEX, NULL, NULL},
	{"communicator", STYLE_HEX, NULL, NULL},
	{"handle", STYLE_HEX, NULL, NULL},
	{"hash", STYLE_HEX, NULL, NULL},
	{"parent", STYLE_HEX, NULL, NULL},
	{"send", STYLE_HEX, NULL, NULL},
	{"receive", STYLE_HEX, NULL, NULL},
	{"backing", STYLE_HEX, NULL, NULL},
	{"node", STYLE_SIGNED, NULL, NULL},
	{"metric", STYLE_METRIC, NULL, NULL},
	{"lda", STYLE_NUMBER, "lda_elements", NULL},
	{"ldb", STYLE_NUMBER, "ldb_elements", NULL},
	{"ldc", STYLE_NUMBER, "ldc_elements", NULL},
	{"api", STYLE_API, NULL, NULL},
	{"kernel", STYLE_KERNEL, NULL, NULL},
	{"name", STYLE_MARK, NULL, NULL},
	{"domain", STYLE_MARK, NULL, NULL},
	{"device", STYLE_DEVICE, NULL, NULL},
	{"peer_device", STYLE_DEVICE, NULL, NULL},
	{"op_a", STYLE_LETTER, NULL, NULL},
	{"op_b", STYLE_LETTER, NULL, NULL},
	{"direction", STYLE_WORD, NULL, DIRECTION_WORDS},
	{"source_kind", STYLE_WORD, NULL, MEMORY_WORDS},
	{"destination_kind", STYLE_WORD, NULL, MEMORY_WORDS},
	{"memory_kind", STYLE_WORD, NULL, MEMORY_WORDS},
	{"scope", STYLE_WORD, NULL, "unknown|device|stream|event|stream_wait_event"},
	{"type_a", STYLE_WORD, NULL, TYPE_WORDS},
	{"type_b", STYLE_WORD, NULL, TYPE_WORDS},
	{"type_c", STYLE_WORD, NULL, TYPE_WORDS},
	{"type_compute", STYLE_WORD, NULL, TYPE_WORDS},
	{"type_x", STYLE_WORD, NULL, TYPE_WORDS},
	{"type_w", STYLE_WORD, NULL, TYPE_WORDS},
	{"type_y", STYLE_WORD, NULL, TYPE_WORDS},
	{"layout_x", STYLE_WORD, NULL, LAYOUT_WORDS},
	{"layout_w", STYLE_WORD, NULL, LAYOUT_WORDS},
	{"layout_y", STYLE_WORD, NULL, LAYOUT_WORDS},
	{"lost_kind", STYLE_KIND, NULL, NULL},
	{"total_of", STYLE_KIND, NULL, NULL},
	{"duration", STYLE_SPAN, "duration_ns", NULL},
	{"longest", STYLE_SPAN, "longest_ns", NULL},
	{"detail", STYLE_DETAIL, NULL, NULL},
	{"reason", STYLE_WORD, NULL,
	 "unknown|ring_full|no_ring|cupti|zero_time|bad_time|damaged|write|import"},
};

static const char *const metric_names[SAMPLE_METRIC_LIMIT] = {
#define SAMPLE(number, name, unit, about) [number] = #name,
#include "sample.def"
#undef SAMPLE
};

/* What the field "op" means differs between kinds. */
static const char *const op_words[RECORD_KIND_LIMIT] = {
	[RECORD_KIND_memory] = "unknown|alloc|free|map|unmap|context_end|primary_end|pool_told",
	[RECORD_KIND_communicator] = "unknown|init|split|finalize|destroy|abort",
	[RECORD_KIND_collective] = "unknown|all_reduce|broadcast|reduce|all_gather|reduce_scatter|"
				   "all_to_all|gather|scatter|send|recv",
	[RECORD_KIND_graph] = "unknown|capture_begin|capture_end|create|instantiate|update|upload|"
			      "launch|destroy|exec_destroy",
	[RECORD_KIND_conv] = "unknown|forward|backward_data|backward_filter",
};

static const char *bare_name(const struct record_column *column)
{
	const char *name = column->name;

	if (!strncmp(name, "call.", 5))
		return name + 5;
	return !strncmp(name, "gpu.", 4) ? name + 4 : name;
}

static const struct field_rule *rule_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (!strcmp(rules[i].name, name))
			return &rules[i];
	}
	return NULL;
}

const char *dump_field_key(const struct record_column *column)
{
	const struct field_rule *rule = rule_of(bare_name(column));

	return rule && rule->key ? rule->key : bare_name(column);
}

static uint64_t read_unsigned(const struct record_column *column, const void *record)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)record + column->offset, column->width);
	return value;
}

static int64_t read_signed(const struct record_column *column, const void *record)
{
	uint64_t value = read_unsigned(column, record);
	unsigned shift = 64 - 8u * column->width;

	return (int64_t)(value << shift) >> shift;
}

static void add_word(struct text *text, const char *words, uint64_t value)
{
	const char *at = words;

	for (uint64_t i = 0; i < value && at; i++) {
		at = strchr(at, '|');
		if (at)
			at++;
	}
	if (at)
		text_add_bytes(text, at, strcspn(at, "|"));
	else
		text_addf(text, "%" PRIu64, value);
}

static void add_name(struct text *text, const struct trace *trace, uint16_t space, uint64_t id)
{
	const char *name = trace_name(trace, space, id);

	if (name)
		text_add_printable(text, name);
	else if (id)
		text_addf(text, "#%" PRIu64, id);
}

static void add_span(struct text *text, const struct trace *trace, const struct record_total *total,
		     uint64_t value)
{
	/* At the rate that the clock had in its interval. */
	int64_t begin_ns = trace_ticks_to_ns(trace, total->begin_ticks);

	if (total->total_of >= RECORD_KIND_gpu_kernel)
		text_addf(text, "%" PRIu64, value);
	else
		text_addf(text, "%" PRId64,
			  trace_ticks_to_ns(trace, total->begin_ticks + value) - begin_ns);
}

static void add_detail(struct text *text, const struct trace *trace,
		       const struct record_total *total, uint64_t value)
{
	if (total->total_of == RECORD_KIND_launch || total->total_of == RECORD_KIND_gpu_kernel)
		add_name(text, trace, NAME_KERNEL, value);
	else
		text_addf(text, "0x%" PRIx64, value);
}

void dump_field_value(struct text *text, const struct trace *trace, uint16_t kind,
		      const struct record_column *column, const void *record, bool *is_number)
{
	const struct field_rule *rule = rule_of(bare_name(column));
	uint64_t value = read_unsigned(column, record);
	enum field_style style = rule ? rule->style : STYLE_NUMBER;

	if (kind < RECORD_KIND_LIMIT && op_words[kind] && !strcmp(bare_name(column), "op")) {
		add_word(text, op_words[kind], value);
		*is_number = false;
		return;
	}
	/* These names mean something else in other kinds. */
	if (kind == RECORD_KIND_sample && !strcmp(bare_name(column), "value"))
		style = STYLE_SIGNED;
	else if (kind == RECORD_KIND_graph && !strcmp(bare_name(column), "graph"))
		style = STYLE_HEX;
	*is_number = style <= STYLE_SIGNED || style == STYLE_TICKS || style == STYLE_GPU_NS ||
		     style == STYLE_SPAN;
	switch (style) {
	case STYLE_SIGNED:
		text_addf(text, "%" PRId64, read_signed(column, record));
		break;
	case STYLE_HEX:
		text_addf(text, "0x%" PRIx64, value);
		break;
	case STYLE_TICKS:
		text_addf(text, "%" PRId64, trace_ticks_to_ns(trace, value));
		break;
	case STYLE_GPU_NS:
		text_addf(text, "%" PRId64, trace_gpu_to_ns(trace, value));
		break;
	case STYLE_API:
		add_name(text, trace, NAME_API, value);
		break;
	case STYLE_KERNEL:
		add_name(text, trace, NAME_KERNEL, value);
		break;
	case STYLE_MARK:
		add_name(text, trace, NAME_MARK, value);
		break;
	case STYLE_WORD:
		add_word(text, rule->words, value);
		break;
	case STYLE_LETTER:
		text_addf(text, "%c", value >= 'A' && value <= 'Z' ? (int)value : '?');
		break;
	case STYLE_DEVICE:
		if (value == DEVICE_UNKNOWN)
			text_add(text, "unknown");
		else
			text_addf(text, "%" PRIu64, value);
		break;
	case STYLE_METRIC:
		if (value < ARRAY_LEN(metric_names) && metric_names[value])
			text_add(text, metric_names[value]);
		else
			text_addf(text, "%" PRIu64, value);
		break;
	case STYLE_SPAN:
		add_span(text, trace, record, value);
		break;
	case STYLE_DETAIL:
		add_detail(text, trace, record, value);
		break;
	case STYLE_KIND: {
		const char *name =
			value < RECORD_KIND_LIMIT ? record_schema_of((uint16_t)value)->name : NULL;

		text_add(text, name ? name : "unknown");
		break;
	}
	default:
		text_addf(text, "%" PRIu64, value);
	}
}
