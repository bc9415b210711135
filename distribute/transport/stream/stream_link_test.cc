// Links over gRPC streams, and over a stream that the test controls.
#include "distribute/transport/stream/stream_link.h"

#include <atomic>
#include <cstring>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/testing.h"
#include "distribute/transport/frames/call_requests.h"
#include "distribute/transport/frames/frame_limits.h"
#include "distribute/transport/frames/frame_link_conformance_testing.h"
#include "distribute/transport/frames/link_methods.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/polling_threads.h"
#include "distribute/transport/stream/stream_opener.h"
#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

grpc::ByteBuffer Buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string Text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (buffer.Length() > 0) buffer.Dump(&slices);
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

grpc::ByteBuffer Greeting(uint64_t window_bytes) {
  OpenStreamRequest request;
  request.set_task("/job:a");
  request.set_window_bytes(window_bytes);
  return MessageToBuffer(request).value();
}

// The called end's response to a greeting.
auto Accepting(std::shared_ptr<FrameLink::Receiver> receiver) {
  return [receiver = std::move(receiver)](const std::shared_ptr<FrameLink>&,
                                          const grpc::ByteBuffer& message) -> absl::StatusOr<StreamLink::Peer> {
    OpenStreamRequest request;
    RETURN_IF_ERROR(MessageFromBuffer(message, &request));
    OpenStreamResponse response;
    response.set_window_bytes(StreamLink::kWindowBytes);
    return StreamLink::Peer{.task = request.task(),
                            .use = request.use(),
                            .window_bytes = request.window_bytes(),
                            .receiver = receiver,
                            .reply = MessageToBuffer(response).value()};
  };
}

// A server, a channel to it, and a link through them.
class StreamPair : public FrameLinkPair {
 public:
  StreamPair(std::shared_ptr<FrameLink::Receiver> asker, std::shared_ptr<FrameLink::Receiver> answerer) {
    GrpcServer::Options server;
    server.streams.push_back({"/weir.TransportService/OpenStream", [this, answerer](std::shared_ptr<MessageStream> s) {
                                auto link = std::make_shared<StreamLink>(StreamLink::Options{
                                    .stream = std::move(s), .links = &answerer_links_, .greet = Accepting(answerer)});
                                link->Start();
                                answerer_.set_value(std::move(link));
                              }});
    server_ = GrpcServer::Start(std::move(server)).value();
    channel_ = std::make_unique<GrpcChannel>(
        GrpcChannelOptions{.address = server_->address(), .task = "/job:b", .local_task = "/job:a"}, &queue_);
    opener_ = std::make_unique<StreamOpener>(channel_.get(), &asker_links_);
    std::promise<std::shared_ptr<FrameLink>> opened;
    opener_->Open(
        LinkUse::BUFFERS, [asker](const auto&) { return asker; },
        [&opened](const auto& link) { opened.set_value(link.value()); });
    asking_ = opened.get_future().get();
    answering_ = answerer_.get_future().get();
  }
  ~StreamPair() override {
    asker_links_.Stop();
    answerer_links_.Stop();
    server_->Shutdown(absl::ZeroDuration());
    queue_.Shutdown();
    threads_.reset();
  }

  FrameLink& asker() override { return *asking_; }
  FrameLink& answerer() override { return *answering_; }
  void DescribeAsker(ListLinksResponse::Link* description) override {
    ListLinksResponse links;
    asker_links_.Describe(&links);
    *description = links.link(0);
  }

 private:
  StreamLinks asker_links_, answerer_links_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<PollingThreads> threads_ = std::make_unique<PollingThreads>(&queue_, PollingThreads::Options());
  std::promise<std::shared_ptr<FrameLink>> answerer_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<GrpcChannel> channel_;
  std::unique_ptr<StreamOpener> opener_;
  std::shared_ptr<FrameLink> asking_, answering_;
};

INSTANTIATE_TEST_SUITE_P(Streams, FrameLinkConformance,
                         testing::Values(FrameLinkBackend{
                             "GrpcStream",
                             [](auto asker, auto answerer) { return std::make_unique<StreamPair>(asker, answerer); }}),
                         BackendName);

