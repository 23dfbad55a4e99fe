import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesPerStep, covered, kindOf, library, lines, measurements, trace, training } from '../../src/pages/runs/read.js';

const bench = { ranks: 4, memory: 'ordinary', calls: 'sync', rows: [{ operation: 'all_reduce', size_bytes: 4000, dtype: 'f32', reduction: 'sum', bound_us: 1, fraction_of_bound: 0.5,
  out_of_place: { time_us: 2, busbw_GB_per_s: 3 }, in_place: { time_us: 4, busbw_GB_per_s: 1.5 } }] };
const peers = { op: 'all_reduce', bytes: 8000, ranks: 2, dtype: 'f32', buffers: 'cold', placement: 'near', sides: { 'chorus ordinary': { time_ns: 2000 }, 'Open MPI ring cma': { time_ns: 4000 }, 'Open MPI default': { time_ns: 3000 }, 'bound push': { time_ns: 1000 } },
  ratios: { 'chorus ordinary': { ratio: 1.5, low95: 1.4, high95: 1.6 } }, fraction_of_bound: { 'chorus ordinary': 0.5 } };

test('the kind of a file is that of its rows', () => {
  assert.equal(kindOf([bench]), 'bench');
  assert.equal(kindOf([peers]), 'bench');
  assert.equal(kindOf([{ step: 1, loss_nats: 4 }]), 'training');
  assert.equal(kindOf([{ name: 'all_reduce #1', ph: 'X' }]), 'trace');
  assert.equal(kindOf([{}, null, 3]), 'unknown');
});

test('chorus bench: out of place, in place, and the bound with its bandwidth', () => {
  const all = measurements([bench]);
  assert.deepEqual(all.map(({ side, seconds, busbw, bound }) => [side, Math.round(seconds * 1e9), busbw, bound]), [['out_of_place', 2000, 3e9, 0.5], ['in_place', 4000, 1.5e9, null], ['bound', 1000, 6e9, null]]);
  assert.equal(all[0].group, 'all_reduce, 4 ranks, f32, sum, ordinary, sync');
});

test('peers: busbw from time, 2(N - 1)/N for all_reduce; a library is drawn at its best', () => {
  const all = measurements([peers]);
  assert.equal(Math.round(all[0].busbw), 4e9);
  assert.deepEqual(all[0].ratio, { ratio: 1.5, low: 1.4, high: 1.6 });
  const drawn = lines(all, 'seconds');
  assert.deepEqual(drawn.map(({ name, kind }) => [name, kind]), [['chorus ordinary', 'ours'], ['Open MPI', 'peer'], ['bound', 'bound']]);
  assert.equal(drawn[1].points[0].note, 'Open MPI default');
  assert.equal(library('MPICH shm'), 'MPICH');
});

test('training: a curve, and what a step sends', () => {
  const report = { steps: 2, loss_nats: 3, ranks: [{ bytes_sent_per_step: [{ collective: 'all_gather', axes: 'X', counted: 300, predicted: 300 }, { collective: 'all_reduce', axes: 'Y', counted: 100, predicted: 100 }] }] };
  const read = training([{ step: 1, loss_nats: 4, seconds: 0.5 }, { step: 2, loss_nats: 3, held_out_loss_nats: 3.5 }, report]);
  assert.deepEqual(read.curve.map(({ step, loss, heldOut }) => [step, loss, heldOut]), [[1, 4, null], [2, 3, 3.5]]);
  assert.equal(read.report, report);
  assert.deepEqual(bytesPerStep(report).map(({ name, share }) => [name, share]), [['all_gather X', 0.75], ['all_reduce Y', 0.25]]);
});

test('a trace: time in collectives, each moment once', () => {
  assert.equal(covered([[0, 2], [1, 3], [5, 6]]), 4);
  const event = (name, tid, ts, dur, bytes) => ({ name, ph: 'X', pid: 0, tid, ts, dur, args: { bytes } });
  const read = trace([{ name: 'thread_name', ph: 'M', pid: 0, tid: 1, args: { name: 'rank 1' } }, event('all_reduce #1', 1, 1000, 1000, 8), event('all_reduce #2', 1, 1500, 1500, 8), event('barrier #3', 1, 4000, 1000, 0), { name: 'posted', ph: 'i', pid: 0, tid: 1, ts: 9000 }]);
  assert.equal(read.ranks[0].name, 'rank 1');
  assert.ok(Math.abs(read.ranks[0].share - 0.75) < 1e-9);
  assert.deepEqual(read.operations.map(({ name, calls, bytes }) => [name, calls, bytes]), [['all_reduce', 2, 16], ['barrier', 1, 0]]);
  assert.ok(Math.abs(read.end - 0.004) < 1e-12);
});

test('what a file does not hold is left out', () => {
  const peers = { op: 'all_reduce', bytes: 8, dtype: 'f32', sides: { 'chorus ordinary': { time_ns: 2000 }, Gloo: {} } };
  assert.deepEqual(measurements([peers]).map(({ group, side }) => [group, side]), [['all_reduce, f32', 'chorus ordinary']]);
  assert.deepEqual(training([{ step: 1, loss_nats: null }, { step: 2, loss_nats: 3 }]).curve.map(({ step }) => step), [2]);
  const nameless = trace([{ ph: 'X', ts: 0, dur: 5, pid: 1, tid: 0 }]);
  assert.deepEqual(nameless.operations.map(({ name, calls, bytes }) => [name, calls, bytes]), [['?', 1, 0]]);
});
