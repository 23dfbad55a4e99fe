// Random requests: each is answered or refused with a message, and none takes long.
//
// CHORUS_STUDIO_REQUESTS=100000 asks for that many instead of some hundred; CHORUS_STUDIO_SEED for
// others.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "chorus/apps/studio/server/handler.h"

namespace chorus::studio {
namespace {

long NumberFrom(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

// Draws requests that are right, nearly right, and not at all.
class RequestDrawer {
 public:
  explicit RequestDrawer(unsigned seed) : random_(seed), endpoints_(AllEndpoints({"0.1.0", ""})) {}

  StudioRequest Draw() {
    const Endpoint& endpoint = Of(endpoints_);
    StudioRequest request{OneIn(40) ? Text() : "POST",
                          OneIn(40) ? "/api/" + Text() : "/api/" + endpoint.name};
    request.host = OneIn(50) ? Text() : "127.0.0.1:8733";
    Json fields = Json::object();
    for (const Field& field : endpoint.fields) {
      if (!OneIn(field.required ? 30 : 3)) continue;
      if (!field.required || OneIn(30)) fields[OneIn(60) ? Text() : field.name] = Value(field);
    }
    for (const Field& field : endpoint.fields) {
      if (field.required && !fields.contains(field.name) && !OneIn(30)) {
        fields[field.name] = Value(field);
      }
    }
    if (OneIn(8)) {
      request.method = "GET";
      for (const auto& [name, value] : fields.items()) {
        request.query.emplace_back(name,
                                   value.is_string() ? value.get<std::string>() : Shown(value));
      }
      if (OneIn(4)) request.query = ParseQuery(Text() + "=" + Text() + "&" + Text());
      return request;
    }
    request.body = Shown(fields);
    if (OneIn(6)) Damage(request.body);
    if (OneIn(500)) request.body.assign(kMostBody + Below(100), '[');
    return request;
  }

 private:
  static std::string Shown(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::size_t Below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  bool OneIn(std::size_t n) { return Below(n) == 0; }
  template <typename T>
  const typename T::value_type& Of(const T& list) {
    return list[Below(list.size())];
  }

  void Damage(std::string& text) {
    for (std::size_t times = 1 + Below(4); times > 0 && !text.empty(); --times) {
      const std::size_t at = Below(text.size());
      switch (Below(4)) {
        case 0:
          text[at] = static_cast<char>(Below(256));
          break;
        case 1:
          text.erase(at, 1 + Below(8));
          break;
        case 2:
          text.insert(at, text.substr(Below(text.size()), Below(16)));
          break;
        default:
          text.resize(at);
      }
    }
  }

  // Pieces of the notations, joined at random.
  std::string Text() {
    static const std::vector<std::string> kPieces = {
        "A",    "[",          "]",     "I",
        "_",    "X",          "Y",     ",",
        "J",    "{U_",        "}",     "=",
        "2",    "4",          " ",     "*",
        "->",   "K",          "1024",  "9223372036854775807",
        "-1",   "0",          "KiB",   "..",
        "1",    "GB",         ":",     "x",
        "h100", "-",          "8",     "v5e",
        "ring", "knomial",    "torus", "two_level",
        "+",    "all_reduce", "\xff",  "\n",
        "'",    "\"",         "e308",  "nan",
        "inf",  ".",          "/",     "99999999999999999999999",
        "us",   "s",          "bf16",  "f32"};
    std::string text;
    for (std::size_t pieces = Below(12); pieces > 0; --pieces) text += Of(kPieces);
    return text;
  }

  std::string KnownText(const Field& field) {
    static const std::vector<std::string> kOps = {
        "all_reduce", "all_gather", "reduce_scatter", "broadcast",  "reduce",
        "barrier",    "gather",     "scatter",        "all_to_all", "scan",
        "exscan",     "product",    "layer",          "training",   "read"};
    static const std::vector<std::string> kMachines = {
        "h100-8", "h100-8x4", "v5e-4x4", "a100-8", "v5p-4x4x4", "b200-8", "host-4", "h100-8x9000"};
    static const std::vector<std::string> kAlgorithms = {
        "ring",      "direct",         "knomial:4",     "binomial",    "bruck",
        "torus:2x2", "two_level:2",    "pairwise",      "double_tree", "halving_doubling",
        "knomial:0", "hierarchical:2", "two_level:1+1", "linear",      "dissemination"};
    static const std::vector<std::string> kMeshes = {"X=2", "X=2,Y=2", "X=4,Y=8",      "X=3,Y=5",
                                                     "",    "X=1024",  "X=2147483647", "Dp=2,Tp=4"};
    static const std::vector<std::string> kSpecs = {"A[I_X, J]{U_Y}", "A[I_XY, J]", "A[I, J]",
                                                    "A[I_X, J_X]",    "[]",         "A[I_Z]"};
    static const std::vector<std::string> kDims = {
        "I=4,J=4,K=4",           "I=1024,J=7",
        "I=0,J=1,K=1",           "I=9223372036854775807",
        "B=4096,D=8192,F=28672", "B=1,S=1,D=64,F=64",
        "P=70000000000,L=80",    "I=288230376151711744,J=2,K=2"};
    static const std::vector<std::string> kProducts = {
        "A[I, J_X] * B[J_X, K] -> C[I, K]", "A[I_X, J] * B[J, K_Y]", "A[I, J] * B[J, K] * D[K, L]",
        "A[Z_X, I, J] * B[Z_X, J, K] -> C[Z, I, K]", "A[I_X, J] * B[J_X, K] -> C[I_X, K]{U_Y}"};
    static const std::vector<std::string> kSizes = {"1MiB",     "1KiB..1GiB", "16GB", "0",
                                                    "1B..8EiB", "1,2,3",      "7B",   "1TiB"};
    const std::string& name = field.name;
    if (name == "op") return Of(kOps);
    if (name == "on" || name == "name") return Of(kMachines);
    if (name == "algorithm") return Of(kAlgorithms);
    if (name == "mesh") return Of(kMeshes);
    if (name == "spec") return Of(kSpecs);
    if (name == "dims") return Of(kDims);
    if (name == "product") return Of(kProducts);
    if (name == "bytes" || name == "tile" || name == "memory") return Of(kSizes);
    return field.examples.empty() ? Text() : Of(field.examples);
  }

  Json Number(const Field& field) {
    static const std::vector<double> kNumbers = {
        0, 1, -1, 2, 3, 0.5, 4, 64, 65, 1e9, -1e18, 1e18, 1e300, 1e-300, 2.25, 1e15, 16, 7};
    if (!OneIn(3) && field.least < field.most) {
      const double most = std::min(field.most, field.least + 20);
      return static_cast<std::int64_t>(field.least) +
             static_cast<std::int64_t>(Below(static_cast<std::size_t>(most - field.least) + 1));
    }
    return OneIn(2) ? Json(Of(kNumbers)) : Json(static_cast<std::int64_t>(Below(70)));
  }

  Json Value(const Field& field) {
    if (OneIn(25)) {  // of another type
      switch (Below(6)) {
        case 0:
          return nullptr;
        case 1:
          return Json::array({1, "a", nullptr});
        case 2:
          return Json{{"a", Json::array()}};
        case 3:
          return Text();
        case 4:
          return OneIn(2);
        default:
          return std::string(1 + Below(3000), 'X');
      }
    }
    switch (field.type) {
      case FieldType::kText: {
        std::string text = OneIn(5) ? Text() : KnownText(field);
        if (OneIn(8)) Damage(text);
        return text;
      }
      case FieldType::kWhole:
      case FieldType::kNumber:
        return Number(field);
      case FieldType::kFlag:
        return OneIn(2);
      case FieldType::kTexts: {
        Json list = Json::array();
        for (std::size_t i = Below(4); i > 0; --i) list.push_back(OneIn(3) ? Text() : "3:2");
        return list;
      }
      case FieldType::kWholes:
        break;
    }
    Json list = Json::array();
    for (std::size_t i = Below(20); i > 0; --i) list.push_back(static_cast<std::int64_t>(Below(9)));
    return list;
  }

  std::mt19937 random_;
  std::vector<Endpoint> endpoints_;
};

TEST(StudioFuzz, RandomRequestsAreAnsweredOrRefused) {
  const long requests = NumberFrom("CHORUS_STUDIO_REQUESTS", 300);
  RequestDrawer drawer(static_cast<unsigned>(NumberFrom("CHORUS_STUDIO_SEED", 1)));
  Handler handler({AllEndpoints({"0.1.0", ""}), "", {}, false});
  long answered = 0;
  double longest = 0;
  std::string slowest;
  for (long i = 0; i < requests; ++i) {
    const StudioRequest request = drawer.Draw();
    const auto begin = std::chrono::steady_clock::now();
    const StudioReply reply = handler.Handle(request);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (took.count() > longest) {
      longest = took.count();
      slowest = request.path + " " + request.body.substr(0, 400);
    }
    // 503, 504: it would take too long.
    ASSERT_TRUE(reply.status == 200 || (reply.status >= 400 && reply.status < 500) ||
                reply.status == 503 || reply.status == 504)
        << reply.status << " " << request.path << " " << request.body << "\n"
        << reply.body;
    const Json json = Json::parse(reply.body, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << request.path << " " << request.body;
    if (reply.status == 200) {
      ++answered;
    } else {
      ASSERT_TRUE(json.contains("error") && json["error"].is_string()) << reply.body;
      const std::string& error = json["error"].get_ref<const std::string&>();
      ASSERT_FALSE(error.empty());
      ASSERT_EQ(error.find('\n'), std::string::npos) << error;
      // The field at fault is named, but where the request is none, or more than one is.
      const bool unknown = error.find("no field '") != std::string::npos &&
                           error.find("no field ''") == std::string::npos;
      const bool about_a_field = reply.status == 422 || unknown;
      ASSERT_TRUE(!about_a_field || json.contains("field")) << reply.body << " " << request.body;
    }
  }
  std::printf("%ld requests, %ld answered, the longest took %.3f s: %s\n", requests, answered,
              longest, slowest.c_str());
  EXPECT_GT(answered, requests / 20);
}

}  // namespace
}  // namespace chorus::studio
