// The plan of the house, and which room a path lies in.
#include "tests/house/law.h"

namespace chorus::house {

const std::map<std::string, Room, std::less<>>& Rooms() {
  constexpr Kind kThinking = Kind::kThinking;
  constexpr Kind kDoing = Kind::kDoing;
  static const std::map<std::string, Room, std::less<>> rooms = {
      {"base", {0, kThinking}},       //
      {"topology", {1, kThinking}},   //
      {"mesh", {1, kThinking}},       //
      {"schedule", {1, kThinking}},   //
      {"kernel", {1, kDoing}},        //
      {"graph", {1, kThinking}},      //
      {"program", {2, kThinking}},    //
      {"transport", {2, kDoing}},     //
      {"probe", {2, kDoing}},         //
      {"algorithm", {3, kThinking}},  //
      {"verify", {3, kThinking}},     //
      {"cost", {3, kThinking}},       //
      {"model", {3, kThinking}},      //
      {"launch", {3, kDoing}},        //
      {"run", {3, kDoing}},           //
      {"shard", {4, kThinking}},      //
      {"collective", {4, kDoing}},    //
      {"strategy", {5, kThinking}},   //
      {"tensor", {5, kDoing}},        //
      {"plan", {6, kThinking}},       //
      {"train", {6, kDoing}},         //
      {"apps/answer", {7, kDoing}},   //
      {"apps/torch", {7, kDoing}},    //
      {"apps/studio", {8, kDoing}},   //
      {"apps/cli", {9, kDoing}},      //
  };
  return rooms;
}

std::string RoomOf(std::string_view path) {
  constexpr std::string_view kHouse = "chorus/";
  constexpr std::string_view kApps = "apps/";
  if (path.substr(0, kHouse.size()) != kHouse) return "";
  path.remove_prefix(kHouse.size());
  const std::size_t from = path.substr(0, kApps.size()) == kApps ? kApps.size() : 0;
  return std::string(path.substr(0, path.find('/', from)));
}

}  // namespace chorus::house
