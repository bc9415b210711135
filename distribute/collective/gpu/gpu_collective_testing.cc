#include "distribute/collective/gpu/gpu_collective_testing.h"

#include <condition_variable>
#include <cstring>
#include <optional>

#include "core/testing.h"
#include "distribute/collective/gpu/gpu_collective.h"
#include "distribute/collective/gpu/gpu_transfers.h"
#include "distribute/collective/in_process_communicator.h"

namespace weir {
namespace {

// The elements of a call at `data`; an empty tensor if there are none, or if a GPU cannot hold their type.
absl::StatusOr<Tensor> OnGpu(GpuDevice& gpu, DataType dtype, const void* data, int64_t count) {
  if (data == nullptr || count <= 0 || !IsPlainType(dtype)) return Tensor();
  Tensor host(dtype, TensorShape({count}));
  std::memcpy(host.raw_data(), data, host.TotalBytes());
  return gpu.ToDevice(host);
}

int64_t OutputCount(const CollectiveCall& call, int size) {
  return call.kind == CollectiveKind::kAllGather ? call.count * size : call.count;
}

}  // namespace

GpuTestGroup::GpuTestGroup(std::vector<std::shared_ptr<GpuRuntime>> runtimes,
                           std::shared_ptr<GpuCollectiveLibrary> library)
    : work_queue_(WorkQueue::Create({.compute_threads = 1})) {
  communicators_ = InProcessCommunicator::Group(Topology::OneHost(static_cast<int>(runtimes.size())));
  for (size_t rank = 0; rank < runtimes.size(); ++rank) {
    auto device = GpuDevice::Create(runtimes[rank], work_queue_.get(),
                                    {.task = *DeviceName::Parse("/job:worker/replica:0/task:0"),
                                     .id = static_cast<int>(rank),
                                     .config = {.memory_limit = size_t{256} << 20, .allow_growth = true},
                                     .completions = {.patience = absl::Seconds(60)}});
    EXPECT_THAT(device, IsOk());
    devices_.push_back(*std::move(device));
    auto member = GpuGroupMember::Create({.device = devices_.back().get(),
                                          .library = library,
                                          .rank = static_cast<int>(rank),
                                          .size = static_cast<int>(runtimes.size()),
                                          .reason_limit = absl::Seconds(20)});
    EXPECT_THAT(member, IsOk());
    members_.push_back(*std::move(member));
  }
}

GpuTestGroup::~GpuTestGroup() { members_.clear(); }

void GpuTestGroup::Recreate(int rank) {
  GpuGroupMember::Options options = members_[rank]->options();
  options.broken = members_[rank]->generation();
  members_[rank].reset();
  auto member = GpuGroupMember::Create(std::move(options));
  ASSERT_THAT(member, IsOk());
  members_[rank] = *std::move(member);
}

void GpuTestGroup::Start(int rank, const CollectiveCall& call, Collective::DoneCallback done) {
  GpuDevice& gpu = *devices_[rank];
  const bool in_place = call.input == call.output && !NeedsOwnInput(call.kind);
  const int64_t output_count = OutputCount(call, size());
  auto input = OnGpu(gpu, call.dtype, call.input, call.count);
  auto output = in_place ? input : OnGpu(gpu, call.dtype, call.output, output_count);
  if (!input.ok() || !output.ok()) return done(input.ok() ? output.status() : input.status());
  CollectiveCall on_gpu = call;
  on_gpu.input = input->raw_data();
  on_gpu.output = output->raw_data();
  on_gpu.owner = std::make_shared<const std::pair<Tensor, Tensor>>(*input, *output);
  GpuCollective(communicators_[rank], members_[rank], {})
      .RunAsync(on_gpu, [&gpu, to = call.output, output = *output, done = std::move(done)](absl::Status status) {
        if (!status.ok() || !output.IsInitialized() || to == nullptr) return done(std::move(status));
        gpu.ToHost(output, [to, done](absl::StatusOr<Tensor> host) {
          if (host.ok()) std::memcpy(to, host->raw_data(), host->TotalBytes());
          done(host.status());
        });
      });
}

std::vector<absl::Status> GpuTestGroup::Run(const std::vector<CollectiveCall>& calls, const std::vector<bool>& absent) {
  std::vector<absl::Status> results(size());
  Mutex mu;
  std::condition_variable changed;
  int pending = 0;
  for (int rank = 0; rank < size(); ++rank) {
    if (!absent.empty() && absent[rank]) continue;
    {
      MutexLock lock(mu);
      ++pending;
    }
    Start(rank, calls[rank], [&, rank](absl::Status status) {
      MutexLock lock(mu);
      results[rank] = std::move(status);
      if (--pending == 0) changed.notify_all();
    });
  }
  MutexLock lock(mu);
  while (pending > 0) lock.Wait(changed);
  return results;
}

}  // namespace weir
