#include "distribute/coordination/etcd/etcd_store.h"

#include "distribute/coordination/etcd/etcd_process_testing.h"
#include "distribute/coordination/store_conformance_testing.h"

namespace weir::coordination {
namespace {

class Etcd : public StoreUnderTest {
 public:
  explicit Etcd(std::unique_ptr<EtcdProcesses> processes) : processes_(std::move(processes)) {}
  std::shared_ptr<Store> NewClient() override { return processes_->NewClient(); }
  void Advance(absl::Duration) override {}

 private:
  const std::unique_ptr<EtcdProcesses> processes_;
};

absl::StatusOr<std::unique_ptr<StoreUnderTest>> StartEtcd() {
  ASSIGN_OR_RETURN(std::unique_ptr<EtcdProcesses> processes, EtcdProcesses::Start());
  return std::make_unique<Etcd>(std::move(processes));
}

absl::StatusOr<std::unique_ptr<StoreUnderTest>> StartEtcdWithTls() {
  ASSIGN_OR_RETURN(std::unique_ptr<EtcdProcesses> processes, EtcdProcesses::Start(1, /*tls=*/true));
  return std::make_unique<Etcd>(std::move(processes));
}

INSTANTIATE_TEST_SUITE_P(Etcd, StoreConformance,
                         testing::Values(StoreKind{"Store", StartEtcd}, StoreKind{"StoreWithTls", StartEtcdWithTls}),
                         StoreKindName);

}  // namespace
}  // namespace weir::coordination
