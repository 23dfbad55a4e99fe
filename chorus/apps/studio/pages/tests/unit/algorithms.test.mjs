import assert from 'node:assert/strict';
import { test } from 'node:test';
import { algorithmsFor, legal, withTyped } from '../../src/pages/algorithms/choices.js';
import { along, arrow, place, way } from '../../src/pages/algorithms/geometry.js';
import { edges, finals, replay } from '../../src/pages/algorithms/replay.js';

test('cards of ranks lie on the page and not on each other, and cells in their cards', () => {
  for (const width of [280, 460, 640, 900, 1300]) {
    for (let ranks = 2; ranks <= 16; ranks++) {
      for (const [blocks, square] of [[ranks, false], [1, false], [0, false], [ranks * ranks, true]]) {
        const picture = place({ view: 'ring', ranks, blocks, square, width });
        picture.cards.forEach((a, i) => {
          assert.ok(a.x >= 0 && a.y >= 0 && a.x + a.w <= picture.width + 0.01 && a.y + a.h <= picture.height + 0.01, `${width} ${ranks} ${blocks}`);
          assert.ok(square || picture.width === width);
          picture.cards.forEach((b, j) => {
            if (j > i) assert.ok(a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y, `${width} ${ranks} ${blocks}: ${i} and ${j}`);
          });
          for (let block = 0; block < blocks; block++) {
            const { x, y } = picture.at(i, block);
            const half = picture.cell / 2;
            assert.ok(x - half >= a.x && x + half <= a.x + a.w && y - half >= a.y && y + half <= a.y + a.h);
          }
        });
      }
    }
  }
});

test('columns are as wide as the page', () => {
  const picture = place({ view: 'columns', ranks: 16, blocks: 16, square: false, width: 900 });
  assert.ok(picture.cards.at(-1).x + picture.cards.at(-1).w <= 900);
  assert.equal(picture.rows.length, 16);
  assert.equal(picture.at(3, 0).x, picture.at(3, 9).x);
});

test('ways there and back are not the same, and arrows end at the border', () => {
  const a = { x: 0, y: 0 }, b = { x: 100, y: 0 };
  assert.ok(along(way(a, b), 0.5).y > 0 && along(way(b, a), 0.5).y < 0);
  const { path } = arrow({ x: 0, y: 0, w: 20, h: 20 }, { x: 100, y: 0, w: 20, h: 20 });
  const [x0, x1] = [/^M([\d.]+)/, /([\d.]+) [-\d.]+$/].map((pattern) => Number(pattern.exec(path)[1]));
  assert.ok(x0 >= 20 && x0 < 30 && x1 <= 100 && x1 > 90, path);
  assert.equal(arrow({ x: 0, y: 0, w: 20, h: 20 }, { x: 5, y: 0, w: 20, h: 20 }), null);
});

// Two ranks, one block: rank 0 copies, then sends to rank 1, which adds up.
const tiny = {
  ranks: 2, blocks: 1,
  start: [{ rank: 0, buffer: 'in', block: 0, count: 1, ranks: [0], final: false }, { rank: 1, buffer: 'in', block: 0, count: 1, ranks: [1], final: false }],
  cells: [{ rank: 0, block: 0, count: 1, ranks: [0], final: false }, { rank: 1, block: 0, count: 1, ranks: [1], final: false }],
  steps: [
    { messages: [], locals: [{ rank: 0, verb: 'copy', text: 'acc[0 : 0] = in[0]' }], writes: [{ rank: 0, buffer: 'acc', slot: 0, block: 0, count: 1, ranks: [0], final: false }], cells: [], bytes: 0, links: 0, sent_bytes: [0, 0] },
    { messages: [{ from: 0, to: 1, blocks: [0], read: ['acc[0 : 0]'], written: ['tmp[0 : 0]'], bytes: 8, arrives: 1 }], locals: [], writes: [], cells: [{ rank: 1, block: 0, count: 2, ranks: [0, 1], final: true }], bytes: 8, links: 1, sent_bytes: [8, 0] },
  ],
};

test('what is done before the first message belongs to the start', () => {
  const replayed = replay(tiny);
  assert.equal(replayed.steps.length, 1);
  assert.equal(replayed.states.length, 2);
  assert.deepEqual(replayed.before.map(({ text }) => text), ['acc[0 : 0] = in[0]']);
  assert.deepEqual(replayed.steps[0].messages[0].payload, [{ count: 1, final: false }]);
  assert.equal(replayed.steps[0].soFar, 8);
  assert.deepEqual(finals(replayed, 0), { now: 0, end: 1 });
  assert.deepEqual(finals(replayed, 7), { now: 1, end: 1 });
  assert.deepEqual(edges(replayed), [[0, 1]]);
});

test('algorithms that can be chosen', () => {
  const operation = { algorithms: [
    { name: 'ring', ranks: [2, 3, 4, 5, 6], parameter: null }, { name: 'odd', ranks: [3, 5], parameter: null },
    { name: 'torus:2x3', ranks: [6], parameter: { form: 'AxB' } }, { name: 'two_level:4', ranks: [], parameter: { form: 'L' } },
    { name: 'hierarchical:2', ranks: [], parameter: { form: 'L' } }, { name: 'knomial:4', ranks: [], parameter: { form: 'K' } }] };
  const open = (choices) => choices.filter(({ disabled }) => !disabled).map(({ value }) => value);
  const six = algorithmsFor(operation, 6);
  assert.deepEqual(open(six), ['ring', 'torus:2x3', 'torus:3x2', 'two_level:2', 'two_level:3', 'two_level:4', 'hierarchical:2', 'hierarchical:3', 'knomial:2', 'knomial:3', 'knomial:4']);
  assert.deepEqual(open(algorithmsFor(operation, 5)), ['ring', 'odd', 'two_level:2', 'two_level:3', 'two_level:4', 'knomial:2', 'knomial:3', 'knomial:4']);
  assert.deepEqual(open(algorithmsFor({ algorithms: [{ name: 'torus:2x3', ranks: [], parameter: {} }] }, 8)), ['torus:2x4', 'torus:4x2', 'torus:2x2x2']);
  assert.equal(legal(six, 'odd'), null);
  assert.equal(legal(six, 'nothing'), null);
  assert.equal(legal(six, 'torus'), 'torus:2x3');
  assert.equal(legal(six, 'two_level:3+1+2'), 'two_level:3+1+2');
  assert.equal(withTyped(six, 'two_level:3+1+2').length, six.length + 1);
  assert.equal(withTyped(six, 'ring'), six);
});
