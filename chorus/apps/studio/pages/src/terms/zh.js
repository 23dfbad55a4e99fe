export default {
  operations: {
    broadcast: {
      name: '广播',
      does: 'root 有 x；之后每个 rank 都有 x。',
      use: '训练开始时把初始权重从 rank 0 同步给所有副本。',
    },
    reduce: {
      name: '归约',
      does: '每个 rank 有一个同形状的数组；root 得到它们逐元素的和。',
      use: '只由一个 rank 汇报的损失或计数。',
    },
    all_reduce: {
      name: '全归约',
      does: '每个 rank 有一个同形状的数组；每个 rank 都得到它们的和。等于先 reduce_scatter，再 all_gather。',
      use: '数据并行训练的梯度；张量并行各层的部分和。',
    },
    gather: {
      name: '收集',
      does: '每个 rank 有一块；root 按 rank 的顺序得到所有块。',
      use: '由一个 rank 写出的结果或样本。',
    },
    all_gather: {
      name: '全收集',
      does: '每个 rank 有一块；每个 rank 都按 rank 的顺序得到所有块。',
      use: 'FSDP 与 ZeRO-3 在用到某层之前把这层的权重拼完整。',
    },
    scatter: {
      name: '分发',
      does: 'root 有 N 块；rank r 得到第 r 块。',
      use: '读入数据的 rank 把各份发给其他 rank。',
    },
    reduce_scatter: {
      name: '归约分发',
      does: '每个 rank 有 N 块；rank r 得到所有第 r 块的和。',
      use: 'FSDP 与 ZeRO-2 的梯度：每个 rank 只保留和里自己的那一份。',
    },
    all_to_all: {
      name: '全交换',
      does: 'rank i 为每个 rank j 准备一块；之后 rank j 拿着所有发给它的块。把 rank 当行、块当列，这是一次转置。',
      use: '把 token 送到专家所在的设备再送回来；把切分从一个维度挪到另一个维度。',
    },
    scan: {
      name: '前缀和',
      does: 'rank r 得到 rank 0 到 r 的数组之和。',
      use: '共同写一个列表时，每个 rank 的那段在哪里结束。',
    },
    exscan: {
      name: '前缀和（不含自己）',
      does: 'rank r 得到 rank 0 到 r - 1 的数组之和；rank 0 什么也得不到。',
      use: '共同写一个列表时，每个 rank 的那段从哪里开始。',
    },
    barrier: {
      name: '同步点',
      does: '不搬数据：所有 rank 到齐之前，谁也不继续。',
      use: '开始计时之前，或读取另一个 rank 写的文件之前。最快的 rank 要等最慢的那个。',
    },
  },
};
