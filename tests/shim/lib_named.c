/* SPDX-License-Identifier: Apache-2.0 */
/* Exports a driver function's name with a value of its own. -DVALUE=... */
int cuMemAlloc_v2(void *pointer, unsigned long size);
int cuMemAlloc_v2(void *pointer, unsigned long size)
{
	(void)pointer;
	(void)size;
	return VALUE;
}
