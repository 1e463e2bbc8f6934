# SPDX-License-Identifier: Apache-2.0
# Lists what the simulated CUPTI needs of one installed header, by what its lines look like:
#   cupti_driver_cbid.h, cupti_runtime_cbid.h   SIMCUPTI_CBID("cuMemAlloc_v2", 243)
#   cupti_result.h                              SIMCUPTI_RESULT(CUPTI_ERROR_...)

/CUPTI_(DRIVER|RUNTIME)_TRACE_CBID_[A-Za-z0-9_]+ *= *[0-9]+/ {
	name = $1
	sub(/^CUPTI_(DRIVER|RUNTIME)_TRACE_CBID_/, "", name)
	number = $3
	sub(/,.*/, "", number)
	if (name != "INVALID" && name != "SIZE" && name != "FORCE_INT")
		printf "SIMCUPTI_CBID(\"%s\", %d)\n", name, number
}

/^ *CUPTI_(SUCCESS|ERROR_[A-Z0-9_]+) *= *[0-9]+,/ {
	if ($1 !~ /FORCE_INT/)
		printf "SIMCUPTI_RESULT(%s)\n", $1
}
