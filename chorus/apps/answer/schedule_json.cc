#include "chorus/apps/answer/schedule_json.h"

namespace chorus::answer {

nlohmann::ordered_json ToJson(const Step& step) {
  nlohmann::ordered_json json = {{"label", step.label}, {"verb", Name(step.verb)}};
  if (step.IsMessage()) {
    json["peer"] = step.peer;
    json["message"] = step.message;
  }
  json["chunks"] = nlohmann::ordered_json::array();
  for (const Chunk& chunk : step.chunks) {
    nlohmann::ordered_json c = {{"buffer", Name(chunk.buffer)}, {"block", chunk.block}};
    if (IsScratch(chunk.buffer)) c["slot"] = chunk.slot;
    if (chunk.scaled) c["scaled"] = true;
    json["chunks"].push_back(std::move(c));
  }
  if (!step.IsMessage()) json["finish"] = step.finish;
  json["after"] = step.after;
  return json;
}

nlohmann::ordered_json ToJson(const Expansion& expansion) {
  nlohmann::ordered_json json = {{"operation", Name(expansion.op)},
                                 {"order", Name(expansion.order)},
                                 {"group_size", expansion.group_size},
                                 {"root", expansion.root},
                                 {"blocks", expansion.frames[0].blocks}};
  json["ranks"] = nlohmann::ordered_json::array();
  for (const std::vector<Step>& steps : expansion.ranks) {
    nlohmann::ordered_json rank = nlohmann::ordered_json::array();
    for (const Step& step : steps) rank.push_back(ToJson(step));
    json["ranks"].push_back(std::move(rank));
  }
  return json;
}

}  // namespace chorus::answer
