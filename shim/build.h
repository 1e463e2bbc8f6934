/* SPDX-License-Identifier: Apache-2.0 */
/* The build string of the shim: under 40 bytes, shown in traces and compared by the collector. */
#ifndef GPUTRACE_SHIM_BUILD_H
#define GPUTRACE_SHIM_BUILD_H

#ifndef GPUTRACE_VERSION
#define GPUTRACE_VERSION "0"
#endif
#define GPUTRACE_BUILD "gputrace " GPUTRACE_VERSION

#endif
