export default {
  title: 'Strategies',
  lead: 'Data, tensor, sequence and expert parallelism as tables of specs: the bytes, the memory and the reason of every collective of a training step. This page comes with the planner; until then, chorus train --help.',
};
