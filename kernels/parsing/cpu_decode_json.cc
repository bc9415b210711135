#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/example/example.pb.h"

#include "kernels/parsing/family.h"

namespace weir {
namespace {

constexpr char kTypePrefix[] = "type.googleapis.com";

// Examples in protobuf's JSON form as serialised ones, written as the JSON is read: features keep its order.
class DecodeJsonExampleKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const std::string type = absl::StrCat(kTypePrefix, "/", tensorflow::Example::descriptor()->full_name());
    const Tensor in = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, in.shape()));
    for (int64_t i = 0; i < in.NumElements(); ++i) {
      std::string example;
      const auto status =
          google::protobuf::util::JsonToBinaryString(resolver_.get(), type, in.data<tstring>()[i], &example);
      if (!status.ok()) {
        return errors::InvalidArgument("Error while parsing JSON: ",
                                       absl::string_view(status.message().data(), status.message().size()));
      }
      output->data<tstring>()[i] = example;
    }
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<google::protobuf::util::TypeResolver> resolver_{
      google::protobuf::util::NewTypeResolverForDescriptorPool(kTypePrefix,
                                                               tensorflow::Example::descriptor()->file()->pool())};
};

}  // namespace

absl::Status RegisterDecodeJsonKernels(KernelRegistry& kernels) {
  return kernels.Register<DecodeJsonExampleKernel>(Kernel("DecodeJSONExample").Cpu());
}

}  // namespace weir
