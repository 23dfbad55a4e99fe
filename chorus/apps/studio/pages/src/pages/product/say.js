// The tool's own words about products in the language of the page. Pure.

import { wideMarks } from '../../format/wide.js';

const planWords = [
  [/splits the contracted (\w+) in (\w+) and in (\w+)/, '在 $2 和 $3 中都切分被收缩的 $1'],
  [/splits the contracted (\w+) in (\w+) and nothing in (\w+)/, '在 $2 中切分被收缩的 $1，在 $3 中不切'],
  [/splits (\w+) in (\w+) and nothing in (\w+)/, '在 $2 中切分 $1，在 $3 中不切'],
  [/splits (\w+) in (\w+) and in (\w+)/, '在 $2 和 $3 中都切分 $1'],
  [/splits the contracted (\w+) in (\w+) and splits (\w+) in (\w+)/, '在 $2 中切分被收缩的 $1，在 $4 中切分 $3'],
  [/splits (\w+) in (\w+) and splits the contracted (\w+) in (\w+)/, '在 $2 中切分 $1，在 $4 中切分被收缩的 $3'],
  [/splits (\w+) in (\w+) and splits (\w+) in (\w+)/, '在 $2 中切分 $1，在 $4 中切分 $3'],
  [/^splits the contracted (\w+) in (\w+)$/, '在 $2 中切分被收缩的 $1'], [/^splits (\w+) in (\w+)$/, '在 $2 中切分 $1'],
  [/\bpasses a sum on\b/g, '传递待求的和'], [/\bpasses the sum of (\w+) on\b/g, '传递 $1 待求的和'], [/\brepeats\b/g, '重复'], [/\bsplits /g, '切分 '],
  [/all_gather (\w+) over (\w+) of ([\w.]+)/g, '沿 $2 对 $3 的 $1 做 all_gather'],
  [/all_to_all (\w+) to (\w+) over (\w+) of ([\w.]+)/g, '沿 $3 对 $4 做 all_to_all（$1 到 $2）'],
  [/reduce_scatter (\w+) over (\w+) of ([\w.]+)/g, '沿 $2 对 $3 做 reduce_scatter（切 $1）'],
  [/reduce_scatter (\w+) over (\w+)/g, '沿 $2 做 reduce_scatter（切 $1）'],
  [/all_reduce over (\w+) of ([\w.]+)/g, '沿 $1 对 $2 做 all_reduce'], [/all_reduce over (\w+)/g, '沿 $1 做 all_reduce'],
  [/permute to (\[[^\]]*\]) over (\w+) of ([\w.]+)/g, '沿 $2 把 $3 置换为 $1'], [/permute to (\[[^\]]*\]) over (\w+)/g, '沿 $2 置换为 $1'],
  [/; then (\w+): /g, '；然后 $1：'],
  [/; (\w+) and (\w+) come in (\d+) panels of (\w+)/g, '；$1 和 $2 按 $4 分 $3 片到来'], [/; (\w+) comes in (\d+) panels of (\w+)/g, '；$1 按 $3 分 $2 片到来'],
  [/slice (\w+) over (\w+) of ([\w.]+)/g, '沿 $2 对 $3 的 $1 取片'],
  [/; ([\w.]+) comes in (\d+) x (\d+) chunks/g, '；$1 分 $2 × $3 块到来'], [/; ([\w.]+) goes in (\d+) x (\d+) chunks/g, '；$1 分 $2 × $3 块送出'],
  [/(块到来|块送出) by halves/g, '$1，每块为余下的一半'], [/(块到来|块送出|一半), one way round/g, '$1，单向绕行'], [/(块到来|块送出|一半), both ways round/g, '$1，双向绕行'],
  [/^one rank$/, '只有一个 rank'], [/\ban operand\b/g, '操作数'], [/\bthe result\b/g, '结果'],
  [/leave it a sum/g, '让它保持为待求的和'],
  [/in a node over its switch/g, '节点内经交换机'], [/in a node over its mesh/g, '节点内两两相连'], [/between nodes/g, '节点之间'],
  [/(\d+) a node on (\d+) nodes/g, '$2 个节点，每个节点 $1 个'], [/\((\d+)\): one rank/g, '($1)：只有一个 rank'],
  [/(\d+) around\b/g, '$1（回绕）'], [/ on the torus/g, '，在环面上'], [/GB\/s to a neighbour, per direction/g, 'GB/s（到一个邻居，每个方向）'], [/GB\/s to each peer, per direction/g, 'GB/s（到每个对端，每个方向）'],
  [/GB\/s a rank, per direction/g, 'GB/s（每个 rank，每个方向）'], [/GB\/s, per direction/g, 'GB/s（每个方向）'],
];
const whys = { 'bound by computing': '受计算限制', 'bound by memory': '受内存带宽限制', 'one rank': '只有一个 rank', 'one message a rank': '每个 rank 一条消息', 'one message to a neighbour': '给一个邻居的一条消息' };

/** A plan, the reason of a case, a place: "X splits J: all_reduce over X of C". */
export function sayPlan(text, language) {
  return language === 'zh' ? wideMarks(planWords.reduce((all, [from, to]) => all.replace(from, to), text)) : text;
}

/** What decides the time of an operation: "bound by memory", or the algorithm of a collective. */
export function sayWhy(text, language) {
  return language === 'zh' ? (whys[text] ?? text) : text;
}

/** "C.local[I, K]{U_X} = contract(A, B)" -> "contract(A, B)". */
export function shortText(text) {
  return text.includes(' = ') ? text.slice(text.indexOf(' = ') + 3) : text;
}

/** The product with another result: withResult("A[I, J] * B[J, K]", "C[I, K]") -> "A[I, J] * B[J, K] -> C[I, K]". */
export function withResult(product, result) {
  return `${product.split('->')[0].trim()} -> ${result}`;
}

/** "-> C[I, K]   all_reduce over X" -> { result: "C[I, K]", means: "all_reduce over X" }. */
export function parseSpelling(text) {
  const [, result, means] = /^->\s*(.*?)\s{2,}(.*)$/.exec(text) ?? [null, text.replace(/^->\s*/, ''), ''];
  return { result, means };
}
