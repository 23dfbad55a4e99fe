#include "chorus/apps/studio/server/handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "chorus/apps/answer/estimate_answer.h"
#include "chorus/base/test_path_test.h"

namespace chorus::studio {
namespace {

using ::testing::HasSubstr;

StudioRequest PostOf(std::string name, std::string body) {
  StudioRequest request{"POST", "/api/" + name};
  request.body = std::move(body);
  request.host = "127.0.0.1:8733";
  return request;
}

StudioRequest GetOf(std::string path, std::string_view query = "") {
  StudioRequest request{"GET", std::move(path)};
  request.query = ParseQuery(query);
  request.host = "localhost:8733";
  return request;
}

HandlerOptions TestOptions() { return {AllEndpoints({"0.1.0", ""}), "", {}, false}; }

Json BodyOf(const StudioReply& reply) { return Json::parse(reply.body); }

// The refusal, with its status before it: "422 {...}".
std::string Refused(const StudioRequest& request) {
  Handler handler(TestOptions());
  const StudioReply reply = handler.Handle(request);
  return std::to_string(reply.status) + " " + reply.body;
}

TEST(StudioHandler, PostAndGetAskTheSame) {
  Handler handler(TestOptions());
  const StudioReply post = handler.Handle(
      PostOf("layout", R"({"mesh": "X=2,Y=2", "spec": "A[I_X, J]{U_Y}", "dims": "I=5,J=7"})"));
  const StudioReply get =
      handler.Handle(GetOf("/api/layout", "mesh=X=2,Y%3D2&spec=A[I_X,+J]%7BU_Y%7D&dims=I=5,J=7"));
  EXPECT_EQ(post.status, 200) << post.body;
  EXPECT_EQ(post.body, get.body);
  EXPECT_EQ(BodyOf(post)["total_bytes"], 280);
}

TEST(StudioHandler, AnAnswerIsThatOfTheCommandLine) {
  Handler handler(TestOptions());
  const StudioReply reply = handler.Handle(
      PostOf("estimate", R"({"op": "all_reduce", "bytes": "16GB", "on": "h100-8"})"));
  answer::EstimateQuestion q;
  q.op = "all_reduce";
  q.bytes = "16GB";
  q.machine.on = "h100-8";
  const Result<answer::EstimateAnswer> a = Answer(q);
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(BodyOf(reply), ToJson(*a));
}

TEST(StudioHandler, CrossoversLieWhereTheFastestChanges) {
  Handler handler(TestOptions());
  const Json json = BodyOf(handler.Handle(
      PostOf("estimate",
             R"({"op": "all_reduce", "bytes": "1KiB..1GiB", "on": "a100-8", "compare": true})")));
  ASSERT_FALSE(json["crossovers"].empty());
  for (const Json& change : json["crossovers"]) {
    const auto fastest = [&](std::int64_t bytes) {
      const Json one =
          BodyOf(handler.Handle(PostOf("estimate", Json{{"op", "all_reduce"},
                                                        {"bytes", std::to_string(bytes)},
                                                        {"on", "a100-8"},
                                                        {"compare", true}}
                                                       .dump())));
      return one["estimates"][0]["algorithm"];
    };
    EXPECT_EQ(fastest(change["bytes"]), change["to"]);
    EXPECT_NE(fastest(change["bytes"].get<std::int64_t>() - 1), change["to"]);
  }
}

TEST(StudioHandler, RefusalsNameTheFieldThePlaceAndWhatIsLegal) {
  EXPECT_EQ(
      Refused(PostOf("layout", R"({"mesh": "X=2", "spec": "A[I_X, J_X]", "dims": "I=4,J=4"})")),
      R"(422 {"error":"axis X is used twice: on dimension I (character 5) and on dimension J )"
      R"((character 10); an axis can be used once, so write A[I_X, J] or A[I, J_X]",)"
      R"("field":"spec","at":{"begin":9,"end":10},"spellings":["A[I_X, J]","A[I, J_X]"]})");
  EXPECT_EQ(Refused(PostOf("estimate", R"({"op": "all_reduce", "on": "h100-8"})")),
            R"(422 {"error":"bytes is missing; say how much, as bytes 16GB or 1KiB..1GiB",)"
            R"("field":"bytes"})");
  EXPECT_THAT(Refused(PostOf("estimate", R"({"op": "al_reduce", "on": "h100-8", "bytes": "1"})")),
              HasSubstr(R"(did you mean 'all_reduce'?","field":"op")"));
  EXPECT_THAT(
      Refused(PostOf("product",
                     R"({"product": "A[I, J_X] * B[J_X, K", "mesh": "X=2", "dims": "I=4"})")),
      HasSubstr(R"("field":"product","at":{"begin":20,"end":20},)"
                R"("spellings":["A[I, J_X] * B[J_X, K]"])"));
  EXPECT_THAT(Refused(PostOf("product", R"({"product": "A[I, J_Z] \u00b7 B[J_X, K_Z]", )"
                                        R"("mesh": "X=2", "dims": "I=4,J=4,K=4"})")),
              HasSubstr(R"("field":"product","at":{"begin":5,"end":6},)"
                        R"("spellings":["A[I, J_X] * B[J_X, K]"])"));
  EXPECT_THAT(Refused(PostOf("product", R"({"product": "A[I, J] \u00b7 B[J_X, K_X]", )"
                                        R"("mesh": "X=2", "dims": "I=4,J=4,K=4"})")),
              HasSubstr(R"("field":"product","at":{"begin":19,"end":20})"));
}

TEST(StudioHandler, EveryRefusalNamesItsField) {
  struct FieldCase {
    const char* endpoint;
    const char* question;
    const char* field;
  };
  const FieldCase cases[] = {
      {"schedule", R"({"op": "ring", "algorithm": "ring"})", "op"},
      {"schedule", R"({"op": "all_reduce", "algorithm": "all_reduce"})", "algorithm"},
      {"schedule", R"({"op": "broadcast", "algorithm": "knomial:0"})", "algorithm"},
      {"schedule", R"({"op": "all_reduce", "algorithm": "torus:2x2", "ranks": 5})", "algorithm"},
      {"schedule", R"({"op": "all_reduce", "root": 1})", "root"},
      {"schedule", R"({"op": "broadcast", "root": 4})", "root"},
      {"schedule", R"({"op": "all_reduce", "bytes": "abc"})", "bytes"},
      {"schedule", R"({"op": "all_reduce", "bytes": "2TiB"})", "bytes"},
      {"schedule", R"({"op": "all_reduce", "accumulator_ratio": 9})", "accumulator_ratio"},
      {"schedule", R"({"op": "barrier", "relabel": true})", "relabel"},
      {"schedule", R"({"op": "all_reduce", "nonsense": true})", "nonsense"},
      {"primitive", R"({"op": "x"})", "op"},
      {"primitive", R"({"op": "barrier", "counts": [1]})", "counts"},
      {"primitive", R"({"op": "all_gather", "counts": [1]})", "counts"},
      {"primitive", R"({"op": "all_gather", "counts": [1, 2, 3, -1]})", "counts"},
      {"layout", R"({"mesh": "X=", "spec": "X=", "dims": "X="})", "mesh"},
      {"layout", R"({"mesh": "", "spec": "A[I_X", "dims": ""})", "spec"},
      {"layout", R"({"mesh": "X=2", "spec": "A[I_X]", "dims": "I"})", "dims"},
      {"layout", R"({"mesh": "X=2", "spec": "A[I_Y]", "dims": "I=1"})", "spec"},
      {"layout", R"({"mesh": "X=2", "spec": "A[I_X]", "dims": "J=1"})", "dims"},
      {"layout", R"({"mesh": "X=2", "spec": "A[I]", "dims": "I=1", "dtype": "x"})", "dtype"},
      {"layout", R"({"mesh": "X=9999", "spec": "A[I]", "dims": "I=1"})", "mesh"},
      {"estimate", R"({"op": "all_reduce", "on": "h10-8", "bytes": "1"})", "on"},
      {"estimate", R"({"op": "all_reduce", "on": "h100-8", "bytes": "1KiB.."})", "bytes"},
      {"estimate", R"({"op": "all_reduce", "on": "h100-8", "bytes": "2MiB..1MiB"})", "bytes"},
      {"estimate", R"({"op": "all_reduce", "on": "h100-8", "bytes": "x"})", "bytes"},
      {"estimate", R"({"op": "all_reduce", "on": "h100-8", "bytes": "1", "model": "x"})", "model"},
      {"estimate", R"({"op": "all_reduce", "on": "h100-8", "bytes": "1", "algorithm": "x"})",
       "algorithm"},
      {"estimate", R"({"op": "all_gather", "on": "v5e-16", "bytes": "1", "algorithm": "bruck"})",
       "algorithm"},
      {"estimate", R"({"op": "broadcast", "on": "h100-8", "bytes": "1", "root": 8})", "root"},
      {"estimate", R"({"op": "all_reduce", "on": "h100-8", "bytes": "1", "ranks": 9})", "ranks"},
      {"estimate", R"({"op": "all_reduce", "on": "h100-8", "bytes": "1", "latency": "1e400s"})",
       "latency"},
      {"estimate", R"({"op": "all_reduce", "on": "h100-8", "bytes": "1", "bandwidth": "x"})",
       "bandwidth"},
      {"estimate", R"({"op": "all_reduce", "on": "h100-8", "bytes": "1", "dims": "B=1"})", "dims"},
      {"estimate", R"({"op": "product", "on": "h100-8", "dims": "B=1"})", "dims"},
      {"estimate", R"({"op": "product", "on": "host-4", "dims": "B=1,D=8,F=8"})", "on"},
      {"estimate", R"({"op": "product", "on": "v5p-4x4x4", "dims": "B=1,D=64,F=64,X=5"})", "dims"},
      {"estimate", R"({"op": "read", "on": "h100-8", "bytes": "1,2"})", "bytes"},
      {"simulate", R"({"op": "all_reduce", "on": "h100-8", "slow": ["9:2"]})", "slow"},
      {"simulate", R"({"op": "all_reduce", "on": "h100-8", "slow": ["x"]})", "slow"},
      {"simulate", R"({"op": "all_reduce", "on": "h100-8", "bytes": "8TiB", "tile": "1"})", "tile"},
      {"simulate", R"({"op": "all_reduce", "on": "h100-8", "tile": "x"})", "tile"},
      {"simulate", R"({"op": "all_reduce", "on": "h100-8", "algorithm": "x"})", "algorithm"},
      {"simulate", R"({"op": "broadcast", "on": "h100-8", "root": 8})", "root"},
      {"simulate", R"({"op": "all_reduce", "on": "h100-8", "jitter": 1, "seed": "x"})", "seed"},
      {"product", R"({"product": "A[I", "mesh": "X=2", "dims": "I=1"})", "product"},
      {"product", R"({"product": "A[I_X, J_X] * B[J]", "mesh": "X=2", "dims": "I=1"})", "product"},
      {"product", R"({"product": "A[I] * B[I, J]", "mesh": "X=", "dims": "I=1,J=1"})", "mesh"},
      {"product", R"({"product": "A[I] * B[I, J]", "mesh": "", "dims": "I=1,J"})", "dims"},
      {"product", R"({"product": "A[I] * B[I, J]", "mesh": "X=2", "dims": "I=1,J=1,K=1"})", "dims"},
      {"product",
       R"({"product": "A[I, J] * B[J, K]", "mesh": "X=2", "dims": "I=288230376151711744,J=2,K=2"})",
       "dims"},
      {"product", R"({"product": "A[I] * B[I, J]", "mesh": "X=2", "dims": "I=1,J=1",
                      "dtype": "i8"})",
       "dtype"},
      {"product", R"({"product": "A[I] * B[I, J]", "mesh": "X=2", "dims": "I=1,J=1",
                      "memory": "x"})",
       "memory"},
      {"product", R"({"product": "A[I, J] * B[J, K]", "mesh": "X=2", "dims": "I=8,J=8,K=8",
                      "memory": "1B"})",
       "memory"},
      {"product", R"({"product": "A[I_X, J] * B[J, K] -> C[I_X, K]", "mesh": "X=2",
                      "dims": "I=8,J=8,K=8", "overlap": true})",
       "overlap"},
      {"product", R"({"product": "A[I] * B[I, J]", "mesh": "X=9", "dims": "I=1,J=1",
                      "on": "h100-8"})",
       "mesh"},
      {"product", R"({"product": "A[I] * B[I, J]", "mesh": "X=8", "dims": "I=1,J=1",
                      "on": "nothing-8"})",
       "on"},
      {"hardware", R"({"name": "nothing"})", "name"},
      {"measured", R"({"op": "x"})", "op"},
      {"measured", R"({"on": "x"})", "on"},
      {"run", R"({"file": "x"})", "file"},
  };
  Handler handler(TestOptions());
  for (const FieldCase& one : cases) {
    const StudioReply reply = handler.Handle(PostOf(one.endpoint, one.question));
    const Json body = BodyOf(reply);
    EXPECT_TRUE(reply.status == 422 || reply.status == 400) << reply.status << one.question;
    EXPECT_EQ(body.value("field", ""), one.field) << one.question << "\n" << reply.body;
    const std::string option = std::string("--") + one.field;
    EXPECT_THAT(body.value("error", option), testing::Not(HasSubstr(option))) << one.question;
  }
}

