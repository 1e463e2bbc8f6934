# SPDX-License-Identifier: Apache-2.0
# Turns viewer/knowledge/gpus.tsv into rows of C: SIM_GPU(table name, device name, numbers...).
# The device name, which cuDeviceGetName reports, is the first string that the row's name_pattern
# matches, so that the viewer finds the same row again. "-" in the table means 0 here.

BEGIN { FS = "\t" }

# The first string of the table's small regular expressions: no ^ and $, the first alternative of
# each group, optional characters left out, an optional "NVIDIA " kept.
function first_match(pattern,    out, group, rest, body) {
	gsub(/[\^$]/, "", pattern)
	gsub(/\[[a-z]+\]\?/, "", pattern)
	while (match(pattern, /\[[0-9a-z]+\]/)) {
		body = substr(pattern, RSTART + 1, 1)
		pattern = substr(pattern, 1, RSTART - 1) body substr(pattern, RSTART + RLENGTH)
	}
	while (match(pattern, /\([^()]*\)\??/)) {
		out = substr(pattern, 1, RSTART - 1)
		group = substr(pattern, RSTART, RLENGTH)
		rest = substr(pattern, RSTART + RLENGTH)
		body = group
		gsub(/[()?]/, "", body)
		if (group ~ /\?$/ && body != "NVIDIA ")
			body = ""
		sub(/\|.*/, "", body)
		pattern = out body rest
	}
	return pattern
}

function number(column) {
	return $(field[column]) == "-" ? 0 : $(field[column])
}

NR == 1 {
	for (i = 1; i <= NF; i++)
		field[$i] = i
	next
}

NF > 1 {
	split($(field["compute_capability"]), capability, ".")
	name = $(field["name"])
	gsub(/["\\]/, "", name)
	printf "SIM_GPU(\"%s\", \"%s\", %d, %d, %d, %d,", name, first_match($(field["name_pattern"])),
		capability[1], capability[2], number("sm_count"), number("boost_mhz")
	printf " %s, %s, %s, %s, %d, %d,", number("fp32_tflops"), number("mem_gib"),
		number("mem_bw_gbs"), number("l2_mib"), number("pcie_gen"), number("pcie_width")
	printf " %s, %d, %d)\n", number("nvlink_gbs_total_bidirectional"), number("nvlink_gen"),
		number("tdp_w")
}
