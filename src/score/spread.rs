//! Mean and spread over repeats, as in Table 9 of the paper.

/// Mean and sample standard deviation of a few numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    /// Sample standard deviation (n - 1); `None` for a single number.
    pub sd: Option<f64>,
    pub n: u32,
}

/// `None` for no numbers.
pub fn of(values: &[f64]) -> Option<Spread> {
    let mean = super::mean(values.iter().copied())?;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let n = values.len();
    Some(Spread {
        mean,
        sd: (n > 1).then(|| (squares / (n as f64 - 1.0)).sqrt()),
        n: n as u32,
    })
}

/// How the paper's Table 9 sorts deviations, in percent points: from 2 on moderate, from 5 on high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    Low,
    Moderate,
    High,
}

/// The band of a deviation in percent points.
pub fn band(sd_percent: f64) -> Band {
    match sd_percent {
        sd if sd >= 5.0 => Band::High,
        sd if sd >= 2.0 => Band::Moderate,
        _ => Band::Low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // By hand: mean 5, squares 9 + 1 + 1 + 9 = 20, sd = sqrt(20 / 3).
    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let found = of(&[2.0, 4.0, 6.0, 8.0]).expect("numbers");
        assert_eq!((found.mean, found.n), (5.0, 4));
        assert!((found.sd.expect("several") - (20.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(of(&[3.0]).expect("a number").sd, None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn bands_begin_where_the_paper_says() {
        for (sd, expected) in [
            (1.99, Band::Low),
            (2.0, Band::Moderate),
            (4.99, Band::Moderate),
            (5.0, Band::High),
        ] {
            assert_eq!(band(sd), expected, "{sd}");
        }
    }
}
