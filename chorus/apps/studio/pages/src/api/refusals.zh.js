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
  [/^'(\w+:.*)': there is no number; .*$/, '$1：这里要写数字'],
  [/^'(.*)' has wrong numbers; write (.*)$/, '“$1”的数字不对；可以写 $2'],
  [/^counts has (\d+) numbers; (\w+) over (\d+) ranks takes (\d+)$/, '写了 $1 个数；$3 个 rank 的 $2 要 $4 个'],
  [/^no algorithm '(.*)' for (\w+); there is (.*)$/, '$2 没有算法 $1；有 $3'],
  [/^there is no operation '?(.*?)'?; .*$/, '没有操作 $1'],
  [/^on '(.*)' is no name of a machine; write one like (.*)$/, '“$1”不是机器名；可以写 $2'],
  [/^'(.*)' is no size; write for example (.*)$/, '“$1”读不出大小；可以写 $2'],
  [/^'(.*)' is no ([\w ]+); write for example (.*)$/, '“$1”读不出来；可以写 $3'],
  [/^'(.*)' has the unknown unit '(.*)'; use (.*) or (.*)$/, '“$1”的单位 $2 不认识；可用 $3 或 $4'],
  [/^'(.*)' has no unit; use (.*)$/, '“$1”没有单位；可用 $2'],
  [/^'(.*)' has the unit '(.*)', which is none of a .*; use (.*)$/, '“$1”的单位 $2 用在这里不对；可用 $3'],
  [/^'(.*)' is not a whole number of bytes.*$/, '“$1”不是 0 到 2^63 − 1 之间的整数字节'],
  [/^'(.*)' has more than two dots; write (.*)$/, '“$1”的点多于两个；请写 $2'],
  [/^'(.*)' begins above its end; write (.*)$/, '“$1”的起点大于终点；请写 $2'],
  [/^'(.*)' is no range of sizes; write for example (.*)$/, '“$1”不是大小的范围；可以写 $2'],
  [/^'(.*)' doubles from its first size.*$/, '“$1”从 0 开始无法加倍；请从 1 B 起，或逐个写出大小'],
  [/^'(.*)' has no size before or behind a comma; write for example (.*)$/, '“$1”的逗号旁缺大小；可以写 $2'],
  [/^(\d+) sizes are too many; give at most (\d+)$/, '$1 个大小太多；最多 $2 个'],
  [/^bytes is missing.*$/, '请给出字节数，例如 16GB 或 1KiB..1GiB'],
  [/^there is no hardware '(.*)'; did you mean '(.*)'\?$/, '没有硬件 $1；是不是 $2？'],
  [/^there is no hardware '(.*)'; there is (.*)$/, '没有硬件 $1；有 $2'],
  [/^'(.*)' in '(.*)' is no size; write (\S+) .*$/, '“$2”里的 $1 不是大小；可以写 $3'],
  [/^a node of (\S+) has (\d+) devices?, not (\d+); for more write (.*)$/, '$1 的一个节点有 $2 个设备，不是 $3 个；更多请写 $4'],
  [/^(\S+) is a torus of up to (\d+) axes; write for example (.*)$/, '$1 是最多 $2 轴的环面；可以写 $3'],
  [/^ranks (\d+) is no slice of the torus; the nearest is on (\S+),.*$/, '$1 个 rank 不是环面的切片；最接近的是 $2'],
  [/^ranks (\d+) on (.*); give 1 to (\d+)$/, '$2 上没有 $1 个 rank；请给 1 到 $3'],
  [/^product has (\d+) operands; at most (\d+) .*$/, '乘积有 $1 个操作数；这里最多 $2 个，更多请用 chorus explain'],
  [/^mesh has (\d+) axes; at most (\d+) .*$/, '网格有 $1 个轴；这里最多 $2 个，更多请用 chorus explain'],
  [/^mesh has (\d+) ranks along (\w+); at most (\d+) .*$/, '网格的轴 $2 有 $1 个 rank；这里最多 $3 个，更多请用 chorus explain'],
  [/^mesh has (\d+) ranks; at most (\d+) .*$/, '网格有 $1 个 rank；这里最多 $2 个，更多请用 chorus explain'],
  [/^the mesh (.*) has (\d+) ranks, but (.*) has (\d+) devices$/, '网格 $1 有 $2 个 rank，而 $3 有 $4 个设备'],
  [/^(.*) cannot be done within (\d+) bytes a rank; the way that needs least takes (\d+)$/, '每个 rank $2 字节放不下 $1；最省的做法要 $3 字节'],
  [/^(.*) has more than 2\^58 elements; give smaller sizes$/, '$1 的元素超过 2^58 个；请写小一些'],
  [/^dims gives (\w+) = (\d+), but (.*) has no dimension .*$/, '给了 $1 = $2，但 $3 没有这个维度'],
  [/^this takes more than (\d+) s; .*$/, '这要超过 $1 秒；请问少一些，或用会等待的命令行'],
  [/^too much is asked at once.*$/, '一次问得太多；请再试'],
  [/^(\w+) is longer than (\d+) characters$/, '$1 超过 $2 个字符'],
  [/^(\w+) (.*) is no float; write (.*)$/, '$2 不是浮点类型；可以写 $3'],
  [/^counts: (\w+) has no variant with counts; .*$|^(\w+) has no variant with counts; .*$/, '这个操作没有各块大小不同的形式'],
  [/^file '(.*)' has (\d+) bytes; files of up to (\d+) are read.*$/, '“$1”有 $2 字节；最多读 $3 字节'],
  [/^file '(.*)' is not in the folder of runs; .*$/, '文件夹里没有“$1”'],
  [/^file '(.*)' holds no JSON; .*$/, '“$1”里没有 JSON'],
  [/^file '(.*)' has more in one row than is shown; .*$/, '“$1”的一行太大，显示不了；请一行写一个结果'],
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
