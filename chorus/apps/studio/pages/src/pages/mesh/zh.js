export default {
  title: '设备网格',
  lead: '哪个设备持有哪一块。',
};
