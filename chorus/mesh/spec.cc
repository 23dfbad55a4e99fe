#include "chorus/mesh/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "chorus/mesh/notation.h"
#include "chorus/mesh/spelling.h"

namespace chorus {
namespace {

// Where an axis stands in a spec, for messages.
std::string Place(const Spec& spec, std::string_view axis) {
  for (const SpecDim& dim : spec.dims()) {
    if (std::find(dim.axes.begin(), dim.axes.end(), axis) != dim.axes.end()) {
      return fmt::format("on dimension {}", dim.name);
    }
  }
  return "among the partial axes {U}";
}

// The mesh with two ranks along each axis that the spec uses and it lacks.
std::string WithAxesOf(const Spec& spec, const Mesh& mesh) {
  std::string text = mesh.ToString();
  const auto add = [&](const AxisNames& axes) {
    for (const std::string& axis : axes) {
      if (!mesh.HasAxis(axis)) text += fmt::format("{}{}=2", text.empty() ? "" : ",", axis);
    }
  };
  for (const SpecDim& dim : spec.dims()) add(dim.axes);
  add(spec.partial());
  return text;
}

}  // namespace

Result<Spec> Spec::Create(std::string name, std::vector<SpecDim> dims, AxisNames partial) {
  std::vector<std::pair<std::string, std::string>> used;  // axis, place
  const auto use = [&used](const std::string& axis, std::string place) -> Status {
    for (const auto& [other, where] : used) {
      if (other == axis) {
        return InvalidArgument(fmt::format(
            "axis {} is used twice: {} and {}; an axis can be used once, so gather one of them",
            axis, where, place));
      }
    }
    used.emplace_back(axis, std::move(place));
    return OkStatus();
  };
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].name.empty()) {
      return InvalidArgument(fmt::format("dimension {} of {} has no name", i, name));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (dims[j].name == dims[i].name) {
        return InvalidArgument(
            fmt::format("dimension {} is given twice; dimensions of one array need different names",
                        dims[i].name));
      }
    }
    for (const std::string& axis : dims[i].axes) {
      CHORUS_RETURN_IF_ERROR(use(axis, fmt::format("on dimension {}", dims[i].name)));
    }
  }
  for (const std::string& axis : partial) {
    CHORUS_RETURN_IF_ERROR(use(axis, "among the partial axes {U}"));
  }
  std::sort(partial.begin(), partial.end());
  Spec spec;
  spec.name_ = std::move(name);
  spec.dims_ = std::move(dims);
  spec.partial_ = std::move(partial);
  return spec;
}

Spec Spec::Whole(std::string name, const std::vector<std::string>& dims) {
  std::vector<SpecDim> whole;
  whole.reserve(dims.size());
  for (const std::string& dim : dims) whole.push_back({dim, {}});
  Result<Spec> spec = Create(std::move(name), std::move(whole));
  assert(spec.ok());
  return std::move(spec).value();
}

Result<Spec> Spec::Parse(std::string_view text) {
  Scanner scanner(text);
  CHORUS_ASSIGN_OR_RETURN(Spec spec, ScanSpec(scanner));
  if (!scanner.AtEnd()) {
    return scanner.Error("the spec ends before this; write one array, like A[I_X, J]{U_Y}");
  }
  return spec;
}

std::vector<std::string> Spec::DimNames() const {
  std::vector<std::string> names;
  names.reserve(dims_.size());
  for (const SpecDim& dim : dims_) names.push_back(dim.name);
  return names;
}

int Spec::FindDim(std::string_view dim) const {
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i].name == dim) return static_cast<int>(i);
  }
  return -1;
}

const AxisNames& Spec::AxesOf(std::string_view dim) const {
  static const AxisNames kNone;
  const int i = FindDim(dim);
  return i < 0 ? kNone : dims_[static_cast<std::size_t>(i)].axes;
}

bool Spec::IsPartial(std::string_view axis) const {
  return std::find(partial_.begin(), partial_.end(), axis) != partial_.end();
}

bool Spec::Uses(std::string_view axis) const {
  const auto splits = [axis](const SpecDim& dim) {
    return std::find(dim.axes.begin(), dim.axes.end(), axis) != dim.axes.end();
  };
  return IsPartial(axis) || std::any_of(dims_.begin(), dims_.end(), splits);
}

Spec Spec::WithName(std::string name) const {
  Spec spec = *this;
  spec.name_ = std::move(name);
  return spec;
}

Result<Spec> Spec::WithAxes(std::string_view dim, AxisNames axes) const {
  const int i = FindDim(dim);
  if (i < 0) return InvalidArgument(fmt::format("{} has no dimension {}", ToString(), dim));
  std::vector<SpecDim> dims = dims_;
  dims[static_cast<std::size_t>(i)].axes = std::move(axes);
  return Create(name_, std::move(dims), partial_);
}

Result<Spec> Spec::WithPartial(AxisNames partial) const {
  return Create(name_, dims_, std::move(partial));
}

Status Spec::Check(const Mesh& mesh) const {
  const auto check = [&](const std::string& axis) -> Status {
    if (mesh.HasAxis(axis)) return OkStatus();
    return InvalidArgument(fmt::format(
        "{} uses axis {} {}, but the mesh has only {}, so write {}, or give the mesh the "
        "axis: {}",
        ToString(), axis, Place(*this, axis), mesh.axes().empty() ? "one rank" : mesh.ToString(),
        NearestOn(*this, mesh).ToString(), WithAxesOf(*this, mesh)));
  };
  for (const SpecDim& dim : dims_) {
    for (const std::string& axis : dim.axes) CHORUS_RETURN_IF_ERROR(check(axis));
  }
  for (const std::string& axis : partial_) CHORUS_RETURN_IF_ERROR(check(axis));
  return OkStatus();
}

std::string Spec::ToString() const {
  std::string text = name_ + "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ", ";
    text += dims_[i].name;
    if (!dims_[i].axes.empty()) text += "_" + JoinAxes(dims_[i].axes);
  }
  text += "]";
  if (!partial_.empty()) text += "{U_" + JoinAxes(partial_) + "}";
  return text;
}

}  // namespace chorus
