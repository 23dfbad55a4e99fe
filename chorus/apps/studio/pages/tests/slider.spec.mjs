// From a slider's move to the new numbers on the screen: within 100 ms (the median of 40 moves; the diagnostics say how long).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, settled } from './studio.mjs';

/** Run in the page: moves the slider through `values`, waits each time until shown(value) and painted; milliseconds of each move. */
async function run(selector, values, shown) {
  const input = document.querySelector(selector);
  const soon = () => new Promise((done) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = done; port2.postMessage(0); });
  const times = [];
  for (const value of values) {
    const begin = performance.now();
    input.value = value;
    input.dispatchEvent(new Event('input', { bubbles: true }));
    do await soon(); while (!shown(value) && performance.now() - begin < 10_000);
    await new Promise(requestAnimationFrame);
    await soon();
    times.push(performance.now() - begin);
    await new Promise((done) => setTimeout(done, 60));
  }
  return times;
}
const moves = (page, slider, values, shown) => page.evaluate(`(${run})(${JSON.stringify(slider)}, ${JSON.stringify(values)}, ${shown})`);
const middle = (times, part = 0.5) => [...times].sort((a, b) => a - b)[Math.floor((times.length - 1) * part)];

// The machine may have other work: up to three rounds of 40 moves each, all of them to answers that are not known yet.
const cases = [
  ['bytes of the calculator', '#/calculator?lang=en', 'input[type=range]', (round) => Array.from({ length: 40 }, (_, i) => 8 + 33 * round + ((7 * i) % 40)), () => {},
    () => document.querySelector('#answer-of').textContent.includes(` of ${document.querySelector('input[type=range]').getAttribute('aria-valuetext')} over `)],
  ['ranks of an algorithm', '#/algorithms?lang=en', 'input[type=range][max="16"]', () => Array.from({ length: 40 }, (_, i) => 2 + ((7 * i + 3) % 15)),
    (page, round) => page.locator('input[type=range][max="15"]').fill(String(3 + 2 * round)),
    (value) => document.querySelectorAll('[data-cell]').length === value * value],
];
for (const [name, hash, slider, values, prepare, shown] of cases) {
  test(`${name}: the numbers follow the slider`, async (t) => {
    const page = await open(hash);
    const medians = [];
    for (let round = 0; round < 3 && !(medians.at(-1) < 100); round++) {
      await prepare(page, round);
      await settled(page);
      const times = await moves(page, slider, values(round), shown);
      medians.push(middle(times));
      t.diagnostic(`${name}: median ${middle(times).toFixed(0)} ms, 95 % ${middle(times, 0.95).toFixed(0)} ms of ${times.length} moves`);
    }
    assert.ok(Math.min(...medians) < 100, `medians ${medians.map((ms) => ms.toFixed(0)).join(', ')} ms`);
    await page.done();
  });
}
