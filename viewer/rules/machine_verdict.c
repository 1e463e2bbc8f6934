/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences and thresholds, each once. Where a number is missing it is not guessed. */
#include "machine_verdict.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "array_len.h"
#include "link_rate.h"

enum machine_verdict machine_judge_link(const struct machine_link *link, bool is_loaded,
					struct text *what, struct text *fix)
{
	struct link_rate now = link_rate_of(link->gen, link->width);
	struct link_rate able = link_rate_of(link->gen_able, link->width_able);
	bool is_narrow = link->width && link->width < link->width_able;
	bool is_slow = link->gen && link->gen < link->gen_able;

	if (!link->width_able || !link->gen_able || (!link->width && !link->gen))
		return MACHINE_UNKNOWN;
	/* The number of lanes does not change with the load, the generation does. */
	if (!is_narrow && !(is_slow && is_loaded))
		return is_slow || !link->gen ? MACHINE_UNKNOWN : MACHINE_GOOD;
	if (is_loaded && now.raw_gbs > 0)
		text_addf(
			what,
			"The link runs at PCIe gen %u x%u; device and slot can do gen %u x%u: %.1f "
			"instead of %.1f GB/s.",
			link->gen, link->width, link->gen_able, link->width_able,
			now.attainable_gbs, able.attainable_gbs);
	else
		text_addf(what, "The link has %u lanes; device and slot can do %u.", link->width,
			  link->width_able);
	text_add(fix, is_narrow ? "Reseat the card or the riser, and check whether the slot "
				  "shares its lanes with another one."
				: "Check riser, slot and the firmware's link speed setting (not "
				  "\"Auto\" behind a riser), and dmesg for link errors.");
	return MACHINE_FAULT;
}

static const struct {
	uint64_t bit;
	const char *name;
} reasons_by_bit[] = {
	{THROTTLE_IDLE, "idle"},
	{THROTTLE_APPLICATION_CLOCKS, "application clocks setting"},
	{THROTTLE_POWER_CAP, "software power cap"},
	{THROTTLE_HARDWARE, "hardware slowdown"},
	{THROTTLE_SYNC_BOOST, "sync boost"},
	{THROTTLE_THERMAL, "thermal slowdown"},
	{THROTTLE_HARDWARE_THERMAL, "hardware thermal slowdown"},
	{THROTTLE_POWER_BRAKE, "power brake"},
	{THROTTLE_DISPLAY_CLOCKS, "display clocks setting"},
};

void machine_add_reasons(struct text *text, uint64_t reasons)
{
	const char *separator = "";

	for (size_t i = 0; i < ARRAY_LEN(reasons_by_bit); i++) {
		if (!(reasons & reasons_by_bit[i].bit))
			continue;
		text_addf(text, "%s%s", separator, reasons_by_bit[i].name);
		separator = ", ";
	}
	if (!*separator)
		text_add(text, "none");
}

enum machine_verdict machine_judge_clocks(uint64_t reasons, struct text *what, struct text *fix)
{
	if (reasons & THROTTLE_FAULTS) {
		text_add(what, "The GPU holds its clocks down: ");
		machine_add_reasons(what, reasons & THROTTLE_FAULTS);
		text_add(what, ".");
		text_add(fix,
			 reasons & THROTTLE_POWER_BRAKE
				 ? "Check the power supply and its cables: the board's own power "
				   "brake is on."
			 : reasons & (THROTTLE_THERMAL | THROTTLE_HARDWARE_THERMAL)
				 ? "Check fans, airflow and inlet temperature: the GPU is too "
				   "hot."
				 : "Check temperature and power supply: the hardware halves its "
				   "clocks to protect itself.");
		return MACHINE_FAULT;
	}
	if (reasons & (THROTTLE_APPLICATION_CLOCKS | THROTTLE_SYNC_BOOST)) {
		text_add(what, "A setting holds the clocks down: ");
		machine_add_reasons(what,
				    reasons & (THROTTLE_APPLICATION_CLOCKS | THROTTLE_SYNC_BOOST));
		text_add(what, ".");
		text_add(fix, "`nvidia-smi -rac` and `nvidia-smi -rgc` reset clocks that somebody "
			      "set.");
		return MACHINE_INFO;
	}
	if (reasons & THROTTLE_POWER_CAP) {
		text_add(what,
			 "The GPU runs at its power limit (software power cap), which is usual "
			 "under full load.");
		text_add(fix, "Nothing is broken; `nvidia-smi -q -d POWER` shows whether the limit "
			      "was lowered.");
		return MACHINE_INFO;
	}
	return MACHINE_GOOD;
}

