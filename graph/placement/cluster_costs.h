// The costs of computation and transfers on a cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/device/device_name.h"
#include "core/status.h"

namespace weir {

// A kernel of w floating-point operations that moves b bytes takes max(w / flops_per_second, b / bytes_per_second) +
// seconds_per_kernel.
struct DeviceCosts {
  DeviceName name;  // full
  double flops_per_second = 0;
  double bytes_per_second = 0;
  double seconds_per_kernel = 0;
  int64_t memory_bytes = 0;  // 0: no limit is known
  int kernels_at_once = 1;
  bool avoid = false;  // takes only what no other device can
};

// A tensor of n bytes takes latency + n * seconds_per_byte.
struct TransferCost {
  double latency = 0;  // seconds
  double seconds_per_byte = 0;
};

// Devices, and a link for each ordered pair of them.
class ClusterCosts {
 public:
  explicit ClusterCosts(std::vector<DeviceCosts> devices);

  int num_devices() const { return static_cast<int>(devices_.size()); }
  const DeviceCosts& device(int i) const { return devices_[i]; }
  const std::vector<DeviceCosts>& devices() const { return devices_; }
  DeviceCosts* mutable_device(int i) { return &devices_[i]; }
  // -1 if there is no such device.
  int Find(const DeviceName& name) const;
  const TransferCost& link(int from, int to) const { return links_[from * num_devices() + to]; }
  void set_link(int from, int to, TransferCost cost) { links_[from * num_devices() + to] = cost; }
  void set_links(TransferCost cost);  // of all pairs of different devices
  // The mean over all pairs of different devices.
  TransferCost MeanLink() const;
  std::vector<DeviceName> names() const;

 private:
  std::vector<DeviceCosts> devices_;
  std::vector<TransferCost> links_;  // by source and destination; from a device to itself a transfer is free
};

// Parses devices, separated by ';' or newlines; text after '#' is ignored:
//
//   /job:worker/task:0/device:CPU:0=gflops:200,gbs:20,memory:4g,kernels:2,overhead_us:5
//
// gflops and gbs are required, in 1e9 operations and bytes per second. memory: bytes, or with the suffix k, m, g or t
// (powers of 1024). Others are DeviceCosts' defaults; overhead_us is 2. InvalidArgument quotes what is wrong.
absl::StatusOr<std::vector<DeviceCosts>> ParseDeviceCosts(absl::string_view text);

// "latency_us=150,gbs=3".
absl::StatusOr<TransferCost> ParseTransferCost(absl::string_view text);

}  // namespace weir
