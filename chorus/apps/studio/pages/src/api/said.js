import { language } from '../shell/language.svelte.js';
import { t } from '../shell/words.js';
import { inChinese } from './refusals.zh.js';

/** An ApiError as a sentence in the language of the page. */
export function said(error) {
  if (error.status === 0) return t('unreachable');
  return language.current === 'zh' ? inChinese(error.message) : error.message;
}
