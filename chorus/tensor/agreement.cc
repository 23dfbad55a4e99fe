#include "chorus/tensor/agreement.h"

#include <fmt/format.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "chorus/base/fnv.h"

namespace chorus {
namespace {

// The questions of all ranks, by rank; `lengths` are theirs.
Result<std::vector<std::string>> GatherTexts(Group& world, const std::string& mine,
                                             const std::vector<std::int64_t>& lengths) {
  const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  std::string all(static_cast<std::size_t>(total), ' ');
  CHORUS_RETURN_IF_ERROR(
      world.AllGatherV({mine.data(), static_cast<std::int64_t>(mine.size()), DType::kU8},
                       {all.data(), total, DType::kU8}, lengths));
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::int64_t length : lengths) {
    texts.push_back(all.substr(begin, static_cast<std::size_t>(length)));
    begin += static_cast<std::size_t>(length);
  }
  return texts;
}

}  // namespace

Status AgreeOn(Runtime& runtime, const std::string& question, const Status& mine) {
  Group& world = runtime.world();
  if (world.size() == 1) return mine;
  constexpr std::size_t kFields = 3;
  const std::vector<std::int64_t> said = {static_cast<std::int64_t>(Fnv1a(question)),
                                          std::ssize(question), mine.ok() ? 1 : 0};
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<std::int64_t> all(kFields * ranks);
  CHORUS_RETURN_IF_ERROR(world.AllGather(said, all));
  std::vector<std::int64_t> lengths;
  bool alike = true;
  std::size_t refused_by = ranks;
  for (std::size_t r = ranks; r-- > 0;) {
    const std::int64_t* const theirs = &all[kFields * r];
    lengths.insert(lengths.begin(), theirs[1]);
    alike = alike && theirs[0] == all[0] && theirs[1] == all[1];
    if (theirs[2] == 0) refused_by = r;
  }
  if (alike) {
    if (!mine.ok() || refused_by == ranks) return mine;
    return InvalidArgument(fmt::format("rank {} cannot do {}, and says why", refused_by, question));
  }
  CHORUS_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                          GatherTexts(world, question, lengths));
  std::size_t other = 1;
  while (texts[other] == texts[0]) ++other;
  return InvalidArgument(
      fmt::format("rank 0 asks for {}, but rank {} for {}; every rank must ask for the same",
                  texts[0], other, texts[other]));
}

}  // namespace chorus
