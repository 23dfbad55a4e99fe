export default {
  title: 'Sharded product',
  lead: 'Which collectives a sharded product needs, and what they cost.',
};
