// Products of sparse matrices with dense ones, whose rows are added up in registers, some columns at a time.
#include "simd.h"

// Places are of 64 bits (`wide`) or 32. Others may write to them meanwhile: each is read once, and looked at where it is used.
INLINE int64_t read_once(const void *at, N k, const int wide)
{
    return wide ? ((const volatile int64_t *)at)[k] : ((const volatile int32_t *)at)[k];
}
INLINE int is_below(int64_t at, N size) { return (uint64_t)at < (uint64_t)size; }

// A number plus a product, rounded once where processors can.
#if defined __FP_FAST_FMAF && defined __FP_FAST_FMA
#define PLUS(fma, sum, a, b) fma(a, b, sum)
#else
#define PLUS(fma, sum, a, b) ((sum) + (a) * (b))
#endif

// Two runs of `some` numbers of a row of the result, the second `apart` from the first, which it may overlap: those there are
// (of a `fresh` row, none), and values low to high, each times these numbers of the row that its column names; products are
// rounded before they are added if they are not `fused`.
#define ADD_RUNS(type, name, fma) \
    INLINE int name(const type *values, const void *columns, const int wide, N low, N high, const type *dense, N size, \
                    N width, type *to, const N some, const N apart, const int fresh, const int fused) \
    { \
        type a[32], b[32]; \
        for (N j = 0; j < some; j++) a[j] = fresh ? 0 : to[j]; \
        for (N j = 0; j < some; j++) b[j] = fresh ? 0 : to[apart + j]; \
        for (N k = low; k < high; k++) { \
            const int64_t column = read_once(columns, k, wide); \
            if (!is_below(column, size)) return 0; \
            const type *row = dense + column * width, value = values[k]; \
            SIMD for (N j = 0; j < some; j++) a[j] = fused ? PLUS(fma, a[j], value, row[j]) : a[j] + value * row[j]; \
            SIMD for (N j = 0; j < some; j++) \
                b[j] = fused ? PLUS(fma, b[j], value, row[apart + j]) : b[j] + value * row[apart + j]; \
        } \
        for (N j = 0; j < some; j++) to[j] = a[j]; \
        for (N j = 0; j < some; j++) to[apart + j] = b[j]; \
        return 1; \
    }

#define ROW(type, name, add) \
    INLINE int name(const type *values, const void *columns, const int wide, N low, N high, const type *dense, N size, \
                    N width, type *to, const int fresh, const int fused) \
    { \
        int fine = 1; \
        N rest = width; \
        for (; rest >= 32; rest -= 32, dense += 32, to += 32) \
            fine &= add(values, columns, wide, low, high, dense, size, width, to, 16, 16, fresh, fused); \
        for (; rest >= 16; rest -= 16, dense += 16, to += 16) \
            fine &= add(values, columns, wide, low, high, dense, size, width, to, 8, 8, fresh, fused); \
        if (rest > 8) fine &= add(values, columns, wide, low, high, dense, size, width, to, 8, rest - 8, fresh, fused); \
        else if (rest > 4) fine &= add(values, columns, wide, low, high, dense, size, width, to, 4, rest - 4, fresh, fused); \
        else if (rest > 2) fine &= add(values, columns, wide, low, high, dense, size, width, to, 2, rest - 2, fresh, fused); \
        else if (rest) fine &= add(values, columns, wide, low, high, dense, size, width, to, 1, rest - 1, fresh, fused); \
        return fine; \
    }

// The number that compressed values low to high are for a vector: if these are `many`, sixteen bytes are added up at once. The
// last ones go by twos, and one that is left without a branch: how long a row is cannot be foretold.
#define DOT_ROW(type, name, lanes) \
    INLINE int name(const type *values, const void *columns, const int wide, N low, N high, const type *dense, N size, type *to, \
                    const int many) \
    { \
        const N whole = many ? high - (high - low) % 4 : low; \
        type sum[4] = {0}; \
        for (; low < whole; low += 4) \
            for (int j = 0; j < 4; j++) { \
                const int64_t column = read_once(columns, low + j, wide); \
                if (!is_below(column, size)) return 0; \
                sum[j % lanes] += values[low + j] * dense[column]; \
            } \
        type total = (sum[0] + sum[1]) + (sum[2] + sum[3]); \
        for (; low < high - 1; low += 2) { \
            const int64_t column = read_once(columns, low, wide), next = read_once(columns, low + 1, wide); \
            if (!is_below(column, size) | !is_below(next, size)) return 0; \
            total += values[low] * dense[column]; \
            total += values[low + 1] * dense[next]; \
        } \
        const int64_t column = low < high ? read_once(columns, low, wide) : 0; \
        if (!is_below(column, size)) return 0; \
        const type value = low < high ? values[low] : 0; \
        *to = total + (low < high ? value * dense[column] : 0); \
        return 1; \
    }