TEST(StudioHandler, RequestsAreCheckedAgainstTheTable) {
  EXPECT_THAT(Refused(PostOf("schedule", R"({"op": "all_reduce", "rank": 4})")),
              HasSubstr("400 {\"error\":\"there is no field 'rank'; did you mean 'ranks'?"));
  EXPECT_THAT(Refused(PostOf("schedule", R"({"op": "all_reduce", "ranks": "4"})")),
              HasSubstr("400 {\"error\":\"ranks must be a whole number"));
  EXPECT_THAT(Refused(PostOf("schedule", R"({"op": "all_reduce", "ranks": 4.5})")),
              HasSubstr("ranks must be a whole number"));
  EXPECT_THAT(Refused(PostOf("schedule", R"({"op": "all_reduce", "ranks": 1e300})")),
              HasSubstr("ranks must be a whole number"));
  EXPECT_THAT(Refused(PostOf("schedule", R"({"op": "all_reduce", "ranks": 65})")),
              HasSubstr("422 {\"error\":\"ranks 65 is out of range; give 1 to 64"));
  EXPECT_THAT(Refused(PostOf("schedule", R"({"ranks": 4})")),
              HasSubstr("400 {\"error\":\"op is missing"));
  EXPECT_THAT(Refused(PostOf("schedule", "[1]")), HasSubstr("400 "));
  EXPECT_THAT(Refused(PostOf("schedule", "{")), HasSubstr("is no JSON"));
  EXPECT_THAT(Refused(PostOf("schedule", std::string(40, '[') + std::string(40, ']'))),
              HasSubstr("nested deeper than 16"));
  EXPECT_THAT(Refused(PostOf("schedule", std::string(kMostBody + 1, ' '))), HasSubstr("413 "));
  EXPECT_THAT(Refused(PostOf("layout", R"({"mesh": ")" + std::string(2001, 'X') +
                                           R"(", "spec": "A[]", "dims": ""})")),
              HasSubstr("mesh is longer than 2000 characters"));
  EXPECT_THAT(Refused(PostOf("nothing", "{}")), HasSubstr("404 "));
  EXPECT_THAT(
      Refused(PostOf("estimate", R"({"op": "all_reduce", "on": "h100-8", "bytes": "1B..9000PB"})")),
      HasSubstr("422 "));
}

