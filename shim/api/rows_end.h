/* SPDX-License-Identifier: Apache-2.0 */
/* Undoes rows.h, so that the next table can be read in another way. */
#undef WRAP
#undef WRAP_HIDDEN
#undef WRAP_PTSZ
#undef WRAP_HIDDEN_PTSZ
#undef WRAP_PTDS
#undef WRAP_TIMED_PTSZ
#undef WRAP_TIMED_PTDS
#undef WRAP_KEPT
#undef WRAP_BEFORE
#undef WRAP_BEFORE_PTSZ
#undef ROW
