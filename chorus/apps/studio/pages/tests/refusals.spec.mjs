// Wrong questions to the server: what it says has a Chinese form, in which no English is left but names and what was typed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inChinese } from '../src/api/refusals.zh.js';
import { api } from './studio.mjs';

const layout = { mesh: 'X=2,Y=2', spec: 'A[I_X, J]', dims: 'I=4,J=4' };
const product = { product: 'A[I, J_X] * B[J_X, K] -> C[I, K]', mesh: 'X=4', dims: 'I=8,J=8,K=8' };
const estimate = { op: 'all_reduce', bytes: '1MiB', on: 'h100-8' };
const schedule = { op: 'all_reduce', ranks: 4 };
const wrong = [
  ...[{ mesh: 'X' }, { mesh: 'X=0' }, { mesh: 'X=2,X=2' }, { mesh: '2' }, { mesh: 'X=2;Y' }, { mesh: 'X=99999999999999999999' }, { mesh: 'X=64,Y=64' }, { mesh: 'X=a' }, { mesh: '' },
    { spec: 'A' }, { spec: 'A[' }, { spec: 'A[I_X, J_X]' }, { spec: 'A[I_X, J_X, K_X]' }, { spec: 'A[I_Z, J]' }, { spec: 'A[I, I]' }, { spec: 'A[I, J]{U' }, { spec: 'A[I, J]{V_X}' }, { spec: 'A[I_x]' }, { spec: 'A[I J]' }, { spec: 'A[I, J] B' }, { spec: 'A[_X]' }, { spec: 'A[I_X, J]{U_X}' },
    { dims: 'I' }, { dims: 'I=4' }, { dims: 'I=4;J=4' }, { dims: 'I=x' }, { dims: 'I=4,I=4' }, { dims: 'I=-1,J=2' }, { dims: '=4' }, { dims: 'I=4294967296,J=4294967296' }, { dtype: 'f33' }, { spec: `A[${'I'.repeat(3000)}]` }].map((one) => ['layout', { ...layout, ...one }]),
  ...[{ product: 'A[I, J]' }, { product: 'A[I, J] B[J, K]' }, { product: 'A[I, J] * A[J, K]' }, { product: 'A[I, J] * B[J, K] -> C[I, L]' }, { product: 'A[I, J] * B[K, L] -> C[I, L]' }, { product: 'A[I, J] * B[J, K] -> C[I, K]{U_Y}' }, { product: 'A[I, J_X] * B[J_X, K] -> C[I, K] D' }, { product: '(A[I, J] * B[J, K]) * D[K, I]' },
    { product: 'A[I, J] * B[J, K] * C[K, L] * D[L, I]' }, { product: 'A[I_X, J_X] * B[J, K]' }, { mesh: 'X=32' }, { mesh: 'X=2,Y=2,Z=2,W=2' }, { mesh: 'X=8,Y=8' }, { dims: 'I=8,J=8' }, { dims: 'I=8,J=8,K=8,L=8' }, { dtype: 'i8' }, { memory: '1' }, { memory: 'x' }, { on: 'h100-8' }, { on: 'h10-8' }, { on: 'v5e-2x2' }, { on: './x' }, { overlap: true, product: 'A[I_X, J] * B[J, K] -> C[I_X, K]' }, { flops_per_byte: 0 }, { latency: '1us' }, { mesh: 'X=2,Y=2', on: 'v5e-2x2', product: 'A[I_Y, J_X] * B[J_X, K]' }].map((one) => ['product', { ...product, ...one }]),
  ...[{ op: 'all_reduc' }, { op: 'zzzzzzz' }, { bytes: '' }, { bytes: '1xB' }, { bytes: 'x' }, { bytes: '1..2..3' }, { bytes: '4..2' }, { bytes: '1,' }, { bytes: '0..4' }, { bytes: '1B..8EiB' }, { bytes: '0.3B' }, { on: '' }, { on: 'h10-8' }, { on: 'zzzz' }, { on: 'h100' }, { on: 'h100-x' }, { on: 'h100-9' }, { on: 'h100-8x99999999999' }, { on: 'h100-2x2x2' }, { on: 'v5e-4x4x4' }, { on: 'v5e-999' }, { on: 'shared-900' }, { on: 'gb200-900' },
    { model: 'su' }, { model: 'nccl', latency: '1us' }, { model: 'nccl', on: 'v5e-4x4' }, { model: 'nccl', algorithm: 'direct' }, { algorithm: 'zzz' }, { algorithm: 'rin' }, { algorithm: 'torus' }, { algorithm: 'two_level' }, { algorithm: 'sharp', on: 'a100-8' }, { algorithm: 'knomial:1' }, { algorithm: 'ring:3' }, { algorithm: 'tree', on: 'v5e-4x4' }, { algorithm: 'leaders:3+4' }, { algorithm: 'torus:3x5', on: 'v5e-4x4' }, { ranks: 9 }, { ranks: 0 }, { ranks: 5, on: 'v5e-4x4' }, { ranks: 12, on: 'h100-8x4' }, { ranks: 12, on: 'h100-8x4', algorithm: 'two_level' },
    { bandwidth: 'x' }, { bandwidth: '3' }, { bandwidth: '0GB/s' }, { bandwidth: '3us' }, { latency: '-1us' }, { latency: '3GB/s' }, { latency: '3' }, { measured: '0s' }, { measured: 'x' }, { wrap: true }, { wrap: true, on: 'v5e-4x4' }, { accumulator_ratio: 9 }, { root: 3 }, { compare: true, algorithm: 'ring' }, { bandwidth: '3GB/s', on: 'h100-1' }, { bandwidth: '3GB/s', on: 'h100-1x4' }, { op: 'barrier', bytes: '1MiB' }, { op: 'broadcast', accumulator_ratio: 2 }, { element: 4 }].map((one) => ['estimate', { ...estimate, ...one }]),
  ...[{ op: 'zzz' }, { op: 'all_reduc' }, { algorithm: 'zzz' }, { algorithm: 'ring:2' }, { algorithm: 'sharp' }, { algorithm: 'knomial:99' }, { algorithm: 'knomial:x' }, { algorithm: 'knomial' }, { algorithm: 'torus:3x3' }, { algorithm: 'torus:x' }, { algorithm: 'leaders:3+3' }, { algorithm: 'two_level:99' }, { algorithm: 'double_tree', relabel: true }, { root: 2 }, { ranks: 65 }, { bytes: '2TiB' }, { bytes: 'x' }, { op: 'broadcast', root: 9 }, { accumulator_ratio: 'x' }, { relabel: 'x' }, { ranks: 1.5 }].map((one) => ['schedule', { ...schedule, ...one }]),
  ...[{ counts: [1] }, { counts: [-1, 2, 3, 4] }, { op: 'broadcast', counts: [1, 1, 1, 1] }, { root: 1 }, { ranks: 65 }, { counts: 'x' }, { op: 'zzz' }].map((one) => ['primitive', { op: 'all_gather', ranks: 4, ...one }]),
  ['run', { file: 'zzz' }], ['measured', { op: 'zzz' }], ['measured', { on: 'zzz' }], ['hardware', { name: 'zzz' }],
];

