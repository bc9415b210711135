// Schur's form of a complex matrix, from which eigenvalues and functions of the matrix follow.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace weir {

// Row-major and square.
class ComplexMatrix {
 public:
  explicit ComplexMatrix(int64_t n) : n_(n), data_(n * n) {}
  static ComplexMatrix Identity(int64_t n);
  int64_t size() const { return n_; }
  std::complex<double>& operator()(int64_t i, int64_t j) { return data_[i * n_ + j]; }
  std::complex<double> operator()(int64_t i, int64_t j) const { return data_[i * n_ + j]; }
  friend ComplexMatrix operator*(const ComplexMatrix& a, const ComplexMatrix& b);
  ComplexMatrix Adjoint() const;

 private:
  int64_t n_;
  std::vector<std::complex<double>> data_;
};

// A = Q T Q^H with unitary Q and upper triangular T.
struct SchurForm {
  ComplexMatrix q, t;
};
// False where the iteration does not converge (elements that are not finite).
bool MakeSchurForm(const ComplexMatrix& a, SchurForm* form);

}  // namespace weir
