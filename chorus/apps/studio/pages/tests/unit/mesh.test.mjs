import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockOf, blocksOf, placeDevices } from '../../src/pages/mesh/geometry.js';

/** Ranks of a mesh with their coordinates, row-major. */
function devices(axes) {
  const count = axes.reduce((all, { size }) => all * size, 1);
  return Array.from({ length: count }, (_, rank) => {
    let rest = rank;
    const coordinates = {};
    for (const { axis, size } of [...axes].reverse()) {
      coordinates[axis] = rest % size;
      rest = Math.floor(rest / size);
    }
    return { rank, coordinates };
  });
}

test('devices of any mesh lie side by side', () => {
  for (const sizes of [[1], [5], [20], [2, 2], [3, 4], [2, 3, 2], [2, 2, 2, 2], [2, 2, 2, 2, 2], [16, 4, 4]]) {
    for (const width of [320, 900]) {
      const axes = sizes.map((size, i) => ({ axis: 'XYZWV'[i], size }));
      const picture = placeDevices(axes, width, 0.8);
      const places = devices(axes).map((device) => picture.at(device));
      const { w, h } = picture.tile;
      assert.equal(new Set(places.map(({ x, y }) => `${x} ${y}`)).size, places.length);
      places.forEach((a, i) => {
        assert.ok(a.x >= 0 && a.x + w <= picture.width + 0.01 && a.y + h <= picture.height + 0.01, `${sizes}`);
        places.forEach((b, j) => j > i && assert.ok(Math.abs(a.x - b.x) >= w || Math.abs(a.y - b.y) >= h, `${sizes}: ${i} and ${j}`));
      });
    }
  }
});

test('the last axis goes to the right, the one before it down', () => {
  const axes = [{ axis: 'X', size: 2 }, { axis: 'Y', size: 2 }];
  const picture = placeDevices(axes, 600, 1);
  const [a, b, c] = devices(axes).map((device) => picture.at(device));
  assert.ok(a.y === b.y && a.x < b.x && a.x === c.x && a.y < c.y);
});

test('blocks in the picture of the array', () => {
  const layout = { dims: [{ dim: 'I', size: 4 }, { dim: 'J', size: 8 }, { dim: 'K', size: 2 }], devices: [
    { rank: 0, block: 0, begin: [0, 0, 0], local_shape: [2, 4, 2] }, { rank: 1, block: 1, begin: [2, 4, 1], local_shape: [2, 4, 1] }, { rank: 2, block: 0, begin: [0, 0, 0], local_shape: [2, 4, 2] }] };
  assert.deepEqual(blockOf(layout, layout.devices[0]), { x: 0, y: 0, w: 0.5, h: 0.5 });
  assert.deepEqual(blockOf(layout, layout.devices[1]), { x: 0.75, y: 0.5, w: 0.25, h: 0.5 });
  assert.deepEqual(blocksOf(layout).map(({ ranks }) => ranks), [[0, 2], [1]]);
  assert.deepEqual(blockOf({ dims: [] }, {}), { x: 0, y: 0, w: 1, h: 1 });
});
