// The losses of pairs: for each the loop's name, the kernel's, what arguments it takes, the loss of an element x whose target
// is t (d is x - t), and its derivative by x.
//
// Arguments are told by a letter each: x the elements, t the targets, r how to reduce, p a number, - None.
#ifndef TORCHLITE_LOSSES_H
#define TORCHLITE_LOSSES_H

// clang-format off
#define LOSSES(X) \
    X(mse, "mse_loss", "xtr", d * d, d * 2) \
    X(smooth_l1, "smooth_l1_loss", "xtrp", fabsf(d) < p ? d * d * (0.5f / p) : fabsf(d) - 0.5f * p, \
      p == 0 ? (d > 0 ? 1 : d < 0 ? -1 : d) : bounded(d / p, -1, 1)) \
    X(huber, "huber_loss", "xtrp", fabsf(d) <= p ? d * d * 0.5f : (fabsf(d) - 0.5f * p) * p, bounded(d, -p, p)) \
    X(bce_logits, "binary_cross_entropy_with_logits", "xt--r", (1 - t) * x + softplus_of(-x), sigmoid_of(x) - t)
// clang-format on

#endif
