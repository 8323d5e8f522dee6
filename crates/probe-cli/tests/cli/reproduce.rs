//! `probe reproduce`: the paper's figures, to the byte.

use crate::support::Folder;

#[test]
fn the_figure_on_trees_is_written_and_told() {
    let folder = Folder::new();
    let ran = folder.run("reproduce trees --out made");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = ran.text();
    for word in
        ["rate on the tree", "rate on the forest", "about 0.5", "method probe", "agrees with the forest"]
    {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
    assert!(ran.err.contains("trees.svg"), "{}", ran.err);
    let picture = folder.text("made/trees.svg");
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
    folder.run("reproduce --out again --threads 1 --quiet");
    assert_eq!(picture, folder.text("again/trees.svg"));
    folder.run("reproduce table9").fails(2, &["table9", "known: trees"]);
}
