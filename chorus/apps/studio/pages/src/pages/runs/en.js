export default {
  title: 'Runs',
  lead: 'What was measured: bandwidth, loss, where the time went.',
};
