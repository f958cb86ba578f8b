// CUDA C++ for g++: what a kernel finds on a device, on this thread of this process.
#pragma once
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <math.h>
#include <type_traits>
#include <utility>

#include "crt/host_defines.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device.h"

#undef __CUDACC_VER_MAJOR__
#define __CUDACC_VER_MAJOR__ 12  // CuPy's headers choose CUDA's own halves by it

// ---- threads

extern "C" {
extern host_device::Dim host_threadIdx, host_blockIdx, host_blockDim, host_gridDim;
extern char* host_dynamic_shared;
void host_wait_for_block();
void host_wait_for_warp();
int host_lane();
unsigned long long host_shuffle(unsigned long long value, int lane, int width);
unsigned long long host_vote(bool mine);  // the answers of a warp, a bit for each lane
}
#define threadIdx host_threadIdx
#define blockIdx host_blockIdx
#define blockDim host_blockDim
#define gridDim host_gridDim
#define warpSize 32

inline void __syncthreads() { host_wait_for_block(); }
inline void __syncwarp(unsigned = ~0u) { host_wait_for_warp(); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

#define HOST_SHUFFLE(NAME, FROM)                                      \
  template <class T> T NAME(unsigned, T value, int by, int width = 32) { \
    static_assert(sizeof(T) <= 8);                                    \
    unsigned long long bits = 0;                                      \
    memcpy(&bits, &value, sizeof value);                              \
    const int lane = host_lane();                                     \
    bits = host_shuffle(bits, FROM, width);                           \
    memcpy(&value, &bits, sizeof value);                              \
    return value;                                                     \
  }
HOST_SHUFFLE(__shfl_sync, lane / width * width + by)
HOST_SHUFFLE(__shfl_xor_sync, lane ^ by)
HOST_SHUFFLE(__shfl_down_sync, lane + by)
HOST_SHUFFLE(__shfl_up_sync, lane - by)
inline unsigned __ballot_sync(unsigned, int mine) { return host_vote(mine); }
inline int __any_sync(unsigned, int mine) { return host_vote(mine) != 0; }
inline int __all_sync(unsigned, int mine) { return host_vote(!mine) == 0; }

// ---- bits

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned __int128)a * b >> 64;
}

#define HOST_BITS(NAME, FROM, TO) \
  inline TO NAME(FROM v) { TO bits; memcpy(&bits, &v, sizeof bits); return bits; }
HOST_BITS(__float_as_int, float, int)
HOST_BITS(__int_as_float, int, float)
HOST_BITS(__float_as_uint, float, unsigned)
HOST_BITS(__uint_as_float, unsigned, float)
HOST_BITS(__double_as_longlong, double, long long)
HOST_BITS(__longlong_as_double, long long, double)

template <class T> T __ldg(const T* p) { return *p; }

// ---- mathematics: CUDA's min and max take any two types, and prefer numbers to NaN

#define HOST_EXTREME(NAME, FLOATING, ORDER)                                                              \
  template <class A, class B,                                                                            \
            class = std::enable_if_t<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value>>      \
  inline std::common_type_t<A, B> NAME(A a, B b) {                                                       \
    typedef std::common_type_t<A, B> C;                                                                  \
    if constexpr (std::is_floating_point<C>::value) return FLOATING((C)a, (C)b);                         \
    else return (C)a ORDER (C)b ? (C)a : (C)b;                                                           \
  }
HOST_EXTREME(min, std::fmin, <)
HOST_EXTREME(max, std::fmax, >)

template <class T> T sinpi(T x) { return std::sin(T(M_PI) * x); }
template <class T> T cospi(T x) { return std::cos(T(M_PI) * x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rsqrt(float x) { return 1 / std::sqrt(x); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float exp10(float x) { return std::pow(10.f, x); }

inline double erfinv(double x) {
  if (!(std::abs(x) < 1)) return std::abs(x) == 1 ? std::copysign(INFINITY, x) : NAN;
  const double a = 0.147, l = -std::log((1 - x) * (1 + x)), t = 2 / (M_PI * a) - l / 2;
  double y = std::copysign(std::sqrt(std::sqrt(t * t + l / a) - t), x);
  for (int i = 0; i < 4; i++) y -= (std::erf(y) - x) / (2 / std::sqrt(M_PI) * std::exp(-y * y));  // Newton's steps
  return y;
}
inline double erfcinv(double x) { return erfinv(1 - x); }
inline double normcdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
inline double normcdfinv(double x) { return std::sqrt(2.0) * erfinv(2 * x - 1); }
inline double cyl_bessel_i0(double x) { return std::cyl_bessel_i(0.0, std::abs(x)); }
inline double cyl_bessel_i1(double x) { return std::copysign(std::cyl_bessel_i(1.0, std::abs(x)), x); }
#define HOST_IN_FLOAT(NAME) inline float NAME(float x) { return NAME((double)x); }
HOST_IN_FLOAT(erfinv) HOST_IN_FLOAT(erfcinv) HOST_IN_FLOAT(normcdf) HOST_IN_FLOAT(normcdfinv)
HOST_IN_FLOAT(cyl_bessel_i0) HOST_IN_FLOAT(cyl_bessel_i1)

// ---- atomics, of which nothing is asked, as one thread runs at a time; for the types that CUDA has, no others

#define HOST_ATOMIC(NAME, T, NEW) \
  inline T NAME(T* p, T v) { const T old = *p; *p = NEW; return old; }
#define HOST_ATOMIC_INTEGERS(NAME, NEW) \
  HOST_ATOMIC(NAME, int, NEW) HOST_ATOMIC(NAME, unsigned, NEW) HOST_ATOMIC(NAME, unsigned long long, NEW)
HOST_ATOMIC_INTEGERS(atomicAdd, old + v)
HOST_ATOMIC_INTEGERS(atomicMax, (old > v ? old : v))
HOST_ATOMIC_INTEGERS(atomicMin, (old < v ? old : v))
HOST_ATOMIC_INTEGERS(atomicAnd, old & v)
HOST_ATOMIC_INTEGERS(atomicOr, old | v)
HOST_ATOMIC_INTEGERS(atomicXor, old ^ v)
HOST_ATOMIC_INTEGERS(atomicExch, v)
HOST_ATOMIC(atomicAdd, float, old + v)
HOST_ATOMIC(atomicAdd, double, old + v)
HOST_ATOMIC(atomicExch, float, v)
HOST_ATOMIC(atomicSub, int, old - v)
HOST_ATOMIC(atomicSub, unsigned, old - v)
HOST_ATOMIC(atomicMax, long long, (old > v ? old : v))
HOST_ATOMIC(atomicMin, long long, (old < v ? old : v))
template <class T> T atomicCAS(T* p, T expected, T v) {
  const T old = *p;
  if (memcmp(&old, &expected, sizeof old) == 0) *p = v;
  return old;
}
