/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and escapes of JSON text. Times are decimal microseconds with up to 19 digits, more than
 * a double holds, so they are read as integers.
 */
#include "json_text.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

struct decimal {
	bool is_negative;
	uint64_t digits; /* the first 19 significant ones */
	int exponent;	 /* value = digits * 10^exponent */
	bool is_exact;	 /* no digit was dropped */
};

static void add_digit(struct decimal *d, char c, bool is_fraction)
{
	if (d->digits > (UINT64_MAX - (uint64_t)(c - '0')) / 10) {
		if (!is_fraction)
			d->exponent++;
		if (c != '0')
			d->is_exact = false;
		return;
	}
	d->digits = d->digits * 10 + (uint64_t)(c - '0');
	if (is_fraction)
		d->exponent--;
}

static bool read_decimal(const struct json_slice *slice, struct decimal *d)
{
	const char *at = slice->at, *end = slice->at + slice->length;
	bool has_digit = false;

	*d = (struct decimal){.is_exact = true};
	if (at < end && *at == '-') {
		d->is_negative = true;
		at++;
	}
	for (; at < end && *at >= '0' && *at <= '9'; at++, has_digit = true)
		add_digit(d, *at, false);
	if (at < end && *at == '.') {
		for (at++; at < end && *at >= '0' && *at <= '9'; at++, has_digit = true)
			add_digit(d, *at, true);
	}
	if (has_digit && at < end && (*at == 'e' || *at == 'E')) {
		int sign = 1, value = 0;
		bool has_exponent = false;
		at++;
		if (at < end && (*at == '+' || *at == '-'))
			sign = *at++ == '-' ? -1 : 1;
		for (; at < end && *at >= '0' && *at <= '9'; at++, has_exponent = true) {
			if (value < 10000)
				value = value * 10 + (*at - '0');
		}
		if (!has_exponent)
			return false;
		d->exponent += sign * value;
	}
	return has_digit && at == end;
}

/* The decimal as an integer, rounded to nearest, halves away from zero. */
static bool round_decimal(const struct decimal *d, uint64_t *out)
{
	uint64_t value = d->digits;
	int exponent = d->exponent;

	if (!d->is_exact && exponent >= 0)
		return false; /* more digits than 64 bits hold */
	for (; exponent > 0 && value; exponent--) {
		if (value > UINT64_MAX / 10)
			return false;
		value *= 10;
	}
	if (exponent < -19) {
		*out = 0;
		return true;
	}
	uint64_t divisor = 1;
	for (; exponent < 0; exponent++)
		divisor *= 10;
	uint64_t rest = value % divisor;
	*out = value / divisor + (rest >= divisor - rest && divisor > 1 ? 1 : 0);
	return true;
}

static bool decimal_to_int(const struct decimal *d, int64_t *out)
{
	uint64_t value;
	if (!round_decimal(d, &value) || value > INT64_MAX)
		return false;
	*out = d->is_negative ? -(int64_t)value : (int64_t)value;
	return true;
}

bool json_to_int(const struct json_slice *slice, int64_t *out)
{
	struct decimal d;
	return read_decimal(slice, &d) && decimal_to_int(&d, out);
}

bool json_to_uint(const struct json_slice *slice, uint64_t *out)
{
	struct decimal d;
	if (!read_decimal(slice, &d) || !round_decimal(&d, out))
		return false;
	return !d.is_negative || *out == 0;
}

bool json_to_double(const struct json_slice *slice, double *out)
{
	struct decimal d;
	char copy[64];
	if (slice->length >= sizeof(copy) || !read_decimal(slice, &d))
		return false;
	memcpy(copy, slice->at, slice->length);
	copy[slice->length] = 0;
	*out = strtod(copy, NULL);
	return true;
}

bool json_to_ns(const struct json_slice *slice, int64_t *out)
{
	struct decimal d;
	if (!read_decimal(slice, &d))
		return false;
	d.exponent += 3;
	return decimal_to_int(&d, out);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The 16-bit number of \uXXXX whose X stand at `at`, or -1. */
static int read_hex4(const char *at, const char *end)
{
	int value = 0;
	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_value(at[i]);
		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

static void add_utf8(struct text *out, uint32_t code)
{
	char bytes[4];
	size_t n;
	if (code < 0x80) {
		bytes[0] = (char)code;
		n = 1;
	} else if (code < 0x800) {
		bytes[0] = (char)(0xc0 | code >> 6);
		bytes[1] = (char)(0x80 | (code & 0x3f));
		n = 2;
	} else if (code < 0x10000) {
		bytes[0] = (char)(0xe0 | code >> 12);
		bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (code & 0x3f));
		n = 3;
	} else {
		bytes[0] = (char)(0xf0 | code >> 18);
		bytes[1] = (char)(0x80 | (code >> 12 & 0x3f));
		bytes[2] = (char)(0x80 | (code >> 6 & 0x3f));
		bytes[3] = (char)(0x80 | (code & 0x3f));
		n = 4;
	}
	text_add_bytes(out, bytes, n);
}

/* Resolves \uXXXX (and its second half); `at` stands behind the u. Returns what it took. */
static size_t unescape_unicode(const char *at, const char *end, struct text *out, unsigned *odd)
{
	int code = read_hex4(at, end);
	if (code < 0) {
		text_add(out, "\\u");
		(*odd)++;
		return 0;
	}
	size_t taken = 4;
	uint32_t full = (uint32_t)code;
	if (code >= 0xd800 && code < 0xdc00 && end - at >= 10 && at[4] == '\\' && at[5] == 'u') {
		int low = read_hex4(at + 6, end);
		if (low >= 0xdc00 && low < 0xe000) {
			full = 0x10000 + ((uint32_t)(code - 0xd800) << 10) +
			       (uint32_t)(low - 0xdc00);
			taken = 10;
		}
	}
	if (full == 0 || (full >= 0xd800 && full < 0xe000)) {
		full = 0xfffd;
		(*odd)++;
	}
	add_utf8(out, full);
	return taken;
}

unsigned json_unescape(const struct json_slice *slice, struct text *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at = slice->at, *end = slice->at + slice->length;
	unsigned odd = 0;

	while (at < end) {
		const char *stop = memchr(at, '\\', (size_t)(end - at));
		if (!stop || stop + 1 == end)
			stop = end;
		text_add_bytes(out, at, (size_t)(stop - at));
		if (stop == end)
			break;
		char c = stop[1];
		const char *known = c ? strchr(from, c) : NULL;
		at = stop + 2;
		if (known) {
			text_add_bytes(out, &to[known - from], 1);
		} else if (c == 'u') {
			at += unescape_unicode(at, end, out, &odd);
		} else {
			text_add_bytes(out, stop, 2);
			odd++;
		}
	}
	return odd;
}
