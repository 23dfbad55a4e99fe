export default {
  title: '分片矩阵乘',
  lead: '分片矩阵乘需要哪些通信，代价多大。',
};
