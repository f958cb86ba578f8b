// Steps of optimizers, as the table has them: each number of the parameters and of their state is read and written once.
#include "simd.h"

#define STEP(name, kernel, states, takes, change) \
    void IN_ISA(name)(float *restrict parameters, const float *restrict gradient, float *restrict first, \
                      float *restrict second, const float *restrict numbers, N n) \
    { \
        const float n0 = numbers[0], n1 = numbers[1], n2 = numbers[2], n3 = numbers[3], n4 = numbers[4], \
                    n5 = numbers[5], n6 = numbers[6]; \
        SIMD for (N i = 0; i < n; i++) { \
            float p = parameters[i], g = gradient[i], a = states > 0 ? first[i] : 0, b = states > 1 ? second[i] : 0; \
            (void)n2, (void)n3, (void)n4, (void)n5, (void)n6; \
            change; \
            parameters[i] = p; \
            if (states > 0) first[i] = a; \
            if (states > 1) second[i] = b; \
        } \
    }
STEPS(STEP)