// Writes and reads nothing; ends when cancelled.
class HeldStream : public MessageStream {
 public:
  void Start(std::shared_ptr<Listener> listener) override {
    listener_ = std::move(listener);
    listener_->OnReady();
  }
  void Read() override { ++reads; }
  void Write(const grpc::ByteBuffer& message) override {
    EXPECT_FALSE(is_writing) << "two writes at once";
    is_writing = true;
    written.push_back(Text(message));
  }
  uint64_t BytesFromPeer() const override { return 0; }
  void Cancel() override { End(absl::CancelledError("cancelled")); }
  void Reject(const absl::Status& status) override {
    rejection = status;
    End(status);
  }

  // Completes the pending write.
  void Deliver() {
    ASSERT_TRUE(is_writing);
    is_writing = false;
    listener_->OnWritten();
  }
  void Receive(const std::string& message) {
    const auto listener = listener_;
    if (listener != nullptr) listener->OnMessage(Buffer(message));
  }
  void End(const absl::Status& status) {
    if (auto listener = std::exchange(listener_, nullptr)) listener->OnEnd(status);
  }

  std::vector<std::string> written;
  bool is_writing = false;
  int reads = 0;
  std::optional<absl::Status> rejection;

 private:
  std::shared_ptr<Listener> listener_;
};

std::string Frame(uint32_t kind, uint32_t channel, const std::string& bytes, std::optional<uint64_t> size = {}) {
  const StreamFrameHead head{kind, channel, size.value_or(bytes.size())};
  return std::string(reinterpret_cast<const char*>(&head), sizeof(head)) + bytes;
}

std::string Frame(FrameKind kind, uint32_t channel, const std::string& bytes) {
  return Frame(static_cast<uint32_t>(kind), channel, bytes);
}

// The end that was asked.
class StreamLinkTest : public ::testing::Test {
 protected:
  explicit StreamLinkTest(bool keeps = false) : recorder_(std::make_shared<FrameRecorder>(keeps)) { link_->Start(); }
  ~StreamLinkTest() override { links_.Stop(); }

  void Open(uint64_t window_bytes = StreamLink::kWindowBytes) {
    stream_->Receive(Text(Greeting(window_bytes)));
    ASSERT_EQ(stream_->written.size(), 1);  // the reply
    stream_->Deliver();
    stream_->written.clear();
  }
  absl::Status StatusAfter(const std::string& message) {
    stream_->Receive(message);
    return recorder_->AwaitBroken();
  }
  // Heads of the frames of a message, and what follows them.
  static std::vector<StreamFrameHead> Heads(const std::string& message) {
    std::vector<StreamFrameHead> heads;
    EXPECT_THAT(ReadStreamMessage(Buffer(message), 1 << 30,
                                  [&heads](const StreamFrameHead& head, const auto&) {
                                    heads.push_back(head);
                                    return true;
                                  }),
                IsOk());
    return heads;
  }

  StreamLinks links_{/*ticks=*/false};
  std::shared_ptr<FrameRecorder> recorder_;
  std::shared_ptr<HeldStream> stream_ = std::make_shared<HeldStream>();
  std::shared_ptr<StreamLink> link_ = std::make_shared<StreamLink>(
      StreamLink::Options{.stream = stream_, .links = &links_, .greet = [this](const auto& link, const auto& message) {
                            return Accepting(recorder_)(link, message);
                          }});
};

class KeepingStreamLinkTest : public StreamLinkTest {
 protected:
  KeepingStreamLinkTest() : StreamLinkTest(/*keeps=*/true) {}
};

TEST_F(StreamLinkTest, WhatWaitsLeavesInOneMessage) {
  Open();
  for (uint32_t i = 0; i < 10; ++i) link_->Send({FrameKind::kBuffer, i}, OwnedBytes("bytes"));
  ASSERT_EQ(stream_->written.size(), 1);
  EXPECT_EQ(Heads(stream_->written[0]).size(), 1);
  stream_->Deliver();
  ASSERT_EQ(stream_->written.size(), 2);
  EXPECT_EQ(Heads(stream_->written[1]).size(), 9);
  stream_->Deliver();
  EXPECT_FALSE(stream_->is_writing);
}

