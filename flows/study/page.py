"""The page of a study: one HTML file that needs nothing but itself."""

from collections.abc import Mapping, Sequence
from html import escape

from multilogger.components.text import TextRows, html_table

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border-bottom: 1px solid #ccc; padding: .3rem .8rem; text-align: left; }
th { border-bottom: 2px solid #444; }
code, pre { background: #f4f4f4; padding: .1rem .3rem; }
.verdict { border-left: 4px solid #3f51b5; padding-left: 1rem; }
"""


def study_page(
    title: str, conclusion: Sequence[str], tables: Mapping[str, TextRows], notes: Sequence[str], command: str
) -> str:
    """The conclusion first, then the tables, then how it was done."""
    parts = [f"<h1>{escape(title)}</h1>"]
    parts += ['<div class="verdict">', *(f"<p>{escape(line)}</p>" for line in conclusion), "</div>"]
    for name, rows in tables.items():
        if rows:
            parts += [f"<h2>{escape(name)}</h2>", html_table(rows)]
    parts += ["<h2>How it was done</h2>", *(f"<p>{escape(line)}</p>" for line in notes)]
    parts += [f"<pre>{escape(command)}</pre>"]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    body = "\n".join(parts)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'
