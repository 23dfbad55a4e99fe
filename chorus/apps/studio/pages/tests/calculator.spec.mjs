// Calculator: the worked values of the lecture notes, cases by hand, and the same numbers as chorus estimate --json.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressed, chorus, open, settled, shot, text } from './studio.mjs';

const address = (fields) => `#/calculator?${new URLSearchParams(fields)}`;
const time = (page) => text(page, '.time strong');
const terms = (page) => text(page, '.terms');
const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());

// What the notes say, one click away: total, and a term of it.
const notes = [
  ['gradients', '62.2 ms', '2(N − 1)/N × 16 GB / 450 GB/s per direction = 62.2 ms; latency 14 × 1 µs = 14 µs'],
  ['reached', '75.7 ms', '2(N − 1)/N × 16 GB / 370 GB/s per direction = 75.7 ms'],
  ['nodes', '77.8 ms', '2(M − 1)/M × 16 GB / 400 GB/s per direction (the 8 ports of a node) = 77.5 ms'],
  ['weights', '1.05 ms', '(N − 1)/N × 536.9 MB / 450 GB/s per direction = 1.04 ms'],
  ['sharp', '22.2 ms', '1 × 10 GB / 450 GB/s per direction = 22.2 ms'],
  ['naive', '31.1 ms', '2 × 7 × 1 GB / 450 GB/s per direction = 31.1 ms'],
  ['balance', '28 µs', '2(N − 1)/N × 3.6 MB / 450 GB/s per direction = 14 µs; latency 14 × 1 µs = 14 µs'],
  ['small', '15.1 µs', 'launch 6.6 µs + hops 8.4 µs'],
  ['tree', '35.4 µs', 'launch 6.8 µs + hops 28.4 µs'],
  ['busbw', '1.34 ms', '2(N − 1)/N × 400 MB / 450 GB/s per direction = 1.33 ms'],
  ['wraps', '381 µs', '1/2 links × 33.55 MB / 45 GB/s per direction = 373 µs; latency 8 × 1 µs = 8 µs'],
  ['line', '562 µs', '(N − 1)/N × 33.55 MB / 45 GB/s per direction = 559 µs'],
  ['hops', '3 µs', '3 × 1 µs = 3 µs, as a round moves 32.77 KB in 728 ns only'],
  ['tokens', '1.95 ms', '7/N × 1 GB / 450 GB/s per direction = 1.94 ms'],
  ['crossing', '5 ms', '8/N × 500 MB / 50 GB/s per direction (a port between nodes) = 5 ms'],
  ['inside', '1.95 ms', '(L − 1)/L × 1 GB / 450 GB/s per direction = 1.94 ms'],
];

test('the worked examples of the notes, one click each', async () => {
  const page = await open('#/calculator?lang=en');
  for (const [example, total, term] of notes) {
    await page.locator(`[data-example="${example}"]`).click();
    await settled(page);
    assert.equal(await time(page), total, example);
    assert.ok((await terms(page)).includes(term), `${example}: ${await terms(page)}`);
    assert.equal(await page.locator(`[data-example="${example}"]`).getAttribute('aria-pressed'), 'true', example);
  }
  await page.done();
});

test('a time that was measured: 1.6 ms for 400 MB over 4 is algbw 250, busbw 375 GB/s', async () => {
  const page = await open(address({ op: 'all_reduce', bytes: '400MB', on: 'h100-4', algorithm: 'ring', measured: '1.6ms' }));
  assert.match(await text(page, '.mine'), /1\.6 ms: algbw 250 GB\/s, busbw 375 GB\/s per direction, 1\.19 times the estimate/);
  await page.done();
});

