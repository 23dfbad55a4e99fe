// Mesh: who holds which block, against the lecture notes' questions and cases by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressed, open, settled, shot, text } from './studio.mjs';

const fact = (page, name) => text(page, `[data-fact="${name}"]`);
const address = (fields) => `#/mesh?${new URLSearchParams(fields)}`;

test('the questions of the notes: bytes per device, in all, copies', async () => {
  for (const [fields, local, bytes, total, copies] of [
    [{ mesh: 'X=2,Y=2', spec: 'A[I_X, J_Y]', dims: 'I=4,J=4' }, '[2, 2]', '16 B', '64 B', '1 ×'],
    [{ mesh: 'X=8,Y=2', spec: 'A[I_XY, J]', dims: 'I=1024,J=4096' }, '[64, 4096]', '1 MiB', '16 MiB', '1 ×'],
    [{ mesh: 'X=2,Y=8,Z=2', spec: 'A[I_XY, J]', dims: 'I=128,J=2048', dtype: 'i8' }, '[8, 2048]', '16 KiB', '512 KiB', '2 ×'],
    [{ mesh: 'X=4,Y=8,Z=2', spec: 'A[I_X, J, K]', dims: 'I=8,J=2,K=2' }, '[2, 2, 2]', '32 B', '2 KiB', '16 ×'],
    [{ mesh: 'X=2,Y=2', spec: 'A[I, J]', dims: 'I=4,J=4', dtype: 'bf16' }, '[4, 4]', '32 B', '128 B', '4 ×'],
  ]) {
    const page = await open(address(fields));
    assert.equal(await fact(page, 'local'), local, fields.spec);
    assert.equal(await fact(page, 'bytes'), bytes, fields.spec);
    assert.equal(await fact(page, 'total'), total, fields.spec);
    assert.equal(await fact(page, 'copies'), copies, fields.spec);
    await page.done();
  }
});

test('devices are numbered row-major, d = 2x + y, and hold their blocks', async () => {
  const page = await open('#/mesh');
  const name = (rank) => page.locator(`[data-device="${rank}"]`).getAttribute('aria-label');
  assert.equal(await name(0), 'device 0: I 0–1, J 0–1, 16 B');
  assert.equal(await name(1), 'device 1: I 0–1, J 2–3, 16 B');
  assert.equal(await name(2), 'device 2: I 2–3, J 0–1, 16 B');
  assert.equal(await name(3), 'device 3: I 2–3, J 2–3, 16 B');
  await page.done();
});

test('sizes that do not divide: 7 rows over X = 2, then Y = 3, are 2 1 1 1 1 1', async () => {
  const page = await open(address({ mesh: 'X=2,Y=3', spec: 'A[I_XY, J]', dims: 'I=7,J=4' }));
  const labels = await page.locator('[data-device]').evaluateAll((all) => all.map((device) => device.getAttribute('aria-label').match(/I (\d+)–(\d+)/).slice(1).map(Number)));
  assert.deepEqual(labels.map(([begin, end]) => end - begin + 1), [2, 1, 1, 1, 1, 1]);
  assert.equal(await fact(page, 'bytes'), '16 B to 32 B');
  await page.done();
});

test('replicas and partial sums of a chosen device, by pointer and by key', async () => {
  const page = await open(address({ mesh: 'X=2,Y=2,Z=2', spec: 'A[I_X, J]{U_Y}', dims: 'I=5,J=7' }));
  await page.locator('[data-device="5"]').click();
  assert.equal(await fact(page, 'replicas'), '4');
  assert.equal(await fact(page, 'addends'), '7');
  assert.equal(await fact(page, 'local'), '[2, 7]');
  await addressed(page, /device=5/);
  await page.locator('[data-device="5"]').press('ArrowRight');
  await page.keyboard.press('Enter');
  assert.equal(await fact(page, 'replicas'), '7');
  assert.match(await text(page, '.spec .hint'), /I is split over X; J is whole; alike along Z; still a sum over Y/);
  await page.done();
});

test('an axis used twice is explained where it stands, with a legal spelling', async () => {
  const page = await open('#/mesh', { allow: /422/ });
  await page.getByLabel('Spec').fill('A[I_X, J_X]');
  await settled(page);
  const problem = await text(page, '.spec .problem');
  assert.match(problem, /X/);
  assert.match(problem, /once|twice/);
  assert.equal(await page.locator('.spec mark').textContent(), 'X');
  assert.equal(await page.getByLabel('Spec').getAttribute('aria-invalid'), 'true');
  assert.match(await text(page, 'main'), /last layout that was legal/);
  await shot(page, 'mesh-illegal');
  await page.locator('.spellings button').first().click();
  await settled(page);
  assert.equal(await page.locator('.problem').count(), 0);
  await page.done();
});

test('a dimension without a size, a mesh that cannot be read: each at its own field', async () => {
  const page = await open('#/mesh', { allow: /4\d\d/ });
  await page.getByLabel('Spec').fill('A[I_X, K]');
  await settled(page);
  assert.match(await text(page, '.problem'), /K/);
  await page.getByLabel('Spec').fill('A[I_X, J]');
  await page.getByLabel('Mesh').fill('X=2,Y=');
  await settled(page);
  assert.equal(await page.getByLabel('Mesh').getAttribute('aria-invalid'), 'true');
  await page.done();
});

test('in Chinese, in the dark', async () => {
  const page = await open(`${address({ spec: 'A[I_XY, J]' })}&lang=zh&theme=dark`);
  assert.equal(await text(page, 'h1'), '设备网格');
  assert.match(await text(page, '.spec .hint'), /I 沿 X，再沿 Y 切开；J 完整/);
  assert.equal(await fact(page, 'local'), '[1, 4]');
  await page.done();
});

test('1024 devices: every block can be seen, inside of its array', async () => {
  const page = await open(`#/mesh?${new URLSearchParams({ mesh: 'X=32,Y=32', spec: 'A[I_X, J_Y]', dims: 'I=4096,J=4096', lang: 'en' })}`);
  const blocks = await page.locator('[data-device]').evaluateAll((all) => all.map((one) => {
    const box = (name) => one.querySelector(name).getBBox();
    const block = box('.block'), array = box('.array');
    return { least: Math.min(block.width, block.height), inside: block.x >= array.x - 0.01 && block.y >= array.y - 0.01 && block.x + block.width <= array.x + array.width + 0.01 && block.y + block.height <= array.y + array.height + 0.01 };
  }));
  assert.equal(blocks.length, 1024);
  assert.ok(blocks.every(({ least, inside }) => least >= 2.9 && inside), JSON.stringify(blocks[1023]));
  await shot(page, 'mesh-1024');
  await page.done();
});
