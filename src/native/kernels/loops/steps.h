// Steps of optimizers: for each the loop's name, the kernel's, how many arrays of state there are, what further arguments
// it takes, and what it does to a number p of the parameters, its gradient g and its state a, b.
//
// Arguments are told by a letter each: n a number (n0, n1, ... in the formula), 0 and 1 a number or None, which is then
// that, b a bool, f False, - None.
#ifndef TORCHLITE_STEPS_H
#define TORCHLITE_STEPS_H

#define DECAYED(by) g = (by) != 0 ? g + p * (by) : g

// clang-format off
#define STEPS(X) \
    X(sgd_step, "optim.sgd", 0, "n0n1b", DECAYED(n1); p -= g * n0) \
    X(momentum_step, "optim.sgd", 1, "n0n1b", \
      DECAYED(n1); a = a * n2 + g * n3; p -= (n4 != 0 ? g + a * n2 : a) * n0) \
    X(adam_step, "optim.adam", 2, "10nnnnn", \
      p *= n0; DECAYED(n1); a += (g - a) * n2; b = b * n3 + g * g * n4; p -= a / (sqrtf(b) + n5) * n6) \
    X(rmsprop_step, "optim.rmsprop", 1, "0nnnn-f", DECAYED(n0); a = a * n1 + g * g * n2; p -= g / (sqrtf(a) + n3) * n4) \
    X(adagrad_step, "optim.adagrad", 1, "0nn", DECAYED(n0); a += g * g; p -= g / (sqrtf(a) + n1) * n2)
// clang-format on

enum { STEP_NUMBERS = 8 };

#endif
