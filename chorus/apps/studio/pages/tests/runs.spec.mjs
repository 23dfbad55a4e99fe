// Runs: the files of tests/runs, whose numbers are worked out by hand, and a studio without a folder.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { addressed, open, settled, shot, studio, text } from './studio.mjs';

// A studio of its own, which has the folder.
let server, runs = process.env.STUDIO_RUNS;
before(async () => {
  if (runs) return;
  const here = new URL('.', import.meta.url).pathname;
  server = spawn(process.env.CHORUS ?? 'chorus', ['studio', '--port', '0', '--runs', `${here}runs`], { stdio: ['ignore', 'pipe', 'inherit'] });
  runs = await new Promise((found, failed) => {
    let said = '';
    server.on('exit', (code) => failed(new Error(`chorus studio ended with ${code}: ${said}`)));
    server.stdout.on('data', (data) => { const address = /http:\/\/\S+/.exec(said += data); if (address) found(address[0]); });
  });
});
after(() => server?.kill());

const address = (fields) => `#/runs?${new URLSearchParams(fields)}`;
const at = (fields, options) => open(address(fields), { ...options, base: runs });
const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());

test('without a folder the page says how to begin, in both languages', async () => {
  const page = await open('#/runs?lang=en');
  const start = await text(page, '[data-fact=how-to-start]');
  assert.match(start, /No folder of runs is open/);
  assert.match(start, /chorus studio --runs results\//);
  assert.match(start, /chorus bench all_reduce -b 1K -e 64M -f 2 -J results\/all_reduce\.json/);
  await page.getByRole('button', { name: /chorus studio --runs/ }).click();
  assert.equal(await clipboard(page), 'chorus studio --runs results/');
  await page.goto(new URL('#/runs?lang=zh', studio).href);
  await settled(page);
  assert.match(await text(page, '[data-fact=how-to-start]'), /没有打开运行记录的文件夹/);
  await page.done();
});

test('chorus bench: bandwidth by size, beside the bound', async () => {
  const page = await at({ file: 'bench.json', lang: 'en' });
  const table = await text(page, '[aria-labelledby=by-size] tbody');
  // 1 MB over 4 ranks in 125 us: 8 GB/s, and x 2 * 3 / 4 on the links.
  assert.match(table, /976\.6 KiB|1 MB/);
  assert.match(table, /bound 125 µs 12 GB\/s/);
  assert.match(table, /in place 250 µs 6 GB\/s/);
  assert.match(table, /out of place 500 µs 3 GB\/s 25 %/);
  assert.deepEqual(await page.locator('figure .name').allTextContents().then((all) => all.sort()), ['bound', 'in place', 'out of place']);
  assert.ok((await page.locator('figure .axis').allTextContents()).includes('Bus bandwidth, per direction'));
  await page.done();
});

test('peers: a library at its best, ratios with their interval, the bound', async () => {
  const page = await at({ file: 'peers.jsonl', lang: 'en' });
  const table = await text(page, '[aria-labelledby=by-size] tbody');
  assert.match(table, /chorus ordinary 2 µs 4 GB\/s 1\.5 \(1\.4 to 1\.6\) 50 %/);  // 8000 B x 2 * 1 / 2 / 2 us
  assert.match(table, /Open MPI default copy 3 µs 2\.67 GB\/s/);
  await page.locator('summary').first().click();
  assert.match(await text(page, 'figure table tbody'), /chorus ordinary|2\.67 GB\/s/);
  assert.match(await text(page, 'main'), /A peer is drawn at its best setting for each size/);
  await page.getByText('Time', { exact: true }).first().click();
  await addressed(page, /y=seconds/);
  await page.done();
});

test('two runs: the speed of each side against the other file', async () => {
  const page = await at({ file: 'peers.jsonl', with: 'peers-before.jsonl', lang: 'en' });
  const table = await text(page, '[aria-labelledby=by-size] tbody');
  assert.match(table, /chorus ordinary 2 µs 4 GB\/s 1\.5 \(1\.4 to 1\.6\) 50 % 0\.5 /);  // was 1 us
  assert.match(table, /chorus ordinary 1 ms 8 GB\/s 1\.6 \(1\.5 to 1\.7\) 80 % 2 /);  // was 2 ms
  assert.equal(await page.locator('figure .name').count(), 6);
  await shot(page, 'runs-compared');
  await page.done();
});

test('training: the loss of two runs, what a step sends', async () => {
  const page = await at({ file: 'loss-a.jsonl', with: 'loss-b.jsonl', lang: 'en' });
  assert.equal(await page.locator('figure .curve').count(), 4);
  const main = await text(page, 'main');
  assert.match(main, /Loss of the last batch, nats a character 1\.395 0\.4295/);  // 4 x 0.9^10, 4 x 0.8^10
  assert.match(main, /Characters a second 2,000 2,000/);
  assert.match(main, /all_gather Y 384 KiB 384 KiB 25 %/);
  assert.match(main, /all_reduce Y 1\.125 MiB 1\.125 MiB 75 %/);
  await shot(page, 'runs-training');
  await page.done();
});

test('a trace: 50 % and 100 % of the time in collectives', async () => {
  const page = await at({ file: 'trace.json', lang: 'en' });
  assert.match(await text(page, '[data-share="rank 0"]'), /^50 % 2 ms, Calls: 2$/);
  assert.match(await text(page, '[data-share="rank 1"]'), /^100 % 4 ms, Calls: 2$/);
  const main = await text(page, 'main');
  assert.match(main, /Collectives of each rank over 4 ms/);
  assert.match(main, /all_reduce 2 4 ms 66\.7 % 8 KiB/);
  assert.match(main, /all_gather 2 2 ms 33\.3 % 2 KiB/);
  // No label of the axis is cut off by the drawing's edge.
  const cut = await page.locator('main svg[role=img] text').evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().right > one.ownerSVGElement.getBoundingClientRect().right + 0.5).map((one) => one.textContent));
  assert.deepEqual(cut, []);
  await page.done();
});

