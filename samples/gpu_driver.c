/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the driver API for the plain-C samples: finds the functions of driver_calls.def, takes the
 * primary context of device 0, loads the kernels as PTX and finds cuBLAS.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <string.h>

struct gpu_driver gpu_driver;
struct gpu_cublas gpu_cublas;

enum { DEVICES = 16 };

static struct {
	void *context; /* NULL until first used */
	int handle;
} driver_devices[DEVICES];
static void *driver_modules[GPU_KERNEL_COUNT];

#define PTX_HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* i = block * threads + thread; done when i >= words; %rd3 = out + 4 i, %rd4 = in + 4 i. */
#define PTX_KERNEL(name)                                                                           \
	".visible .entry " #name "(.param .u64 out, .param .u64 in, .param .u64 words)\n"          \
	"{\n"                                                                                      \
	".reg .pred %p<2>; .reg .b32 %r<4>; .reg .f32 %f<9>; .reg .b64 %rd<9>;\n"                  \
	"mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"                    \
	"mul.wide.u32 %rd1, %r1, %r2;\ncvt.u64.u32 %rd2, %r3;\nadd.s64 %rd1, %rd1, %rd2;\n"        \
	"ld.param.u64 %rd2, [words];\nsetp.ge.u64 %p1, %rd1, %rd2;\n@%p1 ret;\n"                   \
	"shl.b64 %rd1, %rd1, 2;\nshl.b64 %rd2, %rd2, 2;\n"                                         \
	"ld.param.u64 %rd3, [out];\ncvta.to.global.u64 %rd3, %rd3;\nadd.s64 %rd3, %rd3, %rd1;\n"   \
	"ld.param.u64 %rd4, [in];\ncvta.to.global.u64 %rd4, %rd4;\nadd.s64 %rd4, %rd4, %rd1;\n"    \
	"ld.global.f32 %f1, [%rd4];\n"

#define PTX_END "ret;\n}\n"

/* out = 0.5 in + 0.25 */
#define PTX_BODY_STREAM                                                                            \
	"fma.rn.f32 %f2, %f1, 0f3F000000, 0f3E800000;\n"                                           \
	"st.global.f32 [%rd3], %f2;\n"

/* m = 0.9 m + 0.1 g; v = 0.95 v + 0.05 g g; p = 0.99997 p - 3e-4 m / sqrt(v + 1e-12) */
#define PTX_BODY_OPTIMIZER                                                                         \
	"add.s64 %rd5, %rd3, %rd2;\nadd.s64 %rd6, %rd5, %rd2;\n"                                   \
	"ld.global.f32 %f2, [%rd3];\nld.global.f32 %f3, [%rd5];\nld.global.f32 %f4, [%rd6];\n"     \
	"mul.f32 %f3, %f3, 0f3F666666;\nfma.rn.f32 %f3, %f1, 0f3DCCCCCD, %f3;\n"                   \
	"mul.f32 %f5, %f1, %f1;\nmul.f32 %f4, %f4, 0f3F733333;\n"                                  \
	"fma.rn.f32 %f4, %f5, 0f3D4CCCCD, %f4;\n"                                                  \
	"add.f32 %f6, %f4, 0f2B8CBCCC;\nrsqrt.approx.f32 %f6, %f6;\n"                              \
	"mul.f32 %f7, %f3, 0fB99D4952;\nmul.f32 %f2, %f2, 0f3F7FFE09;\n"                           \
	"fma.rn.f32 %f2, %f7, %f6, %f2;\n"                                                         \
	"st.global.f32 [%rd3], %f2;\nst.global.f32 [%rd5], %f3;\nst.global.f32 [%rd6], %f4;\n"

/* One module per kernel. */
static const struct {
	const char *name, *ptx;
} driver_kernels[] = {
#define KERNEL(name, body) {#name, PTX_HEAD PTX_KERNEL(name) PTX_BODY_##body PTX_END},
#include "kernels.def"
#undef KERNEL
};

static void stop(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why ? why : "not found");
	exit(1);
}

static void *library_open(const char *const *names)
{
	for (; *names; names++) {
		void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);

		if (library)
			return library;
	}
	return NULL;
}

