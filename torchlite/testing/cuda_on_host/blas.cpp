// cuBLAS's products, as plain loops over column-major matrices. Everything else that CuPy binds to in cuBLAS gives
// "not supported" (`build.py` makes those functions).
#include <complex>
#include <vector>

#include "kernel.h"

using std::complex;

namespace {

enum Status { OK = 0, NOT_SUPPORTED = 15 };
enum Type { FLOAT = 0, DOUBLE = 1, HALF = 2, COMPLEX = 4, DOUBLE_COMPLEX = 5, BFLOAT16 = 14 };  // cudaDataType
constexpr int CONJUGATED = 2, TF32_MATH = 3, COMPUTE_TF32 = 77;  // cublasMath_t, cublasComputeType_t

struct Handle {
  void* stream;
  int pointer_mode, math_mode;
};
Handle* of(void* handle) { return static_cast<Handle*>(handle); }

template <class T> T conjugate(T x) { return x; }
template <class T> complex<T> conjugate(complex<T> x) { return std::conj(x); }

template <class S, class T> S wide(T x) {
  if constexpr (std::is_same_v<T, __half>) return __half2float(x);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>) return __bfloat162float(x);
  else return x;
}
template <class T, class S> T narrow(S x) {
  if constexpr (std::is_same_v<T, __half>) return __float2half(x);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16(x);
  else return x;
}

// What TensorFloat-32 leaves of a number: 10 bits behind the point.
template <class T> T rounded(T x) { return x; }
float rounded(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000) & ~0x1FFFu); }

// One matrix, transposed or not, as a function of row and column.
template <class T> struct Matrix {
  T* data;
  int64_t leading;
  int form;  // 0: as it is, 1: transposed, 2: transposed and conjugated
  template <class S> S at(int64_t row, int64_t column, bool tf32) const {
    const S x = wide<S>(form ? data[column + row * leading] : data[row + column * leading]);
    return form == CONJUGATED ? conjugate(x) : tf32 ? rounded(x) : x;
  }
};

// Sums are of type S, in order, and so are alpha and beta; results of type R. Factors are laid out first, so that a whole
// line of results grows at once.
template <class T, class S, class R>
void multiply(int m, int n, int k, S alpha, Matrix<const T> a, Matrix<const T> b, S beta, Matrix<R> c, bool tf32) {
  std::vector<S> lines(size_t(k) * m), sums(m);
  for (int l = 0; l < k; l++)
    for (int i = 0; i < m; i++) lines[size_t(l) * m + i] = a.template at<S>(i, l, tf32);
  for (int j = 0; j < n; j++) {
    std::fill(sums.begin(), sums.end(), S(0));
    for (int l = 0; l < k; l++) {
      const S factor = b.template at<S>(l, j, tf32), *line = &lines[size_t(l) * m];
      for (int i = 0; i < m; i++) sums[i] += line[i] * factor;
    }
    for (int i = 0; i < m; i++) {
      R& out = c.data[i + j * c.leading];
      out = narrow<R>(beta == S(0) ? alpha * sums[i] : alpha * sums[i] + beta * wide<S>(out));
    }
  }
}

// A batch of products; the matrices of one lie behind those of the other, or where lists of pointers say.
struct Batch {
  int form_a, form_b, m, n, k, count;
  int64_t lead_a, lead_b, lead_c;
  long long step_a, step_b, step_c;
  bool pointers;
  int compute = 0;
};

template <class T> T* place(T* base, const Batch& batch, int i, long long step) {
  return batch.pointers ? reinterpret_cast<T* const*>(base)[i] : base + i * step;
}

template <class T, class S, class R = T>
int product(void* handle, Batch batch, const void* alpha, const void* a, const void* b, const void* beta, void* c) {
  const Handle state = *of(handle);
  host_device::count(host_device::LIBRARY_CALLS);
  // Numbers on the host are read now, those on the device when it is their turn.
  const bool on_host = state.pointer_mode == 0;
  const S *al = static_cast<const S*>(alpha), *be = static_cast<const S*>(beta);
  const S al_now = on_host ? *al : S(0), be_now = on_host ? *be : S(0);
  host_device::submit(state.stream, [=] {
    for (int i = 0; i < batch.count; i++)
      multiply<T, S, R>(batch.m, batch.n, batch.k, on_host ? al_now : *al,
                     {place(static_cast<const T*>(a), batch, i, batch.step_a), batch.lead_a, batch.form_a},
                     {place(static_cast<const T*>(b), batch, i, batch.step_b), batch.lead_b, batch.form_b},
                     on_host ? be_now : *be, {place(static_cast<R*>(c), batch, i, batch.step_c), batch.lead_c, 0},
                     state.math_mode == TF32_MATH || batch.compute == COMPUTE_TF32);
  });
  return OK;
}

