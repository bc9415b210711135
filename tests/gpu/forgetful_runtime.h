// A GPU whose streams do not wait for each other.
#pragma once

#include <memory>
#include <utility>

#include "tests/gpu/plain_runtime.h"

namespace weir {

class ForgetfulStream : public PlainStream {
 public:
  using PlainStream::PlainStream;
  absl::Status Wait(const GpuEvent&) override { return absl::OkStatus(); }
};

class ForgetfulRuntime : public PlainRuntime {
 public:
  using PlainRuntime::PlainRuntime;

 protected:
  std::unique_ptr<GpuStream> Wrap(std::unique_ptr<GpuStream> stream) override {
    return std::make_unique<ForgetfulStream>(std::move(stream), this);
  }
};

}  // namespace weir
