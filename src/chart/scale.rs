//! Linear scales and round ticks.

/// Maps a range of values to a range of lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    pub from: (f64, f64),
    pub to: (f64, f64),
}

impl Linear {
    /// Values outside the range are drawn at its end; a range of no width maps to its start.
    pub fn at(&self, value: f64) -> f64 {
        let ((a, b), (c, d)) = (self.from, self.to);
        let share = if a == b {
            0.0
        } else {
            ((value - a) / (b - a)).clamp(0.0, 1.0)
        };
        c + share * (d - c)
    }
}

/// Round numbers (1, 2 or 5 times a power of ten) from 0 up to `max`, about `count` of them; 0
/// itself is left out.
pub fn ticks(max: f64, count: u32) -> Vec<f64> {
    if !(max.is_finite() && max > 0.0) || count == 0 {
        return Vec::new();
    }
    let step = round_step(max / f64::from(count));
    let n = (max / step + 1e-9).floor() as u32;
    (1..=n).map(|i| f64::from(i) * step).collect()
}

/// The smallest round number that is not below `raw`.
fn round_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let lead = raw / power;
    let round = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|round| lead <= round + 1e-9)
        .unwrap_or(10.0);
    round * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_maps_and_clamps() {
        let scale = Linear {
            from: (0.0, 100.0),
            to: (0.0, 150.0),
        };
        for (value, expected) in [
            (0.0, 0.0),
            (50.0, 75.0),
            (100.0, 150.0),
            (-5.0, 0.0),
            (120.0, 150.0),
        ] {
            assert_eq!(scale.at(value), expected);
        }
        assert_eq!(
            Linear {
                from: (1.0, 1.0),
                to: (3.0, 9.0)
            }
            .at(1.0),
            3.0
        );
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(100.0, 5), [20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(100.0, 4), [50.0, 100.0]);
        assert_eq!(ticks(7.0, 4), [2.0, 4.0, 6.0]);
        assert!(ticks(f64::NAN, 5).is_empty() && ticks(0.0, 5).is_empty());
    }
}
