// How many cores this process may use: what ranks are weighed against when one has to decide
// whether waiting may spin, and what threads of a rank share.
#pragma once

#include <optional>
#include <string>

#include "chorus/base/status.h"

namespace chorus {

// Cores in this thread's affinity mask, but no more than whole cores of processor time that the
// control groups of this process allow (version 2, or 1); at least 1. Reads files: call it when a
// group is made, not in a loop. Thread safety: any thread.
int UsableCores();

// The same of the whole host, wherever this thread is kept.
int HostCores();

// Keeps the calling thread on the (`index` modulo their number)th core of its affinity mask, so
// that what is measured does not wander. Where the system refuses, nothing changes.
void PinToCore(int index);

// Cores of processor time that the control groups of this process allow; empty if none sets a
// quota. Reads files.
std::optional<double> CpuQuota();

// Cores of processor time that a quota allows: the text of cpu.max ("150000 100000" -> 1.5). Empty
// for "max" and for text that is no quota.
std::optional<double> CoresOfQuota(const std::string& cpu_max);

// The smallest quota of the group named in `proc_cgroup` (the text of /proc/self/cgroup) and of the
// groups above it, where `mount` is the folder of the control groups (/sys/fs/cgroup). Empty if
// none sets one. Files that cannot be read set none.
std::optional<double> QuotaOfGroups(const std::string& proc_cgroup, const std::string& mount);

}  // namespace chorus
