export default {
  operations: {
    broadcast: {
      name: 'broadcast',
      does: 'The root has x; afterwards every rank has it.',
      use: 'The first weights of a training run, from rank 0 to all replicas.',
    },
    reduce: {
      name: 'reduce',
      does: 'Every rank has an array of the same shape; the root gets their sum, element by element.',
      use: 'A loss or a count that only one rank reports.',
    },
    all_reduce: {
      name: 'all_reduce',
      does: 'Every rank has an array of the same shape; every rank gets their sum. The same as reduce_scatter, then all_gather.',
      use: 'Gradients of data parallel training; partial sums of tensor parallel layers.',
    },
    gather: {
      name: 'gather',
      does: 'Every rank has one block; the root gets all blocks, in the order of the ranks.',
      use: 'Results or samples that one rank writes down.',
    },
    all_gather: {
      name: 'all_gather',
      does: 'Every rank has one block; every rank gets all blocks, in the order of the ranks.',
      use: 'FSDP and ZeRO-3 put the weights of a layer together before it is used.',
    },
    scatter: {
      name: 'scatter',
      does: 'The root has N blocks; rank r gets block r.',
      use: 'Shares of the data, from the rank that read it.',
    },
    reduce_scatter: {
      name: 'reduce_scatter',
      does: 'Every rank has N blocks; rank r gets the sum of all blocks r.',
      use: 'Gradients of FSDP and ZeRO-2, where each rank keeps only its share of the sum.',
    },
    all_to_all: {
      name: 'all_to_all',
      does: 'Rank i has a block for every rank j; afterwards rank j has the blocks that were for it. A transpose of the table of ranks and blocks.',
      use: 'Tokens to the devices of their experts, and back; a split moved from one dimension to another.',
    },
    scan: {
      name: 'scan',
      does: 'Rank r gets the sum of the arrays of ranks 0 to r.',
      use: 'Where each rank\'s part ends in a list written together.',
    },
    exscan: {
      name: 'exscan',
      does: 'Rank r gets the sum of the arrays of ranks 0 to r - 1; rank 0 gets nothing.',
      use: 'Where each rank\'s part begins in a list written together.',
    },
    barrier: {
      name: 'barrier',
      does: 'No data: no rank goes on before all ranks have come.',
      use: 'Before a clock is started or a file is read that another rank wrote. The fastest rank waits for the slowest.',
    },
  },
};
