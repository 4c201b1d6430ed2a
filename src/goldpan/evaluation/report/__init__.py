"""The report on a comparison: what it says, in shapes that HTML, Markdown and LaTeX render."""