test('what an answer says: algbw, busbw, bound, lower bound, each as chorus estimate --json has it', async () => {
  const page = await open(address({ op: 'all_reduce', bytes: '16GB', on: 'h100-8', algorithm: 'ring' }));
  const [e] = chorus('estimate', 'all_reduce', '--bytes', '16GB', '--on', 'h100-8', '--algorithm', 'ring', '--json').estimates;
  assert.equal(e.seconds, 0.06223622222222222);
  const facts = await text(page, 'dl');
  assert.match(facts, /Bound by bandwidth 62\.2 ms moving, 14 µs waiting/);
  assert.match(facts, /algbw, V \/ time 257\.1 GB\/s/);  // 16 GB / 62.236 ms
  assert.match(facts, /busbw, per direction 449\.9 GB\/s/);  // x 2 * 7 / 8
  assert.match(facts, /No algorithm takes less than 35\.6 ms V \/ 450 GB\/s per direction, its port: 35\.6 ms the estimate is 1\.75 times that/);
  assert.match(await text(page, '.sheet'), /1\.75 times the fastest, sharp/);
  await page.getByRole('button', { name: 'Copy as CSV: All algorithms at 16 GB' }).click();
  const rows = (await clipboard(page)).trim().split('\r\n');
  const all = chorus('estimate', 'all_reduce', '--bytes', '16GB', '--on', 'h100-8', '--compare', '--json').estimates;
  assert.equal(rows.length, all.length + 1);
  all.forEach((one, i) => assert.ok(rows[i + 1].startsWith(`${one.algorithm},${one.bytes},${one.seconds},`), rows[i + 1]));
  await page.done();
});

test('all algorithms, the fastest first; a row keeps its algorithm', async () => {
  const page = await open('#/calculator?bytes=10GB');
  const names = await page.locator('tbody th button').allInnerTexts();
  assert.equal(names[0], 'sharp');
  assert.equal(names.at(-1), 'naive');
  assert.ok(names.length >= 9, names.join());
  await page.getByRole('button', { name: 'direct', exact: true }).click();
  await addressed(page, /algorithm=direct/);
  assert.equal(await time(page), '38.9 ms');  // 2 x 7/8 x 10 GB / 450 GB/s
  await page.getByRole('button', { name: 'Always the fastest' }).click();
  await settled(page);
  assert.equal(await time(page), '22.2 ms');
  await page.done();
});

