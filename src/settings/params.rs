//! The parameters of a run as the settings view shows and takes them.

use crate::embed::ChunkUnit;
use crate::run::record::Params;

/// A parameter as the settings view shows it.
pub struct ParamInfo {
    /// The field of [`Params`].
    pub name: &'static str,
    pub label: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    pub min: f64,
    pub max: f64,
    pub step: f64,
    /// Whether it may be left empty.
    pub optional: bool,
}

const fn param(
    name: &'static str,
    label: &'static str,
    about: &'static str,
    [min, max, step]: [f64; 3],
) -> ParamInfo {
    ParamInfo {
        name,
        label,
        about,
        min,
        max,
        step,
        optional: false,
    }
}

/// Every parameter, in the order of the pipeline.
pub const PARAMS: &[ParamInfo] = &[
    param(
        "max_queries",
        "Expanded queries",
        "Facet queries made from the task; the task itself is always searched as well.",
        [0.0, 5.0, 1.0],
    ),
    param(
        "top_k",
        "Passages for each query",
        "How many passages of the history each query brings back.",
        [1.0, 50.0, 1.0],
    ),
    param(
        "near_duplicate",
        "Near-duplicate threshold",
        "Passages whose counts of words are at least this similar (cosine) count as one.",
        [0.5, 1.0, 0.01],
    ),
    param(
        "min_salience",
        "Least salience",
        "Passages scored lower (0 to 10) are dropped when the rest is re-ranked.",
        [0.0, 10.0, 0.5],
    ),
    param(
        "max_passages",
        "Passages kept at most",
        "How many passages go on to compaction after re-ranking.",
        [1.0, 50.0, 1.0],
    ),
    param(
        "chunk_tokens",
        "Tokens of a passage",
        "Histories are cut into passages of this length, or sentences no longer than it. Other values than the published one are embedded here first, which takes minutes.",
        [32.0, 512.0, 1.0],
    ),
    param(
        "chunk_overlap",
        "Overlap of passages",
        "Tokens that neighbouring passages share.",
        [0.0, 256.0, 1.0],
    ),
    param(
        "max_output_tokens",
        "Longest answer",
        "Limit of each model answer, in tokens.",
        [64.0, 32000.0, 1.0],
    ),
    ParamInfo {
        optional: true,
        ..param(
            "temperature",
            "Temperature",
            "Not stated in the paper; sent only when set, so empty means the provider's default.",
            [0.0, 2.0, 0.1],
        )
    },
    param(
        "seed",
        "Seed",
        "Sent to providers that take one.",
        [0.0, 4_294_967_295.0, 1.0],
    ),
    param(
        "context_tokens",
        "Context window",
        "Of your model, in tokens; the system “Whole history” cuts the oldest sessions to fit it. Not stated in the paper.",
        [1000.0, 2_000_000.0, 1.0],
    ),
    param(
        "max_steps",
        "Turns of the controller",
        "IBA-Agent (FC) ends with an error when it has not called an output head by then. Not stated in the paper.",
        [1.0, 100.0, 1.0],
    ),
    param(
        "max_run_tokens",
        "Tokens of an FC run",
        "Input and output of all its calls together; no further turn begins beyond it. Not stated in the paper.",
        [1000.0, 10_000_000.0, 1.0],
    ),
    param(
        "max_repeats",
        "Same call at most",
        "How often IBA-Agent (FC) may make the very same tool call. Not stated in the paper.",
        [1.0, 20.0, 1.0],
    ),
];

/// What a passage can be, as the settings view shows it; the published one first.
pub const CHUNK_UNITS: &[ChunkUnitInfo] = &[
    ChunkUnitInfo {
        unit: ChunkUnit::Tokens,
        title: "So many tokens",
        about: "Passages of the length below, overlapping. As the paper's parameters have it.",
    },
    ChunkUnitInfo {
        unit: ChunkUnit::Sentences,
        title: "One sentence",
        about: "As the paper describes its baselines. Only sentences longer than the length below are cut. Histories are embedded here once, which takes minutes, and kept.",
    },
];

/// A choice of [`CHUNK_UNITS`].
pub struct ChunkUnitInfo {
    pub unit: ChunkUnit,
    pub title: &'static str,
    pub about: &'static str,
}

/// Value of a parameter; `None` when it is left empty.
pub fn param_value(params: &Params, name: &str) -> Option<f64> {
    serde_json::to_value(params).ok()?.get(name)?.as_f64()
}

/// The parameters with one changed. The error says in a sentence why the value does not fit, and
/// the parameters stay as they were.
pub fn with_param(params: &Params, info: &ParamInfo, typed: &str) -> Result<Params, String> {
    let typed = typed.trim();
    let value = match typed.parse::<f64>() {
        Ok(number) if number >= info.min && number <= info.max => number,
        _ if typed.is_empty() && info.optional => {
            return set(params, info, serde_json::Value::Null);
        }
        _ => return Err(range(info)),
    };
    let whole = info.step >= 1.0;
    if whole && value.fract() != 0.0 {
        return Err(format!("{} takes a whole number.", info.label));
    }
    set(
        params,
        info,
        if whole {
            (value as u64).into()
        } else {
            value.into()
        },
    )
}

fn range(info: &ParamInfo) -> String {
    let empty = if info.optional { ", or nothing" } else { "" };
    format!(
        "{} takes a number from {} to {}{empty}.",
        info.label, info.min, info.max
    )
}

fn set(params: &Params, info: &ParamInfo, value: serde_json::Value) -> Result<Params, String> {
    let mut object = serde_json::to_value(params).expect("parameters are plain numbers");
    object[info.name] = value;
    let changed: Params = serde_json::from_value(object).map_err(|_| range(info))?;
    if changed.chunk_overlap >= changed.chunk_tokens {
        return Err("The overlap must be shorter than the passage.".to_owned());
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &str) -> &'static ParamInfo {
        PARAMS
            .iter()
            .find(|info| info.name == name)
            .expect("a parameter of that name")
    }

    #[test]
    fn every_parameter_is_shown_and_its_default_fits() {
        let fields = serde_json::to_value(Params::default()).expect("plain numbers");
        let mut names: Vec<&str> = PARAMS.iter().map(|info| info.name).collect();
        names.push("chunk_unit");
        assert_eq!(CHUNK_UNITS[0].unit, Params::default().chunk_unit);
        for field in fields.as_object().expect("an object").keys() {
            assert!(names.contains(&field.as_str()), "{field} is missing");
        }
        for info in PARAMS {
            let typed =
                param_value(&Params::default(), info.name).map_or(String::new(), |v| v.to_string());
            assert_eq!(
                with_param(&Params::default(), info, &typed),
                Ok(Params::default()),
                "{}",
                info.name
            );
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused_in_a_sentence() {
        let table = [
            ("top_k", "0", "from 1 to 50"),
            ("top_k", "2.5", "whole number"),
            ("top_k", "many", "from 1 to 50"),
            ("min_salience", "", "from 0 to 10"),
            ("temperature", "9", "or nothing"),
            ("chunk_overlap", "256", "shorter than the passage"),
        ];
        for (name, typed, says) in table {
            let error = with_param(&Params::default(), info(name), typed).expect_err(name);
            assert!(error.contains(says), "{error}");
        }
        let set = with_param(&Params::default(), info("temperature"), "0.7").expect("fits");
        assert_eq!(set.temperature, Some(0.7));
        assert_eq!(
            with_param(&set, info("temperature"), " ")
                .expect("fits")
                .temperature,
            None
        );
    }
}
