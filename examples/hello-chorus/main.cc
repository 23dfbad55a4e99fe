// Each rank brings a vector; afterwards each has the sum of all.
//
//   chorus run -n 4 ./hello-chorus
#include <chorus/collective/group.h>

#include <cstdio>
#include <vector>

int main() {
  // Who am I, and who are the others? `chorus run` has said so in the environment.
  chorus::Result<chorus::Group> joined = chorus::Join();
  if (!joined.ok()) {
    std::fprintf(stderr, "hello-chorus: %s\n", joined.status().message().c_str());
    return 1;
  }
  chorus::Group group = *joined;

  // Rank r brings r+1, 2(r+1), 3(r+1).
  const float mine = static_cast<float>(group.rank() + 1);
  std::vector<float> x = {mine, 2 * mine, 3 * mine};
  if (const chorus::Status status = group.AllReduce(x, chorus::ReduceOp::kSum); !status.ok()) {
    std::fprintf(stderr, "hello-chorus: %s\n", status.message().c_str());
    return 1;
  }

  // With 4 ranks 1+2+3+4 = 10, so every rank prints 10 20 30.
  std::printf("hello from rank %d of %d: the sums are %g %g %g\n", group.rank(), group.size(), x[0],
              x[1], x[2]);
  return 0;
}
