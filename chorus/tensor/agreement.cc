#include "chorus/tensor/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "chorus/base/fnv.h"
#include "chorus/tensor/executable.h"

namespace chorus {
namespace {

// What a rank tells the others first.
struct Said {
  std::uint64_t question = 0;  // hash
  std::uint64_t program = 0;   // hash; 0 for none
  std::int64_t code = 0;       // of what it could make of the question, a StatusCode

  bool ok() const { return code == static_cast<std::int64_t>(StatusCode::kOk); }
};
static_assert(sizeof(Said) == 3 * sizeof(std::int64_t));

// A text of each rank, by rank.
Result<std::vector<std::string>> GatherTexts(Group& world, const std::string& mine) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(world.size()));
  const std::array<std::int64_t, 1> length = {std::ssize(mine)};
  CHORUS_RETURN_IF_ERROR(world.AllGather(length, lengths));
  const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  std::string all(static_cast<std::size_t>(total), ' ');
  CHORUS_RETURN_IF_ERROR(world.AllGatherV({mine.data(), length[0], DType::kU8},
                                          {all.data(), total, DType::kU8}, lengths));
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::int64_t size : lengths) {
    texts.push_back(all.substr(begin, static_cast<std::size_t>(size)));
    begin += static_cast<std::size_t>(size);
  }
  return texts;
}

// The first rank whose text is not that of rank 0; as many as there are if all are alike.
std::size_t FirstOther(const std::vector<std::string>& texts) {
  const auto other = std::find_if(texts.begin(), texts.end(),
                                  [&](const std::string& text) { return text != texts[0]; });
  return static_cast<std::size_t>(other - texts.begin());
}

Status AskedDifferently(Runtime& runtime, const std::string& question, const Status& mine) {
  CHORUS_ASSIGN_OR_RETURN(std::vector<std::string> texts, GatherTexts(runtime.world(), question));
  std::size_t other = FirstOther(texts);
  if (other == texts.size()) {  // then it was asked on different meshes
    CHORUS_ASSIGN_OR_RETURN(
        texts, GatherTexts(runtime.world(), question + " on " + runtime.mesh().ToString()));
    other = FirstOther(texts);
  }
  if (other == texts.size()) return Internal("two hashes of one question: " + question);
  return InvalidArgument(fmt::format(
      "rank 0 asks for {}, but rank {} for {}; every rank must ask for the same{}{}", texts[0],
      other, texts[other], mine.ok() ? "" : "; this one could not do it: ", mine.message()));
}

// The first line of two texts that is not the same in both.
std::array<std::string, 2> FirstDifference(const std::string& a, const std::string& b) {
  std::size_t line = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i) {
    if (a[i] == '\n') line = i + 1;
  }
  const auto of = [line](const std::string& text) {
    const std::size_t begin = std::min(text.find_first_not_of(' ', line), text.size());
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  return {of(a), of(b)};
}

Status PlannedDifferently(Runtime& runtime, const std::string& question,
                          const Executable* program) {
  CHORUS_ASSIGN_OR_RETURN(
      const std::vector<std::string> texts,
      GatherTexts(runtime.world(), program == nullptr ? "no program" : program->Text()));
  const std::size_t other = FirstOther(texts);
  if (other == texts.size()) return Internal("two hashes of one program for " + question);
  const std::array<std::string, 2> lines = FirstDifference(texts[0], texts[other]);
  return InvalidArgument(fmt::format(
      "for {} the programs of ranks differ: rank 0 has '{}', but rank {} '{}'; give all ranks the "
      "same program, sizes and RuntimeOptions",
      question, lines[0], other, lines[1]));
}

}  // namespace

Status AgreeOn(Runtime& runtime, const std::string& question, const Status& mine,
               const Executable* program) {
  Group& world = runtime.world();
  if (world.size() == 1) return mine;
  const Said said = {Fnv1a(question, runtime.mesh_hash()), program == nullptr ? 0 : program->hash(),
                     static_cast<std::int64_t>(mine.code())};
  std::vector<Said> all(static_cast<std::size_t>(world.size()));
  constexpr std::int64_t kFields = 3;
  CHORUS_RETURN_IF_ERROR(world.AllGather({&said, kFields, DType::kI64},
                                         {all.data(), kFields * world.size(), DType::kI64}));
  bool asked_alike = true, planned_alike = true;
  std::size_t refused_by = all.size();
  std::size_t refusals = 0;
  for (std::size_t r = all.size(); r-- > 0;) {
    asked_alike = asked_alike && all[r].question == all[0].question;
    planned_alike = planned_alike && all[r].program == all[0].program;
    if (all[r].ok()) continue;
    refused_by = r;
    ++refusals;
  }
  if (!asked_alike) return AskedDifferently(runtime, question, mine);
  if (refusals == all.size()) return mine;
  if (refusals > 0) {
    CHORUS_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                            GatherTexts(world, mine.message()));
    if (!mine.ok()) return mine;
    return Status(static_cast<StatusCode>(all[refused_by].code),
                  fmt::format("rank {} cannot do {}: {}", refused_by, question, texts[refused_by]));
  }
  return planned_alike ? OkStatus() : PlannedDifferently(runtime, question, program);
}

}  // namespace chorus
