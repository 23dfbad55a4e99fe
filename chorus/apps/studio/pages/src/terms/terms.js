// Words of the field that several pages show: operations and algorithms. Their names stay as in the code; what they mean is
// said in the language of the page.

import { language, words } from '../shell/language.svelte.js';
import en from './en.js';
import zh from './zh.js';
import { ideas } from './ideas.zh.js';

export const term = words({ en, zh });

/** "all_reduce", in Chinese with its gloss: "all_reduce 全归约". */
export function operationName(operation) {
  return language.current === 'zh' ? `${operation} ${term(`operations.${operation}.name`)}` : operation;
}

/** What an algorithm does, in one line: the tool's own in English, `idea` being that. */
export function ideaOf(operation, algorithm, idea) {
  const name = algorithm.replace(/:.*/, '');
  return language.current === 'zh' ? ideas[`${name} ${operation}`] ?? idea : idea;
}

/** "steps: 2(N - 1), bytes sent per rank: 2(N - 1)/N V" in the language of the page. */
export function costOf(cost) {
  if (language.current !== 'zh') return cost;
  return phrases.reduce((text, [from, to]) => text.replaceAll(from, to), cost);
}
/** "out[b] = x_q[b], q the owner of b, for every b" in the language of the page. */
export function promiseOf(promise) {
  if (language.current !== 'zh') return promise;
  return promises.reduce((text, [from, to]) => text.replaceAll(from, to), promise);
}
const promises = [
  [', q the owner of b', '，q 是 b 的主人'], [', on the root only', '，仅 root'], [' for every b', '，对每个 b'], [' for every i', '，对每个 i'],
  [" for the rank's own b", '，b 是该 rank 自己的块'], [', on rank r > 0', '，在 rank r > 0'], [', on rank r', '，在 rank r'],
  ['no rank ends before every rank has begun', '所有 rank 都开始之前，没有 rank 结束'], [',，', '，'],
];

const phrases = [
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
