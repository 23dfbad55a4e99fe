import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inChinese } from '../../src/api/refusals.zh.js';
import { fillings, formats } from './refusal_formats.mjs';

test('what the server refuses is said in Chinese, names and numbers kept', () => {
  assert.equal(inChinese('axis X is used twice: on dimension I (character 5) and among the partial axes {U} (character 13); an axis can be used once, so ...'),
    '轴 X 用了两次：维度 I（第 5 个字符）和未完成的和 {U}（第 13 个字符）；一个轴只能用一次');
  assert.equal(inChinese('A[I_Z, J] uses axis Z on dimension I, but the mesh has only X=2,Y=2'), 'A[I_Z, J] 在维度 I 用了轴 Z，但网格只有 X=2,Y=2');
  assert.equal(inChinese('A[I_Z] uses axis Z on dimension I, but the mesh has only X=2, so write A[I_X], or give the mesh the axis: X=2,Z=2'),
    'A[I_Z] 在维度 I 用了轴 Z，但网格只有 X=2；请写 A[I_X]，或给网格加上这个轴：X=2,Z=2');
  assert.equal(inChinese('axis X is used 3 times: on dimension I (character 5), on dimension J (character 10) and on dimension K (character 15); an axis can be used once, so write A[I_X, J, K] or A[I, J_X, K] or A[I, J, K_X]'),
    '轴 X 用了 3 次：维度 I（第 5 个字符）、维度 J（第 10 个字符）和维度 K（第 15 个字符）；一个轴只能用一次；请写 A[I_X, J, K] 或 A[I, J_X, K] 或 A[I, J, K_X]');
  assert.equal(inChinese('dimension I is given twice; dimensions of one array need different names (characters 3 and 6), so write A[I, I2]'),
    '维度 I 写了两次（第 3 和第 6 个字符）；一个数组的各维度要用不同的名字；请写 A[I, I2]');
  assert.equal(inChinese('dimension K of B[J, K] has no size; there are I=4,J=4, so write for example I=4,J=4,K=1024'),
    'B[J, K] 的维度 K 没有大小；已给出 I=4,J=4；请写 I=4,J=4,K=1024');
  assert.equal(inChinese('character 3: axis X needs a size, like X=4'), '轴 X 要有大小，例如 X=4');
  assert.equal(inChinese("'abc' is no size; write for example 64, 4KiB or 16GB"), '“abc”读不出大小；可以写 64, 4KiB 或 16GB');
  assert.equal(inChinese("'1xB' has the unknown unit 'xB'; use B, KiB, MiB, GiB, TiB or KB, MB, GB, TB"), '“1xB”的单位 xB 不认识；可用 B, KiB, MiB, GiB, TiB 或 KB, MB, GB, TB');
  assert.equal(inChinese("there is no hardware 'h10'; did you mean 'h100'?"), '没有硬件 h10；是不是 h100？');
  assert.equal(inChinese('mesh has 64 ranks along X; at most 16 are explained here, more by chorus explain'), '网格的轴 X 有 64 个 rank；这里最多 16 个，更多请用 chorus explain');
  assert.equal(inChinese('something new'), 'something new');
});

test('no English word is left but names, units and what was typed', () => {
  const names = /chorus \w+|\b(rank|ranks|nccl|NVIDIA|v100|gb200|sum|max|broadcast|scatter_gather|measured|bytes|mesh|product|ops?|on|true|false|relabel|root|dims)\b|\d+[A-Za-z]+(\/s)?|[A-Za-z]+\/s|\b(ns|us|ms|s|B|MiB)\b|\w+-\d+\w*|\b[A-Z]\w?\b|\[.*?\]|\{.*?\}|\b[A-Z]=\d+/g;
  const messages = [
    'a node of gb200 has 64 devices, not 900; give 1 to 64, as nothing is known of what would join several nodes',
    'a node of h100 has 8 devices, not 99999999; the largest machine is h100-8x2097152',
    'a node of h100 has 8 devices, not 9; for more write h100-8x2',
    'this takes more than 1024 MiB of memory; ask for less, or ask the command line, which waits',
    'broadcast has no formula on a torus, where its messages share links; chorus simulate works it out',
    'broadcast has no formula over several nodes of several devices; chorus simulate works it out',
    'broadcast has no formula over leaf switches that are oversubscribed; chorus simulate works it out',
    'the bandwidth of the link inside a node is 0 B/s; give a number above 0, per direction',
    'the latency of a port between nodes is -1 s; give 0 or more',
    'latency model nccl has tables of NVIDIA hardware only (v100 to gb200); use sum or max',
    "there is no formula for max broadcast; did you mean 'scatter_gather'?",
    'mesh is missing: axes and their sizes, like X=2,Y=2',
    'on is missing; name a machine, as h100-8',
    'bytes is missing; say how much, as 16GB or 1KiB..1GiB',
    "a product is written A[I, J] * B[J, K] -> C[I, K]: '*' is missing here",
    'dimension L is in B (character 16) alone: what the result C (character 20) lacks is summed, and a sum needs it in two operands; write -> C[I, L]',
    'dimension M of the result C (character 20) is in no operand (the first is at character 1); write -> C[I, L]',
    'C (character 20) cannot be a sum over X: no dimension of A (character 1) and the others is summed; write -> C[I, J, L]',
    'two arrays are called A (characters 1 and 11); give them different names',
    "'' is no size; write for example 64, 4KiB or 16GB",
    "'' is no bandwidth; write for example 450GB/s or 400Gbit/s",
    "'3' has no unit; use ns, us, ms, s",
    'measured must be above 0, as 1.6ms',
    'relabel must be true or false',
    'root must be a whole number',
    'mesh must be a text',
    'dims must be a list of whole numbers',
    'on v5e-4 the ranks along X of X=2,Y=2 are no neighbours; give the mesh the axes of the torus, in their order',
    'this takes more than 5 s; ask for less, or ask the command line, which waits',
    'this takes more than 5 s; keep a part of the file',
    'there is not enough memory for this; ask for less',
  ];
  for (const message of messages) {
    const said = inChinese(message);
    assert.match(said, /[\u4e00-\u9fff]/, message);
    assert.doesNotMatch(said.replace(names, ''), /[A-Za-z]{2,}/, said);
  }
});

test('everything that the server can refuse to a page has a Chinese form', () => {
  const all = formats();
  assert.ok(all.length > 100, `only ${all.length} are found: have the sources moved?`);
  const chinese = (text) => /[\u4e00-\u9fff]/.test(inChinese(text));
  const without = all.filter(({ format }) => !fillings(format).some(chinese)).map(({ source, format }) => `${source}: ${format}`);
  assert.deepEqual(without, [], 'add them to src/api/refusals.zh.js, or to refusal_formats.mjs if no page can be told so');
});
