// The words of bench files in the language of the page: names of libraries, operations and algorithms stay. Pure.

const words = {
  ordinary: '普通内存', symmetric: '对称内存', sync: '同步调用', async: '异步调用', cold: '冷缓冲区', warm: '热缓冲区', hot: '热缓冲区',
  near: '核相近', far: '核相远', default: '默认', copy: '拷贝', bound: '上限', push: '推', pull: '拉', plain: '普通写', stream: '流式写', mixed: '混合写',
};
const sayWord = (word) => words[word] ?? word;

/** What can be compared: "all_reduce, 2 ranks, f32, cold, near" -> "all_reduce，2 个 rank，f32，冷缓冲区，核相近". */
export function sayCase(group, language) {
  if (language !== 'zh' || !group) return group;
  return group.split(', ').map((part) => (/^\d+ ranks$/.test(part) ? part.replace(' ranks', ' 个 rank') : sayWord(part))).join('，');
}

/** A way it was done: "bound push_plain" -> "上限（推，普通写）", "chorus ordinary" -> "chorus 普通内存". */
export function saySide(side, language) {
  if (language !== 'zh') return side;
  const bound = /^bound (\w+)$/.exec(side);
  if (side.startsWith('each rank alone')) return side.replace('each rank alone', '各 rank 单独');
  if (bound) return `上限（${bound[1].split('_').map(sayWord).join('，')}）`;
  return side.split(' ').map(sayWord).join(' ');
}
