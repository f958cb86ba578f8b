// Images of another size, padded or sampled: results that are weighted sums of a few elements each.
#include "simd.h"

INLINE void copy_runs(const float *restrict x, float *restrict y, const Taps *t, N last)
{
    for (N r = 0; r < t->runs; r++) {
        const float *from = x + t->run_places[r] * last;
        const N i = t->run_starts[r], length = (t->run_starts[r + 1] - i) * last;
        if (length == 1) y[i] = from[0];
        else memcpy(y + i * last, from, length * sizeof *y);
    }
}

// Along rows of t->size numbers, several of them together.
INLINE void sum_taps(const float *restrict x, float *restrict y, const Taps *t, int rows)
{
    for (N i = 0; i < t->n; i++) {
        float sum[4] = {0};
        for (N k = t->starts[i]; k < t->starts[i + 1]; k++) {
            const float w = t->weights ? t->weights[k] : 1;
            for (int r = 0; r < rows; r++) sum[r] += w * x[r * t->size + t->places[k]];
        }
        for (int r = 0; r < rows; r++) y[r * t->n + i] = sum[r];
    }
}

INLINE void add_row(const float *restrict x, float w, float *restrict y, N last, int more)
{
    if (more) SIMD for (N c = 0; c < last; c++) y[c] += w * x[c];
    else SIMD for (N c = 0; c < last; c++) y[c] = w * x[c];
}

INLINE void add_two_rows(const float *restrict x, float v, const float *restrict z, float w, float *restrict y, N last)
{
    SIMD for (N c = 0; c < last; c++) y[c] = v * x[c] + w * z[c];
}

// (first, size, last) to (first, n, last).
void IN_ISA(map_along)(const Taps *t, const float *restrict x, float *restrict y, N first, N last)
{
    N f = 0;
    if (t->runs)
        for (; f < first; f++) copy_runs(x + f * t->size * last, y + f * t->n * last, t, last);
    else if (last == 1) {
        for (; f + 4 <= first; f += 4) sum_taps(x + f * t->size, y + f * t->n, t, 4);
        for (; f < first; f++) sum_taps(x + f * t->size, y + f * t->n, t, 1);
    }
    for (; f < first; f++, x += t->size * last)
        for (N i = 0; i < t->n; i++, y += last) {
            const N from = t->starts[i], count = t->starts[i + 1] - from;
            const int64_t *at = t->places + from;
            const float *w = t->weights + from;
            if (count == 2 && t->weights) add_two_rows(x + at[0] * last, w[0], x + at[1] * last, w[1], y, last);
            else for (N k = 0; k < count; k++) add_row(x + at[k] * last, t->weights ? w[k] : 1, y, last, k > 0);
            if (!count) memset(y, 0, last * sizeof *y);
        }
}

// Planes (first, rows->size, columns->size), whose rows and columns are put elsewhere in stretches.
void IN_ISA(map_planes)(const Taps *rows, const Taps *columns, const float *restrict x, float *restrict y, N first)
{
    for (N f = 0; f < first; f++, x += rows->size * columns->size)
        for (N i = 0; i < rows->n; i++, y += columns->n) copy_runs(x + rows->places[i] * columns->size, y, columns, 1);
}

// ---- at points that a grid names, between their four neighbours

enum { ZEROS, BORDER, REFLECTION, SOME = 256 };

// Of so many points: where the neighbours stand, their weights, and how these change with either coordinate.
typedef struct { int32_t place[4][SOME]; float weight[4][SOME], by_x[4][SOME], by_y[4][SOME]; } Neighbours;

// Positions along a dimension, and how they change with the coordinates, of which every other one is for this dimension.
static void find_positions(const Grid *s, const float *restrict coordinates, float size, N n, float *restrict at, float *restrict slope)
{
    const float factor = (s->corners ? size - 1 : size) / 2, low = s->corners ? 0 : -0.5f, twice = 4 * factor;
    SIMD for (N i = 0; i < n; i++) {
        at[i] = (coordinates[2 * i] + 1) * factor + low;
        slope[i] = factor;
    }
    if (s->padding == REFLECTION && twice == 0)
        SIMD for (N i = 0; i < n; i++) at[i] *= 0;
    else if (s->padding == REFLECTION)
        SIMD for (N i = 0; i < n; i++) {
            const float from = at[i] - low, away = fabsf(from);
            const float there = away - floorf(away / twice) * twice, back = twice - there;
            at[i] = (there > back ? back : there) + low;
            slope[i] = (from < 0) != (there > back) ? -factor : factor;
        }
    if (s->padding != ZEROS)
        SIMD for (N i = 0; i < n; i++) {
            slope[i] = (at[i] > 0) & (at[i] < size - 1) ? slope[i] : 0;
            const float high = at[i] > 0 ? at[i] : 0;  // as is what is no number
            at[i] = high < size - 1 ? high : size - 1;
        }
}

