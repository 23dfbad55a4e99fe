import assert from 'node:assert/strict';
import { test } from 'node:test';
import { curves, measuredDots, winners } from '../../src/pages/calculator/curves.js';
import { hardwareOf, machineLike, machinesOf, ranksOf } from '../../src/pages/calculator/machines.js';
import { curveSizes, positionOf, positions, sizeAt } from '../../src/pages/calculator/sizes.js';
import { parseBytes } from '../../src/format/number.js';
import { sayBound, sayReason, sayRemark, sayTopology } from '../../src/terms/reasons.js';

test('machines have a hardware and a number of ranks', () => {
  assert.deepEqual(['h100-8', 'h100-8x16', 'v5e-4x4', 'ib_ndr-32'].map(ranksOf), [8, 128, 16, 32]);
  assert.ok(Number.isNaN(ranksOf('h100')));
  assert.deepEqual(['h100-8x16', 'ib_ndr-32', 'h100'].map(hardwareOf), ['h100', 'ib_ndr', 'h100']);
});

test('the slider of ranks goes through machines that there are', () => {
  const h100 = { name: 'h100', fabric: 'switch', node: 8, figures: { nics: {} } };
  assert.deepEqual(machinesOf(h100, 'h100-8'), ['h100-2', 'h100-3', 'h100-4', 'h100-5', 'h100-6', 'h100-7', 'h100-8', 'h100-8x2', 'h100-8x4', 'h100-8x8', 'h100-8x16', 'h100-8x32']);
  assert.deepEqual(machinesOf(h100, 'h100-8x3').slice(7, 9), ['h100-8x2', 'h100-8x3']);
  const gb200 = { name: 'gb200', fabric: 'switch', node: 72, figures: {} };
  assert.deepEqual(machinesOf(gb200, '').map(ranksOf), [2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 72]);
  const v5e = { name: 'v5e', fabric: 'torus', torus_axes: 2, figures: {} };
  assert.equal(machineLike(v5e, 'h100-8x2'), 'v5e-4x4');
  assert.equal(machineLike(h100, 'v5e-16x16'), 'h100-8x32');
});

test('the slider of bytes goes from 256 B to 64 GiB in quarters', () => {
  assert.equal(sizeAt(0), '256B');
  assert.equal(sizeAt(1), '320B');
  assert.equal(sizeAt(4 * 12 + 1), '1.25MiB');
  assert.equal(sizeAt(positions), '64GiB');
  for (let position = 0; position <= positions; position++) assert.equal(positionOf(parseBytes(sizeAt(position))), position);
  assert.equal(sizeAt(positionOf(16e9)), '14GiB');
  assert.equal(curveSizes, `${sizeAt(0)}..${sizeAt(positions)}`);
});

const estimate = (algorithm, bytes, seconds) => ({ algorithm, bytes, seconds, algbw_bytes_per_second: bytes / seconds, busbw_bytes_per_second: 2 * bytes / seconds });
const answer = { estimates: [estimate('tree', 1, 1), estimate('ring', 1, 2), estimate('ring', 8, 4), estimate('tree', 8, 9)], crossovers: [{ from: 'tree', to: 'ring', bytes: 3 }] };

test('the best line is the lowest at each size', () => {
  const series = curves(answer.estimates, 'seconds', 'best', 'ring');
  assert.deepEqual(series.map(({ name }) => name), ['tree', 'ring', 'best']);
  assert.deepEqual(series[2].points.map(({ x, y, note }) => [x, y, note]), [[1, 1, 'tree'], [8, 4, 'ring']]);
  assert.deepEqual(winners(answer), [{ algorithm: 'tree', from: null, to: 3 }, { algorithm: 'ring', from: 3, to: null }]);
  assert.deepEqual(winners({ ...answer, crossovers: [] }), [{ algorithm: 'tree', from: null, to: null }]);
});

test('a measured bandwidth gives its time, a time its bandwidth', () => {
  const points = [{ bytes: 8e9, seconds: null, algbw_bytes_per_second: null, busbw_bytes_per_second: 350e9, source: 'a' }, { bytes: 4e8, seconds: 1.6e-3, source: 'b' }, { bytes: null, seconds: 1 }];
  assert.deepEqual(measuredDots(points, 'seconds', 1.75).map(({ x, y }) => [x, y]), [[4e8, 1.6e-3], [8e9, 0.04]]);
  assert.deepEqual(measuredDots(points, 'busbw', 1.5).map(({ x, y }) => [x, y]), [[4e8, 375e9], [8e9, 350e9]]);
});

test('reasons are set for people, in both languages', () => {
  const reason = '2(M - 1)/M x 16 GB / 400 GB/s per direction (the 8 ports of a node) = 79.8 ms; latency 1022 x 5 us = 5.11 ms';
  assert.equal(sayReason(reason, 'en'), '2(M − 1)/M × 16 GB / 400 GB/s per direction (the 8 ports of a node) = 79.8 ms; latency 1022 × 5 µs = 5.11 ms');
  assert.equal(sayReason(reason, 'zh'), '2(M − 1)/M × 16 GB / 400 GB/s（每个方向）（节点的 8 个端口）= 79.8 ms；延迟 1022 × 5 µs = 5.11 ms');
  assert.equal(sayReason('3 x 1 us = 3 us, as a round moves 32.77 KB in 728 ns only', 'zh'), '3 × 1 µs = 3 µs，因为一轮搬 32.77 KB 只要 728 ns');
  assert.equal(sayBound('bandwidth bound', 'en'), 'bandwidth');
  assert.equal(sayBound('latency bound', 'zh'), '延迟');
  assert.equal(sayTopology('torus 4 (wraps) x 4 (no wrap), 90 GB/s per direction and 1 us a link', 'zh'), '环面 4（回绕） × 4（不回绕），90 GB/s（每个方向），延迟 1 µs（每条链路）');
});

test('remarks on measured points are said in Chinese', () => {
  assert.equal(sayRemark('busbw recomputed; about', 'zh'), 'busbw 重新算过；约数');
  assert.equal(sayRemark('8 ranks by busbw factor 1.75', 'zh'), '由 busbw 系数 1.75 推得 8 个 rank');
  assert.equal(sayRemark('plot peak', 'en'), 'plot peak');
});