test('files of another kind, and none that this page knows', async () => {
  const page = await at({ file: 'other.json', lang: 'en' });
  assert.match(await text(page, 'main'), /"something":"else"/);
  await page.getByLabel('File', { exact: true }).selectOption('trace.json');
  await page.getByLabel('Compare with').selectOption('bench.json');
  await settled(page);
  assert.match(await text(page, 'main'), /bench\.json holds measurements; choose another of the same kind as trace\.json/);
  await page.done();
});

test('on a phone all of a measurement is in sight', async () => {
  const page = await at({ file: 'peers.jsonl', with: 'peers-before.jsonl', lang: 'en' }, { size: 'phone' });
  const list = page.locator('[aria-labelledby=by-size] .list');
  assert.ok(await list.evaluate((one) => one.scrollWidth <= one.clientWidth));
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth));
  const row = list.locator('tr.own').first();
  assert.deepEqual(await row.locator('td:visible').evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().right > innerWidth || !(one.dataset.label || one.classList.contains('half')))), []);
  assert.match(await row.innerText(), /1\.5 \(1\.4 to 1\.6\)/);
  await shot(page, 'runs-table-phone', { fullPage: true });
  await page.done();
});

test('what a file does not hold is said, and a chart is copied with its units', async () => {
  const page = await at({ file: 'loss-only.jsonl', lang: 'en' });
  const main = await text(page, 'main');
  assert.match(main, /Took not in the file Characters a second not in the file Ranks not in the file/);
  assert.doesNotMatch(main, /NaN|- ns|– ns/);
  await page.goto(new URL(address({ file: 'peers.jsonl', y: 'seconds', lang: 'en' }), runs).href);
  await settled(page);
  await page.locator('figure').getByRole('button', { name: /as CSV/ }).click();
  assert.match(await clipboard(page), /^[^,\r\n]* \(bytes\),[^,\r\n]* \(seconds\),/);
  await page.done();
});

test('a file that is not there: the page is not busy for ever', async () => {
  const page = await at({ file: 'nosuch', lang: 'en' }, { allow: /4\d\d/ });  // open() waits until nothing is busy
  assert.match(await text(page, 'main'), /file=nosuch, which this page does not know/);
  assert.equal(await page.locator('[aria-busy=true]').count(), 0);
  await page.done();
});

test('in Chinese, in the dark, on a phone', async () => {
  const page = await at({ file: 'peers.jsonl', lang: 'zh', theme: 'dark' }, { size: 'phone' });
  assert.match(await text(page, 'main'), /总线带宽（每个方向）/);
  assert.match(await text(page, 'main'), /1\.5 \(1\.4 到 1\.6\)/);
  await shot(page, 'runs-phone-zh', { fullPage: true });
  await page.done();
});
