// CUDA's runtime in the form in which CuPy's modules call it: the functions of `cupy_backends.cuda.api.runtime`, which
// Python puts in the places of CuPy's own (`runtime.py`). All work is done at once, so there is nothing to wait for;
// waits, copies and allocations are counted. What is not here is refused aloud.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

#include "driver.h"

using namespace host_device;

namespace {

constexpr unsigned char FRESH = 0xAB;  // what new memory is filled with, so that reading it shows
constexpr size_t GRAIN = 512;
struct Allocation { size_t bytes; bool pinned; };
std::map<uintptr_t, Allocation> allocations;
size_t held;
intptr_t last_stream = 0x1000;

PyObject* attribute(const char* name) {
  PyObject* module = PyImport_ImportModule("cupy_backends.cuda.api.runtime");
  PyObject* found = module ? PyObject_GetAttrString(module, name) : nullptr;
  Py_XDECREF(module);
  return found;
}

void* fail(int status) {
  PyObject* type = attribute("CUDARuntimeError");
  PyObject* error = type ? PyObject_CallFunction(type, "i", status) : nullptr;
  if (error) PyErr_SetObject(type, error);
  Py_XDECREF(error);
  Py_XDECREF(type);
  return nullptr;
}

PyObject* none() { Py_RETURN_NONE; }

// A wait for what was told, which cannot be while a graph is captured.
PyObject* wait() {
  if (capture) return static_cast<PyObject*>(fail(CAPTURE_UNSUPPORTED));
  count(WAITS);
  return none();
}

}  // namespace

