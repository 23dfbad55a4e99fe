#include "chorus/shard/tariff.h"

namespace chorus {

double Price(const Cost& cost, const Tariff& tariff) {
  return static_cast<double>(cost.bytes_sent.value()) +
         static_cast<double>(cost.flops.value()) / tariff.flops_per_byte +
         cost.collectives * tariff.latency_bytes;
}

Bytes LeastBytesSent(ProgramOpKind kind, std::int64_t n, std::int64_t elements, DType dtype) {
  const std::int64_t sent = kind == ProgramOpKind::kAllReduce ? 2 * elements : elements;
  return Bytes((sent - sent / n) * SizeOf(dtype));  // (n - 1)/n of it, rounded up, without overflow
}

}  // namespace chorus
