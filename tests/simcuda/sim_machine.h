/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated machine: what its description (machines/NAME.tsv) says, read by the program that
 * writes its files (sim_machine_tree.c), by the driver and by the simulated NVML. A plain reader
 * without state; machines/README.md explains the rows.
 */
#ifndef GPUTRACE_SIM_MACHINE_H
#define GPUTRACE_SIM_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SIM_MACHINE_GPUS_MAX = 16,
	SIM_MACHINE_PORTS_MAX = 48,
	SIM_MACHINE_NODES_MAX = 8,
	SIM_MACHINE_NONE = -1,
};

/* Who may reach whom directly over PCIe; NVLink always may. */
enum sim_machine_peers { SIM_PEERS_NONE, SIM_PEERS_SWITCH, SIM_PEERS_NODE, SIM_PEERS_ALL };

struct sim_pci_address {
	unsigned domain, bus, device, function;
};

struct sim_machine_node {
	char cpus[256]; /* as the kernel prints a list */
	unsigned memory_gib;
	unsigned distances[SIM_MACHINE_NODES_MAX];
};

/* A root port (parent SIM_MACHINE_NONE), or a port of a switch. */
struct sim_machine_port {
	struct sim_pci_address address;
	int parent, node;
	int generation, width;
};

struct sim_machine_gpu {
	struct sim_pci_address address;
	int port, node;
	char model[64];
	unsigned char uuid[16];
	unsigned pci_device_id;
	uint64_t memory_mib;		   /* 0: the table's */
	int generation, width;		   /* what the device can do; 0: the table's */
	uint64_t sleeps_after_ns;	   /* without work the link falls back to Gen1 */
	int runs_generation, runs_width;   /* what the link reaches under load; 0: all it can */
	int nvlinks[SIM_MACHINE_GPUS_MAX]; /* links to each other GPU */
	/* What NVML tells of it. */
	unsigned power_limit_w, temperature_c;
	uint64_t throttle_reasons, ecc_errors, pcie_replays;
	double clock_share; /* of the boost clock that it reaches under load */
	bool has_mig, is_headless;
};

struct sim_machine {
	char name[64], driver[32];
	enum sim_machine_peers peers;
	bool has_nvlink_switch; /* all links of a GPU lead to all others */
	bool has_acs;	    /* copies between GPUs under one switch go through the host bridge */
	double remote_rate; /* share of its rate that a copy across sockets reaches */
	int node_count, port_count, gpu_count;
	struct sim_machine_node nodes[SIM_MACHINE_NODES_MAX];
	struct sim_machine_port ports[SIM_MACHINE_PORTS_MAX];
	struct sim_machine_gpu gpus[SIM_MACHINE_GPUS_MAX];
};

/* Reads a description. False, with one sentence in `error`, when it is none. */
bool sim_machine_read(struct sim_machine *machine, const char *path, char *error,
		      size_t error_size);
void sim_machine_format_address(char *text, size_t size, const struct sim_pci_address *address);
void sim_machine_format_uuid(char *text, size_t size, const unsigned char *uuid);
/* The port nearest to both GPUs that both are below, or SIM_MACHINE_NONE when the way leads through
 * the host bridge. */
int sim_machine_common_port(const struct sim_machine *machine, int first, int second);
int sim_machine_root_port(const struct sim_machine *machine, int gpu);
/* Whether the first GPU may reach the second one's memory. */
bool sim_machine_can_access(const struct sim_machine *machine, int first, int second);
/* The node whose list of CPUs has this one, or SIM_MACHINE_NONE. */
int sim_machine_node_of_cpu(const struct sim_machine *machine, int cpu);
/* What the link of a GPU can do: the lesser of device, slot and, when loaded, of what it reaches.
 */
void sim_machine_link(const struct sim_machine *machine, int gpu, bool is_loaded, int *generation,
		      int *width);

#endif
