#include "chorus/apps/studio/server/endpoint.h"

namespace chorus::studio {
namespace {

Json TextSchema() { return {{"type", "string"}, {"maxLength", kMostText}}; }

Json FieldSchema(const Field& field) {
  Json schema;
  switch (field.type) {
    case FieldType::kText:
      schema = TextSchema();
      break;
    case FieldType::kWhole:
      schema = {{"type", "integer"}};
      break;
    case FieldType::kNumber:
      schema = {{"type", "number"}};
      break;
    case FieldType::kFlag:
      schema = {{"type", "boolean"}};
      break;
    case FieldType::kTexts:
      schema = {{"type", "array"}, {"maxItems", kMostItems}, {"items", TextSchema()}};
      break;
    case FieldType::kWholes:
      schema = {{"type", "array"}, {"maxItems", kMostItems}, {"items", {{"type", "integer"}}}};
      break;
  }
  if (field.least < field.most) {
    schema["minimum"] = field.least;
    schema["maximum"] = field.most;
  }
  schema["description"] = field.doc;
  if (!field.otherwise.is_null()) schema["default"] = field.otherwise;
  if (!field.examples.empty()) schema["examples"] = field.examples;
  return schema;
}

Json RequestSchema(const Endpoint& endpoint) {
  Json schema = {
      {"title", endpoint.name},        {"description", endpoint.doc},  {"type", "object"},
      {"additionalProperties", false}, {"properties", Json::object()}, {"required", Json::array()}};
  for (const Field& field : endpoint.fields) {
    schema["properties"][field.name] = FieldSchema(field);
    if (field.required) schema["required"].push_back(field.name);
  }
  return schema;
}

}  // namespace

Json SchemaOf(const std::vector<Endpoint>& endpoints) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Chorus Studio"},
                 {"description", "Requests of POST /api/NAME: each is a schema of $defs"},
                 {"$defs", Json::object()},
                 {"anyOf", Json::array()}};
  for (const Endpoint& endpoint : endpoints) {
    schema["$defs"][endpoint.name] = RequestSchema(endpoint);
    schema["anyOf"].push_back({{"$ref", "#/$defs/" + endpoint.name}});
  }
  // What every refusal looks like.
  schema["$defs"]["error"] = {
      {"type", "object"},
      {"properties",
       {{"error", {{"type", "string"}}},
        {"field", {{"type", "string"}}},
        {"at",
         {{"type", "object"},
          {"properties", {{"begin", {{"type", "integer"}}}, {"end", {{"type", "integer"}}}}}}},
        {"spellings", {{"type", "array"}, {"items", {{"type", "string"}}}}}}},
      {"required", {"error"}}};
  return schema;
}

}  // namespace chorus::studio
