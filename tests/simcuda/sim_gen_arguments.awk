# SPDX-License-Identifier: Apache-2.0
# Writes, for every function of the sim_api_*.def, the macro SIM_PASSED_<name>: it declares
# `arguments`, the structure in which CUPTI passes the function's parameters to callbacks. The
# structures are those of the installed generated_cuda_meta.h, which is read first where it is.

/^} cu[A-Za-z0-9_]+_params;/ {
	known[substr($2, 1, length($2) - 1)] = 1
	next
}

# The names of parameters "(type *name, type name)", or "" for none.
function names_of(text,    part, count, i, list) {
	gsub(/^\(|\)$/, "", text)
	if (text == "void")
		return ""
	count = split(text, part, /,[ \t]*/)
	for (i = 1; i <= count; i++) {
		match(part[i], /[A-Za-z0-9_]+$/)
		list = list (i > 1 ? ", " : "") substr(part[i], RSTART, RLENGTH)
	}
	return list
}

function write_one(name, list) {
	if (list != "" && (name "_params") in known)
		printf "#define SIM_PASSED_%s const %s_params passed = {%s}; " \
			"const void *const arguments = &passed\n", name, name, list
	else
		printf "#define SIM_PASSED_%s const void *const arguments = NULL\n", name
}

function take(text,    head, start, i, depth, c, list) {
	split(text, head, /[(,] */)
	start = index(text, head[3]) + length(head[3])
	start += index(substr(text, start), "(") - 1
	for (i = start; i <= length(text); i++) {
		c = substr(text, i, 1)
		depth += c == "(" ? 1 : c == ")" ? -1 : 0
		if (depth == 0)
			break
	}
	if (i > length(text))
		return 0 # the row goes on
	list = names_of(substr(text, start, i - start + 1))
	write_one(head[3], list)
	if (head[1] != "API")
		write_one(head[3] "_" tolower(head[1]), list)
	return 1
}

/^(API|PTDS|PTSZ)\(/ {
	row = $0
	is_open = !take(row)
	next
}

is_open {
	sub(/^[ \t]+/, "")
	row = row " " $0
	is_open = !take(row)
}
