import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inChinese } from '../../src/api/refusals.zh.js';

test('what the server refuses is said in Chinese, names and numbers kept', () => {
  assert.equal(inChinese('axis X is used twice: on dimension I (character 5) and among the partial axes {U} (character 13); an axis can be used once, so ...'),
    '轴 X 用了两次：维度 I（第 5 个字符）和未完成的和 {U}（第 13 个字符）；一个轴只能用一次');
  assert.equal(inChinese('A[I_Z, J] uses axis Z on dimension I, but the mesh has only X=2,Y=2'), 'A[I_Z, J] 在维度 I用了轴 Z，但网格只有 X=2,Y=2');
  assert.equal(inChinese('character 3: axis X needs a size, like X=4'), '轴 X 要有大小，例如 X=4');
  assert.equal(inChinese('something new'), 'something new');
});
