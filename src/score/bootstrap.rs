//! Intervals by resampling, under a fixed seed so that a page shows the same numbers every time.

/// Resamples. The ends of an interval move by less than a tenth of its width from seed to seed.
const RESAMPLES: usize = 1000;

/// The 95 % percentile interval of the mean of these values (Efron 1979): the values are drawn with
/// replacement. `None` for fewer than two.
pub fn of_mean(values: &[f64], seed: u64) -> Option<(f64, f64)> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mut random = SplitMix(seed);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| (0..n).map(|_| values[random.below(n)]).sum::<f64>() / n as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    Some((quantile(&means, 0.025), quantile(&means, 0.975)))
}

/// Between sorted values by straight lines, as numpy does.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (place - place.floor()) * (sorted[above] - sorted[below])
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to `n`, without it; the bias of n/2^64 does not matter here.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first numbers of the reference implementation for seed 1234567
    // (https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64).
    #[test]
    fn random_numbers_are_those_of_the_reference() {
        let mut random = SplitMix(1_234_567);
        let found: Vec<u64> = (0..5).map(|_| random.next()).collect();
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(found, expected);
    }

    // numpy.quantile([1, 2, 4, 8], [0.25, 0.5]) is 1.75 and 3.0.
    #[test]
    fn quantiles_lie_on_straight_lines() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(
            (quantile(&sorted, 0.25), quantile(&sorted, 0.5)),
            (1.75, 3.0)
        );
    }

    #[test]
    fn one_value_has_no_interval_and_equal_values_one_without_width() {
        assert_eq!(of_mean(&[0.5], 42), None);
        assert_eq!(of_mean(&[0.5; 9], 42), Some((0.5, 0.5)));
    }

    // scipy.stats.bootstrap(method="percentile", n_resamples=200000) of these values gives 0.0625
    // and 0.4125; the ends move by about 0.01 at 1,000 resamples.
    #[test]
    fn the_interval_is_that_of_another_program() {
        let values = [
            0.5, 0.0, 1.0, -0.5, 0.0, 0.25, 0.5, 0.0, 0.0, 1.0, 0.25, -0.25, 0.0, 0.5, 0.75, 0.0,
            0.0, 0.5, -0.25, 0.5,
        ];
        let (low, high) = of_mean(&values, 42).expect("several");
        assert!(
            (low - 0.0625).abs() < 0.03 && (high - 0.4125).abs() < 0.03,
            "{low} {high}"
        );
        assert_eq!(of_mean(&values, 42), Some((low, high)));
    }
}
