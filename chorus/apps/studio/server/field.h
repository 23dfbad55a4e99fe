// Field: one named value of a request, with its type and limits. The table of endpoints is made of
// them; requests are checked against it and the JSON Schema is written from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chorus/apps/answer/json.h"
#include "chorus/apps/studio/server/refusal.h"

namespace chorus::studio {

using answer::Json;

inline constexpr std::size_t kMostText = 2000;   // characters of one text
inline constexpr std::size_t kMostItems = 4096;  // of one list

enum class FieldType : std::uint8_t { kText, kWhole, kNumber, kFlag, kTexts, kWholes };

struct Field {
  std::string name;
  FieldType type = FieldType::kText;
  std::string doc;
  bool required = false;
  // Of numbers.
  double least = 0;
  double most = 0;
  Json otherwise = nullptr;  // what is taken where it is not given, for the schema
  std::vector<std::string> examples = {};
};

// The fields of one request as they were given, checked.
class Fields {
 public:
  // `given` is an object. Refuses a field that is not in the table, a value of another type or out
  // of its limits, a required field that is missing.
  static std::optional<Refusal> Read(const std::vector<Field>& table, const Json& given,
                                     Fields& fields);

  bool Has(std::string_view name) const { return values_.contains(name); }
  // Sets `value` if the field was given, else leaves it as it is.
  template <typename T>
  void Get(std::string_view name, T& value) const {
    if (const auto found = values_.find(name); found != values_.end()) value = found->get<T>();
  }
  template <typename T>
  void Get(std::string_view name, std::optional<T>& value) const {
    if (const auto found = values_.find(name); found != values_.end()) value = found->get<T>();
  }
  const Json& values() const { return values_; }

 private:
  Json values_ = Json::object();
};

// "mesh=X%3D2&op=all_reduce" as names and values, in order. The first '=' ends a name; a '%' that
// begins no number stays as it is.
std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view text);

// The values of a query string as JSON of the types of the table: "4" of a whole number is 4, a
// repeated name a list. What is no number stays a text, and is refused as one.
Json FromQuery(const std::vector<Field>& table,
               const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace chorus::studio
