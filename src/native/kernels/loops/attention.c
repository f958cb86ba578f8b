// Scaled dot-product attention, head by head, where all weights are kept.
#include <float.h>

#include "elementary.h"
#include "product.h"

enum { ROOM = 64 };  // numbers after an array, which stretches read and overwrite

static const N no_shift[1] = {0};

// A head's matrix as it lies, times a factor, to rows without gaps, or to columns.
APART void packed(const float *restrict from, const N *step, N rows, N columns, float factor, float *restrict to)
{
    if (step[1] == 1) {
        for (N i = 0; i < rows; i++) SIMD for (N j = 0; j < columns; j++) to[i * columns + j] = from[i * step[0] + j] * factor;
        return;
    }
    for (N i = 0; i < rows; i++)
        for (N j = 0; j < columns; j++) to[i * columns + j] = from[i * step[0] + j * step[1]] * factor;
}

APART void turned(const float *restrict from, const N *step, N rows, N columns, float *restrict to)
{
    const N apart = step[0];
    for (N j = 0; j < columns; j++, from += step[1], to += rows) SIMD for (N i = 0; i < rows; i++) to[i] = from[i * apart];
}

APART void spread(const float *row, N n, float *to, N step)
{
    if (step == 1) memcpy(to, row, n * sizeof *to);
    else for (N i = 0; i < n; i++) to[i * step] = row[i];
}

INLINE const float *head_of(const float *data, const N *step, const Attention *s, N head)
{
    return data + head / s->heads * step[0] + head % s->heads * step[1];
}

// Results for `outs` rows: factors (n, outs) times the first `length` columns of a matrix (n, width).
INLINE void times(const float *factors, N n, const float *matrix, N width, N length, float *to, N apart, int outs)
{
    Source source = {matrix, width, n, 1, length, no_shift};
    IN_ISA(correlate)(&source, factors, NULL, 0, to, apart, outs);
}

APART void soften(float *restrict row, N seen, N all, float *restrict weights)
{
    float m = -FLT_MAX, sum = 0;  // where all is minus infinity
    _Pragma("omp simd reduction(max : m)") for (N i = 0; i < seen; i++) m = row[i] > m ? row[i] : m;
    TOTAL(sum) for (N i = 0; i < seen; i++) {
        row[i] = exp_of(row[i] - m);
        sum += row[i];
    }
    sum = sum < FLT_MIN ? FLT_MIN : sum;
    const float share = 1 / sum;
    SIMD for (N i = 0; i < seen; i++) weights[i] = row[i] * share;
    SIMD for (N i = seen; i < all; i++) weights[i] = 0;
}

// A query's scores, to which a mask is added, or of which those stay that it lets the query see.
APART void hide(const Attention *s, N head, N query, const float *mask, const uint8_t *seen, float *restrict row)
{
    const N *step = s->of_mask, first = head / s->heads * step[0] + head % s->heads * step[1] + query * step[2];
    if (mask && step[3] == 1) SIMD for (N j = 0; j < s->keys; j++) row[j] += mask[first + j];
    else if (mask) for (N j = 0; j < s->keys; j++) row[j] += mask[first + j * step[3]];
    else for (N j = 0; j < s->keys; j++) row[j] += seen[first + j * step[3]] ? 0 : -INFINITY;
}

// With a mask of numbers or of bools, or none.
void IN_ISA(attention)(const Attention *s, const float *q, const float *k, const float *v, const float *mask,
                       const uint8_t *seen_by, float *y, float *kept, float *room)
{
    N apart = s->keys + ROOM, wide = s->values + ROOM;
    float *keys = room, *values = keys + s->features * s->keys + ROOM, *factors = values + s->keys * s->values + ROOM;
    float *rows = factors + OUT * (s->keys > s->features ? s->keys : s->features), *made = rows + OUT * (apart + s->features);
    for (N head = s->first; head < s->after; head++) {
        const float *query = head_of(q, s->of_query, s, head);
        float *to = y + head / s->heads * s->of_result[0] + head % s->heads * s->of_result[1];
        turned(head_of(k, s->of_key, s, head), s->of_key + 2, s->keys, s->features, keys);
        packed(head_of(v, s->of_value, s, head), s->of_value + 2, s->keys, s->values, 1, values);
        for (N i = 0; i < s->queries;) {
            int block = block_of(s->queries - i);
            packed(query + i * s->of_query[2], s->of_query + 2, block, s->features, s->scale, rows);
            IN_ISA(turn)(rows, s->features, 1, s->features, factors, block);
            const N limit = s->causal && i + block < s->keys ? i + block : s->keys;  // of the keys that any of these sees
            times(factors, s->features, keys, s->keys, limit, rows, apart, block);
            for (int b = 0; b < block; b++) {
                N seen = s->causal && i + b + 1 < s->keys ? i + b + 1 : s->keys;
                float *weights = kept + (head * s->queries + i + b) * s->keys;
                if (mask || seen_by) hide(s, head, i + b, mask, seen_by, rows + b * apart);
                soften(rows + b * apart, seen, s->keys, weights);
            }
            IN_ISA(turn)(kept + (head * s->queries + i) * s->keys, s->keys, 1, limit, factors, block);
            times(factors, limit, values, s->values, s->values, made, wide, block);
            for (int b = 0; b < block; b++, i++) spread(made + b * wide, s->values, to + i * s->of_result[2], s->of_result[3]);
        }
    }
}

