/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a COLUMNS payload back into rows: the other side of collector/column_encode.c, but for
 * hostile input. Columns that this program does not know, or whose encoding it does not know, are
 * left out (their field reads 0).
 */
#ifndef GPUTRACE_COLUMN_DECODE_H
#define GPUTRACE_COLUMN_DECODE_H

#include <stddef.h>
#include <stdint.h>

struct time_predictor; /* time_predict.h */

/*
 * times: memory for predictions, half a megabyte; what is in it does not matter.
 * rows: count structs of the kind, threads: count numbers; both are overwritten. 0, or -EBADMSG
 * when the payload contradicts itself (rows and threads then hold anything).
 */
int column_decode(uint16_t kind, const uint8_t *payload, size_t bytes, uint32_t count,
		  struct time_predictor *times, void *rows, uint32_t *threads);

#endif
