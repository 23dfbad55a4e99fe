// The worked examples of the lecture notes (docs/lecture-notes.md): what to ask, and what the note says. `says` are words of
// the page. Pure.

export const examples = [
  { ids: 'S0-23', op: 'all_reduce', bytes: '16GB', on: 'h100-8', algorithm: 'ring', value: '62.2 ms', says: 'gradients' },
  { ids: 'S0-23', op: 'all_reduce', bytes: '16GB', on: 'h100-8', algorithm: 'ring', bandwidth: '370GB/s', value: '75.7 ms', says: 'reached' },
  { ids: 'S0-23', op: 'all_reduce', bytes: '16GB', on: 'h100-8x32', algorithm: 'pipelined_hierarchical', value: '77.5 ms', says: 'nodes' },
  { ids: 'S0-22', op: 'all_gather', bytes: '512MiB', on: 'h100-8', algorithm: 'ring', value: '1.04 ms', says: 'weights' },
  { ids: 'S0-12', op: 'all_reduce', bytes: '10GB', on: 'h100-8', algorithm: 'sharp', value: '22.2 ms', says: 'sharp' },
  { ids: 'S0-06', op: 'all_reduce', bytes: '1GB', on: 'h100-8', algorithm: 'naive', value: '31.1 ms', says: 'naive' },
  { ids: 'S0-15', op: 'all_reduce', bytes: '3.6MB', on: 'h100-8', algorithm: 'ring', value: '14 µs', says: 'balance' },
  { ids: 'S0-14', op: 'all_reduce', bytes: '128B', on: 'h100-8', model: 'nccl', algorithm: 'ring', value: '15.1 µs', says: 'small' },
  { ids: 'S0-14', op: 'all_reduce', bytes: '128B', on: 'h100-8x4', model: 'nccl', algorithm: 'tree', value: '35.4 µs', says: 'tree' },
  { ids: 'S0-34, S3-06', op: 'all_reduce', bytes: '400MB', on: 'h100-4', algorithm: 'ring', measured: '1.6ms', value: '375 GB/s', says: 'busbw' },
  { ids: 'S0-25', op: 'all_gather', bytes: '32MiB', on: 'v5e-16', algorithm: 'torus', value: '373 µs', says: 'wraps' },
  { ids: 'S0-25', op: 'all_gather', bytes: '32MiB', on: 'v5e-4', algorithm: 'torus', value: '559 µs', says: 'line' },
  { ids: 'S0-26', op: 'all_gather', bytes: '128KiB', on: 'v5e-4', model: 'max', algorithm: 'torus', value: '3 µs', says: 'hops' },
  { ids: 'S0-20', op: 'all_to_all', bytes: '1GB', on: 'h100-8', algorithm: 'direct', value: '1.94 ms', says: 'tokens' },
  { ids: 'S0-21', op: 'all_to_all', bytes: '500MB', on: 'h100-8x2', algorithm: 'direct', value: '5 ms', says: 'crossing' },
  { ids: 'S0-24', op: 'all_gather', bytes: '1GB', on: 'h100-8x2', algorithm: 'pipelined_hierarchical', value: '1.94 ms', says: 'inside' },
];

/** What an example leaves to its default is the default again. */
export function questionOf(example) {
  const { op, bytes, on, algorithm = '', model = 'sum', bandwidth = '', measured = '' } = example;
  return { op, bytes, on, algorithm, model, bandwidth, measured, latency: '' };
}

/** True if `chosen` asks what the example does. */
export function isAsked(example, chosen) {
  return Object.entries(questionOf(example)).every(([name, value]) => chosen[name] === value);
}