TEST(StudioHandler, PagesOfOtherSitesAreRefused) {
  const auto status = [](const char* origin, const char* site) {
    Handler handler(TestOptions());
    StudioRequest request = PostOf("hardware", "{}");
    request.origin = origin;
    request.fetch_site = site;
    return handler.Handle(request).status;
  };
  EXPECT_EQ(status("", ""), 200);  // no browser
  EXPECT_EQ(status("http://127.0.0.1:8733", "same-origin"), 200);
  EXPECT_EQ(status("http://evil.example", "cross-site"), 403);
  EXPECT_EQ(status("http://evil.example", ""), 403);
  EXPECT_EQ(status("http://127.0.0.1:9999", "same-site"), 403);
  EXPECT_EQ(status("null", ""), 403);
  EXPECT_EQ(status("", "cross-site"), 403);
}

// Those of the page: every kind of machine, a chain, two axes.
TEST(StudioHandler, TheExamplesOfProductsAreAnswered) {
  for (const char* question : {
           R"({"product": "X[B, D] * Y[D_X, F] -> Z[B, F]", "mesh": "X=16",
               "dims": "B=4096,D=8192,F=28672", "dtype": "bf16", "on": "v5e-16"})",
           R"({"product": "A[I_X, J_Y] * B[J_Y, K] -> C[I_X, K]", "mesh": "X=4,Y=8",
               "dims": "I=8192,J=8192,K=8192", "dtype": "bf16", "on": "h100-8x4"})",
           R"({"product": "X[B, D] * W[D, F_X] * V[F_X, D] -> Y[B, D]", "mesh": "X=8",
               "dims": "B=4096,D=8192,F=28672", "dtype": "bf16", "on": "h100-8"})",
           R"({"product": "A[I, J_X] * B[J_X, K] -> C[I, K]", "mesh": "X=2,Y=2",
               "dims": "I=4,J=4,K=4", "overlap": true})"}) {
    Handler handler(TestOptions());
    const StudioReply reply = handler.Handle(PostOf("product", question));
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_GT(BodyOf(reply)["ways"].size(), 1u);
  }
}

