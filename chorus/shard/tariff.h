// Tariff: what the planner weighs bytes against operations with, and the prices of moves.
//
// Choices are made by one number, in bytes a rank sends: what is sent, plus what is computed
// divided by how much the machine computes in the time of sending a byte, plus a toll a collective.
//   price = bytes sent + FLOP / flops_per_byte + collectives x latency_bytes
// Thread safety: pure.
#pragma once

#include <cstdint>

#include "chorus/base/units.h"
#include "chorus/program/program.h"

namespace chorus {

struct Tariff {
  // FLOP a rank does while it sends one byte. The default is a GPU of an H100 node: 989e12 FLOP/s
  // in bf16 over 450e9 B/s, one direction.
  double flops_per_byte = 2198;
  // Bytes a rank could have sent in the time that starting a collective takes.
  double latency_bytes = 0;
};

// What one rank pays for some way of doing something; ways are compared by Price.
struct Cost {
  Bytes bytes_sent;
  Flops flops;
  int collectives = 0;

  friend Cost operator+(const Cost& a, const Cost& b) {
    return {a.bytes_sent + b.bytes_sent, a.flops + b.flops, a.collectives + b.collectives};
  }
  friend bool operator==(const Cost&, const Cost&) = default;
};

double Price(const Cost& cost, const Tariff& tariff);

// Bytes one rank sends in a collective of n ranks over `elements` joined elements, by the
// algorithms that send least (ring and direct alike), rounded up:
//   all_gather, reduce_scatter  (n - 1)/n V        all_reduce  2 (n - 1)/n V
// Where blocks are uneven this is the average over ranks. Planning uses it; what the chosen
// algorithm really sends is in traffic.h. What all_to_all and permute send depends on which blocks
// stay: reshard_search.h. REQUIRES: all_gather, reduce_scatter or all_reduce; n >= 1.
Bytes LeastBytesSent(ProgramOpKind kind, std::int64_t n, std::int64_t elements, DType dtype);

}  // namespace chorus
