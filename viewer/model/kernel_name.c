/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the kernel's own name in a mangled name (Itanium C++ ABI) or in a readable signature. This
 * is no demangler: it follows nesting and skips template arguments, and gives the input back when
 * it meets something that it does not know.
 */
#include "kernel_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "xmalloc.h"

struct span {
	const char *at;
	size_t length;
};

static char *span_copy(struct span span)
{
	char *copy = xmalloc(span.length + 1);

	memcpy(copy, span.at, span.length);
	copy[span.length] = '\0';
	return copy;
}

/* "12vector_add..." -> the 12 characters; moves *at behind them. */
static bool mangled_source_name(const char **at, struct span *name)
{
	char *behind;
	unsigned long length = strtoul(*at, &behind, 10);

	if (length == 0 || length > strlen(behind))
		return false;
	*name = (struct span){behind, (size_t)length};
	*at = behind + length;
	return true;
}

/* Skips template arguments, **at == 'I', with everything nested in them. */
static bool mangled_skip_arguments(const char **at)
{
	int depth = 0;
	struct span ignored;

	while (**at) {
		if (isdigit((unsigned char)**at)) {
			if (!mangled_source_name(at, &ignored))
				return false;
			continue;
		}
		switch (**at) {
		case 'L': /* a literal "Li4E" has type and value up to its E; "L_Z" a function */
			depth++;
			(*at)++;
			if (**at == '_' || isdigit((unsigned char)**at))
				continue;
			if (islower((unsigned char)**at)) {
				*at += 1 + strcspn(*at + 1, "E");
				continue;
			}
			continue;
		case 'I':
		case 'N':
		case 'X':
		case 'J':
		case 'F':
			depth++;
			break;
		case 'A': /* an array: A10_i */
		case 'D': /* DF16_, Dp, Dn */
		case 'S': /* a substitution: S_, S12_, St, Sa ... */
		case 'T': /* a template parameter: T_, T12_ */
			(*at)++;
			while (isdigit((unsigned char)**at) || isupper((unsigned char)**at))
				(*at)++;
			break;
		case 'U': /* a lambda or an unnamed type: UlvE_, Ut_ */
			if ((*at)[1] == 'l')
				depth++;
			(*at)++;
			break;
		case 'E':
			if (--depth == 0) {
				(*at)++;
				return true;
			}
			/* The number of a lambda follows its E: "E0_". */
			while (isdigit((unsigned char)(*at)[1])) {
				const char *digits = *at + 1;

				while (isdigit((unsigned char)*digits))
					digits++;
				if (*digits != '_')
					break;
				*at = digits;
			}
			break;
		default:
			break;
		}
		if (**at)
			(*at)++;
	}
	return false;
}

static bool mangled_own_name(const char *name, struct span *own)
{
	const char *at =
		name + (name[2] == 'L' ? 3 : 2); /* behind _Z, or _ZL of a static function */
	bool is_nested = *at == 'N';
	bool found = false;

	if (!is_nested)
		return mangled_source_name(&at, own);
	at++;
	while (*at && *at != 'E') {
		if (isdigit((unsigned char)*at)) {
			if (!mangled_source_name(&at, own))
				return found;
			found = true;
		} else if (*at == 'I') {
			if (!mangled_skip_arguments(&at))
				return found;
		} else if (*at == 'S') {
			at++;
			while (isdigit((unsigned char)*at) || isupper((unsigned char)*at))
				at++;
			if (*at == '_' || islower((unsigned char)*at))
				at++;
		} else {
			at++; /* qualifiers, internal linkage */
		}
	}
	return found;
}

/* Moves behind a balanced "<...>" or "(...)". */
static const char *readable_skip(const char *at, char open, char close)
{
	int depth = 0;

	for (; *at; at++) {
		if (*at == open)
			depth++;
		else if (*at == close && --depth == 0)
			return at + 1;
	}
	return at;
}

static struct span readable_own_name(const char *name)
{
	static const char anonymous[] = "(anonymous namespace)";
	struct span own = {name, 0};
	const char *at = name;

	while (*at) {
		if (!strncmp(at, anonymous, sizeof(anonymous) - 1)) {
			at += sizeof(anonymous) - 1;
			own = (struct span){at, 0};
		} else if (*at == '<') {
			const char *behind = readable_skip(at, '<', '>');

			/* "ns::type<int>::kernel": what follows is the name. Otherwise it ended. */
			if (strncmp(behind, "::", 2) != 0 && own.length)
				break;
			at = behind;
		} else if (*at == '(') {
			break;
		} else if (*at == ' ' || *at == ':') {
			at++;
			own = (struct span){at, 0};
		} else {
			at++;
			own.length = (size_t)(at - own.at);
		}
	}
	return own;
}

/* Names that say nothing: the interesting name is a template argument. */
static bool is_wrapper(struct span own)
{
	static const char *const wrappers[] = {"Kernel", "Kernel2", "device_kernel", "kernel"};

	for (size_t i = 0; i < ARRAY_LEN(wrappers); i++) {
		if (own.length == strlen(wrappers[i]) && !strncmp(own.at, wrappers[i], own.length))
			return true;
	}
	return false;
}

/* "cutlass_80_tensorop_..." among the arguments of a wrapper, which follow its own name. */
static bool carried_name(const struct span *own, struct span *carried)
{
	const char *arguments = own->at + own->length;
	const char *at = strstr(arguments, "cutlass");
	const char *digits = at;
	size_t length = 0;

	if (!at)
		return false;
	while (digits > arguments && isdigit((unsigned char)digits[-1]))
		digits--;
	if (digits < at)
		length = strtoul(digits, NULL, 10);
	if (length == 0 || length > strlen(at)) {
		length = 0;
		while (isalnum((unsigned char)at[length]) || at[length] == '_')
			length++;
	}
	*carried = (struct span){at, length};
	return true;
}

char *kernel_short_name(const char *name)
{
	struct span own = {name, strlen(name)};
	struct span carried;

	if (!strncmp(name, "_Z", 2)) {
		if (!mangled_own_name(name, &own))
			return xstrdup(name);
	} else if (strpbrk(name, "<( :")) {
		own = readable_own_name(name);
	}
	if (is_wrapper(own) && carried_name(&own, &carried))
		own = carried;
	if (own.length == 0)
		return xstrdup(name);
	return span_copy(own);
}
