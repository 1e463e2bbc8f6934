/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build-time program: turns gpus.tsv into the rows of gpu_table.c, and refuses a table with values
 * that no GPU can have, so that a slip of the pen stops the build instead of a verdict.
 *
 *	gpu_table_gen gpus.tsv > gpu_rows.inc
 */
#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum column {
	NAME,
	NAME_PATTERN,
	ARCH,
	COMPUTE_CAPABILITY,
	SM_COUNT,
	BOOST_MHZ,
	TENSOR_CORE_GEN,
	FP64_TC,
	TF32,
	FP16,
	BF16,
	FP8,
	INT8,
	FP4,
	FP32,
	MEM_GIB,
	MEM_TYPE,
	MEM_BW_GBS,
	L2_MIB,
	NVLINK_GBS,
	NVLINK_GEN,
	PCIE_GEN,
	PCIE_WIDTH,
	TDP_W,
	MIG_MAX,
	SOURCE,
	COLUMN_COUNT
};

struct column_rule {
	const char *name;
	double low, high; /* both 0: text */
	int is_required;
};

static const struct column_rule column_rules[COLUMN_COUNT] = {
	[NAME] = {"name", 0, 0, 1},
	[NAME_PATTERN] = {"name_pattern", 0, 0, 1},
	[ARCH] = {"arch", 0, 0, 1},
	[COMPUTE_CAPABILITY] = {"compute_capability", 3.0, 13.0, 1},
	[SM_COUNT] = {"sm_count", 1, 320, 0},
	[BOOST_MHZ] = {"boost_mhz", 500, 3500, 0},
	[TENSOR_CORE_GEN] = {"tensor_core_gen", 0, 6, 1},
	[FP64_TC] = {"fp64_tc_tflops", 0.1, 200, 0},
	[TF32] = {"tf32_tflops", 1, 5000, 0},
	[FP16] = {"fp16_tflops", 1, 10000, 0},
	[BF16] = {"bf16_tflops", 1, 10000, 0},
	[FP8] = {"fp8_tflops", 1, 20000, 0},
	[INT8] = {"int8_tops", 1, 20000, 0},
	[FP4] = {"fp4_tflops", 1, 40000, 0},
	[FP32] = {"fp32_tflops", 0.1, 250, 0},
	[MEM_GIB] = {"mem_gib", 1, 1024, 0},
	[MEM_TYPE] = {"mem_type", 0, 0, 0},
	[MEM_BW_GBS] = {"mem_bw_gbs", 20, 20000, 0},
	[L2_MIB] = {"l2_mib", 0.1, 512, 0},
	[NVLINK_GBS] = {"nvlink_gbs_total_bidirectional", 10, 4000, 0},
	[NVLINK_GEN] = {"nvlink_gen", 1, 7, 0},
	[PCIE_GEN] = {"pcie_gen", 1, 7, 0},
	[PCIE_WIDTH] = {"pcie_width", 1, 16, 0},
	[TDP_W] = {"tdp_w", 5, 2000, 0},
	[MIG_MAX] = {"mig_max_instances", 0, 8, 0},
	[SOURCE] = {"source", 0, 0, 1},
};

static int fail(int line, const char *column, const char *text, const char *reason)
{
	fprintf(stderr, "gpus.tsv:%d: %s \"%s\": %s\n", line, column, text, reason);
	return 1;
}

/* Splits at tabs in place. */
static int split(char *line, char *cells[COLUMN_COUNT])
{
	int count = 0;

	line[strcspn(line, "\r\n")] = '\0';
	while (line && count < COLUMN_COUNT) {
		cells[count++] = line;
		line = strchr(line, '\t');
		if (line)
			*line++ = '\0';
	}
	return line ? COLUMN_COUNT + 1 : count;
}

static int is_absent(const char *cell)
{
	return !strcmp(cell, "-") || !*cell;
}

static int check_cell(int line, enum column column, const char *cell)
{
	const struct column_rule *rule = &column_rules[column];
	char *end;
	double value;

	if (is_absent(cell))
		return rule->is_required ? fail(line, rule->name, cell, "must be given") : 0;
	if (rule->low == 0 && rule->high == 0)
		return 0;
	value = strtod(cell, &end);
	if (*end)
		return fail(line, rule->name, cell, "is not a number");
	if (value < rule->low || value > rule->high)
		return fail(line, rule->name, cell, "is outside of what exists");
	return 0;
}

