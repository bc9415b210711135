#include "client/strategy/mirrored_strategy.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "client/strategy/collective_reduction.h"
#include "client/strategy/device_checks.h"
#include "client/strategy/replicated_strategy.h"

namespace weir {
namespace {

constexpr char kOneDeviceName[] = "OneDeviceStrategy";
constexpr char kMirroredName[] = "MirroredStrategy";
constexpr int kFirstInstanceKey = 1;

class Mirrored : public ReplicatedStrategy {
 public:
  Mirrored(const weir::Scope& root, const std::string& name, const std::vector<std::string>& devices)
      : ReplicatedStrategy(
            root, Layout{.name = name, .devices = devices, .num_replicas = static_cast<int>(devices.size())}) {}
};

class MirroredByCollectives : public Mirrored {
 public:
  MirroredByCollectives(const weir::Scope& root, const MirroredOptions& options)
      : Mirrored(root, kMirroredName, options.devices),
        collectives_(static_cast<int>(options.devices.size()), options.group_key, kFirstInstanceKey,
                     options.communication) {}

 protected:
  std::vector<std::vector<Gradient>> AllReduceGradients(ReduceOp op,
                                                        const std::vector<VariableGradients>& gradients) override {
    return AllReduceGradientsBy(collectives_, op, gradients);
  }

 private:
  CollectiveReduction collectives_;
};

bool AllOnGpus(const std::vector<std::string>& devices) {
  return std::all_of(devices.begin(), devices.end(),
                     [](const std::string& device) { return absl::StrContains(device, "GPU"); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Strategy>> OneDeviceStrategy(const Scope& root, const std::string& device) {
  RETURN_IF_ERROR(CheckDevices(kOneDeviceName, {device}));
  return std::make_unique<Mirrored>(root, kOneDeviceName, std::vector<std::string>{device});
}

absl::StatusOr<std::unique_ptr<Strategy>> MirroredStrategy(const Scope& root, MirroredOptions options) {
  RETURN_IF_ERROR(CheckOneTask(kMirroredName, options.devices));
  RETURN_IF_ERROR(CheckCommunication(kMirroredName, options.communication));
  const bool collective = options.cross_device == CrossDevice::kCollectiveOps ||
                          (options.cross_device == CrossDevice::kAuto && AllOnGpus(options.devices));
  if (collective && options.devices.size() > 1) {
    return std::make_unique<MirroredByCollectives>(root, options);
  }
  return std::make_unique<Mirrored>(root, kMirroredName, options.devices);
}

}  // namespace weir
