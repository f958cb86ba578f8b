// Convolutions by direct products in registers: a few output channels times a few vectors of neighbouring windows.
#include <string.h>

#include "phases.h"
#include "product.h"

// Weights (out, in, taps) of a group, as blocks of (in, taps, block).
static void arrange(const float *w, float *to, N out, N in, N taps)
{
    for (N o = 0; o < out;) {
        int block = block_of(out - o);
        for (N i = 0; i < in * taps; i++)
            for (int b = 0; b < block; b++) *to++ = w[(o + b) * in * taps + i];
        o += block;
    }
}

// ---- the convolution, and its transposes

// `room` holds in this order: zeros for the phases of all channels, weights, a block's cells.
void IN_ISA(conv)(const Sliding *s, const float *x, const float *w, const float *bias, float *y, float *room)
{
    N image = s->size[0] * s->size[1] * s->size[2], windows = s->count[0] * s->count[1] * s->count[2];
    N plane = s->phases * s->cells, inputs = s->groups * s->in, each = s->out * s->in * s->taps;
    float *arranged = room + inputs * plane + s->slack, *cells = arranged + s->groups * each;
    N shifts[MAX_TAPS], apart = s->length + s->slack;
    for (N t = 0; t < s->taps; t++) shifts[t] = s->phase[t] * s->cells + s->shift[t];
    for (N g = 0; g < s->groups; g++) arrange(w + g * each, arranged + g * each, s->out, s->in, s->taps);
    for (N i = 0; i < s->images; i++) {
        for (N c = 0; c < inputs; c++, x += image) split(s, x, room + c * plane);
        for (N g = 0; g < s->groups; g++) {
            Source source = {room + g * s->in * plane, plane, s->in, s->taps, s->length, shifts};
            const float *factors = arranged + g * each;
            for (N o = 0; o < s->out;) {
                int block = block_of(s->out - o);
                IN_ISA(correlate)(&source, factors, bias ? bias + g * s->out + o : NULL, 0, cells, apart, block);
                for (int b = 0; b < block; b++, y += windows) pick_up(s, cells + b * apart, y);
                factors += block * s->in * s->taps;
                o += block;
            }
        }
    }
}

// Weights (out, in, taps) of a group, by phases of their taps, as blocks of (out, taps, block) of the inputs.
static void arrange_back(const Sliding *s, const float *w, float *to)
{
    for (int phase = 0; phase < s->phases; phase++) {
        N which[MAX_TAPS], taps = 0;
        for (N t = 0; t < s->taps; t++)
            if (s->phase[t] == phase) which[taps++] = t;
        for (N c = 0; c < s->in;) {
            int block = block_of(s->in - c);
            for (N o = 0; o < s->out; o++) {
                const float *from = w + (o * s->in + c) * s->taps;
                for (N t = 0; t < taps; t++)
                    for (int b = 0; b < block; b++) *to++ = from[b * s->taps + which[t]];
            }
            c += block;
        }
    }
}

// The transpose with respect to the images; `bias` is added to these. `room` holds in this order: zeros for the cells of
// all outputs, weights, the phases of a block of channels.
void IN_ISA(conv_to_images)(const Sliding *s, const float *g, const float *w, const float *bias, float *x, float *room)
{
    N image = s->size[0] * s->size[1] * s->size[2], windows = s->count[0] * s->count[1] * s->count[2];
    N outputs = s->groups * s->out, each = s->out * s->in * s->taps, line = s->longest + s->cells;
    N apart = s->phases * s->cells + s->slack, shifts[MAX_TAPS], taps[MAX_TAPS], found = 0;
    float *arranged = room + outputs * line + s->slack, *phases = arranged + s->groups * each;
    for (int phase = 0; phase < s->phases; phase++) {
        N before = found;
        for (N t = 0; t < s->taps; t++)
            if (s->phase[t] == phase) shifts[found++] = s->longest - s->shift[t];
        taps[phase] = found - before;
    }
    for (N group = 0; group < s->groups; group++) arrange_back(s, w + group * each, arranged + group * each);
    for (N c = 0; c < s->images * s->groups * s->in; c++) {
        float first = bias ? bias[c % (s->groups * s->in)] : 0;
        SIMD for (N i = 0; i < image; i++) x[c * image + i] = first;
    }
    for (N i = 0; i < s->images; i++) {
        for (N o = 0; o < outputs; o++, g += windows) lay(s, g, room + o * line + s->longest);
        for (N group = 0; group < s->groups; group++) {
            for (N c = 0; c < s->in;) {
                int block = block_of(s->in - c);
                const float *of_phase = arranged + group * each;
                for (N phase = 0, first = 0; phase < s->phases; first += taps[phase++]) {
                    Source source = {room + group * s->out * line, line, s->out, taps[phase], s->cells, shifts + first};
                    IN_ISA(correlate)(&source, of_phase + c * s->out * taps[phase], bias ? bias + group * s->in + c : NULL, 0,
                              phases + phase * s->cells, apart, block);
                    of_phase += s->in * s->out * taps[phase];
                }
                for (int b = 0; b < block; b++, x += image) join(s, phases + b * apart, x);
                c += block;
            }
        }
    }
}

