// Frame: what two ranks say to each other point to point, one message of their direct channel each.
//
//   sender   small: Eager(payload) ---------------------------------------->
//            large: Offer(size, where) ---> (a receive fits) <--- Wanted
//                   Data, Data, ... ------------------------------------>
//            large, in memory that the receiver can map:
//                   Offer(size, where) ---> (reads it there) <--- Taken
//   either   <--- Credit: so many bytes of early messages are off its hands
//
// Data frames are short, so that whatever else the two have to say goes between them.
// Thread safety: value types.
#pragma once

#include <cstdint>

#include "chorus/base/dtype.h"
#include "chorus/transport/links.h"
#include "chorus/transport/transport.h"

namespace chorus {

struct P2PFrame {
  enum class Kind : std::uint8_t {
    kEager,   // a message: serial, tag, dtype, payload
    kOffer,   // the envelope of a message whose payload waits: serial, tag, dtype; an OfferBody
    kData,    // the next part of the payload of `serial`
    kWanted,  // send the payload of `serial`
    kTaken,   // the payload of `serial` was read, or is not wanted: the sender is done with it
    kCredit,  // `tag` bytes
  };

  Kind kind = Kind::kEager;
  DType dtype = DType::kU8;
  std::uint64_t serial = 0;  // counts the messages of a sender to a receiver
  std::int64_t tag = 0;
  std::int64_t bytes = 0;  // of payload in this frame

  MessageHeader ToHeader() const {
    return {serial, static_cast<std::uint64_t>(tag), bytes,
            static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(dtype) << 8};
  }
  static P2PFrame Of(const MessageHeader& header) {
    return {static_cast<Kind>(header.id & 0xff), static_cast<DType>(header.id >> 8),
            header.sequence, static_cast<std::int64_t>(header.fingerprint), header.bytes};
  }
  friend bool operator==(const P2PFrame&, const P2PFrame&) = default;
};

// What an offer says of its payload.
struct OfferBody {
  std::int64_t bytes = 0;
  RegionKey place;  // where it can be read; no bytes if nowhere
};

}  // namespace chorus
