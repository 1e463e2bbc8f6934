/* SPDX-License-Identifier: Apache-2.0 */
/* Reference files are small, so they are read whole into a tree. */
#include "recording_reference.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "error.h"
#include "import.h"
#include "text.h"

const char *recordings_folder(void)
{
	const char *folder = getenv("GPUTRACE_RECORDINGS");
	struct stat st;
	if (!folder || !*folder)
		folder = RECORDINGS_DEFAULT;
	char *probe = text_format("%s/reference", folder);
	bool is_there = !stat(probe, &st);
	free(probe);
	if (is_there)
		return folder;
	printf("skipped: the real recordings are not in %s (set GPUTRACE_RECORDINGS)\n", folder);
	return NULL;
}

yajl_val reference_load(const char *name)
{
	char *path = text_format("%s/reference/%s.json", recordings_folder(), name);
	char reason[256] = "";
	FILE *file = fopen(path, "r");
	struct text content;
	text_init(&content);
	char block[65536];
	size_t got;
	while (file && (got = fread(block, 1, sizeof(block), file)) > 0)
		text_add_bytes(&content, block, got);
	if (file)
		fclose(file);
	yajl_val tree = yajl_tree_parse(text_string(&content), reason, sizeof(reason));
	text_fini(&content);
	if (!tree || !YAJL_IS_ARRAY(tree)) {
		fprintf(stderr, "cannot read %s: %s\n", path, reason);
		exit(1);
	}
	free(path);
	return tree;
}

yajl_val reference_member(yajl_val object, const char *name)
{
	if (!YAJL_IS_OBJECT(object))
		return NULL;
	for (size_t i = 0; i < object->u.object.len; i++) {
		if (!strcmp(object->u.object.keys[i], name))
			return object->u.object.values[i];
	}
	return NULL;
}

double reference_number(yajl_val object, const char *name)
{
	yajl_val member = reference_member(object, name);
	return YAJL_IS_NUMBER(member) ? strtod(YAJL_GET_NUMBER(member), NULL) : 0;
}

const char *reference_text(yajl_val object, const char *name)
{
	yajl_val member = reference_member(object, name);
	return YAJL_IS_STRING(member) ? YAJL_GET_STRING(member) : NULL;
}

int reference_run(const char *name, void (*test)(void **state))
{
	const char *folder = recordings_folder();
	if (!folder)
		return 77;
	yajl_val tree = reference_load(name);
	size_t count = 0, total = tree->u.array.len;
	struct CMUnitTest *tests = calloc(total ? total : 1, sizeof(*tests));
	for (size_t i = 0; tests && i < total; i++) {
		const char *file = reference_text(tree->u.array.values[i], "file");
		char *path = text_format("%s/%s", folder, file);
		/* The reference also covers recordings that are not handed out. */
		if (!access(path, R_OK))
			tests[count++] =
				(struct CMUnitTest){.name = file,
						    .test_func = test,
						    .initial_state = tree->u.array.values[i]};
		free(path);
	}
	int rc = count ? _cmocka_run_group_tests(name, tests, count, NULL, NULL) : 1;
	free(tests);
	yajl_tree_free(tree);
	return rc;
}

void recording_import(const char *file, void (*use)(const char *trace_path, void *context),
		      void *context)
{
	char folder[] = "/tmp/gputrace-recordings-XXXXXX";
	char *path = text_format("%s/%s", recordings_folder(), file);
	struct import_options options = {0};
	struct import_report report;
	struct error err = {0};

	assert_non_null(mkdtemp(folder));
	int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir_fd >= 0);
	char *output = text_format("%s/out.gtrace", folder);
	int rc = import_file(path, dir_fd, "out.gtrace", &options, &report, &err);
	if (!rc)
		use(output, context);
	unlinkat(dir_fd, "out.gtrace", 0);
	close(dir_fd);
	rmdir(folder);
	free(output);
	free(path);
	if (rc)
		fail_msg("%s", err.text);
}

void assert_near(const char *file, const char *what, double expected, double got, double slack)
{
	double allowed = fabs(expected) * 0.001;
	if (allowed < slack)
		allowed = slack;
	if (fabs(expected - got) > allowed)
		fail_msg("%s: %s: the reference says %.3f, the trace %.3f", file, what, expected,
			 got);
}

void assert_count(const char *file, const char *what, double expected, uint64_t got)
{
	if (expected != (double)got)
		fail_msg("%s: %s: the reference says %.0f, the trace %llu", file, what, expected,
			 (unsigned long long)got);
}
