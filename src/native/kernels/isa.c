// Which instruction set runs: the widest that the processor and the system have, or what TORCHLITE_ISA names.
#include "kernel.h"

#if defined(TORCHLITE_X86_SETS)
#include <cpuid.h>
void take_loops_avx2(Loops *to), take_loops_avx512(Loops *to);

// The register that says which parts of the processor's state the system saves.
static unsigned saved_state(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static int has_avx2(void)
{
    unsigned a, b, c, d;
    const unsigned fma = 1u << 12, osxsave = 1u << 27, f16c = 1u << 29;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (fma | osxsave | f16c)) != (fma | osxsave | f16c)) return 0;
    return (saved_state() & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 5);
}

static int has_avx512(void)
{
    unsigned a, b, c, d;
    const unsigned f_dq_bw_vl = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    if (!has_avx2() || (saved_state() & 0xe6) != 0xe6) return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & f_dq_bw_vl) == f_dq_bw_vl;
}
#endif

static int always(void) { return 1; }

void JOIN(take_loops, BASE_ISA)(Loops *to);
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static const struct {
    const char *name;
    void (*take_loops)(Loops *to);
    int (*here)(void);
} sets[] = {
#if defined(TORCHLITE_X86_SETS)
    {"avx512", take_loops_avx512, has_avx512},
    {"avx2", take_loops_avx2, has_avx2},
#endif
    {TEXT(BASE_ISA), JOIN(take_loops, BASE_ISA), always},
};
enum { SETS = sizeof sets / sizeof *sets };

Loops loops[1];

// Choose by name, or the best one (NULL). Whether there is one.
int choose_isa(const char *name)
{
    for (int i = 0; i < SETS; i++) {
        if ((!name || !strcmp(name, sets[i].name)) && sets[i].here()) {
            sets[i].take_loops(loops);
            return 1;
        }
    }
    return 0;
}

PyObject *list_isas(void)
{
    PyObject *names = PyList_New(0);
    for (int i = 0; names && i < SETS; i++) {
        PyObject *name = sets[i].here() ? PyUnicode_FromString(sets[i].name) : NULL;
        if (name && PyList_Append(names, name) < 0) Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}
