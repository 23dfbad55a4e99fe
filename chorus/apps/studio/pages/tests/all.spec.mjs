// What holds on every page: languages, themes, sizes, axe-core, no error, no other host, small and quick.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { open, settled, shot, studio, text } from './studio.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const names = ['primitives', 'algorithms', 'calculator', 'mesh', 'product', 'runs', 'pipelines', 'strategies'];

// axe is put into the page through the debugger, since the pages allow no script but their own.
async function findings(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target, failureSummary }) => `${target} ${failureSummary}`).join('; ')}`);
}

for (const name of names) {
  test(`${name}: both languages and themes, without a finding of axe-core`, async () => {
    for (const [lang, theme, size] of [['en', 'light', 'laptop'], ['zh', 'dark', 'laptop'], ['en', 'dark', 'phone'], ['zh', 'light', 'wide']]) {
      const page = await open(`#/${name}?lang=${lang}&theme=${theme}`, { size });
      const title = await text(page, 'h1');
      assert.equal(/[\u4e00-\u9fff]/.test(title), lang === 'zh', title);
      assert.deepEqual(await findings(page), [], `${name} ${lang} ${theme}`);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wider <= 0, `${name} is ${wider} pixels wider than a ${size}`);
      await shot(page, `${name}-${size}-${lang}-${theme}`, { fullPage: size === 'phone' });
      await page.done();
    }
  });
}

test('axe-core would tell: a picture without a name is found', async () => {
  const page = await open('#/mesh');
  await page.evaluate(() => document.querySelector('main').append(document.createElement('img'), document.createElement('input')));
  assert.equal((await findings(page)).length, 2);
  await page.done();
});

test('the first view is small and quick', async () => {
  const page = await open('#/runs');
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  for (const name of names.slice(0, 6)) {
    // Everything that the first view asks for, pages and answers, as it is when compressed.
    const bodies = [];
    const count = (response) => bodies.push(response.body().catch(() => Buffer.alloc(0)));
    page.on('response', count);
    const begin = performance.now();
    await page.goto(new URL(`?${name}#/${name}`, studio).href);
    await settled(page);
    const took = performance.now() - begin;
    page.off('response', count);
    const bytes = (await Promise.all(bodies)).reduce((sum, body) => sum + gzipSync(body).length, 0);
    console.log(`# ${name}: ${(bytes / 1024).toFixed(0)} KiB compressed, ${took.toFixed(0)} ms until all is drawn`);
    assert.ok(bytes < 300 * 1024, `${name}: ${bytes} bytes`);
  }
  await page.done();
});

test('the first Tab offers to skip the menu', async () => {
  const page = await open('#/mesh');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  assert.match(page.url(), /#\/mesh/);
  await page.done();
});

test('the address, the menu, the way back', async () => {
  const page = await open('#/mesh?lang=zh');
  await page.getByRole('link', { name: '算法', exact: true }).first().click();
  await page.waitForFunction(() => document.querySelector('h1')?.textContent === '算法');
  await page.goBack();
  await page.waitForFunction(() => document.querySelector('h1')?.textContent === '设备网格');
  await page.goto(page.url().replace(/#.*/, '#/nowhere?lang=en'));
  await page.waitForFunction(() => document.querySelector('main').textContent.includes('There is no page "nowhere"'));
  await page.locator('main').getByRole('link', { name: 'Algorithms' }).click();
  await page.waitForFunction(() => document.querySelector('h1')?.textContent === 'Algorithms');
  await page.done();
});

// Every name that a page keeps in its address, with what it cannot be.
const nonsense = {
  primitives: { op: 'zzz', n: '99', root: '-1', v: 'maybe', numbers: 'x', step: '7', bytes: '1e99', speed: '0' },
  algorithms: { op: 'zzz', algorithm: 'zzz', beside: 'zzz', n: '1.5', root: 'x', bytes: '-1', view: 'zzz', relabel: 'zzz', step: '-3', speed: 'zzz' },
  calculator: { op: 'zzz', model: 'zzz', algorithm: 'zzz', y: 'zzz' },
  mesh: { dtype: 'zzz', device: '1e9' },
  product: { dtype: 'zzz', way: '-1', lanes: 'zzz' },
  runs: { y: 'zzz' },
};
for (const [name, query] of Object.entries(nonsense)) {
  test(`${name}: what an address cannot mean is said, and the page shows its usual`, async () => {
    for (const [key, value] of [...Object.entries(query), ['zzz', '1'], ['lang', 'zzz'], ['theme', 'zzz']]) {
      const page = await open(`#/${name}?${key}=${value}${key === 'lang' ? '' : '&lang=en'}`);
      page.setDefaultTimeout(20_000);
      await page.locator('.ignored').filter({ hasText: `${key}=${value}` }).waitFor();
      if (name !== 'runs') await page.locator('main .sheet').first().waitFor();
      assert.equal(await page.locator('[role=alert]').count(), 0, `${name} ${key}`);
      await page.done();
    }
  });
}
test('what is typed and not understood is said where it was typed', async () => {
  for (const [name, key] of [['primitives', 'on'], ['primitives', 'counts'], ['calculator', 'bytes'], ['calculator', 'on'], ['calculator', 'bandwidth'], ['calculator', 'latency'], ['calculator', 'measured'], ['mesh', 'mesh'], ['mesh', 'spec'], ['mesh', 'dims'], ['product', 'product'], ['product', 'mesh'], ['product', 'dims'], ['product', 'on'], ['product', 'memory']]) {
    const page = await open(`#/${name}?${key}=zzz&lang=en${key === 'counts' ? '&v=1&op=all_gather' : ''}`, { allow: /422|400/ });
    await page.locator('input[aria-invalid=true]').first().waitFor();
    assert.ok(await page.locator('[role=alert]').count() > 0, `${name} ${key}`);
    await page.done();
  }
});

test('going back undoes an edit, not a step of a slider', async () => {
  const page = await open('#/algorithms?lang=en');
  const slider = page.locator('input[type=range][max="16"]').first();
  for (const n of [5, 6, 7, 8]) await slider.fill(String(n));
  await page.waitForURL(/n=8/);
  await page.getByLabel('Operation').selectOption('broadcast');
  await page.waitForURL(/op=broadcast/);
  await page.getByRole('button', { name: 'One step forward' }).click();
  await page.waitForURL(/step=/);
  await page.goBack();
  await page.waitForURL((url) => !/broadcast/.test(url) && /n=8/.test(url));
  await settled(page);
  assert.equal(await page.getByLabel('Operation').inputValue(), 'all_reduce');
  await page.goBack();
  await page.waitForURL((url) => !/n=/.test(url));
  await settled(page);
  assert.equal(await slider.inputValue(), '4');
  await page.done();
});
