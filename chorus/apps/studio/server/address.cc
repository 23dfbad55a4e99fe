#include "chorus/apps/studio/server/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace chorus::studio {
namespace {

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.compare(0, 4, "127.") == 0;
}

bool IsAny(const std::string& host) { return host == "0.0.0.0" || host == "::" || host == "0"; }

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string NameOfThisMachine() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? Lower(name) : "";
}

// The IPv4 addresses of this machine that others may reach.
std::vector<std::string> OwnAddresses() {
  std::vector<std::string> addresses;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return addresses;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    if ((at->ifa_flags & IFF_LOOPBACK) != 0 || (at->ifa_flags & IFF_UP) == 0) continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text)) != nullptr) {
      addresses.emplace_back(text);
    }
  }
  freeifaddrs(first);
  return addresses;
}

}  // namespace

ServedHost ServedHostOf(const std::string& host) {
  ServedHost served{Lower(host), false, {}};
  if (served.bind.size() > 2 && served.bind.front() == '[' && served.bind.back() == ']') {
    served.bind = served.bind.substr(1, served.bind.size() - 2);
  }
  served.others = !IsLoopback(served.bind);
  served.names = {served.bind};
  if (served.others) served.names.push_back(NameOfThisMachine());
  return served;
}

std::vector<std::string> AddressesOf(const ServedHost& host, int port) {
  std::vector<std::string> hosts = {host.bind};
  if (IsAny(host.bind)) {
    hosts = OwnAddresses();
    hosts.insert(hosts.begin(), "127.0.0.1");
  }
  for (std::string& one : hosts) {
    const bool six = one.find(':') != std::string::npos;
    one = six ? fmt::format("http://[{}]:{}/", one, port) : fmt::format("http://{}:{}/", one, port);
  }
  return hosts;
}

}  // namespace chorus::studio
