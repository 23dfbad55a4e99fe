#include "chorus/algorithm/hierarchical.h"

#include <fmt/format.h>

namespace chorus {

namespace {

constexpr std::int64_t kMostPieces = 64;

Status CheckWholeNodes(const AlgorithmNumbers& numbers) {
  constexpr std::int64_t kMostRanks = 1 << 20;
  if (numbers[0] < 1 || numbers[0] > kMostRanks) {
    return InvalidArgument(
        fmt::format("a node of {} ranks is not in 1 .. {}", numbers[0], kMostRanks));
  }
  if (numbers.size() > 2) return InvalidArgument(fmt::format("{} numbers", numbers.size()));
  if (numbers.size() == 1 || (numbers[1] >= 1 && numbers[1] <= kMostPieces)) return OkStatus();
  return InvalidArgument(fmt::format("{} pieces are not in 1 .. {}", numbers[1], kMostPieces));
}

Status FitWholeNodes(const AlgorithmNumbers& numbers, std::int64_t group_size) {
  if (group_size % numbers[0] == 0) return OkStatus();
  return InvalidArgument(
      fmt::format("{} ranks are no whole nodes of {}; two_level:{} takes any number of ranks",
                  group_size, numbers[0], numbers[0]));
}

}  // namespace

const AlgorithmParameter kWholeNodesParameter = {
    "L", "the ranks of a node, of which there are whole ones only, such as 8", 0, CheckWholeNodes,
    FitWholeNodes};

const AlgorithmParameter kWholeNodesInPiecesParameter = {
    "L",
    "the ranks of a node, of which there are whole ones only, such as 8, or these and into how "
    "many pieces that follow each other, such as 8x4",
    'x', CheckWholeNodes, FitWholeNodes};

Expr WholeNodes::On(const Expr& node) const { return ranks_ == 1 ? node : node * ranks_ + Local(); }
Expr WholeNodes::Block(const Expr& piece, const Expr& rank) const {
  return pieces_ == 1 ? rank : piece * Expr::GroupSize() + rank;
}
Expr WholeNodes::BlockOn(const Expr& piece, const Expr& node) const {
  return Block(piece, On(node));
}
Expr WholeNodes::Blocks() const {
  return pieces_ == 1 ? Expr::GroupSize() : Expr::GroupSize() * pieces_;
}

// Of each piece what came from inside the node, M blocks of each rank.
Expr WholeNodes::TmpSlots() const {
  const Expr one = ranks_ == 1 ? Expr(1) : (ranks_ - 1) * Nodes();
  return pieces_ == 1 ? one : one * pieces_;
}
Expr WholeNodes::TmpSlot(const Expr& piece, const Expr& local, const Expr& node) const {
  const Expr slot = (local - Gt(local, Local())) * Nodes() + node;
  return pieces_ == 1 ? slot : piece * ((ranks_ - 1) * Nodes()) + slot;
}
// Of each piece sums over the node, by node of their owner, and two slots for the sum that goes
// round, used in turn.
Expr WholeNodes::AccSlots() const { return pieces_ == 1 ? Nodes() + 2 : (Nodes() + 2) * pieces_; }
Expr WholeNodes::AccSlot(const Expr& piece, const Expr& slot) const {
  return pieces_ == 1 ? slot : piece * (Nodes() + 2) + slot;
}
// Of one piece 0 and M inside, the others between nodes.
Expr WholeNodes::Message(const Expr& piece, const Expr& number) const {
  return pieces_ == 1 ? number : piece * (2 * Nodes()) + number;
}
LabelExpr WholeNodes::Of(const Expr& piece, const char* name) const {
  return pieces_ == 1 ? Label(name) : Label(name)[piece];
}
std::string WholeNodes::ScheduleName() const {
  return pieces_ == 1 ? fmt::format("hierarchical_{}", ranks_)
                      : fmt::format("hierarchical_{}x{}", ranks_, pieces_);
}

std::vector<LabelExpr> WholeNodes::ReduceScatterDone(const Expr& piece) const {
  return {Of(piece, "u"), Of(piece, "a")[ranks_ - 1][Node()], Of(piece, "t")[Nodes() - 2]};
}

// The numbers are those of the worked example in hierarchical_reduce_scatter.cc.
void WholeNodes::AddToLocalRanks(ScheduleBuilder& b, const Expr& piece) const {
  const Expr m = Nodes(), d = Expr::Variable("d"), j = Expr::Variable("j");
  const Expr to = Expr::Variable("e"), from = Expr::Variable("p");
  // 1. Inside the node: to each rank the blocks of its local rank.
  b.For(d, 1, ranks_ - 1, [&] {
    b.Define(to, Behind(d));
    b.Define(from, Before(d));
    b.Send(Of(piece, "s")[to], {Each(j, 0, m - 1, In(Block(piece, j * ranks_ + to % ranks_)))})
        .To(to)
        .As(Message(piece, 0));
    b.Recv(Of(piece, "v")[from],
           {Each(j, 0, m - 1, Tmp(TmpSlot(piece, from % ranks_, j), BlockOn(piece, j)))})
        .From(from)
        .As(Message(piece, 0));
  });
}

void WholeNodes::AddSums(ScheduleBuilder& b, const Expr& piece) const {
  const Expr m = Nodes(), node = Node(), j = Expr::Variable("j"), q = Expr::Variable("q");
  const Expr k = Expr::Variable("k"), mine = Expr::Variable("c");
  const LabelExpr v = Of(piece, "v"), a = Of(piece, "a"), x = Of(piece, "x"), y = Of(piece, "y");
  const LabelExpr t = Of(piece, "t");
  const auto block = [&](const Expr& of) { return BlockOn(piece, of); };
  const Expr own_block = Block(piece, Expr::Rank());
  b.Copy(Of(piece, "u"), Out(own_block), Scaled(In(own_block)))
      .Finish()
      .When(Eq(Expr::GroupSize(), 1));
  // 2. Their sum over the node in rank order; of a single node it is finished.
  const auto sum_over_node = [&](const Expr& of) { return Acc(AccSlot(piece, of), block(of)); };
  const auto term = [&](const Expr& local) {
    return Select(Eq(Local(), local), Scaled(In(block(j))),
                  Scaled(Tmp(TmpSlot(piece, local, j), block(j))));
  };
  b.For(q, 1, ranks_ - 1, [&] {
    b.For(j, 0, m - 1, [&] {
      const ChunkExpr sum = Select(Eq(q, 1), term(0), sum_over_node(j));
      const Expr ends = And(Eq(m, 1), Eq(q, ranks_ - 1));
      const LabelExpr one = v[First() + q - 1], other = v[First() + q];
      b.Reduce(a[q][j], sum_over_node(j), sum, term(q))
          .After(a[q - 1][j], one, other)
          .When(Not(ends));
      b.Reduce(a[q][j], Out(own_block), sum, term(q))
          .Finish()
          .After(a[q - 1][j], one, other)
          .When(ends);
    });
  });
  // What there is here of a node's block: the sum over this node.
  const bool raw = ranks_ == 1;
  const auto here = [&](const Expr& of, bool adds) {
    if (!raw) return sum_over_node(of);
    return adds ? Scaled(In(block(of))) : In(block(of));
  };
  const auto moving = [&](const Expr& turn, const Expr& of) {
    return Acc(AccSlot(piece, m + turn % 2), block(of));
  };
  b.For(k, 0, m - 2, [&] {
    b.Define(mine, (node - k - 2) % m);
    const Expr passed = (mine + 1) % m;
    // 3. Between nodes: pass on the block before, at first the own sum of it.
    b.Send(x[k], {Select(Eq(k, 0), here(passed, false), moving(k - 1, passed))})
        .To(On((node + 1) % m))
        .As(Message(piece, k + 1))
        .After(a[ranks_ - 1][passed], t[k - 1]);
    // 4. Take the next block, into the slot that has been sent, and add; the last is the own block.
    const auto arrived = [&](bool adds) {
      ChunkExpr sum = moving(k, mine);
      if (!raw) return sum;
      const ChunkExpr first = Tmp(pieces_ == 1 ? Expr(0) : piece, block(mine));
      return Select(Eq(k, 0), adds ? Scaled(first) : first, sum);
    };
    b.Recv(y[k], {arrived(false)})
        .From(On((node - 1) % m))
        .As(Message(piece, k + 1))
        .After(x[k - 1]);
    const LabelExpr own = a[ranks_ - 1][mine];
    b.Reduce(t[k], moving(k, mine), arrived(true), here(mine, true))
        .After(y[k], own)
        .When(Lt(k, m - 2));
    b.Reduce(t[k], Out(block(mine)), arrived(true), here(mine, true))
        .Finish()
        .After(y[k], own)
        .When(Eq(k, m - 2));
  });
}

// The numbers are those of the worked example in hierarchical_all_gather.cc.
void WholeNodes::AddGather(ScheduleBuilder& b, const Expr& piece, const ChunkExpr& first,
                           bool summed) const {
  const Expr m = Nodes(), node = Node(), k = Expr::Variable("k"), j = Expr::Variable("j");
  const Expr d = Expr::Variable("d"), to = Expr::Variable("e"), from = Expr::Variable("p");
  const LabelExpr f = Of(piece, "f"), g = Of(piece, "g");
  const std::vector<LabelExpr> ready = summed ? ReduceScatterDone(piece) : std::vector<LabelExpr>();
  const auto message = [&](const Expr& i) { return Message(piece, summed ? m + i : i); };
  const auto block = [&](const Expr& of) { return BlockOn(piece, of); };
  const auto held = [&](const Expr& of) { return Select(Eq(of, node), first, Out(block(of))); };
  b.For(k, 0, m - 2, [&] {
    // 2. Between nodes: pass on the own block, then whatever came last,
    auto send = b.Send(f[k], {Select(Eq(k, 0), first, Out(block((node - k) % m)))});
    send.To(On((node + 1) % m)).As(message(k + 1)).After(g[k - 1]);
    for (const LabelExpr& label : ready) send.After(label);
    // 3. and take the next one.
    b.Recv(g[k], {Out(block((node - k - 1) % m))}).From(On((node - 1) % m)).As(message(k + 1));
  });
  b.For(d, 1, ranks_ - 1, [&] {
    b.Define(to, Behind(d));
    b.Define(from, Before(d));
    // 4. Inside the node: all of that to everyone, and theirs.
    auto send = b.Send(Of(piece, "w")[to], {Each(j, 0, m - 1, held(j))});
    send.To(to).As(message(0)).After(Every(Label("g")));
    for (const LabelExpr& label : ready) send.After(label);
    b.Recv(Of(piece, "z")[from], {Each(j, 0, m - 1, Out(Block(piece, j * ranks_ + from % ranks_)))})
        .From(from)
        .As(message(0));
  });
}

void WholeNodes::AddReduceScatter(ScheduleBuilder& b) const {
  AddToLocalRanks(b, 0);
  AddSums(b, 0);
}

void WholeNodes::AddAllGather(ScheduleBuilder& b, const ChunkExpr& first) const {
  AddGather(b, 0, first, false);
}

void WholeNodes::AddAllReduce(ScheduleBuilder& b) const {
  AddToLocalRanks(b, 0);
  const auto rest = [&](const Expr& piece) {
    AddSums(b, piece);
    AddGather(b, piece, Out(Block(piece, Expr::Rank())), true);
  };
  if (pieces_ == 1) return rest(0);
  const Expr piece = Expr::Variable("i");
  b.For(piece, 0, pieces_ - 2, [&] {
    AddToLocalRanks(b, piece + 1);
    rest(piece);
  });
  rest(pieces_ - 1);
}

}  // namespace chorus
