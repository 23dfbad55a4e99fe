// Words of the field that several pages show: operations and algorithms. Their names stay as in the code; what they mean is
// said in the language of the page.

import { language, words } from '../shell/language.svelte.js';
import en from './en.js';
import zh from './zh.js';
import { costInChinese } from './costs.zh.js';
import { ideas } from './ideas.zh.js';

export const term = words({ en, zh });

/** "all_reduce", in Chinese with its gloss: "all_reduce 全归约". */
export function operationName(operation) {
  return language.current === 'zh' ? `${operation} ${term(`operations.${operation}.name`)}` : operation;
}

/** What an algorithm does, in one line: the tool's own in English, `idea` being that. */
export function ideaOf(operation, algorithm, idea) {
  const name = algorithm.replace(/:.*/, '');
  return language.current === 'zh' ? ideas[`${name} ${operation}`] ?? idea : idea;
}

/** "steps: 2(N - 1), bytes sent per rank: 2(N - 1)/N V" in the language of the page. */
export function costOf(cost) {
  return language.current === 'zh' ? costInChinese(cost) : cost;
}
/** "out[b] = x_q[b], q the owner of b, for every b" in the language of the page. */
export function promiseOf(promise) {
  if (language.current !== 'zh') return promise;
  return promises.reduce((text, [from, to]) => text.replaceAll(from, to), promise);
}
const promises = [
  [', q the owner of b', '，q 是 b 的主人'], [', on the root only', '，仅 root'], [' for every b', '，对每个 b'], [' for every i', '，对每个 i'],
  [" for the rank's own b", '，b 是该 rank 自己的块'], [', on rank r > 0', '，在 rank r > 0'], [', on rank r', '，在 rank r'],
  ['no rank ends before every rank has begun', '所有 rank 都开始之前，没有 rank 结束'], [',，', '，'],
];
