// The tool's own sentences about costs, for people: set with × and µs, and in the language of the page. Pure.

import { wideMarks } from '../format/wide.js';

/** "2(N - 1)/N x 16 GB / 450 GB/s per direction = 62.2 ms" -> "2(N − 1)/N × 16 GB / 450 GB/s per direction = 62.2 ms". */
export function sayReason(text, language) {
  const said = language === 'zh' ? wideReason(phrases.reduce((all, [from, to]) => all.replaceAll(from, to), text)) : text;
  return said
    .replace(/ x (?=[\d(V])/g, ' × ')
    .replace(/(\d|N|M|L) - (?=\d)/g, '$1 − ')
    .replace(/(\d) us\b/g, '$1 µs');
}

/** Brackets, commas and colons around Chinese words are as wide as they are. */
function wideReason(text) {
  return wideMarks(text.replace(/ \(([^()]*[\u4e00-\u9fff][^()]*)\)/g, '（$1）')).replaceAll('） =', '）=');
}

/** What bounds, of "bandwidth bound": "bandwidth", in the language of the page. */
export function sayBound(text, language) {
  return bounds[text]?.[language === 'zh' ? 1 : 0] ?? text;
}
const bounds = {
  'bandwidth bound': ['bandwidth', '带宽'],
  'latency bound': ['latency', '延迟'],
  'bound by latency and bandwidth alike': ['latency and bandwidth alike', '延迟与带宽各占相当'],
};

const titles = [
  [' (DGX-2: 16 behind NVSwitch)', '（DGX-2：16 个接 NVSwitch）'], [': a rack of 18 trays with 4 GPUs each', '：一个机柜，18 个托盘各 4 块 GPU'], [': 4 links of 20 GB/s', '：4 条 20 GB/s 的链路'],
  [' Ethernet', ' 以太网'], ['processes on one machine, through shared memory (calibrate it: chorus calibrate)', '同一台机器上的进程，经共享内存（用 chorus calibrate 校准）'],
];
/** The title of hardware. */
export function sayTitle(text, language) {
  return language === 'zh' ? titles.reduce((all, [from, to]) => all.replace(from, to), text) : text;
}

const remarks = [
  ['busbw recomputed', 'busbw 重新算过'], ['repository name not known to us', '仓库名未知'], ['plot peak', '图中的峰值'], ['read off a plot', '从图中读出'],
  ['GPU type not stated', '未说明 GPU 型号'], ['poor setup', '配置不佳'], ['from its bandwidth', '由带宽算出'], ['about', '约数'],
  [/^(\d+) ranks by busbw factor (\S+)$/, '由 busbw 系数 $2 推得 $1 个 rank'],
  [/^ranks inferred: busbw\/algbw=(\S+?)=2\(n-1\)\/n gives n=(\d+).*$/, 'rank 数是推得的：busbw/algbw = $1 = 2(n − 1)/n，得 n = $2；README 称它为 64 块 GPU 的例子'],
];
const measured = [
  ['lecture notes', '讲义'], ['a public repository note: ', '公开仓库的说明：'], ['1 process a GPU', '每块 GPU 一个进程'], ['out of place', '非原地'], [/^8 (A100)/, '8 块 $1'], [/：8 (A100)/, '：8 块 $1'],
  ['SHARP off', '关闭 SHARP'], ['IB SHARP job example', 'IB SHARP 作业示例'], ['Ring forced', '强制 Ring，'], [/ ?\(theory (.*?)\)/, '（理论 $1）'], [/^unknown (\d+) GPUs$/, '未知型号，$1 块 GPU'], [' NVLink pair', '，NVLink 成对'],
];
/** The hardware, the way or the source of a measured point: names of tools and repositories stay. */
export function sayMeasured(text, language) {
  return language === 'zh' ? wideMarks(measured.reduce((all, [from, to]) => all.replace(from, to), text)) : text;
}

/** Remarks on a measured point, separated by semicolons. */
export function sayRemark(text, language) {
  if (language !== 'zh') return text;
  return text.split('; ').map((one) => remarks.reduce((all, [from, to]) => (all === from || from instanceof RegExp ? all.replace(from, to) : all), one)).join('；');
}

/** Keeps numbers with their units on one line. */
export function unbroken(text) {
  return text.replace(/(\d) (?=[KMGTP]?B\b|[mnµ]?s\b)/g, '$1\u00a0').replace(/ × (?=\d+(\.\d+)?\u00a0)/g, '\u00a0×\u00a0');
}

// Longer phrases first: a later one never finds a piece of an earlier one.
const phrases = [
  ['hidden behind it: ', '被它掩盖：'],
  ['GB/s per direction', 'GB/s（每个方向）'], ['TB/s per direction', 'TB/s（每个方向）'], ['MB/s per direction', 'MB/s（每个方向）'],
  ['KB/s per direction', 'KB/s（每个方向）'], ['B/s per direction', 'B/s（每个方向）'],
  ['along the longest chain of messages, between nodes', '沿最长的消息链，节点之间'],
  ['along the longest chain of messages, inside', '沿最长的消息链，节点之内'],
  ['along the longest chain of messages', '沿最长的消息链'],
  [' links each', ' 条链路各自'],
  ["the root's port between nodes", 'root 的节点间端口'],
  ['a port between nodes', '节点间端口'],
  ["its links and its share of the node's ports", '它的链路和它在节点端口中的份额'],
  ['its links and a port of the node', '它的链路和节点的一个端口'],
  ['all links of a device', '一个设备的全部链路'],
  ['between the halves of an axis', '轴的两半之间'],
  ['up from a leaf switch', '叶交换机向上'],
  ['its port', '它的端口'],
  ['latency alone: ', '只有延迟：'],
  ['latency ', '延迟 '],
  ['; bandwidth bound', '；受带宽限制'], ['; latency bound', '；受延迟限制'], ['; bound by latency and bandwidth alike', '；延迟与带宽同样重要'],
  ['saturation ', '带宽爬升 '], ['launch ', '启动 '], [' + hops ', ' + 各跳 '],
  [' links x', ' 条链路 x'],
  ['; ', '；'],
];
const patterns = [
  [/the (\d+) ports of a node/g, '节点的 $1 个端口'],
  [/the ports of a node/g, '节点的端口'],
  [/, as a round moves ([^;；]+?) in ([^;；]+?) only/g, '，因为一轮搬 $1 只要 $2'],
  [/([KMGT]?B\/s) with (\w+)/g, '$1（$2 协议）'],
];
phrases.unshift(...patterns);

const machines = [
  [/(\d+) devices on a switch that reduces/, '$1 个设备，交换机会求和'], [/(\d+) devices on a switch/, '$1 个设备接在交换机上'],
  [/(\d+) devices, each linked to each/, '$1 个设备，两两相连'], [/(\d+) nodes with (\d+) NICs each/, '$1 个节点，每个 $2 块网卡'],
  [/torus /, '环面 '], [/\(no wrap\)/g, '（不回绕）'], [/\(wraps\)/g, '（回绕）'], [/per direction and/g, '（每个方向），延迟'], [/ a link/g, '（每条链路）'],
];
/** What a machine is, e.g. "8 devices on a switch that reduces, 450 GB/s per direction and 1 us". */
export function sayTopology(text, language) {
  const said = language === 'zh' ? wideMarks(machines.reduce((all, [from, to]) => all.replace(from, to), text)).replaceAll(' （', '（') : text;
  return said.replace(/(\d) us\b/g, '$1 µs').replace(/(\)|）|\d) x (?=\d)/g, '$1 × ');
}
