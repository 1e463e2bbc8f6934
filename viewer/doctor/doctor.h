/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gputrace doctor`: a machine as it is now, or as a captured tree of its files has it, and what is
 * wrong with it. Read once into struct doctor, then printed; findings come from the same verdicts
 * as the rules about recordings.
 */
#ifndef GPUTRACE_DOCTOR_DOCTOR_H
#define GPUTRACE_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

#include "cuda_versions.h"
#include "fat_binary.h"
#include "gpu_table.h"
#include "machine_verdict.h"
#include "numa_nodes.h"
#include "nvml.h"
#include "pci_devices.h"

struct error;

#define DOCTOR_MAX_BINARIES 64

struct doctor_options {
	const char *root; /* "" this machine */
	const char *nvml; /* library, "off", or NULL: the system's, none for another root */
	const char *const *binaries;
	size_t binary_count;
	const char *dmesg; /* file with kernel messages, "-" standard input, NULL none */
};

struct doctor_library {
	char name[32];	  /* "libcudart" */
	char path[512];	  /* without the root */
	char version[32]; /* of its file name, "12.4.127" */
};

struct doctor_binary {
	const char *path;
	struct fat_binary code;
};

/* One GPU; where NVML knows it too, nvml is its state. */
struct doctor_gpu {
	const struct pci_device *pci; /* NULL: only NVML has it */
	const struct nvml_gpu *nvml;  /* NULL: NVML does not have it */
	struct gpu_match table;	      /* by name */
	char name[96];
	uint16_t cc_major, cc_minor; /* from NVML, else the table by name; 0 unknown */
};

struct doctor_finding {
	const char *id;		      /* of the rule that says the same of a recording */
	char subject[96];	      /* "GPU 0", "libcudart 12.4", a file */
	enum machine_verdict verdict; /* INFO or FAULT */
	char *what, *fix;	      /* owned */
};

struct doctor_xid {
	unsigned int number;
	char address[24]; /* of the GPU as the line has it */
	char line[200];
	uint64_t times;
};

struct doctor {
	const struct doctor_options *options;
	struct numa_nodes nodes;
	struct pci_devices devices;
	struct nvml_state nvml;
	char nvml_reason[200]; /* why NVML says nothing; "" it does */
	char driver[40];       /* "" unknown */
	struct cuda_version driver_version;
	bool is_virtual; /* a virtual machine, as far as it shows */
	struct doctor_gpu gpus[NVML_MAX_GPUS];
	size_t gpu_count;
	struct doctor_library *libraries;
	size_t library_count, library_capacity;
	struct doctor_binary binaries[DOCTOR_MAX_BINARIES];
	size_t binary_count;
	struct doctor_xid xids[32];
	size_t xid_count;
	struct doctor_finding *findings; /* faults first */
	size_t finding_count, finding_capacity;
};

/* 0 or a negative code with the reason in *err. */
int doctor_look(const struct doctor_options *options, struct doctor **out, struct error *err);
void doctor_free(struct doctor *doctor);
void doctor_print_text(const struct doctor *doctor, FILE *to);
void doctor_print_json(const struct doctor *doctor, FILE *to);
/* The path between two GPUs (or a GPU and a network card): "NV18", "PIX", ... */
void doctor_path_name(const struct doctor *doctor, size_t one, size_t two, char *text, size_t size);
/* Copies what doctor reads from /sys and /proc into a folder that --root takes. */
int doctor_capture(const char *root, const char *folder, struct error *err);

/* ---- between the doctor's own files ---- */

void doctor_find_libraries(struct doctor *doctor);
void doctor_find_faults(struct doctor *doctor);
int doctor_read_dmesg(struct doctor *doctor, struct error *err);
/* What an Xid number means and what to do; NULL unknown. */
const char *doctor_xid_meaning(unsigned int number);
const char *doctor_xid_action(unsigned int number);
bool doctor_xid_is_fault(unsigned int number);

#endif
