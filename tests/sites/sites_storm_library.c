// SPDX-License-Identifier: Apache-2.0
/* A library whose constructor and destructor call CUDA. */
int sites_storm_copy(void); /* of the program */

__attribute__((constructor)) static void at_load(void)
{
	sites_storm_copy();
}

__attribute__((destructor)) static void at_unload(void)
{
	sites_storm_copy();
}
