/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime of one CUDA major with the functions of signatures.h: each says on standard output
 * whether what arrived is what its caller passed, and answers.
 */
#include <stdio.h>

#include "signatures.h"

#define SIGNATURE(name, params, args, arrived, answer)                                             \
	int name params;                                                                           \
	int name params                                                                            \
	{                                                                                          \
		if (arrived) {                                                                     \
			answer;                                                                    \
			printf("%d %s: as passed\n", MAJOR, #name);                                \
			return 0;                                                                  \
		}                                                                                  \
		printf("%d %s: OTHER ARGUMENTS\n", MAJOR, #name);                                  \
		return 1;                                                                          \
	}
SIGNATURES(SIGNATURE)
