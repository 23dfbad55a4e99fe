// Primitives: who has what before and after, against the worked values of the lecture notes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, chorus, open, settled, studio, text } from './studio.mjs';

/** Values in the cells of one side, "rank block=text" in order. */
const side = (page, when) => page.locator(`[data-${when}]`).evaluateAll((all, when) => all.map((g) => `${g.dataset[when]}=${g.querySelector('text')?.textContent ?? ''}`).join(' '), when);

for (const [query, before, after] of [
  // Rank r has [0 1 2 3] + r: the sums are 6 10 14 18.
  ['op=reduce_scatter&numbers=1', '0 0=0 0 1=1 0 2=2 0 3=3 1 0=1 1 1=2 1 2=3 1 3=4 2 0=2 2 1=3 2 2=4 2 3=5 3 0=3 3 1=4 3 2=5 3 3=6', '0 0=6 1 1=10 2 2=14 3 3=18'],
  ['op=all_gather&n=3', '0 0=x₀[0] 1 1=x₁[1] 2 2=x₂[2]', '0 0=x₀[0] 0 1=x₁[1] 0 2=x₂[2] 1 0=x₀[0] 1 1=x₁[1] 1 2=x₂[2] 2 0=x₀[0] 2 1=x₁[1] 2 2=x₂[2]'],
  ['op=gather&n=3&root=1', '0 0=x₀[0] 1 1=x₁[1] 2 2=x₂[2]', '1 0=x₀[0] 1 1=x₁[1] 1 2=x₂[2]'],
  ['op=scatter&n=3', '0 0=x₀[0] 0 1=x₀[1] 0 2=x₀[2]', '0 0=x₀[0] 1 1=x₀[1] 2 2=x₀[2]'],
  ['op=all_to_all&n=2', '0 0=x₀[0] 0 1=x₀[1] 1 2=x₁[0] 1 3=x₁[1]', '0 0=x₀[0] 0 2=x₁[0] 1 1=x₀[1] 1 3=x₁[1]'],
]) {
  test(`${query}: before and after`, async () => {
    const page = await open(`#/primitives?${query}`);
    assert.equal(await side(page, 'before'), before);
    await page.keyboard.press('ArrowRight');
    await settled(page);
    assert.equal(await side(page, 'after'), after);
    await page.done();
  });
}

test('all_reduce: every rank has the sum, 0 + 1 + 2 + 3 = 6; reduce: the root alone', async () => {
  let page = await open('#/primitives?op=all_reduce&numbers=1&step=1');
  assert.equal(await side(page, 'after'), [0, 1, 2, 3].map((rank) => `${rank} 0=6 ${rank} 1=10 ${rank} 2=14 ${rank} 3=18`).join(' '));
  await page.done();
  page = await open('#/primitives?op=reduce&numbers=1&root=2&step=1');
  assert.match(await side(page, 'after'), /^2 0=6/);
  assert.doesNotMatch(await side(page, 'after'), /(^| )[013] 0=/);
  await page.done();
});

test('broadcast: what the root had, all have', async () => {
  const page = await open('#/primitives?op=broadcast&n=3&root=1&step=1');
  assert.equal(await page.locator('[data-before]').count() * 3, await page.locator('[data-after]').count());
  for (const value of (await side(page, 'after')).split(' ').filter((part) => part.includes('='))) assert.match(value, /=x₁/);
  await page.done();
});

test('barrier: rank r comes after r seconds, so 3 ranks go on after 2 s', async () => {
  const page = await open('#/primitives?op=barrier&n=3&step=1');
  assert.equal(await page.locator('svg .all').textContent(), 'all go on at 2 s');
  await page.done();
});

test('blocks of different sizes: 3, 1, 0 and 2 elements, named as MPI names it', async () => {
  const page = await open('#/primitives?op=all_gather&v=1&counts=3,1,0,2&step=1', { allow: /422/ });
  assert.equal(await text(page, 'article h2'), 'all_gather_v');
  assert.match(await text(page, '.facts'), /MPI_Allgatherv/);
  const heights = await page.locator('[data-before] .cell').evaluateAll((all) => all.map((rect) => Number(rect.getAttribute('height'))));
  assert.equal(heights[0], 3 * heights[1]);
  assert.equal(heights[3], 2 * heights[1]);
  await page.getByLabel('Elements of each block').fill('1,2');
  await settled(page);
  assert.equal(await text(page, '.problem'), 'counts has 2 numbers; all_gather_v over 4 ranks takes 4');
  await page.done();
});

test('names and the price: 16 GB on 8 H100 take 62.2 ms, as chorus estimate says', async () => {
  const page = await open('#/primitives?op=all_reduce&n=8&bytes=16000000000');
  const facts = await text(page, '.facts');
  for (const name of ['all_reduce', 'MPI_Allreduce', 'ncclAllReduce']) assert.ok(facts.includes(name), name);
  assert.equal(await text(page, '[data-fact="seconds"]'), '62.2 ms');
  const [estimate] = chorus('estimate', 'all_reduce', '--bytes', '16GB', '--on', 'h100-8', '--json').estimates;
  assert.equal((estimate.seconds * 1e3).toPrecision(3), '62.2');
  await page.locator('input[type=range][max="16"]').first().fill('4');
  await settled(page);
  assert.match(await text(page, '.facts'), /Time of 16 GB, 4 ranks on h100-8, ring 53\.3 ms/);  // 2 x 3/4 x 16 GB / 450 GB/s
  assert.match(facts, /busbw, to compare with a link 449\.9 GB\/s per direction/);
  await page.done();
});

test('definitions in Chinese have no English left', async () => {
  const page = await open('#/primitives?lang=zh');
  for (const { operation } of (await api('catalogue', {})).operations) {
    await page.goto(page.url().replace(/#.*/, `#/primitives?op=${operation}&lang=zh`));
    await settled(page);
    assert.doesNotMatch(await text(page, '.facts code'), /\b(for|every|the|owner|rank's|ends)\b/, operation);
  }
  await page.done();
});

test('in Chinese', async () => {
  const page = await open('#/primitives?op=all_to_all&lang=zh');
  assert.equal(await text(page, 'h1'), '原语');
  assert.equal(await text(page, 'article h2'), 'all_to_all 全交换');
  assert.match(await text(page, '.facts'), /典型用途/);
  await page.done();
});

test('a barrier has no data to copy', async () => {
  const page = await open('#/primitives?op=barrier&lang=en');
  assert.equal(await page.getByRole('button', { name: /as CSV/ }).count(), 0);
  assert.equal(await page.getByRole('button', { name: /as SVG/ }).count(), 1);
  await page.goto(new URL('#/primitives?op=all_gather&lang=zh', studio).href);
  await settled(page);
  assert.doesNotMatch(await text(page, '.facts'), /，，|,，/);
  await page.done();
});
