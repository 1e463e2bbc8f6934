/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of the simulated driver, as its graph and capture files share them. A graph is a list of
 * nodes in the order of their creation; an executable is a flat copy in an order in which every
 * node comes after those that it needs. Everything is guarded by sim_lock.
 */
#ifndef GPUTRACE_SIM_GRAPH_H
#define GPUTRACE_SIM_GRAPH_H

#include "sim_api.h"
#include "sim_capture.h"

/* Memory that an allocation node owns; shared by the node, its clones and executables. */
struct sim_graph_memory {
	unsigned references;
	uint64_t base, buffer_id;
};

/* What a node does. */
struct sim_node_work {
	CUgraphNodeType type;
	struct {
		CUfunction handle;
		struct sim_launch launch;
		struct simcuda_cost cost;
		bool has_cost;
	} kernel;
	CUDA_MEMCPY3D copy;
	CUDA_MEMSET_NODE_PARAMS set;
	CUhostFn host_function;
	void *host_data;
	CUevent event;
	CUdeviceptr address; /* of an allocation or a free */
	size_t bytes;
	struct sim_graph *child; /* owned by the node */
	struct sim_graph_memory *memory;
};

struct sim_graph_node {
	struct sim_object object;
	struct sim_graph *graph;
	struct sim_graph_node *next; /* of the graph */
	uint64_t id, origin_id;	     /* origin: of the node that this one is a clone of */
	struct sim_graph_node **needs;
	size_t need_count;
	size_t index; /* while a walk numbers the nodes */
	struct sim_node_work work;
};

struct sim_graph {
	struct sim_object object;
	uint32_t id;
	struct sim_graph_node *nodes, **last_link;
	size_t node_count;
	bool is_owned; /* by a node; not the application's to destroy */
};

/* A node of an executable. */
struct sim_exec_item {
	uint64_t id, origin_id; /* 0 for the two ends of a child graph */
	bool is_enabled;
	size_t first_need, need_count; /* in exec->needs: indexes of items before this one */
	uint64_t end_ns;	       /* of the launch in progress */
	struct sim_node_work work;
};

struct sim_graph_exec {
	struct sim_object object;
	uint32_t id;
	uint64_t flags;
	bool was_seen; /* a tool was attached when it was made */
	struct sim_exec_item *items;
	size_t item_count, item_size;
	size_t *needs;
	size_t need_count, need_size;
};

/* An open capture. */
struct sim_capture {
	struct sim_capture *next;
	uint64_t id;
	struct sim_graph *graph;
	bool is_to_graph; /* into a graph of the application's */
	bool is_invalidated;
	struct sim_stream *origin;
	const struct sim_thread *thread;
	CUstreamCaptureMode mode;
};

/* sim_graph.c */
uint64_t sim_graph_next_id(void);
struct sim_graph *sim_graph_find(CUgraph handle);
struct sim_graph_node *sim_graph_find_node(CUgraphNode handle);
struct sim_graph *sim_graph_new(void);
void sim_graph_free(struct sim_graph *graph);
struct sim_graph *sim_graph_copy(const struct sim_graph *graph);
/* Adds a node; takes over what `work` owns, also when it fails. */
CUresult sim_graph_add(struct sim_graph *graph, struct sim_graph_node *const *needs, size_t count,
		       const struct sim_node_work *work, struct sim_graph_node **added);
bool sim_graph_need(struct sim_graph_node *node, struct sim_graph_node *needed);
/* The nodes so that each comes after what it needs; NULL when there is a cycle or no memory. */
struct sim_graph_node **sim_graph_order(struct sim_graph *graph);
void sim_graph_tell(int event, const void *graph, const void *other, const void *node,
		    const void *other_node, int node_type);
void sim_graph_memory_drop(struct sim_graph_memory *memory);
CUresult sim_graph_create(struct sim_call *call, CUgraph *graph, unsigned flags);
CUresult sim_graph_clone(struct sim_call *call, CUgraph *clone, CUgraph graph);
CUresult sim_graph_destroy(struct sim_call *call, CUgraph graph);
CUresult sim_graph_destroy_node(CUgraphNode node);
CUresult sim_graph_find_in_clone(CUgraphNode *found, CUgraphNode node, CUgraph clone);
/* which: all nodes of the graph, or those that need nothing */
CUresult sim_graph_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count, bool roots_only);
CUresult sim_graph_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
			 size_t *count);
CUresult sim_graph_node_needs(CUgraphNode node, CUgraphNode *needs, CUgraphEdgeData *data,
			      size_t *count);
CUresult sim_graph_node_dependents(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data,
				   size_t *count);
CUresult sim_graph_change_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				size_t count, bool is_added);

/* sim_graph_node.c: the parameters of nodes. */
CUresult sim_node_add(struct sim_call *call, CUgraphNode *node, CUgraph graph,
		      const CUgraphNode *needs, size_t count, CUgraphNodeParams *parameters);
CUresult sim_node_add_kernel(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			     const CUgraphNode *needs, size_t count,
			     const CUDA_KERNEL_NODE_PARAMS *kernel);
