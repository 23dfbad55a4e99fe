// Sharded product: the four cases, collectives, ways, break-even and timelines, by hand and as chorus explain --json has them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressed, chorus, open, settled, shot, text } from './studio.mjs';

const address = (fields) => `#/product?${new URLSearchParams(fields)}`;
const fact = async (page, name) => text(page, `[data-fact="${name}"]`);
const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());

test('the four cases of the notes: what is done, what a rank sends and holds', async () => {
  for (const [product, dims, dtype, number, plan, sent, holds] of [
    // No contracted dimension is split: nothing moves. 1024 x 4096 + 4096 x 4096 + 1024 x 4096 elements of 2 B.
    ['A[I_X, J] * B[J, K] -> C[I_X, K]', 'I=4096,J=4096,K=4096', 'bf16', 1, 'X splits I', '0 B', '48 MiB'],
    // 3/4 of Y: 8192 x 8192 x 2 B = 128 MiB -> 96 MiB; reducing Z costs 2 x 3/4 x 512 x 8192 x 2 B = 12 MiB.
    ['X[B, D] * Y[D_X, F] -> Z[B, F]', 'B=512,D=8192,F=8192', 'bf16', 2, 'X splits D: slice D over X of X, all_reduce over X of Z', '12 MiB', null],
    // 2 x 3/4 x 1024 x 1024 x 4 B
    ['A[I, J_X] * B[J_X, K] -> C[I, K]', 'I=1024,J=1024,K=1024', 'f32', 3, 'X splits J: all_reduce over X of C', '6 MiB', '6 MiB'],
    // 3/4 of A: 512 x 8192 x 2 B = 8 MiB
    ['A[I_X, J] * B[J, K_X] -> C[I, K_X]', 'I=512,J=8192,K=8192', 'bf16', 4, 'X splits K: all_gather I over X of A', '6 MiB', '44 MiB'],
  ]) {
    const page = await open(address({ product, dims, dtype, mesh: 'X=4', on: 'h100-4' }));
    const json = chorus('explain', product, '--mesh', 'X=4', '--dims', dims, '--dtype', dtype, '--on', 'h100-4', '--json', '--alternatives');
    assert.equal(await fact(page, 'case'), `Case ${number}`, product);
    assert.equal(json.case, number);
    assert.equal(await fact(page, 'plan'), plan, product);
    assert.equal(json.plan, plan);
    assert.ok((await fact(page, 'sent')).startsWith(`${sent} `), `${product}: ${await fact(page, 'sent')}`);
    assert.ok((await fact(page, 'sent')).endsWith(` ${json.bytes_sent_per_rank.toLocaleString('en-US')} B`));
    assert.equal(await page.locator('[data-fact=sharp]').count(), number === 2 || number === 3 ? 1 : 0);  // an all_reduce on NVSwitch
    if (holds) assert.ok((await fact(page, 'holds')).startsWith(`${holds} `), await fact(page, 'holds'));
    await page.done();
  }
});

test('ways, best first, with time, bytes and memory, as chorus explain --json', async () => {
  const page = await open('#/product?lang=en');
  const json = chorus('explain', 'A[I, J_X] * B[J_X, K] -> C[I, K]', '--mesh', 'X=4', '--dims', 'I=1024,J=1024,K=1024', '--on', 'h100-4', '--json', '--alternatives');
  const plans = await page.locator('[aria-labelledby=ways-title] tbody th').allInnerTexts();
  assert.deepEqual(plans.map((plan) => plan.trim()), json.ways.map(({ plan }) => plan));
  assert.equal(plans[0], 'X splits J: all_reduce over X of C');
  await page.getByRole('button', { name: 'Copy as CSV: Ways to do it, best first' }).click();
  const rows = (await clipboard(page)).trim().split('\r\n');
  assert.equal(rows[0], 'plan,order,result,seconds,hidden_seconds,compute_seconds,move_seconds,bytes_sent_per_rank,flops_per_rank,peak_memory_bytes_per_rank');
  const best = json.ways[0];
  assert.ok(rows[1].includes(`,${best.seconds},${best.hidden_seconds},${best.compute_seconds},${best.move_seconds},6291456,536870912,6291456`), rows[1]);
  assert.ok(Math.abs(best.compute_seconds + best.move_seconds - best.seconds) < 1e-12);
  await page.done();
});

