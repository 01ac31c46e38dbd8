// Means over seeds with Student's t intervals.
"use strict";

Lab.stats = (() => {
  // 97.5 % quantiles of Student's t by degrees of freedom, from 1.
  const T_975 = [
    12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216, 2.22814, 2.20099, 2.17881, 2.16037, 2.14479, 2.13145,
    2.11991, 2.10982, 2.10092, 2.09302, 2.08596, 2.07961, 2.07387, 2.06866, 2.0639, 2.05954, 2.05553, 2.05183, 2.04841, 2.04523,
  ];

  /** Mean and half width of its 95 % interval, which is NaN below two values. A NaN among the values makes the mean NaN. */
  function estimate(values) {
    const n = values.length;
    const mean = values.reduce((sum, value) => sum + value, 0) / n;
    if (n < 2) return { n, mean, half: NaN };
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
    const half = T_975[n - 2] * Math.sqrt(variance / n);
    // Equal values differ from their mean by rounding alone.
    return { n, mean, half: half < 1e-12 * Math.abs(mean) ? 0 : half };
  }

  /** Estimate of b - a, paired by seed. */
  const estimateDifference = (a, b) => estimate(a.map((value, index) => b[index] - value));

  /**
   * Whether the 5 % level excludes a mean of 0. Student's t does not apply to equal values: of the 2^n assignments of signs to n equal
   * differences two are as far from 0, which is the p-value of the exact sign-flip test.
   */
  const isClear = ({ n, mean, half }) => (half === 0 ? mean !== 0 && 2 ** (1 - n) <= 0.05 : Math.abs(mean) > half);

  return { estimate, estimateDifference, isClear, MAX_SEEDS: T_975.length + 1 };
})();
