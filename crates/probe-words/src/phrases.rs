//! The phrases of a letter by name, with their placeholders.

/// Every phrase and its placeholders.
pub(crate) const PHRASES: &[(&str, &[&str])] = &[
    ("who_row", &["row"]),
    ("who_id", &["name", "value"]),
    ("who_option", &["option"]),
    ("title_advice", &[]),
    ("title_none", &[]),
    ("title_other", &[]),
    ("title_favourable", &[]),
    ("intro_advice", &[]),
    ("intro_none", &[]),
    ("intro_other", &[]),
    ("intro_favourable", &[]),
    ("heading_steps", &[]),
    ("step_raise", &["feature", "from", "to"]),
    ("step_lower", &["feature", "from", "to"]),
    ("step_category", &["feature", "from", "to"]),
    ("step_spare", &[]),
    ("step_below", &["room"]),
    ("step_above", &["room"]),
    ("step_either", &["room"]),
    ("step_p_fail", &["no", "out_of"]),
    ("steps_all", &[]),
    ("steps_more", &["total", "shown", "list"]),
    ("steps_bonds", &["list"]),
    ("bond_together", &["list"]),
    ("steps_outside", &["list"]),
    ("heading_sure", &[]),
    ("sure_intro", &[]),
    ("sure_misses", &["list"]),
    ("sure_drifts", &["list"]),
    ("sure_failures", &[]),
    ("sure_certified", &["yes", "out_of"]),
    ("sure_exact", &[]),
    ("sure_tested", &["confidence"]),
    ("sure_above", &["no", "out_of", "asked", "asked_of"]),
    ("sure_unproven", &["no", "out_of", "asked", "asked_of"]),
    ("sure_best", &["no", "out_of"]),
    ("sure_values", &["list"]),
    ("sure_favourable", &["no", "out_of"]),
    ("sure_rare", &["no", "out_of"]),
    ("heading_why_none", &[]),
    ("none_best", &["no", "out_of"]),
    ("none_limits", &["list"]),
    ("none_relaxations", &["list"]),
    ("limit_immutable", &["feature"]),
    ("limit_direction", &["feature"]),
    ("limit_at_most", &["feature", "value"]),
    ("limit_at_least", &["feature", "value"]),
    ("limit_max_changes", &["feature"]),
    ("relaxation_up", &["feature", "value"]),
    ("relaxation_down", &["feature", "value"]),
    ("relaxation_changes", &["count"]),
    ("reason_no_admissible_move", &[]),
    ("reason_infeasible_within_bounds", &[]),
    ("reason_infeasible_within_max_changes", &[]),
    ("reason_rate_not_reachable", &[]),
    ("reason_budget_exhausted", &[]),
    ("reason_search_limit", &[]),
    ("reason_not_one_hot", &[]),
    ("reason_not_certified", &[]),
    ("reason_rate_ignored", &[]),
    ("reason_not_found", &[]),
    ("reason_other", &["code"]),
    ("heading_reasons", &[]),
    ("reasons_advice", &["list"]),
    ("reasons_reference", &["list"]),
    ("heading_not", &[]),
    ("not_promise", &[]),
    ("not_model", &[]),
    ("not_model_shift", &[]),
    ("not_noise", &[]),
    ("not_suited", &[]),
    ("miss", &["feature", "size"]),
    ("aim", &["feature", "value"]),
    ("and", &[]),
    ("comma", &[]),
    ("more", &["count"]),
];

/// The placeholders of a phrase; `None` if there is no such phrase.
pub(crate) fn placeholders(key: &str) -> Option<&'static [&'static str]> {
    PHRASES.iter().find(|(name, _)| *name == key).map(|(_, known)| *known)
}

/// The phrase with the name most similar to `key`: the one with which it shares most pairs of
/// neighbouring letters.
pub(crate) fn nearest(key: &str) -> &'static str {
    let names = PHRASES.iter().map(|(name, _)| (strsim::sorensen_dice(name, key), *name));
    names.max_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |(_, name)| name)
}

/// The templates of whole letters, with their placeholders.
pub(crate) const LAYOUTS: &[(&str, &[&str])] = &[
    ("letter.txt", LETTER),
    ("letter.md", LETTER),
    ("letter.html", LETTER),
    ("page.html", &["language", "title", "letters"]),
];

const LETTER: &[&str] =
    &["language", "status", "title", "who", "intro", "steps", "sections", "odds", "facts", "loop"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_its_phrase() {
        assert_eq!(nearest("step_rise"), "step_raise");
        assert_eq!(nearest("sure_certifed"), "sure_certified");
        assert_eq!(placeholders("miss"), Some(&["feature", "size"][..]));
        assert_eq!(placeholders("step_rise"), None);
    }
}
