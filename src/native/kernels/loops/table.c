// The table of this instruction set's loops.
#include "loops.h"

#define ENTRY(name, parameters) .name = IN_ISA(name),
#define WAITING_ENTRY(name, parameters) .name = JOIN(name, WAITING_ISA),
#define POINTWISE_ENTRY(name, kernel, takes, formula) ENTRY(name, )
#define STEP_ENTRY(name, kernel, states, takes, change) ENTRY(name, )
#define LOSS_ENTRY(name, kernel, takes, loss, slope) ENTRY(name, ) ENTRY(name##_slope, )
const Loops IN_ISA(loops) = {BUSY(ENTRY) WAITING(WAITING_ENTRY) POINTWISE(POINTWISE_ENTRY, POINTWISE_ENTRY) STEPS(STEP_ENTRY)
                            LOSSES(LOSS_ENTRY)};
