#include "chorus/probe/cores.h"

#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace chorus {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<double> Smaller(std::optional<double> a, std::optional<double> b) {
  if (!a) return b;
  if (!b) return a;
  return std::min(*a, *b);
}

// "cpu,cpuacct" names the controller "cpu".
bool Controls(const std::string& controllers, const std::string& name) {
  std::istringstream list(controllers);
  std::string controller;
  while (std::getline(list, controller, ',')) {
    if (controller == name) return true;
  }
  return false;
}

// Version 1 keeps the two numbers of cpu.max in two files; a quota of -1 means none.
std::optional<double> QuotaOfVersion1(const std::string& folder) {
  const std::string quota = TextOf(folder + "/cpu.cfs_quota_us");
  const std::string period = TextOf(folder + "/cpu.cfs_period_us");
  return CoresOfQuota(quota + " " + period);
}

int WithinQuota(int cores) {
  const std::optional<double> quota = CpuQuota();
  if (quota) cores = std::min(cores, static_cast<int>(*quota));
  return std::max(1, cores);
}

}  // namespace

std::optional<double> CoresOfQuota(const std::string& cpu_max) {
  std::istringstream words(cpu_max);
  double quota = 0;
  double period = 0;
  if (!(words >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> QuotaOfGroups(const std::string& proc_cgroup, const std::string& mount) {
  std::optional<double> least;
  std::istringstream lines(proc_cgroup);
  std::string line;  // "0::/a/b" in version 2, "4:cpu,cpuacct:/a/b" in version 1
  while (std::getline(lines, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool version2 = controllers.empty();
    if (!version2 && !Controls(controllers, "cpu")) continue;
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    while (true) {
      std::string folder = mount;
      folder.append(version2 ? "" : "/cpu").append(path);
      least = Smaller(
          least, version2 ? CoresOfQuota(TextOf(folder + "/cpu.max")) : QuotaOfVersion1(folder));
      if (path.empty()) break;
      path.erase(path.rfind('/'));
    }
  }
  return least;
}

std::optional<double> CpuQuota() {
  return QuotaOfGroups(TextOf("/proc/self/cgroup"), "/sys/fs/cgroup");
}

void PinToCore(int index) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  int left = index % CPU_COUNT(&usable);
  int core = 0;
  while (!CPU_ISSET(core, &usable) || left-- > 0) ++core;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return WithinQuota(sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1);
}

int HostCores() { return WithinQuota(get_nprocs()); }

}  // namespace chorus
