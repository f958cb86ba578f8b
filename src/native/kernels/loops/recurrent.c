// Recurrent layers through time: one direction of one layer. Each batch element's gates lie together.
#include "elementary.h"
#include "product.h"

enum { ROOM = 64 };  // numbers after a row, which stretches overwrite

enum { ELMAN_TANH, ELMAN_RELU, GRU, LSTM };

static const N no_shift[1] = {0};

// Adds rows (outs, n) times a matrix (n, length) to rows `apart` from each other.
static void add_product(const float *rows, N n, const float *matrix, N length, float *to, N apart, int outs, float *room)
{
    Source source = {matrix, length, n, 1, length, no_shift};
    IN_ISA(turn)(rows, n, n, room, outs);
    IN_ISA(correlate)(&source, room, NULL, 1, to, apart, outs);
}

INLINE void fill_rows(const float *row, N n, float *to, N apart, int outs)
{
    for (int o = 0; o < outs; o++) memcpy(to + o * apart, row, n * sizeof *to);
}

// What comes of the sums of an element's gates: activations, the state, and what else is kept.

APART void lstm_step(const float *restrict sums, const float *restrict before, float *restrict gates,
                      float *restrict cells, float *restrict hidden, N n)
{
    SIMD for (N i = 0; i < n; i++) {
        float in = sigmoid_of(sums[i]), forget = sigmoid_of(sums[n + i]), g = tanh_of(sums[2 * n + i]);
        float out = sigmoid_of(sums[3 * n + i]), cell = forget * before[i] + in * g, squashed = tanh_of(cell);
        gates[i] = out;
        gates[n + i] = in;
        gates[2 * n + i] = forget;
        gates[3 * n + i] = g;
        cells[i] = cell;
        cells[n + i] = squashed;
        hidden[i] = out * squashed;
    }
}

APART void gru_step(const float *restrict sums, const float *restrict own, const float *restrict before,
                     float *restrict gates, float *restrict kept, float *restrict hidden, N n)
{
    SIMD for (N i = 0; i < n; i++) {
        float r = sigmoid_of(sums[i] + own[i]), z = sigmoid_of(sums[n + i] + own[n + i]);
        float candidate = tanh_of(sums[2 * n + i] + r * own[2 * n + i]);
        gates[i] = r;
        gates[n + i] = z;
        gates[2 * n + i] = candidate;
        kept[i] = own[2 * n + i];
        hidden[i] = candidate + z * (before[i] - candidate);
    }
}

APART void elman_step(const float *restrict sums, float *restrict hidden, N n, int relu)
{
    if (relu) SIMD for (N i = 0; i < n; i++) hidden[i] = sums[i] < 0 ? 0 : sums[i];
    else SIMD for (N i = 0; i < n; i++) hidden[i] = tanh_of(sums[i]);
}

// Weights are turned, (features, gates) and (size, gates), with numbers to read after them; so is `bias`, of the input
// and, of the GRU, of the state. h and c are the states to begin with, and then the last. `room` is for two blocks of
// rows of gates and one of columns.
void IN_ISA(recurrent)(const Recurrence *r, const float *x, float *h, float *c, const float *of_input,
                       const float *of_state, const float *bias, float *gates, float *hidden, float *more, float *room)
{
    N n = r->size, width = r->gates * n, apart = width + ROOM;
    float *sums = room, *own = sums + OUT * apart, *columns = own + OUT * apart;
    for (N step = 0; step < r->length; step++) {
        N t = r->reverse ? r->length - 1 - step : step;
        for (N b = r->first; b < r->after;) {
            int block = block_of(r->after - b);
            fill_rows(bias, width, sums, apart, block);
            add_product(x + (t * r->batch + b) * r->features, r->features, of_input, width, sums, apart, block, columns);
            if (r->cell == GRU) fill_rows(bias + width, width, own, apart, block);
            add_product(h + b * n, n, of_state, width, r->cell == GRU ? own : sums, apart, block, columns);
            for (int k = 0; k < block; k++, b++) {
                N at = t * r->batch + b;
                float *made = hidden + at * n, *row = sums + k * apart;
                if (r->cell == LSTM) {
                    lstm_step(row, c + b * n, gates + at * width, more + at * 2 * n, made, n);
                    memcpy(c + b * n, more + at * 2 * n, n * sizeof *c);
                } else if (r->cell == GRU) {
                    gru_step(row, own + k * apart, h + b * n, gates + at * width, more + at * n, made, n);
                } else {
                    elman_step(row, made, n, r->cell == ELMAN_RELU);
                }
                memcpy(h + b * n, made, n * sizeof *h);
            }
        }
    }
}