// ---- to the weights

// Sums over cells of products: of `outs` lines of gradients with `rows` of what taps read, over some images.
INLINE void dots(const float *g, N line, const float *x, const N *at, N images, N next_g, N next_x, N length, float *to,
                 N apart, const int outs, const int rows)
{
    Vector total[4][ROWS];
    ROUNDS for (int o = 0; o < outs; o++)
        ROUNDS for (int r = 0; r < rows; r++) total[o][r] = (Vector){0};
    for (N i = 0; i < images; i++, g += next_g, x += next_x) {
        for (N p = 0; p < length; p += LANES) {
            ROUNDS for (int r = 0; r < rows; r++) {
                Vector read = *(const Vector *)(x + at[r] + p);
                ROUNDS for (int o = 0; o < outs; o++) total[o][r] += read * *(const Vector *)(g + o * line + p);
            }
        }
    }
    ROUNDS for (int o = 0; o < outs; o++) {
        ROUNDS for (int r = 0; r < rows; r++) {
            float sum = 0, lanes[LANES];
            memcpy(lanes, &total[o][r], sizeof lanes);
            TOTAL(sum) for (int l = 0; l < LANES; l++) sum += lanes[l];
            to[o * apart + r] += sum;
        }
    }
}

enum { NEAR = 72 };

#define DOTS(outs, rows) dots(g, line, x, at, images, next_g, next_x, length, to, apart, outs, rows)
#define DOTS_OF(rows) \
    do { \
        if (outs == 4) DOTS(4, rows); \
        else if (outs == 2) DOTS(2, rows); \
        else DOTS(1, rows); \
    } while (0)

static void all_dots(const float *g, N line, const float *x, const N *at, N count, N images, N next_g, N next_x,
                     N length, float *to, N apart, int outs)
{
    for (; count >= ROWS; count -= ROWS, at += ROWS, to += ROWS) DOTS_OF(ROWS);
    for (; count > 0; count--, at++, to++) DOTS_OF(1);
}

// The same for two vectors of neighbouring outputs, with cells of `width` outputs each, and added to rows of as many.
INLINE void across(const float *g, N width, const float *x, const N *at, N length, float *to, const int rows)
{
    Vector total[2 * ROWS][2];
    ROUNDS for (int r = 0; r < rows; r++)
        ROUNDS for (int v = 0; v < 2; v++) total[r][v] = ((Vector *)(to + r * width))[v];
    for (N p = 0; p < length; p++) {
        const Vector *of = (const Vector *)(g + p * width);
        ROUNDS for (int r = 0; r < rows; r++)
            ROUNDS for (int v = 0; v < 2; v++) total[r][v] += of[v] * x[at[r] + p];
    }
    ROUNDS for (int r = 0; r < rows; r++)
        ROUNDS for (int v = 0; v < 2; v++) ((Vector *)(to + r * width))[v] = total[r][v];
}

