/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps every spelling of a row in the .def tables to one macro, which the includer defines:
 *
 *   ROW(name, TWIN, check, effect, params, args, before, capture...)
 *
 * TWIN is ONE, PTSZ or PTDS (one function, or also a twin with that suffix). check is PUBLIC where
 * the installed headers declare the function to C, else HIDDEN. Include this after defining ROW,
 * then the table, then rows_end.h.
 */
#define WRAP(name, effect, params, args, ...)                                                      \
	ROW(name, ONE, PUBLIC, effect, params, args, (void)0, __VA_ARGS__)
#define WRAP_HIDDEN(name, effect, params, args, ...)                                               \
	ROW(name, ONE, HIDDEN, effect, params, args, (void)0, __VA_ARGS__)
#define WRAP_PTSZ(name, effect, params, args, ...)                                                 \
	ROW(name, PTSZ, PUBLIC, effect, params, args, (void)0, __VA_ARGS__)
#define WRAP_HIDDEN_PTSZ(name, effect, params, args, ...)                                          \
	ROW(name, PTSZ, HIDDEN, effect, params, args, (void)0, __VA_ARGS__)
#define WRAP_PTDS(name, effect, params, args, ...)                                                 \
	ROW(name, PTDS, PUBLIC, effect, params, args, (void)0, __VA_ARGS__)
/* Work that is issued to a stream: what says which kind of work, for measuring it by events. */
#define WRAP_TIMED_PTSZ(name, what, stream, effect, params, args, ...)                             \
	ROW(name, PTSZ, PUBLIC, effect, params, args, gpu_events_before(call, what, stream),       \
	    gpu_events_after(call, stream), __VA_ARGS__)
#define WRAP_TIMED_PTDS(name, what, effect, params, args, ...)                                     \
	ROW(name, PTDS, PUBLIC, effect, params, args, gpu_events_before(call, what, NULL),         \
	    gpu_events_after(call, NULL), __VA_ARGS__)
/* No record: what it tells is kept, also while nothing is recorded; see cudnn.def. */
#define WRAP_KEPT(name, params, args, before, ...)                                                 \
	ROW(name, ONE, PUBLIC, KEPT, params, args, before, __VA_ARGS__)
#define WRAP_BEFORE(name, effect, params, args, before, ...)                                       \
	ROW(name, ONE, PUBLIC, effect, params, args, before, __VA_ARGS__)
#define WRAP_BEFORE_PTSZ(name, effect, params, args, before, ...)                                  \
	ROW(name, PTSZ, PUBLIC, effect, params, args, before, __VA_ARGS__)
