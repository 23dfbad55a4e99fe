// Algorithms: the pictures and numbers of schedules, against literal values of the lecture notes and of hand-worked cases.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressed, api, chorus, open, settled, shot, text } from './studio.mjs';

/** What the cells of a picture say, a list by rank: k of N summed, with * where it is final. */
async function cells(page, algorithm) {
  return page.locator(`[data-algorithm="${algorithm}"] [data-cell]`).evaluateAll((all) => {
    const ranks = [];
    for (const { dataset } of all) {
      const [rank, block] = dataset.cell.split(' ').map(Number);
      (ranks[rank] ??= [])[block] = dataset.final === 'true' ? '*' : dataset.count;
    }
    return ranks.map((blocks) => blocks.join(' ')).join(' | ');
  });
}
const fact = (page, name, algorithm = '') => text(page, `${algorithm ? `[data-algorithm="${algorithm}"] ` : ''}[data-fact="${name}"]`);

test('ring all_reduce on 4 ranks: every cell after every step, bytes, links', async () => {
  const page = await open('#/algorithms');
  const states = [
    ['1 1 1 1 | 1 1 1 1 | 1 1 1 1 | 1 1 1 1', '0 B of 6 MiB', '0 B', '0 of 12', '0 of 16'],
    ['1 1 2 1 | 1 1 1 2 | 2 1 1 1 | 1 2 1 1', '1 MiB of 6 MiB', '256 KiB', '4 of 12', '0 of 16'],
    ['1 3 2 1 | 1 1 3 2 | 2 1 1 3 | 3 2 1 1', '2 MiB of 6 MiB', '512 KiB', '4 of 12', '0 of 16'],
    ['* 3 2 1 | 1 * 3 2 | 2 1 * 3 | 3 2 1 *', '3 MiB of 6 MiB', '768 KiB', '4 of 12', '4 of 16'],
    ['* 3 2 * | * * 3 2 | 2 * * 3 | 3 2 * *', '4 MiB of 6 MiB', '1 MiB', '4 of 12', '8 of 16'],
    ['* 3 * * | * * 3 * | * * * 3 | 3 * * *', '5 MiB of 6 MiB', '1.25 MiB', '4 of 12', '12 of 16'],
    ['* * * * | * * * * | * * * * | * * * *', '6 MiB of 6 MiB', '1.5 MiB', '4 of 12', '16 of 16'],
  ];
  for (const [step, [picture, bytes, busiest, links, finals]] of states.entries()) {
    assert.equal(await cells(page, 'ring'), picture, `step ${step}`);
    assert.equal(await fact(page, 'bytes'), bytes);
    assert.equal(await fact(page, 'busiest'), busiest);
    assert.equal(await fact(page, 'links'), links);
    assert.equal(await fact(page, 'finals'), finals);
    await page.keyboard.press('ArrowRight');
    await settled(page);
  }
  await page.done();
});

test('keys: arrows, Home, End, Space; a field keeps its own', async () => {
  const page = await open('#/algorithms');
  const position = () => text(page, '.position');
  for (const [key, where] of [['ArrowRight', '1 / 6'], ['ArrowRight', '2 / 6'], ['ArrowLeft', '1 / 6'], ['End', '6 / 6'], ['ArrowRight', '6 / 6'], ['Home', '0 / 6'], ['ArrowLeft', '0 / 6']]) {
    await page.keyboard.press(key);
    assert.equal(await position(), where, key);
  }
  await page.keyboard.press(' ');
  await page.waitForFunction(() => document.querySelector('.position').innerText.startsWith('2'));
  await page.keyboard.press(' ');
  const stopped = await position();
  await page.waitForTimeout(1500);
  assert.equal(await position(), stopped);
  await page.getByLabel('Ranks N').focus();
  await page.keyboard.press('ArrowRight');
  await settled(page);
  await addressed(page, /n=5/);
  await page.done();
});

test('the convention switch: rank i ends with chunk i, or i + 1 as in lecture notes', async () => {
  const page = await open('#/algorithms?step=3');
  assert.equal(await cells(page, 'ring'), '* 3 2 1 | 1 * 3 2 | 2 1 * 3 | 3 2 1 *');
  await page.getByText('i+1', { exact: true }).click();
  await settled(page);
  // Rank i has chunk i + 1: rank 0 B, rank 1 C, rank 2 D, rank 3 A.
  assert.equal(await cells(page, 'ring'), '1 * 3 2 | 2 1 * 3 | 3 2 1 * | * 3 2 1');
  assert.match(await text(page, '.says'), /rank i ends its sums with chunk i \+ 1/);
  await addressed(page, /relabel=1/);
  assert.match(await text(page, '.proof'), /proved/);
  await page.done();
});

