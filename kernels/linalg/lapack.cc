#include "kernels/linalg/lapack.h"

#include <algorithm>

#define LAPACK_COMPLEX_CUSTOM
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapack.h>

// Routines that lapack.h does not declare.
extern "C" {
#define WEIR_DECLARE_BLAS(T, Real, rot, gemm, trsm, trmm, herk)                                                     \
  void rot##_(const int* n, T* x, const int* x_step, T* y, const int* y_step, const Real* c, const T* s);           \
  void gemm##_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k, const T* alpha,  \
               const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc, size_t, \
               size_t);                                                                                             \
  void trsm##_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n, \
               const T* alpha, const T* a, const int* lda, T* b, const int* ldb, size_t, size_t, size_t, size_t);   \
  void trmm##_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n, \
               const T* alpha, const T* a, const int* lda, T* b, const int* ldb, size_t, size_t, size_t, size_t);   \
  void herk##_(const char* uplo, const char* trans, const int* n, const int* k, const Real* alpha, const T* a,      \
               const int* lda, const Real* beta, T* c, const int* ldc, size_t, size_t);
WEIR_DECLARE_BLAS(float, float, srot, sgemm, strsm, strmm, ssyrk)
WEIR_DECLARE_BLAS(double, double, drot, dgemm, dtrsm, dtrmm, dsyrk)
WEIR_DECLARE_BLAS(std::complex<float>, float, crot, cgemm, ctrsm, ctrmm, cherk)
WEIR_DECLARE_BLAS(std::complex<double>, double, zrot, zgemm, ztrsm, ztrmm, zherk)
#undef WEIR_DECLARE_BLAS
}

