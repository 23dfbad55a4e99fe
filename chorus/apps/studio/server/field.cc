#include "chorus/apps/studio/server/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "chorus/base/nearest.h"

namespace chorus::studio {
namespace {

std::string_view TypeName(FieldType type) {
  switch (type) {
    case FieldType::kText:
      return "a text";
    case FieldType::kWhole:
      return "a whole number";
    case FieldType::kNumber:
      return "a number";
    case FieldType::kFlag:
      return "true or false";
    case FieldType::kTexts:
      return "a list of texts";
    case FieldType::kWholes:
      break;
  }
  return "a list of whole numbers";
}

// A number that is whole, whether written 4 or 4.0, and fits into 64 bits.
bool IsWhole(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= 0x7fffffffffffffff;
  if (value.is_number_integer()) return true;
  return value.is_number_float() && std::abs(value.get<double>()) < 0x1p53 &&
         std::floor(value.get<double>()) == value.get<double>();
}

bool HasType(const Json& value, FieldType type) {
  switch (type) {
    case FieldType::kText:
      return value.is_string();
    case FieldType::kWhole:
      return IsWhole(value);
    case FieldType::kNumber:
      return value.is_number() && std::isfinite(value.get<double>());
    case FieldType::kFlag:
      return value.is_boolean();
    case FieldType::kTexts:
      return value.is_array() &&
             std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_string(); });
    case FieldType::kWholes:
      break;
  }
  return value.is_array() && std::all_of(value.begin(), value.end(), IsWhole);
}

std::optional<Refusal> CheckValue(const Field& field, const Json& value) {
  if (!HasType(value, field.type)) {
    return Refusal{400, fmt::format("{} must be {}", field.name, TypeName(field.type)), field.name};
  }
  const auto too_long = [&](const Json& text) {
    return text.get_ref<const std::string&>().size() > kMostText;
  };
  if (field.type == FieldType::kText && too_long(value)) {
    return Refusal{422, fmt::format("{} is longer than {} characters", field.name, kMostText),
                   field.name};
  }
  if (value.is_array() && value.size() > kMostItems) {
    return Refusal{422, fmt::format("{} has more than {} items", field.name, kMostItems),
                   field.name};
  }
  if (field.type == FieldType::kTexts && std::any_of(value.begin(), value.end(), too_long)) {
    return Refusal{422,
                   fmt::format("{} has a text longer than {} characters", field.name, kMostText),
                   field.name};
  }
  if (value.is_number() && field.least < field.most) {
    const double number = value.get<double>();
    if (number < field.least || number > field.most) {
      return Refusal{422,
                     fmt::format("{} {} is out of range; give {} to {}", field.name, value.dump(),
                                 field.least, field.most),
                     field.name};
    }
  }
  return std::nullopt;
}

// Whole numbers are kept as such, so that 4.0 is 4.
Json Normal(const Field& field, const Json& value) {
  if (field.type == FieldType::kWhole) {
    return value.is_number_float() ? Json(static_cast<std::int64_t>(value.get<double>())) : value;
  }
  if (field.type != FieldType::kWholes) return value;
  Json list = Json::array();
  for (const Json& item : value) {
    list.push_back(item.is_number_float() ? Json(static_cast<std::int64_t>(item.get<double>()))
                                          : item);
  }
  return list;
}

Json ReadNumber(const std::string& text, bool whole) {
  const char* end = text.data() + text.size();
  if (whole) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stop == end) return number;
    return text;
  }
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end && std::isfinite(number)) return number;
  return text;
}

Json ReadValue(const Field& field, const std::string& text) {
  switch (field.type) {
    case FieldType::kWhole:
    case FieldType::kWholes:
      return ReadNumber(text, true);
    case FieldType::kNumber:
      return ReadNumber(text, false);
    case FieldType::kFlag:
      if (text == "true" || text == "1") return true;
      if (text == "false" || text == "0") return false;
      return text;
    default:
      return text;
  }
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string Decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
                       HexDigit(text[i + 2]) >= 0;
    if (coded) {
      decoded += static_cast<char>(16 * HexDigit(text[i + 1]) + HexDigit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    query.emplace_back(Decoded(part.substr(0, equals)),
                       Decoded(part.substr(std::min(equals + 1, part.size()))));
  }
  return query;
}

std::optional<Refusal> Fields::Read(const std::vector<Field>& table, const Json& given,
                                    Fields& fields) {
  if (!given.is_object()) {
    return Refusal{400, "a request is a JSON object, like {\"op\": \"all_reduce\"}"};
  }
  fields.values_ = Json::object();
  std::vector<std::string> known;
  for (const Field& field : table) known.push_back(field.name);
  for (const auto& [name, value] : given.items()) {
    const auto field = std::find_if(table.begin(), table.end(),
                                    [&name = name](const Field& f) { return f.name == name; });
    if (field == table.end()) {
      const std::string shown = name.size() > 60 ? name.substr(0, 60) + "..." : name;
      return Refusal{400,
                     known.empty() ? fmt::format("there is no field '{}'; this takes none", shown)
                                   : fmt::format("there is no field '{}'; {}", shown,
                                                 NearestAdvice(shown, known)),
                     shown};
    }
  }
  // In the order of the table, so that the same question is the same text.
  for (const Field& field : table) {
    if (const auto value = given.find(field.name); value != given.end() && !value->is_null()) {
      if (std::optional<Refusal> refusal = CheckValue(field, *value)) return refusal;
      fields.values_[field.name] = Normal(field, *value);
    }
    if (!field.required || fields.Has(field.name)) continue;
    return Refusal{400,
                   fmt::format("{} is missing: {}{}", field.name, field.doc,
                               field.examples.empty() ? "" : ", like " + field.examples[0]),
                   field.name};
  }
  return std::nullopt;
}

Json FromQuery(const std::vector<Field>& table,
               const std::vector<std::pair<std::string, std::string>>& query) {
  Json json = Json::object();
  for (const auto& [name, text] : query) {
    const auto field = std::find_if(table.begin(), table.end(),
                                    [&name = name](const Field& f) { return f.name == name; });
    if (field == table.end()) {
      json[name] = text;
      continue;
    }
    Json value = ReadValue(*field, text);
    const bool list = field->type == FieldType::kTexts || field->type == FieldType::kWholes;
    if (list) {
      json[name].push_back(std::move(value));
    } else {
      json[name] = std::move(value);
    }
  }
  return json;
}

}  // namespace chorus::studio
