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

// One value of a row, if there is one more, times the number of a vector that its column names, into a sum.
#define ADD_ONE(sum, k) \
    { \
        const int there = (k) < high; \
        const N at = there ? (k) : low; \
        const int64_t column = read_once(columns + at); \
        const int below = is_below(column, size); \
        fine &= below; \
        sum += (there ? values[at] : 0) * dense[below ? column : 0]; \
    }

// The number that a row of the result is for a vector: four sums, none of which waits for another, and one loop, since it
// is seldom foreseen where rows end.
#define DOT_ROW(type, name) \
    INLINE int name(const type *values, const int64_t *columns, N low, N high, const type *dense, N size, type *to, \
                    const int fresh) \
    { \
        type a = fresh ? 0 : *to, b = 0, c = 0, d = 0; \
        int fine = 1; \
        for (N k = low; k < high; k += 4) { \
            ADD_ONE(a, k) ADD_ONE(b, k + 1) ADD_ONE(c, k + 2) ADD_ONE(d, k + 3) \
        } \
        *to = (a + b) + (c + d); \
        return fine; \
    }

#define ROW(type, name, add, dot) \
    INLINE int name(const type *values, const int64_t *columns, N low, N high, const type *dense, N size, N width, \
                    type *to, const int fresh) \
    { \
        int fine = 1; \
        N j = 0; \
        if (width == 1) return dot(values, columns, low, high, dense, size, to, fresh); \
        for (; j + 64 <= width; j += 64) fine &= add(values, columns, low, high, dense + j, size, width, to + j, 64, fresh); \
        for (; j + 16 <= width; j += 16) fine &= add(values, columns, low, high, dense + j, size, width, to + j, 16, fresh); \
        for (; j + 4 <= width; j += 4) fine &= add(values, columns, low, high, dense + j, size, width, to + j, 4, fresh); \
        for (; j < width; j++) fine &= add(values, columns, low, high, dense + j, size, width, to + j, 1, fresh); \
        return fine; \
    }

// A product of compressed rows; and one of values at any places, added to zeros, of which those in one row are taken
// together where they follow each other.
#define PRODUCTS(type, rows_name, places_name, row) \
    void IN_ISA(rows_name)(const int64_t *starts, const int64_t *columns, const type *values, N count, const type *dense, \
                           N size, N width, type *to, N rows, int *fine) \
    { \
        for (N i = 0; i < rows; i++, to += width) { \
            const int64_t low = read_once(starts + i), high = read_once(starts + i + 1); \
            if (low < 0 || high < low || high > count || (!size && low < high)) *fine = 0; \
            else *fine &= row(values, columns, low, high, dense, size, width, to, 1); \
        } \
    } \
    void IN_ISA(places_name)(const int64_t *at, const int64_t *columns, const type *values, N count, const type *dense, \
                             N size, N width, type *to, N rows, int *fine) \
    { \
        for (N low = 0, high; low < count; low = high) { \
            const int64_t place = read_once(at + low); \
            for (high = low + 1; high < count && read_once(at + high) == place; high++) {} \
            if (!is_below(place, rows) || !size) *fine = 0; \
            else *fine &= row(values, columns, low, high, dense, size, width, to + place * width, 0); \
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

ADD_ROW(float, add_floats)
DOT_ROW(float, dot_floats)
ROW(float, row_of_floats, add_floats, dot_floats)
PRODUCTS(float, sparse_rows, sparse_places, row_of_floats)
ADD_ROW(double, add_doubles)
DOT_ROW(double, dot_doubles)
ROW(double, row_of_doubles, add_doubles, dot_doubles)
PRODUCTS(double, sparse_rows_double, sparse_places_double, row_of_doubles)
SAMPLES(float, sparse_samples)
SAMPLES(double, sparse_samples_double)
