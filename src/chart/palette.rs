//! Colours, dashes and markers that tell series apart, with colour and without. The colours are
//! those of `--series-1` to `--series-6` in `style/tokens.css`: a saved figure has no style sheet.

use super::Point;

/// How one series looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Class in `style/charts.css`, which knows both themes.
    pub class: &'static str,
    /// On white, for saved figures.
    pub light: &'static str,
    /// `stroke-dasharray`; empty for a solid line.
    pub dash: &'static str,
    pub marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Plus,
}

/// Looks in the order in which series take them.
pub const STYLES: [Style; 6] = [
    Style {
        class: "series-1",
        light: "#2f49b8",
        dash: "",
        marker: Marker::Circle,
    },
    Style {
        class: "series-2",
        light: "#c2571a",
        dash: "6 3",
        marker: Marker::Square,
    },
    Style {
        class: "series-3",
        light: "#14806a",
        dash: "2 3",
        marker: Marker::Triangle,
    },
    Style {
        class: "series-4",
        light: "#8a3c93",
        dash: "9 3 2 3",
        marker: Marker::Diamond,
    },
    Style {
        class: "series-5",
        light: "#8f6a00",
        dash: "12 4",
        marker: Marker::Cross,
    },
    Style {
        class: "series-6",
        light: "#4b6a86",
        dash: "4 2 1 2",
        marker: Marker::Plus,
    },
];

/// Look of the series at `index`; the seventh looks like the first.
pub fn style(index: usize) -> Style {
    STYLES[index % STYLES.len()]
}

impl Marker {
    /// Path data of the marker round a point, about `2 * r` wide.
    pub fn path(self, at: Point, r: f64) -> String {
        let p = |dx: f64, dy: f64| format!("{:.2} {:.2}", at.x + dx * r, at.y + dy * r);
        match self {
            Marker::Circle => format!(
                "M{}A{r:.2} {r:.2} 0 1 0 {}A{r:.2} {r:.2} 0 1 0 {}Z",
                p(-1.0, 0.0),
                p(1.0, 0.0),
                p(-1.0, 0.0)
            ),
            Marker::Square => polygon(&[p(-0.9, -0.9), p(0.9, -0.9), p(0.9, 0.9), p(-0.9, 0.9)]),
            Marker::Triangle => polygon(&[p(0.0, -1.1), p(1.1, 0.9), p(-1.1, 0.9)]),
            Marker::Diamond => polygon(&[p(0.0, -1.3), p(1.3, 0.0), p(0.0, 1.3), p(-1.3, 0.0)]),
            Marker::Cross => strokes(&[p(-1.0, -1.0), p(1.0, 1.0), p(-1.0, 1.0), p(1.0, -1.0)]),
            Marker::Plus => strokes(&[p(-1.2, 0.0), p(1.2, 0.0), p(0.0, -1.2), p(0.0, 1.2)]),
        }
    }
}

fn polygon(points: &[String]) -> String {
    format!("M{}Z", points.join("L"))
}

fn strokes(points: &[String]) -> String {
    points
        .chunks(2)
        .map(|pair| format!("M{}", pair.join("L")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_differ_in_more_than_colour() {
        for (i, a) in STYLES.iter().enumerate() {
            for b in &STYLES[i + 1..] {
                assert!(a.dash != b.dash && a.marker != b.marker && a.light != b.light);
            }
        }
    }

    #[test]
    fn the_colours_are_those_of_the_style_sheet() {
        let tokens = include_str!("../../style/tokens.css");
        for style in STYLES {
            assert!(
                tokens.contains(&format!("--{}: {};", style.class, style.light)),
                "{style:?}"
            );
        }
    }

    #[test]
    fn markers_lie_round_their_point() {
        let at = Point { x: 10.0, y: 5.0 };
        assert_eq!(
            Marker::Triangle.path(at, 2.0),
            "M10.00 2.80L12.20 6.80L7.80 6.80Z"
        );
        assert_eq!(
            Marker::Plus.path(at, 1.0),
            "M8.80 5.00L11.20 5.00M10.00 3.80L10.00 6.20"
        );
    }
}