test('shifted_ring reduce_scatter is the ring of lecture notes: ranks 0 to 3 end with B, C, D, A', async () => {
  const page = await open('#/algorithms?op=reduce_scatter&algorithm=shifted_ring&step=3');
  assert.equal(await cells(page, 'shifted_ring'), '1 * 3 2 | 2 1 * 3 | 3 2 1 * | * 3 2 1');
  assert.equal(await fact(page, 'bytes'), '3 MiB of 3 MiB');
  await page.done();
});

test('two algorithms side by side: 14 steps of the ring, 6 of halving and doubling, the same bytes', async () => {
  const page = await open('#/algorithms?n=8&beside=halving_doubling&step=6');
  assert.equal(await page.locator('[data-algorithm]').count(), 2);
  assert.equal(await text(page, '.position'), '6 / 14');
  assert.equal(await fact(page, 'bytes', 'ring'), '6 MiB of 14 MiB');
  assert.equal(await fact(page, 'finals', 'ring'), '0 of 64');
  assert.equal(await fact(page, 'bytes', 'halving_doubling'), '14 MiB of 14 MiB');
  assert.equal(await fact(page, 'finals', 'halving_doubling'), '64 of 64');
  await shot(page, 'algorithms-two');
  await page.done();
});

test('other algorithms: steps and bytes by hand', async () => {
  for (const [query, steps, bytes, finals] of [
    ['op=all_gather&algorithm=ring&n=4', 3, '3 MiB', 16],                    // N (N - 1)/N V
    ['op=all_gather&algorithm=bidirectional_ring&n=5', 2, '4 MiB', 25],      // floor(N / 2) steps
    ['op=all_gather&algorithm=bruck&n=16', 4, '15 MiB', 256],                // log2 N steps
    ['op=all_reduce&algorithm=one_shot&n=3', 1, '6 MiB', 3],                 // N (N - 1) V
    ['op=all_reduce&algorithm=direct&n=4', 2, '6 MiB', 16],
    ['op=broadcast&algorithm=binomial&n=8', 3, '7 MiB', 8],                  // each of the others once
    ['op=reduce&algorithm=binomial&n=8', 3, '7 MiB', 1],
    ['op=all_to_all&algorithm=pairwise&n=4', 3, '3 MiB', 16],
    ['op=gather&algorithm=direct&n=4', 1, '768 KiB', 4],
  ]) {
    const page = await open(`#/algorithms?${query}`);
    await page.keyboard.press('End');
    await settled(page);
    assert.equal(await text(page, '.position'), `${steps} / ${steps}`, query);
    assert.equal(await fact(page, 'bytes'), `${bytes} of ${bytes}`, query);
    assert.equal(await fact(page, 'finals'), `${finals} of ${finals}`, query);
    await page.done();
  }
});

test('a binomial tree: the root sends to 4, 2 and 1 at once, then 4 have it, then 7, then 8', async () => {
  const page = await open('#/algorithms?op=broadcast&algorithm=binomial&n=8');
  for (const have of [1, 4, 7, 8]) {
    assert.equal(await page.locator('[data-cell][data-count="1"]').count(), have);
    await page.keyboard.press('ArrowRight');
    await settled(page);
  }
  await page.done();
});

test('numbers of an algorithm are typed, and explained where they do not fit', async () => {
  const page = await open('#/algorithms?algorithm=two_level&n=6', { allow: /422/ });
  assert.equal(await text(page, 'article h2'), 'two_level:2 all_reduce');
  await page.getByLabel('L of the algorithm').fill('3+1+2');
  await settled(page);
  assert.equal(await text(page, 'article h2'), 'two_level:3+1+2 all_reduce');
  await page.getByLabel('L of the algorithm').fill('3+1+9');
  await settled(page);
  assert.match(await text(page, '.problem'), /6|13/);
  await page.done();
});