extern "C" {

size_t host_memory;  // how much there is, in bytes

// ---- memory

static intptr_t allocate(size_t bytes, bool pinned) {
  std::lock_guard<std::recursive_mutex> guard(lock);
  const bool room = pinned || bytes <= host_memory - held;
  void* p = room ? aligned_alloc(GRAIN, (bytes / GRAIN + 2) * GRAIN) : nullptr;
  if (!p) {
    fail(OUT_OF_MEMORY);
    return 0;
  }
  memset(p, FRESH, bytes);
  allocations[reinterpret_cast<uintptr_t>(p)] = {bytes, pinned};
  if (!pinned) held += bytes;
  count(ALLOCATIONS);
  return reinterpret_cast<intptr_t>(p);
}

static PyObject* release(intptr_t p) {
  std::lock_guard<std::recursive_mutex> guard(lock);
  const auto at = allocations.find(p);
  if (at == allocations.end()) return p ? static_cast<PyObject*>(fail(INVALID_VALUE)) : none();
  if (!at->second.pinned) held -= at->second.bytes;
  allocations.erase(at);
  free(reinterpret_cast<void*>(p));
  return none();
}

// 1: pinned memory of the host, 2: of the device; 0: unknown to CUDA.
static int kind_of(intptr_t p) {
  auto at = allocations.upper_bound(p);
  if (at == allocations.begin()) return 0;
  --at;
  return static_cast<uintptr_t>(p) < at->first + std::max(at->second.bytes, size_t(1)) ? at->second.pinned ? 1 : 2 : 0;
}

intptr_t host_malloc(size_t n, int) { return allocate(n, false); }
intptr_t host_mallocManaged(size_t n, int, void*) { return allocate(n, false); }
intptr_t host_mallocAsync(size_t n, intptr_t, int) { return allocate(n, false); }
intptr_t host_hostAlloc(size_t n, unsigned, int) { return allocate(n, true); }
PyObject* host_free(intptr_t p, int) { return release(p); }
PyObject* host_freeHost(intptr_t p, int) { return release(p); }
PyObject* host_freeAsync(intptr_t p, intptr_t, int) { return release(p); }

PyObject* host_memGetInfo(int) {
  return Py_BuildValue("(nn)", Py_ssize_t(host_memory - held), Py_ssize_t(host_memory));
}
int host_pointerGetMemoryType(intptr_t p, int) { return kind_of(p); }
PyObject* host_pointerGetAttributes(intptr_t p, int) {
  PyObject* type = attribute("PointerAttributes");
  const int kind = kind_of(p);
  PyObject* made = type ? PyObject_CallFunction(type, "inni", kind ? 0 : -2, Py_ssize_t(kind ? p : 0),
                                                Py_ssize_t(kind == 2 ? 0 : p), kind) : nullptr;
  Py_XDECREF(type);
  return made;
}

// ---- copies

static PyObject* copy(intptr_t to, intptr_t from, size_t bytes, int kind, intptr_t stream) {
  if (kind == 4) kind = (kind_of(from) == 2) * 2 + (kind_of(to) == 2);  // as the pointers say
  count(kind == 1 ? TO_DEVICE : kind == 2 ? TO_HOST : ON_DEVICE);
  submit(reinterpret_cast<void*>(stream),
         [=] { memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
  return none();
}
static PyObject* fill(intptr_t p, int value, size_t bytes, intptr_t stream) {
  count(FILLS);
  submit(reinterpret_cast<void*>(stream), [=] { memset(reinterpret_cast<void*>(p), value, bytes); });
  return none();
}
PyObject* host_memcpy(intptr_t to, intptr_t from, size_t n, int kind, int) {
  if (capture) return static_cast<PyObject*>(fail(CAPTURE_UNSUPPORTED));
  count(WAITS);
  return copy(to, from, n, kind, 0);
}
PyObject* host_memcpyAsync(intptr_t to, intptr_t from, size_t n, int kind, intptr_t stream, int) {
  return copy(to, from, n, kind, stream);
}
PyObject* host_memset(intptr_t p, int value, size_t n, int) { return fill(p, value, n, 0); }
PyObject* host_memsetAsync(intptr_t p, int value, size_t n, intptr_t stream, int) { return fill(p, value, n, stream); }

// ---- the device

int host_getDevice(int) { return 0; }
int host_getDeviceCount(int) { return 1; }
int host_driverGetVersion(int) { return 13000; }
int host_deviceCanAccessPeer(int, int, int) { return 0; }
PyObject* host__ensure_context(void) { return none(); }
PyObject* host_setDevice(int device, int) { return device ? static_cast<PyObject*>(fail(101)) : none(); }
PyObject* host_deviceSynchronize(int) { return wait(); }
PyObject* host_profilerStart(int) { return none(); }
PyObject* host_profilerStop(int) { return none(); }

// The numbers of a device of compute capability 9.0, by cudaDeviceAttr.
int host_deviceGetAttribute(int which, int, int) {
  static const std::map<int, int> known = {
      {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535},  // threads, blocks
      {8, 49152}, {10, 32}, {12, 65536}, {16, 16}, {18, 0}, {39, 2048}, {41, 1}, {75, 9}, {76, 0},
      {81, 233472}, {82, 65536}, {83, 1}, {95, 1}, {97, 232448}, {115, 0},
  };
  const auto at = known.find(which);
  if (at != known.end()) return at->second;
  PyErr_Format(PyExc_NotImplementedError, "CUDA on the host: no device attribute %d", which);
  return -1;
}
PyObject* host_getDeviceProperties(int, int) {
  return Py_BuildValue(
      "{s:y,s:n,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:(iii),s:(iii),s:i}", "name", "CUDA on the host", "totalGlobalMem",
      Py_ssize_t(host_memory), "multiProcessorCount", 16, "integrated", 0, "isMultiGpuBoard", 0, "warpSize", 32,
      "major", 9, "minor", 0, "maxThreadsPerBlock", 1024, "sharedMemPerBlock", 49152, "maxThreadsDim", 1024, 1024, 64,
      "maxGridSize", 2147483647, 65535, 65535, "sharedMemPerMultiprocessor", 233472);
}

// ---- streams and events

intptr_t host_streamCreate(int) { return last_stream += 16; }
intptr_t host_streamCreateWithFlags(unsigned, int) { return last_stream += 16; }
intptr_t host_streamCreateWithPriority(unsigned, int, int) { return last_stream += 16; }
int host_streamGetPriority(intptr_t, int) { return 0; }
PyObject* host_streamDestroy(intptr_t, int) { return none(); }
PyObject* host_streamSynchronize(intptr_t, int) { return wait(); }
PyObject* host_streamQuery(intptr_t, int) { return PyLong_FromLong(SUCCESS); }
PyObject* host_streamWaitEvent(intptr_t, intptr_t, int, void*) { return none(); }

struct Event { double at; };
static Event* event(intptr_t e) { return reinterpret_cast<Event*>(e); }
intptr_t host_eventCreate(int) { return reinterpret_cast<intptr_t>(new Event{0}); }
intptr_t host_eventCreateWithFlags(unsigned, int) { return host_eventCreate(0); }
PyObject* host_eventDestroy(intptr_t e, int) { delete event(e); return none(); }
PyObject* host_eventRecord(intptr_t e, intptr_t, int) {
  event(e)->at = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return none();
}
PyObject* host_eventQuery(intptr_t, int) { return PyLong_FromLong(SUCCESS); }
PyObject* host_eventSynchronize(intptr_t, int) { return wait(); }
float host_eventElapsedTime(intptr_t begin, intptr_t end, int) { return (event(end)->at - event(begin)->at) * 1e3; }

// ---- graphs: a list of work

int host_streamIsCapturing(intptr_t stream, int) { return capture && intptr_t(capture->stream) == stream; }
PyObject* host_streamBeginCapture(intptr_t stream, int, void*) {
  if (capture || !stream) return static_cast<PyObject*>(fail(stream ? ILLEGAL_STATE : CAPTURE_UNSUPPORTED));
  capture = new Capture{reinterpret_cast<void*>(stream), new Work};
  return none();
}
intptr_t host_streamEndCapture(intptr_t stream, int) {
  if (!host_streamIsCapturing(stream, 0)) return reinterpret_cast<intptr_t>(fail(ILLEGAL_STATE));
  const auto graph = reinterpret_cast<intptr_t>(capture->work);
  delete capture;
  capture = nullptr;
  return graph;
}
intptr_t host_graphInstantiate(intptr_t graph, int) {
  return reinterpret_cast<intptr_t>(new Work(*reinterpret_cast<Work*>(graph)));
}
PyObject* host_graphUpload(intptr_t, intptr_t, int) { return none(); }
PyObject* host_graphLaunch(intptr_t graph, intptr_t, int) {
  count(KERNELS);  // one launch, whatever is in it
  for (auto& work : *reinterpret_cast<Work*>(graph)) work();
  return none();
}
PyObject* host_graphDestroy(intptr_t graph, int) { delete reinterpret_cast<Work*>(graph); return none(); }
PyObject* host_graphExecDestroy(intptr_t graph, int) { return host_graphDestroy(graph, 0); }

// ---- what is not here: a function for each, which names it

constexpr int REFUSALS = 128;
const char* host_refused[REFUSALS];

}

namespace {
template <int I> intptr_t refuse() {
  PyErr_Format(PyExc_NotImplementedError, "CUDA on the host: there is no runtime.%s", host_refused[I]);
  return 0;
}
template <int I> int refuse_number() { return refuse<I>(), -1; }
template <int... I> constexpr std::pair<void*, void*> refusal(int i, std::integer_sequence<int, I...>) {
  void* const objects[] = {reinterpret_cast<void*>(&refuse<I>)...};
  void* const numbers[] = {reinterpret_cast<void*>(&refuse_number<I>)...};
  return {objects[i], numbers[i]};
}
}  // namespace

extern "C" void* host_refusal(int i, const char* name, int gives_object) {
  if (i >= REFUSALS) return nullptr;
  host_refused[i] = strdup(name);
  const auto [object, number] = refusal(i, std::make_integer_sequence<int, REFUSALS>());
  return gives_object ? object : number;
}
