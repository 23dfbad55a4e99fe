// What every spec uses: a browser, and pages that fail the test when they log an error or ask another host.
//
// STUDIO      address of a running `chorus studio` (scripts/check-studio.sh starts one)
// CHORUS      the tool, for what is compared with its --json
// STUDIO_SHOTS  folder for screenshots
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { chromium } from 'playwright-core';

export const studio = process.env.STUDIO;
assert.ok(studio, 'STUDIO is not set: run scripts/check-studio.sh');
const shots = process.env.STUDIO_SHOTS ?? new URL('../../../../../build/studio/', import.meta.url).pathname;
mkdirSync(shots, { recursive: true });

export const sizes = { phone: { width: 390, height: 844 }, laptop: { width: 1280, height: 800 }, wide: { width: 1920, height: 1080 } };

let browser;
after(() => browser?.close());

/**
 * Opens `hash` ("#/mesh?...") and waits until answers are there. Options: size (a name of sizes), still: no motion (the
 * usual; with false things move), allow: a pattern of console errors that are part of the test, base: another studio.
 * Answers the page of playwright; call page.done() at the end, which asserts that nothing went wrong.
 */
export async function open(hash, { size = 'laptop', still = true, allow = null, base = studio } = {}) {
  browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  const context = await browser.newContext({ viewport: sizes[size], reducedMotion: still ? 'reduce' : 'no-preference', deviceScaleFactor: size === 'phone' ? 2 : 1, permissions: ['clipboard-read', 'clipboard-write'], locale: 'en-US', colorScheme: 'light' });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const wrong = [];
  page.on('console', (message) => message.type() === 'error' && !allow?.test(message.text()) && wrong.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => wrong.push(`error: ${error.stack}`));
  page.on('request', (request) => new URL(request.url()).origin !== new URL(base).origin && wrong.push(`another host: ${request.url()}`));
  await page.goto(new URL(hash, base).href);
  await settled(page);
  page.done = async () => {
    await context.close();
    assert.deepEqual(wrong, []);
  };
  page.wrong = wrong;
  return page;
}

/** Waits until no question is under way and what came is drawn. */
export async function settled(page) {
  const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await drawn();
  await page.waitForFunction(() => document.querySelector('main h1, main .notice:not([aria-busy])') && !document.querySelector('[aria-busy="true"]'));
  await drawn();
}

/** Waits until the address says so: it is written a moment after what it says has happened. */
export async function addressed(page, pattern) {
  await page.waitForURL(pattern);
}

/** A screenshot in the build folder. */
export async function shot(page, name, options = {}) {
  await page.screenshot({ path: `${shots}/${name}.png`, ...options });
}

/** The text of an element without line breaks. */
export async function text(page, selector) {
  return (await page.locator(selector).first().innerText()).replace(/\s+/g, ' ').trim();
}

/** What the command line answers: chorus('show', 'ring', 'all_reduce', '--json'). */
export function chorus(...args) {
  return JSON.parse(execFileSync(process.env.CHORUS ?? 'chorus', args, { encoding: 'utf8' }));
}

/** What the JSON interface answers. */
export async function api(name, question) {
  const response = await fetch(new URL(`api/${name}`, studio), { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(question) });
  return response.json();
}
