// Products of bfloat16 by oneDNN, on CPUs that multiply it as it is.
#include <omp.h>

#include <array>
#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "core/tensor/tensor.h"
#include "kernels/linalg/matmul/gemm.h"

namespace weir {
namespace {

using dnnl::memory;

// To make a primitive takes as long as a product of some size; each shape's is kept, until there are many.
constexpr size_t kMaxRemembered = 256;
// Below this many multiplications the library's set-up takes longer than the product in float.
constexpr int64_t kSmall = 1 << 15;

struct Primitive {
  memory::desc a, b, c, scratchpad;
  dnnl::matmul primitive;
};

class Products {
 public:
  // False: not on this CPU, or not these.
  bool Run(const GemmArgs& g) {
    if (!HasFastBfloat16() || g.m * g.n * g.k < kSmall) return false;
    // The library would start threads of its own beside the work queue's.
    if (omp_get_max_threads() != 1) omp_set_num_threads(1);
    try {
      const std::shared_ptr<const Primitive> p = FindOrMake(g);
      thread_local std::vector<char> scratchpad;
      if (scratchpad.size() < p->scratchpad.get_size()) scratchpad.resize(p->scratchpad.get_size());
      dnnl::stream stream(engine_);
      std::unordered_map<int, memory> args = {{DNNL_ARG_SRC, memory(p->a, engine_, const_cast<void*>(g.a))},
                                              {DNNL_ARG_WEIGHTS, memory(p->b, engine_, const_cast<void*>(g.b))},
                                              {DNNL_ARG_DST, memory(p->c, engine_, g.c)},
                                              {DNNL_ARG_SCRATCHPAD, memory(p->scratchpad, engine_, scratchpad.data())}};
      p->primitive.execute(stream, args);
      stream.wait();
      return true;
    } catch (const dnnl::error&) {
      return false;  // the library does not know the problem: it is computed in float
    }
  }

 private:
  using Key = std::array<int64_t, 8>;

  std::shared_ptr<const Primitive> FindOrMake(const GemmArgs& g) {
    const Key key = {g.m, g.n, g.k, g.lda, g.ldb, g.ldc, g.transpose_a, g.transpose_b};
    {
      MutexLock lock(mu_);
      if (const auto found = remembered_.find(key); found != remembered_.end()) return found->second;
    }
    std::shared_ptr<const Primitive> made = Make(g);
    MutexLock lock(mu_);
    if (remembered_.size() >= kMaxRemembered) remembered_.clear();
    return remembered_.emplace(key, std::move(made)).first->second;
  }

  std::shared_ptr<const Primitive> Make(const GemmArgs& g) const {
    const auto desc = [](int64_t rows, int64_t columns, int64_t stride, bool transposed) {
      return memory::desc({rows, columns}, memory::data_type::bf16,
                          transposed ? memory::dims{1, stride} : memory::dims{stride, 1});
    };
    auto p = std::make_shared<Primitive>();
    p->a = desc(g.m, g.k, g.lda, g.transpose_a);
    p->b = desc(g.k, g.n, g.ldb, g.transpose_b);
    p->c = desc(g.m, g.n, g.ldc, false);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(p->a, p->b, p->c), attr, engine_);
    p->scratchpad = pd.scratchpad_desc();
    p->primitive = dnnl::matmul(pd);
    return p;
  }

  const dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  Mutex mu_;
  absl::flat_hash_map<Key, std::shared_ptr<const Primitive>> remembered_ GUARDED_BY(mu_);
};

}  // namespace

bool HasFastBfloat16() {
  static const bool is_fast = [] {
    const auto has = [](dnnl::cpu_isa wanted) {
      const auto bits = static_cast<unsigned>(wanted);
      return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
    };
    return has(dnnl::cpu_isa::avx512_core_amx) || (has(dnnl::cpu_isa::avx512_core_bf16) && __builtin_cpu_is("amd"));
  }();
  return is_fast;
}

bool MultiplyBfloat16(const GemmArgs& args) {
  static auto* const products = new Products;  // threads may multiply until the process ends
  return products->Run(args);
}

}  // namespace weir
