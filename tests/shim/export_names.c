/* SPDX-License-Identifier: Apache-2.0 */
/* Prints every name that the tables say the shim exports, as nm -D writes it. */
#include <stdio.h>

static void with_nodes(const char *name, const char *library)
{
	static const char *const cudart[] = {"11.0", "12", "13"}, *const cublas[] = {"11", "12",
										     "13"};
	for (int i = 0; i < 3; i++)
		printf("%s@lib%s.so.%s\n", name, library,
		       library[3] == 'a' ? cudart[i] : cublas[i]);
}

#define TWIN_ONE(name, print)
#define TWIN_PTSZ(name, print) print(#name "_ptsz");
#define TWIN_PTDS(name, print) print(#name "_ptds");

static void cudart_name(const char *name)
{
	with_nodes(name, "cudart");
}

static void cublas_name(const char *name)
{
	with_nodes(name, "cublas");
}

static void cublaslt_name(const char *name)
{
	for (int major = 11; major <= 13; major++)
		printf("%s@libcublasLt.so.%d\n", name, major);
}

static void cudnn_name(const char *name)
{
	for (int major = 8; major <= 9; major++)
		printf("%s@libcudnn.so.%d\n", name, major);
}

static void plain_name(const char *name)
{
	puts(name);
}

int main(void)
{
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	cudart_name(#name);                                                                        \
	TWIN_##twin(name, cudart_name)
#include "../../shim/api/rows.h"
#include "../../shim/api/cudart.def"
#include "../../shim/api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	plain_name(#name);                                                                         \
	TWIN_##twin(name, plain_name)
#include "../../shim/api/rows.h"
#include "../../shim/api/driver.def"
#include "../../shim/api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...) cublas_name(#name);
#include "../../shim/api/blas_rows.h"
#define ROW(name, twin, check, effect, params, args, before, ...) cublaslt_name(#name);
#include "../../shim/api/rows.h"
#include "../../shim/api/cublaslt.def"
#include "../../shim/api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...) cudnn_name(#name);
#include "../../shim/api/rows.h"
#include "../../shim/api/cudnn.def"
#include "../../shim/api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...) plain_name(#name);
#include "../../shim/api/rows.h"
#include "../../shim/api/nccl.def"
#include "../../shim/api/rows_end.h"
#define CUPTI(name, params, args, share) plain_name(#name);
#include "../../shim/api/cupti.def"
#define NVTX2(type, name, params, args, record) plain_name(#name);
#define NVTX2_VOID(name, params, args, record)	plain_name(#name);
#include "../../shim/api/nvtx2.def"
#define C10(name, params, args, record) plain_name(#name);
#include "../../shim/api/c10.def"
	/* Written out by hand, not in a table. */
	plain_name("InitializeInjection");
	plain_name("InitializeInjectionNvtx2");
	plain_name("InitializeInjectionNvtxExtension");
	plain_name("gputrace_shim_step");
	plain_name("gputrace_shim_mark");
	plain_name("gputrace_shim_push");
	plain_name("gputrace_shim_pop");
	cudart_name("__cudaRegisterFunction");
	plain_name("cuGetProcAddress");
	plain_name("cuGetProcAddress_v2");
	plain_name("dlsym");
	plain_name("gputrace_shim_instance");
	return 0;
}
