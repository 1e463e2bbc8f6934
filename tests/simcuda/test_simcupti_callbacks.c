/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks, kinds and attributes of the simulated CUPTI. Each case runs in a process of its own.
 */
#include "simtest_cupti.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simtest_child.h"

static void check_kinds(void)
{
	CUpti_SubscriberHandle subscriber;

	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_NOT_COMPATIBLE);
	SIMTEST_EQUAL(cuptiGetLastError(), CUPTI_ERROR_NOT_COMPATIBLE);
	SIMTEST_EQUAL(cuptiGetLastError(), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_NVLINK), CUPTI_ERROR_INVALID_KIND);
	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL), CUPTI_ERROR_NOT_COMPATIBLE);
	SIMTEST_EQUAL(cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)1, NULL),
		      CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	SIMTEST_EQUAL(cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_OPERATION);
}

static void kinds_fail_and_subscriber_is_taken_on_demand(void **state)
{
	const char *const settings[] = {"SIMCUDA_CUPTI_FAULT=no-memcpy,busy", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_kinds, settings), 0);
}

struct call {
	int domain, site;
	uint32_t cbid, correlation;
	const char *name;
};
static struct call calls[64];
static size_t call_count;

static void on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		    const void *data)
{
	const CUpti_CallbackData *call = data;

	SIMTEST_CHECK(userdata == &call_count);
	SIMTEST_CHECK(call->context != NULL && call->contextUid != 0);
	if (call->callbackSite == CUPTI_API_ENTER)
		*call->correlationData = 4711;
	else
		SIMTEST_EQUAL(*call->correlationData, 4711);
	SIMTEST_CHECK(call->callbackSite == CUPTI_API_ENTER ||
		      *(const int *)call->functionReturnValue == 0);
	SIMTEST_CHECK(call_count < 64);
	calls[call_count++] = (struct call){(int)domain, (int)call->callbackSite, cbid,
					    call->correlationId, call->functionName};
}

static void check_call(size_t i, int domain, int site, uint32_t cbid)
{
	SIMTEST_EQUAL(calls[i].domain, domain);
	SIMTEST_EQUAL(calls[i].site, site);
	SIMTEST_EQUAL(calls[i].cbid, cbid);
}

static void check_callbacks(void)
{
	CUpti_SubscriberHandle subscriber, second;
	const char *name = NULL;
	void *device = NULL;
	char byte = 1;

	SIMTEST_EQUAL(cudaMalloc(&device, 4096), cudaSuccess);
	SIMTEST_EQUAL(cuptiSubscribe(&subscriber, on_call, &call_count), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiSubscribe(&second, on_call, NULL),
		      CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	SIMTEST_EQUAL(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					  CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2),
		      CUPTI_SUCCESS);
	SIMTEST_EQUAL(cudaMemcpy(device, &byte, 1, cudaMemcpyHostToDevice), cudaSuccess);
	SIMTEST_EQUAL(call_count, 4);
	check_call(0, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_API_ENTER,
		   CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020);
	check_call(1, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_API_ENTER,
		   CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2);
	check_call(2, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_API_EXIT,
		   CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2);
	check_call(3, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_API_EXIT,
		   CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020);
	for (size_t i = 0; i < 4; i++)
		SIMTEST_EQUAL(calls[i].correlation, calls[0].correlation);
	SIMTEST_CHECK(calls[0].correlation != 0);
	SIMTEST_CHECK(!strcmp(calls[0].name, "cudaMemcpy"));
	SIMTEST_EQUAL(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, calls[0].cbid, &name),
		      CUPTI_SUCCESS);
	SIMTEST_CHECK(!strcmp(name, "cudaMemcpy_v3020"));
	SIMTEST_EQUAL(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 999999, &name),
		      CUPTI_ERROR_INVALID_PARAMETER);
	SIMTEST_EQUAL(cuptiUnsubscribe(subscriber), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cudaMemcpy(device, &byte, 1, cudaMemcpyHostToDevice), cudaSuccess);
	SIMTEST_EQUAL(call_count, 4);
	SIMTEST_EQUAL(cuptiSubscribe(&second, on_call, NULL), CUPTI_SUCCESS);
}

static void callbacks_nest_with_one_correlation_id(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_callbacks, NULL), 0);
}

static void check_correlation(void)
{
	CUpti_SubscriberHandle subscriber;
	void *device = NULL;

	SIMTEST_EQUAL(cudaMalloc(&device, 4096), cudaSuccess);
	simtest_cupti_start();
	SIMTEST_EQUAL(cuptiSubscribe(&subscriber, on_call, &call_count), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
					  CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020),
		      CUPTI_SUCCESS);
	SIMTEST_EQUAL(cudaMemsetAsync(device, 0, 4096, NULL), cudaSuccess);
	SIMTEST_EQUAL(cudaDeviceSynchronize(), cudaSuccess);
	SIMTEST_EQUAL(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	SIMTEST_EQUAL(call_count, 2);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_MEMSET), 1);
	for (size_t i = 0; i < simtest_cupti.count; i++) {
		if (simtest_cupti.records[i].kind == CUPTI_ACTIVITY_KIND_MEMSET)
			SIMTEST_EQUAL(simtest_cupti.records[i].correlation, calls[0].correlation);
		else /* cudaDeviceSynchronize */
			SIMTEST_EQUAL(simtest_cupti.records[i].direction,
				      CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
	}
}

static void records_carry_the_correlation_id_of_their_call(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_correlation, NULL), 0);
}

static void check_attributes(void)
{
	uint8_t flag = 7;
	size_t size = sizeof(flag), pool = 0;

	SIMTEST_EQUAL(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER,
						&size, &flag),
		      CUPTI_SUCCESS);
	SIMTEST_EQUAL(flag, 0); /* the default turned with 13.0 */
	flag = 1;
	SIMTEST_EQUAL(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
						&size, &flag),
		      CUPTI_SUCCESS);
	flag = 0;
	SIMTEST_EQUAL(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
						&size, &flag),
		      CUPTI_SUCCESS);
	SIMTEST_EQUAL(flag, 1);
	SIMTEST_EQUAL(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size,
						&pool),
		      CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	size = sizeof(pool);
	SIMTEST_EQUAL(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size,
						&pool),
		      CUPTI_SUCCESS);
	SIMTEST_EQUAL(pool, 250);
}

static void attributes_keep_what_is_set(void **state)
{
	const char *const settings[] = {"SIMCUDA_CUPTI_VERSION=24", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_attributes, settings), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_fail_and_subscriber_is_taken_on_demand),
		cmocka_unit_test(callbacks_nest_with_one_correlation_id),
		cmocka_unit_test(records_carry_the_correlation_id_of_their_call),
		cmocka_unit_test(attributes_keep_what_is_set),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
