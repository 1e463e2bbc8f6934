/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one subscriber of the simulated CUPTI and its callbacks of the runtime and driver domains.
 * Graphs are told of in the resource domain: created, cloned, instantiated, destroyed. The other
 * domains can be enabled but have nothing to tell. functionParams is NULL in the runtime's domain:
 * the simulated runtime does not pass its arguments on.
 */
#include "simcupti_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { CBIDS = 1024 };

/* The subscriber's handle is this object's address; at most one is active at a time. */
struct CUpti_Subscriber_st {
	_Atomic(CUpti_CallbackFunc) function;
	void *userdata;
	_Atomic(unsigned char) is_enabled[CUPTI_CB_DOMAIN_SIZE][CBIDS];
};
static struct CUpti_Subscriber_st subscriber;

bool simcupti_callback_is_wanted(void)
{
	return atomic_load_explicit(&subscriber.function, memory_order_relaxed);
}

void simcupti_callback_fire(int domain, int site, const char *function,
			    struct simcupti_frame *frame, int result)
{
	CUpti_CallbackFunc callback =
		atomic_load_explicit(&subscriber.function, memory_order_acquire);
	CUpti_CallbackData data = {0};

	if (!callback || !frame->cbid || frame->cbid >= CBIDS ||
	    !atomic_load_explicit(&subscriber.is_enabled[domain][frame->cbid],
				  memory_order_relaxed))
		return;
	data.callbackSite = site ? CUPTI_API_EXIT : CUPTI_API_ENTER;
	data.functionName = function;
	data.functionParams = frame->arguments;
	data.symbolName = simcupti_kernel_name(function, frame->arguments);
	data.functionReturnValue = site ? &result : NULL;
	data.context = simcupti_current_context(&data.contextUid);
	data.correlationData = &frame->correlation_data;
	data.correlationId = frame->correlation;
	callback(subscriber.userdata, (CUpti_CallbackDomain)domain, frame->cbid, &data);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
			   void *userdata)
{
	SIMCUPTI_ENTER();
	CUptiResult result;

	if (!handle || !callback)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	if (simcupti_options()->is_busy || simcupti_callback_is_wanted())
		return simcupti_return(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	result = simcupti_attach();
	if (result != CUPTI_SUCCESS)
		return simcupti_return(result);
	for (int domain = 0; domain < CUPTI_CB_DOMAIN_SIZE; domain++) {
		for (int cbid = 0; cbid < CBIDS; cbid++)
			atomic_store_explicit(&subscriber.is_enabled[domain][cbid], 0,
					      memory_order_relaxed);
	}
	subscriber.userdata = userdata;
	atomic_store_explicit(&subscriber.function, callback, memory_order_release);
	*handle = &subscriber;
	return CUPTI_SUCCESS;
}

/* The subscriber is the same one; what it is for here is the name of who is in the way. */
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
			      void *userdata, CUpti_SubscriberParams *parameters)
{
	SIMCUPTI_ENTER();
	CUptiResult result;

	if (simcupti_options()->version < 130000)
		return simcupti_return(CUPTI_ERROR_API_NOT_IMPLEMENTED);
	if (parameters && parameters->structSize < CUpti_SubscriberParams_STRUCT_SIZE)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	result = cuptiSubscribe(handle, callback, userdata);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && parameters &&
	    parameters->oldSubscriberName && parameters->oldSubscriberSize)
		snprintf(parameters->oldSubscriberName, parameters->oldSubscriberSize,
			 "CUPTI for a simulated profiler");
	return result;
}

void simcupti_callback_reset(void)
{
	atomic_store_explicit(&subscriber.function, NULL, memory_order_release);
}

static bool is_subscriber(CUpti_SubscriberHandle handle)
{
	return handle == &subscriber && simcupti_callback_is_wanted();
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	SIMCUPTI_ENTER();
	if (!is_subscriber(handle))
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	atomic_store_explicit(&subscriber.function, NULL, memory_order_release);
	return CUPTI_SUCCESS;
}

static void enable_domain(int domain, uint32_t enable)
{
	for (int cbid = 1; cbid < CBIDS; cbid++)
		atomic_store_explicit(&subscriber.is_enabled[domain][cbid], enable != 0,
				      memory_order_relaxed);
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
				CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	SIMCUPTI_ENTER();
	if (!is_subscriber(handle) || (unsigned)domain >= CUPTI_CB_DOMAIN_SIZE || !domain ||
	    cbid >= CBIDS)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	atomic_store_explicit(&subscriber.is_enabled[domain][cbid], enable != 0,
			      memory_order_relaxed);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
				  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (!enable || !is_subscriber(handle) || (unsigned)domain >= CUPTI_CB_DOMAIN_SIZE ||
	    !domain || cbid >= CBIDS)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	*enable = atomic_load_explicit(&subscriber.is_enabled[domain][cbid], memory_order_relaxed);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
			      CUpti_CallbackDomain domain)
{
	if (!is_subscriber(handle) || (unsigned)domain >= CUPTI_CB_DOMAIN_SIZE || !domain)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	enable_domain((int)domain, enable);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
	if (!is_subscriber(handle))
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
		enable_domain(domain, enable);
	return CUPTI_SUCCESS;
}

void simcupti_callback_graph(const struct simcuda_graph_event *event)
{
	CUpti_CallbackFunc callback =
		atomic_load_explicit(&subscriber.function, memory_order_acquire);
	CUpti_GraphData graph = {
		.graph = (CUgraph)(uintptr_t)event->graph,
		.node = (CUgraphNode)(uintptr_t)event->node,
		.originalNode = (CUgraphNode)(uintptr_t)event->other_node,
		.nodeType = (CUgraphNodeType)event->node_type,
	};
	CUpti_ResourceData data = {.resourceDescriptor = &graph};
	uint32_t context_id;

	if (!callback ||
	    !atomic_load_explicit(&subscriber.is_enabled[CUPTI_CB_DOMAIN_RESOURCE][event->event],
				  memory_order_relaxed))
		return;
	if (event->event == SIMCUDA_GRAPH_CLONED)
		graph.originalGraph = (CUgraph)(uintptr_t)event->other_graph;
	else
		graph.graphExec = (CUgraphExec)(uintptr_t)event->other_graph;
	data.context = simcupti_current_context(&context_id);
	callback(subscriber.userdata, CUPTI_CB_DOMAIN_RESOURCE, (CUpti_CallbackId)event->event,
		 &data);
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	uint64_t number = simcupti_graph_id(graph);

	if (!id || !number)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	*id = (uint32_t)number;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
	uint64_t number = simcupti_graph_id(exec);

	if (simcupti_options()->version < 21) /* new in 12.3 */
		return simcupti_return(CUPTI_ERROR_API_NOT_IMPLEMENTED);
	if (!id || !number)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	*id = (uint32_t)number;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	uint64_t number = simcupti_graph_id(node);

	if (!id || !number)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	*id = number;
	return CUPTI_SUCCESS;
}
