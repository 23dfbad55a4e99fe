export default {
  title: '运行记录',
  lead: '测量结果：带宽、损失、时间花在哪里。',
};
