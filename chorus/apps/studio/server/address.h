// Where the server is found: what is bound, and what a browser is told.
#pragma once

#include <string>
#include <vector>

namespace chorus::studio {

// What --host means.
struct ServedHost {
  std::string bind;                // a name or an address, lower case
  bool others;                     // other machines reach it too
  std::vector<std::string> names;  // what a Host header may say besides addresses
};

ServedHost ServedHostOf(const std::string& host);

// The addresses to open, the best first: "http://127.0.0.1:8733/". Of one that stands for all
// addresses of this machine, which no browser can open, these are its own.
std::vector<std::string> AddressesOf(const ServedHost& host, int port);

}  // namespace chorus::studio
