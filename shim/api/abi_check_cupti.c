/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles only if the record fields are where the installed CUPTI header has them. */
#if defined(__has_include)
#if __has_include(<cupti.h>)
#include <cupti.h>

#include <stddef.h>

#include "../cupti_abi.h"

/* The struct names are those of CUDA 13.0; other releases append to them under other names. */
#if CUPTI_API_VERSION >= 130000 && CUPTI_API_VERSION < 130100
#define CHECK_FIELD(record, field, type, offset, header_struct, member)                            \
	_Static_assert(offsetof(header_struct, member) == (offset), #header_struct "." #member);   \
	_Static_assert(sizeof(((header_struct *)0)->member) == sizeof(type), #member);
CUPTI_FIELDS(CHECK_FIELD)
#endif
_Static_assert(offsetof(CUpti_CallbackData, callbackSite) == CUPTI_CALLBACK_SITE, "site");
_Static_assert(offsetof(CUpti_CallbackData, functionParams) == CUPTI_CALLBACK_PARAMETERS, "data");
_Static_assert(offsetof(CUpti_CallbackData, functionReturnValue) == CUPTI_CALLBACK_RESULT, "data");
_Static_assert(offsetof(CUpti_CallbackData, symbolName) == CUPTI_CALLBACK_SYMBOL, "data");
_Static_assert(offsetof(CUpti_CallbackData, context) == CUPTI_CALLBACK_CONTEXT, "data");
_Static_assert(offsetof(CUpti_CallbackData, correlationId) == CUPTI_CALLBACK_CORRELATION, "id");
_Static_assert((int)CUPTI_ACTIVITY_KIND_MEMCPY == CUPTI_KIND_MEMCPY, "kind");
_Static_assert((int)CUPTI_ACTIVITY_KIND_MEMSET == CUPTI_KIND_MEMSET, "kind");
_Static_assert((int)CUPTI_ACTIVITY_KIND_MEMCPY2 == CUPTI_KIND_MEMCPY2, "kind");
_Static_assert((int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == CUPTI_KIND_CONCURRENT_KERNEL, "kind");
_Static_assert((int)CUPTI_ACTIVITY_KIND_SYNCHRONIZATION == CUPTI_KIND_SYNCHRONIZATION, "kind");
_Static_assert((int)CUPTI_ACTIVITY_KIND_OVERHEAD == CUPTI_KIND_OVERHEAD, "kind");
_Static_assert((int)CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER == CUPTI_KIND_MANAGED, "kind");
_Static_assert((int)CUPTI_ACTIVITY_KIND_MEMORY2 == CUPTI_KIND_MEMORY2, "kind");
_Static_assert((int)CUPTI_ACTIVITY_KIND_MEMORY_POOL == CUPTI_KIND_MEMORY_POOL, "kind");
_Static_assert((int)CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION == CUPTI_MEMORY_ALLOCATED,
	       "operation");
_Static_assert((int)CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE == CUPTI_MEMORY_RELEASED,
	       "operation");
_Static_assert((int)CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL == CUPTI_POOL_LOCAL, "pool");
_Static_assert((int)CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED == CUPTI_POOL_IMPORTED, "pool");
_Static_assert((int)CUPTI_ERROR_INVALID_PARAMETER == CUPTI_INVALID_PARAMETER, "result");
_Static_assert((int)CUPTI_ERROR_NOT_INITIALIZED == CUPTI_NOT_INITIALIZED, "result");
_Static_assert((int)CUPTI_ERROR_NOT_SUPPORTED == CUPTI_NOT_SUPPORTED, "result");
#if CUPTI_API_VERSION >= 130000
_Static_assert(offsetof(CUpti_SubscriberParams, oldSubscriberName) ==
		       offsetof(struct cupti_subscriber, other_name),
	       "subscriber");
_Static_assert(offsetof(CUpti_SubscriberParams, oldSubscriberSize) ==
		       offsetof(struct cupti_subscriber, other_size),
	       "subscriber");
#endif
_Static_assert((int)CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER == CUPTI_MANAGED_BY_USER,
	       "cause");
_Static_assert((int)CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD ==
		       CUPTI_MANAGED_HTOD,
	       "counter");
_Static_assert((int)CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH ==
		       CUPTI_MANAGED_DTOH,
	       "counter");
_Static_assert((int)CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE ==
		       CUPTI_MANAGED_SCOPE_DEVICE,
	       "scope");
_Static_assert(sizeof(CUpti_ActivityUnifiedMemoryCounterConfig) ==
		       sizeof(struct cupti_managed_config),
	       "configuration");
_Static_assert((int)CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER == CUPTI_ATTRIBUTE_ZEROED_OUT,
	       "attribute");
_Static_assert((int)CUPTI_ERROR_MAX_LIMIT_REACHED == CUPTI_MAX_LIMIT_REACHED, "MAX_LIMIT_REACHED");
_Static_assert((int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == CUPTI_MULTIPLE_SUBSCRIBERS,
	       "result");
_Static_assert((int)CUPTI_CB_DOMAIN_DRIVER_API == CUPTI_DOMAIN_DRIVER, "domain");
_Static_assert((int)CUPTI_CB_DOMAIN_RUNTIME_API == CUPTI_DOMAIN_RUNTIME, "domain");
_Static_assert((int)CUPTI_API_ENTER == CUPTI_SITE_ENTER, "site");
#endif
#endif
