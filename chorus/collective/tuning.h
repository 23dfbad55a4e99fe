// Tuning: what `chorus tune` measured on this machine, found and agreed on when processes join.
//
// A folder holds one text of Choices for each placement, near.toml and far.toml: on virtual
// machines the cores of a job lie near to or far from each other from one start to the next, and
// other algorithms win. CHORUS_TUNING names the folder; unset it is $XDG_CONFIG_HOME/chorus (or
// ~/.config/chorus), and "off" means none. A folder that is named and holds neither file is an
// error; that the usual one is not there is none.
//
//   rank 0                                        every other rank
//   reads the texts; none: an empty message  ---> the built-in rule
//   a line to and fro with rank 1, 1 ms     <---> (rank 1)
//   sends the text of that placement         ---> the same choices on all ranks
#pragma once

#include <memory>
#include <string>

#include "chorus/algorithm/choices.h"
#include "chorus/base/status.h"
#include "chorus/collective/group.h"
#include "chorus/transport/transport.h"

namespace chorus {

enum class Placement : std::uint8_t { kNear, kFar };

// "near", "far".
std::string_view Name(Placement placement);
// Near if a line crosses in less than 150 ns, one way: between the 60 and 270 ns that occur.
Placement PlacementOf(double one_way_ns);

// The folder of this process's environment; empty for "off" or where there is no home.
std::string TuningFolder();
// `folder`/near.toml.
std::string TuningFile(const std::string& folder, Placement placement);

// The choices that all ranks of a new group of all ranks use. A collective call, before any
// operation of the group. `crossing_ns`, if not null: measure even if there is nothing to choose
// by, and store the one-way time there (0 with one rank). Errors, on every rank alike: kNotFound as
// above; a text that does not parse, naming its file; kDeadlineExceeded or kPeerLost.
Result<std::shared_ptr<const Choices>> AgreeOnChoices(Transport& transport, Links& links,
                                                      Transport::Clock::time_point deadline,
                                                      double* crossing_ns = nullptr);

// What `group` chooses by: to predict what it will do. Valid while the group is.
const Choices& ChoicesOf(const Group& group);

// Join for `chorus tune`: without stored choices, and with the time that a line takes between ranks
// 0 and 1, the same on every rank.
Result<Group> JoinMeasured(double& crossing_ns);

}  // namespace chorus