TEST_F(StreamLinkTest, SmallFramesDoNotWaitBehindLargeOnesOfOtherChannels) {
  Open();
  link_->Send({FrameKind::kBuffer, 1}, OwnedBytes("first"));  // is being written
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 4; ++i) link_->Send({FrameKind::kPart, 2}, OwnedBytes(large));
  link_->Send({FrameKind::kAnswer, 2}, OwnedBytes("end"));
  stream_->Deliver();
  link_->Send({FrameKind::kBuffer, 3}, OwnedBytes("small"));
  stream_->Deliver();
  ASSERT_EQ(stream_->written.size(), 3);
  const auto heads = Heads(stream_->written[2]);
  ASSERT_EQ(heads.size(), 2);
  EXPECT_EQ(heads[0].channel, 3);
  EXPECT_EQ(heads[1].channel, 2);
  stream_->Deliver();
  stream_->Deliver();
  stream_->Deliver();
  EXPECT_EQ(Heads(stream_->written.back()).back().size, 3);  // the end, after all parts
}

TEST_F(StreamLinkTest, NothingLeavesWithoutCredit) {
  Open(StreamLink::kMinWindowBytes);
  EXPECT_EQ(link_->max_frame_bytes(), StreamLink::kMinWindowBytes / 4);
  const std::string large(link_->max_frame_bytes(), 'x');
  for (int i = 0; i < 6; ++i) link_->Send({FrameKind::kBuffer, 1}, OwnedBytes(large));
  while (stream_->is_writing) stream_->Deliver();
  uint64_t sent = 0;
  for (const std::string& message : stream_->written) sent += message.size();
  EXPECT_EQ(sent, 3 * (sizeof(StreamFrameHead) + large.size()));
  // Small frames do not use the credit that the large one waits for.
  link_->Send({FrameKind::kBuffer, 2}, OwnedBytes(std::string(60'000, 'y')));
  while (stream_->is_writing) stream_->Deliver();
  stream_->written.clear();
  stream_->Receive(Frame(kCreditFrame, 0, "", CreditFor(large.size())));
  while (stream_->is_writing) stream_->Deliver();
  ASSERT_FALSE(stream_->written.empty());
  EXPECT_EQ(Heads(stream_->written.back()).back().size, large.size());
}

TEST_F(StreamLinkTest, CreditComesBackWithWhatWasLetGoOf) {
  Open();
  for (int i = 0; i < 3; ++i) stream_->Receive(Frame(FrameKind::kRequest, 1, std::string(1 << 20, 'x')));
  ASSERT_EQ(stream_->written.size(), 1);
  const auto heads = Heads(stream_->written[0]);
  ASSERT_EQ(heads.size(), 1);
  EXPECT_EQ(heads[0].kind, kCreditFrame);
  EXPECT_EQ(heads[0].size, 2 * CreditFor(1 << 20));
}

TEST_F(KeepingStreamLinkTest, APeerThatSendsMoreThanItsCreditLosesTheLink) {
  Open();
  const std::string megabyte = Frame(FrameKind::kRequest, 1, std::string(1 << 20, 'x'));
  for (int i = 0; i < 7; ++i) stream_->Receive(megabyte);
  EXPECT_TRUE(stream_->written.empty());  // nothing was released
  EXPECT_THAT(StatusAfter(megabyte), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Task /job:a")));
  recorder_->LetGo();
}

TEST_F(KeepingStreamLinkTest, AFloodOfTinyFramesUsesUpTheCredit) {
  Open();
  std::string flood;
  for (uint64_t i = 0; i <= StreamLink::kWindowBytes / kFrameCost; ++i) flood += Frame(FrameKind::kRequest, 1, "");
  EXPECT_THAT(StatusAfter(flood), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("had credit for")));
  EXPECT_EQ(recorder_->texts().size(), StreamLink::kWindowBytes / kFrameCost);
  recorder_->LetGo();
}

TEST_F(StreamLinkTest, AMessageThatLiesBreaksTheLink) {
  Open();
  EXPECT_THAT(StatusAfter(Frame(FrameKind::kRequest, 1, "good") + Frame(1, 1, "short", 6)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("a frame of 6 bytes where its message has 5 left")));
  EXPECT_EQ(recorder_->texts(), std::vector<std::string>{"good"});
}

TEST_F(StreamLinkTest, AFrameThatIsTooLargeBreaksTheLink) {
  Open();
  EXPECT_THAT(StatusAfter(Frame(1, 1, "", ~uint64_t{0})),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("a frame of 18446744073709551615 bytes")));
}

TEST_F(StreamLinkTest, AMessageThatEndsWithinAHeadBreaksTheLink) {
  Open();
  EXPECT_THAT(StatusAfter(Frame(FrameKind::kRequest, 1, "good") + "tail"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("within the head")));
}

TEST_F(StreamLinkTest, AnEmptyMessageBreaksTheLink) {
  Open();
  EXPECT_THAT(StatusAfter(""), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("empty message")));
}

TEST_F(StreamLinkTest, CreditBeyondTheWindowBreaksTheLink) {
  Open();
  EXPECT_THAT(StatusAfter(Frame(kCreditFrame, 0, "", ~uint64_t{0})),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("credit beyond its window")));
}