namespace weir::lapack {
namespace {

int Int(int64_t n) { return static_cast<int>(n); }
int Stride(int64_t n) { return static_cast<int>(std::max<int64_t>(1, n)); }

// Calls routine(work, &length, &info) twice: first for the best length, then with a workspace of that length.
template <typename T, typename Routine>
int WithWorkspace(Routine routine) {
  T best(0);
  int length = -1, info = 0;
  routine(&best, &length, &info);
  length = std::max(1, static_cast<int>(std::real(best) * (sizeof(RealOf<T>) == 4 ? 1.001f : 1.0f)));
  std::vector<T> work(length);
  routine(work.data(), &length, &info);
  return info;
}

}  // namespace

// One definition for each type. `un` and `he` stand for the names that real types spell `or` and `sy`.
#define WEIR_DEFINE(T, p, un, he, rk)                                                                                  \
  template <>                                                                                                          \
  void Gelqf(int64_t m, int64_t n, T* a, int64_t lda, T* tau) {                                                        \
    const int rows = Int(m), columns = Int(n), step = Stride(lda);                                                     \
    WithWorkspace<T>([&](T* w, int* l, int* i) { LAPACK_##p##gelqf(&rows, &columns, a, &step, tau, w, l, i); });       \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Unglq(int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* tau) {                                       \
    const int rows = Int(m), columns = Int(n), count = Int(k), step = Stride(lda);                                     \
    WithWorkspace<T>(                                                                                                  \
        [&](T* w, int* l, int* i) { LAPACK_##p##un##glq(&rows, &columns, &count, a, &step, tau, w, l, i); });          \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Geqrf(int64_t m, int64_t n, T* a, int64_t lda, T* tau) {                                                        \
    const int rows = Int(m), columns = Int(n), step = Stride(lda);                                                     \
    WithWorkspace<T>([&](T* w, int* l, int* i) { LAPACK_##p##geqrf(&rows, &columns, a, &step, tau, w, l, i); });       \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Ungqr(int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* tau) {                                       \
    const int rows = Int(m), columns = Int(n), count = Int(k), step = Stride(lda);                                     \
    WithWorkspace<T>(                                                                                                  \
        [&](T* w, int* l, int* i) { LAPACK_##p##un##gqr(&rows, &columns, &count, a, &step, tau, w, l, i); });          \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Unmqr(char side, char trans, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* tau, T* c,      \
             int64_t ldc) {                                                                                            \
    const int rows = Int(m), columns = Int(n), count = Int(k), step = Stride(lda), step_c = Stride(ldc);               \
    WithWorkspace<T>([&](T* w, int* l, int* i) {                                                                       \
      LAPACK_##p##un##mqr(&side, &trans, &rows, &columns, &count, a, &step, tau, c, &step_c, w, l, i);                 \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int Getrf(int64_t m, int64_t n, T* a, int64_t lda, int* pivots) {                                                    \
    const int rows = Int(m), columns = Int(n), step = Stride(lda);                                                     \
    int info = 0;                                                                                                      \
    LAPACK_##p##getrf(&rows, &columns, a, &step, pivots, &info);                                                       \
    return info;                                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  int Getri(int64_t n, T* a, int64_t lda, const int* pivots) {                                                         \
    const int size = Int(n), step = Stride(lda);                                                                       \
    return WithWorkspace<T>([&](T* w, int* l, int* i) { LAPACK_##p##getri(&size, a, &step, pivots, w, l, i); });       \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Getrs(char trans, int64_t n, int64_t sides, const T* a, int64_t lda, const int* pivots, T* b, int64_t ldb) {    \
    const int size = Int(n), columns = Int(sides), step = Stride(lda), step_b = Stride(ldb);                           \
    int info = 0;                                                                                                      \
    LAPACK_##p##getrs(&trans, &size, &columns, a, &step, pivots, b, &step_b, &info);                                   \
  }                                                                                                                    \
  template <>                                                                                                          \
  int Potrf(char uplo, int64_t n, T* a, int64_t lda) {                                                                 \
    const int size = Int(n), step = Stride(lda);                                                                       \
    int info = 0;                                                                                                      \
    LAPACK_##p##potrf(&uplo, &size, a, &step, &info);                                                                  \
    return info;                                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Gebrd(int64_t m, int64_t n, T* a, int64_t lda, RealOf<T>* d, RealOf<T>* e, T* tau_q, T* tau_p) {                \
    const int rows = Int(m), columns = Int(n), step = Stride(lda);                                                     \
    WithWorkspace<T>(                                                                                                  \
        [&](T* w, int* l, int* i) { LAPACK_##p##gebrd(&rows, &columns, a, &step, d, e, tau_q, tau_p, w, l, i); });     \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Unmbr(char vect, char side, char trans, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* tau, \
             T* c, int64_t ldc) {                                                                                      \
    const int rows = Int(m), columns = Int(n), count = Int(k), step = Stride(lda), step_c = Stride(ldc);               \
    WithWorkspace<T>([&](T* w, int* l, int* i) {                                                                       \
      LAPACK_##p##un##mbr(&vect, &side, &trans, &rows, &columns, &count, a, &step, tau, c, &step_c, w, l, i);          \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Hetrd(char uplo, int64_t n, T* a, int64_t lda, RealOf<T>* d, RealOf<T>* e, T* tau) {                            \
    const int size = Int(n), step = Stride(lda);                                                                       \
    WithWorkspace<T>([&](T* w, int* l, int* i) { LAPACK_##p##he##trd(&uplo, &size, a, &step, d, e, tau, w, l, i); });  \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Ungtr(char uplo, int64_t n, T* a, int64_t lda, const T* tau) {                                                  \
    const int size = Int(n), step = Stride(lda);                                                                       \
    WithWorkspace<T>([&](T* w, int* l, int* i) { LAPACK_##p##un##gtr(&uplo, &size, a, &step, tau, w, l, i); });        \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Gehrd(int64_t n, T* a, int64_t lda, T* tau) {                                                                   \
    const int size = Int(n), low = 1, step = Stride(lda);                                                              \
    WithWorkspace<T>([&](T* w, int* l, int* i) { LAPACK_##p##gehrd(&size, &low, &size, a, &step, tau, w, l, i); });    \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Unghr(int64_t n, T* a, int64_t lda, const T* tau) {                                                             \
    const int size = Int(n), low = 1, step = Stride(lda);                                                              \
    WithWorkspace<T>([&](T* w, int* l, int* i) { LAPACK_##p##un##ghr(&size, &low, &size, a, &step, tau, w, l, i); });  \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Rot(int64_t n, T* x, int64_t x_step, T* y, int64_t y_step, RealOf<T> c, T s) {                                  \
    const int size = Int(n), step_x = Int(x_step), step_y = Int(y_step);                                               \
    p##rot_(&size, x, &step_x, y, &step_y, &c, &s);                                                                    \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Gemm(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b, \
            int64_t ldb, T beta, T* c, int64_t ldc) {                                                                  \
    const int rows = Int(m), columns = Int(n), depth = Int(k), step_a = Stride(lda), step_b = Stride(ldb),             \
              step_c = Stride(ldc);                                                                                    \
    p##gemm_(&trans_a, &trans_b, &rows, &columns, &depth, &alpha, a, &step_a, b, &step_b, &beta, c, &step_c, 1, 1);    \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Trsm(char side, char uplo, char trans, char diag, int64_t m, int64_t n, const T* a, int64_t lda, T* b,          \
            int64_t ldb) {                                                                                             \
    const int rows = Int(m), columns = Int(n), step = Stride(lda), step_b = Stride(ldb);                               \
    const T one(1);                                                                                                    \
    p##trsm_(&side, &uplo, &trans, &diag, &rows, &columns, &one, a, &step, b, &step_b, 1, 1, 1, 1);                    \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Trmm(char side, char uplo, char trans, char diag, int64_t m, int64_t n, const T* a, int64_t lda, T* b,          \
            int64_t ldb) {                                                                                             \
    const int rows = Int(m), columns = Int(n), step = Stride(lda), step_b = Stride(ldb);                               \
    const T one(1);                                                                                                    \
    p##trmm_(&side, &uplo, &trans, &diag, &rows, &columns, &one, a, &step, b, &step_b, 1, 1, 1, 1);                    \
  }                                                                                                                    \
  template <>                                                                                                          \
  void Herk(char uplo, char trans, int64_t n, int64_t k, RealOf<T> alpha, const T* a, int64_t lda, RealOf<T> beta,     \
            T* c, int64_t ldc) {                                                                                       \
    const int size = Int(n), depth = Int(k), step = Stride(lda), step_c = Stride(ldc);                                 \
    p##rk##_(&uplo, &trans, &size, &depth, &alpha, a, &step, &beta, c, &step_c, 1, 1);                                 \
  }
WEIR_DEFINE(float, s, or, sy, syrk)
WEIR_DEFINE(double, d, or, sy, syrk)
WEIR_DEFINE(std::complex<float>, c, un, he, herk)
WEIR_DEFINE(std::complex<double>, z, un, he, herk)
#undef WEIR_DEFINE

// Real matrices only.
#define WEIR_DEFINE(T, p)                                                                                   \
  template <>                                                                                               \
  void Geqp3(int64_t m, int64_t n, T* a, int64_t lda, int* pivots, T* tau) {                                \
    const int rows = Int(m), columns = Int(n), step = Stride(lda);                                          \
    std::fill_n(pivots, n, 0);                                                                              \
    WithWorkspace<T>(                                                                                       \
        [&](T* w, int* l, int* i) { LAPACK_##p##geqp3(&rows, &columns, a, &step, pivots, tau, w, l, i); }); \
  }                                                                                                         \
  template <>                                                                                               \
  int Bdsdc(char compq, int64_t n, T* d, T* e, T* u, int64_t ldu, T* vt, int64_t ldvt) {                    \
    const char upper = 'U';                                                                                 \
    const int size = Int(n), step_u = Stride(ldu), step_v = Stride(ldvt);                                   \
    std::vector<T> work(compq == 'N' ? 4 * n : 3 * n * n + 4 * n);                                          \
    std::vector<int> integers(8 * n);                                                                       \
    int info = 0;                                                                                           \
    LAPACK_##p##bdsdc(&upper, &compq, &size, d, e, u, &step_u, vt, &step_v, nullptr, nullptr, work.data(),  \
                      integers.data(), &info);                                                              \
    return info;                                                                                            \
  }
WEIR_DEFINE(float, s)
WEIR_DEFINE(double, d)
#undef WEIR_DEFINE

template <>
int Gelsy(int64_t m, int64_t n, int64_t sides, double* a, int64_t lda, double* b, int64_t ldb, double rcond,
          int* rank) {
  const int rows = Int(m), columns = Int(n), right = Int(sides), step = Stride(lda), step_b = Stride(ldb);
  std::vector<int> pivots(n);
  return WithWorkspace<double>([&](double* w, int* l, int* i) {
    LAPACK_dgelsy(&rows, &columns, &right, a, &step, b, &step_b, pivots.data(), &rcond, rank, w, l, i);
  });
}
template <>
int Gelsy(int64_t m, int64_t n, int64_t sides, std::complex<double>* a, int64_t lda, std::complex<double>* b,
          int64_t ldb, double rcond, int* rank) {
  const int rows = Int(m), columns = Int(n), right = Int(sides), step = Stride(lda), step_b = Stride(ldb);
  std::vector<int> pivots(n);
  std::vector<double> real_work(2 * n);
  return WithWorkspace<std::complex<double>>([&](std::complex<double>* w, int* l, int* i) {
    LAPACK_zgelsy(&rows, &columns, &right, a, &step, b, &step_b, pivots.data(), &rcond, rank, w, l, real_work.data(),
                  i);
  });
}

}  // namespace weir::lapack