CUresult sim_node_add_kernel_v1(struct sim_call *call, CUgraphNode *node, CUgraph graph,
				const CUgraphNode *needs, size_t count,
				const CUDA_KERNEL_NODE_PARAMS_v1 *kernel);
CUresult sim_node_add_copy(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			   const CUgraphNode *needs, size_t count, const CUDA_MEMCPY3D *copy);
CUresult sim_node_add_set(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			  const CUgraphNode *needs, size_t count,
			  const CUDA_MEMSET_NODE_PARAMS *set);
CUresult sim_node_add_host(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			   const CUgraphNode *needs, size_t count,
			   const CUDA_HOST_NODE_PARAMS *host);
CUresult sim_node_add_child(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			    const CUgraphNode *needs, size_t count, CUgraph child);
CUresult sim_node_add_event(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			    const CUgraphNode *needs, size_t count, CUevent event,
			    CUgraphNodeType type);
CUresult sim_node_add_alloc(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			    const CUgraphNode *needs, size_t count,
			    CUDA_MEM_ALLOC_NODE_PARAMS *alloc);
CUresult sim_node_add_free(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			   const CUgraphNode *needs, size_t count, CUdeviceptr address);
CUresult sim_node_type(CUgraphNode node, CUgraphNodeType *type);
CUresult sim_node_get(CUgraphNode node, CUgraphNodeType type, void *value);
CUresult sim_node_set(CUgraphNode node, CUgraphNodeType type, const void *value);
CUresult sim_node_get_kernel_v1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *kernel);
CUresult sim_node_set_kernel_v1(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *kernel);
CUresult sim_node_set_any(CUgraphNode node, const CUgraphNodeParams *parameters);
/* Allocates what an allocation node stands for. */
CUresult sim_node_take_memory(struct sim_call *call, size_t bytes, struct sim_node_work *work);
/* Fills in `work` from a node's parameters of that type; false: they are wrong. */
bool sim_node_read(struct sim_node_work *work, CUgraphNodeType type, const void *value);

/* sim_graph_exec.c */
CUresult sim_graph_instantiate(struct sim_call *call, CUgraphExec *exec, CUgraph graph,
			       uint64_t flags);
CUresult sim_graph_instantiate_with(struct sim_call *call, CUgraphExec *exec, CUgraph graph,
				    CUDA_GRAPH_INSTANTIATE_PARAMS *parameters);
CUresult sim_graph_exec_update(struct sim_call *call, CUgraphExec exec, CUgraph graph,
			       CUgraphExecUpdateResult *result, CUgraphNode *error_node);
CUresult sim_graph_exec_set(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type,
			    const void *value);
CUresult sim_graph_exec_set_any(CUgraphExec exec, CUgraphNode node,
				const CUgraphNodeParams *parameters);
CUresult sim_graph_exec_set_kernel_v1(CUgraphExec exec, CUgraphNode node,
				      const CUDA_KERNEL_NODE_PARAMS_v1 *kernel);
CUresult sim_graph_exec_enable(CUgraphExec exec, CUgraphNode node, bool is_enabled);
CUresult sim_graph_exec_is_enabled(CUgraphExec exec, CUgraphNode node, unsigned *is_enabled);
CUresult sim_graph_exec_flags(CUgraphExec exec, cuuint64_t *flags);
CUresult sim_graph_exec_destroy(struct sim_call *call, CUgraphExec exec);
struct sim_graph_exec *sim_graph_find_exec(CUgraphExec handle);

/* sim_graph_launch.c */
CUresult sim_graph_launch(struct sim_call *call, CUgraphExec exec, CUstream stream);
CUresult sim_graph_upload(struct sim_call *call, CUgraphExec exec, CUstream stream);

/* sim_capture_rules.c: whether work on the default stream would have to wait for a capture, which
 * it spoils. */
bool sim_capture_spoil_implicit(const struct sim_stream *legacy);

/* sim_capture.c */
CUresult sim_capture_begin(struct sim_call *call, CUstream stream, CUstreamCaptureMode mode);
CUresult sim_capture_begin_to_graph(struct sim_call *call, CUstream stream, CUgraph graph,
				    const CUgraphNode *needs, size_t count,
				    CUstreamCaptureMode mode);
CUresult sim_capture_end(struct sim_call *call, CUstream stream, CUgraph *graph);
CUresult sim_capture_info(struct sim_call *call, CUstream stream, CUstreamCaptureStatus *status,
			  cuuint64_t *id, CUgraph *graph, const CUgraphNode **needs,
			  const CUgraphEdgeData **data, size_t *count);
CUresult sim_capture_update_needs(struct sim_call *call, CUstream stream, CUgraphNode *needs,
				  size_t count, unsigned flags);
/* Stream-ordered allocation, which a capture turns into nodes. */
CUresult sim_capture_alloc_async(struct sim_call *call, CUdeviceptr *address, size_t bytes,
				 CUmemoryPool pool, CUstream stream);
CUresult sim_capture_free_async(struct sim_call *call, CUdeviceptr address, CUstream stream);
/* Adds what a call on a capturing stream asks for; the stream's next node needs it. */
CUresult sim_capture_add(struct sim_stream *stream, const struct sim_node_work *work);

#endif