enum machine_verdict machine_judge_health(const struct machine_health *health, struct text *what,
					  struct text *fix)
{
	if (health->ecc_errors < 0 && health->remap_failed < 0 && health->remapped_rows < 0)
		return MACHINE_UNKNOWN;
	if (health->remap_failed > 0) {
		text_add(what, "The GPU's memory has a faulty row and no spare one is left.");
		text_add(fix, "Take the GPU out of service and have it replaced.");
		return MACHINE_FAULT;
	}
	if (health->ecc_growth > 0) {
		text_addf(what, "%lld uncorrected memory errors were counted during the recording.",
			  (long long)health->ecc_growth);
		text_add(fix,
			 "Drain the node and reset the GPU, then look for Xid 48, 63, 64, 94 and "
			 "95 in dmesg.");
		return MACHINE_FAULT;
	}
	if (health->ecc_errors > 0) {
		text_addf(what,
			  "%lld uncorrected memory errors since the driver was loaded, none during "
			  "this look.",
			  (long long)health->ecc_errors);
		text_add(fix, "Reset the GPU when it is free, and watch whether the number grows.");
		return MACHINE_INFO;
	}
	if (health->remapped_rows > 0) {
		text_addf(what, "%lld rows of the GPU's memory were replaced by spare ones.",
			  (long long)health->remapped_rows);
		text_add(fix, "Nothing to do now; more than a few per GPU are a reason to have it "
			      "checked.");
		return MACHINE_INFO;
	}
	return MACHINE_GOOD;
}

enum machine_verdict machine_judge_tenants(const struct machine_tenants *tenants, struct text *what,
					   struct text *fix)
{
	const char *join = "";

	if (tenants->other_processes > 0) {
		text_addf(what, "%lld other process%s on the GPU",
			  (long long)tenants->other_processes,
			  tenants->other_processes == 1 ? " has memory" : "es have memory");
		if (tenants->other_bytes)
			text_addf(what, " (%.1f GiB)", (double)tenants->other_bytes / 1073741824);
		join = "; ";
	}
	if (tenants->has_mig) {
		text_addf(what, "%s%s", join, "the GPU is partitioned (MIG)");
		join = "; ";
	}
	if (tenants->has_mps) {
		text_addf(what, "%s%s", join, "processes share it through MPS");
		join = "; ";
	}
	if (!*join)
		return tenants->other_processes < 0 ? MACHINE_UNKNOWN : MACHINE_GOOD;
	text_add(what, ": times of this process depend on what the others do.");
	text_add(fix, "Run alone on a whole GPU before comparing times or blaming the program.");
	return MACHINE_INFO;
}

static void add_version(struct text *text, struct cuda_version version, bool is_driver)
{
	if (is_driver && version.patch)
		text_addf(text, "%u.%02u.%02u", version.major, version.minor, version.patch);
	else if (is_driver)
		text_addf(text, "%u.%02u", version.major, version.minor);
	else
		text_addf(text, "%u.%u", version.major, version.minor);
}

enum machine_verdict machine_judge_versions(const struct machine_versions *versions,
					    struct text *what, struct text *fix)
{
	struct cuda_version least, shipped;
	enum cuda_support support =
		versions->cc_major ? cuda_versions_support(versions->toolkit, versions->cc_major,
							   versions->cc_minor)
				   : CUDA_SUPPORT_UNKNOWN;

