// libcuda.so.1 whose device is this process: modules are shared libraries, and kernels functions of these.
#include "driver.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstring>
#include <mutex>

using host_device::Dim;
using host_device::Kernel;

extern "C" {
Dim host_threadIdx, host_blockIdx, host_blockDim, host_gridDim;
char* host_dynamic_shared;
long host_counts[host_device::COUNTS];
int host_tracing;  // whether names of kernels that run are kept
}

namespace host_device {

std::recursive_mutex lock;
Capture* capture;
static std::string trace;

void count(Count kind) { host_counts[kind]++; }

void submit(void* stream, std::function<void()> work) {
  std::lock_guard<std::recursive_mutex> guard(lock);
  if (capture && stream == capture->stream) capture->work->push_back(std::move(work));
  else work();
}

// ---- a block whose threads wait for each other: each is a fiber, and runs up to a barrier
//
// Contexts begin fibers; after that these jump, which unlike a change of contexts calls no kernel of the system.

namespace {

enum State : char { READY, AT_WARP, AT_BLOCK, DONE };
constexpr size_t STACK = 64 * 1024;
struct Fiber {
  ucontext_t start;
  jmp_buf at;
  bool begun;
};
jmp_buf outside;
std::vector<Fiber> fibers;
std::vector<std::vector<char>> stacks;
std::vector<State> states;
unsigned running, size;
void (*body)(void**);
void** arguments;
unsigned long long exchanged[1024];

void enter(unsigned thread) {
  const unsigned x = host_blockDim.x, y = host_blockDim.y;
  running = thread;
  host_threadIdx = {thread % x, thread / x % y, thread / (x * y)};
}

void fiber() {
  body(arguments);
  states[running] = DONE;
  _longjmp(outside, 1);
}

// Runs a fiber up to its next barrier, or its end.
void resume(Fiber& next) {
  if (_setjmp(outside)) return;
  if (next.begun) _longjmp(next.at, 1);
  next.begun = true;
  setcontext(&next.start);
}

// Lets go of those at a barrier which all the others have reached or will not reach; whether anybody goes on. After a
// round, nobody is ready: all threads of a warp have come to its barrier, or further.
bool release() {
  bool any = false;
  for (auto& state : states)
    if (state == AT_WARP) state = READY, any = true;
  if (any) return true;
  for (auto& state : states)
    if (state == AT_BLOCK) state = READY, any = true;
  return any;
}

void wait(State barrier) {
  if (size == 1) return;
  states[running] = barrier;
  if (!_setjmp(fibers[running].at)) _longjmp(outside, 1);
}

void run_together() {
  if (fibers.size() < size) {
    fibers.resize(size);
    stacks.resize(size, std::vector<char>(STACK));
  }
  states.assign(size, READY);
  for (unsigned t = 0; t < size; t++) {
    ucontext_t& start = fibers[t].start;
    getcontext(&start);
    start.uc_stack.ss_sp = stacks[t].data();
    start.uc_stack.ss_size = STACK;
    start.uc_link = nullptr;
    makecontext(&start, fiber, 0);
    fibers[t].begun = false;
  }
  do {
    for (unsigned t = 0; t < size; t++)
      if (states[t] == READY) {
        enter(t);
        resume(fibers[t]);
      }
  } while (release());
}

void run(const Kernel& kernel, Dim grid, Dim block, unsigned shared, void** given) {
  std::vector<char> dynamic(shared + 64);
  host_dynamic_shared = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(dynamic.data()) + 63) / 64 * 64);
  if (kernel.threads == ONE_FOR_ALL) grid = block = {1, 1, 1};
  host_gridDim = grid;
  host_blockDim = block;
  body = kernel.run;
  arguments = given;
  const unsigned threads = block.x * block.y * block.z;
  for (unsigned z = 0; z < grid.z; z++)
    for (unsigned y = 0; y < grid.y; y++)
      for (unsigned x = 0; x < grid.x; x++) {
        host_blockIdx = {x, y, z};
        size = kernel.threads == TOGETHER ? threads : 1;
        if (size > 1) run_together();
        else
          for (unsigned t = 0; t < threads; t++) {
            enter(t);
            body(arguments);
          }
      }
}

}  // namespace
}  // namespace host_device

using namespace host_device;

