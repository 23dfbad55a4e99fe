export default {
  title: 'Pipelines',
  lead: 'Stages, microbatches and ticks: GPipe, 1F1B, interleaved and zero-bubble schedules, their bubbles and their memory, tick by tick. This page comes with the room that builds them.',
};
