// The pictures of README.md and, as NAME.zh.png, of README.zh-CN.md: node tests/pictures.mjs FOLDER, with STUDIO set.
import { chromium } from 'playwright-core';

const folder = process.argv[2];
const product = new URLSearchParams({ product: 'A[I, J_X] * B[J_X, K] -> C[I, K]', mesh: 'X=4', dims: 'I=1024,J=1024,K=1024', dtype: 'f32', on: 'h100-4' });
const pictures = {
  'studio-algorithms': { hash: '#/algorithms?n=8&beside=halving_doubling&step=6', height: 900 },
  'studio-calculator': { hash: '#/calculator', height: 1000 },
  'studio-product': { hash: `#/product?${product}`, height: 1000 },
};

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
for (const [name, { hash, height }, lang] of Object.entries(pictures).flatMap(([name, one]) => [[name, one, 'en'], [`${name}.zh`, one, 'zh']])) {
  const context = await browser.newContext({ viewport: { width: 1280, height }, reducedMotion: 'reduce', locale: 'en-US', colorScheme: 'light' });
  const page = await context.newPage();
  await page.goto(new URL(`${hash}${hash.includes('?') ? '&' : '?'}lang=${lang}&theme=light`, process.env.STUDIO).href);
  await page.waitForFunction(() => document.querySelector('main .sheet') && !document.querySelector('[aria-busy="true"]'));
  await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished)));
  await page.waitForTimeout(500);
  await page.screenshot({ path: `${folder}/${name}.png` });
  await context.close();
}
await browser.close();