APART void lstm_back(const float *restrict gates, const float *restrict cells, const float *restrict before,
                      float *restrict to_h, float *restrict to_c, float *restrict sums, N n)
{
    SIMD for (N i = 0; i < n; i++) {
        float out = gates[i], in = gates[n + i], forget = gates[2 * n + i], g = gates[3 * n + i], squashed = cells[n + i];
        float into = to_h[i] * out * (1 - squashed * squashed) + to_c[i];
        sums[i] = into * g * in * (1 - in);
        sums[n + i] = into * before[i] * forget * (1 - forget);
        sums[2 * n + i] = into * in * (1 - g * g);
        sums[3 * n + i] = to_h[i] * squashed * out * (1 - out);
        to_c[i] = into * forget;
        to_h[i] = 0;
    }
}

APART void gru_back(const float *restrict gates, const float *restrict own, const float *restrict before,
                     float *restrict to_h, float *restrict sums, float *restrict of_state, N n)
{
    SIMD for (N i = 0; i < n; i++) {
        float r = gates[i], z = gates[n + i], candidate = gates[2 * n + i], g = to_h[i];
        float to_candidate = g * (1 - z) * (1 - candidate * candidate), to_r = to_candidate * own[i] * r * (1 - r);
        float to_z = g * (before[i] - candidate) * z * (1 - z);
        sums[i] = of_state[i] = to_r;
        sums[n + i] = of_state[n + i] = to_z;
        sums[2 * n + i] = to_candidate;
        of_state[2 * n + i] = to_candidate * r;
        to_h[i] = g * z;
    }
}

APART void elman_back(const float *restrict y, float *restrict to_h, float *restrict sums, N n, int relu)
{
    SIMD for (N i = 0; i < n; i++) {
        float slope = relu ? (y[i] > 0 ? 1.0f : 0.0f) : 1 - y[i] * y[i];
        sums[i] = to_h[i] * slope;
        to_h[i] = 0;
    }
}

// `rows` become the gradients of what gates got from the input; the state gets the same, but for what the GRU's candidate
// does. to_h and to_c are those of the last states, and then of the first. `w` is (gates, size), with numbers to read after
// it; `before` is what each step began with: hidden states, or the LSTM's cells. g may be NULL.
void IN_ISA(recurrent_slope)(const Recurrence *r, const float *g, const float *w, const float *gates,
                             const float *hidden, const float *more, const float *before, float *to_h, float *to_c,
                             float *rows, float *room)
{
    N n = r->size, width = r->gates * n, apart = n + ROOM;
    float *sums = room, *columns = sums + OUT * apart, *of_state = columns + OUT * width;
    for (N step = 0; step < r->length; step++) {
        N t = r->reverse ? step : r->length - 1 - step;
        for (N b = r->first; b < r->after;) {
            int block = block_of(r->after - b);
            N first = t * r->batch + b;
            for (int k = 0; k < block; k++) {
                N at = first + k;
                float *back = to_h + (b + k) * n;
                if (g) SIMD for (N i = 0; i < n; i++) back[i] += g[at * n + i];
                if (r->cell == LSTM)
                    lstm_back(gates + at * width, more + at * 2 * n, before + at * n, back, to_c + (b + k) * n,
                              rows + at * width, n);
                else if (r->cell == GRU)
                    gru_back(gates + at * width, more + at * n, before + at * n, back, rows + at * width,
                             of_state + k * width, n);
                else
                    elman_back(hidden + at * n, back, rows + at * width, n, r->cell == ELMAN_RELU);
                memcpy(sums + k * apart, back, n * sizeof *sums);
            }
            const float *given = r->cell == GRU ? of_state : rows + first * width;
            add_product(given, width, w, n, sums, apart, block, columns);
            for (int k = 0; k < block; k++, b++) memcpy(to_h + b * n, sums + k * apart, n * sizeof *to_h);
        }
    }
}