TEST(StudioHandler, QuestionsThatWouldTakeLongAreRefused) {
  EXPECT_THAT(Refused(PostOf("product", R"({"product": "A[I] * B[I, J] * C[J, K] * D[K, L] * E[L]",
                             "mesh": "X=2", "dims": "I=4,J=4,K=4,L=4"})")),
              HasSubstr("422 {\"error\":\"product has 5 operands; at most 3"));
  EXPECT_THAT(Refused(PostOf("product", R"({"product": "A[I] * B[I, J]",
                             "mesh": "A=2,B=2,C=2,D=2,E=2", "dims": "I=4,J=4"})")),
              HasSubstr("mesh has 5 axes; at most 3"));
  EXPECT_THAT(Refused(PostOf("product", R"({"product": "A[I] * B[I, J]", "mesh": "X=65",
                             "dims": "I=4,J=4"})")),
              HasSubstr("mesh has 65 ranks along X; at most 16 are explained here"));
  const std::string tiles =
      Refused(PostOf("simulate", R"({"op": "all_reduce", "algorithm": "ring", "tile": "1KiB",
                             "on": "h100-8", "bytes": "1GiB"})"));
  EXPECT_THAT(tiles, HasSubstr("too many to simulate (at most 500000)"));
  EXPECT_THAT(tiles, HasSubstr(R"("field":"tile")"));
  EXPECT_THAT(Refused(PostOf("simulate", R"({"op": "all_reduce", "on": "h100-8x1000"})")),
              HasSubstr("are more than the 1024 that are simulated"));
}

