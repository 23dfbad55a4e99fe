// A two-level all_reduce as text, for tests: reduce_scatter inside each node of `g` ranks, rings
// between the nodes, all_gather inside each node. Block b belongs to local rank b % g.
// e[-1] and z copy to nowhere: each is one step that stands for all that went before.
#pragma once

#include <string>

#include "chorus/schedule/schedule.h"

namespace chorus {

inline Schedule TwoLevelAllReduce(std::int64_t g) {
  std::string text = R"(
schedule two_level all_reduce
  blocks N
  order any
  tmp G * (N / G)
  acc N + 1
begin
  let nodes = N / G
  let node = r / G
  let mine = r % G
  for j in 0 .. nodes - 1
    for d in 1 .. G - 1
      s[j, d]: send in[j * G + (mine + d) % G] to node * G + (mine + d) % G as j
    end
    for d in 1 .. G - 1
      v[j, d]: recv tmp[j * G + d : j * G + mine] from node * G + (mine + G - d) % G as j
      a[j, d]: reduce acc[j : j * G + mine] = (d == 1 ? scaled in[j * G + mine] : acc[j : j * G + mine]) + scaled tmp[j * G + d : j * G + mine] after v[j, d], a[j, d - 1]
    end
  end
  e[0 - 1]: copy tmp[0 : mine] = in[mine] after a[*]
  for k in 0 .. nodes - 2
    let out_of = (node - k - 1) % nodes
    let into = (node - k - 2) % nodes
    f[k]: send acc[out_of : out_of * G + mine] to (r + G) % N as nodes + k after e[k - 1]
    g[k]: recv acc[nodes : into * G + mine] from (r - G) % N as nodes + k after e[k - 1]
    e[k]: reduce acc[into : into * G + mine] = acc[nodes : into * G + mine] + acc[into : into * G + mine] after g[k], f[k]
  end
  c: copy out[node * G + mine] = acc[node : node * G + mine] finish after e[*]
  for k in 0 .. nodes - 2
    h[k]: send out[(node - k) % nodes * G + mine] to (r + G) % N as 2 * nodes + k after c, i[k - 1]
    i[k]: recv out[(node - k - 1) % nodes * G + mine] from (r - G) % N as 2 * nodes + k
  end
  z: copy tmp[0 : mine] = in[mine] after i[*], c
  for j in 0 .. nodes - 1
    for d in 1 .. G - 1
      p[j, d]: send out[j * G + mine] to node * G + (mine + d) % G as 3 * nodes + j after z
    end
    for d in 1 .. G - 1
      q[j, d]: recv out[j * G + (mine + G - d) % G] from node * G + (mine + G - d) % G as 3 * nodes + j
    end
  end
end
)";
  for (std::size_t at = text.find('G'); at != std::string::npos; at = text.find('G', at + 1)) {
    text.replace(at, 1, std::to_string(g));
  }
  const Result<Schedule> schedule = Schedule::Parse(text);
  return *schedule;
}

}  // namespace chorus
