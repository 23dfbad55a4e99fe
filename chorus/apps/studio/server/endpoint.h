// Endpoint: one question of the JSON interface. The table of all of them is the interface.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "chorus/apps/studio/server/field.h"

namespace chorus::studio {

struct Endpoint {
  std::string name;  // POST /api/NAME
  std::string doc;
  std::vector<Field> fields;
  // Called with fields that were checked against the table. Thread safety: from several at once.
  std::function<Result<Json>(const Fields&)> answer;
  // Legal texts, after a refusal. May be empty.
  std::function<std::vector<std::string>(const Fields&)> spellings = {};
  // Some of its questions take minutes: it is answered in a process of its own, and given up after
  // some seconds.
  bool takes_long = false;
  // Its answers depend on files, and are worked out anew each time.
  bool changes = false;
};

struct EndpointOptions {
  std::string version;  // of the tool
  std::string runs;     // the folder of the page Runs; "": none
};

std::vector<Endpoint> AllEndpoints(const EndpointOptions& options);

// The JSON Schema (draft 2020-12) of the interface: {"$defs": {NAME: schema of its request}}.
Json SchemaOf(const std::vector<Endpoint>& endpoints);

}  // namespace chorus::studio