TEST(StudioHandler, NoFieldReadsAFile) {
  for (const char* name : {"/etc/passwd", "./a.toml", "a.toml"}) {
    EXPECT_THAT(Refused(PostOf("estimate",
                               Json{{"op", "all_reduce"}, {"on", name}, {"bytes", "1"}}.dump())),
                HasSubstr("is no name of a machine"));
    EXPECT_THAT(Refused(PostOf("hardware", Json{{"name", name}}.dump())), HasSubstr("is no name"));
    EXPECT_THAT(Refused(PostOf("run", Json{{"file", name}}.dump())), HasSubstr("422 "));
  }
}

TEST(StudioHandler, AskedAgainAnAnswerIsNotWorkedOutAgain) {
  int worked = 0;
  Endpoint count{"count",
                 "Counts",
                 {{"ranks", FieldType::kWhole, "N"}, {"op", FieldType::kText, "any"}},
                 [&worked](const Fields&) -> Result<Json> {
                   return Json{{"worked", ++worked}};
                 }};
  Endpoint changing = count;
  changing.name = "changing";
  changing.changes = true;
  Handler handler({{count, changing}, "", {}, false});
  const auto asked = [&](const char* name, const char* question) {
    return BodyOf(handler.Handle(PostOf(name, question)))["worked"];
  };
  EXPECT_EQ(asked("count", R"({"ranks": 4, "op": "a"})"), 1);
  EXPECT_EQ(asked("count", R"({"op": "a", "ranks": 4.0})"), 1);  // the same
  EXPECT_EQ(asked("count", R"({"op": "a", "ranks": 5})"), 2);
  EXPECT_EQ(asked("changing", "{}"), 3);
  EXPECT_EQ(asked("changing", "{}"), 4);
}

TEST(StudioHandler, AfterStopWhatTakesLongIsRefused) {
  Handler handler(TestOptions());
  handler.Stop();
  const char* question = R"({"op": "all_reduce", "bytes": "16GB", "on": "h100-8"})";
  EXPECT_EQ(handler.Handle(PostOf("estimate", question)).status, 503);
  EXPECT_EQ(handler.Handle(GetOf("/api/hardware")).status, 200);
}

