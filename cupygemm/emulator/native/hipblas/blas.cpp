// libhipblas on host memory: what CuPy's matmul, dot, tensordot and vdot call. Column-major, as BLAS is.
//
// Products are accumulated in f32 for f16, bf16 and f32 results of compute type 32F, and in f64 for f64: plain loops
// over columns, so that the innermost one runs along memory. All calls first carry out what their stream has queued and
// then work at once.
#include <cstddef>
#include <vector>

#include "hipblas/element.hpp"

#define BLAS_API extern "C"

struct Stream;
extern "C" int hipStreamSynchronize(Stream* stream);

namespace blas {

enum Status : int { kSuccess = 0, kInvalidValue = 3, kExecutionFailed = 6, kNotSupported = 7 };
enum Operation : int { kPlain = 111, kTransposed = 112, kConjugated = 113 };

struct Handle {
  Stream* stream;
  int pointer_mode;
};

namespace {

// rows x columns of op(X), as a dense column-major copy of type Acc: the loops below then need no case distinctions.
template <class Acc, class T>
std::vector<Acc> gather(const T* x, int leading, int op, int rows, int columns) {
  std::vector<Acc> out(static_cast<size_t>(rows) * columns);
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < rows; i++) {
      const T& value = op == kPlain ? x[i + static_cast<size_t>(j) * leading] : x[j + static_cast<size_t>(i) * leading];
      const Acc wide = load<Acc>(value);
      out[i + static_cast<size_t>(j) * rows] = op == kConjugated ? conjugate(wide) : wide;
    }
  return out;
}

template <class Acc, class TA, class TB, class TC>
void gemm(int op_a, int op_b, int m, int n, int k, Acc alpha, const TA* a, int lda, const TB* b, int ldb, Acc beta,
          TC* c, int ldc) {
  const std::vector<Acc> left = gather<Acc>(a, lda, op_a, m, k), right = gather<Acc>(b, ldb, op_b, k, n);
  std::vector<Acc> column(static_cast<size_t>(m));
  for (int j = 0; j < n; j++) {
    for (Acc& sum : column) sum = Acc{};
    for (int p = 0; p < k; p++) {
      const Acc factor = right[p + static_cast<size_t>(j) * k];
      const Acc* from = left.data() + static_cast<size_t>(p) * m;
      for (int i = 0; i < m; i++) column[i] += from[i] * factor;
    }
    TC* to = c + static_cast<size_t>(j) * ldc;
    // beta = 0 overwrites: C may hold NaN
    for (int i = 0; i < m; i++)
      to[i] = store<TC>(is_zero(beta) ? alpha * column[i] : alpha * column[i] + beta * load<Acc>(to[i]));
  }
}

template <class T>
Status gemm_batch(Handle* handle, int op_a, int op_b, int m, int n, int k, const T* alpha, const T* const* a, int lda,
                  const T* const* b, int ldb, const T* beta, T* const* c, int ldc, int count) {
  if (hipStreamSynchronize(handle->stream)) return kExecutionFailed;
  for (int i = 0; i < count; i++) gemm<T>(op_a, op_b, m, n, k, *alpha, a[i], lda, b[i], ldb, *beta, c[i], ldc);
  return kSuccess;
}

template <class T>
Status gemm_strided(Handle* handle, int op_a, int op_b, int m, int n, int k, const T* alpha, const T* a, int lda,
                    long long step_a, const T* b, int ldb, long long step_b, const T* beta, T* c, int ldc,
                    long long step_c, int count) {
  if (hipStreamSynchronize(handle->stream)) return kExecutionFailed;
  for (int i = 0; i < count; i++)
    gemm<T>(op_a, op_b, m, n, k, *alpha, a + i * step_a, lda, b + i * step_b, ldb, *beta, c + i * step_c, ldc);
  return kSuccess;
}

// hipDataType
enum Type : int { kF32 = 0, kF64 = 1, kF16 = 2, kC32 = 4, kC64 = 5, kBf16 = 14 };

template <class Acc, class TAB, class TC>
void gemm_ex_loop(int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int lda, long long step_a,
                  const void* b, int ldb, long long step_b, const void* beta, void* c, int ldc, long long step_c,
                  int count) {
  for (int i = 0; i < count; i++)
    gemm<Acc>(op_a, op_b, m, n, k, *static_cast<const Acc*>(alpha), static_cast<const TAB*>(a) + i * step_a, lda,
              static_cast<const TAB*>(b) + i * step_b, ldb, *static_cast<const Acc*>(beta),
              static_cast<TC*>(c) + i * step_c, ldc);
}

Status gemm_ex(Handle* handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int type_a,
               int lda, long long step_a, const void* b, int type_b, int ldb, long long step_b, const void* beta,
               void* c, int type_c, int ldc, long long step_c, int count) {
  if (hipStreamSynchronize(handle->stream)) return kExecutionFailed;
  if (type_a != type_b) return kNotSupported;
#define CASE(IN, OUT, ACC, TIN, TOUT)                                                                              \
  if (type_a == IN && type_c == OUT) {                                                                             \
    gemm_ex_loop<ACC, TIN, TOUT>(op_a, op_b, m, n, k, alpha, a, lda, step_a, b, ldb, step_b, beta, c, ldc, step_c, \
                                 count);                                                                           \
    return kSuccess;                                                                                               \
  }
  CASE(kF32, kF32, float, float, float)
  CASE(kF64, kF64, double, double, double)
  CASE(kF16, kF16, float, Half, Half)
  CASE(kF16, kF32, float, Half, float)
  CASE(kBf16, kBf16, float, Bfloat, Bfloat)
  CASE(kBf16, kF32, float, Bfloat, float)
  CASE(kC32, kC32, Complex<float>, Complex<float>, Complex<float>)
  CASE(kC64, kC64, Complex<double>, Complex<double>, Complex<double>)
#undef CASE
  return kNotSupported;
}

template <class T>
const T* first(const T* x, int n, int step) {
  return step < 0 ? x - static_cast<long long>(n - 1) * step : x;
}

template <class T>
Status dot(Handle* handle, int n, const T* x, int step_x, const T* y, int step_y, T* result, bool conjugated) {
  if (hipStreamSynchronize(handle->stream)) return kExecutionFailed;
  x = first(x, n, step_x), y = first(y, n, step_y);
  T sum{};
  for (long long i = 0; i < n; i++) sum += (conjugated ? conjugate(x[i * step_x]) : x[i * step_x]) * y[i * step_y];
  *result = sum;
  return kSuccess;
}

template <class T>
Status gemv(Handle* handle, int op, int m, int n, const T* alpha, const T* a, int lda, const T* x, int step_x,
            const T* beta, T* y, int step_y) {
  if (hipStreamSynchronize(handle->stream)) return kExecutionFailed;
  const int rows = op == kPlain ? m : n, columns = op == kPlain ? n : m;
  x = first(x, columns, step_x);
  y = const_cast<T*>(first<T>(y, rows, step_y));
  const std::vector<T> matrix = gather<T>(a, lda, op, rows, columns);
  for (long long i = 0; i < rows; i++) {
    T sum{};
    for (long long j = 0; j < columns; j++) sum += matrix[i + j * rows] * x[j * step_x];
    y[i * step_y] = is_zero(*beta) ? *alpha * sum : *alpha * sum + *beta * y[i * step_y];
  }
  return kSuccess;
}

template <class T>
Status ger(Handle* handle, int m, int n, const T* alpha, const T* x, int step_x, const T* y, int step_y, T* a, int lda,
           bool conjugated) {
  if (hipStreamSynchronize(handle->stream)) return kExecutionFailed;
  x = first(x, m, step_x), y = first(y, n, step_y);
  for (long long j = 0; j < n; j++) {
    const T factor = *alpha * (conjugated ? conjugate(y[j * step_y]) : y[j * step_y]);
    for (long long i = 0; i < m; i++) a[i + j * lda] += x[i * step_x] * factor;
  }
  return kSuccess;
}

template <class T, class S>
Status scal(Handle* handle, int n, const S* alpha, T* x, int step) {
  if (hipStreamSynchronize(handle->stream)) return kExecutionFailed;
  for (long long i = 0; i < n; i++) x[i * step] = x[i * step] * *alpha;
  return kSuccess;
}

template <class T>
Status axpy(Handle* handle, int n, const T* alpha, const T* x, int step_x, T* y, int step_y) {
  if (hipStreamSynchronize(handle->stream)) return kExecutionFailed;
  x = first(x, n, step_x);
  y = const_cast<T*>(first<T>(y, n, step_y));
  for (long long i = 0; i < n; i++) y[i * step_y] += *alpha * x[i * step_x];
  return kSuccess;
}

// Summed in f64, where the squares of f32 neither overflow nor vanish.
template <class T, class R>
Status nrm2(Handle* handle, int n, const T* x, int step, R* result) {
  if (hipStreamSynchronize(handle->stream)) return kExecutionFailed;
  double sum = 0;
  for (long long i = 0; i < n; i++) sum += norm(x[i * step]);
  *result = static_cast<R>(__builtin_sqrt(sum));
  return kSuccess;
}

template <class T, class R>
Status asum(Handle* handle, int n, const T* x, int step, R* result) {
  if (hipStreamSynchronize(handle->stream)) return kExecutionFailed;
  double sum = 0;
  for (long long i = 0; i < n; i++) sum += magnitude(x[i * step]);
  *result = static_cast<R>(sum);
  return kSuccess;
}

// op(A) * alpha + op(B) * beta
template <class T>
Status geam(Handle* handle, int op_a, int op_b, int m, int n, const T* alpha, const T* a, int lda, const T* beta,
            const T* b, int ldb, T* c, int ldc) {
  if (hipStreamSynchronize(handle->stream)) return kExecutionFailed;
  std::vector<T> left, right;
  if (!is_zero(*alpha)) left = gather<T>(a, lda, op_a, m, n);
  if (!is_zero(*beta)) right = gather<T>(b, ldb, op_b, m, n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++) {
      const size_t at = i + static_cast<size_t>(j) * m;
      T value{};
      if (!left.empty()) value += *alpha * left[at];
      if (!right.empty()) value += *beta * right[at];
      c[i + static_cast<size_t>(j) * ldc] = value;
    }
  return kSuccess;
}

}  // namespace
}  // namespace blas