static void all_across(const float *g, N width, const float *x, const N *at, N count, N length, float *to)
{
    for (; count >= 2 * ROWS; count -= 2 * ROWS, at += 2 * ROWS, to += 2 * ROWS * width)
        across(g, width, x, at, length, to, 2 * ROWS);
    for (; count >= 3; count -= 3, at += 3, to += 3 * width) across(g, width, x, at, length, to, 3);
    for (; count > 0; count--, at++, to += width) across(g, width, x, at, length, to, 1);
}

// Where each tap reads in each channel, at the beginning of `room`, which begins anew after it.
static N *find_places(const Sliding *s, float **room)
{
    N *places = (N *)*room, count = s->in * s->taps;
    for (N c = 0; c < s->in; c++)
        for (N t = 0; t < s->taps; t++)
            places[c * s->taps + t] = (c * s->phases + s->phase[t]) * s->cells + s->shift[t];
    *room = (float *)(places + count);
    return places;
}

// For many outputs. dw is added to. `room` holds in this order: places of taps, zeros for the phases of an image, its cells and
// sums for `width` outputs of each group (so many that vectors fit).
void IN_ISA(conv_to_many_weights)(const Sliding *s, const float *g, const float *x, float *dw, float *room, N width)
{
    N image = s->size[0] * s->size[1] * s->size[2], plane = s->phases * s->cells, inputs = s->groups * s->in;
    N reads = s->in * s->taps, row = s->count[2];
    N *at = find_places(s, &room);
    float *cells = room + inputs * plane + s->slack, *sums = cells + s->length * width;
    for (N i = 0; i < s->images; i++) {
        for (N c = 0; c < inputs; c++, x += image) split(s, x, room + c * plane);
        for (N group = 0; group < s->groups; group++) {
            for (N o = 0; o < s->out; o++)
                for (N z = 0; z < s->count[0]; z++)
                    for (N y = 0; y < s->count[1]; y++, g += row) {
                        float *to = cells + (z * s->step[0] + y * s->step[1]) * width + o;
                        for (N p = 0; p < row; p++) to[p * width] = g[p];
                    }
            const float *read = room + group * s->in * plane;
            float *to = sums + group * reads * width;
            for (N r = 0; r < reads; r += NEAR)  // so few that what they read stays in the cache
                for (N o = 0; o < width; o += 2 * LANES)
                    all_across(cells + o, width, read, at + r, reads - r < NEAR ? reads - r : NEAR, s->length,
                               to + r * width + o);
        }
    }
    for (N group = 0; group < s->groups; group++, sums += reads * width)
        for (N o = 0; o < s->out; o++)
            for (N r = 0; r < reads; r++) *dw++ += sums[r * width + o];
}

// For few outputs. dw is added to. `room` holds in this order: places of taps, zeros for the phases, and for the cells, of
// `together` images.
void IN_ISA(conv_to_weights)(const Sliding *s, const float *g, const float *x, float *dw, float *room, N together)
{
    N image = s->size[0] * s->size[1] * s->size[2], windows = s->count[0] * s->count[1] * s->count[2];
    N plane = s->phases * s->cells, inputs = s->groups * s->in, outputs = s->groups * s->out, reads = s->in * s->taps;
    N next_x = inputs * plane, line = (s->length + LANES - 1) / LANES * LANES, next_g = outputs * line;
    N *at = find_places(s, &room);
    float *lines = room + together * next_x + s->slack;
    for (N i = 0; i < s->images; i += together) {
        N some = s->images - i < together ? s->images - i : together;
        for (N c = 0; c < some * inputs; c++, x += image) split(s, x, room + c * plane);
        for (N o = 0; o < some * outputs; o++, g += windows) lay(s, g, lines + o * line);
        for (N group = 0; group < s->groups; group++) {
            for (N o = 0; o < s->out;) {
                N left = s->out - o, first = group * s->out + o;
                int outs = left >= 4 ? 4 : left >= 2 ? 2 : 1;
                all_dots(lines + first * line, line, room + group * s->in * plane, at, reads, some, next_g, next_x,
                         s->length, dw + first * reads, reads, outs);
                o += outs;
            }
        }
    }
}
