// A program for `chorus run --keep-going`: rank 1 kills itself amid calls, the others shrink and
// sum.
#include <csignal>
#include <cstdio>
#include <vector>

#include "chorus/collective/group.h"

int main() {
  chorus::Result<chorus::Group> group = chorus::Join();
  if (!group.ok()) return 10;
  std::vector<float> x = {1};
  if (!group->AllReduce(x).ok()) return 11;
  if (group->rank() == 1) raise(SIGKILL);
  // The rank that is gone has been in the call before, so this one cannot end well.
  if (group->AllReduce(x).ok()) return 12;
  chorus::Result<chorus::Group> rest = group->Shrink();
  if (!rest.ok()) return 13;
  x = {static_cast<float>(1 << group->rank())};
  if (!rest->AllReduce(x).ok()) return 14;
  std::printf("rank %d of %d was %d, sum %g\n", rest->rank(), rest->size(), group->rank(), x[0]);
  return 0;
}
