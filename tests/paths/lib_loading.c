/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library whose constructor holds the loader's lock until prog_paths has made its calls, or until
 * it has waited for three seconds.
 */
#include <stdatomic.h>
#include <time.h>

extern _Atomic int paths_loading;

__attribute__((constructor)) static void wait_for_calls(void)
{
	int loading = 1;
	atomic_store(&paths_loading, 1);
	for (int i = 0; i < 3000 && atomic_load(&paths_loading) == 1; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	atomic_compare_exchange_strong(&paths_loading, &loading, 3);
}
