// Conformance suite of FrameLink. A transport's test instantiates it with a factory.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/mutex.h"
#include "distribute/transport/frames/frame_link.h"
#include "weir/transport.pb.h"

namespace weir {

// Keeps received frames, or releases them at once.
class FrameRecorder : public FrameLink::Receiver {
 public:
  explicit FrameRecorder(bool keeps = false) : keeps_(keeps) {}

  void OnFrame(const FrameHead& head, ReceivedBytes bytes) override;
  void OnBroken(const absl::Status& status) override { broken_.set_value(status); }

  void AwaitFrames(size_t count);
  std::vector<FrameHead> heads() const;
  std::vector<std::string> texts() const;
  void LetGo();
  // Once.
  absl::Status AwaitBroken() { return broken_.get_future().get(); }

 private:
  mutable Mutex mu_;
  std::condition_variable changed_;
  bool keeps_ GUARDED_BY(mu_);
  std::vector<FrameHead> heads_ GUARDED_BY(mu_);
  std::vector<std::string> texts_ GUARDED_BY(mu_);
  std::vector<ReceivedBytes> kept_ GUARDED_BY(mu_);
  std::promise<absl::Status> broken_;
};

// Both ends of a link in one process: "/job:a" requests, "/job:b" answers.
class FrameLinkPair {
 public:
  virtual ~FrameLinkPair() = default;  // breaks the link
  virtual FrameLink& asker() = 0;
  virtual FrameLink& answerer() = 0;
  virtual void DescribeAsker(ListLinksResponse::Link* description) = 0;
};

struct FrameLinkBackend {
  std::string name;
  std::function<std::unique_ptr<FrameLinkPair>(std::shared_ptr<FrameLink::Receiver> asker,
                                               std::shared_ptr<FrameLink::Receiver> answerer)>
      connect;
};

class FrameLinkConformance : public testing::TestWithParam<FrameLinkBackend> {};

inline std::string BackendName(const testing::TestParamInfo<FrameLinkBackend>& info) { return info.param.name; }

}  // namespace weir
