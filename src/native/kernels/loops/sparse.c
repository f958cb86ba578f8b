// Products of sparse matrices with dense ones, whose rows are added up in registers, some columns at a time.
#include "simd.h"

// Others may write to places meanwhile: each is read once, and looked at where it is used.
INLINE int64_t read_once(const int64_t *at) { return *(const volatile int64_t *)at; }
INLINE int is_below(int64_t at, N size) { return (uint64_t)at < (uint64_t)size; }

// Some numbers of a row of the result: those there are (of a `fresh` row, none), and values low to high, each times these
// numbers of the row that its column names.
#define ADD_ROW(type, name) \
    INLINE int name(const type *values, const int64_t *columns, N low, N high, const type *dense, N size, N width, \
                    type *to, const N some, const int fresh) \
    { \
        type sum[64]; \
        int fine = 1; \
        for (N j = 0; j < some; j++) sum[j] = fresh ? 0 : to[j]; \
        for (N k = low; k < high; k++) { \
            const int64_t column = read_once(columns + k); \
            const int below = is_below(column, size); \
            const type *row = dense + (below ? column * width : 0), value = values[k]; \
            fine &= below; \
            SIMD for (N j = 0; j < some; j++) sum[j] += value * row[j]; \
        } \
        for (N j = 0; j < some; j++) to[j] = sum[j]; \
        return fine; \
    }

// Products of values with the numbers of a vector that their columns name, `low` to `high` of them; so many are made ahead,
// since it is seldom foreseen where rows end. Behind the last there is room for as many as are added up at once.
#define AHEAD 512
#define LANES 8
#define MADE(type, name) typedef struct { N low, high; type products[AHEAD + LANES]; } name;

// Makes those from `low` on; whether all columns are below `size`.
#define MAKE_AHEAD(type, name, Made) \
    static int name(const type *values, const int64_t *columns, N low, N count, const type *dense, N size, Made *made) \
    { \
        const N some = count - low < AHEAD ? count - low : AHEAD; \
        uint64_t at[AHEAD], signs = 0; \
        for (N k = 0; k < some; k++) { \
            const uint64_t column = columns[low + k]; \
            signs |= column | (size - 1 - column); \
            at[k] = column; \
        } \
        if (signs >> 63) return 0; \
        type *restrict to = made->products; \
        N k = 0; \
        for (values += low; k + 4 <= some; k += 4) { \
            const type a = dense[at[k]], b = dense[at[k + 1]], c = dense[at[k + 2]], d = dense[at[k + 3]]; \
            to[k] = values[k] * a; \
            to[k + 1] = values[k + 1] * b; \
            to[k + 2] = values[k + 2] * c; \
            to[k + 3] = values[k + 3] * d; \
        } \
        for (; k < some; k++) to[k] = values[k] * dense[at[k]]; \
        made->low = low; \
        made->high = low + some; \
        return 1; \
    }

#define ADD_UP(type, name) \
    INLINE type name(const type *products, int n) \
    { \
        type sum[LANES] = {0}; \
        for (int k = 0; k < n; k += LANES) \
            SIMD for (int j = 0; j < LANES; j++) { \
                const type product = products[k + j]; \
                sum[j] += k + j < n ? product : 0; \
            } \
        return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7])); \
    }

// The number that a row of the result is for a vector.
#define DOT_ROW(type, name, make_ahead, add_up, Made) \
    INLINE int name(const type *values, const int64_t *columns, N low, N high, N count, const type *dense, N size, type *to, \
                    Made *made, const int fresh) \
    { \
        type total = fresh ? 0 : *to; \
        while (low < high) { \
            if (low < made->low || low >= made->high) \
                if (!make_ahead(values, columns, low, count, dense, size, made)) return 0; \
            const N end = high < made->high ? high : made->high; \
            total += add_up(made->products + (low - made->low), (int)(end - low)); \
            low = end; \
        } \
        *to = total; \
        return 1; \
    }