using namespace blas;
using C32 = Complex<float>;
using C64 = Complex<double>;

BLAS_API Status hipblasCreate(Handle** out) {
  *out = new Handle{nullptr, 0};
  return kSuccess;
}

BLAS_API Status hipblasDestroy(Handle* handle) {
  delete handle;
  return kSuccess;
}

BLAS_API Status hipblasSetStream(Handle* handle, Stream* stream) {
  handle->stream = stream;
  return kSuccess;
}

BLAS_API Status hipblasGetStream(Handle* handle, Stream** stream) {
  *stream = handle->stream;
  return kSuccess;
}

// Host and device pointers are the same thing here; the mode is only remembered.
BLAS_API Status hipblasSetPointerMode(Handle* handle, int mode) {
  handle->pointer_mode = mode;
  return kSuccess;
}

BLAS_API Status hipblasGetPointerMode(Handle* handle, int* mode) {
  *mode = handle->pointer_mode;
  return kSuccess;
}

BLAS_API Status hipblasGemmEx(Handle* h, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a,
                              int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, void* c,
                              int type_c, int ldc, int, int) {
  return gemm_ex(h, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta, c, type_c, ldc, 0, 1);
}

BLAS_API Status hipblasGemmStridedBatchedEx(Handle* h, int op_a, int op_b, int m, int n, int k, const void* alpha,
                                            const void* a, int type_a, int lda, long long step_a, const void* b,
                                            int type_b, int ldb, long long step_b, const void* beta, void* c,
                                            int type_c, int ldc, long long step_c, int count, int, int) {
  return gemm_ex(h, op_a, op_b, m, n, k, alpha, a, type_a, lda, step_a, b, type_b, ldb, step_b, beta, c, type_c, ldc,
                 step_c, count);
}

