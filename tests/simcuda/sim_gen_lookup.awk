# SPDX-License-Identifier: Apache-2.0
# Writes the rows of the cuGetProcAddress table: sim_api_*.def first, then the installed
# cudaTypedefs.h and cudaProfilerTypedefs.h.
#
# The header names every ABI of a function as PFN_<name>_v<version>[_ptds|_ptsz]. The k-th version of
# a name is its k-th exported suffix (none, _v2, _v3, ...); a per-thread twin belongs to the newest
# plain version that is not newer than itself. Only rows whose symbol we export are written, so that
# every other name is "not found", as the real driver answers for what it lacks.

# A row of ours: which symbols exist.
/^(API|PTDS|PTSZ)\(/ {
	split($0, part, /[(,] */)
	exported[part[3]] = 1
	if (part[1] == "PTDS")
		exported[part[3] "_ptds"] = 1
	if (part[1] == "PTSZ")
		exported[part[3] "_ptsz"] = 1
	next
}

/^[ \t]*typedef .*PFN_cu[A-Za-z0-9_]+_v[0-9]+(_ptds|_ptsz)?\)/ {
	match($0, /PFN_cu[A-Za-z0-9_]+_v[0-9]+(_ptds|_ptsz)?\)/)
	word = substr($0, RSTART + 4, RLENGTH - 5)
	twin = ""
	if (word ~ /_pt[ds]z$|_ptds$/) {
		twin = substr(word, length(word) - 4)
		word = substr(word, 1, length(word) - 5)
	}
	match(word, /_v[0-9]+$/)
	name = substr(word, 1, RSTART - 1)
	version = substr(word, RSTART + 2) + 0
	if (twin == "") {
		plain_count[name]++
		plain[name, plain_count[name]] = version
	} else {
		twin_count++
		twin_name[twin_count] = name
		twin_version[twin_count] = version
		twin_suffix[twin_count] = twin
	}
}

# How many plain versions of the name are not newer: the k of the k-th suffix.
function rank(name, version,    i, k) {
	k = 0
	for (i = 1; i <= plain_count[name]; i++)
		if (plain[name, i] <= version)
			k++
	return k
}

function write_row(name, version, per_thread, twin,    k, symbol) {
	k = rank(name, version)
	if (k == 0)
		return
	symbol = name (k > 1 ? "_v" k : "") twin
	if (symbol in exported)
		printf "LOOKUP_ROW(\"%s\", %d, %d, %s)\n", name, version, per_thread, symbol
}

END {
	for (name in plain_count)
		for (i = 1; i <= plain_count[name]; i++)
			write_row(name, plain[name, i], 0, "")
	for (i = 1; i <= twin_count; i++)
		write_row(twin_name[i], twin_version[i], 1, twin_suffix[i])
}
