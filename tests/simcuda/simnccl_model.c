/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a collective costs and what its kernel is called. The rate at large sizes is that of
 * published nccl-tests runs on one node (8 x A100 235, H100 365, B200 680 GB/s; over PCIe 10 to
 * 35); a size at which half of it is reached and a latency make a curve near theirs.
 * SIMCUDA_NCCL_GBS replaces the rate. NVLS and trees are not modelled: all rings, as below five
 * GPUs.
 */
#include "simnccl_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *device; /* part of the name */
	double gbs;
	bool has_nvlink;
} rates[] = {
	{"B200", 680, true},	     {"H200", 365, true},     {"H100 80GB HBM3", 365, true},
	{"A100-SXM", 235, true},     {"V100-SXM", 125, true}, {"RTX 5090", 28, false},
	{"RTX PRO 6000", 38, false},
};
#define PCIE_GBS	10.0
#define LATENCY_NS	12000.0
#define STEP_NS		1500.0
#define HALF_RATE_BYTES (12.0 * 1024 * 1024) /* NVLink; a slower path fills sooner */
#define LL_MAX_BYTES	(64u * 1024)
#define LL128_MAX_BYTES (1024u * 1024)

void simnccl_model_read(struct ncclComm *comm)
{
	char name[256] = "";
	const char *text = getenv("SIMCUDA_NCCL_GBS");
	double gbs = PCIE_GBS, given;
	CUdevice device = 0;

	if (!comm->driver->DeviceGet(&device, comm->device))
		comm->driver->DeviceGetName(name, (int)sizeof(name), device);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		if (strstr(name, rates[i].device)) {
			gbs = rates[i].gbs;
			comm->has_nvlink = rates[i].has_nvlink;
			break;
		}
	}
	given = text ? strtod(text, NULL) : 0.0;
	if (given > 0.0 && given < 1e5) {
		gbs = given;
		comm->has_nvlink = given > 50.0;
	}
	comm->bus_rate = gbs * 1e9;
}

/* Bytes over the bus per byte of payload, as nccl-tests counts. */
static double bus_factor(enum simnccl_kind kind, int ranks)
{
	double n = ranks;

	switch (kind) {
	case SIMNCCL_ALL_REDUCE:
		return 2.0 * (n - 1.0) / n;
	case SIMNCCL_ALL_GATHER:
	case SIMNCCL_REDUCE_SCATTER:
	case SIMNCCL_ALL_TO_ALL:
	case SIMNCCL_GATHER:
	case SIMNCCL_SCATTER:
		return (n - 1.0) / n;
	case SIMNCCL_BROADCAST:
	case SIMNCCL_REDUCE:
	case SIMNCCL_SEND:
	case SIMNCCL_RECEIVE:
		break;
	}
	return 1.0;
}

uint64_t simnccl_model_ns(const struct ncclComm *comm, enum simnccl_kind kind, uint64_t bytes)
{
	double half = comm->has_nvlink ? HALF_RATE_BYTES : HALF_RATE_BYTES / 48.0;
	double size = (double)bytes;
	double rate = comm->bus_rate * size / (size + half);

	if (bytes == 0 || comm->ranks < 2)
		return (uint64_t)(LATENCY_NS / 2.0);
	return (uint64_t)(LATENCY_NS + STEP_NS * (comm->ranks - 1) +
			  size * bus_factor(kind, comm->ranks) / rate * 1e9);
}

unsigned int simnccl_model_channels(const struct ncclComm *comm, uint64_t bytes)
{
	unsigned int most = comm->has_nvlink ? 24 : 4;
	uint64_t wanted = bytes / (256u * 1024) + 1;

	return wanted < most ? (unsigned int)wanted : most;
}

static const char *protocol_of(const struct simnccl_op *op, uint64_t bytes)
{
	if (bytes <= LL_MAX_BYTES)
		return "LL";
	return bytes <= LL128_MAX_BYTES && op->comm->has_nvlink ? "LL128" : "SIMPLE";
}

void simnccl_model_name(const struct simnccl_op *op, uint64_t bytes, char *name, size_t size)
{
	static const char *const reductions[] = {"Sum", "Prod", "MinMax", "MinMax", "SumPostDiv"};
	static const char argument[] = "24ncclDevKernelArgsStorageILm4096EE";
	const char *protocol = protocol_of(op, bytes);
	const char *reduction = op->reduction < 5 ? reductions[op->reduction] : "PreMulSum";
	char plain[112];

	/* NCCL divides before the sum where the type allows. */
	if (op->reduction == ncclAvg && op->type >= ncclFloat16)
		reduction = "PreMulSum";
	switch (op->kind) {
	case SIMNCCL_ALL_REDUCE:
	case SIMNCCL_REDUCE_SCATTER:
	case SIMNCCL_REDUCE:
		snprintf(plain, sizeof(plain), "ncclDevKernel_%s_%s_%s_RING_%s",
			 op->kind == SIMNCCL_ALL_REDUCE ? "AllReduce"
			 : op->kind == SIMNCCL_REDUCE	? "Reduce"
							: "ReduceScatter",
			 reduction, simnccl_type_name(op->type), protocol);
		break;
	case SIMNCCL_BROADCAST:
		snprintf(plain, sizeof(plain), "ncclDevKernel_Broadcast_RING_%s", protocol);
		break;
	case SIMNCCL_ALL_GATHER:
		snprintf(plain, sizeof(plain), "ncclDevKernel_AllGather_RING_%s", protocol);
		break;
	default: /* the rest is made of sends and receives */
		snprintf(plain, sizeof(plain), "ncclDevKernel_SendRecv");
		break;
	}
	snprintf(name, size, "_Z%zu%s%s", strlen(plain), plain, argument);
}
