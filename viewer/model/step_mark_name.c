/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step names by one pattern. torch.profiler writes "ProfilerStep#12"; people write the rest.
 */
#include "step_mark_name.h"

#include <regex.h>
#include <stddef.h>

bool step_mark_name_matches(const char *name)
{
	static const char pattern[] = "^(profilerstep#|((global|train|training|decode)[_ -]?)?"
				      "(step|iter|iteration)[_ #:=-]*[0-9]*$)";
	regex_t compiled;
	bool matches;

	if (regcomp(&compiled, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB))
		return false;
	matches = !regexec(&compiled, name, 0, NULL, 0);
	regfree(&compiled);
	return matches;
}