TEST_F(StreamLinkTest, UnknownKindsAreLeftToTheReceiver) {
  Open();
  stream_->Receive(Frame(77, 5, "x"));
  ASSERT_EQ(recorder_->heads().size(), 1);
  EXPECT_EQ(recorder_->heads()[0].channel, 5);
}

TEST_F(StreamLinkTest, AGreetingThatCannotBeIsRejected) {
  stream_->Receive(Text(Greeting(StreamLink::kMinWindowBytes - 1)));
  ASSERT_TRUE(stream_->rejection.has_value());
  EXPECT_THAT(*stream_->rejection, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/job:a")));
}

TEST_F(StreamLinkTest, NonsenseForAGreetingIsRejected) {
  stream_->Receive("\xff\xff\xff");
  ASSERT_TRUE(stream_->rejection.has_value());
  EXPECT_THAT(*stream_->rejection, StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(StreamLinkTest, APeerThatIsSilentForLongIsHung) {
  Open();
  int ticks = 0;
  for (; stream_->reads == 2 && ticks < 20; ++ticks) link_->Tick(MonotonicNow());
  stream_->Receive(Frame(kBeatFrame, 0, ""));
  for (int i = 0; i < 28; ++i) link_->Tick(MonotonicNow());
  ListLinksResponse links;
  links_.Describe(&links);
  EXPECT_EQ(links.link_size(), 1);
  for (int i = 0; i < 2; ++i) link_->Tick(MonotonicNow());
  EXPECT_THAT(recorder_->AwaitBroken(), StatusIs(absl::StatusCode::kUnavailable, "Task /job:a does not answer"));
  EXPECT_EQ(Heads(stream_->written[0])[0].kind, kBeatFrame);  // this end has sent a sign of life
}

TEST_F(StreamLinkTest, AStreamOnWhichNobodySaysWhoTheyAreEnds) {
  for (int i = 0; i < 30; ++i) link_->Tick(MonotonicNow());
  ListLinksResponse links;
  links_.Describe(&links);
  EXPECT_EQ(links.link_size(), 0);
  EXPECT_TRUE(stream_->written.empty());
}

TEST_F(StreamLinkTest, AStreamThatEndsBreaksTheLink) {
  Open();
  stream_->End(errors::Unavailable("Socket closed"));
  EXPECT_THAT(recorder_->AwaitBroken(), StatusIs(absl::StatusCode::kUnavailable,
                                                 ::testing::AllOf(HasSubstr("/job:a"), HasSubstr("Socket closed"))));
  ListLinksResponse links;
  links_.Describe(&links);
  EXPECT_EQ(links.link_size(), 0);
}

// The peer takes the first message, and then reads no more.
TEST(StalledStreamTest, ACallEndsWithinItsDeadline) {
  StreamLinks links(/*ticks=*/false);
  const auto stream = std::make_shared<HeldStream>();
  std::shared_ptr<CallRequests> requests;
  StreamLink::Options options{.stream = stream, .links = &links, .greeting = Greeting(1), .is_asker = true};
  options.greet = [&requests](const auto& link, const auto&) -> absl::StatusOr<StreamLink::Peer> {
    requests = std::make_shared<CallRequests>("/job:b", link);
    return StreamLink::Peer{
        .task = "/job:b", .use = LinkUse::CALLS, .window_bytes = StreamLink::kMinWindowBytes, .receiver = requests};
  };
  const auto link = std::make_shared<StreamLink>(std::move(options));
  link->Start();
  stream->Receive("reply");
  ASSERT_NE(requests, nullptr);
  const absl::Time deadline = MonotonicNow() + absl::Hours(1);
  std::vector<absl::Status> ended;
  // More than the peer has credit for, and more than it reads.
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(requests->Begin(kLinkRunGraph, {.deadline = deadline}, Buffer(std::string(60'000, 'x')),
                                [&ended](const auto& answer) { ended.push_back(answer.status()); }));
  }
  EXPECT_EQ(stream->written.size(), 1);
  // The queue is bounded too: from here on calls take another route.
  for (int i = 0; i < 100 && !link->is_full(); ++i) {
    requests->Begin(kLinkRunGraph, {.deadline = deadline}, Buffer(std::string(60'000, 'x')), [](const auto&) {});
  }
  EXPECT_TRUE(link->is_full());
  EXPECT_FALSE(requests->Begin(kLinkRunGraph, {}, Buffer("x"), nullptr));
  link->Tick(deadline + absl::Seconds(1));
  ASSERT_EQ(ended.size(), 100);
  EXPECT_THAT(ended.back(), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("/job:b")));
  links.Stop();
}

// A peer that keeps requesting without giving credit for the answers.
TEST_F(StreamLinkTest, AnswersThatNobodyTakesBreakTheLink) {
  Open();
  constexpr uint32_t kAtOnce = 2 * kMaxChannels;
  for (uint32_t i = 0; i <= kAtOnce; ++i) link_->Send({FrameKind::kError, i}, OwnedBytes("why not"));  // one is written
  ListLinksResponse links;
  links_.Describe(&links);
  EXPECT_EQ(links.link_size(), 1);
  link_->Send({FrameKind::kPart, 1}, OwnedBytes("parts are what was asked for"));
  link_->Send({FrameKind::kAnswer, 1}, OwnedBytes("the end"));
  EXPECT_THAT(recorder_->AwaitBroken(), StatusIs(absl::StatusCode::kUnavailable,
                                                 ::testing::AllOf(HasSubstr("/job:a"), HasSubstr("does not take"))));
}

// The opener and its caller use shared state in turn, and neither keeps it.
TEST(BrokenGreetingTest, ALinkThatBreaksWhileItsPeerIsGreetedSaysSoOnce) {
  StreamLinks links(/*ticks=*/false);
  const auto stream = std::make_shared<HeldStream>();
  std::weak_ptr<CallRequests> made;
  std::vector<absl::Status> opened;
  {
    const auto requests = std::make_shared<std::shared_ptr<CallRequests>>();
    StreamLink::Options options{.stream = stream, .links = &links, .greeting = Greeting(1), .is_asker = true};
    options.greet = [requests, &made](const auto& link, const auto&) -> absl::StatusOr<StreamLink::Peer> {
      link->Break(errors::Unavailable("broken meanwhile"));
      made = *requests = std::make_shared<CallRequests>("/job:b", link);
      return StreamLink::Peer{.task = "/job:b", .window_bytes = StreamLink::kMinWindowBytes, .receiver = *requests};
    };
    options.opened = [requests, &opened](const absl::Status& status) {
      opened.push_back(status);
      *requests = nullptr;
    };
    std::make_shared<StreamLink>(std::move(options))->Start();
  }
  stream->Receive("reply");
  ASSERT_EQ(opened.size(), 1);
  EXPECT_THAT(opened[0], StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:b")));
  EXPECT_TRUE(made.expired());
}

TEST(StreamLinksTest, WhatFramesHaveBroughtHasRunWhenTheyAreStopped) {
  StreamLinks links;
  std::atomic<bool> has_run{false};
  {
    const StreamLinks::FrameReadingScope scope(&links, /*may_compute=*/false);
    StreamLinks::RunElsewhere([&] {
      const auto stopping = [&links] {
        const auto stream = std::make_shared<HeldStream>();
        std::make_shared<StreamLink>(StreamLink::Options{.stream = stream, .links = &links})->Start();
        stream->Cancel();
        return stream->rejection.has_value();
      };
      while (!stopping()) std::this_thread::yield();
      has_run = true;
    });
  }
  links.Stop();
  EXPECT_TRUE(has_run);
}

TEST(StreamLinksTest, StoppedOnesTakeNoMore) {
  StreamLinks links;
  links.Stop();
  const auto stream = std::make_shared<HeldStream>();
  std::make_shared<StreamLink>(StreamLink::Options{.stream = stream, .links = &links})->Start();
  ASSERT_TRUE(stream->rejection.has_value());
  EXPECT_THAT(*stream->rejection, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
}

}  // namespace
}  // namespace weir