extern "C" {

void host_wait_for_block() { wait(AT_BLOCK); }
void host_wait_for_warp() { wait(AT_WARP); }

int host_lane() { return running % 32; }

unsigned long long host_shuffle(unsigned long long value, int lane, int width) {
  const int mine = running % 32, first = mine / width * width;
  exchanged[running] = value;
  const unsigned from = running - mine + (lane < first || lane >= first + width ? mine : lane);
  host_wait_for_warp();
  const unsigned long long found = exchanged[from < size ? from : running];
  host_wait_for_warp();
  return found;
}

unsigned long long host_vote(bool mine) {
  const unsigned first = running - running % 32;
  exchanged[running] = mine;
  host_wait_for_warp();
  unsigned long long votes = 0;
  for (unsigned lane = 0; lane < 32 && first + lane < size; lane++) votes |= exchanged[first + lane] << lane;
  host_wait_for_warp();
  return votes;
}

void host_count_library_call() { count(LIBRARY_CALLS); }

const char* host_take_trace() {
  static std::string taken;
  taken = std::move(trace);
  trace.clear();
  return taken.c_str();
}

// ---- the driver's functions; what is not here, CuPy misses aloud

struct Function {
  const Kernel* kernel;
  std::string name;
};

int cuGetErrorName(int, const char** text) { *text = "CUDA_ERROR_ON_HOST"; return SUCCESS; }
int cuGetErrorString(int, const char** text) { *text = "an error of the stand-in for CUDA's driver"; return SUCCESS; }
int cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
int cuCtxGetCurrent(void** context) { *context = reinterpret_cast<void*>(1); return SUCCESS; }
int cuCtxSetCurrent(void*) { return SUCCESS; }
int cuCtxGetDevice(int* device) { *device = 0; return SUCCESS; }
int cuStreamGetCtx(void*, void** context) { return cuCtxGetCurrent(context); }

int cuModuleLoadData(void** module, const void* path) {
  *module = dlopen(static_cast<const char*>(path), RTLD_NOW | RTLD_LOCAL);
  if (!*module) fprintf(stderr, "CUDA on the host: %s\n", dlerror());
  return *module ? SUCCESS : INVALID_IMAGE;
}
int cuModuleLoad(void** module, const char* path) { return cuModuleLoadData(module, path); }
int cuModuleUnload(void*) { return SUCCESS; }

int cuModuleGetFunction(void** function, void* module, const char* name) {
  auto kernel = static_cast<const Kernel*>(dlsym(module, (std::string("kernel_") + name).c_str()));
  if (!kernel) return NOT_FOUND;
  *function = new Function{kernel, name};
  return SUCCESS;
}
int cuModuleGetGlobal_v2(void** pointer, size_t* bytes, void* module, const char* name) {
  *pointer = dlsym(module, name);
  if (bytes) *bytes = 0;
  return *pointer ? SUCCESS : NOT_FOUND;
}

int cuFuncGetAttribute(int* value, int, void*) { *value = 1024; return SUCCESS; }
int cuFuncSetAttribute(void*, int, int) { return SUCCESS; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) { *blocks = 2; return SUCCESS; }
int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, void*, void*, size_t, int) {
  *grid = 16;
  *block = 256;
  return SUCCESS;
}

static size_t arguments_size(const Kernel& kernel) {
  size_t size = 0;
  for (size_t i = 0; i < kernel.count; i++) size += kernel.sizes[i];
  return size;
}

// What GPUs of every kind have room for, and no more.
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** given, void**) {
  std::lock_guard<std::recursive_mutex> guard(lock);
  const auto& [kernel, name] = *static_cast<Function*>(function);
  const Dim grid{gx, gy, gz}, block{bx, by, bz};
  if (!gx || !gy || !gz || !bx || !by || !bz || gx > INT32_MAX || gy > 65535 || gz > 65535 || bz > 64 ||
      bx * by * bz > 1024 || shared > 48 << 10 || arguments_size(*kernel) > 4096)
    return INVALID_VALUE;
  count(KERNELS);
  if (host_tracing) trace += name + "\n";
  if (!capture || stream != capture->stream) {
    run(*kernel, grid, block, shared, given);
    return SUCCESS;
  }
  std::vector<std::vector<char>> kept;
  for (size_t i = 0; i < kernel->count; i++) {
    auto from = static_cast<char*>(given[i]);
    kept.emplace_back(from, from + kernel->sizes[i]);
  }
  capture->work->push_back([=, &kernel = *kernel]() mutable {
    std::vector<void*> pointers;
    for (auto& argument : kept) pointers.push_back(argument.data());
    run(kernel, grid, block, shared, pointers.data());
  });
  return SUCCESS;
}
}
