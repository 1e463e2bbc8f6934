// SPDX-License-Identifier: Apache-2.0
/*
 * A libpython that only has names: what interpreters say of themselves before anything of them is
 * believed. FAKE_PYTHON_VERSION is what Py_GetVersion() answers; FAKE_PYTHON_TABLE holds words of
 * _PyRuntime as "index=value,...".
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT extern uint64_t _PyRuntime[128];
uint64_t _PyRuntime[128];

__attribute__((constructor)) static void fill_table(void)
{
	const char *text = getenv("FAKE_PYTHON_TABLE");
	char *end;

	memcpy(_PyRuntime, "xdebugpy", 8);
	while (text && *text) {
		uint64_t index = strtoull(text, &end, 0);

		_PyRuntime[index % 128] = strtoull(end + 1, &end, 0);
		text = *end ? end + 1 : end;
	}
}

EXPORT const char *Py_GetVersion(void);
const char *Py_GetVersion(void)
{
	const char *version = getenv("FAKE_PYTHON_VERSION");

	return version ? version : "";
}

EXPORT int Py_IsInitialized(void);
int Py_IsInitialized(void)
{
	return 1;
}

/* Nothing below may be called for an interpreter that is not supported. */
#define NEVER(name)                                                                                \
	EXPORT void *name(void);                                                                   \
	void *name(void)                                                                           \
	{                                                                                          \
		abort();                                                                           \
	}
NEVER(PyGILState_GetThisThreadState)
NEVER(PyThreadState_GetUnchecked)
NEVER(PyEval_GetFrame)
NEVER(PyObject_GetAttrString)
NEVER(PyUnicode_AsUTF8)
NEVER(PyLong_AsLong)
NEVER(Py_IncRef)
NEVER(Py_DecRef)
NEVER(PyErr_Fetch)
NEVER(PyErr_Restore)

#define TYPE(name)                                                                                 \
	EXPORT extern char name[8];                                                                \
	char name[8];
TYPE(PyCode_Type)
TYPE(PyFrame_Type)
TYPE(PyUnicode_Type)
TYPE(PyBytes_Type)
