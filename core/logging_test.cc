#include "core/logging.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class RecordingSink : public LogSink {
 public:
  void Write(const LogRecord& record) override {
    MutexLock lock(mu);
    records.push_back(record);
  }
  Mutex mu;
  std::vector<LogRecord> records;
};

class LoggingTest : public testing::Test {
 protected:
  void SetUp() override { SetLogSink(sink_); }
  void TearDown() override {
    SetMinLogLevel(LogLevel::INFO);
    SetLogSink(NewFileLogSink(stderr, LogFormat::kText));
  }
  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
};

TEST_F(LoggingTest, WritesMessageAndFields) {
  WEIR_LOG(INFO).With("task", "/job:ps/task:1").With("step", 7) << "took " << 3 << " s";
  ASSERT_EQ(sink_->records.size(), 1);
  const LogRecord& record = sink_->records[0];
  EXPECT_EQ(record.message, "took 3 s");
  EXPECT_EQ(record.fields[1].value, "7");
  EXPECT_THAT(FormatLogText(record), EndsWith("took 3 s task=/job:ps/task:1 step=7"));
  EXPECT_THAT(FormatLogJson(record), EndsWith(R"("message":"took 3 s","fields":{"step":7}})"));
  EXPECT_THAT(FormatLogJson(record), HasSubstr(R"("level":"INFO","task":"/job:ps/task:1","where":)"));
}

TEST_F(LoggingTest, LevelsBelowTheLowestAreNotEvaluated) {
  int evaluated = 0;
  WEIR_LOG(DEBUG) << ++evaluated;
  WEIR_LOG_EVERY(DEBUG, absl::Seconds(1)) << ++evaluated;
  SetMinLogLevel(LogLevel::DEBUG);
  WEIR_LOG(DEBUG) << ++evaluated;
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(sink_->records.size(), 1);
}

TEST_F(LoggingTest, WorksAsTheBodyOfAnIf) {
  if (sink_->records.empty())
    WEIR_LOG(INFO) << "yes";
  else
    WEIR_LOG(INFO) << "no";
  EXPECT_EQ(sink_->records[0].message, "yes");
}

TEST_F(LoggingTest, TextAndJsonStayOnOneLine) {
  LogRecord record{LogLevel::ERROR, absl::UnixEpoch(), "a/b.cc", 5, "two\nlines \"q\"", {{"k", "a b\x01", false}}};
  EXPECT_EQ(FormatLogText(record), "1970-01-01T00:00:00.000000Z ERROR b.cc:5 two lines \"q\" k=\"a b\\u0001\"");
  EXPECT_EQ(FormatLogJson(record),
            R"({"time":"1970-01-01T00:00:00.000000Z","level":"ERROR","where":"b.cc:5","message":"two\nlines \"q\"",)"
            R"("fields":{"k":"a b\u0001"}})");
  record.fields = {{"x", "inf", true}};
  EXPECT_THAT(FormatLogJson(record), HasSubstr(R"("x":"inf")"));
}

TEST_F(LoggingTest, JsonHasTheProcessTaskOrThatOfTheField) {
  LogRecord record{LogLevel::INFO, absl::UnixEpoch(), "b.cc", 5, "bad \xFF byte", {}};
  EXPECT_EQ(FormatLogJson(record, "/job:ps/task:1"),
            R"({"time":"1970-01-01T00:00:00.000000Z","level":"INFO","task":"/job:ps/task:1","where":"b.cc:5",)"
            "\"message\":\"bad \xEF\xBF\xBD byte\"}");
  record.fields = {{"task", "/job:worker/task:0", false}};
  EXPECT_THAT(FormatLogJson(record, "/job:ps/task:1"), HasSubstr(R"("task":"/job:worker/task:0","where")"));
}

TEST_F(LoggingTest, LevelsAndFormatsHaveNames) {
  EXPECT_EQ(*ParseLogLevel("debug"), LogLevel::DEBUG);
  EXPECT_EQ(*ParseLogLevel("error"), LogLevel::ERROR);
  EXPECT_EQ(ParseLogLevel("loud").status().message(), "'loud' is not a log level: use debug, info, warning or error");
  EXPECT_EQ(*ParseTensorFlowLogLevel("0"), LogLevel::INFO);
  EXPECT_EQ(*ParseTensorFlowLogLevel("3"), LogLevel::NONE);
  EXPECT_THAT(ParseTensorFlowLogLevel("-1").status().message(), HasSubstr("TF_CPP_MIN_LOG_LEVEL='-1' is not"));
  EXPECT_EQ(*ParseLogFormat("json"), LogFormat::kJson);
  EXPECT_FALSE(ParseLogFormat("xml").ok());
}

TEST_F(LoggingTest, TheLevelNoneSilencesErrors) {
  SetMinLogLevel(LogLevel::NONE);
  WEIR_LOG(ERROR) << "not written";
  EXPECT_TRUE(sink_->records.empty());
}

TEST_F(LoggingTest, LimitedMessagesTellHowManyWereHeldBack) {
  LogLimiter limiter;
  const absl::Time start = absl::FromUnixSeconds(1000);
  EXPECT_EQ(limiter.Admit(absl::Seconds(10), start), 0);
  EXPECT_EQ(limiter.Admit(absl::Seconds(10), start + absl::Seconds(1)), -1);
  EXPECT_EQ(limiter.Admit(absl::Seconds(10), start + absl::Seconds(9)), -1);
  EXPECT_EQ(limiter.Admit(absl::Seconds(10), start + absl::Seconds(10)), 2);
  for (int i = 0; i < 5; ++i) WEIR_LOG_EVERY(WARNING, absl::Hours(1)) << "full";
  EXPECT_EQ(sink_->records.size(), 1);
}

}  // namespace
}  // namespace weir
