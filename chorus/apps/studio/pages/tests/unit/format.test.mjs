import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitted } from '../../src/format/width.js';
import { bytes, directed, exactBytes, flop, parseBytes, percent, rate, seconds, significant, whole } from '../../src/format/number.js';
import { columns, csv } from '../../src/format/csv.js';
import { linearTicks, logTicks, scale } from '../../src/format/ticks.js';

test('bytes are written as the tool writes them', () => {
  for (const [n, text] of [[0, '0 B'], [1, '1 B'], [1023, '1,023 B'], [1024, '1 KiB'], [1536, '1.5 KiB'], [6291456, '6 MiB'],
    [16e9, '16 GB'], [1e6, '1 MB'], [1 << 30, '1 GiB'], [450000, '450 KB'], [3600000, '3.6 MB'], [1000, '1,000 B'], [1835008, '1.75 MiB'], [838860, '819.2 KiB'], [786432, '768 KiB'], [1572864, '1.5 MiB']]) {
    assert.equal(bytes(n), text, String(n));
  }
  assert.equal(exactBytes(6291456), '6,291,456 B');
});

test('times, rates and counts have three or four digits and a unit', () => {
  assert.equal(seconds(0.0622222), '62.2 ms');
  assert.equal(seconds(3.728e-4), '373 µs');
  assert.equal(seconds(4.5e-8), '45 ns');
  assert.equal(seconds(9.999e-4), '1 ms');
  assert.equal(seconds(0), '0 s');
  assert.equal(rate(4.5e11), '450 GB/s');
  assert.equal(directed(4.5e11, 'en'), '450 GB/s per direction');
  assert.equal(directed(4.5e11, 'zh'), '450 GB/s（每个方向）');
  assert.equal(flop(536870912), '537 MFLOP');
  assert.equal(percent(0.1234), '12.3 %');
  assert.equal(significant(NaN), '–');
});

test('bytes are read', () => {
  for (const [text, n] of [['64', 64], ['4KiB', 4096], ['16 GB', 16e9], ['1.5MiB', 1572864], ['1K', 1000]]) assert.equal(parseBytes(text), n);
  for (const text of ['', 'GB', '1 XB', '-1']) assert.ok(Number.isNaN(parseBytes(text)), text);
});

test('CSV quotes what it must, and text stands in columns', () => {
  assert.equal(csv([['a', 'b,c'], [1, 'say "x"']]), 'a,"b,c"\r\n1,"say ""x"""\r\n');
  assert.equal(columns([['name', 'n'], ['ring', 4], ['树', 12]]), 'name   n\nring   4\n树    12\n');
});

test('axes', () => {
  assert.deepEqual(logTicks(1, 1000, 10, 5), [1, 10, 100, 1000]);
  assert.deepEqual(logTicks(1024, 1 << 20, 2, 4), [1024, 32768, 1048576]);
  assert.deepEqual(linearTicks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.equal(scale(1, 100, 0, 200, true)(10), 100);
});

test('texts that fit: Chinese letters are twice as wide', () => {
  assert.equal(fitted('all_reduce', 100), 'all_reduce');
  assert.equal(fitted('all_reduce', 40), 'all_r…');
  assert.equal(fitted('沿轴求和', 50), '沿轴求和');
  assert.equal(fitted('沿轴求和再收集', 50), '沿轴求…');
});

test('what is no number is a dash without a unit', () => {
  assert.deepEqual([seconds(NaN), bytes(NaN), rate(NaN), flop(NaN), whole(NaN), significant(NaN)], Array(6).fill('–'));
});

test('a narrow axis of sizes has three marks', () => {
  assert.deepEqual(logTicks(128, 2 ** 34, 2, 3), [2 ** 10, 2 ** 20, 2 ** 30]);
});
