export default {
  title: '原语',
  lead: '九种集合操作各自承诺什么：调用之前与之后。',
};
