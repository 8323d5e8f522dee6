//! How wide a text will be, without knowing the font.

/// Estimated width of a text in the units of `size`. A little generous, since readers' fonts
/// differ.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// Shortens a text to a width with an ellipsis; at least one character stays.
///
/// ```
/// use probe_experiments::plot::fit;
/// assert_eq!(fit("short", 200.0, 14.0), "short");
/// assert!(fit("a very long feature name", 60.0, 14.0).ends_with('…'));
/// ```
pub fn fit(text: &str, room: f64, size: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let room = room - advance('…') * size;
    let mut used = 0.0;
    let mut out = String::new();
    for c in text.chars() {
        used += advance(c) * size;
        if used > room && !out.is_empty() {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

fn advance(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '\'' | '.' | ',' | ':' | ';' | '|' | '!' => 0.31,
        ' ' | 'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' | '/' => 0.39,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '→' => 0.92,
        'A'..='Z' => 0.68,
        c if u32::from(c) >= 0x2e80 => 1.05,
        _ => 0.59,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_fits_and_keeps_whole_characters() {
        let name = "Überziehungskreditrahmen – 銀行口座残高";
        for room in [20.0, 60.0, 120.0, 240.0] {
            let short = fit(name, room, 13.0);
            assert!(width(&short, 13.0) <= room + 13.0, "{short}");
            assert!(short.chars().count() >= 2);
        }
        assert_eq!(fit("", 0.0, 13.0), "");
    }
}
