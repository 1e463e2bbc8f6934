# SPDX-License-Identifier: Apache-2.0
# Lists the CUresult enumerators of the installed cuda.h as SIM_ERROR(CUDA_ERROR_...) rows.

/^typedef enum cudaError_enum/ { inside = 1 }
/^} CUresult;/ { inside = 0 }
inside && /^[ \t]*CUDA_[A-Z0-9_]+[ \t]*=/ {
	match($0, /CUDA_[A-Z0-9_]+/)
	printf "SIM_ERROR(%s)\n", substr($0, RSTART, RLENGTH)
}