// Rows of results, from the columns of a matrix (n, count) times a matrix (n, length).
static void from_columns(const float *columns, N n, N count, const float *matrix, N length, float *to, float *factors, float *made)
{
    N apart = length + ROOM;
    for (N j = 0; j < count;) {
        int block = block_of(count - j);
        IN_ISA(turn)(columns + j, 1, count, n, factors, block);
        times(factors, n, matrix, length, length, made, apart, block);
        for (int b = 0; b < block; b++, j++) memcpy(to + j * length, made + b * apart, length * sizeof *to);
    }
}

// Gradients of queries, keys and values, row by row; any may be NULL.
void IN_ISA(attention_slope)(const Attention *s, const float *g, const float *q, const float *k, const float *v,
                             const float *y, const float *kept, float *dq, float *dk, float *dv, float *room)
{
    N widest = s->features > s->values ? s->features : s->values, longest = s->keys > s->queries ? s->keys : s->queries;
    N apart = s->keys + ROOM, size = longest * widest + ROOM;
    float *given = room, *query = given + size, *key = query + size, *value = key + size;
    float *factors = value + size, *rows = factors + OUT * (longest + widest), *made = rows + OUT * apart;
    float *scores = made + OUT * (widest + ROOM);
    for (N head = s->first; head < s->after; head++) {
        const float *weights = kept + head * s->queries * s->keys, *result = head_of(y, s->of_result, s, head);
        packed(head_of(g, s->of_gradient, s, head), s->of_gradient + 2, s->queries, s->values, 1, given);
        packed(head_of(q, s->of_query, s, head), s->of_query + 2, s->queries, s->features, s->scale, query);
        packed(head_of(k, s->of_key, s, head), s->of_key + 2, s->keys, s->features, s->scale, key);
        turned(head_of(v, s->of_value, s, head), s->of_value + 2, s->keys, s->values, value);
        for (N i = 0; i < s->queries;) {
            int block = block_of(s->queries - i);
            IN_ISA(turn)(given + i * s->values, s->values, 1, s->values, factors, block);
            times(factors, s->values, value, s->keys, s->keys, rows, apart, block);
            for (int b = 0; b < block; b++) {
                const float *of = given + (i + b) * s->values, *to = result + (i + b) * s->of_result[2];
                const float *weight = weights + (i + b) * s->keys, *row = rows + b * apart;
                float *score = scores + (i + b) * s->keys, delta = 0;
                for (N e = 0; e < s->values; e++) delta += of[e] * to[e * s->of_result[3]];
                SIMD for (N j = 0; j < s->keys; j++) score[j] = weight[j] * (row[j] - delta);
            }
            if (dq) {
                IN_ISA(turn)(scores + i * s->keys, s->keys, 1, s->keys, factors, block);
                times(factors, s->keys, key, s->features, s->features, made, s->features + ROOM, block);
                for (int b = 0; b < block; b++)
                    memcpy(dq + (head * s->queries + i + b) * s->features, made + b * (s->features + ROOM),
                           s->features * sizeof *dq);
            }
            i += block;
        }
        if (dk)
            from_columns(scores, s->queries, s->keys, query, s->features, dk + head * s->keys * s->features, factors, made);
        if (dv)
            from_columns(weights, s->queries, s->keys, given, s->values, dv + head * s->keys * s->values, factors, made);
    }
}
