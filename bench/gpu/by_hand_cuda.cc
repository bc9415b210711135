// weir_cuda_by_hand [matmul] [copy_to_device] [copy_to_host]: runs the work of some weir_gpu_bench rows with direct
// calls of cuBLASLt and the CUDA runtime. Prints one line of JSON per figure; exits with 3 without a GPU.
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace {

// Exits on an error.
void Check(int status, const char* what) {
  if (status == 0) return;
  std::printf("{\"error\": \"%s gave status %d\"}\n", what, status);
  std::exit(1);
}

void Print(const char* row, double value, const char* unit) {
  std::printf("{\"row\": \"%s\", \"form\": \"by hand\", \"value\": %.6g, \"unit\": \"%s\", \"peak_bytes\": 0}\n", row,
              value, unit);
  std::fflush(stdout);
}

// The average time in seconds of one run on the stream, over `repeats` runs after two warm-up runs.
double Seconds(cudaStream_t stream, int repeats, const std::function<void()>& enqueue) {
  cudaEvent_t start, end;
  Check(cudaEventCreate(&start), "cudaEventCreate");
  Check(cudaEventCreate(&end), "cudaEventCreate");
  for (int i = 0; i < 2; ++i) enqueue();
  Check(cudaEventRecord(start, stream), "cudaEventRecord");
  for (int i = 0; i < repeats; ++i) enqueue();
  Check(cudaEventRecord(end, stream), "cudaEventRecord");
  Check(cudaEventSynchronize(end), "cudaEventSynchronize");
  float milliseconds = 0;
  Check(cudaEventElapsedTime(&milliseconds, start, end), "cudaEventElapsedTime");
  return milliseconds / 1e3 / repeats;
}

void* OnDevice(size_t bytes) {
  void* data = nullptr;
  Check(cudaMalloc(&data, bytes), "cudaMalloc");
  Check(cudaMemset(data, 0, bytes), "cudaMemset");
  return data;
}

// Uses the fastest of the algorithms that the library proposes.
void Product(cudaStream_t stream) {
  constexpr int64_t kSize = 8192;
  constexpr size_t kWorkspace = size_t{64} << 20;
  constexpr int kProposals = 16;
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t matrix;
  cublasLtMatmulPreference_t preference;
  Check(cublasLtCreate(&handle), "cublasLtCreate");
  Check(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
  Check(cublasLtMatrixLayoutCreate(&matrix, CUDA_R_16BF, kSize, kSize, kSize), "cublasLtMatrixLayoutCreate");
  Check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  Check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                                             sizeof(kWorkspace)),
        "cublasLtMatmulPreferenceSetAttribute");
  cublasLtMatmulHeuristicResult_t proposals[kProposals];
  int found = 0;
  Check(cublasLtMatmulAlgoGetHeuristic(handle, product, matrix, matrix, matrix, matrix, preference, kProposals,
                                       proposals, &found),
        "cublasLtMatmulAlgoGetHeuristic");
  const size_t bytes = 2 * kSize * kSize;
  void *const a = OnDevice(bytes), *const b = OnDevice(bytes), *const c = OnDevice(bytes),
              *const workspace = OnDevice(kWorkspace);
  const float one = 1, zero = 0;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < found; ++i) {
    const auto multiply = [&] {
      Check(cublasLtMatmul(handle, product, &one, a, matrix, b, matrix, &zero, c, matrix, c, matrix, &proposals[i].algo,
                           workspace, kWorkspace, stream),
            "cublasLtMatmul");
    };
    best = std::min(best, Seconds(stream, 20, multiply));
  }
  Print("matmul", 2.0 * kSize * kSize * kSize / best / 1e12, "TFLOP/s");
}

void Copy(cudaStream_t stream, const char* row, cudaMemcpyKind kind) {
  constexpr size_t kBytes = size_t{256} << 20;
  void* host = nullptr;
  Check(cudaMallocHost(&host, kBytes), "cudaMallocHost");
  std::memset(host, 0, kBytes);
  void* const device = OnDevice(kBytes);
  const bool to_host = kind == cudaMemcpyDeviceToHost;
  const auto copy = [&] {
    Check(cudaMemcpyAsync(to_host ? host : device, to_host ? device : host, kBytes, kind, stream), "cudaMemcpyAsync");
  };
  Print(row, static_cast<double>(kBytes) / Seconds(stream, 20, copy) / 1e9, "GB/s");
  Check(cudaFree(device), "cudaFree");
  Check(cudaFreeHost(host), "cudaFreeHost");
}

}  // namespace

int main(int argc, char** argv) {
  int gpus = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&gpus); error != cudaSuccess || gpus == 0) {
    std::printf("no GPU: %s\n", error == cudaSuccess ? "there is none" : cudaGetErrorString(error));
    return 3;
  }
  std::vector<std::string> rows(argv + 1, argv + argc);
  if (rows.empty()) rows = {"matmul", "copy_to_device", "copy_to_host"};
  cudaStream_t stream;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  for (const std::string& row : rows) {
    if (row == "matmul") {
      Product(stream);
    } else if (row == "copy_to_device") {
      Copy(stream, "copy_to_device", cudaMemcpyHostToDevice);
    } else if (row == "copy_to_host") {
      Copy(stream, "copy_to_host", cudaMemcpyDeviceToHost);
    } else {
      std::fprintf(stderr, "weir_cuda_by_hand: unknown row %s\n", row.c_str());
      return 2;
    }
  }
  return 0;
}
