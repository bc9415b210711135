#include "kernels/recurrent/rnn_loops.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

template <typename T>
T Sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

// Where a part's numbers are.
template <typename T>
class Part {
 public:
  Part(const RnnBatch& batch, int64_t part)
      : batch_(batch), sizes_(batch.sizes), part_(part), hidden_(sizes_.hidden), width_(sizes_.Width(part)) {}

  int64_t hidden() const { return hidden_; }
  int64_t width() const { return width_; }
  int64_t gates() const { return sizes_.gates(); }
  int64_t direction() const { return part_ % sizes_.directions; }
  // The step that comes as number `i` of row n.
  int64_t Step(int64_t n, int64_t i) const { return direction() == 0 ? i : batch_.lengths[n] - 1 - i; }
  int64_t Matrix(int64_t m) const { return sizes_.MatrixOffset(part_, m); }
  int64_t Bias(int64_t m) const { return sizes_.BiasOffset(part_, m); }
  int64_t State(int64_t n) const { return (part_ * batch_.rows + n) * hidden_; }
  // Of kept numbers, kind k.
  int64_t Kept(int64_t step, int64_t n, int64_t k) const {
    return (((part_ * batch_.steps + step) * batch_.rows + n) * batch_.KeptPerUnit() + k) * hidden_;
  }
  int64_t LastKept() const { return batch_.KeptPerUnit() - 1; }
  // Of a layer's output.
  int64_t Out(int64_t step, int64_t n) const {
    return ((step * batch_.rows + n) * sizes_.directions + direction()) * hidden_;
  }
  int64_t In(int64_t step, int64_t n) const { return (step * batch_.rows + n) * width_; }

 private:
  const RnnBatch& batch_;
  const RnnSizes& sizes_;
  const int64_t part_, hidden_, width_;
};

// out = matrix in + bias
template <typename T>
void Affine(const T* matrix, const T* bias, const T* in, int64_t rows, int64_t columns, T* out) {
  for (int64_t r = 0; r < rows; ++r) {
    T sum = bias[r];
    for (int64_t c = 0; c < columns; ++c) sum += matrix[r * columns + c] * in[c];
    out[r] = sum;
  }
}

// Of the gradient `d` at matrix in + bias.
template <typename T>
void AffineGradient(const T* matrix, const T* in, const T* d, int64_t rows, int64_t columns, T* dmatrix, T* dbias,
                    T* din) {
  for (int64_t r = 0; r < rows; ++r) {
    dbias[r] += d[r];
    for (int64_t c = 0; c < columns; ++c) {
      dmatrix[r * columns + c] += d[r] * in[c];
      din[c] += d[r] * matrix[r * columns + c];
    }
  }
}

// One step of one row: `a` and `b` are what the gates get of the input and of the state. h and c are replaced, and the
// kept numbers written, `hidden` of each kind.
template <typename T>
void Advance(RnnMode mode, int64_t hidden, const T* a, const T* b, T* h, T* c, T* kept) {
  for (int64_t j = 0; j < hidden; ++j) {
    const auto sum = [&](int64_t gate) { return a[gate * hidden + j] + b[gate * hidden + j]; };
    const auto keep = [&](int64_t kind, T value) { kept[kind * hidden + j] = value; };
    switch (mode) {
      case RnnMode::kRelu:
        h[j] = std::max(sum(0), T{0});
        keep(0, h[j]);
        break;
      case RnnMode::kTanh:
        h[j] = std::tanh(sum(0));
        keep(0, h[j]);
        break;
      case RnnMode::kLstm: {
        const T i = Sigmoid(sum(0)), f = Sigmoid(sum(1)), g = std::tanh(sum(2)), o = Sigmoid(sum(3));
        c[j] = f * c[j] + i * g;
        h[j] = o * std::tanh(c[j]);
        const T values[] = {i, f, g, o, c[j], h[j]};
        for (int k = 0; k < 6; ++k) keep(k, values[k]);
        break;
      }
      case RnnMode::kGru: {
        const T r = Sigmoid(sum(0)), z = Sigmoid(sum(1)), q = b[2 * hidden + j];
        const T n = std::tanh(a[2 * hidden + j] + r * q);
        h[j] = (1 - z) * n + z * h[j];
        const T values[] = {r, z, n, q, h[j]};
        for (int k = 0; k < 5; ++k) keep(k, values[k]);
        break;
      }
    }
  }
}

