"""What stats.py computes, on numbers that can be checked by hand."""

import random
import unittest

import stats


class Stats(unittest.TestCase):
    def test_median_and_quantiles(self):
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, 2, 3]), 2.5)
        self.assertEqual(stats.quantile([1, 2, 3, 4, 5], 0.25), 2)
        self.assertEqual(stats.quantile([1, 2], 0.5), 1.5)
        self.assertEqual(stats.center([[1, 1, 9], [3, 3, 3], [2, 2, 2]]), 2)

    def test_ratio_and_its_interval(self):
        generator = random.Random(7)

        def blocks(mean, spread):
            return [[mean * (1 + spread * generator.uniform(-1, 1)) for _ in range(20)]
                    for _ in range(10)]

        value, low, high = stats.ratio(blocks(200, 0.02), blocks(100, 0.02))
        self.assertAlmostEqual(value, 2, delta=0.05)
        self.assertLess(low, 2)
        self.assertGreater(high, 2)
        self.assertLess(high - low, 0.1)
        # Blocks that differ from each other widen it.
        loud = [[100 + 10 * i] * 20 for i in range(10)]
        _, wide_low, wide_high = stats.ratio(loud, blocks(100, 0.02))
        self.assertGreater(wide_high - wide_low, high - low)

    def test_equal_sides_are_not_told_apart(self):
        same = [[100.0, 101.0, 99.0] for _ in range(6)]
        value, low, high = stats.ratio(same, same)
        self.assertEqual(value, 1)
        self.assertLessEqual(low, 1)
        self.assertGreaterEqual(high, 1)


if __name__ == "__main__":
    unittest.main()