test('the text and the proof are those of the command line', async () => {
  const page = await open('#/algorithms?n=5');
  const shown = await page.locator('.source pre').evaluate((pre) => pre.textContent);
  assert.equal(shown, chorus('show', 'ring', 'all_reduce', '-n', '5', '--json').text);
  const [proof] = chorus('verify', 'ring', 'all_reduce', '-n', '5', '--json');
  await page.locator('.proof summary').click();
  const says = await text(page, '.proof p');
  assert.match(says, /Proved for N = 5/);
  assert.ok(says.includes(`${proof.messages} messages`), says);
  await page.done();
});

test('a link reproduces the page, in Chinese as well', async () => {
  const page = await open('#/algorithms?op=all_gather&algorithm=direct&n=6&step=1&view=columns&lang=zh&theme=dark');
  assert.equal(await text(page, 'h1'), '算法');
  assert.equal(await text(page, 'article h2'), 'direct all_gather');
  assert.equal(await fact(page, 'finals'), '36 / 36');
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh-CN');
  await page.getByRole('button', { name: 'English' }).click();
  assert.equal(await text(page, 'h1'), 'Algorithms');
  await settled(page);
  await addressed(page, /lang=en/);
  await page.done();
});

test('every algorithm of every operation can be drawn, and is explained in Chinese', async () => {
  const { operations } = await api('catalogue', {});
  const page = await open('#/algorithms?lang=zh');
  for (const { operation, algorithms } of operations) {
    for (const { name, ranks, parameter } of algorithms) {
      const base = name.replace(/:.*/, '');
      const number = !parameter ? '' : base === 'torus' ? ':2x2' : ':2';
      assert.ok(parameter || ranks.includes(4), `${name} ${operation}`);
      await page.goto(page.url().replace(/#.*/, `#/algorithms?op=${operation}&algorithm=${base}${number}&n=4&step=1&lang=zh`));
      await settled(page);
      assert.equal(await text(page, 'article h2'), `${base}${number} ${operation}`);
      assert.match(await text(page, 'article header p'), /[\u4e00-\u9fff]/, `${name} ${operation} has no Chinese idea`);
      assert.doesNotMatch(await text(page, 'article header p:nth-of-type(2)'), /steps|sent per rank/);
    }
  }
  await page.done();
});

test('copies: CSV of messages, SVG of the picture, the schedule', async () => {
  const page = await open('#/algorithms?step=2');
  const copied = async (name) => {
    await page.getByRole('button', { name }).first().click();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  const csv = await copied('Copy as CSV: ring all_reduce');
  assert.equal(csv.split('\r\n')[0], 'step,from rank,to rank,chunks,bytes');
  assert.equal(csv.split('\r\n')[1], '1,0,1,3,262144');
  assert.equal(csv.trim().split('\r\n').length, 25);  // 6 steps of 4 messages, and the heads
  const svg = await copied('Copy as SVG: ring all_reduce');
  assert.match(svg, /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assert.match(svg, /fill="rgb\(/);
  await page.done();
});

test('what moves: a chunk is on its way between two steps', async () => {
  const page = await open('#/algorithms', { still: false });
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('.token');
  await page.waitForFunction(() => !document.querySelector('.token'));
  assert.equal(await cells(page, 'ring'), '1 1 2 1 | 1 1 1 2 | 2 1 1 1 | 1 2 1 1');
  await page.done();
});

test('two algorithms at N = 16 fit their halves; messages stand by their sender', async () => {
  const page = await open('#/algorithms?op=all_to_all&algorithm=bruck&beside=direct&n=16&step=1&lang=en', { size: 'wide' });
  const wider = await page.locator('.drawing').evaluateAll((all) => all.map((one) => one.scrollWidth - one.clientWidth));
  assert.deepEqual(wider, [0, 0]);
  const senders = await page.locator('[data-algorithm=direct] .messages .who').allTextContents();
  const ranks = senders.map((said) => Number(/\d+/.exec(said)[0]));
  assert.ok(ranks.length > 2);
  assert.deepEqual(ranks, [...ranks].sort((a, b) => a - b));
  await page.done();
});

test('keys are named only where there is a keyboard', async () => {
  const page = await open('#/algorithms?lang=en');
  const keys = page.getByText('Press Space, or the right arrow.');
  assert.equal(await keys.isVisible(), true);
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setTouchEmulationEnabled', { enabled: true });
  await keys.waitFor({ state: 'hidden', timeout: 10_000 });
  await page.done();
});
