//! A funnel as a self-contained SVG: one bar for each gate, as long as the share that goes on. What
//! perhaps goes on is drawn hatched, so that the picture reads without colours.

use super::Point;
use super::radar::Anchor;
use super::scale::Linear;
use super::svg::{LINE, captions, label, open, wrap};
use std::fmt::Write;

/// Numbers and words of one funnel.
#[derive(Clone, Debug, PartialEq)]
pub struct Funnel {
    /// Unique in its document; names the title for screen readers.
    pub id: String,
    pub title: String,
    /// Says in words what the picture says.
    pub description: String,
    /// What a full bar stands for.
    pub total: u32,
    pub bars: Vec<Bar>,
    /// Lines below: n, systems, data set, date.
    pub caption: Vec<String>,
}

/// One gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    pub label: String,
    /// Goes on for certain.
    pub sure: u32,
    /// Goes on at most; not less than `sure`.
    pub most: u32,
    /// Ends here.
    pub lost: u32,
}

const TOP: f64 = 24.0;
const ROW: f64 = 30.0;
const BAR: f64 = 18.0;
const LEFT: f64 = 118.0;
const RIGHT: f64 = 372.0;

/// Height of a funnel, in the units of [`super::svg::WIDTH`].
pub fn height(figure: &Funnel) -> f64 {
    let lines = figure
        .caption
        .iter()
        .map(|text| wrap(text).len())
        .sum::<usize>();
    TOP + ROW * figure.bars.len() as f64 + 20.0 + LINE * lines as f64
}

/// The whole figure.
pub fn funnel(figure: &Funnel) -> String {
    let mut out = open(
        "funnel",
        &figure.id,
        height(figure),
        &figure.title,
        &figure.description,
    );
    let scale = Linear {
        from: (0.0, f64::from(figure.total.max(1))),
        to: (0.0, RIGHT - LEFT),
    };
    for (n, bar) in figure.bars.iter().enumerate() {
        row(&mut out, &scale, TOP + ROW * n as f64, bar);
    }
    let below = TOP + ROW * figure.bars.len() as f64 + 16.0;
    captions(&mut out, below, &figure.caption);
    out.push_str("</svg>");
    out
}

fn row(out: &mut String, scale: &Linear, y: f64, bar: &Bar) {
    let (sure, most) = (scale.at(f64::from(bar.sure)), scale.at(f64::from(bar.most)));
    let text_y = y + BAR * 0.75;
    let at = |x: f64| Point { x, y: text_y };
    label(
        out,
        "chart-axis",
        "#1d1e24",
        at(LEFT - 8.0),
        Anchor::End,
        &bar.label,
    );
    let _ = write!(
        out,
        "<g class=\"series-1\"><rect class=\"chart-track\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{BAR}\" \
         fill=\"none\" stroke=\"#8d8a80\" stroke-width=\"0.6\"/>\
         <rect class=\"chart-line\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{sure:.2}\" height=\"{BAR}\" fill=\"#2f49b8\"/>",
        RIGHT - LEFT,
    );
    hatch(out, LEFT + sure, LEFT + most, y);
    out.push_str("</g>");
    let number = match bar.most - bar.sure {
        0 => bar.sure.to_string(),
        _ => format!("{}–{}", bar.sure, bar.most),
    };
    let lost = match bar.lost {
        0 => String::new(),
        n => format!(" (−{n})"),
    };
    label(
        out,
        "chart-legend",
        "#1d1e24",
        at(RIGHT + 8.0),
        Anchor::Start,
        &format!("{number}{lost}"),
    );
}

/// Upright strokes: no pattern, so that the picture holds no reference.
fn hatch(out: &mut String, from: f64, to: f64, y: f64) {
    let strokes = ((to - from) / 4.0).floor() as usize;
    for n in 0..strokes {
        let x = from + 4.0 * n as f64 + 2.0;
        let _ = write!(
            out,
            "<line class=\"chart-line\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{y:.1}\" y2=\"{:.1}\" stroke=\"#2f49b8\" stroke-width=\"1\"/>",
            y + BAR
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> Funnel {
        let bar = |label: &str, sure, most, lost| Bar {
            label: label.to_owned(),
            sure,
            most,
            lost,
        };
        Funnel {
            id: "f".to_owned(),
            title: "Where <it> was lost".to_owned(),
            description: "words".to_owned(),
            total: 200,
            bars: vec![bar("scored", 200, 200, 0), bar("retrieved", 100, 140, 60)],
            caption: vec!["n = 200".to_owned()],
        }
    }

    // The full bar is 254 units; 100 of 200 is half, and 40 of 200 more is a fifth in strokes.
    #[test]
    fn bars_are_as_long_as_their_share() {
        let text = funnel(&figure());
        assert!(text.contains("width=\"254.00\" height=\"18\" fill=\"#2f49b8\""));
        assert!(text.contains("width=\"127.00\" height=\"18\" fill=\"#2f49b8\""));
        assert_eq!(text.matches("<line ").count(), 12);
        assert!(text.contains(">100–140 (−60)<"));
        assert!(text.contains(">200<"));
    }

    #[test]
    fn words_stay_text_and_an_empty_funnel_is_drawn() {
        let text = funnel(&figure());
        assert!(text.contains("Where &lt;it&gt; was lost") && !text.contains("url("));
        let empty = Funnel {
            total: 0,
            bars: Vec::new(),
            ..figure()
        };
        assert!(!funnel(&empty).contains("NaN"));
    }
}