test('gradients: each a product of its own, by hand and as chorus explain --gradients', async () => {
  // X[B, D] * Y[D_X, F] -> Z[B, F] over 4 ranks. Each gradient ends as its operand lies, so X, which splits D in nothing, splits it in
  // both products. dX = dZ[B, F] * Y[D_X, F]: 2 x 512 x 8192 x 8192 / 4 FLOP, then what is split is gathered: 3/4 of 512 x 8192 x 2 B = 6 MiB.
  // dY = X[B, D] * dZ[B, F] takes its own D from X: the same FLOP, and nothing moves.
  const question = { product: 'X[B, D] * Y[D_X, F] -> Z[B, F]', mesh: 'X=4', dims: 'B=512,D=8192,F=8192', dtype: 'bf16', on: 'h100-4' };
  const page = await open(address(question));
  assert.equal(await page.locator('#gradients-title').count(), 0);
  await page.getByLabel('Gradients too').check();
  await page.locator('#gradients-title').waitFor();
  await addressed(page, /gradients=1/);
  const row = (operand) => text(page, `[data-gradient="${operand}"]`);
  const json = chorus('explain', question.product, '--mesh', 'X=4', '--dims', question.dims, '--dtype', 'bf16', '--on', 'h100-4', '--json', '--gradients').gradients;
  assert.match(await row('X'), /^dZ\[B, F\] \* Y\[D_X, F\] -> dX\[B, D\] X splits D: all_gather D over X of dX [\d.]+ µs 6 MiB 17\.2 GFLOP/);
  assert.match(await row('Y'), /^dZ\[B, F\] \* X\[B, D\] -> dY\[D_X, F\] X splits D: slice D over X of X [\d.]+ µs 0 B 17\.2 GFLOP/);
  assert.match(await row('all'), /^Together [\d.]+ µs 6 MiB 34\.4 GFLOP$/);
  assert.deepEqual(json.map((one) => [one.operand, one.bytes_sent_per_rank, one.flops_per_rank]), [['X', 6291456, 17179869184], ['Y', 0, 17179869184]]);
  await page.getByRole('button', { name: 'Copy as CSV: Gradients' }).click();
  const rows = (await clipboard(page)).trim().split('\r\n');
  assert.equal(rows[0], 'operand,product,case,plan,order,seconds,bytes_sent_per_rank,flops_per_rank,peak_memory_bytes_per_rank');
  assert.ok(rows[1].endsWith(`,${json[0].seconds},6291456,17179869184,${json[0].peak_memory_bytes_per_rank}`), rows[1]);
  await page.goto(`${page.url()}&lang=zh`);
  await page.locator('#gradients-title').filter({ hasText: '梯度' }).waitFor();
  assert.match(await row('X'), /X 切分 D：沿 X 对 dX 的 D 做 all_gather/);
  assert.match(await row('all'), /^合计/);
  await page.done();
});