static int check_row(int line, char *cells[COLUMN_COUNT])
{
	regex_t compiled;
	double fma, lanes;

	for (int column = 0; column < COLUMN_COUNT; column++) {
		if (check_cell(line, (enum column)column, cells[column]))
			return 1;
	}
	if (regcomp(&compiled, cells[NAME_PATTERN], REG_EXTENDED | REG_NOSUB))
		return fail(line, "name_pattern", cells[NAME_PATTERN], "is no regular expression");
	regfree(&compiled);
	if (is_absent(cells[SM_COUNT]) || is_absent(cells[BOOST_MHZ]) || is_absent(cells[FP32]))
		return 0;
	/* FP32 = SMs x clock x 2 x lanes per SM, with between 64 and 192 lanes, give or take. */
	fma = strtod(cells[SM_COUNT], NULL) * strtod(cells[BOOST_MHZ], NULL) * 2e-6;
	lanes = strtod(cells[FP32], NULL) / fma;
	if (lanes < 50 || lanes > 260)
		return fail(line, "fp32_tflops", cells[FP32], "does not fit SMs and clock");
	return 0;
}

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_number(const char *field, const char *cell)
{
	if (!is_absent(cell))
		printf(", .%s = %s", field, cell);
}

static void print_row(char *cells[COLUMN_COUNT])
{
	const char *dot = strchr(cells[COMPUTE_CAPABILITY], '.');

	printf("{ .name = ");
	print_text(cells[NAME]);
	printf(", .name_pattern = ");
	print_text(cells[NAME_PATTERN]);
	printf(", .architecture = ");
	print_text(cells[ARCH]);
	printf(", .cc_major = %d, .cc_minor = %s", atoi(cells[COMPUTE_CAPABILITY]),
	       dot ? dot + 1 : "0");
	print_number("sm_count", cells[SM_COUNT]);
	print_number("boost_mhz", cells[BOOST_MHZ]);
	print_number("tensor_core_gen", cells[TENSOR_CORE_GEN]);
	print_number("fp64_tensor_tflops", cells[FP64_TC]);
	print_number("tf32_tflops", cells[TF32]);
	print_number("fp16_tflops", cells[FP16]);
	print_number("bf16_tflops", cells[BF16]);
	print_number("fp8_tflops", cells[FP8]);
	print_number("int8_tops", cells[INT8]);
	print_number("fp4_tflops", cells[FP4]);
	print_number("fp32_tflops", cells[FP32]);
	print_number("memory_gib", cells[MEM_GIB]);
	print_number("memory_gbs", cells[MEM_BW_GBS]);
	print_number("l2_mib", cells[L2_MIB]);
	print_number("pcie_gen", cells[PCIE_GEN]);
	print_number("pcie_width", cells[PCIE_WIDTH]);
	print_number("nvlink_gbs", cells[NVLINK_GBS]);
	print_number("nvlink_gen", cells[NVLINK_GEN]);
	print_number("mig_max_instances", cells[MIG_MAX]);
	printf(" },\n");
}

int main(int argc, char **argv)
{
	static char text[4096];
	char *cells[COLUMN_COUNT];
	FILE *file;
	int line = 0, rows = 0, failed = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: gpu_table_gen gpus.tsv > gpu_rows.inc\n");
		return 2;
	}
	file = fopen(argv[1], "r");
	if (!file) {
		perror(argv[1]);
		return 1;
	}
	while (!failed && fgets(text, sizeof(text), file)) {
		line++;
		if (!strchr(text, '\n') && !feof(file)) {
			failed = fail(line, "row", "", "is too long");
		} else if (split(text, cells) != COLUMN_COUNT) {
			failed = fail(line, "row", cells[NAME], "has the wrong number of columns");
		} else if (line == 1) {
			for (int i = 0; i < COLUMN_COUNT && !failed; i++) {
				if (strcmp(cells[i], column_rules[i].name) != 0)
					failed = fail(line, column_rules[i].name, cells[i],
						      "is not the expected column");
			}
		} else {
			failed = check_row(line, cells);
			if (!failed)
				print_row(cells);
			rows++;
		}
	}
	fclose(file);
	if (!failed && !rows)
		failed = fail(line, "table", "", "has no rows");
	return failed;
}
