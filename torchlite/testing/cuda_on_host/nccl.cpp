// libnccl.so.2 between processes of this host that have a stand-in for a device each: a pair of them is connected by a
// socket, which ends with its process, and everything is sends and receives over these. Sums go from the first rank to
// the last. Sizes that do not fit each other are refused, where NCCL may hang or write beyond what was meant.
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>

#include "driver.h"
#include "kernel.h"

namespace {

enum Result { OK = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6 };
enum Type { INT8, UINT8, INT32, UINT32, INT64, UINT64, HALF, FLOAT, DOUBLE, BFLOAT16, TYPES };
enum Op { SUM, PRODUCT, MAX, MIN, AVERAGE };
constexpr size_t SIZES[TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

struct Id { char bytes[128]; };

struct Comm {
  int rank, size;
  std::vector<int> to, from;  // sockets, by rank; with itself, a process has a pair of them
};

// A message on its way: its size, which both ends know, and its bytes.
struct Message {
  char* at;
  uint64_t bytes, announced = 0;
  size_t done = 0;  // of the announcement and the bytes
  bool whole() const { return done == sizeof bytes + bytes; }
  char* next() {
    return done < sizeof bytes ? reinterpret_cast<char*>(&announced) + done : at + (done - sizeof bytes);
  }
  size_t left() const { return done < sizeof bytes ? sizeof bytes - done : sizeof bytes + bytes - done; }
};

// What is done as one: messages by their socket, and what is made of them in the end.
struct Group {
  int depth = 0;
  std::map<int, std::deque<Message>> sent, received;
  std::vector<std::function<void()>> ends;
  std::deque<std::vector<char>> rooms;
};
thread_local Group group;

int move(int socket, Message& message, bool out) {
  while (!message.whole()) {
    const ssize_t n = out ? send(socket, message.next(), message.left(), MSG_DONTWAIT | MSG_NOSIGNAL)
                          : recv(socket, message.next(), message.left(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return OK;
    if (n <= 0) return REMOTE_ERROR;
    message.done += n;
    if (message.done >= sizeof message.bytes && message.announced != message.bytes) {
      fprintf(stderr, "NCCL on the host: %lu bytes were sent, and room was made for %lu\n",
              static_cast<unsigned long>(message.announced), static_cast<unsigned long>(message.bytes));
      return INVALID_USAGE;
    }
  }
  return OK;
}

int exchange() {
  while (!group.sent.empty() || !group.received.empty()) {
    std::vector<pollfd> ready;
    for (auto& [socket, _] : group.sent) ready.push_back({socket, POLLOUT, 0});
    for (auto& [socket, _] : group.received) ready.push_back({socket, POLLIN, 0});
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return SYSTEM_ERROR;
    for (const auto& [socket, wanted, _] : ready) {
      auto& all = wanted == POLLOUT ? group.sent : group.received;
      auto& messages = all[socket];
      while (!messages.empty()) {
        if (const int wrong = move(socket, messages.front(), wanted == POLLOUT)) return wrong;
        if (!messages.front().whole()) break;
        messages.pop_front();
      }
      if (messages.empty()) all.erase(socket);
    }
  }
  return OK;
}

int finish() {
  if (group.depth) return OK;
  const int wrong = exchange();
  if (!wrong)
    for (auto& end : group.ends) end();
  group = {};
  return wrong;
}

void give(Comm* comm, int to, const void* at, size_t bytes) {
  group.sent[comm->to[to]].push_back({static_cast<char*>(const_cast<void*>(at)), bytes, bytes});
}
void take(Comm* comm, int from, void* at, size_t bytes) {
  group.received[comm->from[from]].push_back({static_cast<char*>(at), bytes});
}

// ---- what is made of the pieces of all ranks

template <class T> auto wide(T x) { return x; }
auto wide(__half x) { return __half2float(x); }
auto wide(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T, class S> T narrow(S x) {
  if constexpr (std::is_same_v<T, __half>) return __float2half(x);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16(x);
  else return x;
}

template <class S> S combined(int op, S a, S b) {
  switch (op) {
    case PRODUCT: return a * b;
    case MAX: return a != a || a > b ? a : b;
    case MIN: return a != a || a < b ? a : b;
  }
  return a + b;
}

template <class T> void combine(int op, const std::vector<char*>& pieces, void* to, size_t count) {
  for (size_t i = 0; i < count; i++) {
    auto total = wide(reinterpret_cast<T*>(pieces[0])[i]);
    for (size_t r = 1; r < pieces.size(); r++) total = combined(op, total, wide(reinterpret_cast<T*>(pieces[r])[i]));
    static_cast<T*>(to)[i] = narrow<T>(op == AVERAGE ? total / decltype(total)(pieces.size()) : total);
  }
}
constexpr decltype(&combine<int>) COMBINE[TYPES] = {
    combine<int8_t>, combine<uint8_t>, combine<int32_t>, combine<uint32_t>, combine<int64_t>,
    combine<uint64_t>, combine<__half>, combine<float>, combine<double>, combine<__nv_bfloat16>,
};

// A piece of each rank, and the end in which they become one.
void take_all(Comm* comm, void* to, size_t count, int type, int op) {
  std::vector<char*> pieces;
  for (int r = 0; r < comm->size; r++) {
    auto& room = group.rooms.emplace_back(count * SIZES[type]);
    pieces.push_back(room.data());
    take(comm, r, room.data(), room.size());
  }
  group.ends.push_back([=] { COMBINE[type](op, pieces, to, count); });
}

// Begins a call: it is counted, and cannot be captured.
int begun(Comm* comm, void* stream, int type, int op, int other) {
  if (!comm || type < 0 || type >= TYPES || op < SUM || op > AVERAGE || other < 0 || other >= comm->size)
    return INVALID_ARGUMENT;
  if (host_device::capture && host_device::capture->stream == stream) {
    fprintf(stderr, "NCCL on the host: collectives are not captured\n");
    return INVALID_USAGE;
  }
  host_device::count(host_device::LIBRARY_CALLS);
  return OK;
}

// ---- connecting

sockaddr_un address(const Id& id, int rank, socklen_t* length) {
  sockaddr_un made{AF_UNIX, ""};  // an abstract name: nothing is left of it on disk
  memcpy(made.sun_path + 1, id.bytes, 32);
  memcpy(made.sun_path + 33, &rank, sizeof rank);
  *length = offsetof(sockaddr_un, sun_path) + 33 + sizeof rank;
  return made;
}

int connected(const Id& id, int own, int other) {
  socklen_t length;
  const sockaddr_un there = address(id, other, &length);
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  while (made >= 0 && connect(made, reinterpret_cast<const sockaddr*>(&there), length)) usleep(1000);
  if (made >= 0 && write(made, &own, sizeof own) == sizeof own) return made;
  return -1;
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) { *version = 22800; return OK; }
const char* ncclGetErrorString(int status) {
  return status == REMOTE_ERROR    ? "remote process exited or there was a network error"
         : status == INVALID_USAGE ? "invalid usage"
                                   : "an error of the stand-in for NCCL";
}
int ncclGetUniqueId(Id* id) { return getrandom(id, sizeof *id, 0) == sizeof *id ? OK : SYSTEM_ERROR; }

int ncclCommInitRankConfig(Comm** comm, int size, Id id, int rank, void*) {
  auto made = new Comm{rank, size, std::vector<int>(size, -1), std::vector<int>(size, -1)};
  socklen_t length;
  const sockaddr_un here = address(id, rank, &length);
  const int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int pair[2];
  if (bind(door, reinterpret_cast<const sockaddr*>(&here), length) || listen(door, size) ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
    return SYSTEM_ERROR;
  made->to[rank] = pair[0];
  made->from[rank] = pair[1];
  for (int other = 0; other < rank; other++) made->to[other] = made->from[other] = connected(id, rank, other);
  for (int more = rank + 1; more < size; more++) {
    int other;
    const int found = accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
    if (read(found, &other, sizeof other) != sizeof other) return REMOTE_ERROR;
    made->to[other] = made->from[other] = found;
  }
  close(door);
  *comm = made;
  return OK;
}

int ncclCommCount(Comm* comm, int* count) { *count = comm->size; return OK; }
int ncclCommCuDevice(Comm*, int* device) { *device = 0; return OK; }
int ncclCommUserRank(Comm* comm, int* rank) { *rank = comm->rank; return OK; }
int ncclCommGetAsyncError(Comm*, int* status) { *status = OK; return OK; }
int ncclCommDestroy(Comm* comm) {
  for (auto* sockets : {&comm->to, &comm->from})
    for (const int each : *sockets) close(each);
  delete comm;
  return OK;
}
// Whoever waits is woken, and may still look at what is here.
int ncclCommAbort(Comm* comm) {
  for (const int each : comm->from) shutdown(each, SHUT_RDWR);
  return OK;
}

int ncclGroupStart() { group.depth++; return OK; }
int ncclGroupEnd() { return group.depth-- ? finish() : INVALID_USAGE; }

int ncclSend(const void* at, size_t count, int type, int to, Comm* comm, void* stream) {
  if (const int wrong = begun(comm, stream, type, SUM, to)) return wrong;
  give(comm, to, at, count * SIZES[type]);
  return finish();
}
int ncclRecv(void* at, size_t count, int type, int from, Comm* comm, void* stream) {
  if (const int wrong = begun(comm, stream, type, SUM, from)) return wrong;
  take(comm, from, at, count * SIZES[type]);
  return finish();
}

int ncclBroadcast(const void* in, void* out, size_t count, int type, int root, Comm* comm, void* stream) {
  if (const int wrong = begun(comm, stream, type, SUM, root)) return wrong;
  const size_t bytes = count * SIZES[type];
  if (comm->rank != root) take(comm, root, out, bytes);
  else {
    for (int r = 0; r < comm->size; r++)
      if (r != root) give(comm, r, in, bytes);
    group.ends.push_back([=] { memmove(out, in, bytes); });
  }
  return finish();
}
int ncclBcast(void* at, size_t count, int type, int root, Comm* comm, void* stream) {
  return ncclBroadcast(at, at, count, type, root, comm, stream);
}
int ncclAllReduce(const void* in, void* out, size_t count, int type, int op, Comm* comm, void* stream) {
  if (const int wrong = begun(comm, stream, type, op, 0)) return wrong;
  for (int r = 0; r < comm->size; r++) give(comm, r, in, count * SIZES[type]);
  take_all(comm, out, count, type, op);
  return finish();
}
int ncclReduce(const void* in, void* out, size_t count, int type, int op, int root, Comm* comm, void* stream) {
  if (const int wrong = begun(comm, stream, type, op, root)) return wrong;
  give(comm, root, in, count * SIZES[type]);
  if (comm->rank == root) take_all(comm, out, count, type, op);
  return finish();
}
int ncclReduceScatter(const void* in, void* out, size_t count, int type, int op, Comm* comm, void* stream) {
  if (const int wrong = begun(comm, stream, type, op, 0)) return wrong;
  const size_t bytes = count * SIZES[type];
  for (int r = 0; r < comm->size; r++) give(comm, r, static_cast<const char*>(in) + r * bytes, bytes);
  take_all(comm, out, count, type, op);
  return finish();
}
int ncclAllGather(const void* in, void* out, size_t count, int type, Comm* comm, void* stream) {
  if (const int wrong = begun(comm, stream, type, SUM, 0)) return wrong;
  const size_t bytes = count * SIZES[type];
  for (int r = 0; r < comm->size; r++) {
    give(comm, r, in, bytes);
    take(comm, r, static_cast<char*>(out) + r * bytes, bytes);
  }
  return finish();
}

// Several devices of one process, and parts of groups, are not here.
int ncclCommInitAll(Comm**, int, const int*) { return INVALID_USAGE; }
int ncclCommSplit(Comm*, int, int, Comm**, void*) { return INVALID_USAGE; }
}
