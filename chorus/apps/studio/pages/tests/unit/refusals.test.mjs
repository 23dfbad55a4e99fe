import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inChinese } from '../../src/api/refusals.zh.js';

test('what the server refuses is said in Chinese, names and numbers kept', () => {
  assert.equal(inChinese('axis X is used twice: on dimension I (character 5) and among the partial axes {U} (character 13); an axis can be used once, so ...'),
    '轴 X 用了两次：维度 I（第 5 个字符）和未完成的和 {U}（第 13 个字符）；一个轴只能用一次');
  assert.equal(inChinese('A[I_Z, J] uses axis Z on dimension I, but the mesh has only X=2,Y=2'), 'A[I_Z, J] 在维度 I用了轴 Z，但网格只有 X=2,Y=2');
  assert.equal(inChinese('character 3: axis X needs a size, like X=4'), '轴 X 要有大小，例如 X=4');
  assert.equal(inChinese("'abc' is no size; write for example 64, 4KiB or 16GB"), '“abc”读不出大小；可以写 64, 4KiB or 16GB');
  assert.equal(inChinese("'1xB' has the unknown unit 'xB'; use B, KiB, MiB, GiB, TiB or KB, MB, GB, TB"), '“1xB”的单位 xB 不认识；可用 B, KiB, MiB, GiB, TiB 或 KB, MB, GB, TB');
  assert.equal(inChinese("there is no hardware 'h10'; did you mean 'h100'?"), '没有硬件 h10；是不是 h100？');
  assert.equal(inChinese('mesh has 64 ranks along X; at most 16 are explained here, more by chorus explain'), '网格的轴 X 有 64 个 rank；这里最多 16 个，更多请用 chorus explain');
  assert.equal(inChinese('something new'), 'something new');
});
