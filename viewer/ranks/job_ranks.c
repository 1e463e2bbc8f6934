/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks' clocks differ by far more than a collective takes, so they are aligned on what cannot
 * differ much: all ranks leave an all-reduce, an all-gather or a reduce-scatter together. The
 * median of the differences of their ends is the offset.
 */
#include "job_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "xmalloc.h"

static int compare_ranks(const void *left, const void *right)
{
	const struct rank_summary *a = left, *b = right;
	int order = (a->rank > b->rank) - (a->rank < b->rank);

	return order ? order : strcmp(a->path, b->path);
}

static int compare_entries(const void *left, const void *right)
{
	const struct collective_entry *a = left, *b = right;

	if (a->of->hash != b->of->hash)
		return a->of->hash < b->of->hash ? -1 : 1;
	if (a->of->sequence != b->of->sequence)
		return a->of->sequence < b->of->sequence ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

struct collective_entry *job_ranks_entries(const struct job_ranks *job, size_t *count)
{
	struct collective_entry *entries;
	size_t total = 0;

	for (size_t i = 0; i < job->count; i++)
		total += job->items[i].collective_count;
	entries = xmalloc((total + 1) * sizeof(*entries));
	*count = 0;
	for (uint32_t i = 0; i < job->count; i++) {
		for (size_t k = 0; k < job->items[i].collective_count; k++)
			entries[(*count)++] =
				(struct collective_entry){&job->items[i].collectives[k], i};
	}
	qsort(entries, *count, sizeof(*entries), compare_entries);
	return entries;
}

/* How many entries from `first` on are of one collective. */
static size_t group_size(const struct collective_entry *entries, size_t first, size_t count)
{
	size_t limit = first + 1;

	while (limit < count && entries[limit].of->hash == entries[first].of->hash &&
	       entries[limit].of->sequence == entries[first].of->sequence)
		limit++;
	return limit - first;
}

static bool has_times(const struct rank_collective *one)
{
	return one->end_ns > one->begin_ns;
}

/* ---- what connects the files ---- */

/* Without calls the n-th kernel of each rank is taken for the same collective, if all have as many
 * and of the same kinds. */
static bool orders_agree(const struct job_ranks *job)
{
	const struct rank_summary *first = &job->items[0];

	for (size_t i = 0; i < job->count; i++) {
		const struct rank_summary *one = &job->items[i];

		if (!one->is_from_kernels || !one->collective_count ||
		    one->collective_count != first->collective_count)
			return false;
		for (size_t k = 0; k < one->collective_count; k++) {
			if (one->collectives[k].kind != first->collectives[k].kind)
				return false;
		}
	}
	return true;
}

static bool shares_communicator(const struct rank_summary *a, const struct rank_summary *b)
{
	for (size_t i = 0; i < a->communicator_count; i++) {
		for (size_t k = 0; k < b->communicator_count; k++) {
			if (a->communicators[i].hash &&
			    a->communicators[i].hash == b->communicators[k].hash &&
			    a->communicators[i].rank != b->communicators[k].rank)
				return true;
		}
	}
	return false;
}

static bool find_job(struct job_ranks *job)
{
	bool is_job = job->count > 1;

	for (size_t i = 1; i < job->count && is_job; i++) {
		if (job->items[i].rank < 0 || job->items[i].rank == job->items[i - 1].rank)
			is_job = false;
	}
	if (!is_job)
		return false;
	if (orders_agree(job)) {
		job->is_by_order = true;
		return true;
	}
	for (size_t i = 0; i < job->count; i++) {
		bool is_connected = false;

		for (size_t k = 0; k < job->count && !is_connected; k++)
			is_connected =
				k != i && shares_communicator(&job->items[i], &job->items[k]);
		/* A rank that was ended before it joined still belongs to a job of that size. */
		if (!is_connected && job->items[i].world_size < 2)
			return false;
	}
	return true;
}

/* ---- clocks ---- */

static int compare_i64(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool leaves_together(const struct rank_collective *one)
{
	return one->kind == COLLECTIVE_ALL_REDUCE || one->kind == COLLECTIVE_ALL_GATHER ||
	       one->kind == COLLECTIVE_REDUCE_SCATTER;
}

static void align(struct job_ranks *job, const struct collective_entry *entries, size_t count)
{
	int64_t *differences = xmalloc((count + 1) * sizeof(*differences));

	job->items[0].is_aligned = true;
	for (uint32_t rank = 1; rank < job->count; rank++) {
		size_t found = 0;

		for (size_t i = 0, size; i < count; i += size) {
			const struct rank_collective *other = NULL, *first = NULL;

			size = group_size(entries, i, count);
			for (size_t k = i; k < i + size; k++) {
				if (entries[k].rank == 0)
					first = entries[k].of;
				if (entries[k].rank == rank)
					other = entries[k].of;
			}
			if (first && other && has_times(first) && has_times(other) &&
			    leaves_together(first) && leaves_together(other))
				differences[found++] = first->end_ns - other->end_ns;
		}
		if (!found)
			continue;
		qsort(differences, found, sizeof(*differences), compare_i64);
		job->items[rank].clock_offset_ns = differences[found / 2];
		job->items[rank].is_aligned = true;
	}
	free(differences);
}

/* ---- waiting ---- */

static bool is_complete(const struct job_ranks *job, const struct collective_entry *group,
			size_t size)
{
	uint32_t wanted = group[0].of->rank_count ? group[0].of->rank_count : (uint32_t)job->count;

	if (size < 2 || size != wanted)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (!has_times(group[i].of) || !job->items[group[i].rank].is_aligned ||
		    !group[i].of->is_steady || (i && group[i].rank == group[i - 1].rank))
			return false;
	}
	return true;
}

static void count_group(struct job_ranks *job, const struct collective_entry *group, size_t size)
{
	int64_t shortest_ns = INT64_MAX, last_ns = INT64_MIN, second_ns = INT64_MIN;
	uint32_t last = 0;

	for (size_t i = 0; i < size; i++) {
		const struct rank_summary *rank = &job->items[group[i].rank];
		int64_t begin_ns = group[i].of->begin_ns + rank->clock_offset_ns;
		int64_t length_ns = group[i].of->end_ns - group[i].of->begin_ns;

		if (length_ns < shortest_ns)
			shortest_ns = length_ns;
		if (begin_ns > last_ns) {
			second_ns = last_ns;
			last_ns = begin_ns;
			last = group[i].rank;
		} else if (begin_ns > second_ns) {
			second_ns = begin_ns;
		}
	}
	for (size_t i = 0; i < size; i++) {
		struct rank_summary *rank = &job->items[group[i].rank];
		int64_t length_ns = group[i].of->end_ns - group[i].of->begin_ns;

		rank->matched++;
		rank->communication_ms += (double)length_ns / 1e6;
		rank->waiting_ms += (double)(length_ns - shortest_ns) / 1e6;
	}
	job->items[last].entered_last += last_ns > second_ns; /* of a tie nobody */
	job->items[last].late_ms += (double)(last_ns - second_ns) / 1e6;
	job->matched++;
}

bool job_ranks_is_comparable(const struct job_ranks *job, size_t index)
{
	bool has_steps = false;

	for (size_t i = 0; i < job->count && !has_steps; i++)
		has_steps = job->items[i].has_ledger && !job->items[i].is_whole_run;
	return job->items[index].has_ledger && !(has_steps && job->items[index].is_whole_run);
}

static void per_step(struct job_ranks *job)
{
	double steps_ms = 0;
	size_t with_steps = 0;

	for (size_t i = 0; i < job->count; i++) {
		struct rank_summary *rank = &job->items[i];
		double steps = rank->steady_count ? (double)rank->steady_count : 1;

		rank->communication_ms /= steps;
		rank->waiting_ms /= steps;
		rank->late_ms /= steps;
		job->waiting_ms += rank->waiting_ms;
		job->late_ms += rank->late_ms;
		if (job_ranks_is_comparable(job, i)) {
			steps_ms += rank->step_ms;
			with_steps++;
		}
	}
	job->step_ms = with_steps ? steps_ms / (double)with_steps : 0;
}

/* ---- who stands for the others ---- */

static int compare_doubles(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The rank whose own work per step is the median one: rank 0 often does more than the others. */
static size_t typical(const struct job_ranks *job)
{
	double *own = xmalloc(job->count * sizeof(*own)), median;
	size_t count = 0, best = 0;
	double nearest = -1;

	for (size_t i = 0; i < job->count; i++) {
		if (job_ranks_is_comparable(job, i))
			own[count++] = job->items[i].step_ms - job->items[i].part_ms[LEDGER_COMM];
	}
	if (count) {
		qsort(own, count, sizeof(*own), compare_doubles);
		median = own[count / 2];
		for (size_t i = 0; i < job->count; i++) {
			double distance =
				job->items[i].step_ms - job->items[i].part_ms[LEDGER_COMM] - median;

			distance = distance < 0 ? -distance : distance;
			if (job_ranks_is_comparable(job, i) &&
			    (nearest < 0 || distance < nearest)) {
				nearest = distance;
				best = i;
			}
		}
	}
	free(own);
	return best;
}

size_t job_ranks_latest(const struct job_ranks *job, size_t *indexes, double *share)
{
	size_t most = job->count / 4 ? job->count / 4 : 1, found = 0;
	double sum_ms = 0;

	*share = 0;
	while (found < most && job->late_ms > 0) {
		size_t next = SIZE_MAX;

		for (size_t i = 0; i < job->count; i++) {
			bool is_taken = false;

			for (size_t k = 0; k < found; k++)
				is_taken |= indexes[k] == i;
			if (!is_taken &&
			    (next == SIZE_MAX || job->items[i].late_ms > job->items[next].late_ms))
				next = i;
		}
		indexes[found++] = next;
		sum_ms += job->items[next].late_ms;
		*share = sum_ms / job->late_ms;
		if (*share >= 0.6)
			break;
	}
	return found;
}

enum ledger_part job_ranks_excess(const struct job_ranks *job, size_t index, double *excess_ms)
{
	double *others;
	enum ledger_part part_of_most = LEDGER_UNKNOWN;

	*excess_ms = 0;
	if (!job_ranks_is_comparable(job, index))
		return part_of_most;
	others = xmalloc(job->count * sizeof(*others));
	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		size_t count = 0;
		double excess;

		if (part == LEDGER_COMM)
			continue;
		for (size_t i = 0; i < job->count; i++) {
			if (i != index && job_ranks_is_comparable(job, i))
				others[count++] = job->items[i].part_ms[part];
		}
		if (!count)
			continue;
		qsort(others, count, sizeof(*others), compare_doubles);
		excess = job->items[index].part_ms[part] - others[count / 2];
		if (excess > *excess_ms) {
			*excess_ms = excess;
			part_of_most = (enum ledger_part)part;
		}
	}
	free(others);
	return part_of_most;
}

void job_ranks_build(struct rank_summary *items, size_t count, struct job_ranks *out)
{
	struct collective_entry *entries;
	size_t entry_count;

	memset(out, 0, sizeof(*out));
	out->items = items;
	out->count = count;
	qsort(items, count, sizeof(*items), compare_ranks);
	out->is_job = find_job(out);
	for (size_t i = 0; i < count; i++) {
		if (items[i].world_size > out->world_size)
			out->world_size = items[i].world_size;
	}
	if (!out->is_job)
		return;
	entries = job_ranks_entries(out, &entry_count);
	align(out, entries, entry_count);
	for (size_t i = 0, size; i < entry_count; i += size) {
		size = group_size(entries, i, entry_count);
		if (is_complete(out, &entries[i], size))
			count_group(out, &entries[i], size);
	}
	free(entries);
	per_step(out);
	out->detail = typical(out);
}

void job_ranks_free(struct job_ranks *job)
{
	for (size_t i = 0; i < job->count; i++)
		rank_summary_free(&job->items[i]);
	free(job->items);
	memset(job, 0, sizeof(*job));
}