// The gradients at `a` and `b` of Advance from dh, that at h behind it, and dc; which become those at h and c before
// it, as far as they do not come by `b`.
template <typename T>
void Retreat(RnnMode mode, int64_t hidden, const T* kept, const T* h_before, const T* c_before, T* dh, T* dc, T* da,
             T* db) {
  for (int64_t j = 0; j < hidden; ++j) {
    const auto of = [&](int64_t kind) { return kept[kind * hidden + j]; };
    const auto set = [&](int64_t gate, T d) { da[gate * hidden + j] = db[gate * hidden + j] = d; };
    switch (mode) {
      case RnnMode::kRelu:
        set(0, of(0) > 0 ? dh[j] : 0);
        dh[j] = 0;
        break;
      case RnnMode::kTanh:
        set(0, dh[j] * (1 - of(0) * of(0)));
        dh[j] = 0;
        break;
      case RnnMode::kLstm: {
        const T i = of(0), f = of(1), g = of(2), o = of(3), tanh_c = std::tanh(of(4));
        dc[j] += dh[j] * o * (1 - tanh_c * tanh_c);
        set(0, dc[j] * g * i * (1 - i));
        set(1, dc[j] * c_before[j] * f * (1 - f));
        set(2, dc[j] * i * (1 - g * g));
        set(3, dh[j] * tanh_c * o * (1 - o));
        dc[j] *= f;
        dh[j] = 0;
        break;
      }
      case RnnMode::kGru: {
        const T r = of(0), z = of(1), n = of(2), q = of(3);
        const T dn = dh[j] * (1 - z) * (1 - n * n);
        set(0, dn * q * r * (1 - r));
        set(1, dh[j] * (h_before[j] - n) * z * (1 - z));
        da[2 * hidden + j] = dn;
        db[2 * hidden + j] = dn * r;
        dh[j] *= z;
        break;
      }
    }
  }
}

// What a layer reads: the input, or what the layer below it gave.
template <typename T>
std::vector<T> OutputOfLayer(const RnnBatch& batch, int64_t layer, const T* kept) {
  std::vector<T> out(batch.OutElements());
  for (int64_t d = 0; d < batch.sizes.directions; ++d) {
    const Part<T> part(batch, layer * batch.sizes.directions + d);
    for (int64_t n = 0; n < batch.rows; ++n) {
      for (int64_t t = 0; t < batch.lengths[n]; ++t) {
        std::copy_n(kept + part.Kept(t, n, part.LastKept()), part.hidden(), out.data() + part.Out(t, n));
      }
    }
  }
  return out;
}

template <typename T>
void RunPart(const RnnBatch& batch, const Part<T>& part, const T* in, const RnnForward<T>& at) {
  const int64_t hidden = part.hidden(), gates = part.gates();
  const bool has_cell = batch.sizes.mode == RnnMode::kLstm;
  std::vector<T> a(gates * hidden), b(gates * hidden), h(hidden), c(hidden);
  for (int64_t n = 0; n < batch.rows; ++n) {
    std::copy_n(at.h + part.State(n), hidden, h.data());
    if (has_cell) std::copy_n(at.c + part.State(n), hidden, c.data());
    for (int64_t i = 0; i < batch.lengths[n]; ++i) {
      const int64_t t = part.Step(n, i);
      // The matrices of all gates are contiguous, and so are their biases.
      Affine(at.params + part.Matrix(0), at.params + part.Bias(0), in + part.In(t, n), gates * hidden, part.width(),
             a.data());
      Affine(at.params + part.Matrix(gates), at.params + part.Bias(gates), h.data(), gates * hidden, hidden, b.data());
      Advance(batch.sizes.mode, hidden, a.data(), b.data(), h.data(), c.data(), at.kept + part.Kept(t, n, 0));
    }
    std::copy_n(h.data(), hidden, at.last_h + part.State(n));
    if (has_cell) std::copy_n(c.data(), hidden, at.last_c + part.State(n));
  }
}