#define ROW(type, name, add, dot, Made) \
    INLINE int name(const type *values, const int64_t *columns, N low, N high, N count, const type *dense, N size, N width, \
                    type *to, Made *made, const int fresh) \
    { \
        int fine = 1; \
        N j = 0; \
        if (width == 1) return dot(values, columns, low, high, count, dense, size, to, made, fresh); \
        for (; j + 64 <= width; j += 64) fine &= add(values, columns, low, high, dense + j, size, width, to + j, 64, fresh); \
        for (; j + 16 <= width; j += 16) fine &= add(values, columns, low, high, dense + j, size, width, to + j, 16, fresh); \
        for (; j + 4 <= width; j += 4) fine &= add(values, columns, low, high, dense + j, size, width, to + j, 4, fresh); \
        for (; j < width; j++) fine &= add(values, columns, low, high, dense + j, size, width, to + j, 1, fresh); \
        return fine; \
    }

// A product of compressed rows; and one of values at any places, added to zeros, of which those in one row are taken
// together where they follow each other.
#define PRODUCTS(type, rows_name, places_name, row, dot, Made) \
    void IN_ISA(rows_name)(const int64_t *starts, const int64_t *columns, const type *values, N count, const type *dense, \
                           N size, N width, type *to, N rows, int *fine) \
    { \
        Made made; \
        made.low = made.high = 0; \
        int64_t low, high = read_once(starts); \
        int ok = high >= 0; \
        if (width == 1) { \
            for (N i = 0; i < rows && ok; i++) { \
                low = high; \
                high = read_once(starts + i + 1); \
                ok = low <= high && high <= count && dot(values, columns, low, high, count, dense, size, to + i, &made, 1); \
            } \
            *fine &= ok; \
            return; \
        } \
        for (N i = 0; i < rows; i++, to += width) { \
            low = high; \
            high = read_once(starts + i + 1); \
            if (low < 0 || high < low || high > count || (!size && low < high)) ok = 0; \
            else ok &= row(values, columns, low, high, count, dense, size, width, to, &made, 1); \
        } \
        *fine &= ok; \
    } \
    void IN_ISA(places_name)(const int64_t *at, const int64_t *columns, const type *values, N count, const type *dense, \
                             N size, N width, type *to, N rows, int *fine) \
    { \
        Made made; \
        made.low = made.high = 0; \
        for (N low = 0, high; low < count; low = high) { \
            const int64_t place = read_once(at + low); \
            for (high = low + 1; high < count && read_once(at + high) == place; high++) {} \
            if (!is_below(place, rows) || !size) *fine = 0; \
            else *fine &= row(values, columns, low, high, count, dense, size, width, to + place * width, &made, 0); \
        } \
    }

// The products of rows of a matrix (rows, n) with rows of another (size, n), of which each value names one.
#define SAMPLES(type, name) \
    void IN_ISA(name)(const int64_t *at, const int64_t *columns, N count, const type *a, N rows, const type *b, N size, N n, \
                      type *to, int *fine) \
    { \
        for (N k = 0; k < count; k++) { \
            const int64_t row = read_once(at + k), column = read_once(columns + k); \
            type sum = 0; \
            if (!is_below(row, rows) || !is_below(column, size)) { \
                *fine = 0; \
                continue; \
            } \
            const type *x = a + row * n, *y = b + column * n; \
            TOTAL(sum) for (N j = 0; j < n; j++) sum += x[j] * y[j]; \
            to[k] = sum; \
        } \
    }

#define OF_NUMBERS(type, many, rows_name, places_name, samples_name) \
    MADE(type, Made_##many) \
    ADD_ROW(type, add_##many) \
    MAKE_AHEAD(type, make_##many, Made_##many) \
    ADD_UP(type, sum_of_##many) \
    DOT_ROW(type, dot_##many, make_##many, sum_of_##many, Made_##many) \
    ROW(type, row_of_##many, add_##many, dot_##many, Made_##many) \
    PRODUCTS(type, rows_name, places_name, row_of_##many, dot_##many, Made_##many) \
    SAMPLES(type, samples_name)

OF_NUMBERS(float, floats, sparse_rows, sparse_places, sparse_samples)
OF_NUMBERS(double, doubles, sparse_rows_double, sparse_places_double, sparse_samples_double)
