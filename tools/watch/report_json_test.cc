#include "tools/watch/report_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/status.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(ReportJsonTest, WritesEveryFieldInOrder) {
  TaskReport::Step step;
  step.set_session(9007199254740991);
  step.add_running_on("a");
  TaskReport::Wait* const wait = step.add_wait();
  wait->set_node("n");
  wait->set_seconds(0.5);
  EXPECT_EQ(MessageToJson(step),
            R"({"session":9007199254740991,"age_seconds":0.0,"running_on":["a"],"wait":[{"node":"n","op":"",)"
            R"("device":"","seconds":0.5,"shared_object":""}],"more_waits":0})");
}

TEST(ReportJsonTest, AnEmptyReportHasAllItsParts) {
  const std::string json = MessageToJson(TaskReport());
  for (const char* part :
       {"\"peer\":[]", "\"master_steps\":{\"started\":0", "\"memory\":{\"resident\":0", "\"rate\":[]"}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
}

TEST(ReportJsonTest, TextIsEscapedAndRepaired) {
  TaskReport::Wait wait;
  wait.set_node("\"\\\n\x01</script>");
  wait.set_op("\xff");
  const std::string json = MessageToJson(wait);
  EXPECT_THAT(json, HasSubstr(R"("node":"\"\\\n\u0001</script>")"));
  EXPECT_THAT(json, HasSubstr("\"op\":\"\xef\xbf\xbd\""));
}

}  // namespace
}  // namespace weir
