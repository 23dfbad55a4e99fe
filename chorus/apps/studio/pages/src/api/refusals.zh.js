// What the server says when it refuses, in Chinese. It says it in English; the notation, the names and the numbers in it stay.
// What is not in this list is shown as it came.

const places = (text) => text.replace(/on dimension (\w+)/g, '维度 $1').replace(/among the partial axes \{U\}/g, '未完成的和 {U}')
  .replace(/ \(character (\d+)\)/g, '（第 $1 个字符）');

const table = [
  [/^axis (\w+) is used twice: (.*) and (.*?); an axis can be used once.*$/, (_, axis, first, second) => `轴 ${axis} 用了两次：${places(first)}和${places(second)}；一个轴只能用一次`],
  [/^dimension (\w+) is given twice; dimensions of one array need different names.*$/, '维度 $1 写了两次；一个数组的各维度要用不同的名字'],
  [/^a mesh axis is missing here: .*$/, '这里缺一个网格轴：一个大写字母，后面可以跟小写字母和数字'],
  [/^an array needs its dimensions in brackets, like (.*)$/, '数组的维度要写在方括号里，例如 $1'],
  [/^the dimensions of an array are separated by commas and closed by .*$/, '数组的维度用逗号分隔，以 ] 结束'],
  [/^partial axes are written \{U_X\}.*$/, '未完成的和写作 {U_X}：沿 X 还要求和'],
  [/^'\}' is missing here$/, '这里缺 }'],
  [/^the spec ends before this; write one array, like (.*)$/, '分片记号到此之前已经结束；只写一个数组，例如 $1'],
  [/^(.*) uses axis (\w+) (.*), but the mesh has only (.*)$/, (_, spec, axis, place, mesh) => `${spec} 在${places(place)}用了轴 ${axis}，但网格只有 ${mesh}`],
  [/^dimension (\w+) of (.*) has no size; there are (.*)$/, '$2 的维度 $1 没有大小；已给出 $3'],
  [/^dimension (\w+) needs a size, like (.*)$/, '维度 $1 要有大小，例如 $2'],
  [/^dimension (\w+) is given twice, with size (\d+) and (\d+)$/, '维度 $1 写了两次，大小为 $2 和 $3'],
  [/^axis (\w+) needs a size, like (.*)$/, '轴 $1 要有大小，例如 $2'],
  [/^a mesh is axes with their sizes, separated by commas, like (.*)$/, '网格由轴和大小组成，用逗号分隔，例如 $1'],
  [/^mesh axis (\w+) is given twice, with size (\d+) and with (\d+)$/, '网格轴 $1 写了两次，大小为 $2 和 $3'],
  [/^mesh axis (\w+) has size (\d+), it must be at least 1$/, '网格轴 $1 的大小是 $2，至少要为 1'],
  [/^the size of (?:axis|dimension) (\w+) must be a whole number.*$/, '$1 的大小要写整数，例如 4'],
  [/^sizes are separated by commas, like (.*)$/, '各个大小用逗号分隔，例如 $1'],
  [/^mesh (.*) has (\d+) devices; at most (\d+) are shown$/, '网格 $1 有 $2 个设备；最多显示 $3 个'],
  [/^dtype (.*) is no element type; write (.*) or so$/, '$1 不是元素类型；可以写 $2 等'],
  [/^(\w+:[^:]*): its nodes have (\d+) ranks, the group has (\d+)$/, '$1：各节点共 $2 个 rank，而组里有 $3 个'],
  [/^(\w+:[^:]*): it has (\d+) ranks, the group has (\d+)$/, '$1：它有 $2 个 rank，而组里有 $3 个'],
  [/^(\w+:[^:]*): there is no number; .*$/, '$1：这里要写数字'],
  [/^counts has (\d+) numbers; (\w+) over (\d+) ranks takes (\d+)$/, '写了 $1 个数；$3 个 rank 的 $2 要 $4 个'],
  [/^no algorithm '(.*)' for (\w+); there is (.*)$/, '$2 没有算法 $1；有 $3'],
  [/^there is no operation '?(.*?)'?; .*$/, '没有操作 $1'],
  [/^on '(.*)' is no name of a machine; write one like (.*)$/, '“$1”不是机器名；可以写 $2'],
  [/^(\w+) must be (.*)$/, '$1 的类型不对：$2'],
  [/^(\w+) (.*) is out of range; give (.*) to (.*)$/, '$1 = $2 超出范围；请给 $3 到 $4'],
];

/** The message in Chinese, or as it is. Pure. */
export function inChinese(message) {
  // "1:8: ..." or "character 8: ..." says a place; the field shows it underlined.
  const [, place, rest] = /^((?:\w+: )?(?:\d+:\d+: |character \d+: )?)(.*)$/s.exec(message);
  const first = rest.split('\n')[0];
  for (const [pattern, text] of table) if (pattern.test(first)) return first.replace(pattern, text);
  return place + rest;
}