// Adds to the gradient at the layer's input.
template <typename T>
void RunPartGradient(const RnnBatch& batch, const Part<T>& part, const T* in, const T* dout, const RnnBackward<T>& at,
                     T* din) {
  const int64_t hidden = part.hidden(), gates = part.gates();
  const bool has_cell = batch.sizes.mode == RnnMode::kLstm;
  std::vector<T> da(gates * hidden), db(gates * hidden), dh(hidden), dc(hidden);
  for (int64_t n = 0; n < batch.rows; ++n) {
    std::copy_n(at.dlast_h + part.State(n), hidden, dh.data());
    if (has_cell) std::copy_n(at.dlast_c + part.State(n), hidden, dc.data());
    for (int64_t i = batch.lengths[n] - 1; i >= 0; --i) {
      const int64_t t = part.Step(n, i);
      const int64_t before = i == 0 ? 0 : part.Step(n, i - 1);
      const T* const h_before = i == 0 ? at.h + part.State(n) : at.kept + part.Kept(before, n, part.LastKept());
      const T* c_before = nullptr;
      if (has_cell) c_before = i == 0 ? at.c + part.State(n) : at.kept + part.Kept(before, n, 4);
      for (int64_t j = 0; j < hidden; ++j) dh[j] += dout[part.Out(t, n) + j];
      Retreat(batch.sizes.mode, hidden, at.kept + part.Kept(t, n, 0), h_before, c_before, dh.data(), dc.data(),
              da.data(), db.data());
      AffineGradient(at.params + part.Matrix(0), in + part.In(t, n), da.data(), gates * hidden, part.width(),
                     at.dparams + part.Matrix(0), at.dparams + part.Bias(0), din + part.In(t, n));
      AffineGradient(at.params + part.Matrix(gates), h_before, db.data(), gates * hidden, hidden,
                     at.dparams + part.Matrix(gates), at.dparams + part.Bias(gates), dh.data());
    }
    std::copy_n(dh.data(), hidden, at.dh + part.State(n));
    if (has_cell) std::copy_n(dc.data(), hidden, at.dc + part.State(n));
  }
}

}  // namespace

template <typename T>
void RunRnn(const RnnBatch& batch, const RnnForward<T>& at) {
  std::fill_n(at.kept, batch.KeptElements(), T{0});
  std::vector<T> below;
  const T* in = at.x;
  for (int64_t layer = 0; layer < batch.sizes.layers; ++layer) {
    for (int64_t d = 0; d < batch.sizes.directions; ++d) {
      RunPart(batch, Part<T>(batch, layer * batch.sizes.directions + d), in, at);
    }
    below = OutputOfLayer(batch, layer, at.kept);
    in = below.data();
  }
  std::copy(below.begin(), below.end(), at.y);
}

template <typename T>
void RunRnnGradient(const RnnBatch& batch, const RnnBackward<T>& at) {
  std::fill_n(at.dparams, batch.sizes.NumParams(), T{0});
  std::fill_n(at.dx, batch.InElements(), T{0});
  std::vector<T> dout(at.dy, at.dy + batch.OutElements());
  for (int64_t layer = batch.sizes.layers - 1; layer >= 0; --layer) {
    const std::vector<T> below = layer == 0 ? std::vector<T>() : OutputOfLayer(batch, layer - 1, at.kept);
    std::vector<T> dbelow(below.size());
    for (int64_t d = 0; d < batch.sizes.directions; ++d) {
      RunPartGradient(batch, Part<T>(batch, layer * batch.sizes.directions + d), layer == 0 ? at.x : below.data(),
                      dout.data(), at, layer == 0 ? at.dx : dbelow.data());
    }
    dout = std::move(dbelow);
  }
}

template void RunRnn(const RnnBatch&, const RnnForward<float>&);
template void RunRnn(const RnnBatch&, const RnnForward<double>&);
template void RunRnnGradient(const RnnBatch&, const RnnBackward<float>&);
template void RunRnnGradient(const RnnBatch&, const RnnBackward<double>&);

}  // namespace weir
