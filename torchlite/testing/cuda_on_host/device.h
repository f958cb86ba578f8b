// What kernels, the driver and cuBLAS's stand-in share: how a kernel is described, and how work is handed to a stream.
#pragma once
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace host_device {

struct Dim { unsigned x, y, z; };

// How the threads of a kernel may be run.
enum Threads {
  ONE_FOR_ALL,  // a loop over the whole grid: one thread does it all
  IN_TURN,      // independent of each other: one after the other
  TOGETHER,     // waiting for each other: as fibers
};

// A kernel of a module, exported under `kernel_` and its name.
struct Kernel {
  void (*run)(void** arguments);
  const size_t* sizes;  // of the arguments, which a graph keeps copies of
  size_t count;
  Threads threads;
};

template <auto function, class... A> struct Caller {
  static constexpr size_t sizes[] = {sizeof(std::remove_reference_t<A>)..., 0};
  template <size_t... I> static void spread(void** p, std::index_sequence<I...>) {
    function(*static_cast<std::remove_cv_t<std::remove_reference_t<A>>*>(p[I])...);
  }
  static void run(void** p) { spread(p, std::index_sequence_for<A...>()); }
};

template <auto function, class... A> constexpr Kernel kernel(void (*)(A...), Threads threads) {
  return {&Caller<function, A...>::run, Caller<function, A...>::sizes, sizeof...(A), threads};
}

// Work for a stream: done at once, or kept where the stream is being captured.
void submit(void* stream, std::function<void()> work);

enum Count { KERNELS, LIBRARY_CALLS, TO_DEVICE, TO_HOST, ON_DEVICE, FILLS, WAITS, ALLOCATIONS, COUNTS };
void count(Count kind);

}  // namespace host_device

#define HOST_KERNEL(name, function, threads) \
  extern "C" __attribute__((externally_visible)) const host_device::Kernel kernel_##name = \
      host_device::kernel<&function>(&function, host_device::threads);
