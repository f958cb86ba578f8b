// The table of this instruction set's loops, filled in when it is chosen: as a constant it would want the loader for each.
#include "product.h"

#define ENTRY(name, parameters) to->name = IN_ISA(name);
#define WAITING_ENTRY(name, parameters) to->name = JOIN(name, WAITING_ISA);
#define POINTWISE_ENTRY(name, kernel, takes, formula) ENTRY(name, )
#define STEP_ENTRY(name, kernel, states, takes, change) ENTRY(name, )
#define LOSS_ENTRY(name, kernel, takes, loss, slope) ENTRY(name, ) ENTRY(name##_slope, )
void IN_ISA(take_loops)(Loops *to)
{
    BUSY(ENTRY) WAITING(WAITING_ENTRY) POINTWISE(POINTWISE_ENTRY, POINTWISE_ENTRY) STEPS(STEP_ENTRY) LOSSES(LOSS_ENTRY)
    to->lanes = LANES;
}
