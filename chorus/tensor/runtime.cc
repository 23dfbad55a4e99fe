#include "chorus/tensor/runtime.h"

#include <fmt/format.h>

#include <algorithm>

#include "chorus/base/fnv.h"

namespace chorus {

Runtime::Runtime(Group world, Mesh mesh, const RuntimeOptions& options)
    : world_(std::move(world)),
      mesh_(std::move(mesh)),
      mesh_hash_(Fnv1a(mesh_.ToString())),
      options_(options),
      trace_(ProgramTrace::FromEnvironment(world_.rank())),
      memory_(options.poison_memory,
              options.reachable_memory && world_.size() > 1
                  ? ArrayMemory::Source([this](std::int64_t bytes) -> std::shared_ptr<void> {
                      Result<std::shared_ptr<void>> memory = world_.AllocateReachable(bytes);
                      return memory.ok() ? *std::move(memory) : nullptr;
                    })
                  : nullptr,
              options.memory) {}

Result<std::unique_ptr<Runtime>> Runtime::Create(Group world, Mesh mesh,
                                                 const RuntimeOptions& options) {
  if (world.size() != mesh.size()) {
    return InvalidArgument(fmt::format(
        "the mesh {} has {} ranks, but {} were started; they must be equal",
        mesh.ToString().empty() ? "without axes" : mesh.ToString(), mesh.size(), world.size()));
  }
  return std::unique_ptr<Runtime>(new Runtime(std::move(world), std::move(mesh), options));
}

Result<Group*> Runtime::GroupOver(const AxisNames& axes) {
  const auto known = groups_.find(axes);
  if (known != groups_.end()) return known->second.get();
  // A group is known by its smallest rank; two groups over the same axes share no rank.
  const std::vector<std::int64_t> members = mesh_.Group(rank(), axes);
  const auto color = static_cast<int>(*std::min_element(members.begin(), members.end()));
  const auto key = static_cast<int>(mesh_.IndexInGroup(rank(), axes));
  Result<Group> made = world_.Split(color, key);
  if (!made.ok()) return made.status().WithContext("group over " + JoinAxes(axes));
  return groups_.emplace(axes, std::make_unique<Group>(std::move(*made))).first->second.get();
}

void Runtime::Abort(const std::string& reason) {
  for (const auto& [axes, group] : groups_) group->Abort(reason);
  world_.Abort(reason);
}

}  // namespace chorus
