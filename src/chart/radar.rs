//! A radar: axes from a centre, the first one up, the others clockwise.

use super::Point;
use super::scale::Linear;
use std::f64::consts::{FRAC_PI_2, TAU};

/// Frame of a radar whose axes all run from 0 to `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radar {
    pub axes: usize,
    pub centre: Point,
    /// Length of an axis.
    pub radius: f64,
    pub max: f64,
}

/// Which end of a label stands at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A stretch of a series: a closed polygon when no value is missing, else an open line.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    pub points: Vec<Point>,
    pub closed: bool,
}

impl Radar {
    /// Place of a value on an axis; values beyond the scale lie at its end.
    pub fn point(&self, axis: usize, value: f64) -> Point {
        let scale = Linear {
            from: (0.0, self.max),
            to: (0.0, self.radius),
        };
        self.polar(axis, scale.at(value))
    }

    fn polar(&self, axis: usize, distance: f64) -> Point {
        let angle = self.angle(axis);
        Point {
            x: self.centre.x + distance * angle.cos(),
            y: self.centre.y + distance * angle.sin(),
        }
    }

    fn angle(&self, axis: usize) -> f64 {
        TAU * axis as f64 / self.axes.max(1) as f64 - FRAC_PI_2
    }

    /// The polygon on which all axes have the same value.
    pub fn ring(&self, value: f64) -> Vec<Point> {
        (0..self.axes).map(|axis| self.point(axis, value)).collect()
    }

    /// Where the name of an axis stands, `gap` beyond its end, and which end of it.
    pub fn label(&self, axis: usize, gap: f64) -> (Point, Anchor) {
        let anchor = match self.angle(axis).cos() {
            cos if cos > 0.2 => Anchor::Start,
            cos if cos < -0.2 => Anchor::End,
            _ => Anchor::Middle,
        };
        (self.polar(axis, self.radius + gap), anchor)
    }

    /// The lines of a series. A missing value opens the polygon: neighbours across the gap are
    /// not joined, since that would draw a value nobody measured.
    pub fn stretches(&self, values: &[Option<f64>]) -> Vec<Stretch> {
        let n = values.len().min(self.axes);
        let place = |axis: usize| values[axis % n].map(|value| self.point(axis % n, value));
        let Some(gap) = values.iter().take(n).position(Option::is_none) else {
            return vec![Stretch {
                points: (0..n).filter_map(place).collect(),
                closed: true,
            }];
        };
        let mut out = vec![Vec::new()];
        for axis in gap..gap + n {
            match (place(axis), out.last_mut()) {
                (Some(point), Some(last)) => last.push(point),
                _ => out.push(Vec::new()),
            }
        }
        let open = |points| Stretch {
            points,
            closed: false,
        };
        out.into_iter()
            .filter(|points| points.len() > 1)
            .map(open)
            .collect()
    }

    /// Places of the values that are there.
    pub fn markers(&self, values: &[Option<f64>]) -> Vec<Point> {
        let marked = values.iter().take(self.axes).enumerate();
        marked
            .filter_map(|(axis, value)| value.map(|value| self.point(axis, value)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: Radar = Radar {
        axes: 4,
        centre: Point { x: 10.0, y: 20.0 },
        radius: 8.0,
        max: 100.0,
    };

    fn close(found: Point, x: f64, y: f64) {
        assert!(
            (found.x - x).abs() < 1e-9 && (found.y - y).abs() < 1e-9,
            "{found:?} is not ({x}, {y})"
        );
    }

    #[test]
    fn axes_run_clockwise_from_the_top() {
        close(FOUR.point(0, 100.0), 10.0, 12.0);
        close(FOUR.point(1, 50.0), 14.0, 20.0);
        close(FOUR.point(2, 25.0), 10.0, 22.0);
        close(FOUR.point(3, 100.0), 2.0, 20.0);
        close(FOUR.point(1, 140.0), 18.0, 20.0);
        close(FOUR.point(2, -3.0), 10.0, 20.0);
    }

    #[test]
    fn the_second_of_nine_axes_lies_at_forty_degrees() {
        let nine = Radar {
            axes: 9,
            centre: Point { x: 0.0, y: 0.0 },
            radius: 1.0,
            max: 1.0,
        };
        // sin 40° and -cos 40°.
        close(
            nine.point(1, 1.0),
            0.642_787_609_686_539_3,
            -0.766_044_443_118_978,
        );
        assert_eq!(nine.ring(0.5).len(), 9);
    }

    #[test]
    fn labels_turn_away_from_the_centre() {
        let anchors: Vec<Anchor> = (0..4).map(|axis| FOUR.label(axis, 2.0).1).collect();
        assert_eq!(
            anchors,
            [Anchor::Middle, Anchor::Start, Anchor::Middle, Anchor::End]
        );
        close(FOUR.label(1, 2.0).0, 20.0, 20.0);
    }

    #[test]
    fn a_missing_value_opens_the_polygon() {
        let whole = FOUR.stretches(&[Some(1.0); 4]);
        assert_eq!(
            (whole.len(), whole[0].closed, whole[0].points.len()),
            (1, true, 4)
        );
        let gap = FOUR.stretches(&[Some(100.0), None, Some(100.0), Some(100.0)]);
        assert_eq!((gap.len(), gap[0].closed), (1, false));
        let points = &gap[0].points;
        close(points[0], 10.0, 28.0);
        close(points[1], 2.0, 20.0);
        close(points[2], 10.0, 12.0);
        assert!(
            FOUR.stretches(&[Some(1.0), None, Some(1.0), None])
                .is_empty()
        );
        assert_eq!(FOUR.markers(&[Some(1.0), None, Some(1.0), None]).len(), 2);
        assert!(FOUR.stretches(&[None; 4]).is_empty());
    }
}
