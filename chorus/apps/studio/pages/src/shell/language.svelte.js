// English and Simplified Chinese. Each page keeps its words beside it, `en.js` and `zh.js`, with the same keys
// (tests/unit/words.test.mjs holds them to it).

import { address, setQuery } from './address.svelte.js';
import { recall, remember } from './memory.js';

export const languages = { en: 'English', zh: '简体中文' };

/** The language in use: what the address says, else what was chosen before, else what the browser prefers. */
export const language = {
  get current() {
    return address.query.lang in languages ? address.query.lang : preferred;
  },
  set current(name) {
    remember('language', name);
    setQuery('lang', name);
  },
};
const preferred = recall('language', Object.keys(languages)) ?? (navigator.language.startsWith('zh') ? 'zh' : 'en');

/** What stands between two sentences. */
export const gap = () => (language.current === 'zh' ? '' : ' ');

/**
 * A function that looks words up: const t = words({ en, zh }); t('title'), t('sent', { bytes: '6 MiB' }). A word
 * is a string with {names} in it. Keys with dots reach into nested objects. Reactive: used in markup it follows the language.
 */
export function words(dictionaries) {
  return (key, values = {}) => fill(find(dictionaries[language.current], key) ?? find(dictionaries.en, key) ?? key, values);
}

function find(dictionary, key) {
  return key.split('.').reduce((part, name) => part?.[name], dictionary);
}
function fill(text, values) {
  return typeof text === 'string' ? text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all) : text;
}
