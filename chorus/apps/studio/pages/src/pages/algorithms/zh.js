export default {
  title: '算法',
  lead: '谁把什么发给谁，一步一步看。',
};