#define FOR_TYPE(L, T)                                                                                               \
  BLAS_API Status hipblas##L##gemm(Handle* h, int op_a, int op_b, int m, int n, int k, const T* alpha, const T* a,   \
                                   int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {                     \
    return gemm_strided<T>(h, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);                 \
  }                                                                                                                  \
  BLAS_API Status hipblas##L##gemmBatched(Handle* h, int op_a, int op_b, int m, int n, int k, const T* alpha,        \
                                          const T* const* a, int lda, const T* const* b, int ldb, const T* beta,     \
                                          T* const* c, int ldc, int count) {                                         \
    return gemm_batch<T>(h, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count);                        \
  }                                                                                                                  \
  BLAS_API Status hipblas##L##gemmStridedBatched(                                                                    \
      Handle* h, int op_a, int op_b, int m, int n, int k, const T* alpha, const T* a, int lda, long long step_a,     \
      const T* b, int ldb, long long step_b, const T* beta, T* c, int ldc, long long step_c, int count) {            \
    return gemm_strided<T>(h, op_a, op_b, m, n, k, alpha, a, lda, step_a, b, ldb, step_b, beta, c, ldc, step_c,      \
                           count);                                                                                   \
  }                                                                                                                  \
  BLAS_API Status hipblas##L##gemv(Handle* h, int op, int m, int n, const T* alpha, const T* a, int lda, const T* x, \
                                   int step_x, const T* beta, T* y, int step_y) {                                    \
    return gemv<T>(h, op, m, n, alpha, a, lda, x, step_x, beta, y, step_y);                                          \
  }                                                                                                                  \
  BLAS_API Status hipblas##L##scal(Handle* h, int n, const T* alpha, T* x, int step) {                               \
    return scal<T, T>(h, n, alpha, x, step);                                                                         \
  }                                                                                                                  \
  BLAS_API Status hipblas##L##axpy(Handle* h, int n, const T* alpha, const T* x, int step_x, T* y, int step_y) {     \
    return axpy<T>(h, n, alpha, x, step_x, y, step_y);                                                               \
  }                                                                                                                  \
  BLAS_API Status hipblas##L##geam(Handle* h, int op_a, int op_b, int m, int n, const T* alpha, const T* a, int lda, \
                                   const T* beta, const T* b, int ldb, T* c, int ldc) {                              \
    return geam<T>(h, op_a, op_b, m, n, alpha, a, lda, beta, b, ldb, c, ldc);                                        \
  }

