// LAPACK and BLAS for float, double and their complex types: typed names, 64-bit sizes, workspaces allocated inside.
//
// Matrices are column-major: a row-major matrix is passed as its transpose.
// Sizes must fit an int. Thread-safe; each call computes on the calling thread. Arguments are LAPACK's: an int result
// is its `info`, zero on success.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace weir::lapack {

template <typename T>
using RealOf = decltype(std::real(T()));

// Orthogonal factors.
template <typename T>
void Gelqf(int64_t m, int64_t n, T* a, int64_t lda, T* tau);
template <typename T>
void Unglq(int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* tau);
template <typename T>
void Geqrf(int64_t m, int64_t n, T* a, int64_t lda, T* tau);
template <typename T>
void Ungqr(int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* tau);
template <typename T>
void Unmqr(char side, char trans, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* tau, T* c,
           int64_t ldc);
template <typename T>
void Geqp3(int64_t m, int64_t n, T* a, int64_t lda, int* pivots, T* tau);

// Linear systems. Gelsy returns the rank it found in `rank`.
template <typename T>
int Getrf(int64_t m, int64_t n, T* a, int64_t lda, int* pivots);
template <typename T>
int Getri(int64_t n, T* a, int64_t lda, const int* pivots);
template <typename T>
void Getrs(char trans, int64_t n, int64_t sides, const T* a, int64_t lda, const int* pivots, T* b, int64_t ldb);
template <typename T>
int Potrf(char uplo, int64_t n, T* a, int64_t lda);
template <typename T>
int Gelsy(int64_t m, int64_t n, int64_t sides, T* a, int64_t lda, T* b, int64_t ldb, RealOf<T> rcond, int* rank);

// Reductions to bidiagonal, tridiagonal and Hessenberg form, and the singular values of a bidiagonal matrix.
template <typename T>
void Gebrd(int64_t m, int64_t n, T* a, int64_t lda, RealOf<T>* d, RealOf<T>* e, T* tau_q, T* tau_p);
template <typename T>
void Unmbr(char vect, char side, char trans, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* tau,
           T* c, int64_t ldc);
template <typename T>
int Bdsdc(char compq, int64_t n, T* d, T* e, T* u, int64_t ldu, T* vt, int64_t ldvt);
template <typename T>
void Hetrd(char uplo, int64_t n, T* a, int64_t lda, RealOf<T>* d, RealOf<T>* e, T* tau);
template <typename T>
void Ungtr(char uplo, int64_t n, T* a, int64_t lda, const T* tau);
template <typename T>
void Gehrd(int64_t n, T* a, int64_t lda, T* tau);
template <typename T>
void Unghr(int64_t n, T* a, int64_t lda, const T* tau);

// BLAS. Rot sets (x, y) to (c x + s y, c y - conj(s) x). Herk reads A^H A where trans is 'C', else A A^H.
template <typename T>
void Rot(int64_t n, T* x, int64_t x_step, T* y, int64_t y_step, RealOf<T> c, T s);
template <typename T>
void Gemm(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
          int64_t ldb, T beta, T* c, int64_t ldc);
template <typename T>
void Trsm(char side, char uplo, char trans, char diag, int64_t m, int64_t n, const T* a, int64_t lda, T* b,
          int64_t ldb);
template <typename T>
void Trmm(char side, char uplo, char trans, char diag, int64_t m, int64_t n, const T* a, int64_t lda, T* b,
          int64_t ldb);
template <typename T>
void Herk(char uplo, char trans, int64_t n, int64_t k, RealOf<T> alpha, const T* a, int64_t lda, RealOf<T> beta, T* c,
          int64_t ldc);

// `to`, columns x rows, becomes the transpose of `from`, rows x columns: this converts row-major to column-major.
template <typename T>
void Transpose(const T* from, int64_t rows, int64_t columns, T* to) {
  constexpr int64_t kTile = 16;
  for (int64_t i = 0; i < rows; i += kTile) {
    const int64_t i_end = i + kTile < rows ? i + kTile : rows;
    for (int64_t j = 0; j < columns; j += kTile) {
      const int64_t j_end = j + kTile < columns ? j + kTile : columns;
      for (int64_t r = i; r < i_end; ++r) {
        for (int64_t c = j; c < j_end; ++c) to[c * rows + r] = from[r * columns + c];
      }
    }
  }
}

inline float Conj(float x) { return x; }
inline double Conj(double x) { return x; }
inline std::complex<float> Conj(std::complex<float> x) { return std::conj(x); }
inline std::complex<double> Conj(std::complex<double> x) { return std::conj(x); }

template <typename T>
inline constexpr bool kIsComplex = !std::is_same_v<T, RealOf<T>>;

}  // namespace weir::lapack
