/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace explain: the page of a rule.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "quality.h"
#include "rule.h"
#include "text.h"

static const char usage[] = "usage: gputrace explain [--json] [ID]\n"
			    "\n"
			    "Prints what a finding means: definition, thresholds, how its gain is "
			    "estimated, when it is silent\n"
			    "and when it is wrong. ID is a number such as GT101 or a name such as "
			    "pcie_bound. Without ID,\n"
			    "lists all.\n"
			    "\n"
			    "  --json   print JSON (schema gputrace.explain/1)\n"
			    "\n"
			    "Exit status: 0, or 2 when there is no such finding.\n";

static void list_all(bool is_json)
{
	struct json *json = is_json ? json_new("gputrace.explain/1", false) : NULL;
	const char *id, *title;

	if (is_json)
		json_array(json, "rules");
	for (size_t i = 0; i < rules_count(); i++) {
		if (!is_json) {
			printf("%s  %-22s %s\n", rules_all[i]->id, rules_all[i]->name,
			       rules_all[i]->title);
			continue;
		}
		json_object(json, NULL);
		json_text(json, "id", rules_all[i]->id);
		json_text(json, "name", rules_all[i]->name);
		json_text(json, "title", rules_all[i]->title);
		json_end_object(json);
	}
	for (size_t i = 0; (id = quality_id(i, &title)); i++) {
		if (!is_json) {
			printf("%s  %-22s %s\n", id, "(recording)", title);
			continue;
		}
		json_object(json, NULL);
		json_text(json, "id", id);
		json_text(json, "title", title);
		json_end_object(json);
	}
	if (is_json) {
		json_end_array(json);
		json_finish(json, stdout);
	}
}

/* What is refused for all rules of a kind before they look. */
static void add_common_limits(struct text *text, const struct rule *rule)
{
	if (rule->judge_ranks || rule->is_about_memory || rule->is_about_calls)
		return;
	text_add(text,
		 "\nLike all rules about time it is not judged without GPU times of steady work");
	if (!rule->judge_totals)
		text_add(text, ", and where a\nrecording has totals only");
	if (rule->needs_nodes)
		text_add(
			text,
			rule->judge_totals
				? ", and where graphs that were\ntimed as wholes are 10 % of a step"
				: ", or graphs timed as wholes are 10 % of a step");
	text_add(text, ".\n");
}

static int explain_one(const char *text, bool is_json)
{
	const struct rule *rule = rules_find(text);
	const char *page = rule ? rule->page : quality_page(text);
	const char *title = rule ? rule->title : NULL;
	const char *id = rule ? rule->id : NULL;
	struct text whole;

	if (!page)
		return command_usage_error("explain",
					   "There is no finding \"%s\"; gputrace explain "
					   "lists them.",
					   text);
	for (size_t i = 0; !rule && (id = quality_id(i, &title)); i++) {
		if (quality_page(id) == page)
			break;
	}
	text_init(&whole);
	text_add(&whole, page);
	if (rule)
		add_common_limits(&whole, rule);
	if (is_json) {
		struct json *json = json_new("gputrace.explain/1", false);

		json_text(json, "id", id);
		json_text(json, "name", rule ? rule->name : NULL);
		json_text(json, "title", title);
		json_text(json, "page", text_string(&whole));
		json_finish(json, stdout);
	} else if (rule) {
		printf("%s (%s): %s\n\n%s", id, rule->name, title, text_string(&whole));
	} else {
		printf("%s: %s\n\n%s", id, title, text_string(&whole));
	}
	text_fini(&whole);
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	const char *id = NULL;
	bool is_json = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return command_print_help("explain");
		if (!strcmp(argv[i], "--json"))
			is_json = true;
		else if (argv[i][0] == '-' || id)
			return command_usage_error(argv[0], "\"%s\" is not understood.", argv[i]);
		else
			id = argv[i];
	}
	if (id)
		return explain_one(id, is_json);
	list_all(is_json);
	return EXIT_OK;
}

const struct command command_explain = {
	.name = "explain",
	.summary = "what a finding means and when it is wrong",
	.usage = usage,
	.run = run,
};
