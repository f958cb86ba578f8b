// Recurrent layers through time: one direction of one layer. Each batch element's gates lie together.
#include "elementary.h"
#include "product.h"

enum { ROOM = 64 };  // numbers after a row, which stretches overwrite

enum { ELMAN_TANH, ELMAN_RELU, GRU, LSTM };

enum { FEW = 8 };  // products that are added up one after the other where no gate keeps their errors from being carried on

// Adds rows (rows, n) times a matrix (n, length) to rows `apart` from each other, so many products of each sum at a time.
static void add_product(const float *from, N rows, N n, N some, const float *matrix, N length, float *to, N apart)
{
    for (N k = 0; k < n; k += some) {
        const Product p = {from + k, matrix + k * length, NULL, to, rows, n - k < some ? n - k : some, length, n, 1, length, apart, 1};
        IN_ISA(multiply)(&p, 0, (rows + BLOCK_ROWS - 1) / BLOCK_ROWS);
    }
}

INLINE void fill_rows(const float *row, N n, float *to, N apart, N rows)
{
    for (N o = 0; o < rows; o++) memcpy(to + o * apart, row, n * sizeof *to);
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
// and, of the GRU, of the state. h and c are the states to begin with, and then the last. `room` is for the elements' rows of
// gates, and those of the GRU once more.
void IN_ISA(recurrent)(const Recurrence *r, const float *x, float *h, float *c, const float *of_input,
                       const float *of_state, const float *bias, float *gates, float *hidden, float *more, float *room)
{
    const N n = r->size, width = r->gates * n, apart = width + ROOM, rows = r->after - r->first;
    float *sums = room, *own = r->cell == GRU ? sums + rows * apart : sums;
    for (N step = 0; step < r->length; step++) {
        const N t = r->reverse ? r->length - 1 - step : step, first = t * r->batch + r->first;
        fill_rows(bias, width, sums, apart, rows);
        if (r->cell == GRU) fill_rows(bias + width, width, own, apart, rows);
        add_product(x + first * r->features, rows, r->features, r->gates == 1 ? FEW : r->features, of_input, width, sums, apart);
        add_product(h + r->first * n, rows, n, r->gates == 1 ? FEW : n, of_state, width, own, apart);
        for (N k = 0; k < rows; k++) {
            const N b = r->first + k, at = first + k;
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
    const N n = r->size, width = r->gates * n, apart = n + ROOM, count = r->after - r->first;
    float *sums = room, *of_state = sums + count * apart;
    for (N step = 0; step < r->length; step++) {
        const N t = r->reverse ? step : r->length - 1 - step, first = t * r->batch + r->first;
        for (N k = 0; k < count; k++) {
            const N at = first + k, b = r->first + k;
            float *back = to_h + b * n;
            if (g) SIMD for (N i = 0; i < n; i++) back[i] += g[at * n + i];
            if (r->cell == LSTM)
                lstm_back(gates + at * width, more + at * 2 * n, before + at * n, back, to_c + b * n, rows + at * width, n);
            else if (r->cell == GRU)
                gru_back(gates + at * width, more + at * n, before + at * n, back, rows + at * width, of_state + k * width, n);
            else
                elman_back(hidden + at * n, back, rows + at * width, n, r->cell == ELMAN_RELU);
            memcpy(sums + k * apart, back, n * sizeof *sums);
        }
        add_product(r->cell == GRU ? of_state : rows + first * width, count, width, width, w, n, sums, apart);
        for (N k = 0; k < count; k++) memcpy(to_h + (r->first + k) * n, sums + k * apart, n * sizeof *to_h);
    }
}
