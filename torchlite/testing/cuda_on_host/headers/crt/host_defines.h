// CUDA's headers ask for this one, which comes with its compiler: what marks code for the device means nothing here.
#ifndef __HOST_DEFINES_H__  // as the compiler's own, which lies beside the headers of a toolkit, and is left out
#define __HOST_DEFINES_H__
#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __inline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __specialization_static
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __CUDA_DEPRECATED
#endif
