// What the tool says beside its numbers has a Chinese form: plans of products, reasons of cases, what decides a time, where axes lie; and
// what is known of measured points.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costInChinese } from '../src/terms/costs.zh.js';
import { ideas } from '../src/terms/ideas.zh.js';
import { sayMeasured, sayRemark } from '../src/terms/reasons.js';
import { parseSpelling, sayPlan, sayWhy } from '../src/pages/product/say.js';
import { api } from './studio.mjs';

const dimsOf = (product) => ['I', 'J', 'K', 'L'].filter((dim) => product.includes(`${dim}_`) || new RegExp(`\\b${dim}\\b`).test(product)).map((dim) => `${dim}=64`).join(',');
const questions = [
  ...['A[I, J] * B[J, K]', 'A[I_X, J] * B[J, K]', 'A[I, J_X] * B[J_X, K] -> C[I, K]', 'A[I, J_X] * B[J_X, K]', 'A[I, J_X] * B[J, K]', 'A[I_X, J] * B[J, K_X] -> C[I_X, K]', 'A[I, J_X] * B[J_X, K] -> C[I_X, K]',
    'A[I, J]{U_X} * B[J, K]', 'A[I, J]{U_X} * B[J, K] -> C[I, K]', 'A[I, J]{U_X} * B[J, K] -> C[I_X, K]', 'A[I, J]{U_X} * B[J, K]{U_X} -> C[I, K]', 'A[I_X, J] * B[J, K] * C[K, L_X] -> D[I, L]', 'A[I, J] * B[J, K_X] * C[K_X, L] -> D[I, L]', 'A[I, J]{U_X} * B[J, K_X] * C[K_X, L] -> D[I, L]']
    .flatMap((product) => [['X=4', ''], ['X=4', 'h100-4'], ['X=1', ''], ['X=16', 'v5e-16'], ['X=8', 'h100-4x2']].map(([mesh, on]) => ({ product, mesh, on }))),
  ...['A[I_X, J_Y] * B[J_Y, K] -> C[I_X, K]', 'A[I_Y, J_X] * B[J_X, K_Y]', 'A[I_XY, J] * B[J, K]', 'A[I_X, J]{U_Y} * B[J, K]{U_X}', 'A[I, J_XY] * B[J_XY, K] -> C[I_X, K_Y]', 'A[I_X, J] * B[J, K_Y] -> C[I_Y, K_X]', 'A[I_XY, J] * B[J, K] -> C[I_YX, K]']
    .flatMap((product) => [['X=2,Y=4', ''], ['X=2,Y=4', 'h100-4x2'], ['X=4,Y=4', 'v5e-4x4'], ['X=2,Y=2', 'v5p-2x2x1']].map(([mesh, on]) => ({ product, mesh, on }))),
];
// Names of collectives, ranks, arrays and axes stay; so do rates.
const names = /\b(all_gather|all_reduce|reduce_scatter|all_to_all|rank|ring|bidirectional_ring|torus|sharp|direct|tree|double_tree|double_binary_tree|halving_doubling|recursive_doubling|one_shot|naive|two_level|multi_ring|pipelined_hierarchical|hierarchical(:\d+)?|torus:\w+|binomial|knomial:\d+)\b|[GMT]B\/s|\[.*?\]|\{.*?\}|\bd?[A-Z]+(\.\w+)?\b/g;

test('what the planner says is said in Chinese', async () => {
  const said = new Map();
  let plans = 0, answered = 0;
  for (const question of questions.flatMap((one) => [one, { ...one, overlap: true }])) {
    const answer = await api('product', { dims: dimsOf(question.product), gradients: !question.overlap, ...question });
    if (answer.error) continue;
    answered++;
    plans += answer.ways.length;
    const texts = [answer.plan, ...(answer.axes ?? []).map(({ reason }) => reason), ...answer.ways.map(({ plan }) => plan), ...answer.rejected.map(({ plan }) => plan), ...(answer.gradients ?? []).map(({ plan }) => plan),
      ...(answer.spellings ?? []).map((spelling) => parseSpelling(spelling).means), ...Object.values(answer.placement ?? {})];
    for (const text of texts) said.set(text, sayPlan(text, 'zh'));
    for (const { why } of answer.ways.flatMap(({ timeline }) => timeline ?? [])) said.set(why, sayWhy(why, 'zh'));
  }
  assert.ok(plans > 1000 && answered > 100, `only ${plans} plans of ${answered} products`);
  for (const rare of ['passes a sum on', 'passes the sum of', 'repeats', 'permute to', 'panels of', 'both ways round', 'one way round', 'goes in', 'slice ', 'leave it a sum', 'around on the torus', 'splits the contracted']) {
    assert.ok([...said.keys()].some((text) => text.includes(rare)), `no plan has "${rare}"`);
  }
  assert.deepEqual([...said].filter(([, chinese]) => /[A-Za-z]{2,}/.test(chinese.replace(names, ''))).map(([text, chinese]) => `${text} -> ${chinese}`), []);
});

test('what is known of measured points is said in Chinese', async () => {
  const { points } = await api('measured', {});
  assert.ok(points.length > 20);
  const kept = /[\w-]+\/[\w-]+(#\d+| README@\w+| [\w./]+@\w+| ?)|gpus\.md\/sharding\.md|scaling-book|torch\.distributed|nccl(-tests)?|mpirun|CUDA graphs|README|busbw|algbw|rank|bf16|\b[A-Z][\w-]*\b|\bx\b|[\d.]+( ms)?\w*/g;
  const texts = new Set(points.flatMap(({ hardware, how, source, remark }) => [...[hardware, how, source].map((one) => sayMeasured(one, 'zh')), sayRemark(remark, 'zh')]));
  assert.deepEqual([...texts].filter((text) => /[A-Za-z]{2,}/.test(text.replace(kept, ''))), []);
});

test('what algorithms do and cost is said in Chinese', async () => {
  const { operations } = await api('catalogue', {});
  const all = operations.flatMap(({ operation, algorithms }) => algorithms.map(({ name, idea, cost }) => ({ key: `${name.replace(/:.*/, '')} ${operation}`, idea, cost })));
  assert.deepEqual(all.filter(({ key }) => !ideas[key]).map(({ key, idea }) => `${key}: ${idea}`), []);
  assert.deepEqual(all.map(({ cost }) => costInChinese(cost)).filter((text) => /[A-Za-z]{2,}/.test(text.replace(/\b(rank|root|log2?|log_K|ceil|floor|min|max)\b/g, ''))), []);
});
