// The whole Transport interface, on both transports: threads, and processes forked with hellos.
#include "chorus/transport/transport.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "chorus/transport/shm/arena.h"
#include "chorus/transport/shm/shm_transport.h"
#include "chorus/transport/thread/thread_transport.h"

namespace chorus {
namespace {

using testing::HasSubstr;
using Body = std::function<std::string(Transport&, Links&)>;
constexpr std::int64_t kChannel = 512;

// Runs `body` as ranks 0 and 1 on two threads; "" from both is a pass.
void OnThreads(const Body& body) {
  auto transports = MakeThreadTransports(2);
  std::vector<Region> inboxes;
  for (const auto& each : transports) inboxes.push_back(each->AllocateInbox(2, kChannel).value());
  std::string results[2];
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const std::unique_ptr<Transport> mine = std::move(transports[rank]);
      const auto links =
          mine->Connect({0, 1}, rank, inboxes[rank], {inboxes[0].key, inboxes[1].key}, kChannel);
      results[rank] = body(*mine, **links);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results[0], "");
  EXPECT_EQ(results[1], "");
}

// What a rank tells the other: its hello's data, and where the other can open the descriptors.
struct Note {
  ShmHelloData data;
  pid_t pid;
  int arena;
};

// Rank `rank` in a process of its own; notes are exchanged through two pipes.
std::string RunRank(int rank, int write_end, int read_end, const Body& body) {
  const auto side = ShmTransport::Open(rank, 2, kChannel).value();
  const ShmHello own = side->Hello().value();
  const Note mine{own.data, getpid(), own.arena.get()};
  Note theirs{};
  if (write(write_end, &mine, sizeof(mine)) != sizeof(mine) ||
      read(read_end, &theirs, sizeof(theirs)) != sizeof(theirs)) {
    return "the notes were not exchanged";
  }
  std::vector<ShmHello> hellos(2);
  ShmHello& hello = hellos[1 - rank];
  hello.data = theirs.data;
  const std::string path = fmt::format("/proc/{}/fd/{}", theirs.pid, theirs.arena);
  hello.arena = Descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
  hello.pidfd = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, theirs.pid, 0)));
  const Status status = side->Attach(std::move(hellos));
  // The other may go on once this one needs its descriptors no more.
  if (write(write_end, &rank, sizeof(rank)) != sizeof(rank)) return "no last word";
  int other = -1;
  if (read(read_end, &other, sizeof(other)) != sizeof(other)) return "no last word came";
  if (!status.ok()) return status.ToString();
  const auto links = side->ConnectWorld();
  return body(*side, **links);
}

