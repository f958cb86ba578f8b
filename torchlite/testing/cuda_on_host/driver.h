// What the driver's and the runtime's functions share.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "device.h"

namespace host_device {

// CUDA's numbers for what went wrong.
enum Status {
  SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, NOT_FOUND = 500,
  CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901, ILLEGAL_STATE = 401,
};

using Work = std::vector<std::function<void()>>;

struct Capture {
  void* stream;
  Work* work;  // becomes the graph
};

extern std::recursive_mutex lock;
extern Capture* capture;  // the one that is going on

}  // namespace host_device