	if (support == CUDA_SUPPORT_DROPPED) {
		text_add(what, "CUDA ");
		add_version(what, versions->toolkit, false);
		text_addf(what, " no longer supports GPUs of compute capability %u.%u.",
			  versions->cc_major, versions->cc_minor);
		text_add(fix, "Use programs built with an older toolkit for this GPU.");
		return MACHINE_FAULT;
	}
	if (!versions->driver.major || !versions->toolkit.major)
		return MACHINE_UNKNOWN;
	least = cuda_versions_minimum_driver(versions->toolkit);
	shipped = cuda_versions_shipped_driver(versions->toolkit);
	if (least.major && cuda_version_compare(versions->driver, least) < 0) {
		text_add(what, "Driver ");
		add_version(what, versions->driver, true);
		text_add(what, " is too old for CUDA ");
		add_version(what, versions->toolkit, false);
		text_add(what, ", which needs ");
		add_version(what, least, true);
		text_add(what, " or newer.");
		text_add(fix, "Update the driver, or use a build for an older CUDA.");
		return MACHINE_FAULT;
	}
	if (support == CUDA_SUPPORT_TOO_OLD) {
		text_add(what, "CUDA ");
		add_version(what, versions->toolkit, false);
		text_addf(what,
			  " is older than GPUs of compute capability %u.%u: only PTX can run, "
			  "compiled at every start.",
			  versions->cc_major, versions->cc_minor);
		text_add(fix, "Use a build with a toolkit that knows this GPU.");
		return MACHINE_FAULT;
	}
	if (shipped.major && cuda_version_compare(versions->driver, shipped) < 0) {
		text_add(what, "Driver ");
		add_version(what, versions->driver, true);
		text_add(what, " runs CUDA ");
		add_version(what, versions->toolkit, false);
		text_add(what, " by minor-version compatibility: PTX of this toolkit and driver "
			       "functions newer than the driver fail (errors 222 and 36).");
		text_add(fix, "Update the driver to at least ");
		add_version(fix, shipped, true);
		text_add(fix, " if such errors appear.");
		return MACHINE_INFO;
	}
	return MACHINE_GOOD;
}

static const struct {
	int32_t status;
	const char *name, *fix;
} version_errors[] = {
	{35, "the driver is too old for this CUDA runtime",
	 "Update the driver, or use a build for an older CUDA."},
	{36, "the call needs a newer driver",
	 "Update the driver to the one that this toolkit was shipped with."},
	{100, "no GPU was found",
	 "Check CUDA_VISIBLE_DEVICES, the container's GPU option and `nvidia-smi`."},
	{209, "no code for this GPU in the binary",
	 "Build for the GPU's compute capability; `gputrace doctor --binary FILE` shows what the "
	 "binary has."},
	{222, "the PTX is of a newer toolkit than the driver",
	 "Update the driver, or build machine code for this GPU instead of PTX."},
	{803, "driver and libcuda are of different versions",
	 "Reboot or reload the kernel module after a driver update; in a container, use the host's "
	 "libcuda."},
	{804, "forward compatibility was tried on a GPU that does not offer it",
	 "Remove the cuda-compat folder from the library path: it is for data-center GPUs only."},
};

bool machine_is_cuda_call(const char *api)
{
	if (strncmp(api, "cuda", 4) == 0)
		return isupper((unsigned char)api[4]) != 0;
	return strncmp(api, "cu", 2) == 0 && isupper((unsigned char)api[2]) != 0;
}

const char *machine_version_error(int32_t status)
{
	for (size_t i = 0; i < ARRAY_LEN(version_errors); i++) {
		if (version_errors[i].status == status)
			return version_errors[i].name;
	}
	return NULL;
}

const char *machine_version_error_fix(int32_t status)
{
	for (size_t i = 0; i < ARRAY_LEN(version_errors); i++) {
		if (version_errors[i].status == status)
			return version_errors[i].fix;
	}
	return NULL;
}
