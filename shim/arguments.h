/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes of a row's parameters the structure in which CUPTI passes them to callbacks: one field per
 * parameter, in order, as the compiler lays them out. abi_check_driver.c compares them with those
 * of the installed headers.
 *
 *   ARGUMENTS_FIELDS(params, args)   the fields; params and args are columns of a row
 *   ARGUMENTS_LOCALS(args)           variables of the parameters' names, read from `given`
 */
#ifndef GPUTRACE_SHIM_ARGUMENTS_H
#define GPUTRACE_SHIM_ARGUMENTS_H

#define ARGUMENTS_CAT(a, b)  ARGUMENTS_CAT_(a, b)
#define ARGUMENTS_CAT_(a, b) a##b

/* Calls m for each of up to 12 things in a list without parentheses. */
#define ARGUMENTS_COUNT(...)							    ARGUMENTS_COUNT_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define ARGUMENTS_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, n, ...) n
#define ARGUMENTS_EACH(m, ...)                                                                     \
	ARGUMENTS_CAT(ARGUMENTS_EACH_, ARGUMENTS_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define ARGUMENTS_EACH_1(m, a)	     m(a)
#define ARGUMENTS_EACH_2(m, a, ...)  m(a) ARGUMENTS_EACH_1(m, __VA_ARGS__)
#define ARGUMENTS_EACH_3(m, a, ...)  m(a) ARGUMENTS_EACH_2(m, __VA_ARGS__)
#define ARGUMENTS_EACH_4(m, a, ...)  m(a) ARGUMENTS_EACH_3(m, __VA_ARGS__)
#define ARGUMENTS_EACH_5(m, a, ...)  m(a) ARGUMENTS_EACH_4(m, __VA_ARGS__)
#define ARGUMENTS_EACH_6(m, a, ...)  m(a) ARGUMENTS_EACH_5(m, __VA_ARGS__)
#define ARGUMENTS_EACH_7(m, a, ...)  m(a) ARGUMENTS_EACH_6(m, __VA_ARGS__)
#define ARGUMENTS_EACH_8(m, a, ...)  m(a) ARGUMENTS_EACH_7(m, __VA_ARGS__)
#define ARGUMENTS_EACH_9(m, a, ...)  m(a) ARGUMENTS_EACH_8(m, __VA_ARGS__)
#define ARGUMENTS_EACH_10(m, a, ...) m(a) ARGUMENTS_EACH_9(m, __VA_ARGS__)
#define ARGUMENTS_EACH_11(m, a, ...) m(a) ARGUMENTS_EACH_10(m, __VA_ARGS__)
#define ARGUMENTS_EACH_12(m, a, ...) m(a) ARGUMENTS_EACH_11(m, __VA_ARGS__)

/* 1 for the arguments "()", else 0: what follows PROBE_ is nothing or a parameter's name. */
#define ARGUMENTS_NONE(args)	     ARGUMENTS_NONE_ args
#define ARGUMENTS_NONE_(...)	     ARGUMENTS_NONE_FIRST(__VA_ARGS__, 0)
#define ARGUMENTS_NONE_FIRST(a, ...) ARGUMENTS_SECOND(ARGUMENTS_PROBE_##a, 0, 0)
#define ARGUMENTS_PROBE_	     0, 1
#define ARGUMENTS_SECOND(...)	     ARGUMENTS_SECOND_(__VA_ARGS__)
#define ARGUMENTS_SECOND_(a, b, ...) b

#define ARGUMENTS_FIELD(parameter)     parameter;
#define ARGUMENTS_FIELDS(params, args) ARGUMENTS_CAT(ARGUMENTS_FIELDS_, ARGUMENTS_NONE(args)) params
#define ARGUMENTS_FIELDS_0(...)	       ARGUMENTS_EACH(ARGUMENTS_FIELD, __VA_ARGS__)
#define ARGUMENTS_FIELDS_1(...)	       char none;

#define ARGUMENTS_LOCAL(name)                                                                      \
	__typeof__(given->name) name = given->name;                                                \
	(void)name;
#define ARGUMENTS_LOCALS(args)	ARGUMENTS_CAT(ARGUMENTS_LOCALS_, ARGUMENTS_NONE(args)) args
#define ARGUMENTS_LOCALS_0(...) ARGUMENTS_EACH(ARGUMENTS_LOCAL, __VA_ARGS__)
#define ARGUMENTS_LOCALS_1(...) (void)given;

#endif
