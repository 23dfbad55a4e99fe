// What algorithms cost, in Chinese. Pure.

const phrases = [
  [' between nodes (sums there as accumulators)', '（节点之间，那里的和为累加器）'], [' between nodes (sums as accumulators)', '（节点之间，和为累加器）'], [' between nodes', '（节点之间）'], [' V inside, ', ' V（节点之内），'], [' V inside', ' V（节点之内）'],
  ['bytes sent per rank: ', '每个 rank 发送字节：'], ['signals sent per rank: ', '每个 rank 发送信号：'], ['steps: ', '步数：'],
  ['(after the first step as accumulators)', '（第一步之后为累加器）'], ['(sums after the first step as accumulators)', '（第一步之后的和为累加器）'],
  ['(after round 0 as accumulators)', '（第 0 轮之后为累加器）'], ['(after round 0 of the sums as accumulators)', '（求和第 0 轮之后为累加器）'],
  ['(after round 0 as accumulators, but by rank 0)', '（第 0 轮之后为累加器，rank 0 除外）'],
  ['(by rank 0 as elements, by the others as accumulators)', '（rank 0 发元素，其余发累加器）'],
  ['(2 more if N > P, the power of two below)', '（若 N > P 再加 2；P 为不超过 N 的 2 的幂）'],
  ['2 times the sum over axes of (size - 1)', '2 × 各轴 (长度 - 1) 之和'], ['sum over axes of (size - 1)', '各轴 (长度 - 1) 之和'],
  [', by the root ', '，root 为 '], [', by a leader ', '，组长为 '], [', by other leaders ', '，其他组长为 '], [', by the last rank ', '，最后一个 rank 为 '],
  ['V times its children, (N - 1) V in all', 'V × 子节点数，合计 (N - 1) V'], ['V/N times the ranks it holds', 'V/N × 它持有的 rank 数'],
  ['V/N times the ranks it serves', 'V/N × 它负责的 rank 数'], ['at most ', '至多 '], [' on average', '（平均）'], ['up to ', '至多 '], ['about ', '约 '],
  ['V for each k with ', 'V × 满足右式的 k 的个数：'], ['(steps 2 to N - 1 as accumulators)', '（第 2 到 N - 1 步为累加器）'],
  ['(steps 2 to floor(N / 2) as accumulators)', '（第 2 到 floor(N / 2) 步为累加器）'], [', 每个', '；每个'],
];

/** "steps: 2(N - 1), bytes sent per rank: 2(N - 1)/N V" -> "步数：2(N - 1)；每个 rank 发送字节：2(N - 1)/N V". */
export function costInChinese(cost) {
  return phrases.reduce((text, [from, to]) => text.replaceAll(from, to), cost);
}
