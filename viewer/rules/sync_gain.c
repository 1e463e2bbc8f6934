/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gain of a removed wait, bounded by the host's own work.
 */
#include "sync_gain.h"

void sync_gain_set(const struct rule_context *context, struct finding *finding, double idle_ms)
{
	double host_work_ms = context->host.step_ms - context->host.wait_ms;
	double room_ms = context->step_ms - host_work_ms;

	finding->draws_from = 1u << LEDGER_IDLE_SYNC;
	finding->gain_high_ms = idle_ms;
	if (context->host.has_thread && room_ms < finding->gain_high_ms)
		finding->gain_high_ms = room_ms > 0 ? room_ms : 0;
	/* Another wait later in the step may take over a part of it. */
	finding->gain_low_ms = finding->gain_high_ms / 2;
	finding_number(finding, "host_work_ms_per_step", host_work_ms);
	finding_number(finding, "host_wait_ms_per_step", context->host.wait_ms);
}
