// SPDX-License-Identifier: Apache-2.0
/*
 * A library that makes an event in its constructor and in a function. Built several times with
 * other frame sizes, so that one of them often lies where another was before.
 */
#include <stddef.h>

int site_storm_event(int value); /* of the program that opens this */
int site_storm_call(int depth);

int site_storm_call(int depth)
{
	volatile char space[SPACE];
	int below;

	space[0] = 1;
	below = depth > 0 ? site_storm_call(depth - 1) : site_storm_event(depth);
	return below + space[0];
}

__attribute__((constructor)) static void at_load(void)
{
	site_storm_call(SPACE % 5);
}

__attribute__((destructor)) static void at_unload(void)
{
	site_storm_call(SPACE % 3);
}
