#include "kernels/linalg/matmul/loop_operand.h"

#include <omp.h>

#include <cstdint>
#include <dnnl.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/device/resource_manager.h"
#include "core/mutex.h"

namespace weir {
namespace {

using dnnl::memory;

constexpr absl::string_view kBlockedKernels = "brg";

const dnnl::engine& Engine() {
  static const auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

class Packed : public LoopOperand {
 public:
  Packed(Tensor b, const GemmArgs& g, int64_t rows)
      : b_(std::move(b)), type_(LibraryType(b_.dtype())), m_(g.m), n_(g.n), k_(g.k), rows_(rows) {
    const dnnl::matmul::primitive_desc most = Describe(rows, memory::desc({k_, n_}, type_, memory::format_tag::any));
    order_ = most.weights_desc();
    most_rows_ = MakeProduct(rows, &is_blocked_);
    if (g.m % rows != 0) last_rows_ = MakeProduct(g.m % rows, &is_blocked_);
    if (!is_blocked_) return;
    const memory::desc given({k_, n_}, type_, g.transpose_b ? memory::dims{1, g.ldb} : memory::dims{g.ldb, 1});
    packed_ = memory(order_, Engine());
    memory source(given, Engine(), const_cast<void*>(g.b));
    dnnl::stream stream(Engine());
    dnnl::reorder(source, packed_).execute(stream, source, packed_);
    stream.wait();
  }

  bool is_blocked() const { return is_blocked_; }
  bool IsOf(const Tensor& b, const GemmArgs& g, int64_t rows) const {
    return b.raw_data() == b_.raw_data() && b.shape() == b_.shape() && g.m == m_ && rows == rows_;
  }

  void Multiply(const GemmArgs& g) const override {
    if (omp_get_max_threads() != 1) omp_set_num_threads(1);
    const Product& product = g.m == rows_ ? most_rows_ : last_rows_;
    thread_local std::vector<char> scratchpad;
    if (scratchpad.size() < product.scratchpad.get_size()) scratchpad.resize(product.scratchpad.get_size());
    dnnl::stream stream(Engine());
    product.primitive.execute(stream, {{DNNL_ARG_SRC, memory(product.a, Engine(), const_cast<void*>(g.a))},
                                       {DNNL_ARG_WEIGHTS, packed_},
                                       {DNNL_ARG_DST, memory(product.c, Engine(), g.c)},
                                       {DNNL_ARG_SCRATCHPAD, memory(product.scratchpad, Engine(), scratchpad.data())}});
    stream.wait();
  }

 private:
  struct Product {
    memory::desc a, c, scratchpad;
    dnnl::matmul primitive;
  };

  static memory::data_type LibraryType(DataType type) {
    return type == DT_BFLOAT16 ? memory::data_type::bf16 : memory::data_type::f32;
  }
  memory::desc Rows(int64_t rows, int64_t columns) const {
    return memory::desc({rows, columns}, type_, memory::dims{columns, 1});
  }
  dnnl::matmul::primitive_desc Describe(int64_t m, const memory::desc& weights) const {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return {dnnl::matmul::desc(Rows(m, k_), weights, Rows(m, n_)), attr, Engine()};
  }

  // Clears `is_blocked` unless the library's kernel reads blocks of the operand.
  Product MakeProduct(int64_t rows, bool* is_blocked) const {
    const dnnl::matmul::primitive_desc made = Describe(rows, order_);
    *is_blocked = *is_blocked && absl::StartsWith(made.impl_info_str(), kBlockedKernels);
    return {made.src_desc(), made.dst_desc(), made.scratchpad_desc(), dnnl::matmul(made)};
  }

  const Tensor b_;
  const memory::data_type type_;
  const int64_t m_, n_, k_, rows_;
  bool is_blocked_ = true;
  memory::desc order_;
  memory packed_;
  Product most_rows_, last_rows_;
};

// A node's operand in one step. An outer loop may bring another.
class Holder : public Resource {
 public:
  std::string DebugString() const override { return "operand of a loop"; }

  std::shared_ptr<const Packed> Get(const Tensor& b, const GemmArgs& g, int64_t rows) {
    MutexLock lock(mu_);
    if (packed_ == nullptr || !packed_->IsOf(b, g, rows)) packed_ = std::make_shared<const Packed>(b, g, rows);
    return packed_;
  }

 private:
  Mutex mu_;
  std::shared_ptr<const Packed> packed_ GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::shared_ptr<const LoopOperand>> LoopOperand::Find(OpKernelContext& ctx, const void* node,
                                                                     const Tensor& b, const GemmArgs& g, int64_t rows) {
  const auto make = []() -> absl::StatusOr<std::shared_ptr<Holder>> { return std::make_shared<Holder>(); };
  const std::string name = absl::StrCat("_loop_operand/", absl::Hex(reinterpret_cast<uintptr_t>(node)));
  ASSIGN_OR_RETURN(const std::shared_ptr<Holder> holder,
                   ctx.resources()->LookupOrCreate<Holder>(ctx.step().step_container->name(), name, make));
  try {
    std::shared_ptr<const Packed> packed = holder->Get(b, g, rows);
    if (!packed->is_blocked()) packed = nullptr;
    return packed;
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace weir
