// The pointwise kernels: for each the loop's name, the kernel's, what arguments it takes, and the number that it makes.
//
// Arguments are told by a letter each: x an array, e one of no halves, a one of small angles, g the gradient of what came
// out, p, q, r numbers, b a bool or None that does not matter, f False, 0 and 2 these numbers, n "none", t "tanh", l and h
// a lower and an upper bound, w a weight (arrays of one number; no bound is None), i a number, which counts with 1 and what
// 1 over it is. Rows of one kernel follow each other; those of W are in double precision.
#ifndef TORCHLITE_POINTWISE_H
#define TORCHLITE_POINTWISE_H

// clang-format off
#define POINTWISE(X, W) \
    X(relu, "relu", "x", x < 0 ? 0 : x) \
    X(relu_slope, "threshold_backward", "gx0", x <= 0 ? 0 : g) \
    X(leaky_relu, "leaky_relu", "xp", x > 0 ? x : x * p) \
    X(leaky_relu_slope, "leaky_relu_backward", "gxpb", x > 0 ? g : g * p) \
    X(hardtanh, "hardtanh", "xpq", bounded(x, p, q)) \
    X(hardtanh_slope, "hardtanh_backward", "gxpq", x <= p || x >= q ? 0 : g) \
    X(sign, "sign", "x", (x > 0) - (x < 0)) \
    X(threshold, "threshold", "xpq", x <= p ? q : x) \
    X(hardshrink, "hardshrink", "xp", x >= -p && x <= p ? 0 : x) \
    X(hardshrink_slope, "hardshrink_backward", "gxp", x >= -p && x <= p ? 0 : g) \
    X(softshrink, "softshrink", "xp", x > p ? x - p : x < -p ? x + p : x * 0) \
    X(hardsigmoid, "hardsigmoid", "x", bounded(x + 3, 0, 6) / 6) \
    X(hardsigmoid_slope, "hardsigmoid_backward", "gx", x > -3 && x < 3 ? g / 6 : 0) \
    X(hardswish, "hardswish", "x", x * bounded(x + 3, 0, 6) / 6) \
    X(hardswish_slope, "hardswish_backward", "gx", x <= -3 ? 0 : x < 3 ? g * (x / 3 + 0.5f) : g) \
    X(sigmoid, "sigmoid", "x", sigmoid_of(x)) \
    X(silu, "silu", "x", x / (1.0f + exp_of(-x))) \
    X(silu_slope, "silu_backward", "gx", g * silu_slope_of(x)) \
    X(gelu, "gelu", "xn", gelu_of(x)) \
    W(wide_gelu, "gelu", "xn", wide_gelu_of(x)) \
    X(gelu_tanh, "gelu", "xt", gelu_tanh_of(x)) \
    X(gelu_slope, "gelu_backward", "gxn", g * gelu_slope_of(x)) \
    W(wide_gelu_slope, "gelu_backward", "gxn", g * wide_gelu_slope_of(x)) \
    X(gelu_tanh_slope, "gelu_backward", "gxt", g * gelu_tanh_slope_of(x)) \
    X(elu, "elu", "xpqr", x <= 0 ? expm1_of(x * r) * (p * q) : x * q) \
    X(elu_slope, "elu_backward", "gpqrfx", g * (x <= 0 ? exp_of(x * r) * (r * p * q) : q)) \
    X(softplus, "softplus", "xpq", x * p > q ? x : softplus_of(x * p) / p) \
    X(softplus_slope, "softplus_backward", "gxpq", x * p > q ? g : g * sigmoid_of(x * p)) \
    X(log_sigmoid, "log_sigmoid", "x", 0 - softplus_of(-x)) \
    X(log_sigmoid_slope, "log_sigmoid_backward", "gxb", g * log_sigmoid_slope_of(x)) \
    X(erf, "erf", "x", erf_of(x)) \
    W(wide_erf, "erf", "x", wide_erf_of(x)) \
    X(square, "pow.Tensor_Scalar", "x2", x * x) \
    X(exp, "exp", "x", nearest_exp_of(x)) \
    X(tanh, "tanh", "x", tanh_of(x)) \
    X(expm1, "expm1", "x", expm1_of(x)) \
    X(log, "log", "x", log_of(x)) \
    X(log1p, "log1p", "x", log1p_of(x)) \
    X(logaddexp, "logaddexp", "gx", log_of_sum(g, x)) \
    X(nextafter, "nextafter", "ge", next_to(g, x)) \
    X(hypot, "hypot", "gx", hypotenuse_of(g, x)) \
    X(lerp, "lerp.Scalar", "gxp", fabsf(p) < 0.5f ? g + p * (x - g) : x + (p - 1) * (x - g)) \
    X(sin, "sin", "a", sine_of(x, 0)) \
    X(cos, "cos", "a", sine_of(x, 0.5))
// clang-format on

#define ANGLES 1e6f  // from 0, within which sines are known

enum { NUMBERS = 3, CHUNK = 64 };  // of numbers, so many at a time: what is left over needs no code of its own

#endif
