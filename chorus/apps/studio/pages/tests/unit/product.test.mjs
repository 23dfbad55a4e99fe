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
