/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not in the file because the recorder was told to keep it small, or could not see it, or
 * because the file had been damaged.
 */
#include <stdlib.h>

#include "quality_precision.h"
#include "text.h"

/* What the file says of itself under a key; 0 when it says nothing. */
static uint64_t number_of(const struct model *model, const char *key)
{
	const char *value = model->source.info(model->source.context, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

void quality_check_dropped(const struct model *model, struct quality *quality)
{
	uint64_t segments = number_of(model, "rotation.dropped_segments");
	uint64_t bytes = number_of(model, "rotation.dropped_bytes");

	if (segments == 0)
		return;
	quality_add(
		quality, "GT909", "dropped_bytes", (double)bytes,
		text_format("The oldest %.1f MiB were dropped to keep the file within its limit "
			    "of size or time; what follows is complete.",
			    (double)bytes / 1048576));
}

/* The second way in sees less; why it may see nothing at all is the recorder's to tell. */
void quality_check_unseen(const struct model *model, struct quality *quality)
{
	const char *source = model->source.info(model->source.context, "calls.source");
	const char *missing = model->source.info(model->source.context, "calls.missing");

	if (source)
		quality_add(quality, "GT911", "is_injected", 1,
			    text_format("Calls were recorded through %s%s%s.", source,
					missing ? "; " : "", missing ? missing : ""));
}

void quality_check_recovered(const struct model *model, struct quality *quality)
{
	uint64_t chunks = number_of(model, "recovered.lost_chunks");
	uint64_t records = number_of(model, "recovered.lost_records");
	uint64_t bytes = number_of(model, "recovered.gap_bytes");

	if (!model->source.info(model->source.context, "recovered.lost_records"))
		return;
	quality_add(quality, "GT910", "lost_records", (double)records,
		    text_format("The file was recovered from a damaged one: %llu %s with %llu "
				"records and %llu bytes between them could not be saved.",
				(unsigned long long)chunks,
				text_noun((double)chunks, "chunk", "chunks"),
				(unsigned long long)records, (unsigned long long)bytes));
}

/* "a.so: f, g; b.so: f" */
void quality_check_past(const struct model *model, struct quality *quality)
{
	const char *calls = model->source.info(model->source.context, "calls.past");
	int libraries = 1;

	if (!calls || !*calls)
		return;
	for (const char *at = calls; *at; at++)
		libraries += *at == ';';
	quality_add(quality, "GT913", "libraries", libraries,
		    text_format("Calls into CUDA that this recording does not have: %s. %s opened "
				"with RTLD_DEEPBIND; gputrace record --no-deepbind records them.",
				calls, libraries == 1 ? "The library was" : "The libraries were"));
}
