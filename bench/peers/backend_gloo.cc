// Gloo as a side: TCP over the loopback interface, which is all that it has on one host.
//
// Settings: "ring", "bcube" (the calls of today), "halving_doubling", "ring_chunked" (the algorithm
// objects of old, which are tied to one buffer: data is copied in and out), each of the last two
// also as "..._busy" with sockets that are polled.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "bench/peers/backend.h"
#include "bench/peers/control.h"

namespace peers {
namespace {

using Connected = std::shared_ptr<gloo::rendezvous::Context>;

class GlooBackend final : public Backend {
 public:
  explicit GlooBackend(const Place& place) : place_(place), context_(Connect("calls")) {}

  int rank() const override { return place_.rank; }
  int size() const override { return place_.size; }
  std::byte* AllocateSymmetric(std::int64_t /*bytes*/) override { return nullptr; }

  std::string Prepare(const Block& block) override {
    if (block.dtype != DType::kF32) return "only f32 here";
    op_ = block.op;
    in_ = static_cast<std::size_t>(CountsOf(block, rank(), size()).in);
    out_ = static_cast<std::size_t>(CountsOf(block, rank(), size()).out);
    ring_or_bcube_ = block.setting == "bcube" ? gloo::AllreduceOptions::Algorithm::BCUBE
                                              : gloo::AllreduceOptions::Algorithm::RING;
    if (block.setting == object_setting_ && in_ == buffer_.size()) return "";
    object_.reset();
    object_setting_.clear();
    return MakeObject(block.setting);
  }

  bool Call(const void* in, void* out) override {
    try {
      Run(const_cast<float*>(static_cast<const float*>(in)), static_cast<float*>(out));
      return true;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gloo: %s\n", error.what());
      return false;
    }
  }

  void Barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }

 private:
  Connected Connect(const std::string& name) const {
    gloo::transport::tcp::attr attr;
    attr.iface = "lo";
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attr);
    auto context = std::make_shared<gloo::rendezvous::Context>(place_.rank, place_.size);
    gloo::rendezvous::FileStore files(place_.folder);
    gloo::rendezvous::PrefixStore store(name, files);
    context->connectFullMesh(store, device);
    return context;
  }

  std::string MakeObject(const std::string& setting) {
    const bool reduces = op_ == Op::kAllReduce || op_ == Op::kReduceScatter;
    if (op_ == Op::kReduceScatter && setting.rfind("halving_doubling", 0) != 0) {
      return "reduce_scatter is an algorithm object only";
    }
    const bool busy = setting.size() > 5 && setting.substr(setting.size() - 5) == "_busy";
    const std::string name = busy ? setting.substr(0, setting.size() - 5) : setting;
    if (!reduces || (name != "halving_doubling" && name != "ring_chunked")) return "";
    Connected& context = busy ? busy_context_ : object_context_;
    if (context == nullptr) {
      context = Connect(busy ? "busy" : "objects");
      for (int peer = 0; busy && peer < size(); ++peer) {
        if (peer != rank()) context->getPair(peer)->setSync(true, true);
      }
    }
    buffer_.assign(in_, 0.0F);
    const std::vector<float*> pointers = {buffer_.data()};
    const int count = static_cast<int>(in_);
    if (op_ == Op::kReduceScatter) {
      const std::vector<int> pieces(static_cast<std::size_t>(size()), static_cast<int>(out_));
      object_ = std::make_unique<gloo::ReduceScatterHalvingDoubling<float>>(context, pointers,
                                                                            count, pieces);
    } else if (name == "halving_doubling") {
      object_ = std::make_unique<gloo::AllreduceHalvingDoubling<float>>(context, pointers, count);
    } else {
      object_ = std::make_unique<gloo::AllreduceRingChunked<float>>(context, pointers, count);
    }
    object_setting_ = setting;
    return "";
  }

  void Run(float* in, float* out) {
    if (object_ != nullptr) {
      std::memcpy(buffer_.data(), in, in_ * sizeof(float));
      object_->run();
      std::memcpy(out, buffer_.data(), out_ * sizeof(float));
      return;
    }
    void (*sum)(void*, const void*, const void*, std::size_t) = &gloo::sum<float>;
    switch (op_) {
      case Op::kAllReduce: {
        gloo::AllreduceOptions options(context_);
        options.setAlgorithm(ring_or_bcube_);
        options.setInput(in, in_);
        options.setOutput(out, out_);
        options.setReduceFunction(sum);
        gloo::allreduce(options);
        return;
      }
      case Op::kAllGather: {
        gloo::AllgatherOptions options(context_);
        options.setInput(in, in_);
        options.setOutput(out, out_);
        gloo::allgather(options);
        return;
      }
      case Op::kAllToAll: {
        gloo::AlltoallOptions options(context_);
        options.setInput(in, in_);
        options.setOutput(out, out_);
        gloo::alltoall(options);
        return;
      }
      case Op::kBroadcast: {
        gloo::BroadcastOptions options(context_);
        options.setRoot(0);
        if (rank() == 0) {
          options.setOutput(in, in_);  // without input: in place
        } else {
          options.setOutput(out, out_);
        }
        gloo::broadcast(options);
        return;
      }
      case Op::kReduce: {
        gloo::ReduceOptions options(context_);
        options.setRoot(0);
        options.setInput(in, in_);
        if (rank() != 0) {  // needs room there too
          scratch_.resize(in_);
          out = scratch_.data();
        }
        options.setOutput(out, in_);
        options.setReduceFunction(sum);
        gloo::reduce(options);
        return;
      }
      case Op::kGather: {
        gloo::GatherOptions options(context_);
        options.setRoot(0);
        options.setInput(in, in_);
        if (rank() == 0) options.setOutput(out, out_);
        gloo::gather(options);
        return;
      }
      case Op::kScatter: {
        gloo::ScatterOptions options(context_);
        options.setRoot(0);
        if (rank() == 0) {
          std::vector<float*> pieces;
          for (std::size_t r = 0; r < static_cast<std::size_t>(size()); ++r) {
            pieces.push_back(in + r * out_);
          }
          options.setInputs(pieces, out_);
        }
        options.setOutput(out, out_);
        gloo::scatter(options);
        return;
      }
      case Op::kReduceScatter:
        return;  // always an object
      case Op::kBarrier:
        Barrier();
        return;
    }
  }

  Place place_;
  Connected context_;
  Connected object_context_;
  Connected busy_context_;
  Op op_ = Op::kAllReduce;
  std::size_t in_ = 0;   // elements
  std::size_t out_ = 0;  // elements
  gloo::AllreduceOptions::Algorithm ring_or_bcube_ = gloo::AllreduceOptions::Algorithm::RING;
  std::unique_ptr<gloo::Algorithm> object_;
  std::string object_setting_;
  std::vector<float> buffer_;   // of object_
  std::vector<float> scratch_;  // of a reduce on ranks that are not the root
};

}  // namespace

std::unique_ptr<Backend> MakeBackend(int* /*argc*/, char*** /*argv*/, const Place& place) {
  PinToCore(place.rank);
  return std::make_unique<GlooBackend>(place);
}

}  // namespace peers
