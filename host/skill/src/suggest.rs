//! Finds the most similar known word to a misspelt one, for error messages.

const MAX_CHARS: usize = 64;
const MAX_CANDIDATES: usize = 2000;

/// The candidate most similar to `wrong`, if it is similar enough to be a plausible correction.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A comparison takes time proportional to the product of the lengths; a name this long was not mistyped by hand.
    if wrong.chars().count() > MAX_CHARS {
        return None;
    }
    candidates
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter(|candidate| candidate.len() <= 4 * MAX_CHARS)
        .map(|candidate| (strsim::damerau_levenshtein(wrong, candidate), candidate))
        // A third of the letters may differ; more is a guess, not a suggestion.
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().max(3) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_near_word_is_suggested_and_a_far_one_is_not() {
        assert_eq!(
            nearest("cuont.py", ["count.py", "convert.py"]),
            Some("count.py")
        );
        assert_eq!(nearest("zzz", ["count.py", "convert.py"]), None);
        assert_eq!(nearest("x", []), None);
    }
}
