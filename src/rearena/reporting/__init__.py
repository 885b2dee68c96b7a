"""What a run leaves behind: claim rows, figures, executed notebooks, the gallery."""
