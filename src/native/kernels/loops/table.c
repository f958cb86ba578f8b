// The table of this instruction set's loops.
#include "loops.h"

#define ENTRY(name, parameters) .name = IN_ISA(name),
#define POINTWISE_ENTRY(name, kernel, takes, formula) ENTRY(name, )
const Loops IN_ISA(loops) = {LOOPS(ENTRY) POINTWISE(POINTWISE_ENTRY)};
