import { address, setQuery } from './address.svelte.js';
import { recall, remember } from './memory.js';

const themes = ['system', 'light', 'dark'];
const preferred = recall('theme', themes) ?? 'system';

/** light, dark or system: what the address says, else what was chosen before. */
export const theme = {
  get current() {
    return themes.includes(address.query.theme) ? address.query.theme : preferred;
  },
  set current(name) {
    remember('theme', name);
    setQuery('theme', name);
  },
  all: themes,
};
