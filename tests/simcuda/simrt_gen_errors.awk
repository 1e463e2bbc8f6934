# SPDX-License-Identifier: Apache-2.0
# Lists the enumerators of cudaError in the installed driver_types.h as SIMRT_ERROR(name) rows.

/^enum __device_builtin__ cudaError$/ { inside = 1 }
inside && /^ *};/ { inside = 0 }
inside && /^ *cuda[A-Za-z0-9]+ *= *[0-9]+/ {
	match($0, /cuda[A-Za-z0-9]+/)
	printf "SIMRT_ERROR(%s)\n", substr($0, RSTART, RLENGTH)
}