FOR_TYPE(S, float)
FOR_TYPE(D, double)
FOR_TYPE(C, C32)
FOR_TYPE(Z, C64)

#define DOT(NAME, T, CONJUGATED)                                                                               \
  BLAS_API Status hipblas##NAME(Handle* h, int n, const T* x, int step_x, const T* y, int step_y, T* result) { \
    return dot<T>(h, n, x, step_x, y, step_y, result, CONJUGATED);                                             \
  }
#define GER(NAME, T, CONJUGATED)                                                                             \
  BLAS_API Status hipblas##NAME(Handle* h, int m, int n, const T* alpha, const T* x, int step_x, const T* y, \
                                int step_y, T* a, int lda) {                                                 \
    return ger<T>(h, m, n, alpha, x, step_x, y, step_y, a, lda, CONJUGATED);                                 \
  }
#define REDUCTIONS(L, R, T)                                                             \
  BLAS_API Status hipblas##L##nrm2(Handle* h, int n, const T* x, int step, R* result) { \
    return nrm2<T, R>(h, n, x, step, result);                                           \
  }                                                                                     \
  BLAS_API Status hipblas##L##asum(Handle* h, int n, const T* x, int step, R* result) { \
    return asum<T, R>(h, n, x, step, result);                                           \
  }

DOT(Sdot, float, false)
DOT(Ddot, double, false)
DOT(Cdotu, C32, false)
DOT(Cdotc, C32, true)
DOT(Zdotu, C64, false)
DOT(Zdotc, C64, true)
GER(Sger, float, false)
GER(Dger, double, false)
GER(Cgeru, C32, false)
GER(Cgerc, C32, true)
GER(Zgeru, C64, false)
GER(Zgerc, C64, true)
REDUCTIONS(S, float, float)
REDUCTIONS(D, double, double)
REDUCTIONS(Sc, float, C32)
REDUCTIONS(Dz, double, C64)
