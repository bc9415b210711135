// Cancels a gRPC call.
#pragma once

#include <memory>

#include <grpcpp/client_context.h>

#include "core/threads/cancellation.h"

namespace weir {

// Cancels a call when its caller's cancellation fires.
class GrpcCancelHook {
 public:
  // Returns false if it has fired already: the call must not start. The context is shared because a cancellation may
  // run while the call completes.
  bool Attach(CancellationManager* manager, const std::shared_ptr<grpc::ClientContext>& context) {
    if (manager == nullptr) return true;
    token_ = manager->Register([context] { context->TryCancel(); });
    if (token_ == CancellationManager::kInvalidToken) return false;
    manager_ = manager;
    return true;
  }
  void Detach() {
    if (manager_ != nullptr) manager_->TryDeregister(token_);
    manager_ = nullptr;
  }

 private:
  CancellationManager* manager_ = nullptr;
  CancellationManager::Token token_ = CancellationManager::kInvalidToken;
};

}  // namespace weir
