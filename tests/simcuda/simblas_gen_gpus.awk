# SPDX-License-Identifier: Apache-2.0
# Turns viewer/knowledge/gpus.tsv into the rows that the simulated cuBLAS needs:
# SIMBLAS_GPU(name_pattern, fp64 tensor, tf32, fp16, bf16, int8, fp32), in T/s; "-" becomes 0.

BEGIN { FS = "\t" }

function number(column) {
	return $(field[column]) == "-" ? 0 : $(field[column])
}

NR == 1 {
	for (i = 1; i <= NF; i++)
		field[$i] = i
	next
}

NF > 1 {
	pattern = $(field["name_pattern"])
	gsub(/\\/, "\\\\", pattern)
	gsub(/"/, "\\\"", pattern)
	printf "SIMBLAS_GPU(\"%s\", %s, %s, %s, %s, %s, %s)\n", pattern, number("fp64_tc_tflops"),
		number("tf32_tflops"), number("fp16_tflops"), number("bf16_tflops"),
		number("int8_tops"), number("fp32_tflops")
}
