#include "worker/commit/own_transfers.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

class OwnTransfers : public Rendezvous {
 public:
  OwnTransfers(absl::string_view task, std::shared_ptr<Rendezvous> others)
      : devices_(absl::StrCat(task, "/device:")), others_(std::move(others)) {}

  absl::Status Send(absl::string_view key, Tensor tensor, bool is_dead) override {
    return Of(key).Send(key, std::move(tensor), is_dead);
  }
  void RecvAsync(absl::string_view key, const Args& args, DoneCallback done) override {
    Of(key).RecvAsync(key, args, std::move(done));
  }
  void StartAbort(const absl::Status& status) override {
    own_->StartAbort(status);
    others_->StartAbort(status);
  }

 private:
  // "source;incarnation;destination;…". A key in another form is left to the others.
  Rendezvous& Of(absl::string_view key) const {
    const size_t incarnation = key.find(';') + 1;
    const size_t destination = key.find(';', incarnation) + 1;
    const bool is_own = absl::StartsWith(key, devices_) && absl::StartsWith(key.substr(destination), devices_);
    return is_own ? *own_ : *others_;
  }

  const std::string devices_;  // what their names begin with
  const std::shared_ptr<Rendezvous> own_ = NewLocalRendezvous();
  const std::shared_ptr<Rendezvous> others_;
};

}  // namespace

std::shared_ptr<Rendezvous> NewOwnTransfers(absl::string_view task, std::shared_ptr<Rendezvous> others) {
  return std::make_shared<OwnTransfers>(task, std::move(others));
}

}  // namespace weir
