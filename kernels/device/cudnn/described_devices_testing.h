// Devices that are only described, for tests of cuDNN's plans.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"

namespace weir {

// What cuDNN 9 writes of a device. The figures are NVIDIA's of such a device, as far as plans depend on them.
struct DescribedDevice {
  const char* name;
  int version, multiprocessors, shared_memory, threads;
};
constexpr DescribedDevice kDescribedDevices[] = {{"Tesla T4", 750, 40, 65536, 1024},
                                                 {"NVIDIA A100-SXM4-80GB", 800, 108, 166912, 2048},
                                                 {"NVIDIA H100 80GB HBM3", 900, 132, 232448, 2048},
                                                 {"NVIDIA B200", 1000, 148, 232448, 2048}};
constexpr DescribedDevice kT4 = kDescribedDevices[0], kH100 = kDescribedDevices[2];

inline std::string Json(const DescribedDevice& device) {
  return absl::StrCat(
      R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, )",
      R"("multiProcessorCount": )", device.multiprocessors,
      R"(, "warpSize": 32, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": )", device.shared_memory,
      R"(, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 16, )",
      R"("maxThreadsPerBlock": 1024, "maxThreadsPerSM": )", device.threads,
      R"(, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 16000000000, )",
      R"("smClockRateKHz": 1500000, "memClockRateKHz": 2600000, "l2CacheSize": 41943040, "cudaDeviceId": 0, )",
      R"("deviceVer": )", device.version, R"(, "driverVer": 13000, "deviceName": ")", device.name, R"("})");
}

}  // namespace weir
