import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSpelling, sayPlan, sayWhy, shortText, withResult } from '../../src/pages/product/say.js';
import { barsOf, reachOf } from '../../src/pages/product/timeline.js';

test('plans and cases are said in both languages', () => {
  assert.equal(sayPlan('X splits J: all_reduce over X of C', 'en'), 'X splits J: all_reduce over X of C');
  assert.equal(sayPlan('X splits J: all_reduce over X of C', 'zh'), 'X 切分 J：沿 X 对 C 做 all_reduce');
  assert.equal(sayPlan('X splits I: all_to_all J to I over X of A, all_gather J over X of B', 'zh'), 'X 切分 I：沿 X 对 A 做 all_to_all（J 到 I），沿 X 对 B 的 J 做 all_gather');
  assert.equal(sayPlan('splits the contracted J in A and in B', 'zh'), '在 A 和 B 中都切分被收缩的 J');
  assert.equal(sayPlan('splits the contracted D in Y and nothing in X', 'zh'), '在 Y 中切分被收缩的 D，在 X 中不切');
  assert.equal(sayPlan('splits I in A and splits K in B', 'zh'), '在 A 中切分 I，在 B 中切分 K');
  assert.equal(sayWhy('bound by memory', 'zh'), '受内存带宽限制');
});

test('in Chinese no English word is left, and the notation keeps its commas', () => {
  const texts = {
    'X splits J: all_gather J over X of B; A and B come in 4 panels of J': 'X 切分 J：沿 X 对 B 的 J 做 all_gather；A 和 B 按 J 分 4 片到来',
    'Y repeats; B comes in 4 panels of J': 'Y 重复；B 按 J 分 4 片到来',
    'AB: X splits I, Y passes a sum on; then E: X splits L: permute to [J, L_YX] over XY of BD': 'AB：X 切分 I，Y 传递待求的和；然后 E：X 切分 L：沿 XY 把 BD 置换为 [J, L_YX]',
    'X passes the sum of A on: all_reduce over X of C': 'X 传递 A 待求的和：沿 X 对 C 做 all_reduce',
    'splits I in AB': '在 AB 中切分 I',
    'X splits I: all_gather J over X of B; B comes in 3 x 8 chunks by halves, both ways round': 'X 切分 I：沿 X 对 B 的 J 做 all_gather；B 分 3 × 8 块到来，每块为余下的一半，双向绕行',
    'X splits I: reduce_scatter K over Y of C; C goes in 2 x 4 chunks, one way round': 'X 切分 I：沿 Y 对 C 做 reduce_scatter（切 K）；C 分 2 × 4 块送出，单向绕行',
    'X (4): 4 around on the torus, 45 GB/s to a neighbour, per direction': 'X (4)：4（回绕），在环面上，45 GB/s（到一个邻居，每个方向）',
    'X (4): in a node over its mesh, 48 GB/s to each peer, per direction': 'X (4)：节点内两两相连，48 GB/s（到每个对端，每个方向）',
    'X (16): 8 a node on 2 nodes, 50 GB/s a rank, per direction': 'X (16)：2 个节点，每个节点 8 个，50 GB/s（每个 rank，每个方向）',
    'X (1): one rank': 'X (1)：只有一个 rank',
  };
  for (const [english, chinese] of Object.entries(texts)) assert.equal(sayPlan(english, 'zh'), chinese);
  assert.equal(sayWhy('one message to a neighbour', 'zh'), '给一个邻居的一条消息');
});

test('a spelling of the result is read and written into the product', () => {
  assert.deepEqual(parseSpelling('-> C[I_X, K]   reduce_scatter I over X'), { result: 'C[I_X, K]', means: 'reduce_scatter I over X' });
  assert.equal(withResult('A[I, J_X] * B[J_X, K]', 'C[I, K]'), 'A[I, J_X] * B[J_X, K] -> C[I, K]');
  assert.equal(withResult('A[I, J_X] * B[J_X, K] -> C[I, K]{U_X}', 'C[I, K]'), 'A[I, J_X] * B[J_X, K] -> C[I, K]');
  assert.equal(shortText('C.local[I, K]{U_X} = contract(A, B)'), 'contract(A, B)');
});

test('bars stand one after another, or each in its lane', () => {
  const way = { seconds: 5, hidden_seconds: 3, timeline: [
    { text: 'a', kind: 'move', why: 'ring', begin_seconds: 0, end_seconds: 3, hidden_begin_seconds: 0, hidden_end_seconds: 3 },
    { text: 'b', kind: 'compute', why: 'bound by memory', begin_seconds: 3, end_seconds: 5, hidden_begin_seconds: 0, hidden_end_seconds: 2 }] };
  assert.deepEqual(barsOf(way, false).map(({ begin, end }) => [begin, end]), [[0, 3], [3, 5]]);
  assert.deepEqual(barsOf(way, true).map(({ begin, end }) => [begin, end]), [[0, 3], [0, 2]]);
  assert.equal(reachOf([way, { seconds: 100, hidden_seconds: 90 }], false), 30);
  assert.equal(reachOf([way, { seconds: 10, hidden_seconds: 9 }], true), 9);
});
