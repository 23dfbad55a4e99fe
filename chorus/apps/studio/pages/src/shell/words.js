import { words } from './language.svelte.js';
import en from './en.js';
import zh from './zh.js';

/** The words of the shell and of the parts that all pages share. */
export const t = words({ en, zh });
