/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes hostile texts harmless. Overlong forms, surrogates and code points beyond U+10FFFF are no
 * UTF-8.
 */
#include "printable.h"

#include <stdint.h>

size_t utf8_sequence(const char *at)
{
	const unsigned char *byte = (const unsigned char *)at;
	uint32_t code;
	size_t length;

	if (byte[0] < 0x80)
		return 1;
	if (byte[0] >= 0xc2 && byte[0] <= 0xdf)
		length = 2;
	else if (byte[0] >= 0xe0 && byte[0] <= 0xef)
		length = 3;
	else if (byte[0] >= 0xf0 && byte[0] <= 0xf4)
		length = 4;
	else
		return 0;
	code = byte[0] & (0xffu >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (byte[i] & 0x3fu);
	}
	if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000) || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return length;
}

/* C1 controls (U+0080 .. U+009F) steer terminals too. */
static int is_control(const char *at, size_t length)
{
	unsigned char byte = (unsigned char)at[0];

	if (length == 1)
		return byte < 0x20 || byte == 0x7f;
	return length == 2 && byte == 0xc2 && (unsigned char)at[1] < 0xa0;
}

static void add_plain(struct text *text, const char *bytes, size_t length)
{
	if (is_control(bytes, length))
		text_addf(text, "\\x%02x", (unsigned char)bytes[length - 1]);
	else
		text_add_bytes(text, bytes, length);
}

void text_add_printable(struct text *text, const char *bytes)
{
	text_add(text, "");
	while (bytes && *bytes) {
		size_t length = utf8_sequence(bytes);

		if (length)
			add_plain(text, bytes, length);
		else
			text_add(text, "\xef\xbf\xbd");
		bytes += length ? length : 1;
	}
}

void text_add_html(struct text *text, const char *bytes)
{
	text_add(text, "");
	while (bytes && *bytes) {
		size_t length = utf8_sequence(bytes);

		switch (*bytes) {
		case '&':
			text_add(text, "&amp;");
			break;
		case '<':
			text_add(text, "&lt;");
			break;
		case '>':
			text_add(text, "&gt;");
			break;
		case '"':
			text_add(text, "&quot;");
			break;
		case '\'':
			text_add(text, "&#39;");
			break;
		default:
			if (length)
				add_plain(text, bytes, length);
			else
				text_add(text, "\xef\xbf\xbd");
		}
		bytes += length ? length : 1;
	}
}
