/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses NVTX v3 as libraries do, by its headers alone, and opens a CUDA session in between.
 * usage: prog_nvtx quiet | marks | nested | threads | fork | many N
 */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "../../shim/gputrace.h"

static void open_session(void)
{
	void *memory = NULL;
	if (cudaMalloc(&memory, 4096) != cudaSuccess)
		exit(1);
	cudaFree(memory);
}

static nvtxEventAttributes_t event(void)
{
	nvtxEventAttributes_t attributes;
	memset(&attributes, 0, sizeof(attributes));
	attributes.version = NVTX_VERSION;
	attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	return attributes;
}

/* Everything that can be said without a GPU; levels are printed to be compared. */
static void every_kind(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
	nvtxDomainHandle_t wide = nvtxDomainCreateW(L"w\u00eft\u20ac");
	nvtxStringHandle_t text = nvtxDomainRegisterStringA(domain, "registered text");
	nvtxEventAttributes_t attributes = event();

	nvtxMarkA("instant");
	nvtxMarkW(L"wide instant \U0001d11e");
	printf("%d\n", nvtxRangePushA("outer"));
	printf("%d\n", nvtxRangePushW(L"inner"));
	nvtxRangePop();
	printf("%d\n", nvtxRangePop());
	nvtxRangePop(); /* one too many */

	attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	attributes.message.registered = text;
	attributes.category = 7;
	attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
	attributes.payload.llValue = -5;
	nvtxDomainRangePushEx(domain, &attributes);
	attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
	attributes.payload.uiValue = 99;
	nvtxDomainMarkEx(wide, &attributes);
	attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
	attributes.message.ascii = "in the default domain";
	nvtxRangePushEx(&attributes);
	nvtxDomainRangePop(domain); /* not the innermost: its own domain's */
	nvtxRangePop();
	nvtxDomainDestroy(domain);

	nvtxRangeId_t first = nvtxRangeStartA("first span"),
		      second = nvtxRangeStartA("second span");
	if (first == second && first)
		exit(2);
	nvtxRangeEnd(first);
	nvtxRangeEnd(second);
	nvtxRangeEnd(second); /* twice */
}

struct message {
	uint64_t communicator;
	int peer;
	size_t bytes;
};

/* A library's own structure as payload, announced as NCCL announces its. */
static void payload(void)
{
	const nvtxPayloadSchemaEntry_t entries[] = {
		{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "communicator ID", NULL, 0,
		 offsetof(struct message, communicator), NULL, NULL},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Peer rank", NULL, 0, 0, NULL, NULL},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", NULL, 0, 0, NULL, NULL},
	};
	nvtxPayloadSchemaAttr_t schema;
	struct message message = {0x1234567890abcdefull, 3, 1 << 20};
	nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
	nvtxEventAttributes_t attributes = event();

	memset(&schema, 0, sizeof(schema));
	schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
	schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	schema.entries = entries;
	schema.numEntries = 3;
	schema.payloadStaticSize = sizeof(message);
	nvtxPayloadData_t data = {nvtxPayloadSchemaRegister(domain, &schema), sizeof(message),
				  &message};
	attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
	attributes.message.ascii = "ncclSend";
	attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	attributes.reserved0 = 1;
	attributes.payload.ullValue = (uint64_t)(uintptr_t)&data;
	nvtxDomainRangePushEx(domain, &attributes);
	nvtxDomainRangePop(domain);
}

static nvtxRangeId_t handed_over;

static void *other_thread(void *argument)
{
	(void)argument;
	nvtxRangePushA("on the other thread");
	nvtxRangePop();
	nvtxRangeEnd(handed_over);
	return NULL;
}

static void many(int count)
{
	char text[64];
	for (int i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "a text of its own: number %d of many", i);
		nvtxRangePushA(text);
		nvtxRangePop();
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "marks";

	nvtxRangePushA("open when the session begins");
	nvtxRangePushA("gone before");
	nvtxRangePop();
	nvtxMarkA("gone too");
	if (!strcmp(mode, "quiet")) {
		gputrace_step(0);
		gputrace_mark("nobody listens");
		return 0;
	}
	/* CUDA does not survive a fork, so both processes begin after it. */
	pid_t child = -1;
	if (!strcmp(mode, "fork")) {
		nvtxRangePushA("open across the fork");
		child = fork();
	}
	open_session();
	if (!strcmp(mode, "fork")) {
		if (!child)
			nvtxMarkA("in the child");
		nvtxRangePop();
		if (child)
			waitpid(child, NULL, 0);
	} else if (!strcmp(mode, "marks")) {
		every_kind();
		payload();
		for (int i = 0; i < 3; i++) {
			gputrace_step((unsigned long long)i + 10);
			gputrace_push("phase");
			gputrace_mark("a point");
			gputrace_pop();
		}
	} else if (!strcmp(mode, "nested")) {
		for (int i = 0; i < 40; i++)
			nvtxRangePushA("deep");
		for (int i = 0; i < 40; i++)
			nvtxRangePop();
	} else if (!strcmp(mode, "threads")) {
		pthread_t thread;
		handed_over = nvtxRangeStartA("handed over");
		pthread_create(&thread, NULL, other_thread, NULL);
		pthread_join(thread, NULL);
	} else {
		many(argc > 2 ? atoi(argv[2]) : 1);
	}
	nvtxRangePop();
	nvtxRangePushA("never closed");
	return 0;
}
