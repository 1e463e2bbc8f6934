/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCIe rates by generation. Raw: the specification's GT/s times encoding, 16 lanes. Attainable:
 *   gen 2  5.5 .. 6 GB/s     NVIDIA's FAQ and developer blog
 *   gen 3  12.15 / 12.89     P100 H2D / D2H (gearshifft PR 82)
 *   gen 4  25.7 .. 26.2      A100 (bandwidthTest; nvbandwidth's README)
 *   gen 5  55.43 / 55.06     8 x H200 (ml-engineering)
 * as the share of raw that these are; generations 1 and 6 by the share of their neighbour. Minimum:
 * NCCL's planning constants per x16 (topo.cc): 3, 6, 12, 24, 48, 96 GB/s.
 *
 * NVLink, all-reduce in a ring over 8 GPUs, of one direction raw: A100 235 of 300, H100 and H200
 * 363 to 367 of 450, B200 682 of 900 (nccl-tests, published); NCCL plans with 240, 371 and 722, on
 * V100 with 120 of 150.
 */
#include "link_rate.h"

#include <stddef.h>

#include "array_len.h"

static const struct link_rate rates_x16[] = {
	[1] = {4.0, 3.2, 3.0},	  [2] = {8.0, 6.0, 6.0},    [3] = {15.75, 12.6, 12.0},
	[4] = {31.5, 25.8, 24.0}, [5] = {63.0, 55.4, 48.0}, [6] = {121.0, 106.0, 96.0},
};

struct link_rate link_rate_of(uint16_t generation, uint16_t width)
{
	struct link_rate rate = {0, 0, 0};
	double lanes = width / 16.0;

	if (!generation || generation >= ARRAY_LEN(rates_x16) || !width || width > 32)
		return rate;
	rate.raw_gbs = rates_x16[generation].raw_gbs * lanes;
	rate.attainable_gbs = rates_x16[generation].attainable_gbs * lanes;
	rate.minimum_gbs = rates_x16[generation].minimum_gbs * lanes;
	return rate;
}

struct link_rate link_rate_of_nvlink(double both_directions_gbs)
{
	double raw_gbs = both_directions_gbs > 0 ? both_directions_gbs / 2 : 0;

	return (struct link_rate){raw_gbs, 0.80 * raw_gbs, 0.75 * raw_gbs};
}