#ifdef GPU_DRIVER_BY_GET_PROC_ADDRESS
/* With GPU_DRIVER_PER_THREAD the twins for per-thread default streams, which came with CUDA 7. */
#ifdef GPU_DRIVER_PER_THREAD
enum { FLAGS = 2, LEAST_VERSION = 7000 };
#else
enum { FLAGS = 0, LEAST_VERSION = 0 };
#endif
typedef int get_proc_address(const char *name, void **function, int version, uint64_t flags,
			     int *status);

static void *driver_find(void *library, const char *symbol, const char *name, int version)
{
	static get_proc_address *get;
	void *function = NULL;

	(void)symbol;
	if (!get)
		*(void **)&get = dlsym(library, "cuGetProcAddress_v2");
	if (!get)
		stop("cuGetProcAddress_v2", dlerror());
	if (version < LEAST_VERSION)
		version = LEAST_VERSION;
	if (get(name, &function, version, FLAGS, NULL) != 0)
		return NULL;
	return function;
}
#else
static void *driver_find(void *library, const char *symbol, const char *name, int version)
{
	(void)name;
	(void)version;
	return dlsym(library, symbol);
}
#endif

static void driver_open(void)
{
	static const char *const names[] = {"libcuda.so.1", NULL};
	void *library = library_open(names);

	if (!library)
		stop("libcuda.so.1", dlerror());
#define DRIVER(field, symbol, name, version, parameters)                                           \
	*(void **)&gpu_driver.field = driver_find(library, #symbol, #name, version);               \
	if (!gpu_driver.field)                                                                     \
		stop(#symbol, "not in this driver");
#include "driver_calls.def"
#undef DRIVER
}

static void *cublas_find(void *library, const char *symbol)
{
	void *function = dlsym(library, symbol);

	if (!function)
		stop(symbol, dlerror());
	return function;
}

static void cublas_open(void)
{
	static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
					    NULL};
	void *library = library_open(names);

	if (!library)
		stop("libcublas.so", dlerror());
	*(void **)&gpu_cublas.create = cublas_find(library, "cublasCreate_v2");
	*(void **)&gpu_cublas.destroy = cublas_find(library, "cublasDestroy_v2");
	*(void **)&gpu_cublas.set_stream = cublas_find(library, "cublasSetStream_v2");
	*(void **)&gpu_cublas.gemm = cublas_find(library, "cublasGemmEx");
	*(void **)&gpu_cublas.gemm_batched = cublas_find(library, "cublasGemmStridedBatchedEx");
	GPU_TRY(gpu_cublas.create(&gpu_cublas.handle));
}

void *gpu_context(int ordinal)
{
	if (ordinal < 0 || ordinal >= DEVICES)
		return NULL;
	if (!driver_devices[ordinal].context) {
		GPU_TRY(gpu_driver.device_get(&driver_devices[ordinal].handle, ordinal));
		GPU_TRY(gpu_driver.primary_retain(&driver_devices[ordinal].context,
						  driver_devices[ordinal].handle));
	}
	return driver_devices[ordinal].context;
}

void gpu_open(void)
{
	driver_open();
	GPU_TRY(gpu_driver.init(0));
	GPU_TRY(gpu_driver.context_set(gpu_context(0)));
	for (int i = 0; i < GPU_KERNEL_COUNT; i++) {
		GPU_TRY(gpu_driver.module_load(&driver_modules[i], driver_kernels[i].ptx));
		GPU_TRY(gpu_driver.module_function(&gpu_driver.kernels[i], driver_modules[i],
						   driver_kernels[i].name));
	}
	cublas_open();
}

void gpu_close(void)
{
	GPU_TRY(gpu_cublas.destroy(gpu_cublas.handle));
	for (int i = 0; i < GPU_KERNEL_COUNT; i++)
		GPU_TRY(gpu_driver.module_unload(driver_modules[i]));
	for (int i = 0; i < DEVICES; i++) {
		if (driver_devices[i].context)
			GPU_TRY(gpu_driver.primary_release(driver_devices[i].handle));
		driver_devices[i].context = NULL;
	}
}