// A product of compressed rows, with a vector if the width is negative; and one of values at any places, added to zeros, of
// which those in one row are taken together where they follow each other. The order of sums and what is rounded are PyTorch's;
// there, rows times a vector are long where they have more than `least` values on average.
#define PRODUCTS(type, rows_name, places_name, rows_of, row, dot, least) \
    INLINE int rows_of(const void *starts, const void *columns, const int wide, const type *values, N count, const type *dense, \
                       N size, N width, type *to, N first, N last, const int vector, const int many) \
    { \
        int64_t low, high = read_once(starts, first, wide); \
        int fine = high >= 0; \
        for (N i = first; i < last && fine; i++) { \
            low = high; \
            high = read_once(starts, i + 1, wide); \
            fine = low <= high && high <= count \
                && (vector ? dot(values, columns, wide, low, high, dense, size, to + i, many) \
                           : row(values, columns, wide, low, high, dense, size, width, to + i * width, 1, 0)); \
        } \
        return fine; \
    } \
    void IN_ISA(rows_name)(const void *starts, const void *columns, int wide, const type *values, N count, const type *dense, \
                           N size, N width, type *to, N rows, N first, N last, int *fine) \
    { \
        const int many = least == 0 || count > least * rows; \
        *fine &= width >= 0 ? rows_of(starts, columns, wide, values, count, dense, size, width, to, first, last, 0, 0) \
            : wide && many  ? rows_of(starts, columns, 1, values, count, dense, size, 1, to, first, last, 1, 1) \
            : wide          ? rows_of(starts, columns, 1, values, count, dense, size, 1, to, first, last, 1, 0) \
            : many          ? rows_of(starts, columns, 0, values, count, dense, size, 1, to, first, last, 1, 1) \
                            : rows_of(starts, columns, 0, values, count, dense, size, 1, to, first, last, 1, 0); \
    } \
    void IN_ISA(places_name)(const void *at, const void *columns, int wide, const type *values, N count, const type *dense, \
                             N size, N width, type *to, N rows, int fused, int *fine) \
    { \
        for (N low = 0, high; low < count; low = high) { \
            const int64_t place = read_once(at, low, wide); \
            for (high = low + 1; high < count && read_once(at, high, wide) == place; high++) {} \
            *fine &= is_below(place, rows) \
                && (fused ? row(values, columns, wide, low, high, dense, size, width, to + place * width, 0, 1) \
                          : row(values, columns, wide, low, high, dense, size, width, to + place * width, 0, 0)); \
        } \
    }

// The products of rows of a matrix (rows, n) with rows of another (size, n), of which each value names one.
#define SAMPLES(type, name) \
    void IN_ISA(name)(const void *at, const void *columns, int wide, N count, const type *a, N rows, const type *b, N size, N n, \
                      type *to, int *fine) \
    { \
        for (N k = 0; k < count; k++) { \
            const int64_t row = read_once(at, k, wide), column = read_once(columns, k, wide); \
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

#define OF_NUMBERS(type, many, fma, lanes, least, rows_name, places_name, samples_name) \
    ADD_RUNS(type, add_##many, fma) \
    ROW(type, row_of_##many, add_##many) \
    DOT_ROW(type, dot_##many, lanes) \
    PRODUCTS(type, rows_name, places_name, rows_of_##many, row_of_##many, dot_##many, least) \
    SAMPLES(type, samples_name)

OF_NUMBERS(float, floats, __builtin_fmaf, 4, 6, sparse_rows, sparse_places, sparse_samples)
OF_NUMBERS(double, doubles, __builtin_fma, 2, 0, sparse_rows_double, sparse_places_double, sparse_samples_double)
