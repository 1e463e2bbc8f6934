/* SPDX-License-Identifier: Apache-2.0 */
/* Results are not looked at: what cannot be switched stays as it is, and its records are left out
 * or missed, which the file says. */
#include "cupti_kinds.h"

#include <stddef.h>

void cupti_kinds_switch(const struct cupti *cupti, uint64_t kinds, bool is_on)
{
	for (int kind = 0; kind < KINDS; kind++) {
		if (kinds >> kind & 1)
			(is_on ? cupti->ActivityEnable : cupti->ActivityDisable)(kind);
	}
}

void cupti_kinds_set_zeroed(const struct cupti *cupti, uint8_t is_zeroed)
{
	size_t size = sizeof(is_zeroed);
	if (cupti->ActivitySetAttribute)
		cupti->ActivitySetAttribute(CUPTI_ATTRIBUTE_ZEROED_OUT, &size, &is_zeroed);
}