TEST(StudioHandler, AnAnswerWhoseProcessWasKilledIsLostNotTooLarge) {
  Endpoint dies{"dies", "", {}, [](const Fields&) -> Result<Json> {
                  raise(SIGKILL);
                  return Json();
                }};
  dies.takes_long = true;
  Handler handler({{dies}, "", {}, false});
  const StudioReply reply = handler.Handle(PostOf("dies", "{}"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(BodyOf(reply)["error"],
            "the answer was lost: the process that worked it out was ended by signal 9; try again");
}

#if !defined(__SANITIZE_ADDRESS__)  // which ends the process itself when there is no memory
TEST(StudioHandler, AnAnswerThatWantsTooMuchMemoryIsRefused) {
  Endpoint grows{"grows", "", {}, [](const Fields&) -> Result<Json> {
                   const std::vector<char> held(std::size_t{3} << 30);
                   return Json(held.size());
                 }};
  grows.takes_long = true;
  Handler handler({{grows}, "", {}, false});
  const StudioReply reply = handler.Handle(PostOf("grows", "{}"));
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(BodyOf(reply)["error"],
            "this takes more than 1024 MiB of memory; ask for less, or ask the command line, which "
            "waits");
}
#endif

TEST(StudioHandler, WhatTakesTooLongIsAdvisedWhatThereIs) {
  for (const Endpoint& endpoint : AllEndpoints({"0.1.0", "runs"})) {
    if (!endpoint.takes_long) continue;
    const bool has_command = endpoint.name != "run";
    EXPECT_EQ(AdviceIfTooMuch(endpoint).find("command line") != std::string_view::npos, has_command)
        << endpoint.name;
  }
}

TEST(StudioHandler, OnlyItsOwnHostIsAnswered) {
  const auto status = [](const std::string& host, bool others) {
    HandlerOptions options = TestOptions();
    options.others = others;
    options.hosts = {"build-7"};
    Handler handler(options);
    StudioRequest request = GetOf("/api/hardware");
    request.host = host;
    return handler.Handle(request).status;
  };
  EXPECT_EQ(status("127.0.0.1:8733", false), 200);
  EXPECT_EQ(status("localhost", false), 200);
  EXPECT_EQ(status("LOCALHOST:8733", false), 200);
  EXPECT_EQ(status("Build-7:8733", true), 200);  // a name it was given
  EXPECT_EQ(status("[::1]:8733", false), 200);
  for (const char* other : {"evil.example", "evil.example:8733", "192.168.0.7:8733", "",
                            "127.0.0.1.evil.example", "localhost.evil.example:8733"}) {
    EXPECT_EQ(status(other, false), 403) << other;
  }
  EXPECT_EQ(status("192.168.0.7:8733", true), 200);
  EXPECT_EQ(status("evil.example:8733", true), 403);
}

TEST(StudioHandler, EveryReplyForbidsWhatIsElsewhere) {
  Handler handler(TestOptions());
  for (const StudioRequest& request :
       {GetOf("/"), GetOf("/nothing.js"), GetOf("/api/schema"), PostOf("layout", "{}")}) {
    const StudioReply reply = handler.Handle(request);
    EXPECT_THAT(reply.headers, testing::Contains(testing::Pair("Content-Security-Policy",
                                                               HasSubstr("default-src 'self'"))));
    EXPECT_THAT(reply.headers,
                testing::Contains(testing::Pair("X-Content-Type-Options", "nosniff")));
  }
}

// The schema tells what the table checks: what it requires is refused when it is missing.
TEST(StudioHandler, TheSchemaIsThatOfTheTable) {
  Handler handler(TestOptions());
  const Json schema = BodyOf(handler.Handle(GetOf("/api/schema")));
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  for (const Endpoint& endpoint : AllEndpoints({"0.1.0", ""})) {
    const Json& of = schema["$defs"][endpoint.name];
    EXPECT_EQ(of["properties"].size(), endpoint.fields.size());
    const int status = handler.Handle(PostOf(endpoint.name, "{}")).status;
    EXPECT_EQ(status, of["required"].empty() ? 200 : 400) << endpoint.name;
  }
  EXPECT_EQ(schema["$defs"]["schedule"]["properties"]["ranks"]["maximum"], 64);
}

TEST(StudioHandler, PagesOfAFolder) {
  const std::string folder = TestPath("studio_pages");
  std::filesystem::create_directories(folder + "/assets");
  std::ofstream(folder + "/index.html") << "<p>here";
  std::ofstream(folder + "/assets/a-1.js") << "1";
  HandlerOptions options = TestOptions();
  options.pages = folder;
  Handler handler(options);
  const StudioReply index = handler.Handle(GetOf("/"));
  EXPECT_EQ(index.status, 200);
  EXPECT_EQ(index.body, "<p>here");
  EXPECT_EQ(index.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(handler.Handle(GetOf("/assets/a-1.js")).content_type, "text/javascript; charset=utf-8");
  StudioRequest again = GetOf("/");
  for (const auto& [name, value] : index.headers) {
    if (name == "ETag") again.if_none_match = value;
  }
  EXPECT_EQ(handler.Handle(again).status, 304);
  for (const char* outside : {"/../secret", "/assets/../../secret", "//etc/passwd", "/.hidden",
                              "/assets//a-1.js", "/assets", "relative"}) {
    EXPECT_EQ(handler.Handle(GetOf(outside)).status, 404) << outside;
  }
}

TEST(StudioHandler, RunsAreReadFromTheirFolderOnly) {
  const std::string folder = TestPath("studio_runs");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/bench.json") << R"({"rows": [{"size_bytes": 8, "out_of_place": {}}]})";
  std::ofstream(folder + "/lines.json") << "{\"loss_nats\": 4}\nnot JSON\n{\"loss_nats\": 3}\n";
  std::ofstream(folder + "/trace.json")
      << R"({"traceEvents": [{"ph": "X"}, {"ph": "i"}, {"ph": "M"}]})";
  std::ofstream(folder + "/peers.jsonl") << R"({"op": "reduce", "sides": {}})"
                                         << "\n";
  std::ofstream(folder + "/\xe9\xc3\xa9.json") << R"({"loss_nats": 1})";  // Latin 1, then UTF-8
  std::ofstream(TestPath("studio_secret.json")) << "{}";
  std::filesystem::create_symlink(TestPath("studio_secret.json"), folder + "/link.json");
  HandlerOptions options = TestOptions();
  options.endpoints = AllEndpoints({"0.1.0", folder});
  Handler handler(options);
  const Json list = BodyOf(handler.Handle(GetOf("/api/runs")));
  EXPECT_EQ(list["files"].size(), 5u);
  const auto run = [&](const std::string& file) {
    return BodyOf(handler.Handle(PostOf("run", Json{{"file", file}}.dump())));
  };
  EXPECT_EQ(run("bench.json")["kind"], "bench");
  EXPECT_EQ(run("bench.json")["rows"].size(), 1u);
  EXPECT_EQ(run("lines.json")["rows"].size(), 2u);
  EXPECT_EQ(run("lines.json")["skipped"], 1);
  EXPECT_EQ(run("lines.json")["kind"], "training");
  EXPECT_EQ(run("trace.json")["rows"].size(), 2u);  // not the instant
  EXPECT_EQ(run("trace.json")["rows"][1]["ph"], "M");
  EXPECT_EQ(run("trace.json")["skipped"], 0);
  EXPECT_EQ(run("peers.jsonl")["kind"], "bench");
  EXPECT_EQ(run("\\xE9\xc3\xa9.json")["rows"][0]["loss_nats"], 1);
  EXPECT_THAT(list.dump(), HasSubstr(R"("file":"\\xE9é.json")"));
  std::ofstream(folder + "/nan.jsonl") << "{\"step\": 1, \"loss_nats\": NaN}\n";
  EXPECT_THAT(run("nan.jsonl").dump(), HasSubstr("'nan.jsonl' holds NaN or Infinity"));
  std::ofstream(folder + "/words.json") << "\"loss_nats\" of NaNcy";
  EXPECT_THAT(run("words.json").dump(), HasSubstr("'words.json' holds no JSON"));
  for (const char* outside : {"link.json", "../studio_secret.json", "/etc/passwd", "."}) {
    EXPECT_TRUE(run(outside).contains("error")) << outside;
  }
}

}  // namespace
}  // namespace chorus::studio
