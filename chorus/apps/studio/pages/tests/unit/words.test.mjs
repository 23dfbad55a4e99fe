// Both languages have the same words, with the same {names} in them.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';

const sources = new URL('../../src/', import.meta.url);
const folders = ['shell/', ...readdirSync(new URL('pages/', sources), { withFileTypes: true })
  .filter((entry) => entry.isDirectory()).map((entry) => `pages/${entry.name}/`)];

function flat(dictionary, prefix = '') {
  return Object.entries(dictionary).flatMap(([key, value]) =>
    typeof value === 'object' ? flat(value, `${prefix}${key}.`) : [[prefix + key, value]]);
}
const names = (text) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort().join();

assert.ok(folders.length >= 9);
for (const folder of folders) {
  test(`${folder} has the same words in both languages`, async () => {
    const en = flat((await import(new URL(`${folder}en.js`, sources))).default);
    const zh = new Map(flat((await import(new URL(`${folder}zh.js`, sources))).default));
    assert.deepEqual([...zh.keys()].sort(), en.map(([key]) => key).sort());
    for (const [key, text] of en) {
      assert.equal(names(zh.get(key)), names(text), key);
      assert.notEqual(text, '', key);
      assert.notEqual(zh.get(key), '', key);
    }
  });
}