test('curves: one an algorithm and the best; crossovers; measured points with their source', async () => {
  const page = await open(address({ op: 'broadcast', bytes: '1MiB', on: 'h100-8' }));
  const { crossovers } = chorus('estimate', 'broadcast', '--bytes', '256B..64GiB', '--on', 'h100-8', '--compare', '--json');
  assert.deepEqual(crossovers.map(({ to }) => to), ['double_tree', 'scatter_gather']);
  assert.match(await text(page, '.ranges'), /direct up to 219\.7 KiB double_tree 219\.7 KiB to 4\.005 MiB scatter_gather from 4\.005 MiB/);
  const names = await page.locator('figure svg .name').allTextContents();
  assert.ok(names.includes('best') && names.includes('direct') && names.includes('binomial'), names.join());
  await page.locator('figure svg[tabindex]').focus();
  await page.keyboard.press('Home');
  assert.match(await text(page, '.reading'), /256 B direct 1 µs best 1 µs/);
  await page.getByRole('button', { name: /Copy as SVG/ }).first().click();
  assert.match(await clipboard(page), /^<svg[^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  await page.goto(page.url().replace(/#.*/, address({ op: 'all_reduce', on: 'a100-8', bytes: '16MiB' })));
  await settled(page);
  assert.ok(await page.locator('figure circle.dot').count() > 20);
  assert.match(await text(page, '[aria-labelledby=measured-title]'), /A100 8x 8 32 KiB 43\.8 µs 747\.6 MB\/s 1\.308 GB\/s nccl-tests -n 50 stas00\/ml-engineering/);
  await shot(page, 'calculator-measured');
  await page.done();
});

test('the slider of bytes and that of ranks, by keys, quickly', async () => {
  const page = await open('#/calculator?bytes=1MiB&algorithm=ring');
  const bytes = page.getByLabel('Bytes, on a logarithmic scale');
  await bytes.focus();
  await page.keyboard.press('ArrowRight');
  await addressed(page, /bytes=1\.25MiB/);
  await settled(page);
  assert.match(await text(page, '#answer-of'), /all_reduce of 1\.25 MiB over 8 ranks/);
  await page.getByLabel('Ranks N').focus();
  await page.keyboard.press('ArrowLeft');
  await settled(page);
  assert.match(await text(page, '#answer-of'), /over 7 ranks \(h100-7\)/);
  const times = await page.evaluate(async () => {
    const slider = document.querySelector('.size input[type=range]');
    const shown = () => document.querySelector('#answer-of').textContent;
    const times = [];
    for (const position of [20, 33, 46, 59, 72, 85, 98]) {
      const before = shown();
      const begin = performance.now();
      slider.value = position;
      slider.dispatchEvent(new Event('input', { bubbles: true }));
      while (shown() === before && performance.now() - begin < 5000) await new Promise((done) => setTimeout(done, 2));
      times.push(performance.now() - begin);
    }
    return times.sort((a, b) => a - b);
  });
  console.log(`# slider of bytes: median ${times[3].toFixed(0)} ms, slowest ${times.at(-1).toFixed(0)} ms`);
  assert.ok(times[3] < 400, `${times}`);
  await page.done();
});

test('what is wrong is said: a size at its field, a machine with those there are', async () => {
  const page = await open('#/calculator', { allow: /4\d\d/ });
  const bytes = page.getByLabel('Bytes V', { exact: true });
  await bytes.fill('16 apples');
  await page.waitForSelector('.problem');
  assert.equal(await bytes.getAttribute('aria-invalid'), 'true');
  assert.match(await text(page, '.problem'), /apples.*use B, KiB, MiB/);
  await bytes.fill('16GB');
  await page.waitForSelector('.problem', { state: 'detached' });
  await page.getByLabel('Machine', { exact: true }).fill('h999-8');
  await page.waitForSelector('.problem, .failure');
  assert.match(await text(page, '.problem, .failure'), /there is no hardware 'h999'; there is .*h100/);
  await page.done();
});

test('measured by others: the rows that are dots in the chart stand first and are marked', async () => {
  for (const lang of ['en', 'zh']) {
    const page = await open(`${address({ op: 'all_reduce', bytes: '16GB', on: 'h100-8' })}&lang=${lang}`);
    const dots = await page.locator('figure circle.dot').count() - 1;  // one is in the key
    const rows = page.locator('[aria-labelledby=measured-title] tbody tr');
    const marked = await rows.evaluateAll((all) => all.map((row) => row.querySelector('.dot') !== null));
    assert.ok(dots > 0 && marked.length > dots, `${dots} of ${marked.length}`);
    assert.deepEqual(marked, marked.map((_, i) => i < dots));
    await page.done();
  }
});

test('on a phone the axis of sizes has at least three marks; an example says whose number it shows', async () => {
  const page = await open(address({ lang: 'en' }), { size: 'phone' });
  const marks = await page.locator('figure .tick').evaluateAll((all) => all.map((one) => one.textContent).filter((one) => /^\d+ ([KMG]i)?B$/.test(one)));
  assert.ok(marks.length >= 3, marks.join());
  assert.match(await text(page, '[data-example=wraps]'), /the notes say 373 µs/);
  await page.done();
});

// settled() waits until nothing says that it is busy: a question that is never counted as ended fails here.
test('a page is busy no longer than its questions', async () => {
  const page = await open(address({ measured: '2ms', lang: 'en' }), { allow: /422/ });
  page.setDefaultTimeout(15_000);
  for (const hardware of ['a100', 'v5e', 'h100']) {
    await page.getByLabel('Hardware').selectOption(hardware);
    await settled(page);
  }
  for (const operation of ['all_gather', 'broadcast', 'all_reduce']) {
    await page.getByLabel('Operation').selectOption(operation);
    await settled(page);
  }
  await page.getByLabel('Machine', { exact: true }).fill('v5e-3');
  await settled(page);
  await page.getByLabel('A time you measured').fill('0s');
  await page.waitForSelector('.problem');
  await settled(page);
  await page.done();
});

test('in Chinese: numbers, units and directions', async () => {
  const page = await open(`${address({ op: 'all_reduce', bytes: '16GB', on: 'h100-8', algorithm: 'ring' })}&lang=zh&theme=dark`);
  assert.equal(await text(page, 'h1'), '计算器');
  assert.equal(await terms(page), '2(N − 1)/N × 16 GB / 450 GB/s（每个方向）= 62.2 ms；延迟 14 × 1 µs = 14 µs');
  assert.match(await text(page, 'dl'), /瓶颈 带宽 搬运 62\.2 ms，等待 14 µs algbw，V \/ 时间 257\.1 GB\/s busbw，每个方向 449\.9 GB\/s/);
  assert.match(await text(page, '.sheet'), /8 个设备，交换机会求和，450 GB\/s（每个方向），延迟 1 µs/);
  await page.done();
});