void OnProcesses(const Body& body) {
  int there[2];
  int back[2];
  int result[2];
  ASSERT_EQ(pipe(there) + pipe(back) + pipe(result), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = RunRank(1, back[1], there[0], body);
    _exit(write(result[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  close(result[1]);
  EXPECT_EQ(RunRank(0, there[1], back[0], body), "");
  char buffer[256] = {};
  EXPECT_EQ(read(result[0], buffer, sizeof(buffer) - 1), 0) << buffer;
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (const int fd : {there[0], there[1], back[0], back[1], result[0]}) close(fd);
}

class TransportTest : public testing::TestWithParam<const char*> {
 protected:
  static void Run(const Body& body) {
    std::string(GetParam()) == "thread" ? OnThreads(body) : OnProcesses(body);
  }
};
INSTANTIATE_TEST_SUITE_P(All, TransportTest, testing::Values("thread", "shm"),
                         [](const auto& test) { return std::string(test.param); });

// Sends `bytes` of payload as one message that fits the channel.
bool SendBytes(Links& links, int peer, const void* data, std::int64_t bytes) {
  MessageSender& sender = links.sender(peer);
  if (!sender.Begin({1, 0, bytes, 0})) return false;
  std::memcpy(sender.Writable().data(), data, static_cast<std::size_t>(bytes));
  sender.Commit(bytes);
  return true;
}

// Sleeps on the doorbell until `ready`.
void WaitUntil(Transport& transport, const std::function<bool()>& ready) {
  while (!ready()) {
    const auto ticket = transport.Arm();
    if (ready()) return transport.Disarm();
    transport.Wait(ticket, Transport::Clock::now() + std::chrono::seconds(20));
  }
}

// A message's payload, once it is there.
template <typename T>
T Receive(Transport& transport, Links& links, int peer) {
  MessageReceiver& receiver = links.receiver(peer);
  WaitUntil(transport, [&] { return receiver.Front() != nullptr; });
  T value;
  std::memcpy(&value, receiver.Readable().data(), sizeof(T));
  receiver.Consume(sizeof(T));
  return value;
}

TEST_P(TransportTest, PutWithSignalGetAndMap) {
  Run([](Transport& transport, Links& links) -> std::string {
    const int peer = 1 - transport.rank();
    if (!transport.capabilities(peer).map_allocated) return "allocated memory cannot be mapped";
    if (!transport.capabilities(peer).put_get) return "no put";
    Region region = transport.Allocate(4096).value();
    for (int i = 0; i < 4096; ++i) {
      if (region.data[i] != std::byte{0}) return "fresh memory is not zero";
    }
    if (!SendBytes(links, peer, &region.key, sizeof(RegionKey))) return "no room";
    const auto theirs = Receive<RegionKey>(transport, links, peer);
    // 1. Put a number to byte 64 and signal on the word at byte 8.
    const std::int64_t mine = 100 + transport.rank();
    if (!transport.Put(&mine, 8, theirs, 64, Signal{theirs, 8, 3}).ok()) return "put failed";
    WaitUntil(transport, [&] { return transport.LoadSignal(region, 8) == 3; });
    std::int64_t got = 0;
    std::memcpy(&got, region.data + 64, 8);
    if (got != 100 + peer) return "the signal came before the bytes";
    // 2. Get it back from the peer, and see the same through a mapping.
    if (!transport.Get(theirs, 64, &got, 8).ok() || got != mine) return "get gave something else";
    std::int64_t mapped = 0;
    std::memcpy(&mapped, transport.Map(theirs).value() + 64, 8);
    if (mapped != mine) return "the mapping shows something else";
    if (transport.one_sided() != SentCounter{8, 1}) return "put is not counted";
    // 3. Outside the region.
    if (transport.Put(&mine, 8, theirs, 4092, {}).ok()) return "put beyond the end was done";
    if (transport.Get(theirs, -8, &got, 8).ok()) return "get before the beginning was done";
    if (transport.Put(&mine, 8, theirs, 0, Signal{theirs, 4, 1}).ok()) return "odd signal";
    return "";
  });
}

TEST_P(TransportTest, RegisterSaysWhatPeersCanReach) {
  Run([](Transport& transport, Links&) -> std::string {
    const int peer = 1 - transport.rank();
    std::vector<std::byte> ordinary(100);
    const auto region = transport.Register(ordinary.data(), 100);
    if (region.ok() != transport.capabilities(peer).map_registered) {
      return "Register and the capability disagree";
    }
    if (!region.ok() && region.status().code() != StatusCode::kUnsupported) return "another code";
    const Region own = transport.Allocate(1000).value();
    const auto inner = transport.Register(own.data + 10, 100);
    if (!inner.ok()) return "memory within an allocation cannot be registered";
    if (transport.Map(inner->key).value() != own.data + 10)
      return "an inner pointer maps elsewhere";
    transport.Release(own);
    return "";
  });
}

TEST_P(TransportTest, TheFirstValueOfACellStaysAndTheNewestNote) {
  Run([](Transport& transport, Links& links) -> std::string {
    const int peer = 1 - transport.rank();
    const auto own = static_cast<std::uint64_t>(transport.rank()) + 1;
    std::vector<std::uint64_t> words(static_cast<std::size_t>(links.board_words()), 0);
    if (links.ReadNote(transport.rank(), words)) return "a note before the first";
    const std::uint64_t settled = links.Settle(links.cells() - 1, own);
    if (links.Settled(0) != 0) return "another cell";
    for (const std::uint64_t k : {1, 2}) {
      words.assign(words.size(), 0);
      words.front() = k;
      words.back() = settled;
      links.Note(words);
    }
    std::vector<std::uint64_t> theirs(words.size());
    WaitUntil(transport, [&] { return links.ReadNote(peer, theirs) && theirs.front() == 2; });
    if (theirs.back() != settled) return "the ranks see different values";
    if (links.Settle(links.cells() - 1, 99) != settled) return "a later value counts";
    return "";
  });
}

TEST_P(TransportTest, RecordsPoisonAndGoodbye) {
  Run([](Transport& transport, Links& links) -> std::string {
    const int rank = transport.rank();
    const int peer = 1 - rank;
    const std::uint64_t last = Links::kRecords + 2;
    for (std::uint64_t k = 1; k <= last; ++k) {
      links.Publish({k, 70 + k, 5, 1000 + rank, CallRecord::State::kRunning, -1});
    }
    links.AddStart(last - 1, 5000);
    links.Finish(last - 1, CallRecord::End::kOk, 6000);
    // One that waits is there to be read, but is not the newest of those that have begun.
    links.Publish({last + 1, 9, 9, 9, CallRecord::State::kPosted, -1});
    const std::int32_t label = links.Label("ring");
    if (links.Label("direct") == label || links.Label("ring") != label) return "a wrong label";
    links.Publish({last, 80, 5, 1000 + rank, CallRecord::State::kFailed, 1, label});
    links.RingAll();
    WaitUntil(transport,
              [&] { return links.Record(peer, last).state == CallRecord::State::kFailed; });
    if (links.Published(peer) != last) return "another newest record";
    const CallRecord record = links.Record(peer, last);
    if (record != CallRecord{last, 80, 5, 1000 + peer, CallRecord::State::kFailed, 1, label}) {
      return "another record";
    }
    if (links.LabelOf(peer, record.label) != "ring") return "another label";
    if (!links.LabelOf(peer, -1).empty()) return "a label where there is none";
    if (links.Record(peer, last + 1).state != CallRecord::State::kPosted) return "not posted";
    const CallRecord before = links.Record(peer, last - 1);
    if (before.count != 1000 + peer) return "the record before is gone";
    if (before.started != 5000 || before.ended != 6000 || before.end != CallRecord::End::kOk) {
      return "other times";
    }
    if (links.Record(peer, 1).state != CallRecord::State::kNone) return "a record too old is there";
    if (rank == 0 && !links.poison().ok()) return "poisoned at the beginning";
    if (rank == 0) links.Poison(Status(StatusCode::kAborted, "enough"));
    WaitUntil(transport, [&] { return !links.poison().ok(); });
    links.Poison(Status(StatusCode::kInternal, "too late"));
    if (links.poison() != Status(StatusCode::kAborted, "enough")) return "another poison";
    if (rank == 1) return "";  // leaves
    WaitUntil(transport, [&] {
      return links.Departed(peer) && transport.peer_state(peer) == PeerState::kLeft;
    });
    return "";
  });
}

TEST(ArenaTest, MemoryIsReservedReusedAndZeroed) {
  Arena arena = Arena::Create(std::int64_t{1} << 30).value();
  std::byte* const a = arena.Allocate(5000).value();
  std::byte* const b = arena.Allocate(1).value();
  EXPECT_EQ(b - a, 8192);
  a[4999] = std::byte{7};
  EXPECT_TRUE(arena.Contains(a, 5000));
  EXPECT_FALSE(arena.Contains(a - 1, 1));
  EXPECT_FALSE(arena.Contains(a, std::int64_t{1} << 40));
  arena.Free(a);
  std::byte* const c = arena.Allocate(8000).value();
  EXPECT_EQ(c, a);
  EXPECT_EQ(c[4999], std::byte{0});
  arena.Free(b);
  arena.Free(c);
  EXPECT_EQ(arena.Allocate(std::int64_t{1} << 20).value(), arena.base());
}

TEST(ArenaTest, TooMuchIsAnErrorAndNoSignal) {
  Arena arena = Arena::Create(std::int64_t{1} << 20).value();
  const auto result = arena.Allocate(std::int64_t{2} << 20);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(result.status().message(),
              HasSubstr("2097152 bytes do not fit into the arena of 1048576"));
}

TEST(ArenaTest, APeerCannotCutItShort) {
  const Arena arena = Arena::Create(std::int64_t{1} << 20).value();
  EXPECT_NE(ftruncate(arena.fd(), 4096), 0);
}

TEST(ShmTransportTest, AnotherArenaIsNoticed) {
  const auto a = ShmTransport::Open(0, 2, kChannel).value();
  const auto b = ShmTransport::Open(1, 2, kChannel).value();
  std::vector<ShmHello> hellos(2);
  hellos[1] = b->Hello().value();
  hellos[1].data.token ^= 1;
  EXPECT_THAT(a->Attach(std::move(hellos)).message(),
              HasSubstr("rank 0 and rank 1 do not share memory"));
}

}  // namespace
}  // namespace chorus
