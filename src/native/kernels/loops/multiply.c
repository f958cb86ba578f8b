// Products of matrices by blocks, in a file of its own: beside what it calls, that would be compiled a second time for it.
#include "product.h"

enum {
    DEEP = 4 * SOME,  // the most rows of a second matrix at a time,
    CACHE = 1 << 17,  // of which about so many numbers stay near
};

// For some of all blocks of rows.
void IN_ISA(multiply)(const Product *p, N from, N to)
{
    const N nowhere = 0, after = to * BLOCK_ROWS < p->rows ? to * BLOCK_ROWS : p->rows;
    const N fit = CACHE / (SOME * p->columns), most = fit < 1 ? SOME : fit * SOME < DEEP ? fit * SOME : DEEP;
    float factors[DEEP * OUT];
    for (N k = 0; k < p->n; k += most) {
        const N deep = p->n - k < most ? p->n - k : most;
        const Source source = {p->b + k * p->apart, p->apart, deep, 1, p->columns, &nowhere};
        for (N r = from * BLOCK_ROWS; r < after;) {
            const int block = block_of(after - r);
            IN_ISA(turn)(p->a + r * p->down + k * p->along, p->down, p->along, deep, factors, block);
            IN_ISA(correlate)(&source, factors, k || !p->bias ? NULL : p->bias + r, k || p->added, p->to + r * p->next,
                              p->next, block);
            r += block;
        }
    }
}
