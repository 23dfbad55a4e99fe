#include "chorus/tensor/program_trace.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "chorus/base/test_path_test.h"

namespace chorus {
namespace {

using std::chrono::microseconds;

TEST(ProgramTraceTest, ShiftsThatAreUnderWayTogetherHaveTracksOfTheirOwn) {
  const std::string path = TestPath("trace.2.program");
  const auto at = [](int us) { return ProgramTrace::Clock::time_point(microseconds(us)); };
  std::string text;
  {
    ProgramTrace trace(path, 2);
    trace.Add("contract C.so.far", false, at(10), at(50));
    trace.Add("shift B.1.0", true, at(5), at(20));  // told when it ends
    trace.Add("shift B.1.1", true, at(6), at(40));
    trace.Add("shift B.2.0", true, at(20), at(60));
    text = trace.Text();
  }
  std::stringstream written;
  written << std::ifstream(path).rdbuf();
  EXPECT_EQ(written.str(), text);
  std::string lines;
  for (std::string line; std::getline(written, line);) {
    lines += line.substr(0, line.find(", \"args\": {}")) + "\n";
  }
  for (
      const char* part :
      {"\"rank 2\"", "\"rank 2 shift 1\"", "\"rank 2 shift 2\"",
       R"("contract C.so.far", "ph": "X", "pid": 1, "tid": 2048, "ts": 10.000000, "dur": 40.000000)",
       "\"shift B.1.0\", \"ph\": \"X\", \"pid\": 1, \"tid\": 2049",
       "\"shift B.1.1\", \"ph\": \"X\", \"pid\": 1, \"tid\": 2050",
       "\"shift B.2.0\", \"ph\": \"X\", \"pid\": 1, \"tid\": 2049"}) {
    EXPECT_NE(lines.find(part), std::string::npos) << part << " is not in\n" << lines;
  }
  EXPECT_EQ(lines.find("shift 3"), std::string::npos);
}

}  // namespace
}  // namespace chorus