int of_type(void* handle, Batch batch, int type, const void* alpha, const void* a, const void* b, const void* beta,
            void* c, int result = -1) {
  if (result == FLOAT && type == HALF) return product<__half, float, float>(handle, batch, alpha, a, b, beta, c);
  if (result == FLOAT && type == BFLOAT16)
    return product<__nv_bfloat16, float, float>(handle, batch, alpha, a, b, beta, c);
  if (result >= 0 && result != type) return NOT_SUPPORTED;
  switch (type) {
    case FLOAT: return product<float, float>(handle, batch, alpha, a, b, beta, c);
    case DOUBLE: return product<double, double>(handle, batch, alpha, a, b, beta, c);
    case HALF: return product<__half, float>(handle, batch, alpha, a, b, beta, c);
    case BFLOAT16: return product<__nv_bfloat16, float>(handle, batch, alpha, a, b, beta, c);
    case COMPLEX: return product<complex<float>, complex<float>>(handle, batch, alpha, a, b, beta, c);
    case DOUBLE_COMPLEX: return product<complex<double>, complex<double>>(handle, batch, alpha, a, b, beta, c);
  }
  return NOT_SUPPORTED;
}

}  // namespace

extern "C" {

int cublasCreate_v2(void** handle) { *handle = new Handle(); return OK; }
int cublasDestroy_v2(void* handle) { delete of(handle); return OK; }
int cublasGetVersion_v2(void*, int* version) { *version = 130000; return OK; }
int cublasSetStream_v2(void* handle, void* stream) { of(handle)->stream = stream; return OK; }
int cublasGetStream_v2(void* handle, void** stream) { *stream = of(handle)->stream; return OK; }
int cublasSetPointerMode_v2(void* handle, int mode) { of(handle)->pointer_mode = mode; return OK; }
int cublasGetPointerMode_v2(void* handle, int* mode) { *mode = of(handle)->pointer_mode; return OK; }
int cublasSetMathMode(void* handle, int mode) { of(handle)->math_mode = mode; return OK; }
int cublasGetMathMode(void* handle, int* mode) { *mode = of(handle)->math_mode; return OK; }
int cublasSetWorkspace_v2(void*, void*, size_t) { return OK; }

#define PRODUCTS(LETTER, TYPE)                                                                                        \
  int cublas##LETTER##gemm_v2(void* h, int fa, int fb, int m, int n, int k, const void* alpha, const void* a, int la, \
                              const void* b, int lb, const void* beta, void* c, int lc) {                             \
    return of_type(h, {fa, fb, m, n, k, 1, la, lb, lc, 0, 0, 0, false}, TYPE, alpha, a, b, beta, c);                  \
  }                                                                                                                   \
  int cublas##LETTER##gemmBatched(void* h, int fa, int fb, int m, int n, int k, const void* alpha, const void* a,     \
                                  int la, const void* b, int lb, const void* beta, void* c, int lc, int count) {      \
    return of_type(h, {fa, fb, m, n, k, count, la, lb, lc, 0, 0, 0, true}, TYPE, alpha, a, b, beta, c);               \
  }                                                                                                                   \
  int cublas##LETTER##gemmStridedBatched(void* h, int fa, int fb, int m, int n, int k, const void* alpha,             \
                                         const void* a, int la, long long sa, const void* b, int lb, long long sb,    \
                                         const void* beta, void* c, int lc, long long sc, int count) {                \
    return of_type(h, {fa, fb, m, n, k, count, la, lb, lc, sa, sb, sc, false}, TYPE, alpha, a, b, beta, c);           \
  }
PRODUCTS(S, FLOAT)
PRODUCTS(D, DOUBLE)
PRODUCTS(C, COMPLEX)
PRODUCTS(Z, DOUBLE_COMPLEX)

int cublasGemmEx(void* h, int fa, int fb, int m, int n, int k, const void* alpha, const void* a, int ta, int la,
                 const void* b, int tb, int lb, const void* beta, void* c, int tc, int lc, int compute, int) {
  if (ta != tb) return NOT_SUPPORTED;
  return of_type(h, {fa, fb, m, n, k, 1, la, lb, lc, 0, 0, 0, false, compute}, ta, alpha, a, b, beta, c, tc);
}
int cublasSgemmEx(void* h, int fa, int fb, int m, int n, int k, const float* alpha, const void* a, int ta, int la,
                  const void* b, int tb, int lb, const float* beta, void* c, int tc, int lc) {
  return cublasGemmEx(h, fa, fb, m, n, k, alpha, a, ta, la, b, tb, lb, beta, c, tc, lc, 0, 0);
}
int cublasGemmStridedBatchedEx(void* h, int fa, int fb, int m, int n, int k, const void* alpha, const void* a, int ta,
                               int la, long long sa, const void* b, int tb, int lb, long long sb, const void* beta,
                               void* c, int tc, int lc, long long sc, int count, int compute, int) {
  if (ta != tb) return NOT_SUPPORTED;
  return of_type(h, {fa, fb, m, n, k, count, la, lb, lc, sa, sb, sc, false, compute}, ta, alpha, a, b, beta, c, tc);
}
}