test('the timeline: one after another, overlapped; a way is chosen by its row', async () => {
  const page = await open('#/product?lang=en');
  assert.match(await text(page, '.operations tbody'), /C\.local\[?.*contract\(A, B\) [\d.]+ µs 0 s [\d.]+ µs bound by (computing|memory)/);
  const ends = async () => (await page.locator('svg .end').allTextContents()).map((end) => end.trim());
  const after = await ends();
  await page.getByText('Overlapped', { exact: true }).first().click();
  await addressed(page, /lanes=hidden/);
  const hidden = await ends();
  assert.ok(after.length >= 4, after.join());
  after.forEach((end, i) => assert.ok(parseFloat(hidden[i]) < parseFloat(end), `${end} ${hidden[i]}`));
  assert.equal(await fact(page, 'hidden'), `${hidden[0]} if all that can is hidden`);
  await page.getByRole('button', { name: 'Show the timeline of: X repeats: all_gather J over X of A, all_gather J over X of B', exact: true }).click();
  await addressed(page, /way=\d/);
  assert.match(await text(page, '.operations tbody'), /all_gather\(A, J_X\).*all_gather\(B, J_X\)/);
  await shot(page, 'product-overlapped');
  await page.done();
});

test('break-even of gathering and reducing: D > 2 B = 1,024', async () => {
  const page = await open(address({ product: 'X[B, D] * Y[D_X, F] -> Z[B, F]', mesh: 'X=4', dims: 'B=512,D=8192,F=8192', dtype: 'bf16', on: 'h100-4' }));
  const says = await text(page, '[aria-labelledby=break-even-title]');
  assert.match(says, /Gathering Y over X sends 96 MiB a rank, all_reduce of the result 12 MiB\. In bytes alone reducing wins where D > 1,024; here D = 8,192\./);
  assert.match(says, /at 2,198 FLOP a byte/);  // 989 TFLOP/s / 450 GB/s
  assert.match(says, /With 512 rows of the other operand, 2,198 or more hide the gather/);
  await page.done();
});

test('what is still a sum asks what it shall be, and a click writes it', async () => {
  const page = await open(address({ product: 'A[I, J_X] * B[J_X, K]', mesh: 'X=4', dims: 'I=1024,J=1024,K=1024', on: 'h100-4' }));
  assert.equal(await fact(page, 'result'), 'C[I, K]{U_X}');
  await page.getByRole('button', { name: 'C[I_X, K] reduce_scatter I over X' }).click();
  await settled(page);
  assert.equal(await page.getByLabel('Product').inputValue(), 'A[I, J_X] * B[J_X, K] -> C[I_X, K]');
  assert.equal(await fact(page, 'result'), 'C[I_X, K]');
  assert.ok((await fact(page, 'sent')).startsWith('3 MiB '), await fact(page, 'sent'));  // 3/4 x 4 MiB
  await page.done();
});

test('errors stand at their field, with the place and a legal spelling', async () => {
  const page = await open('#/product', { allow: /4\d\d/ });
  await page.getByLabel('Product').fill('A[I_X, J_X] * B[J, K]');
  await page.waitForSelector('.problem');
  assert.equal(await page.getByLabel('Product').getAttribute('aria-invalid'), 'true');
  assert.match(await text(page, '.problem'), /axis X is used twice/);
  assert.equal(await page.locator('mark').textContent(), 'X');
  await page.getByLabel('Product').fill('A[I, J_X] * B[J_X, K]');
  await page.getByLabel('Sizes of the dimensions').fill('I=8,J=8');
  await page.waitForFunction(() => /K/.test(document.querySelector('.problem, .failure')?.textContent ?? ''));
  await page.getByLabel('Sizes of the dimensions').fill('I=8,J=8,K=8');
  await page.waitForSelector('.problem', { state: 'detached' });
  await page.done();
});

test('without a machine: bytes alone', async () => {
  const page = await open('#/product?on=');
  assert.match(await text(page, 'main'), /Choose a machine to see times/);
  assert.equal(await page.locator('[data-fact=time]').count(), 0);
  assert.ok((await fact(page, 'sent')).startsWith('6 MiB '));
  await page.done();
});

test('in Chinese', async () => {
  const page = await open('#/product?lang=zh&theme=dark');
  assert.equal(await text(page, 'h1'), '分片矩阵乘');
  assert.equal(await fact(page, 'plan'), 'X 切分 J：沿 X 对 C 做 all_reduce');
  assert.match(await text(page, '.axes'), /轴 X 在 A 和 B 中都切分被收缩的 J：情形 3。/);
  await page.done();
});