// Names that stay: what was typed, tools, fields, operations and algorithms, units, and what spells a product.
const names = /chorus( \w+)*|--\w+|\b(rank|nccl|NCCL|NVIDIA|NVLS|Hopper|root|bytes|mesh|product|dims|dtype|spec|on|op|model|algorithm|counts|ranks|relabel|wrap|memory|bandwidth|latency|measured|file|name|accumulator_ratio|flops_per_byte|element|compare|true|false|bf16|sum|max|i8)\b|\b[a-z]+_[a-z_]+(:\S*)?\b|\b(ring|tree|direct|sharp|torus|knomial|leaders|broadcast|reduce|gather|scatter|barrier|scan|exscan|binomial|bruck|naive|dissemination|pairwise|butterfly|hierarchical|rin)(:\S*)?|\d+[A-Za-z]*(\/s)?|[KMGT]?i?(B|bit)(\/s)?\b|\b(ns|us|ms|s)\b|[a-z]+\d*\w*-\w+|\b[a-z]+\d+[a-z]?\b|\b(host|shared|(ib|eth)_\w+|[A-Z]_?[A-Z]+)\b|\b[A-Z]\w?\b|\[.*?\]|\{.*?\}|“.*?”|\b[A-Z]+:[A-Z]+/g;

test('what the server refuses is said in Chinese', async () => {
  const english = [];
  let refused = 0;
  for (const [name, question] of wrong) {
    const { error } = await api(name, question);
    if (!error) continue;
    refused++;
    const said = inChinese(error);
    const typed = Object.values(question).map(String).filter((value) => value.length > 1);
    const left = typed.reduce((text, value) => text.replaceAll(value, ''), said).replace(names, '').match(/[A-Za-z]{2,}/g);
    if (!/[\u4e00-\u9fff]/.test(said) || left) english.push(`${name}: ${error} -> ${said} (${left})`);
  }
  assert.ok(refused > 120, `only ${refused} of ${wrong.length} are refused`);
  assert.deepEqual(english, []);
});
