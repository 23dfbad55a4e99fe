export default {
  title: '计算器',
  lead: '一次集合通信要多久，受什么限制。',
};