INLINE int32_t element(float at) { return (int32_t)((at > -1073741824.0f) & (at < 1073741824.0f) ? at : -100.0f); }

INLINE int32_t held(int32_t at, int32_t size) { return at < 0 ? 0 : at < size ? at : size - 1; }

// A weight, which is none outside of the image; what is no number stays so.
INLINE float kept(float weight, int32_t at, int32_t size)
{
    const float none = weight - weight, below = at < size ? weight : none;
    return at < 0 ? none : below;
}

static void find_neighbours(const Grid *s, const float *restrict grid, N n, Neighbours *restrict to)
{
    const int32_t width = (int32_t)s->width, height = (int32_t)s->height;
    float x[SOME], y[SOME], x_slope[SOME], y_slope[SOME];
    find_positions(s, grid, (float)width, n, x, x_slope);
    find_positions(s, grid + 1, (float)height, n, y, y_slope);
    SIMD for (N i = 0; i < n; i++) {
        const float left = floorf(x[i]), top = floorf(y[i]), right = x[i] - left, down = y[i] - top;
        const int32_t column = element(left), row = element(top);
#define NEIGHBOUR(k, more_x, more_y) { \
            const int32_t c = column + more_x, r = row + more_y; \
            const float along = kept(more_x ? right : 1 - right, c, width), across = kept(more_y ? down : 1 - down, r, height); \
            to->place[k][i] = held(r, height) * width + held(c, width); \
            to->weight[k][i] = along * across; \
            to->by_x[k][i] = kept(more_x ? x_slope[i] : -x_slope[i], c, width) * across; \
            to->by_y[k][i] = kept(more_y ? y_slope[i] : -y_slope[i], r, height) * along; \
        }
        NEIGHBOUR(0, 0, 0) NEIGHBOUR(1, 1, 0) NEIGHBOUR(2, 0, 1) NEIGHBOUR(3, 1, 1)
    }
}

INLINE void blend(const float *restrict x, const Neighbours *restrict at, float *restrict y, N n)
{
    SIMD for (N i = 0; i < n; i++)
        y[i] = at->weight[0][i] * x[at->place[0][i]] + at->weight[1][i] * x[at->place[1][i]] +
               at->weight[2][i] * x[at->place[2][i]] + at->weight[3][i] * x[at->place[3][i]];
}

// Images from the first to the last.
void IN_ISA(grid_sample)(const Grid *s, const float *x, const float *grid, float *y, N first, N last)
{
    const N plane = s->height * s->width;
    Neighbours at;
    for (N image = first; image < last; image++)
        for (N p = 0; p < s->points; p += SOME) {
            const N n = s->points - p < SOME ? s->points - p : SOME;
            find_neighbours(s, grid + (image * s->points + p) * 2, n, &at);
            for (N c = image * s->channels; c < (image + 1) * s->channels; c++) blend(x + c * plane, &at, y + c * s->points + p, n);
        }
}

INLINE void feel(const float *restrict g, const float *restrict x, const Neighbours *restrict at, float *restrict by_x,
                 float *restrict by_y, N n)
{
    SIMD for (N i = 0; i < n; i++) {
        const float a = x[at->place[0][i]], b = x[at->place[1][i]], c = x[at->place[2][i]], d = x[at->place[3][i]];
        by_x[i] += g[i] * (a * at->by_x[0][i] + b * at->by_x[1][i] + c * at->by_x[2][i] + d * at->by_x[3][i]);
        by_y[i] += g[i] * (a * at->by_y[0][i] + b * at->by_y[1][i] + c * at->by_y[2][i] + d * at->by_y[3][i]);
    }
}

// To the images, which are zeros at first, and to the grid; either may be NULL.
void IN_ISA(grid_sample_slope)(const Grid *s, const float *g, const float *x, const float *grid, float *to_x, float *to_grid,
                               N first, N last)
{
    const N plane = s->height * s->width;
    Neighbours at;
    for (N image = first; image < last; image++)
        for (N p = 0; p < s->points; p += SOME) {
            const N n = s->points - p < SOME ? s->points - p : SOME;
            float by_x[SOME] = {0}, by_y[SOME] = {0};
            find_neighbours(s, grid + (image * s->points + p) * 2, n, &at);
            for (N c = image * s->channels; c < (image + 1) * s->channels; c++) {
                const float *of = g + c * s->points + p;
                float *to = to_x + c * plane;
                for (N i = 0; to_x && i < n; i++)
                    for (int k = 0; k < 4; k++)
                        if (at.weight[k][i] == at.weight[k][i]) to[at.place[k][i]] += of[i] * at.weight[k][i];
                if (to_grid) feel(of, x + c * plane, &at, by_x, by_y, n);
            }
            for (N i = 0; to_grid && i < n; i++) {
                to_grid[(image * s->points + p + i) * 2] = by_x[i];
                to_grid[(image * s->points + p + i) * 2 + 1] = by_y[i];
            }
        }
}
